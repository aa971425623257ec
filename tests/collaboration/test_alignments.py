"""One contract for every alignment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group

from dcshap.collaboration.alignment import align, damping, grid_step, to_grid
from dcshap.exceptions import InputError

KINDS = ["affine", "svd", "orthogonal"]


def rotation(size: int, seed: int) -> np.ndarray:
    turned: np.ndarray = ortho_group.rvs(size, random_state=np.random.default_rng(seed))
    return turned


def anchor_rows(n: int = 200, p: int = 6) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((n, p))


def spans(seed: int = 0, *, parties: int = 3, p: int = 6, m: int = 4, common: bool = False) -> list[np.ndarray]:
    """Every party's reduction (p, m): a subspace of its own, or a common one, under a private rotation."""
    bases = [
        np.linalg.qr(np.random.default_rng(seed + (0 if common else i)).standard_normal((p, m)))[0]
        for i in range(parties)
    ]
    return [basis @ rotation(m, seed + 100 + i) for i, basis in enumerate(bases)]


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


def test_every_party_gets_a_map_of_its_representation_to_one_space(kind):
    reductions = spans()
    found = align([anchor_rows() @ F for F in reductions], kind=kind)
    assert [a.weights.shape for a in found] == [(4, 4)] * 3
    assert [a.intercept.shape for a in found] == [(4,)] * 3
    assert len({a.resolution for a in found}) == 1


def test_reductions_of_one_subspace_come_to_the_same_points(kind):
    reductions = spans(common=True)
    X = np.random.default_rng(5).standard_normal((50, 6))
    found = align([anchor_rows() @ F for F in reductions], kind=kind)
    points = [a.transform(X @ F) for a, F in zip(found, reductions, strict=True)]
    for other in points[1:]:
        np.testing.assert_allclose(other, points[0], atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), kind=st.sampled_from(KINDS))
def test_private_rotations_change_no_point(seed, kind):
    reductions = spans()
    turned = [F @ rotation(4, seed + i) for i, F in enumerate(reductions)]
    X = np.random.default_rng(5).standard_normal((20, 6))
    before = [
        a.transform(X @ F)
        for a, F in zip(align([anchor_rows() @ F for F in reductions], kind=kind), reductions, strict=True)
    ]
    after = [
        a.transform(X @ F) for a, F in zip(align([anchor_rows() @ F for F in turned], kind=kind), turned, strict=True)
    ]
    np.testing.assert_allclose(after, before, atol=1e-9)


def test_the_order_of_anchor_rows_changes_no_distance(kind):
    reductions = spans()
    order = np.random.default_rng(0).permutation(200)
    X = np.random.default_rng(5).standard_normal((20, 6))
    results = []
    for rows in (anchor_rows(), anchor_rows()[order]):
        found = align([rows @ F for F in reductions], kind=kind)
        points = found[1].transform(X @ reductions[1])
        results.append(np.linalg.norm(points[:, None] - points, axis=2))
    np.testing.assert_allclose(results[1], results[0], atol=1e-5)


def test_a_shift_of_one_party_is_undone_by_the_affine_alignment_alone():
    reductions = spans(common=True)
    shift = np.array([3.0, -2.0, 1.0, 5.0])
    X = np.random.default_rng(5).standard_normal((30, 6))
    distance = {}
    kind: Any
    for kind in KINDS:
        found = align([anchor_rows() @ F + (shift if i else 0) for i, F in enumerate(reductions)], kind=kind)
        points = [
            a.transform(X @ F + (shift if i else 0)) for i, (a, F) in enumerate(zip(found, reductions, strict=True))
        ]
        distance[kind] = np.abs(points[1] - points[0]).max() / np.abs(points[0]).max()
    assert distance["affine"] < 1e-9
    assert distance["svd"] > 1e-3
    assert distance["orthogonal"] > 1e-3


def test_the_paper_s_alignment_is_the_pseudoinverse_of_the_leading_singular_vectors():
    anchors = [anchor_rows() @ F for F in spans()]
    U, _, _ = np.linalg.svd(np.concatenate(anchors, axis=1), full_matrices=False)
    for A, found in zip(anchors, align(anchors, kind="svd"), strict=True):
        expected = np.linalg.pinv(A) @ U[:, :4]
        np.testing.assert_allclose(np.abs(found.weights), np.abs(expected), atol=1e-10)
        assert not found.intercept.any()


