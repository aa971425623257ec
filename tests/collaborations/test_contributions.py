"""What a party's rows are worth, against the definition over all orders, and the axioms."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dcshap import HorizontalCollaboration, datasets
from dcshap.collaborations import contributions
from dcshap.collaborations.contributions import contributions_of, worth_of_rows


def table(n, seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 2))
    return points, (points[:, 0] + 0.3 * rng.normal(size=n) > 0).astype(int), np.zeros(0)


POINTS, LABELS, _ = table(200, 99)


def accuracy(model, points):
    return float(np.mean(model.predict(points) == LABELS))


def of_rows(held):
    return contributions_of(list(held), worth_of_rows(held, LogisticRegression(), accuracy, POINTS))


def test_values_are_the_mean_marginal_contribution_over_all_orders():
    held = {"a": table(30, 1), "b": table(5, 2), "c": (table(20, 3)[0], 1 - table(20, 3)[1], np.zeros(0))}
    found = of_rows(held)
    worth = worth_of_rows(held, LogisticRegression(), accuracy, POINTS)
    orders = [contributions._marginal(list(order), worth) for order in permutations(held)]
    for name in held:
        assert found["value"][name] == pytest.approx(np.mean([order[name] for order in orders]))
    assert found["value"].sum() == pytest.approx(worth(frozenset(held)) - worth(frozenset()))
    assert found["value"]["c"] < found["value"]["a"]  # its labels are turned round


def test_parties_with_the_same_rows_are_worth_the_same():
    same = table(30, 1)
    found = of_rows({"a": same, "b": same, "c": table(10, 5)})
    assert found["value"]["a"] == pytest.approx(found["value"]["b"])


def test_a_row_that_counts_twice_is_worth_two():
    points, labels, _ = table(40, 7)
    often = np.arange(40) % 3
    twice = (np.repeat(points, often, axis=0), np.repeat(labels, often), np.zeros(0))
    weighted = of_rows({"a": table(10, 1), "b": (points, labels, often.astype(float))})
    np.testing.assert_allclose(weighted["value"], of_rows({"a": table(10, 1), "b": twice})["value"])


def test_many_parties_are_sampled_with_standard_errors(monkeypatch):
    monkeypatch.setattr(contributions, "EXACT", 3)
    monkeypatch.setattr(contributions, "PERMUTATIONS", 60)
    held = {f"p{i}": table(12, i) for i in range(4)}
    sampled = of_rows(held)
    monkeypatch.setattr(contributions, "EXACT", 12)
    exact = of_rows(held)
    assert (np.abs(sampled["value"] - exact["value"]) <= 5 * sampled["standard_error"] + 1e-12).all()
    assert sampled["value"].sum() == pytest.approx(exact["value"].sum())


def test_nothing_more_travels_and_any_scorer_can_be_named():
    data = datasets.load_heart()
    X, y = data.data, data.target
    parts = {name: (X.iloc[at::3], y.iloc[at::3]) for at, name in enumerate(("a", "b", "c"))}
    run = HorizontalCollaboration(random_state=0).fit(parts)
    before = len(run.sent_)
    plain, auc = run.contributions(X, y), run.contributions(X, y, metric="roc_auc")
    assert len(run.sent_) == before
    assert auc["value"].sum() > 0.3
    assert plain["value"].sum() == pytest.approx(run.score(X, y, party="a") - max(np.mean(y == c) for c in set(y)))
