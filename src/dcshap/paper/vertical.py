"""Section 4.4: host and guest hold different columns of Adult, and each sees its own part of an explanation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dcshap import report
from dcshap.collaborations import VerticalCollaboration
from dcshap.explanation.views import DC_FEATURES
from dcshap.paper.cells import Results
from dcshap.paper.outcome import Experiment, Group, Options, Outcome, Row, by_seed, table_of
from dcshap.paper.packing import pack, unpack_all
from dcshap.paper.settings import COMPONENTS, NEIGHBOURS, SETTINGS, new_model
from dcshap.paper.tasks import adult_parts
from dcshap.shapley import Explanation

__all__ = ["VERTICAL", "VIEWS", "explain_views"]

N_EXPLAINED = 100
N_TESTED = 2000
HELD = {"host": slice(0, 6), "guest": slice(6, 12)}
KNOWN_SETTINGS = ("paper", "default", "private-span")  # a shared span concerns parties with the same columns
HORIZONTAL_ONLY = ("alignment",)

# The paper's views are Algorithms 3 and 4; party views are the Owen values of the game with parties as blocks.
VIEWS: Mapping[str, dict[str, Any]] = {
    "all features, Algorithm 3": {"index": "shapley"},
    "host, Algorithm 4": {"view": "host", "index": "shapley"},
    "guest, Algorithm 4": {"view": "guest", "index": "shapley"},
    "all features, party views": {"index": "owen"},
    "host, party view": {"view": "host", "index": "owen"},
    "guest, party view": {"view": "guest", "index": "owen"},
}
ALGORITHMS = tuple(VIEWS)[:3]
PARTY_VIEWS = tuple(VIEWS)[3:]

TEXT = """\
The host holds columns 0 to 5 of Adult, the guest 6 to 11, of the same 32,561 people; 7 nearest neighbours; 3/4 of each
party's columns as dimensions in the paper's setting and with private spans. 100 rows of adult.test are explained for a
third party (all features), for the host and for the guest; the other party's features are folded into one bar, "DC
Features". The table has the root mean square difference between a party's view and the full view of the same kind.
Algorithms 3 and 4 play different games and agree roughly; party views agree to rounding.
"""


def explain_views(setting: str, *, seed: int) -> dict[str, Any]:
    """Every view of the same records, and the model's accuracy."""
    train, test = adult_parts()
    drawn = np.random.default_rng(seed).permutation(len(test.target))[:N_TESTED]
    X, y = test.data.iloc[drawn].reset_index(drop=True), test.target.iloc[drawn].reset_index(drop=True)
    columns = {party: list(train.data.columns[held]) for party, held in HELD.items()}
    parameters = {name: value for name, value in SETTINGS[setting].items() if name not in HORIZONTAL_ONLY}
    if setting != "default":
        parameters["n_components"] = COMPONENTS
    trained = VerticalCollaboration(new_model(NEIGHBOURS, setting=setting, seed=seed), random_state=seed, **parameters)
    trained.fit({party: train.data[names] for party, names in columns.items()}, train.target)
    rows = {party: X[names].iloc[:N_EXPLAINED] for party, names in columns.items()}
    return {
        "accuracy": trained.score({party: X[names] for party, names in columns.items()}, y),
        "columns": columns,
        "views": {name: pack(trained.explain(rows, **view)) for name, view in VIEWS.items()},
    }


def groups(options: Options) -> list[Group]:
    """By setting."""
    known = tuple(setting for setting in options.settings or () if setting in KNOWN_SETTINGS)
    return by_seed(explain_views, Options(settings=known), n_seeds=1, setting=("default",))


def outcome(options: Options, results: Results) -> Outcome:
    """One row per setting, kind of view and feature; dots of the paper's views and of party views."""
    rows: list[Row] = []
    tables, pictures = {}, {}
    for where, (cell,) in groups(options):
        setting, result = where["setting"], results[cell]
        views = unpack_all(result["views"])
        new = [
            {"experiment": "vertical", "setting": setting, "accuracy": result["accuracy"], "kind": kind, **row}
            for kind, names in (("Algorithms 3 and 4", ALGORITHMS), ("party views", PARTY_VIEWS))
            for row in _differences([views[name] for name in names], result["columns"])
        ]
        rows += new
        columns = {"kind": "views", "party": "party's view", "feature": "feature", "rmse": "RMSE to the full view"}
        tables[f"Setting {setting}: accuracy {result['accuracy']:.3f}"] = table_of(new, columns)
        for kind, names in (("algorithms", ALGORITHMS), ("party-views", PARTY_VIEWS)):
            figure = report.dots({name: views[name] for name in names})
            alt = f"Attributions of {N_EXPLAINED} rows by feature, in these views: {'; '.join(names)}."
            pictures[f"vertical-{setting}-{kind}"] = report.Picture(figure, alt, f"Setting {setting}")
    return Outcome(rows, TEXT, tables, pictures)


def _differences(views: list[Explanation], columns: dict[str, list[str]]) -> list[Row]:
    """How far each party's view is from the full one, its own features and the other party's total."""
    full, *partial = views
    rows: list[Row] = []
    for party, view in zip(columns, partial, strict=True):
        rows += [
            {"party": party, "feature": feature, "rmse": _rmse(_of(view, feature), _of(full, feature))}
            for feature in columns[party]
        ]
        others = sum(_of(full, feature) for other in columns if other != party for feature in columns[other])
        rows.append({"party": party, "feature": DC_FEATURES, "rmse": _rmse(_of(view, DC_FEATURES), others)})
    return rows


def _of(explanation: Explanation, feature: str) -> Any:
    return explanation.values[:, explanation.feature_names.index(feature)]


def _rmse(one: Any, two: Any) -> float:
    return float(np.sqrt(np.mean((one - two) ** 2)))


VERTICAL = Experiment("vertical", "Section 4.4: views of a vertical collaboration", groups, outcome)
