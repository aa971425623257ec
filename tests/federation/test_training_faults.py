"""Every single fault at every step of a training."""

from __future__ import annotations

from random import Random

import pytest

from dcshap.federation.rehearsal.schedule import Schedule, rehearse
from dcshap.federation.rehearsal.stage import RESUMED, Stage
from dcshap.protocol.faults import FAULTS, Fault

from .copies import single_faults


@pytest.mark.parametrize("kind", ["horizontal", "vertical"])
def test_every_single_fault_at_every_step_of_a_training_holds(kind):
    found = single_faults(2, (kind, "train"))
    assert found["failures"] == []
    assert found["faults"] == found["schedules"] - 1 > 800


@pytest.mark.parametrize("kind", ["horizontal", "vertical"])
def test_a_training_in_parts_is_resumed_whatever_single_fault_has_interrupted_it(kind):
    """A sample of all events and faults; the slow test has all of them."""
    with Stage(kind, 2) as stage:
        without = rehearse(stage, Schedule((RESUMED,)))
        assert not without.verdict, without.verdict
        chance = Random(7)
        for at in sorted(chance.sample(range(1, len(without.journal) + 1), 25)):
            fault = Fault(at, chance.choice(FAULTS[without.journal[at - 1][0]]), chance.getrandbits(16))
            found = rehearse(stage, Schedule((RESUMED,), (fault,)))
            assert not found.verdict, (fault, found.verdict, found.said)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["horizontal", "vertical"])
def test_a_training_in_parts_is_resumed_whatever_single_fault_has_interrupted_it_everywhere(kind):
    assert single_faults(2, (kind, RESUMED))["failures"] == []
