"""One contract for every reduction, and what each of them is by itself."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh, subspace_angles
from sklearn.decomposition import PCA, KernelPCA
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.manifold import MDS
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dcshap import HorizontalCollaboration
from dcshap.collaboration.messages import Representation
from dcshap.collaboration.reduction import (
    LPP_NEIGHBOURS,
    LinearReduction,
    covariance,
    fit_reduction,
    moment_matrix,
    random_basis,
)
from dcshap.exceptions import InputError, PrivacyError
from dcshap.schema import Schema
from tests.collaboration.helpers import RecordedHorizontal, parties, table

LINEAR = ["svd", "pca", "random", "lpp"]
TRANSFORMERS = [Nystroem(), KernelPCA(kernel="rbf"), RBFSampler(gamma=0.02), make_pipeline(StandardScaler(), PCA(3))]
ALL = [*LINEAR, *TRANSFORMERS]


def rows(n: int = 80, p: int = 6, *, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) * np.linspace(2, 0.5, p) @ rng.standard_normal((p, p)) + 1


def fit(kind, X: np.ndarray, *, m: int = 3, seed: int = 7, **more):
    names = [f"x{j}" for j in range(X.shape[1])]
    return fit_reduction(kind, lambda: np.array_split(X, 3), names=names, n_components=m, private_seed=seed, **more)


@pytest.fixture(params=ALL, ids=lambda kind: kind if isinstance(kind, str) else type(kind).__name__)
def kind(request):
    return request.param


# --- the contract --------------------------------------------------------------------------------------------


def test_it_maps_any_rows_to_the_asked_dimensions(kind):
    reduction = fit(kind, rows())
    for n in (1, 17):
        reduced = reduction.transform(rows(n, seed=1))
        assert reduced.shape == (n, 3)
        assert reduced.dtype == np.float64
        assert np.isfinite(reduced).all()


def test_the_same_seed_and_data_give_the_same_map(kind):
    X = rows(9, seed=1)
    np.testing.assert_array_equal(fit(kind, rows()).transform(X), fit(kind, rows()).transform(X))


def test_another_private_seed_gives_another_map(kind):
    X = rows(9, seed=1)
    assert not np.allclose(fit(kind, rows(), seed=7).transform(X), fit(kind, rows(), seed=8).transform(X))


def test_it_does_not_change_what_it_is_given(kind):
    X = rows()
    before = X.copy()
    fit(kind, X).transform(X)
    np.testing.assert_array_equal(X, before)


def test_its_last_step_is_a_rotation_that_hides_the_axes(kind):
    """No coordinate is one of the reduction's own axes: principal components would show the largest first."""
    one, two = (fit(kind, rows(), seed=seed).transform(rows()) for seed in (1, 2))
    correlation = np.corrcoef(one.T, two.T)[:3, 3:]
    assert np.abs(correlation).max() < 1 - 1e-6


def test_training_again_on_the_same_data_sends_the_same_rows(kind):
    run = RecordedHorizontal(LogisticRegression(), 3, span="private", reduction=kind)
    data = parties(2, 60)
    run.fit(data)
    run.fit(data)
    sent = [m for m in run.received_by("analyst") if isinstance(m, Representation)]
    assert len(sent) == 4
    for first, second in zip(sent[:2], sent[2:], strict=True):
        np.testing.assert_array_equal(first.rows, second.rows)
        np.testing.assert_array_equal(first.anchor, second.anchor)


def test_a_model_can_be_trained_on_it(kind):
    data = parties(2, 100)
    run = HorizontalCollaboration(LogisticRegression(), 3, span="private", reduction=kind, random_state=0).fit(data)
    assert run.score(*data["party0"], party="party0") > 0.55


# --- linear ones ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", LINEAR)
def test_a_linear_reduction_has_orthonormal_weights(kind):
    reduction = fit(kind, rows())
    assert isinstance(reduction, LinearReduction)
    np.testing.assert_allclose(reduction.weights.T @ reduction.weights, np.eye(3), atol=1e-10)


def span_of(reduction) -> np.ndarray:
    return reduction.weights


def test_svd_spans_the_leading_right_singular_vectors():
    X = rows()
    _, _, Vt = np.linalg.svd(X, full_matrices=False)
    assert subspace_angles(span_of(fit("svd", X)), Vt[:3].T).max() < 1e-7


def test_pca_spans_the_leading_principal_components_and_is_centred():
    X = rows()
    reduction = fit("pca", X)
    assert subspace_angles(span_of(reduction), PCA(3).fit(X).components_.T).max() < 1e-7
    np.testing.assert_allclose(reduction.transform(X).mean(axis=0), 0, atol=1e-12)


