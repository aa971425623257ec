"""What a party states: an explanation, whose it is, against which reference, and which bars are other parties'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import pandas as pd

from dcshap.exceptions import InputError
from dcshap.shapley import Explanation

__all__ = ["UNNAMED", "PartyExplanation", "bars_of", "joint_reference", "require_one_run", "side_by_side"]

UNNAMED = "output"  # what the engine calls a single output


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PartyExplanation(Explanation):
    """An explanation of a collaboration's predictions.

    Parameters
    ----------
    party : str, optional
        Whose explanation it is; None where it belongs to no single party.
    reference_fingerprint : str, optional
        Two explanations can be compared only if their references' fingerprints are equal.
    run : str, optional
        The training run that the model is from.
    reference_choice : str, optional
        How the reference was chosen: "anchor", "background", "own", "mean" or "medoid"; None where it was given.
    bars : mapping of str to tuple of str
        The players that stand for other parties' features, and the parties that each of them stands for: one, or
        several where they are merged. All other players are the party's own features.
    """

    party: str | None = None
    reference_fingerprint: str | None = None
    run: str | None = None
    reference_choice: str | None = None
    bars: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    _LABELS: ClassVar[tuple[str, ...]] = (
        *Explanation._LABELS,
        *("party", "reference_fingerprint", "run", "reference_choice", "bars"),
    )
    _IN_REPR: ClassVar[tuple[str, ...]] = ("party", *Explanation._IN_REPR)

    @classmethod
    def of(cls, explained: Explanation, **added: Any) -> Self:
        """The same explanation with what a collaboration knows about it; `added` may replace anything."""
        return cls(**{each.name: getattr(explained, each.name) for each in fields(explained)} | added)

    @property
    def own_features(self) -> tuple[str, ...]:
        """The players that are the party's own features."""
        return tuple(name for name in self.feature_names if name not in self.bars)

    @property
    def compared_with(self) -> str:
        """Whom the samples are compared with, in words."""
        whose = "each party's" if self.party is None else f"{self.party}'s"
        # Vertical parties draw synthetic rows of their own columns, and do not show them.
        alike = "the same for every party" if self.reference is not None else "which parties keep to themselves"
        said = {
            "anchor": "a typical case (the reference row), the same for every party",
            "background": f"a synthetic population (the average over its rows), {alike}",
            "own": f"the median of {whose} own rows",
            "mean": f"the mean of {whose} own rows",
            "medoid": f"the most central of {whose} own rows",
        }
        return said.get(self.reference_choice or "", super().compared_with)

    def of_target(self, target: str | None) -> Self:
        """The same explanation, with the target's name as that of a single output that has none."""
        return replace(self, output_names=(target,)) if target and self.output_names == (UNNAMED,) else self

    @property
    def held_elsewhere(self) -> Mapping[str, tuple[str, ...]]:
        """The players that stand for other parties' features, and for whose."""
        return self.bars or super().held_elsewhere

    @classmethod
    def _labels_from(cls, about: Mapping[str, Any]) -> dict[str, Any]:
        bars = {name: tuple(parties) for name, parties in about["bars"].items()}
        # Explanations that were saved before did not say how the reference was chosen.
        return super()._labels_from({"reference_choice": None} | {**about}) | {"bars": bars}


def bars_of(explanation: Explanation) -> Mapping[str, tuple[str, ...]]:
    """The players of any explanation that stand for other parties; none outside a collaboration."""
    return explanation.bars if isinstance(explanation, PartyExplanation) else {}


def require_one_run(explanations: Mapping[str, Explanation]) -> None:
    """Refuse to put explanations together, or to compare them, that are of different trainings."""
    runs = {name: each.run for name, each in explanations.items() if isinstance(each, PartyExplanation) and each.run}
    if len(set(runs.values())) > 1:
        said = ", ".join(f"{name!r} {str(run)[:8]}" for name, run in runs.items())
        raise InputError(f"Explanations must be of one training. They are of different runs: {said}. Train again.")


def side_by_side(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Parties' columns of the same records, in the same order, as one table under the first party's identifiers."""
    index = tables[0].index
    return pd.concat([table.set_axis(index) for table in tables], axis=1)


def joint_reference(parts: Sequence[pd.DataFrame | None]) -> pd.DataFrame | None:
    """Parties' columns of the reference as one table; None where some party's rows stay with it."""
    tables = [part for part in parts if part is not None and len(part)]
    return pd.concat(tables, axis=1) if len(tables) == len(parts) else None
