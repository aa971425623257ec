"""Directions in which classes bend: found where they do, none where they do not, the same whoever holds the rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_friedman1
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from dcshap import HorizontalCollaboration, datasets
from dcshap.collaboration.bends import Bends, Held
from dcshap.collaboration.moments import Moments, class_responses
from dcshap.collaboration.newton import Logits
from dcshap.exceptions import ProtocolError
from dcshap.schema import Number, Schema
from dcshap.schema.encoding import Encoder, straight_coordinates


def crossing(seed: int = 0, *, n: int = 1200, p: int = 8):
    """Rows whose class depends on one column, and on the product of two others."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, (X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 0.5 * rng.standard_normal(n) > 0).astype(int)


def regression(X, R):
    """Logistic regression of rows (n, p), as the rounds find it."""
    logits = Logits.first(Moments.of([X], R, classes=True))
    for _ in range(3):
        logits = logits.updated(logits.contribution([X], R))
    return logits


def found(X, y, *, parts: int = 1, most: int = 3, straight=None, names=None):
    """The bending directions (p, m) of rows that some parties hold."""
    R = class_responses(y, np.unique(y))
    logits = regression(X, R)
    names = names or [f"c{i}" for i in range(X.shape[1])]
    bends = Bends(logits, np.eye(X.shape[1]) if straight is None else straight, names, most)
    held = [Held([x], r) for x, r in zip(np.array_split(X, parts), np.array_split(R, parts), strict=True)]
    total = np.sum([bends.curvature(each) for each in held], axis=0)
    return bends.directions(total, np.sum([bends.checks(each, total) for each in held], axis=0))


def share_within(directions, columns):
    """How much of directions (p, m) lies along some columns."""
    return np.linalg.norm(directions[columns]) ** 2 / np.linalg.norm(directions) ** 2


def test_a_product_of_two_columns_is_found_and_nothing_else():
    X, y = crossing()
    directions = found(X, y)
    assert directions.shape[1] == 2
    assert share_within(directions, [0, 1]) > 0.95


def test_a_column_that_changes_what_the_predicting_one_does_is_found():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((2000, 6))
    y = (X[:, 0] * (1 + 2 * X[:, 1]) + 0.5 * rng.standard_normal(2000) > 0).astype(int)
    assert share_within(found(X, y, most=1), [1]) > 0.9


def test_three_classes_that_lie_on_rings_are_told_apart():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((1500, 6))
    y = np.digitize(np.linalg.norm(X[:, :2], axis=1), [0.8, 1.5])
    directions = found(X, y, most=2)
    assert directions.shape[1] == 2
    # Weights that chance alone gave the regression are in the span already: with them, the plane of the rings is.
    weights = regression(X, class_responses(y, np.arange(3))).weights
    span, _ = np.linalg.qr(np.concatenate([weights[:2].T, directions], axis=1))
    assert np.all(np.linalg.norm(span[:2], axis=1) > 0.95)


@pytest.mark.parametrize("kind", ["normal", "heavy-tailed", "categories"])
def test_where_logistic_regression_is_right_hardly_any_table_has_a_bend(kind):
    rng = np.random.default_rng(3)
    n_found = 0
    for _ in range(60):
        X = rng.standard_normal((400, 6)) if kind == "normal" else rng.standard_t(3, (400, 6))
        if kind == "categories":
            X = np.eye(7)[rng.choice(7, 400, p=rng.dirichlet(np.full(7, 0.7)))][:, :6] - 0.1
        y = (rng.random(400) < 1 / (1 + np.exp(-X[:, 0] + X[:, 1]))).astype(int)
        n_found += found(X, y, most=2).shape[1] > 0
    assert n_found <= 3


def test_who_holds_which_rows_and_the_order_of_columns_change_nothing():
    X, y = crossing(4)
    alone, names = found(X, y), [f"c{i}" for i in range(X.shape[1])]
    np.testing.assert_allclose(found(X, y, parts=3), alone, atol=1e-10)
    rows, columns = np.random.default_rng(5).permutation(len(y)), np.random.default_rng(6).permutation(X.shape[1])
    turned = found(X[rows][:, columns], y[rows], names=[names[c] for c in columns])
    np.testing.assert_allclose(np.abs(alone.T @ alone)[:1, :1], np.abs(alone[columns].T @ turned)[:1, :1], rtol=1e-8)
    np.testing.assert_allclose(alone[columns] @ alone[columns].T, turned @ turned.T, atol=1e-8)


