"""The part of a page that says whether explanations agree: by how much they differ, and which contradict each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from dcshap.explanation import Disagreement, disagreement
from dcshap.report.bars import rmse_bars
from dcshap.report.page import Block, Paragraph, Picture, Section, Table
from dcshap.report.parties import side_by_side
from dcshap.report.texts import decimals_for, signed
from dcshap.shapley import Explanation

__all__ = ["disagreement_section"]

MAX_CONTRADICTIONS = 12


def disagreement_section(
    explanations: Mapping[str, Mapping[str, Explanation]],
    *,
    disagreements: Mapping[str, Disagreement] | None = None,
    threshold: float = 0.05,
) -> Section:
    """How far parties' explanations of the same predictions differ by each method, and which contradict each other.

    Parameters
    ----------
    explanations : mapping of method to mapping of party to Explanation
        The first method is what the others are compared with.
    disagreements : mapping of method to Disagreement, optional
    threshold : float, default 0.05
        How large two attributions of opposite sign must both be to contradict each other.
    """
    known = disagreements or {}
    found = {name: known.get(name) or disagreement(each, threshold=threshold) for name, each in explanations.items()}
    blocks: list[Block] = [
        Paragraph(
            "The same predictions were explained by every party. The difference is the root mean square difference of "
            "the attributions between parties, averaged over features."
        ),
        Table(_comparison(found), "Do the parties explain alike?"),
        Picture(rmse_bars(found), _describe_bars(found), "The difference per feature."),
        *_reasons(found),
        *_contradictions(explanations, found),
    ]
    return Section("Do the explanations agree?", blocks)


def _comparison(found: Mapping[str, Disagreement]) -> pd.DataFrame:
    first = next(iter(found.values()))
    return pd.DataFrame(
        [
            {
                "explained by": method,
                "difference (RMSE)": each.rmse,
                "share of the first": f"{each.rmse / first.rmse:.1%}" if first.rmse > 0 else "–",
                "rank correlation": each.rank_correlation,
                f"contradictions over {each.threshold:g}": len(each.contradictions),
            }
            for method, each in found.items()
        ]
    )


def _describe_bars(found: Mapping[str, Disagreement]) -> str:
    averages = "; ".join(f"{method} {each.rmse:.3g} on average" for method, each in found.items())
    largest = "; ".join(f"{method}: {each.rmse_per_feature.idxmax()}" for method, each in found.items())
    return f"Bars of the difference between the parties per feature. {averages}. Largest: {largest}."


def _reasons(found: Mapping[str, Disagreement]) -> list[Block]:
    frames = [each.sources.assign(method=method) for method, each in found.items() if each.sources is not None]
    if not frames:
        return []
    frame = pd.concat(frames, ignore_index=True)
    table = pd.DataFrame(
        {
            "explained by": frame["method"],
            "between": frame["first"].astype(str) + " and " + frame["second"].astype(str),
            "because of different": frame["source"],
            "RMSE": frame["rmse"],
            "share": [f"{value:.0%}" for value in frame["share"]],
        }
    )
    return [Table(table, "Where the difference comes from")]


def _contradictions(
    explanations: Mapping[str, Mapping[str, Explanation]], found: Mapping[str, Disagreement]
) -> list[Block]:
    """Those of the first method, what the other methods make of them, and a picture of the largest."""
    method, first = next(iter(found.items()))
    if first.contradictions.empty:
        return [Paragraph(f"Explained by {method}, no two parties contradict each other over {first.threshold:g}.")]
    smaller = first.contradictions[["first_value", "second_value"]].abs().min(axis=1)
    largest = first.contradictions.loc[smaller.sort_values(ascending=False, kind="stable").index]
    shown = largest.head(MAX_CONTRADICTIONS)
    cut = f" The {len(shown)} largest are listed." if len(shown) < len(largest) else ""
    others = list(found.items())[1:]
    outcome = "".join(f" With {name}, {_still(largest, each)} of them remain." for name, each in others)
    sample, output = int(shown.iloc[0]["sample"]), str(shown.iloc[0]["output"])
    return [
        Paragraph(
            f"Explained by {method}, parties contradict each other {len(largest)} times: opposite signs, both larger "
            f"than {first.threshold:g}.{outcome}{cut}"
        ),
        Table(_resolution(shown, explanations), f"Contradictions by {method}, and what the same parties say otherwise"),
        Picture(
            side_by_side(explanations, sample, output, threshold=first.threshold),
            f"Bars of each party's contributions for sample {sample}, one panel per method: "
            f"{', '.join(explanations)}. Features on which parties contradict each other are shaded.",
            "The largest contradiction, feature by feature.",
        ),
    ]


def _still(contradictions: pd.DataFrame, other: Disagreement) -> int:
    keys = ["sample", "feature", "output", "first", "second"]
    return len(contradictions.merge(other.contradictions[keys], on=keys))


def _resolution(shown: pd.DataFrame, explanations: Mapping[str, Mapping[str, Explanation]]) -> pd.DataFrame:
    rows = []
    for each in shown.to_dict(orient="records"):
        row: dict[str, Any] = {"sample": each["sample"], "feature": each["feature"]}
        for method, parties in explanations.items():
            for party in (each["first"], each["second"]):
                row[f"{method}: {party}"] = _attribution(parties[party], each)
        rows.append(row)
    return pd.DataFrame(rows)


def _attribution(explanation: Explanation, where: Mapping[Any, Any]) -> str:
    values = explanation.values.reshape(*explanation.values.shape[:2], -1)
    feature = explanation.feature_names.index(where["feature"])
    value = float(values[where["sample"], feature, explanation.output_names.index(where["output"])])
    return signed(value, 3 if abs(value) < 1 else decimals_for(abs(value)))
