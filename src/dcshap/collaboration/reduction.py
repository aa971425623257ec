"""Reductions: a party's private map of its encoded columns to fewer dimensions, `F_i`.

Every reduction ends in a private random rotation. Both come from the party's data and its private seed alone, so a
party that trains again on the same data sends the same representation again: an analyst that collects trainings with
fresh maps could otherwise reconstruct what a single one hides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import scipy.linalg
import scipy.stats
from sklearn.base import clone
from sklearn.neighbors import kneighbors_graph

from dcshap._typing import FloatArray
from dcshap.collaboration.randomness import derived_seed, stream
from dcshap.exceptions import InputError, PrivacyError

__all__ = [
    "LinearReduction",
    "Reduction",
    "ReductionKind",
    "TransformerReduction",
    "fit_reduction",
    "oriented",
    "random_basis",
]

ReductionKind = Literal["svd", "pca", "random", "lpp"]
LPP_NEIGHBOURS = 10
LPP_ROWS = 2000  # a neighbourhood graph of more rows costs much and moves the subspace little


class Reduction(Protocol):
    """A private map of coordinates (n, p) to a representation (n, m)."""

    def transform(self, encoded: FloatArray) -> FloatArray:
        """Reduce coordinates (n, p) to (n, m)."""
        ...


@dataclass(frozen=True)
class LinearReduction:
    """`F(x) = x @ weights + offset`, the rotation included."""

    weights: FloatArray  # (p, m)
    offset: FloatArray  # (m,)

    def transform(self, encoded: FloatArray) -> FloatArray:
        """Reduce coordinates (n, p) to (n, m)."""
        reduced: FloatArray = encoded @ self.weights
        if self.offset.any():
            reduced += self.offset
        return reduced


@dataclass(frozen=True)
class TransformerReduction:
    """Any fitted scikit-learn transformer, then the rotation."""

    transformer: Any
    rotation: FloatArray  # (m, m)

    def transform(self, encoded: FloatArray) -> FloatArray:
        """Reduce coordinates (n, p) to (n, m)."""
        if len(encoded) == 0:  # scikit-learn refuses tables without rows
            return np.empty((0, len(self.rotation)))
        reduced: FloatArray = np.asarray(self.transformer.transform(encoded), dtype=np.float64) @ self.rotation
        return reduced


def moment_matrix(chunks: Iterable[FloatArray], weights: FloatArray | None = None) -> FloatArray:
    """The moments `[1 X]ᵀ [1 X]` (p + 1, p + 1) of rows that come some at a time: count, sums and products.

    With weights (n,), a row counts so many times.
    """
    total: FloatArray | None = None
    start = 0
    for rows in chunks:
        often = np.ones(len(rows)) if weights is None else weights[start : start + len(rows)]
        start += len(rows)
        counted = rows if weights is None else often[:, None] * rows
        moments = np.empty((rows.shape[1] + 1,) * 2)
        moments[0, 0], moments[0, 1:], moments[1:, 1:] = often.sum(), often @ rows, rows.T @ counted
        moments[1:, 0] = moments[0, 1:]
        total = moments if total is None else total + moments
    if total is None:
        raise InputError("Moments need at least one row. Got none.")
    return total


def covariance(moments: FloatArray) -> FloatArray:
    """The covariance (p, p) that a moment matrix (p + 1, p + 1) stands for."""
    count, sums = moments[0, 0], moments[0, 1:]
    return np.asarray(moments[1:, 1:] / count - np.outer(sums, sums) / count**2)


def fit_reduction(
    kind: ReductionKind | Any,
    chunks: Callable[[], Iterable[FloatArray]],
    *,
    names: Sequence[str],
    n_components: int,
    private_seed: int,
    basis: FloatArray | None = None,
    offset: FloatArray | None = None,
    n_columns: int | None = None,
) -> Reduction:
    """Find a party's reduction.

    Parameters
    ----------
    kind : {"svd", "pca", "random", "lpp"} or scikit-learn transformer
    chunks : callable
        Gives the party's own encoded rows, (n_1, p), (n_2, p), …
    names : sequence of str
        A name for each of the p coordinates.
    n_components : int
    private_seed : int
    basis : array of shape (p, n_components), optional
        The subspace, where the parties agreed on a common one; the party's own rows are then not looked at.
    offset : array of shape (n_components,), optional
        What is added to the common subspace's coordinates.
    n_columns : int, optional
        How many raw columns the p coordinates stand for, p by default. A transformer that picks its number of
        dimensions itself must pick fewer.
    """
    if basis is None and not isinstance(kind, str):
        encoded = np.concatenate(list(chunks()))
        reduction = _fit_transformer(kind, encoded, n_components, private_seed)
        _require_reduced(reduction, encoded.shape[1] if n_columns is None else n_columns)
        return reduction
    offset = np.zeros(n_components) if offset is None else offset
    if basis is not None:
        weights = basis
    elif kind == "svd":
        moments = moment_matrix(chunks())
        weights = oriented(leading_eigenvectors(moments[1:, 1:], n_components), moments[0, 1:])
    elif kind == "pca":
        moments = moment_matrix(chunks())
        weights = oriented(leading_eigenvectors(covariance(moments), n_components), moments[0, 1:])
        offset = -moments[0, 1:] / moments[0, 0] @ weights
    elif kind == "random":
        weights = random_basis(names, n_components, seed=derived_seed(private_seed, "reduction"))
    elif kind == "lpp":
        rows = np.concatenate(list(chunks()))
        weights = _locality_preserving(rows, n_components, stream(private_seed, "reduction"))
    else:
        raise InputError(
            f"`reduction` must be 'svd', 'pca', 'random', 'lpp' or a scikit-learn transformer. Got {kind!r}."
        )
    rotation = _rotation(n_components, private_seed)
    return LinearReduction(weights @ rotation, offset @ rotation)


def leading_eigenvectors(symmetric: FloatArray, n: int) -> FloatArray:
    """The eigenvectors (p, n) of a symmetric (p, p) matrix with the largest eigenvalues, largest first."""
    p = len(symmetric)
    _, vectors = scipy.linalg.eigh(symmetric, subset_by_index=[p - n, p - 1])
    return np.ascontiguousarray(vectors[:, ::-1])


def oriented(vectors: FloatArray, towards: FloatArray) -> FloatArray:
    """Vectors (p, m) with the sign that points towards (p,), so that it does not depend on the order of columns."""
    return np.asarray(vectors * np.where(towards @ vectors < 0, -1.0, 1.0))


def random_basis(names: Sequence[str], n_components: int, *, seed: int) -> FloatArray:
    """A random subspace (p, n_components) from the seed that the parties share, the same for any column order."""
    rows = [stream(seed, "span", name).standard_normal(n_components) for name in names]
    return orthonormal(np.array(rows))


def orthonormal(matrix: FloatArray) -> FloatArray:
    """An orthonormal basis of the column space, unique: the triangular factor's diagonal is positive."""
    q, r = np.linalg.qr(matrix)
    basis: FloatArray = q * np.where(np.diag(r) < 0, -1.0, 1.0)
    return basis


