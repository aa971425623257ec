"""What a vertical party sends, of training rows and of records that are asked for, against lattice reduction."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dcshap import datasets
from dcshap.collaboration.messages import RecordRepresentation
from dcshap.exceptions import PrivacyWarning
from dcshap.explanation.disclosures import RecordVectors
from tests.collaboration.decoded import decoded_rows
from tests.collaboration.helpers import RecordedVertical

pytest.importorskip("fpylll")

GUEST = "guest"


def tables(dataset: str) -> tuple[dict[str, Any], Any]:
    bunch = getattr(datasets, f"load_{dataset}")()
    X = bunch.data.iloc[:800].reset_index(drop=True)
    return {"host": X.iloc[:, :6], GUEST: X.iloc[:, 6:]}, bunch.target.iloc[: len(X)].reset_index(drop=True)


def trained(dataset: str, span: Any, noise: float, random_state: Any = 0) -> RecordedVertical:
    run = RecordedVertical(LogisticRegression(max_iter=1000), span=span, noise=noise, random_state=random_state)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        return run.fit(*tables(dataset))


def integers(run: RecordedVertical, codes: Any) -> Any:
    anchor = run.parties_[GUEST].anchor
    return anchor.encoder.unscale(anchor.encode(codes))


def rows_sent(run: RecordedVertical) -> Any:
    (found,) = [m.rows for *_, m in run.messages if isinstance(m, RecordRepresentation) and m.party == GUEST]
    return found


@pytest.mark.parametrize("span", ["supervised", "private"])
@pytest.mark.parametrize("dataset", ["adult", "heart"])
def test_the_default_noise_keeps_every_training_row(dataset, span):
    run = trained(dataset, span, 0.2)
    rows, numbers = rows_sent(run), integers(run, run.parties_[GUEST].codes)
    # Records that are alike in all of a party's columns are sent alike: that they are is known, and no decoding.
    _, distinct = np.unique(numbers, axis=0, return_index=True)
    rows, numbers = rows[np.sort(distinct)], numbers[np.sort(distinct)]
    assert len(rows) >= 60
    assert [decoded_rows(rows[:n], numbers[:n], bits=bits) for n in (40, 60) for bits in (6, 20, 44)] == [0] * 6


def test_without_noise_rows_are_decoded():
    run = trained("heart", "private", 0.0)
    assert decoded_rows(rows_sent(run)[:40], integers(run, run.parties_[GUEST].codes)[:40]) == 1


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_record_vectors_of_fifty_requests_are_decoded_without_noise_only(noise):
    run, (held, _) = trained("heart", "private", noise), tables("heart")
    asked = {name: table.iloc[:50] for name, table in held.items()}
    run.messages = []
    for row in range(50):
        one = {name: table.iloc[[row]] for name, table in asked.items()}
        run.explain(one, view="host", index="owen")
    vectors = np.concatenate([m.present for *_, m in run.messages if isinstance(m, RecordVectors)])
    assert len(vectors) == 50
    numbers = integers(run, run.parties_[GUEST].records_of(asked[GUEST]).codes)
    assert {decoded_rows(vectors, numbers, bits=bits) for bits in (20, 44)} == {1.0 if noise == 0 else 0.0}
