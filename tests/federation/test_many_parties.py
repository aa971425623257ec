"""What grows with the parties: messages of a full view, each party's vectors computed once and all peers asked at once.

A slow test has sixteen parties as processes.
"""

from __future__ import annotations

import threading
from collections import Counter

import numpy as np
import pytest
from benchmarks.scale import _processes
from nvflare.apis.fl_exception import FLCommunicationError
from sklearn.linear_model import LogisticRegression

from dcshap.exceptions import FederationError
from dcshap.explanation.views import disclose
from dcshap.federation.flare.local import LEAD, provision
from dcshap.federation.flare.session import Session
from dcshap.federation.site.configuration import Right

from .conftest import OFFICER, people

PARTIES = ["bank", "post", "rail", "shop"]
RECORD = people().index[:1].tolist()


@pytest.fixture(scope="module")
def trained(tmp_path_factory, identities):
    from .conftest import builder  # noqa: PLC0415

    build = builder(tmp_path_factory.mktemp("many"), identities)
    run = build("vertical", PARTIES, agreement={"n_components": 1}, rights={OFFICER: Right(("full",), 100)})
    return run, run.requester(run.trained(LogisticRegression(max_iter=1000)), OFFICER)


def test_a_full_view_takes_two_messages_for_each_pair_and_each_viewer(trained):
    run, requester = trained
    before = len(run.network.carried)
    requester.explain(RECORD, view="full")
    n = len(PARTIES)
    assert len(run.network.carried) - before == 2 * n * (n - 1) + 2 * n


def test_each_party_computes_its_vectors_once_for_all_others(trained, monkeypatch):
    found: Counter[str] = Counter()

    def counting(party, *args, **kwargs):
        found[party.name] += 1
        return disclose(party, *args, **kwargs)

    monkeypatch.setattr("dcshap.explanation.answering.disclose", counting)
    trained[1].explain(RECORD, view="full")
    assert found == dict.fromkeys(PARTIES, 1)


def test_all_peers_are_asked_at_the_same_time(trained, monkeypatch):
    """Nobody's question is answered before all of one viewer's are on their way."""
    run, requester = trained
    send, together = run.network.send, threading.Barrier(len(PARTIES) - 1)

    def waiting(to, data, *, patience):
        if b'"sender": "bank"' in data[:4000] and b'"step": "forward"' in data[:4000]:
            together.wait(timeout=60)
        return send(to, data, patience=patience)

    monkeypatch.setattr(run.network, "send", waiting)
    assert np.isfinite(requester.explain(RECORD, view="full").values).all()
    assert not together.broken


def test_a_server_that_is_too_busy_to_let_somebody_in_is_said_in_words(tmp_path, monkeypatch):
    tries = []

    def busy(*_, **__):
        tries.append(1)
        raise FLCommunicationError("failed to challenge server: timeout")

    kits = provision(tmp_path, port=1, parties=["bank"], requesters=())
    monkeypatch.setattr("dcshap.federation.flare.connection.new_secure_session", busy)
    with pytest.raises(FederationError, match="cannot be reached"), Session(kits[LEAD].folder, timeout=1):
        pass
    assert len(tries) > 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_sixteen_parties_train_and_answer():
    rows = _processes(16)
    assert [row["what"] for row in rows][-1] == "full party view 3"
