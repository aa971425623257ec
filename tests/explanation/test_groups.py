from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import FastICA
from sklearn.linear_model import LogisticRegression

from dcshap import HorizontalCollaboration, VerticalCollaboration
from dcshap.exceptions import InputError

GROUPS = {"body": ["a", "c"], "rest": ["b", "d"], "town": ["town"]}


@pytest.fixture(scope="module")
def data():
    rng, data = np.random.default_rng(0), {}
    for name in ("north", "south"):
        X = pd.DataFrame(rng.normal(size=(80, 4)), columns=list("abcd")).assign(town=rng.choice(["x", "y"], 80))
        data[name] = (X, (X["a"] * X["b"] + X["c"] > 0).astype(int))
    return data


def brute_force(run, X, reference):
    """Shapley values of groups over all orders, from predictions of mixed rows."""
    players, values = list(GROUPS), np.zeros((len(X), len(GROUPS)))
    for order in itertools.permutations(range(len(players))):
        rows = pd.concat([reference] * len(X), ignore_index=True).astype(object)
        before = run.predict_proba(rows.infer_objects(), party="north")[:, 1]
        for at in order:
            for column in GROUPS[players[at]]:
                rows[column] = X[column].to_numpy()
            after = run.predict_proba(rows.infer_objects(), party="north")[:, 1]
            values[:, at] += after - before
            before = after
    return values / math.factorial(len(players))


@pytest.mark.parametrize("reduction", ["linear", "transformer"])
def test_groups_of_columns_are_players_of_one_game(data, reduction):
    if reduction == "linear":
        run = HorizontalCollaboration(LogisticRegression(), random_state=0).fit(data)
    else:
        ica = FastICA(3, random_state=0, max_iter=2000, tol=0.01)
        run = HorizontalCollaboration(LogisticRegression(), 3, span="private", reduction=ica, random_state=0).fit(data)
    X = data["north"][0].head(4)
    explained = run.explain(X, party="north", groups=GROUPS)
    assert explained.feature_names == tuple(GROUPS)
    reference = explained.reference.astype({"town": object})
    np.testing.assert_allclose(explained.values[..., 1], brute_force(run, X, reference), atol=1e-9)


def test_a_column_in_no_group_is_named(data):
    run = HorizontalCollaboration(random_state=0).fit(data)
    with pytest.raises(InputError, match="groups"):
        run.explain(data["north"][0], party="north", groups={"body": ["a", "c"]})


def test_groups_of_one_column_each_may_come_in_any_order(data):
    run = HorizontalCollaboration(random_state=0).fit(data)
    X = data["north"][0].head(3)
    plain, turned = (run.explain(X, party="north", groups=each) for each in (None, [[c] for c in reversed(X.columns)]))
    assert turned.feature_names == tuple(reversed(plain.feature_names))
    np.testing.assert_allclose(turned.values, plain.values[:, ::-1], atol=1e-12)


# --- vertically ------------------------------------------------------------------------------------------------------

OWN = {"place": ["a", "town"], "b": ["b"], "lab": ["c", "d"]}  # each of one party's columns
ACROSS = {"ac": ["a", "c"], "bd": ["b", "d"], "town": ["town"]}


@pytest.fixture(scope="module", params=["linear", "transformer"])
def vertical(request, data):
    X, y = data["north"]
    tables = {"one": X[["a", "b", "town"]], "two": X[["c", "d"]]}
    given: dict[str, Any] = {}
    if request.param == "transformer":
        given = {"span": "private", "reduction": FastICA(random_state=0, max_iter=2000, tol=0.01)}
        given["n_components"] = {"one": 2, "two": 1}
    run = VerticalCollaboration(LogisticRegression(), random_state=0, **given).fit(tables, y)
    return run, {name: table.head(4) for name, table in tables.items()}


def game_of(run, records, groups):
    """The value of a coalition of groups, straight from what parties hold: the model's answers (n,)."""
    parties, at = run.parties_, {column: name for name, each in records.items() for column in each.columns}
    held = {name: parties[name].records_of(records[name]).codes for name in records}
    reference = {name: parties[name].anchor.reference() for name in records}

    def value(coalition):
        inside = {column for group in coalition for column in groups[group]}
        blocks = []
        for name, codes in held.items():
            party, names = parties[name], list(records[name].columns)
            mine = np.array([column in inside for column in names])
            noise = party.noise_shares(codes, reference[name])[:, mine].sum(axis=1)
            rows = np.where(mine, codes, reference[name])
            base = party.noisy_codes(reference[name][None, :]) - party.reduce_codes(reference[name])
            blocks.append(party.reduce_codes(rows) + base + noise)
        return run.analyst_.model_.predict_proba(np.concatenate(blocks, axis=1))[:, 1]

    assert set(at) == {column for each in groups.values() for column in each}
    return value