def test_the_affine_alignment_is_the_regression_on_the_damped_and_scaled_singular_vectors():
    anchors = [anchor_rows() @ F + i for i, F in enumerate(spans())]
    centred = [A - A.mean(axis=0) for A in anchors]
    share, axes = np.linalg.eigh(sum(A @ np.linalg.pinv(A) for A in centred))  # how many parties keep a direction
    weight = np.clip((share - 1) / (len(anchors) - 1), 0, None)
    damped = axes @ np.diag((weight / weight.max()) ** damping(len(anchors))) @ axes.T @ np.concatenate(centred, axis=1)
    U, sigma, _ = np.linalg.svd(damped, full_matrices=False)
    for A, found in zip(anchors, align(anchors, kind="affine"), strict=True):
        design = np.concatenate([A, np.ones((len(A), 1))], axis=1)
        expected = np.linalg.lstsq(design, U[:, :4] * sigma[:4])[0]
        np.testing.assert_allclose(np.abs(found.weights), np.abs(expected[:-1]), atol=1e-8)
        np.testing.assert_allclose(np.abs(found.intercept), np.abs(expected[-1]), atol=1e-8)


def test_more_parties_are_damped_less():
    assert [damping(n) for n in (2, 3, 4)] == [6, 2, 1]
    # What a direction keeps that all but one party have.
    kept = [((n - 2) / (n - 1)) ** damping(n) for n in range(3, 9)]
    assert kept == sorted(kept)


def test_the_orthogonal_alignment_keeps_distances_and_solves_the_procrustes_problem():
    anchors = [anchor_rows() @ F for F in spans()]
    found = align(anchors, kind="orthogonal")
    for A, alignment in zip(anchors, found, strict=True):
        np.testing.assert_allclose(alignment.weights.T @ alignment.weights, np.eye(4), atol=1e-12)
        target = anchors[0] @ found[0].weights
        best = np.linalg.norm(A @ alignment.weights - target)
        for seed in range(20):
            assert best <= np.linalg.norm(A @ rotation(4, seed) - target) + 1e-9


def test_the_common_space_is_as_wide_as_the_narrowest_representation():
    anchors = [anchor_rows() @ F[:, : 4 - i] for i, F in enumerate(spans())]
    assert {a.weights.shape[1] for a in align(anchors, kind="affine")} == {2}
    with pytest.raises(InputError, match=r"same number of dimensions. Got \[2, 3, 4\]"):
        align(anchors, kind="orthogonal")


def test_an_unknown_alignment_is_refused():
    with pytest.raises(InputError, match="`alignment` must be 'affine', 'svd' or 'orthogonal'"):
        align([anchor_rows()] * 2, kind="cca")  # type: ignore[arg-type]  # that is the point


def test_representations_without_spread_are_refused():
    with pytest.raises(InputError, match="must vary"):
        align([np.zeros((20, 3))] * 2, kind="orthogonal")


def test_a_representation_of_lower_rank_than_its_width_is_aligned(kind):
    flat = anchor_rows() @ spans()[0]
    flat[:, 3] = flat[:, 0]
    found = align([flat, flat @ rotation(4, 3)], kind=kind)
    points = [found[0].transform(flat), found[1].transform(flat @ rotation(4, 3))]
    np.testing.assert_allclose(points[0], points[1], atol=1e-6)


def test_chunks_and_leading_coordinates_are_parts_of_the_whole(kind):
    reductions = spans()
    alignment = align([anchor_rows() @ F for F in reductions], kind=kind)[0]
    X = np.random.default_rng(5).standard_normal((9000, 4))
    whole = alignment.transform(X)
    np.testing.assert_allclose(np.concatenate(list(alignment.chunks(X))), whole, atol=alignment.resolution * 1.01)
    np.testing.assert_allclose(alignment.leading(2).transform(X), whole[:, :2], atol=alignment.resolution * 1.01)


# --- the grid -----------------------------------------------------------------------------------------------------


def test_the_grid_is_far_finer_than_the_spread_and_far_coarser_than_rounding_errors():
    for scale in (1e-12, 1.0, 1e9):
        points = scale * np.random.default_rng(0).standard_normal((100, 3))
        step = grid_step([points])
        assert scale * 2.0**-23 < step < scale * 2.0**-18
        noisy = to_grid(points * (1 + 1e-15), step)
        assert np.mean(noisy != to_grid(points.copy(), step)) < 0.01


def test_points_on_the_grid_stay_and_zero_has_one_sign():
    points = np.array([[0.25, -0.5, -1e-9]])
    np.testing.assert_array_equal(to_grid(points, 2.0**-10), [[0.25, -0.5, 0.0]])
    assert not np.signbit(points[0, 2])
