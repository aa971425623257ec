"""Messages that are too large for one envelope travel in parts: whole, in order, each once; nothing is left of them."""

from __future__ import annotations

import errno

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dcshap._disk import Disk, using_disk
from dcshap.collaboration import Analyst
from dcshap.collaboration.messages import ANALYST
from dcshap.exceptions import FederationError, ProtocolError, StorageError
from dcshap.federation.seals.envelopes import About, seal
from dcshap.federation.seals.ledger import Ledger
from dcshap.federation.seals.post import PostOffice
from dcshap.federation.site.analyst_site import AnalystSite
from dcshap.federation.site.party_site import PartySite, load_trained
from dcshap.federation.site.runs import Runs

from .conftest import people
from .test_commit import silent_at
from .twin import NAME, SERVER

PARTIES = ["bank", "shop"]
X = people().head(5).drop(columns="repaid")
PART = 1500


def model(c=1.0):
    return LogisticRegression(C=c, max_iter=1000)


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(PartySite, "part", PART)
    monkeypatch.setattr(AnalystSite, "part", PART)


def spools(run):
    return sorted(run.folder.rglob("spool-*"))


@pytest.mark.parametrize("kind", ["horizontal", "vertical"])
def test_a_training_in_parts_gives_what_one_without_gives(twin, kind, monkeypatch):
    whole = twin(kind, PARTIES, folder="whole")
    wanted = whole.trained(model())
    monkeypatch.setattr(PartySite, "part", PART)
    monkeypatch.setattr(AnalystSite, "part", PART)
    parts = twin(kind, PARTIES, folder="parts")
    found = parts.trained(model())
    assert np.array_equal(found._analyst.model_.coef_, wanted._analyst.model_.coef_)
    # No envelope is much longer than a part, and none of the whole training is as long as the longest without parts.
    assert max(map(len, parts.network.carried)) < PART + 4000 < max(map(len, whole.network.carried))
    assert spools(parts) == spools(whole) == []
    if kind == "horizontal":
        for name in PARTIES:
            alone, other = (load_trained(run.sites[name].config, NAME) for run in (parts, whole))
            assert np.allclose(alone.predict_proba(X), other.predict_proba(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["horizontal", "vertical"])
def test_the_ledger_has_one_line_for_a_message_in_parts(twin, kind, small_parts):
    run = twin(kind, PARTIES)
    run.trained(model())
    sent = "Representation" if kind == "horizontal" else "RecordRepresentation"
    for site in run.sites.values():
        lines = [entry for entry in Ledger(site.config.ledger) if entry.kind == sent]
        assert [entry.note for entry in lines] == [""]
        assert lines[0].n_bytes > 2 * PART


@pytest.mark.parametrize("how", ["changed", "cut short", "another", "doubled"])
def test_a_part_that_is_not_what_it_was_or_out_of_its_turn_is_refused(twin, small_parts, how):
    """A guest brings its masked columns to the holder in parts, through somebody who meddles with the second."""
    run = twin("vertical", PARTIES)
    send, brought = run.network.send, []

    def meddling(to, data, *, patience):
        if to != "bank" or b'"step": "masked_columns"' not in data[:4000] or b'"part": -1' in data[:4000]:
            return send(to, data, patience=patience)
        brought.append(data)
        if len(brought) == 2:
            if how == "changed":
                data = data[:-1] + bytes([data[-1] ^ 1])
            elif how == "cut short":
                data = data[:-20]
            elif how == "another":
                data = brought[0]
            else:
                send(to, data, patience=patience)
        return send(to, data, patience=patience)

    run.network.send = meddling
    with pytest.raises(ProtocolError, match=r"signed|opened before|answers something else"):
        run.trained(model())
    assert len(brought) == 2
    assert Runs(run.sites["bank"].folder).current == ""


def brought_to_bank(run, number, content, *, size=4 * PART, digest="0" * 64, step="masked_columns", sender="shop"):
    """What the bank answers to a part that a partner seals by itself, whatever it says on it."""
    analyst = next(key for key in run.sites["bank"]._sessions if key[1].startswith("train"))
    who = run.identities[SERVER if sender == ANALYST else sender]
    about = About(sender, "bank", analyst[1], analyst[0], step, 5.0, parcel=digest, size=size, part=number)
    sealed = seal(who, about, content, to=run.identities["bank"].certificate)
    return PostOffice(sender, who).told_in(run.sites["bank"].handle(sealed), sealed, sender="bank")


@pytest.fixture
def waiting(twin, small_parts):
    """A bank that waits for its partner's masked columns."""
    run = twin("vertical", PARTIES)
    silent_at(run, "masked_columns", "bank")
    with pytest.raises(FederationError):
        run.trained(model())
    return run


def test_parts_come_whole_and_in_order(waiting):
    told, _ = brought_to_bank(waiting, 0, b"a" * PART)
    assert told == {"has": 1}
    for number, content in ((0, b"a" * PART), (2, b"a" * PART), (1, b"a" * (PART - 1)), (1, b"a" * (PART + 1))):
        with pytest.raises(ProtocolError, match="whole and in order"):
            brought_to_bank(waiting, number, content)
    assert brought_to_bank(waiting, 1, b"b" * PART)[0] == {"has": 2}
    with pytest.raises(ProtocolError, match="another message in the step"):
        brought_to_bank(waiting, 0, b"a" * PART, digest="1" * 64)


def test_a_message_in_parts_with_another_digest_is_dropped(waiting):
    for number in range(4):
        brought_to_bank(waiting, number, b"a" * PART)
    with pytest.raises(ProtocolError, match="no message of this version"):
        brought_to_bank(waiting, -1, b"")
    assert not list((waiting.folder / "bank").rglob("got-0000*"))


def test_parts_of_a_step_that_a_sender_has_no_part_in_are_refused(waiting):
    for step, sender in (("masked_columns", ANALYST), ("records", "shop"), ("label_sums", "shop")):
        with pytest.raises(ProtocolError, match="is not sent by"):
            brought_to_bank(waiting, 0, b"a" * PART, step=step, sender=sender)
    with pytest.raises(ProtocolError, match="no such message in parts"):
        brought_to_bank(waiting, 0, b"", sender=ANALYST, step="records")


@pytest.mark.parametrize("about", [{"parcel": "../x"}, {"size": 5}, {"parcel": "0" * 64}, {"part": 3}, {"size": -1}])
def test_what_names_no_message_in_parts_cannot_be_written(about):
    with pytest.raises(ValueError, match=r"part|message"):
        About("bank", "shop", "p", "s", "step", **about)


def test_a_large_table_lies_in_a_file_and_gives_the_same_model(twin, monkeypatch):
    wanted = twin("horizontal", PARTIES, folder="memory").trained(model())
    monkeypatch.setattr("dcshap.collaboration.stacking.IN_MEMORY", 1000)
    places = []
    fit = Analyst._fit

    def watched(self, points, labels, weights=None):
        places.append((self.workspace / "points").stat().st_size == points.nbytes)
        return fit(self, points, labels, weights)

    monkeypatch.setattr(Analyst, "_fit", watched)
    run = twin("horizontal", PARTIES)
    found = run.trained(model())
    assert places == [True]
    assert np.array_equal(found._analyst.model_.coef_, wanted._analyst.model_.coef_)
    assert spools(run) == []
    assert found._analyst.held_ == {}


class NoRoom(Disk):
    def reserve(self, path, size):  # noqa: ARG002
        raise OSError(errno.ENOSPC, "No space left on device")


def test_no_room_for_a_large_table_is_said_in_words(twin, monkeypatch):
    monkeypatch.setattr("dcshap.collaboration.stacking.IN_MEMORY", 1000)
    with using_disk(NoRoom()), pytest.raises(StorageError, match="No space left on device"):
        twin("horizontal", PARTIES).trained(model())
