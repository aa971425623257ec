"""Principal reasons: the players that contribute most to a prediction, each in one plain sentence.

A reason depends on nothing but the explanation's values, names and cells, and on no last digit of them: whoever has the
same explanation gives the same reasons.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dcshap._tables import is_missing, plain_value, row_cells
from dcshap.exceptions import InputError
from dcshap.languages import Wording, wording
from dcshap.shapley.telling.likeness import DIGITS, Explained, equal_to_reference, n_reference_rows

__all__ = ["Direction", "Reason", "Size", "principal_reasons"]

Direction = Literal["raises", "lowers"]
Size = Literal["large", "moderate", "small"]

# Shares of all that the players of a sample contribute, signs left aside. What contributes less is no reason.
SHARES: dict[Size, float] = {"large": 1 / 3, "moderate": 1 / 10, "small": 1 / 100}


@dataclass(frozen=True)
class Reason:
    """One reason for a prediction.

    Attributes
    ----------
    feature : str
        The player: a feature, or another party's features together.
    amount : float
        What it contributes to the output.
    direction : {"raises", "lowers"}
    size : {"large", "moderate", "small"}
        At least a third, at least a tenth, or less of all that the players contribute.
    sentence : str
        The reason in the language that was asked for.
    party : str or None
        Who holds the features that the player stands for, where somebody else does: a more specific reason must be
        asked there.
    """

    feature: str
    amount: float
    direction: Direction
    size: Size
    sentence: str
    party: str | None


def principal_reasons(
    explained: Explained,
    n: int = 4,
    *,
    sample: int = 0,
    output: str | int | None = None,
    language: str = "en",
    without: Collection[str] = (),
    direction: Direction | None = None,
    outcome: str | None = None,
) -> tuple[Reason, ...]:
    """The reasons that contribute most, the largest first; the parameters are those of `Explanation.reasons`."""
    texts = wording(language)
    if n < 1:
        raise InputError(f"`n` must be at least 1. Got {n!r}.")
    if direction not in (None, "raises", "lowers"):
        raise InputError(f"`direction` must be 'raises', 'lowers' or None. Got {direction!r}.")
    if not -len(explained) <= sample < len(explained):
        raise InputError(f"`sample` must be the position of one of {len(explained)} samples. Got {sample!r}.")
    at = int(explained.chosen_outputs(output)[sample])
    values = explained.values.reshape(*explained.values.shape[:2], -1)[sample, :, at]
    total = float(np.abs(values).sum())
    cells = row_cells(explained.data, sample, explained.feature_names)
    same = equal_to_reference(explained, sample) | {name for name, cell in cells.items() if is_missing(cell)}
    amounts = {
        name: float(f"{value:.{DIGITS}g}")
        for name, value in zip(explained.feature_names, values, strict=True)
        if name not in same and name not in without and _size(float(value), total) is not None
    }
    # Where two contribute the same, their names decide: not the order of columns, nor the last digit.
    ordered = sorted(amounts, key=lambda name: (-abs(amounts[name]), name))
    signs: dict[Direction | None, float] = {"raises": 1.0, "lowers": -1.0, None: 0.0}
    chosen = [name for name in ordered if signs[direction] * amounts[name] >= 0][:n]
    typical = row_cells(explained.reference, 0, explained.feature_names) if _has_one_row(explained.reference) else None
    said = _Sentences(explained, texts, cells, typical, _output(explained, at, texts, outcome))
    return tuple(said.reason(name, amounts[name], total) for name in chosen)


def _size(value: float, total: float) -> Size | None:
    share = abs(value) / total if total > 0 else 0.0
    return next((size for size, least in SHARES.items() if share >= least - 1e-9), None)


def _has_one_row(reference: Any) -> bool:
    return n_reference_rows(reference) == 1


def _output(explained: Explained, at: int, texts: Wording, outcome: str | None) -> str:
    """What the contributions are to."""
    name = outcome or explained.output_names[at]
    if explained.are_probabilities:
        return texts.say("reason.output.probability", name=name)
    if len(explained.output_names) > 1:
        return texts.say("reason.output.score", name=name)
    unnamed = outcome is None and name == "output"
    return texts.say("reason.output.unnamed") if unnamed else texts.say("reason.output.number", name=name)


@dataclass(frozen=True)
class _Sentences:
    """Words a sample's reasons."""

    explained: Explained
    texts: Wording
    cells: Mapping[str, Any]
    typical: Mapping[str, Any] | None  # the reference's only row
    output: str

    def reason(self, name: str, amount: float, total: float) -> Reason:
        direction: Direction = "raises" if amount > 0 else "lowers"
        size = _size(amount, total) or "small"
        said = {
            "direction": self.texts.say(f"reason.direction.{direction}"),
            "size": self.texts.say(f"reason.size.{size}"),
            "amount": self._amount(abs(amount)),
            "output": self.output,
        }
        holders = self.explained.held_elsewhere.get(name, ())
        if holders:
            sentence = self.texts.say("reason.party", party=self.texts.listed(holders), **said)
        else:
            key, about = self._about(name)
            sentence = self.texts.say(f"reason.{key}", feature=name, **about, **said)
        return Reason(name, amount, direction, size, sentence, ", ".join(holders) or None)

    def _about(self, name: str) -> tuple[str, dict[str, str]]:
        """The cell, and the typical one where there is one and it reads differently."""
        if name not in self.cells:
            return "bare", {}
        value = self.texts.cell(self.cells[name])
        if self.typical is None:
            return "value", {"value": value}
        typical = self.texts.cell(self.typical[name]) if name in self.typical else value
        return ("value", {"value": value}) if typical == value else ("typical", {"value": value, "reference": typical})

    def _amount(self, size: float) -> str:
        if not self.explained.are_probabilities:
            return self.texts.say("reason.amount.number", amount=self.texts.number(plain_value(float(f"{size:.3g}"))))
        points = round(100 * size)
        if size < 0.01:
            return self.texts.say("reason.amount.fraction")
        return self.texts.say("reason.amount.points" if points > 1 else "reason.amount.point", amount=str(points))