def _rotation(size: int, private_seed: int) -> FloatArray:
    if size == 1:
        return np.array([[stream(private_seed, "rotation").choice([-1.0, 1.0])]])
    rotation: FloatArray = scipy.stats.ortho_group.rvs(size, random_state=stream(private_seed, "rotation"))
    return rotation


def _locality_preserving(encoded: FloatArray, n_components: int, rng: np.random.Generator) -> FloatArray:
    """Directions that keep neighbours together: smallest of `Xᵀ L X a = λ Xᵀ D X a` (He and Niyogi, 2003).

    As in their paper, principal components first take away the directions without spread, in which all rows are
    neighbours and λ would be 0.
    """
    rows = encoded
    if len(rows) > LPP_ROWS:
        rows = rows[np.sort(rng.choice(len(rows), LPP_ROWS, replace=False))]
    if len(rows) < 3:
        raise InputError(f"`reduction='lpp'` needs at least 3 rows per party. Got {len(rows)}.")
    graph = kneighbors_graph(rows, n_neighbors=min(LPP_NEIGHBOURS, len(rows) - 1), mode="connectivity")
    graph = graph.maximum(graph.T)
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    centred = rows - rows.mean(axis=0)
    spread, axes = scipy.linalg.eigh(centred.T @ centred)
    kept = max(n_components, int(np.sum(spread > 1e-9 * spread[-1])))
    axes = axes[:, -kept:]
    points = centred @ axes
    weighted = points.T @ (degrees[:, None] * points)
    laplacian = weighted - points.T @ (graph @ points)
    # Fewer directions with spread than components would leave the problem singular.
    weighted += 1e-12 * np.trace(weighted) / kept * np.eye(kept)
    _, vectors = scipy.linalg.eigh(laplacian, weighted, subset_by_index=[0, n_components - 1])
    return orthonormal(oriented(axes @ vectors, rows.mean(axis=0)))


def _fit_transformer(
    transformer: Any, encoded: FloatArray, n_components: int, private_seed: int
) -> TransformerReduction:
    if not hasattr(transformer, "fit") or not hasattr(transformer, "transform"):
        raise InputError(
            f"A transformer must have `fit` and `transform`, so that new rows can be reduced too. "
            f"{type(transformer).__name__} has not."
        )
    fitted = clone(transformer)
    parameters = fitted.get_params()
    if "n_components" in parameters:
        fitted.set_params(n_components=n_components)
    # Every part of a pipeline that draws at random must draw the same again.
    unseeded = [name for name, value in parameters.items() if name.endswith("random_state") and value is None]
    fitted.set_params(**{name: derived_seed(private_seed, "reduction", name) % 2**32 for name in unseeded})
    try:
        fitted.fit(encoded)
        width = np.asarray(fitted.transform(encoded[:1])).shape[1]
    except ValueError as error:
        raise InputError(
            f"{type(transformer).__name__} must reduce {encoded.shape[0]} rows of {encoded.shape[1]} coordinates to "
            f"{n_components} dimensions, and could not. A party may hold too few rows for it."
        ) from error
    return TransformerReduction(fitted, _rotation(width, private_seed))


def _require_reduced(reduction: TransformerReduction, n_columns: int) -> None:
    width = len(reduction.rotation)
    if width >= n_columns:
        raise PrivacyError(
            f"A reduction must have fewer dimensions than columns, or it hides nothing. "
            f"{type(reduction.transformer).__name__} made {width} of {n_columns}. Lower its number of components."
        )