def test_a_number_with_knots_is_one_coordinate():
    schema = Schema((Number("age", 0, 100, knots=(0, 20, 50, 70, 100)), Number("dose", 0, 1)))
    straight = straight_coordinates(schema)
    assert straight.shape == (6, 2)
    codes = np.stack([np.array([0.0, 20, 35, 50, 100]), np.full(5, 0.5)], axis=1)
    places = Encoder.unscaled(schema).encode(codes) @ straight
    np.testing.assert_allclose(places[:, 0], [-2, -1, -0.5, 0, 2], atol=1e-12)


def test_sums_of_another_size_are_refused():
    X, y = crossing()
    R = class_responses(y, np.unique(y))
    bends = Bends(Logits.first(Moments.of([X], R, classes=True)), np.eye(8), [f"c{i}" for i in range(8)], 2)
    with pytest.raises(ProtocolError, match="has 72 numbers"):
        bends.proposals(np.zeros(3))
    with pytest.raises(ProtocolError, match="sums 8 numbers"):
        bends.directions(bends.curvature(Held([X], R)), np.zeros(3))


def test_a_weight_counts_as_so_many_rows():
    X, y = crossing(9, n=400)
    R, counts = class_responses(y, np.unique(y)), np.random.default_rng(10).integers(1, 4, len(y))
    bends = Bends(regression(X, R), np.eye(8), [f"c{i}" for i in range(8)], 2)
    weighed, repeated = Held([X], R, counts.astype(float)), Held([np.repeat(X, counts, 0)], np.repeat(R, counts, 0))
    total = bends.curvature(weighed)
    np.testing.assert_allclose(total, bends.curvature(repeated), atol=1e-9)
    np.testing.assert_allclose(bends.checks(weighed, total), bends.checks(repeated, total), atol=1e-9)


def test_no_room_is_no_bend():
    X, y = crossing()
    assert found(X, y, most=0).shape == (8, 0)


# --- in a collaboration ---------------------------------------------------------------------------------------------


def parties(X, y):
    frame, labels = pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])]), pd.Series(y)
    parts = datasets.label_skew(labels, random_state=0)
    return {f"party {i}": (frame.iloc[rows], labels.iloc[rows]) for i, rows in enumerate(parts)}, frame


def gain(monkeypatch, X, y):
    """Area under the curve of joint boosting with bends, and without."""
    data, frame = parties(X[:1200], y[:1200])
    held, model = pd.DataFrame(X[1200:], columns=frame.columns), HistGradientBoostingClassifier(random_state=0)

    def measured():
        run = HorizontalCollaboration(model, random_state=0).fit(data)
        return roc_auc_score(y[1200:], run.predict_proba(held, party="party 0")[:, 1]), run

    (bent, run), X = measured(), held.head(3)
    one, other = (run.explain(X, party=name, max_evals=256, random_state=0).values for name in data)
    np.testing.assert_allclose(one, other, atol=1e-12)
    monkeypatch.setattr(Bends, "directions", lambda self, *_: np.zeros((len(self.straight), 0)))
    return bent, measured()[0]


def test_boosting_sees_columns_that_cross_and_parties_still_agree(monkeypatch):
    bent, straight = gain(monkeypatch, *crossing(7, n=2000, p=10))
    assert bent > straight + 0.1


def test_nothing_changes_where_nothing_bends(monkeypatch):
    rng = np.random.default_rng(8)
    X = rng.standard_normal((2000, 10))
    bent, straight = gain(monkeypatch, X, (X[:, 0] - X[:, 1] + rng.standard_normal(2000) > 0).astype(int))
    assert bent == straight


def test_a_curve_that_knots_follow_is_no_bend(monkeypatch):
    X, target = make_friedman1(2000, 10, noise=3, random_state=1)
    bent, straight = gain(monkeypatch, X, (target > np.median(target)).astype(int))
    assert bent == straight
