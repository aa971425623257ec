"""The contract of carriers, in memory."""

from __future__ import annotations

import pytest

from dcshap.explanation.disclosures import Prediction
from dcshap.protocol import node
from tests.protocol.contract import Carried, CarrierContract, records_in_memory, rows_in_memory


@pytest.fixture(scope="module")
def carried():
    nodes = {}

    class Kept(node.Node):
        def __init__(self, me, protocol, *args):
            super().__init__(me, protocol, *args)
            nodes[protocol.name, me] = self

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("dcshap.protocol.memory.Node", Kept)
        rows, (records, held) = rows_in_memory(), records_in_memory()
    return Carried(
        rows.parties_,
        lambda **what: records.explain(held, **what),
        lambda _: Prediction(records.predict_proba(held), ()),
        lambda step, sender, to, message: nodes["train horizontally", to].handle(step, sender, message),
    )


class TestMemory(CarrierContract):
    pass