def over_orders(value, players, orders):
    """The mean gain of each player over the given orders."""
    found: dict[str, Any] = dict.fromkeys(players, 0.0)
    for order in orders:
        for position, player in enumerate(order):
            found[player] = found[player] + value(order[: position + 1]) - value(order[:position])
    return np.stack([found[player] / len(orders) for player in players], axis=1)


@pytest.mark.parametrize("groups", [OWN, ACROSS], ids=["own", "across"])
def test_algorithm_3_has_groups_of_one_party_or_of_several(vertical, groups):
    run, records = vertical
    explained = run.explain(records, index="shapley", groups=groups)
    assert explained.feature_names == tuple(groups)
    orders = list(itertools.permutations(groups))
    np.testing.assert_allclose(
        explained.values[..., 1], over_orders(game_of(run, records, groups), list(groups), orders), atol=1e-9
    )


def test_party_views_keep_a_party_s_groups_together(vertical):
    run, records = vertical
    orders = [
        [*a, *b]
        for first, second in [(("place", "b"), ("lab",)), (("lab",), ("place", "b"))]
        for a in itertools.permutations(first)
        for b in itertools.permutations(second)
    ]
    expected = over_orders(game_of(run, records, OWN), list(OWN), orders)
    explained = run.explain(records, groups=OWN)
    assert explained.feature_names == tuple(OWN)
    assert explained.blocks == {"one": ("place", "b"), "two": ("lab",)}
    np.testing.assert_allclose(explained.values[..., 1], expected, atol=1e-9)
    view = run.explain(records, view="one", groups={name: OWN[name] for name in ("place", "b")})
    assert view.feature_names == ("place", "b", "DC Features")
    np.testing.assert_allclose(view.values[..., 1], expected, atol=1e-9)


def test_algorithm_4_has_groups_of_the_viewer_s_columns(vertical):
    run, records = vertical
    players = {"place": OWN["place"], "b": OWN["b"], "DC Features": OWN["lab"]}
    expected = over_orders(game_of(run, records, players), list(players), list(itertools.permutations(players)))
    for groups in ([["a", "town"], ["b"]], [["a", "town"], ["b"], ["c"], ["d"]]):
        explained = run.explain(records, view="one", index="shapley", groups=groups)
        assert explained.feature_names == ("a + town", "b", "DC Features")
        np.testing.assert_allclose(explained.values[..., 1], expected, atol=1e-9)


def test_the_analyst_sees_what_a_group_adds_and_not_what_its_columns_do(vertical):
    run, records = vertical
    before = len(run.sent_)
    run.explain(records, index="shapley", groups=OWN)
    sent = [each for each in run.sent_[before:] if each.recipient == "analyst" and each.sender == "one"]
    shapes = [each.shapes.get("offsets", each.shapes.get("rows")) for each in sent]
    assert [shape[2] for shape in shapes if shape] in ([2], [4])  # two groups, or their four coalitions


def test_a_group_of_several_parties_in_a_party_view_is_refused_with_what_to_do(vertical):
    run, records = vertical
    with pytest.raises(InputError, match=r"Of 'ac', 'one' holds \['a'\] and not \['c'\]: split it, or use"):
        run.explain(records, groups=ACROSS)
    with pytest.raises(InputError, match=r"Missing: \['d'\]"):
        run.explain(records, groups={"most": ["a", "b", "town"], "c": ["c"]})


def test_what_is_grouped_can_be_read_and_kept(vertical, tmp_path):
    run, records = vertical
    explained = run.explain(records, groups=OWN)
    assert set(explained.to_frame()["feature"]) == set(OWN)
    assert explained.reasons(sample=0)
    assert "place" in explained._repr_html_()
    explained.save(tmp_path / "kept")
    assert type(explained).load(tmp_path / "kept").feature_names == tuple(OWN)
