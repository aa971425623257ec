"""The options of the engine are the same wherever they are asked for."""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import Any, get_type_hints

import numpy as np
import pytest

from dcshap.exceptions import InputError
from dcshap.shapley import additive_shapley_values, coalition_shapley_values, shapley_values
from dcshap.shapley.options import EngineOptions, Options

WAYS = [shapley_values, additive_shapley_values, coalition_shapley_values]


def test_every_option_has_a_default_of_its_type():
    hints, defaults = get_type_hints(EngineOptions), get_type_hints(Options)
    assert hints == {name: hint for name, hint in defaults.items() if name != "index"}


@pytest.mark.parametrize("way", WAYS)
def test_a_signature_shows_every_option_and_its_default(way):
    shown = {name: each.default for name, each in inspect.signature(way).parameters.items()}
    assert "options" not in shown
    assert {each.name: each.default for each in fields(Options)}.items() <= shown.items()


@pytest.mark.parametrize(
    "wrong",
    [{"method": "best"}, {"max_evals": 0}, {"max_evals": 2.5}, {"tol": 0.0}, {"batch_size": 0}, {"batch_size": True}],
)
def test_an_option_out_of_its_range_is_refused_by_name(wrong):
    (name,) = wrong
    with pytest.raises(InputError, match=f"`{name}` must be"):
        shapley_values(np.sum, np.ones((1, 2)), np.zeros(2), **wrong)


def test_an_option_that_does_not_exist_is_refused():
    wrong: Any = {"max_eval": 5}
    with pytest.raises(TypeError, match="max_eval"):
        shapley_values(np.sum, np.ones((1, 2)), np.zeros(2), **wrong)
