"""The list of trainings, and what is computed or packed once for all parties."""

from __future__ import annotations

import pytest
from sklearn.linear_model import LogisticRegression

from dcshap.collaboration.messages import SharedModel
from dcshap.exceptions import StorageError
from dcshap.explanation import answering, views
from dcshap.federation.seals import spool, wire
from dcshap.federation.site.configuration import Right
from dcshap.federation.site.history import History

from .conftest import OFFICER, builder, people

PARTIES = ["bank", "post", "rail", "shop"]
RECORD = people().index[3]


@pytest.fixture(scope="module")
def trained(tmp_path_factory, identities):
    packed, original, patch = [], wire.buffers, pytest.MonkeyPatch()

    def packing(message):
        packed.append(type(message))
        return original(message)

    patch.setattr(spool, "buffers", packing)
    try:
        run = builder(tmp_path_factory.mktemp("models"), identities)(
            "vertical", PARTIES, rights={OFFICER: Right(("full", "bank"), 100)}
        )
        analyst = run.trained(LogisticRegression())
    finally:
        patch.undo()
    return run, analyst, packed


def test_the_model_is_packed_once_for_all_parties(trained):
    assert trained[2].count(SharedModel) == 1


def test_each_partys_vectors_are_computed_once_for_a_full_view(trained, monkeypatch):
    run, analyst, _ = trained
    computed, original = [], views.disclose

    def disclosing(party, *args, **more):
        computed.append(party.name)
        return original(party, *args, **more)

    monkeypatch.setattr(answering, "disclose", disclosing)
    run.requester(analyst, OFFICER).explain([RECORD], view="full", index="owen")
    assert sorted(computed) == PARTIES


def test_trainings_are_listed_with_numbers_models_and_how_many_records_were_joined(trained):
    run, analyst, _ = trained
    (first,) = analyst.history.all()
    assert (first.number, first.run, first.model) == (1, analyst.run, "LogisticRegression")
    assert (first.records, sorted(first.dropped), first.parties) == (240, PARTIES, PARTIES)
    assert first.quality is not None
    assert (first.quality["measure"], first.quality["points"]) == ("accuracy", 48)
    assert first.quality["value"] > first.quality["chance"]
    again = run.again().trained(LogisticRegression(C=2.0))
    assert [each.number for each in again.history.all()] == [1, 2]
    assert again.history.all()[-1].run == again.run


def test_a_list_of_a_newer_version_is_refused_in_words(tmp_path):
    (tmp_path / "models.json").write_text('{"version": 9, "models": []}')
    with pytest.raises(StorageError, match="newer dcshap"):
        History(tmp_path).all()
