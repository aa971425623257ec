"""The supervised common span at its defaults: accuracy, what is given away, and whether explanations are true.

Parts, by the first column of the table:

- `halves`: label-skewed halves, 90/10; accuracy together and pooled with the same encoding, agreement, exposure;
- `groups`: parties by age group or hospital, each on held-out rows of its own; area under the curve alone, and what
  together and pooled add to it;
- `bends`: the same on tables where columns depend on each other, with directions that bend and without, and exposure;
- `truth`: explanations against those of the same model on pooled rows, and those of a pooled model of half the rows;
- `privacy`: accuracy of logistic regression where the moments are differentially private.

Constants were chosen with divisions 0 to 19: those of the span on Heart, Pima, Iris, Wine, Breast Cancer and part of
Adult, the number of knots on Adult and bank, those of Newton's steps on all tables, those of privacy on Heart, Pima and
hospitals. Confirmed on what was not looked at then: Digits (ten classes), other divisions, three and four parties,
parties by groups, credit for the knots, and Adult, bank and credit for privacy.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.pipeline import Pipeline, auc, exposure, placements, shapley_values, truth
from benchmarks.tables import Table, load
from dcshap import datasets
from dcshap._typing import Array, FloatArray
from dcshap.exceptions import PrivacyError
from dcshap.schema import Schema
from dcshap.schema.encoding import Encoder

__all__ = ["run"]

Row = dict[str, Any]

MODELS = {
    "logistic": LogisticRegression(max_iter=3000),
    "7-NN": KNeighborsClassifier(7),
    "boosting": HistGradientBoostingClassifier(random_state=0),
}
DIVISIONS = {
    "iris": 30,
    "wine": 30,
    "heart": 30,
    "pima": 30,
    "breast_cancer": 15,
    "adult": 2,
    "bank": 3,
    "credit": 3,
    "digits": 3,
}
GROUPED = {"adult": 2, "bank": 3, "credit": 3, "hospitals": 40, "heart": 30, "pima": 30}
BENT = {"clusters_0": 3, "clusters_2": 3, "digits_2": 3, "crossing": 3, "digits": 3, "heart": 3}
TRUE = {"adult": 2, "heart": 10, "pima": 10, "breast_cancer": 10, "bank": 3, "credit": 3}
PRIVATE = {"iris": 10, "wine": 10, "heart": 20, "pima": 20, "breast_cancer": 10, "hospitals": 10, "adult": 2, "bank": 3}


def run(quick: bool = False) -> list[Row]:
    """All parts; few divisions and few rows where it must be quick."""
    parts = ((halves, DIVISIONS), (groups, GROUPED), (bends, BENT), (truths, TRUE), (private, PRIVATE))
    return [row for part, tables in parts for name, n in tables.items() for row in part(name, 2 if quick else n, quick)]


class Division:
    """A table with held-out rows, encoded with and without knots."""

    def __init__(self, table: Table, seed: int) -> None:
        self.table, self.y, self.seed = table, table.y, seed
        self.kept, self.held = datasets.hold_out(table.y, min(len(table.y) * 3 // 10, 5000), random_state=seed)
        frames, onehot = [table.X.iloc[self.kept]], table.categories
        self.schema = Schema.from_frames(frames, onehot=onehot, knots="auto", robust=True)
        self.codes: FloatArray = self.schema.codes(table.X)
        straight = Encoder.from_schema(Schema.from_frames(frames, onehot=onehot, robust=True)).encode(self.codes)
        # Trees and neighbours need no knots: without the span they get the plain numbers.
        self.encoded = dict.fromkeys(MODELS, straight) | {
            "logistic": Encoder.from_schema(self.schema).encode(self.codes)
        }

    def halves(self) -> list[Array]:
        """Label-skewed halves of the rows that are kept."""
        return [self.kept[rows] for rows in datasets.label_skew(self.y[self.kept], 2, random_state=self.seed)]

    def together(self, parts: list[Array], **settings: Any) -> Pipeline:
        """The span of some parties' rows."""
        pipeline = Pipeline(self.schema, seed=self.seed, **settings)
        return pipeline.fit([self.codes[rows] for rows in parts], [self.y[rows] for rows in parts])

    def plain(self, model: str, rows: Array) -> Any:
        """The model of some encoded rows."""
        return clone(MODELS[model]).fit(self.encoded[model][rows], self.y[rows])


