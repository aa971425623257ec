"""Warnings of settings that show the analyst more than the defaults do, or that lose what predicts."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from dcshap.exceptions import PrivacyWarning, QualityWarning

__all__ = ["warn_of_lost_columns", "warn_of_new_maps", "warn_of_no_noise"]


def warn_of_no_noise(noise: float) -> None:
    """Warn where exact representations would leave a party."""
    if noise == 0:
        warnings.warn(
            "Without noise the analyst alone can decode training rows: columns are integers, categories or short "
            "decimals, and lattice reduction (LLL) finds them again from exact representations. Leave `noise` at 0.2, "
            "or above 0.01 at least.",
            PrivacyWarning,
            stacklevel=3,
        )


def warn_of_new_maps() -> None:
    """Warn where rows that were represented before are represented through another map."""
    warnings.warn(
        "The parties find new maps. An analyst that has kept the representations of an earlier training then sees the "
        "same rows through two maps: up to twice as many of their dimensions, and their noise averaged over two draws. "
        "Keep the maps unless the analyst has deleted what it received, or the rows are others.",
        PrivacyWarning,
        stacklevel=3,
    )


def warn_of_lost_columns(party: str, names: Sequence[str]) -> None:
    """Warn where columns that matter to a party's own model are lost in its representation."""
    if names:
        warnings.warn(
            f"Hardly anything of {list(names)} survives in the representation of party {party!r}, and its own model "
            f"leans on them. Use span='supervised', more dimensions (`n_components`), or give the columns a range in "
            f"the schema that their usual values fill.",
            QualityWarning,
            stacklevel=3,
        )
