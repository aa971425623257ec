"""An analyst that keeps what it is sent sees the same rows through every map that they were ever sent through.

Two maps of d dimensions show up to 2d of them, and two draws of noise average out: the maps of a table must be drawn
once and kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dcshap._typing import FloatArray

__all__ = ["dimensions_seen"]

ROUNDING = 1e-8  # of the largest singular value


def dimensions_seen(representations: Sequence[FloatArray]) -> int:
    """The rank of representations (n, d_i) of the same rows side by side, about their mean."""
    if not representations:
        return 0
    together = np.concatenate([rows - rows.mean(axis=0) for rows in representations], axis=1)
    sizes = np.linalg.svd(together, compute_uv=False)
    return int(np.sum(sizes > ROUNDING * max(sizes[0], 1e-300)))
