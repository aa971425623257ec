"""The page of an explanation: what was explained, against which reference, and a picture for every sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dcshap._tables import as_frame, is_array
from dcshap.exceptions import InputError
from dcshap.explanation.statement import PartyExplanation, bars_of
from dcshap.report.page import Block, KeyFigures, Listing, Note, Paragraph, Picture, Report, Section, Table
from dcshap.report.reading import feature_values, one_output, output_name, ways_of
from dcshap.report.texts import decimals_for, fixed, plain_value, shortened, signed
from dcshap.report.waterfall import MAX_FEATURES, describe_waterfall, waterfall
from dcshap.shapley import Explanation
from dcshap.shapley.telling.likeness import AS_REFERENCE, as_in_reference

__all__ = ["explanation_report", "explanation_section", "reference_section"]

MAX_SAMPLES = 20
OWEN = (
    "These are Owen values: the parties are blocks of the game, so that every party's view and the full view agree. "
    "They are another index than Shapley values, and differ from them where features of several parties interact."
)


def explanation_report(
    explanation: Explanation,
    *,
    title: str = "Explanations",
    output: str | int | None = None,
    max_samples: int = MAX_SAMPLES,
    max_features: int | None = MAX_FEATURES,
) -> Report:
    """One page of an explanation, for whoever asked for it. It shows the explained rows.

    Parameters
    ----------
    explanation : Explanation
    title : str
    output : str or int, optional
        By name or position. By default of two classes the second, of more the one predicted for each sample.
    max_samples : int, default 20
        How many samples to show, from the first; the page says so where there are more.
    max_features : int or None, default 15
        How many bars a picture has at most; the tables hold all features.
    """
    if max_samples < 1:
        raise InputError(f"`max_samples` must be at least 1. Got {max_samples!r}.")
    shown = range(min(len(explanation), max_samples))
    cut: list[Block] = []
    if len(explanation) > len(shown):
        cut = [Note(f"The first {len(shown)} of {len(explanation)} samples are shown here.")]
    samples = [explanation_section(explanation, sample, output=output, max_features=max_features) for sample in shown]
    sections = [Section("Overview", _overview(explanation)), reference_section(explanation)]
    if samples or cut:
        sections.append(Section("Samples", [*cut, *samples]))
    return Report(title, sections, lead=f"Compared with {explanation.compared_with}. {ways_of(explanation)}.")


def explanation_section(
    explanation: Explanation,
    sample: int = 0,
    *,
    output: str | int | None = None,
    max_features: int | None = MAX_FEATURES,
    heading: str | None = None,
) -> Section:
    """One sample: its waterfall, and a table of all features' values and contributions."""
    at = range(len(explanation))[sample]
    chosen = int(explanation[at].chosen_outputs(output)[0])
    name = output_name(explanation[at], chosen)
    alt = describe_waterfall(explanation, at, chosen, max_features=max_features)
    picture = Picture(waterfall(explanation, at, chosen, max_features=max_features), alt)
    table = Table(_values_table(explanation, at, chosen), f"All contributions to {name}")
    reasons = [reason.sentence for reason in explanation.reasons(sample=at, output=chosen)]
    said: list[Block] = [Listing(reasons, "The principal reasons")] if reasons else []
    return Section(heading or _heading(explanation, at), [*said, picture, table])


def reference_section(explanation: Explanation) -> Section:
    """The row or rows that stand for "absent", and their fingerprint."""
    blocks: list[Block] = [
        Paragraph(
            "A contribution says how far a feature moves the model's output from what it is at the reference, the row "
            "that stands for “feature absent”. Two explanations can be compared only if their references are the same; "
            "equal fingerprints prove that."
        )
    ]
    if isinstance(explanation, PartyExplanation) and explanation.reference_fingerprint:
        blocks.append(KeyFigures({"Fingerprint of the reference": explanation.reference_fingerprint}))
    if explanation.reference is None:
        return Section("Reference", [*blocks, Paragraph("The explanation does not carry its reference.")])
    n_rows, texts = len(_as_rows(explanation)), _reference_texts(explanation)
    if n_rows != 1:
        return Section("Reference", [*blocks, Paragraph(f"Absent features are averaged over {n_rows} reference rows.")])
    table = pd.DataFrame({"feature": texts.keys(), "reference": texts.values()})
    return Section("Reference", [*blocks, Table(table, "The reference row")])


