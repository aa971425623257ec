"""Reductions: a party's private map of its encoded columns to fewer dimensions, `F_i`.

Every reduction ends in a private random rotation. Both come from the party's data and its private seed alone, so a
party that trains again on the same data sends the same representation again: an analyst that collects trainings with
fresh maps could otherwise reconstruct what a single one hides.
"""

from __future__ import annotations

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

__all__ = ["LinearReduction", "Reduction", "ReductionKind", "TransformerReduction", "fit_reduction", "random_basis"]

ReductionKind = Literal["svd", "pca", "random", "lpp"]
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
        reduced += self.offset
        return reduced


@dataclass(frozen=True)
class TransformerReduction:
    """Any fitted scikit-learn transformer, then the rotation."""

    transformer: Any
    rotation: FloatArray  # (m, m)

    def transform(self, encoded: FloatArray) -> FloatArray:
        """Reduce coordinates (n, p) to (n, m)."""
        reduced: FloatArray = np.asarray(self.transformer.transform(encoded), dtype=np.float64) @ self.rotation
        return reduced


def fit_reduction(
    kind: ReductionKind | Any,
    encoded: FloatArray,
    *,
    n_components: int,
    private_seed: int,
    basis: FloatArray | None = None,
) -> Reduction:
    """Find a party's reduction.

    Parameters
    ----------
    kind : {"svd", "pca", "random", "lpp"} or scikit-learn transformer
    encoded : array of shape (n, p)
        The party's own rows.
    n_components : int
    private_seed : int
    basis : array of shape (p, n_components), optional
        The subspace, where the parties agreed on a common one; the party's own rows are then not looked at.
    """
    if basis is None and not isinstance(kind, str):
        return _fit_transformer(kind, encoded, n_components, private_seed)
    offset = np.zeros(n_components)
    if basis is not None:
        weights = basis
    elif kind == "svd":
        weights = leading_eigenvectors(encoded.T @ encoded, n_components)
    elif kind == "pca":
        mean = encoded.mean(axis=0)
        weights = leading_eigenvectors(encoded.T @ encoded - len(encoded) * np.outer(mean, mean), n_components)
        offset = -mean @ weights
    elif kind == "random":
        weights = orthonormal(stream(private_seed, "reduction").standard_normal((encoded.shape[1], n_components)))
    elif kind == "lpp":
        weights = _locality_preserving(encoded, n_components, stream(private_seed, "reduction"))
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


def random_basis(names: list[str], n_components: int, *, seed: int) -> FloatArray:
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
    """Directions that keep neighbours together: smallest of `Xᵀ L X a = λ Xᵀ D X a` (He and Niyogi, 2003)."""
    rows = encoded
    if len(rows) > LPP_ROWS:
        rows = rows[np.sort(rng.choice(len(rows), LPP_ROWS, replace=False))]
    if len(rows) < 3:
        raise InputError(f"`reduction='lpp'` needs at least 3 rows per party. Got {len(rows)}.")
    graph = kneighbors_graph(rows, n_neighbors=min(10, len(rows) - 1), mode="connectivity")
    graph = graph.maximum(graph.T)
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    weighted = rows.T @ (degrees[:, None] * rows)
    laplacian = weighted - rows.T @ (graph @ rows)
    # A direction without spread would make the problem singular.
    weighted += 1e-9 * np.trace(weighted) / len(weighted) * np.eye(len(weighted))
    _, vectors = scipy.linalg.eigh(laplacian, weighted, subset_by_index=[0, n_components - 1])
    return orthonormal(vectors)


def _fit_transformer(transformer: Any, encoded: FloatArray, n_components: int, private_seed: int) -> Reduction:
    if not hasattr(transformer, "fit") or not hasattr(transformer, "transform"):
        raise InputError(
            f"A transformer must have `fit` and `transform`, so that new rows can be reduced too. "
            f"{type(transformer).__name__} has not."
        )
    fitted = clone(transformer)
    parameters = fitted.get_params(deep=False)
    if "n_components" in parameters:
        fitted.set_params(n_components=n_components)
    if parameters.get("random_state", 0) is None:
        fitted.set_params(random_state=derived_seed(private_seed, "reduction") % 2**32)
    fitted.fit(encoded)
    width = np.asarray(fitted.transform(encoded[:1])).shape[1]
    if width >= encoded.shape[1]:
        raise PrivacyError(
            f"A reduction must have fewer dimensions than columns, or it hides nothing. {type(transformer).__name__} "
            f"made {width} of {encoded.shape[1]}. Lower its number of components."
        )
    return TransformerReduction(fitted, _rotation(width, private_seed))
