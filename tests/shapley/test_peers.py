"""The same values as other implementations give, at the versions that the project pins."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier

from dcshap.shapley import shapley_values

N_FEATURES = 8


@pytest.fixture(scope="module", params=["forest", "neighbours"], name="game")
def _game(request):
    X, y = load_wine(return_X_y=True)
    X = (X[:, :N_FEATURES] - X[:, :N_FEATURES].mean(axis=0)) / X[:, :N_FEATURES].std(axis=0)
    models = {"forest": RandomForestClassifier(20, random_state=0), "neighbours": KNeighborsClassifier(5)}
    model = models[request.param].fit(X, y)
    return model.predict_proba, X[::40], np.median(X, axis=0)


# Shap compiles its exact explainer anew in every process.
@pytest.mark.parametrize("explainer", ["KernelExplainer", pytest.param("ExactExplainer", marks=pytest.mark.slow)])
def test_shap_agrees(game, explainer, shap):
    predict, X, reference = game
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # shap's own
        if explainer == "ExactExplainer":
            theirs = shap.ExactExplainer(predict, shap.maskers.Independent(reference[None, :]))(X).values
        else:
            kernel = shap.KernelExplainer(predict, reference[None, :])
            theirs = kernel.shap_values(X, nsamples=2**N_FEATURES, l1_reg=False, silent=True)
    np.testing.assert_allclose(shapley_values(predict, X, reference).values, theirs, rtol=0, atol=1e-9)


def test_shapiq_agrees(game, shapiq):
    predict, X, reference = game
    mine = shapley_values(predict, X, reference).values
    for x, values in zip(X, mine, strict=True):

        def game_of_x(coalitions, x=x):
            return predict(np.where(coalitions, x, reference))[:, 1]

        theirs = shapiq.ExactComputer(game_of_x, n_players=N_FEATURES)("SV", 1)
        ordered = [theirs[(i,)] for i in range(N_FEATURES)]
        np.testing.assert_allclose(values[:, 1], ordered, rtol=0, atol=1e-9)
