"""What holds whoever carries the messages: one suite, run in memory, sealed in memory, and between processes.

A test file has a fixture `carried` that gives a `Carried`, and a class that inherits from `CarrierContract`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from dcshap import HorizontalCollaboration, VerticalCollaboration
from dcshap.collaboration import HorizontalParty
from dcshap.collaboration.messages import ANALYST, AnchorSeed, Commit, Message
from dcshap.exceptions import InputError, ProtocolError
from dcshap.explanation import PartyExplanation
from dcshap.explanation.disclosures import Prediction
from dcshap.explanation.rows import explain_rows
from tests.federation.conftest import horizontal_tables, people, schema_of, vertical_tables
from tests.federation.twin import SEED

PARTIES = ["bank", "shop"]
RECORDS = people().index[[3, 50, 7]].tolist()
ROWS_MODEL, RECORDS_MODEL = LogisticRegression(max_iter=1000), KNeighborsClassifier(7)


def rows_in_memory() -> HorizontalCollaboration:
    tables = horizontal_tables(PARTIES)
    data = {name: (table.drop(columns="repaid"), table["repaid"]) for name, table in tables.items()}
    return HorizontalCollaboration(ROWS_MODEL, schema=schema_of(people()), random_state=SEED).fit(data)


def records_in_memory() -> tuple[VerticalCollaboration, dict[str, Any]]:
    tables = vertical_tables(PARTIES)
    labels = tables["bank"].pop("repaid")
    run = VerticalCollaboration(RECORDS_MODEL, schema=schema_of(people()), random_state=SEED)
    return run.fit(tables, labels, label_party="bank"), {name: table.loc[RECORDS] for name, table in tables.items()}


@dataclass(frozen=True)
class Carried:
    """Both collaborations, trained over one carrier.

    `bring` hands a party a message of a training (None: a call) from somebody, as that somebody could; `called` is a
    step of that training that the analyst calls for.
    """

    parties: Mapping[str, HorizontalParty]
    explain: Callable[..., PartyExplanation]
    predict: Callable[[Sequence[str]], Prediction]
    bring: Callable[[str, str, str, Message | None], Any]
    called: str = "representation"


class CarrierContract:
    """The cases."""

    def test_rows_are_predicted_and_explained_as_in_one_process(self, carried: Carried) -> None:
        wanted, X = rows_in_memory(), people(40, seed=9).drop(columns="repaid")
        for name, party in carried.parties.items():
            proba = wanted.predict_proba(X, party=name)
            assert np.allclose(party.predict_proba(X), proba, rtol=0, atol=1e-9)
            values = wanted.explain(X.head(5), party=name).values
            assert np.allclose(explain_rows(party, X.head(5)).values, values, rtol=0, atol=1e-9)

    @pytest.mark.parametrize("view", ["bank", "full"])
    @pytest.mark.parametrize("index", ["shapley", "owen"])
    def test_a_view_of_records_is_as_in_one_process(self, carried: Carried, view: str, index: Any) -> None:
        run, held = records_in_memory()
        found, wanted = carried.explain(view=view, index=index), run.explain(held, view=view, index=index)
        assert found.feature_names == wanted.feature_names
        assert np.allclose(found.values, wanted.values, rtol=0, atol=1e-9)
        assert np.allclose(found.base_values, wanted.base_values, rtol=0, atol=1e-9)
        assert found.reference_fingerprint == wanted.reference_fingerprint
        assert list(found.data.index) == RECORDS
        assert found.run

    def test_merged_bars_are_as_in_one_process(self, carried: Carried) -> None:
        run, held = records_in_memory()
        asked: dict[str, Any] = {"view": "bank", "index": "shapley", "merged": True}
        found, wanted = carried.explain(**asked), run.explain(held, **asked)
        assert np.allclose(found.values, wanted.values, rtol=0, atol=1e-9)

    @pytest.mark.parametrize(("view", "index"), [("full", "owen"), ("full", "shapley"), ("bank", "owen")])
    def test_merged_bars_belong_to_algorithm_4(self, carried: Carried, view: str, index: str) -> None:
        with pytest.raises(InputError, match="merged"):
            carried.explain(view=view, index=index, merged=True)

    def test_a_prediction_is_as_in_one_process(self, carried: Carried) -> None:
        run, held = records_in_memory()
        found = carried.predict(RECORDS)
        assert np.allclose(np.asarray(found.values, dtype=float), run.predict_proba(held), rtol=0, atol=1e-9)

    def test_a_step_is_taken_once(self, carried: Carried) -> None:
        with pytest.raises(ProtocolError, match="taken before"):
            carried.bring("anchor", "bank", "shop", AnchorSeed(5))
        with pytest.raises(ProtocolError, match="called for before"):
            carried.bring(carried.called, ANALYST, "shop", None)

    def test_a_step_from_the_wrong_sender_is_refused(self, carried: Carried) -> None:
        with pytest.raises(ProtocolError, match="is not sent by 'shop' to 'bank'"):
            carried.bring("anchor", "shop", "bank", AnchorSeed(5))
        with pytest.raises(ProtocolError, match="is not sent by 'bank' to 'shop'"):
            carried.bring("commit", "bank", "shop", Commit("run"))
        with pytest.raises(ProtocolError, match="'bank' cannot call for it"):
            carried.bring(carried.called, "bank", "shop", None)

    def test_a_step_that_the_table_does_not_have_is_refused(self, carried: Carried) -> None:
        with pytest.raises(ProtocolError, match="has the steps"):
            carried.bring("reduction", ANALYST, "shop", None)
        with pytest.raises(ProtocolError, match="takes another message"):
            carried.bring("commit", ANALYST, "shop", AnchorSeed(5))
