"""What an analyst alone can do: find the anchor by independent component analysis, and with it every party's rows.

The columns of a uniform anchor are independent and not Gaussian, so they are identifiable from two parties' reduced
anchors; those of an isotropic Gaussian anchor are not.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dcshap import datasets
from dcshap.audit.attacks.components import rows_by_anchor
from dcshap.collaboration.messages import Representation
from dcshap.exceptions import PrivacyWarning
from tests.collaboration.helpers import RecordedHorizontal, in_table_order


def success(table, anchor: str) -> float:
    """Mean R² of the columns that the attack reconstructs, over two label-skewed parties."""
    X, y = table
    data = {f"party{i}": (X.iloc[rows], y.iloc[rows]) for i, rows in enumerate(datasets.label_skew(y, 2))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        run = RecordedHorizontal(
            LogisticRegression(max_iter=2000), anchor=anchor, span="private", noise=0, random_state=0
        )
        run.fit(data)
    party = run.parties_["party0"]
    received = [message for message in run.received_by("analyst") if isinstance(message, Representation)]
    anchors = [each.anchor for each in received]
    rows = [in_table_order(run.parties_[each.party], each) for each in received]
    found = rows_by_anchor(anchors, rows, party.anchor.rows)
    guessed = dict(zip([each.party for each in received], found, strict=True))
    truth = np.concatenate([party.encode(rows) for rows, _ in data.values()])
    error = np.concatenate([guessed[name] for name in data]) - truth
    return float(np.mean(1 - (error**2).sum(axis=0) / ((truth - truth.mean(axis=0)) ** 2).sum(axis=0)))


def load(name: str):
    bunch = getattr(datasets, f"load_{name}")()
    rows = np.random.default_rng(0).permutation(len(bunch.data))[:4000]
    return bunch.data.iloc[rows], bunch.target.iloc[rows]


@pytest.mark.parametrize(("name", "recovered"), [("adult", 0.7), ("heart", 0.6)])
def test_the_attack_succeeds_on_a_uniform_anchor_and_fails_on_a_gaussian_one(name, recovered):
    assert success(load(name), "uniform") > recovered
    assert success(load(name), "gaussian") < 0.1


if __name__ == "__main__":
    for name in ("adult", "heart", "pima"):
        print(name, {anchor: round(success(load(name), anchor), 2) for anchor in ("uniform", "gaussian")})  # noqa: T201 - asked for by hand