def test_random_does_not_look_at_the_rows():
    np.testing.assert_array_equal(fit("random", rows(seed=1)).weights, fit("random", rows(seed=2)).weights)


def dense_locality_preserving(X: np.ndarray, m: int) -> np.ndarray:
    """He and Niyogi's problem with full matrices, neighbour by neighbour."""
    n = len(X)
    near = np.zeros((n, n))
    for i in range(n):
        distance = np.linalg.norm(X - X[i], axis=1)
        distance[i] = np.inf
        near[i, np.argsort(distance)[:LPP_NEIGHBOURS]] = 1
    near = np.maximum(near, near.T)
    D = np.diag(near.sum(axis=1))
    C = X - X.mean(axis=0)
    _, vectors = eigh(C.T @ (D - near) @ C, C.T @ D @ C)
    return vectors[:, :m]


@pytest.mark.parametrize("seed", range(3))
def test_locality_preserving_projection_solves_the_problem_it_states(seed):
    X = rows(60, 5, seed=seed)
    assert subspace_angles(span_of(fit("lpp", X, m=2)), dense_locality_preserving(X, 2)).max() < 1e-5


def test_locality_preserving_projection_spends_nothing_on_directions_without_spread():
    X = np.concatenate([rows(60, 4), np.full((60, 2), 3.0)], axis=1)
    weights = fit("lpp", X, m=3).weights
    np.testing.assert_allclose(weights[4:], 0, atol=1e-6)


def test_locality_preserving_projection_copes_with_less_spread_than_dimensions():
    X = np.concatenate([rows(60, 2), np.zeros((60, 4))], axis=1)
    reduction = fit("lpp", X, m=3)
    np.testing.assert_allclose(reduction.weights.T @ reduction.weights, np.eye(3), atol=1e-8)


def test_many_rows_are_sampled_for_neighbourhoods():
    assert fit("lpp", rows(3000)).transform(rows(3)).shape == (3, 3)


def test_a_given_basis_is_only_rotated():
    basis = np.linalg.qr(rows(6, 3))[0]
    reduction = fit("svd", rows(), basis=basis)
    assert subspace_angles(span_of(reduction), basis).max() < 1e-7
    assert not reduction.offset.any()


def test_a_random_basis_is_the_same_for_any_column_order():
    names = ["a", "b", "c", "d"]
    one = random_basis(names, 2, seed=3)
    two = random_basis(names[::-1], 2, seed=3)[::-1]
    np.testing.assert_allclose(one @ one.T, two @ two.T, atol=1e-12)
    np.testing.assert_allclose(one, two, atol=1e-12)


def test_one_dimension_is_rotated_by_a_sign():
    signs = {float(np.sign(fit("svd", rows(), m=1, seed=seed).weights[0, 0])) for seed in range(20)}
    assert signs == {-1.0, 1.0}


def test_moments_are_those_of_all_chunks_together():
    X = rows(50)
    moments = moment_matrix(np.array_split(X, 7))
    full = np.concatenate([np.ones((50, 1)), X], axis=1)
    np.testing.assert_allclose(moments, full.T @ full)
    np.testing.assert_allclose(covariance(moments), np.cov(X.T, bias=True), atol=1e-12)
    with pytest.raises(InputError, match="at least one row"):
        moment_matrix([])


# --- what is refused -------------------------------------------------------------------------------------------


def test_an_unknown_reduction_is_refused():
    with pytest.raises(InputError, match="`reduction` must be 'svd', 'pca', 'random', 'lpp'"):
        fit("umap", rows())


def test_a_transformer_that_cannot_reduce_new_rows_is_refused():
    with pytest.raises(InputError, match="MDS has not"):
        fit(MDS(), rows())


def test_a_transformer_that_keeps_all_dimensions_is_refused():
    with pytest.raises(PrivacyError, match="StandardScaler made 6 of 6"):
        fit(StandardScaler(), rows())


def test_dimensions_are_counted_against_raw_columns_not_onehot_coordinates():
    X, y = parties(1, 80)["party0"]
    data = {"a": (X, y), "b": (X, y)}
    schema = Schema.from_frames([table(80)], onehot=["town"])
    with pytest.raises(PrivacyError, match="made 6 of 6"):
        HorizontalCollaboration(
            LogisticRegression(), span="private", reduction=make_pipeline(PCA(6)), schema=schema
        ).fit(data)


def test_too_few_rows_for_a_transformer_are_said_so():
    with pytest.raises(InputError, match="PCA must reduce 2 rows of 6 coordinates to 3 dimensions"):
        fit(PCA(), rows(2))
    with pytest.raises(InputError, match="at least 3 rows per party"):
        fit("lpp", rows(2))