def halves(name: str, n: int, quick: bool) -> list[Row]:
    """Accuracy and area under the curve, together and pooled; exposure; how far the parties' points are apart."""
    table = _table(name, quick)
    measured: dict[str, list[Row]] = {model: [] for model in MODELS}
    for seed in range(n):
        division = Division(table, seed)
        held, y = division.codes[division.held], division.y[division.held]
        pipeline = division.together(division.halves())
        read = exposure(division.schema, held, pipeline.sent(0, held))
        points = pipeline.transform(held)
        apart = float(np.abs(points - pipeline.transform(held, 1)).max())
        for model, untrained in MODELS.items():
            trained, pooled = pipeline.train(untrained), division.plain(model, division.kept)
            row = {"together": float(trained.score(points, y)), "auc": auc(trained, points, y)}
            encoded = division.encoded[model][division.held]
            row |= {"pooled": float(pooled.score(encoded, y)), "pooled auc": auc(pooled, encoded, y)}
            row |= {"exposure": float(read.mean()), "worst": float(read.max()), "apart": apart, "d": points.shape[1]}
            measured[model].append(row)
    return [{"part": "halves", "table": name, "model": model} | _mean(rows) for model, rows in measured.items()]


def groups(name: str, n: int, quick: bool) -> list[Row]:
    """Every party's area under the curve on its own held-out rows: alone, and what together and pooled add to it.

    Divisions share the rows of one table, so their scatter says nothing about another table of the same kind. Errors
    are therefore the table's: each row's part of the difference is averaged over the divisions that held it out.
    """
    table = _table(name, quick)
    parties = np.unique(table.groups)
    ways = ("alone", "together", "pooled")
    sums = {(model, way): np.zeros(len(table.y)) for model in MODELS for way in ways}
    times = np.zeros(len(table.y))
    for seed in range(100, 100 + n):
        division = Division(table, seed)
        parts, tests = ([r[table.groups[r] == g] for g in parties] for r in (division.kept, division.held))
        judged = [g for g, held in enumerate(tests) if len(np.unique(division.y[held])) == 2]
        pipeline = division.together(parts)
        times[np.concatenate([tests[g] for g in judged])] += 1
        for model, untrained in MODELS.items():
            trained, pooled = pipeline.train(untrained), division.plain(model, division.kept)
            for own, held, g in ((parts[g], tests[g], g) for g in judged):
                encoded, y = division.encoded[model][held], division.y[held]
                points = pipeline.transform(division.codes[held], g)
                sums[model, "alone"][held] += placements(division.plain(model, own), encoded, y)
                sums[model, "together"][held] += placements(trained, points, y)
                sums[model, "pooled"][held] += placements(pooled, encoded, y)
    rows: list[Row] = []
    for model, g in itertools.product(MODELS, parties):
        seen = (table.groups == g) & (times > 0)
        alone, together, pooled = (sums[model, way][seen] / times[seen] for way in ways)
        row: Row = {"part": "groups", "table": name, "model": model, "party": int(g), "divisions": n}
        row |= {"alone auc": _area(alone, table.y[seen])[0]}
        row |= dict(zip(("gain", "se"), _area(together - alone, table.y[seen]), strict=True))
        row |= dict(zip(("pooled gain", "pooled se"), _area(pooled - alone, table.y[seen]), strict=True))
        rows.append(row)
    return rows


def _area(parts: FloatArray, y: Array) -> tuple[float, float]:
    """An area under the curve, or a difference of two, and its standard error, from each row's part of it."""
    classes = [parts[y == c] for c in (0, 1)]
    error = np.sqrt(sum(np.var(each, ddof=1) / len(each) for each in classes))
    return float(np.mean([each.mean() for each in classes])), float(error)