def _overview(explanation: Explanation) -> list[Block]:
    n, n_players = explanation.values.shape[:2]
    figures: dict[str, Any] = {
        "Samples explained": n,
        "Features and other parties" if bars_of(explanation) else "Features": n_players,
        "Index": {"shapley": "Shapley", "owen": "Owen"}.get(explanation.index, explanation.index),
        "Values are": "exact" if explanation.exact else "sampled",
    }
    if explanation.view:
        figures["View of"] = explanation.view
    elif isinstance(explanation, PartyExplanation) and explanation.party:
        figures["Party"] = explanation.party
    most = plain_value(int(explanation.n_evals.max(initial=0)))
    evaluations = f"At most {most} coalitions were evaluated per sample."
    blocks: list[Block] = [KeyFigures(figures), Paragraph(_how_to_read(explanation)), Paragraph(evaluations)]
    if explanation.index == "owen":
        blocks.append(Note(OWEN))
    if not explanation.exact:
        blocks.append(Note(_uncertainty(explanation)))
    if bars_of(explanation):
        blocks.append(
            Paragraph(
                "“DC Features” is what another party's features contribute together. They are set apart, and their "
                "values are not shown: they never left that party."
            )
        )
    return blocks


def _how_to_read(explanation: Explanation) -> str:
    several = len(explanation.output_names) > 1
    of = "the output that is named above each picture" if several else "the model's output"
    return (
        f"Each picture starts at the base value, the model's answer at the reference, and ends at the prediction. "
        f"Every bar is a feature's contribution to {of}: orange raises it, blue lowers it. Base value and "
        f"contributions sum to the prediction. “{AS_REFERENCE.capitalize()}” does not mean that a feature "
        f"does not matter, but that it is no different here from what the sample is compared with."
    )


def _uncertainty(explanation: Explanation) -> str:
    largest = float(np.nan_to_num(explanation.standard_errors).max(initial=0.0))
    converged, n = int(explanation.converged.sum()), len(explanation)
    return (
        f"Values are sampled: there are too many features to evaluate every coalition. The largest standard error is "
        f"{fixed(largest, decimals_for(largest))}; {converged} of {n} samples reached the precision "
        f"asked for, and so have converged: errors of at most `tol`, or 5% of the largest contribution without one."
    )


def _values_table(explanation: Explanation, sample: int, output: int) -> pd.DataFrame:
    values, errors, _ = one_output(explanation[sample], np.array([output]))
    order = np.argsort(-np.abs(values[0]), kind="stable")
    decimals = decimals_for(float(np.abs(values).max(initial=0)))
    texts = feature_values(explanation, sample)
    reference, same = _reference_texts(explanation), as_in_reference(explanation, sample)
    columns: dict[str, list[Any]] = {
        "feature": [explanation.feature_names[j] for j in order],
        "value": [texts[j] for j in order],
        "reference": [reference.get(explanation.feature_names[j]) for j in order],
        "contribution": [
            AS_REFERENCE if explanation.feature_names[j] in same else signed(values[0, j], decimals) for j in order
        ],
    }
    if not explanation.exact:
        columns["standard error"] = [fixed(error, decimals) for error in errors[0, order]]
    return pd.DataFrame({name: column for name, column in columns.items() if any(cell is not None for cell in column)})


def _reference_texts(explanation: Explanation) -> dict[str, str]:
    if explanation.reference is None:
        return {}
    rows = _as_rows(explanation)
    return {str(name): _text(rows.iat[0, j]) for j, name in enumerate(rows.columns)} if len(rows) == 1 else {}


def _as_rows(explanation: Explanation) -> pd.DataFrame:
    """The reference as a table that is headed by the features' names where it has none."""
    reference = explanation.reference
    if isinstance(reference, pd.Series):
        return reference.to_frame().T
    if not is_array(reference):
        return as_frame(reference)
    frame = as_frame(np.atleast_2d(np.asarray(reference)))
    fits = frame.shape[1] == len(explanation.feature_names)
    return frame.set_axis(list(explanation.feature_names), axis=1) if fits else frame


def _text(value: Any) -> str:
    return shortened(plain_value(value), 60)


def _heading(explanation: Explanation, sample: int) -> str:
    """Which sample; with the row's own name, where it has one that says more than its position."""
    data = explanation.data
    if isinstance(data, pd.DataFrame) and not isinstance(data.index, pd.RangeIndex):
        return f"Sample {sample}, row {shortened(str(data.index[sample]))}"
    return f"Sample {sample}"
