"""An explanation as it stands on a page: the prediction and its meaning, reasons, bars, numbers and their sum."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dcshap._tables import Cells, plain_value, row_cells
from dcshap.desk.library import Kept
from dcshap.desk.vocabulary import Organisation, Vocabulary
from dcshap.explanation import PartyExplanation
from dcshap.report.reading import one_sample, ways_of
from dcshap.report.texts import decimals_for, fixed, signed
from dcshap.shapley.reasons import Reason
from dcshap.shapley.telling.likeness import TYPICAL

__all__ = ["Bar", "Exposition", "exposed", "prediction_text", "spoken"]

MOST_REASONS = 4
SUM_TOLERANCE = 1e-6  # between the sum of the bars and the model's own answer
COMPARED_WITH = {
    "anchor": "the typical case, the same at every organisation",
    "background": "a synthetic population, the same at every organisation",
}


@dataclass(frozen=True)
class Bar:
    """One row of the waterfall; it reaches from `start` to `end` on a scale from 0 to 100."""

    name: str
    value: str
    typical: str
    amount: str
    start: float
    end: float
    sign: str  # "up", "down" or "none"
    organisation: Organisation | None

    @property
    def left(self) -> float:
        """Where the bar begins on the left."""
        return min(self.start, self.end)

    @property
    def width(self) -> float:
        """At least as much as the eye can see."""
        return max(abs(self.end - self.start), 0.4)


@dataclass(frozen=True)
class Exposition:
    """What a page shows of an explanation."""

    kept: Kept
    output: str
    prediction: str
    percent: bool
    decision: str
    meaning: str
    base: str
    base_at: float
    prediction_at: float
    bars: tuple[Bar, ...]
    total: str
    answer: str  # empty where only the explanation can tell
    sum_holds: bool
    reasons: tuple[Reason, ...]
    unnamed: bool  # whether something contributes that is not named among the reasons
    to_be_asked: tuple[Organisation, ...]
    compared_with: str
    how: str


def spoken(explanation: PartyExplanation, words: Vocabulary, language: str = "en") -> PartyExplanation:
    """The same explanation with columns and organisations called as people call them."""
    names = {name: words.label(name, language) for name in explanation.feature_names}
    bars = {}
    for bar, parties in explanation.bars.items():
        about = [words.about(party, language) for party in parties]
        names[bar] = "; ".join(f"{each.name}: {each.category}" for each in about)
        bars[names[bar]] = tuple(each.name for each in about)
    return replace(
        explanation,
        feature_names=tuple(names[name] for name in explanation.feature_names),
        data=None if explanation.data is None else Cells.of(explanation.data, names),
        reference=None if explanation.reference is None else Cells.of(explanation.reference, names),
        bars=bars,
    )


def exposed(kept: Kept, words: Vocabulary, *, without: Collection[str] = ()) -> Exposition:
    """Put an explanation into words, numbers and bars.

    Parameters
    ----------
    kept : Kept
    words : Vocabulary
    without : collection of str
        Columns that are not named among the reasons.
    """
    explanation, output = spoken(kept.explanation, words), words.output_among(kept.explanation.output_names)
    shown = one_sample(explanation, 0, output, max_features=None)
    at = int(explanation.chosen_outputs(output)[0])
    decimals = decimals_for(max(abs(shown.base), abs(shown.prediction), *(abs(bar.value) for bar in shown.bars)))
    hidden = [words.label(name) for name in without]
    reasons = explanation.reasons(MOST_REASONS, output=output, outcome=words.subject_in() or None, without=hidden)
    holders = {words.about(party).name: words.about(party) for p in kept.explanation.bars.values() for party in p}
    asked = [holders[name] for reason in reasons for name in (reason.party or "").split(", ") if name in holders]
    cells, typical = _cells(explanation.data, explanation), _cells(explanation.reference, explanation)
    ends = shown.base + np.cumsum([0.0, *(bar.value for bar in shown.bars[::-1])])
    scale = _Scale(ends)
    rising = [
        Bar(
            bar.name,
            cells.get(bar.name, ""),
            typical.get(bar.name, ""),
            TYPICAL if bar.same else signed(bar.value, decimals),
            scale.at(ends[row]),
            scale.at(ends[row + 1]),
            "none" if bar.value == 0 else "up" if bar.value > 0 else "down",
            holders.get(explanation.bars[bar.name][0]) if bar.name in explanation.bars else None,
        )
        for row, bar in enumerate(shown.bars[::-1])
    ]
    answer = kept.answer[at] if kept.answer else None
    return Exposition(
        kept=kept,
        output=shown.output,
        prediction=prediction_text(shown.prediction, words, percent=_percent(explanation)),
        percent=_percent(explanation),
        decision=words.decision(shown.prediction) if _percent(explanation) or words.above else "",
        meaning=_meaning(explanation, shown.prediction, shown.output, words),
        base=fixed(shown.base, decimals),
        base_at=scale.at(ends[0]),
        prediction_at=scale.at(ends[-1]),
        bars=tuple(rising[::-1]),
        total=fixed(shown.prediction, decimals),
        answer="" if answer is None else fixed(answer, decimals),
        sum_holds=answer is None or abs(answer - shown.prediction) <= SUM_TOLERANCE * max(1.0, abs(answer)),
        reasons=reasons,
        unnamed=any(bar.value != 0 for bar in shown.bars if bar.name in hidden),
        to_be_asked=tuple(asked),
        compared_with=COMPARED_WITH.get(kept.reference, kept.reference),
        how=ways_of(explanation),
    )


def _cells(table: Any, explanation: PartyExplanation) -> dict[str, str]:
    """The cells of a table's only row as text; none where there are several rows, or no table."""
    if table is None or len(table) != 1:
        return {}
    return {name: plain_value(cell) for name, cell in row_cells(table, 0, explanation.feature_names).items()}


def _percent(explanation: PartyExplanation) -> bool:
    return len(explanation.output_names) > 1 and explanation.are_probabilities


def prediction_text(value: float, words: Vocabulary, *, percent: bool) -> str:
    """A prediction as pages show it."""
    return f"{words.percent(value)} %" if percent else fixed(value, decimals_for(abs(value)))


def _meaning(explanation: PartyExplanation, value: float, output: str, words: Vocabulary) -> str:
    """What a prediction means, in a sentence."""
    subject = words.subject_in() or output
    if not _percent(explanation):
        return f"The model predicts {subject}: {prediction_text(value, words, percent=False)}."
    relation = "at or above" if value >= words.threshold else "below"
    line = f"{100 * words.threshold:g} %"
    whole, near = round(100 * value), "about"
    if whole == 100 * words.threshold and value != words.threshold:
        near = "just over" if value > words.threshold else "just under"
    share = f"Of 100 cases like this one, the model expects {subject} in {near} {whole}."
    return f"{share} That is {relation} the line of {line} at which the decision changes."


class _Scale:
    """Numbers on a scale from 0 to 100 with room at both ends."""

    def __init__(self, ends: Any) -> None:
        low, high = float(np.min(ends)), float(np.max(ends))
        room = 0.03 * (high - low) or 0.5
        self._low, self._width = low - room, high - low + 2 * room

    def at(self, number: float) -> float:
        return round(100 * (float(number) - self._low) / self._width, 2)