def bends(name: str, n: int, quick: bool) -> list[Row]:
    """Every party's area under the curve less alone, with directions that bend and without, and exposure."""
    table = _table(name, quick)
    parties = np.unique(table.groups)
    measured: dict[str, list[Row]] = {model: [] for model in MODELS}
    for seed in range(100, 100 + n):
        division = Division(table, seed)
        parts, tests = ([r[table.groups[r] == g] for g in parties] for r in (division.kept, division.held))
        found = {bending: division.together(parts, bending=bending) for bending in (False, True)}
        for model, untrained in MODELS.items():
            row: Row = {}
            for label, pipeline in zip(("without", "with"), found.values(), strict=True):
                trained = pipeline.train(untrained)
                gains = [
                    auc(trained, pipeline.transform(division.codes[held], g), division.y[held])
                    - auc(division.plain(model, own), division.encoded[model][held], division.y[held])
                    for g, (own, held) in enumerate(zip(parts, tests, strict=True))
                ]
                codes = division.codes[division.held]
                read = exposure(division.schema, codes, pipeline.sent(0, codes))
                row |= {label: float(np.mean(gains)), f"exposure {label}": float(read.mean())}
            measured[model].append(row)
    return [{"part": "bends", "table": name, "model": model} | _mean(rows) for model, rows in measured.items()]


def truths(name: str, n: int, quick: bool) -> list[Row]:
    """Relative error, rank correlation and wrong signs of explanations, of the span's model and of half the rows."""
    table = _table(name, quick)
    measured: dict[str, list[Row]] = {model: [] for model in MODELS}
    for seed in range(n):
        division = Division(table, seed)
        pipeline = division.together(division.halves())
        rows = division.codes[division.held[: 10 if quick else 60]]
        half = np.random.default_rng(seed).permutation(division.kept)[: len(division.kept) // 2]
        for model in MODELS:
            measured[model].append(_true(division, pipeline, model, rows, half))
    return [{"part": "truth", "table": name, "model": model} | _mean(rows) for model, rows in measured.items()]


def _true(division: Division, pipeline: Pipeline, model: str, rows: FloatArray, half: Array) -> Row:
    schema, reference = division.schema, pipeline.anchor.reference()
    # The same model on pooled rows with the same encoding, knots and all.
    encode, n = Encoder.from_schema(schema).encode, 16 if model == "7-NN" else 64

    def values(trained: Any, to_points: Any) -> FloatArray:
        return shapley_values(
            lambda points: trained.predict_proba(points)[:, 1], to_points, rows, reference, permutations=n
        )

    encoded = encode(division.codes)
    whole, part = (clone(MODELS[model]).fit(encoded[r], division.y[r]) for r in (division.kept, half))
    true = values(whole, encode)
    floor, found = (
        truth(values(part, encode), true),
        truth(values(pipeline.train(MODELS[model]), pipeline.transform), true),
    )
    return found | {f"floor {key}": value for key, value in floor.items()}


def private(name: str, n: int, quick: bool) -> list[Row]:
    """Accuracy of logistic regression without and with differential privacy of the moments."""
    table = _table(name, quick)
    found: Row = {"part": "privacy", "table": name, "model": "logistic"}
    for epsilon in (None, 3.0, 1.0):
        scores, refused = [], 0
        for seed in range(n):
            division = Division(table, seed)
            try:
                pipeline = division.together(division.halves(), epsilon=epsilon)
            except PrivacyError:
                refused += 1
                continue
            points = pipeline.transform(division.codes[division.held])
            scores.append(pipeline.train(MODELS["logistic"]).score(points, division.y[division.held]))
        label = "no ε" if epsilon is None else f"ε = {epsilon:g}"
        found |= {label: float(np.mean(scores)) if scores else None, f"{label} refused": f"{refused}/{n}"}
    return [found]


def _table(name: str, quick: bool) -> Table:
    return load(name, n_rows=3000 if quick else 30_000)


def _mean(rows: list[Row]) -> Row:
    return {key: float(np.mean([row[key] for row in rows])) for key in rows[0]} | {"divisions": len(rows)}
