"""Sums of exponentials follow smooth functions within the bound that they come with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import expit, softmax

from dcshap.shapley.exact.fourier import ACCEPTABLE, fourier_sum

FUNCTIONS: dict[str, Any] = {
    "logistic": expit,
    "tanh": np.tanh,
    "softplus": lambda u: np.logaddexp(0.0, u),
    "two": lambda u: np.concatenate([np.sin(u), np.cosh(u / 4)], axis=1),
}


def _softmax(u):
    return softmax(np.column_stack([u, np.zeros(len(u))]), axis=1)


def _values(found, u):
    return np.real(np.exp(1j * (u - found.centre) @ found.frequencies.T) @ found.coefficients)


def _off(found, function, low, high):
    """How far the sum is from the function, its constant aside."""
    u = np.random.default_rng(0).uniform(low, high, size=(4000 // 20 ** (len(low) - 1), len(low)))
    gap = _values(found, u) - function(u)
    return np.ptp(gap, axis=0) / 2.0


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("low", "high"), [(-1e-3, 1e-3), (-2.0, 1.0), (3.0, 11.0), (-12.0, 20.0)])
def test_a_function_of_one_number_is_followed(name, low, high):
    bounds = np.array([low]), np.array([high])
    found = fourier_sum(FUNCTIONS[name], *bounds)
    assert found is not None
    assert (_off(found, FUNCTIONS[name], *bounds) <= found.error + 1e-14 * found.scale).all()
    assert (found.error <= ACCEPTABLE * found.scale).all()


@pytest.mark.parametrize(("n", "reach"), [(2, 1.0), (2, 12.0), (3, 3.0)])
def test_a_function_of_several_numbers_is_followed(n, reach):
    low, high = -reach * np.linspace(0.2, 0.6, n), reach * np.linspace(0.7, 0.4, n)
    found = fourier_sum(_softmax, low, high)
    assert found is not None
    assert (_off(found, _softmax, low, high) <= found.error).all()


@pytest.mark.parametrize("function", [np.abs, lambda u: np.maximum(u, 0.0), np.sign])
def test_a_corner_or_a_jump_is_not_followed(function):
    assert fourier_sum(function, np.array([-1.0]), np.array([1.5])) is None


def test_what_reaches_too_far_or_has_too_many_dimensions_is_not_followed():
    assert fourier_sum(FUNCTIONS["logistic"], np.array([-1e4]), np.array([1e4])) is None
    assert fourier_sum(_softmax, np.full(3, -100.0), np.full(3, 100.0)) is None
    assert fourier_sum(_softmax, np.full(4, -1.0), np.full(4, 1.0)) is None
