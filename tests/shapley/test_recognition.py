"""Models that are written down are solved without evaluating coalitions, to ten digits; those that lie are not."""

from __future__ import annotations

import warnings
from math import comb
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, softmax
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    BayesianRidge,
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    TweedieRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC

from dcshap.exceptions import InputError
from dcshap.shapley import additive_shapley_values, class_scores, shapley_values

D = 10
RNG = np.random.default_rng(0)
TRAIN = RNG.normal(size=(400, D)) * np.linspace(0.5, 2.0, D) + 1.0
TWO = (TRAIN @ RNG.normal(size=D) > 1.0).astype(int)
THREE = TWO + (TRAIN[:, 0] > 1.0)
TARGET = np.tanh(TRAIN[:, 0]) + TRAIN[:, 1] / 3
X, REFERENCE, BACKGROUND = TRAIN[:2], TRAIN.mean(axis=0), TRAIN[5:8]
BLOCKS = [[0, 3, 5, 7], [1, 4], [2, 6, 8], [9]]
GROUPS = {"a": [0, 9], **{str(at): [at] for at in range(1, 9)}}
FEW: Any = {"max_evals": 30}  # not enough to evaluate coalitions, so that closed forms must do


def _network(activation: str) -> MLPRegressor:
    return MLPRegressor(hidden_layer_sizes=(9,), activation=activation, max_iter=60, random_state=0)


def _fitted(model: Any, y: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whether a model has converged is not what is tested
        return model.fit(TRAIN, y)


scaled = StandardScaler()
MODELS: dict[str, tuple[Any, Any, str, str]] = {
    "logistic regression": (LogisticRegression(), TWO, "predict_proba", "product"),
    "its logarithms": (LogisticRegression(C=0.01), TWO, "predict_log_proba", "product"),
    "its log-odds": (LogisticRegression(), TWO, "decision_function", "linear"),
    "softmax": (LogisticRegression(), THREE, "predict_proba", "product"),
    "discriminant": (LinearDiscriminantAnalysis(), THREE, "predict_proba", "product"),
    "stochastic gradients": (SGDClassifier(loss="log_loss", random_state=0), TWO, "predict_proba", "product"),
    "poisson": (PoissonRegressor(), np.exp(TARGET), "predict", "product"),
    "gamma": (GammaRegressor(), np.exp(TARGET), "predict", "product"),
    "tweedie": (TweedieRegressor(power=0), TARGET, "predict", "linear"),
    "support vectors": (LinearSVC(), THREE, "decision_function", "linear"),
    "ridge classifier": (RidgeClassifier(), TWO, "decision_function", "linear"),
    "ridge of two targets": (Ridge(), np.stack([TARGET, TARGET**2], axis=1), "predict", "linear"),
    "bayesian ridge": (BayesianRidge(), TARGET, "predict", "linear"),
    "calibrated": (CalibratedClassifierCV(LinearSVC(), cv=3), TWO, "predict_proba", "product"),
    "calibrated pipeline": (
        CalibratedClassifierCV(make_pipeline(scaled, LinearSVC())),
        TWO,
        "predict_proba",
        "product",
    ),
    "network, tanh": (_network("tanh"), TARGET, "predict", "product"),
    "network, logistic": (_network("logistic"), TARGET, "predict", "product"),
    "fourier features": (
        make_pipeline(scaled, RBFSampler(gamma=0.05, n_components=30, random_state=0), Ridge()),
        TARGET,
        "predict",
        "product",
    ),
    "nystroem": (
        make_pipeline(scaled, Nystroem(gamma=0.05, n_components=30, random_state=0), LogisticRegression()),
        TWO,
        "decision_function",
        "product",
    ),
    "kernel regression": (make_pipeline(scaled, SVR()), TARGET, "predict", "product"),
    "kernel classifier": (SVC(), TWO, "decision_function", "product"),
    "kernel ridge": (KernelRidge(kernel="rbf", gamma=0.02), TARGET, "predict", "product"),
    "quadratic discriminant": (QuadraticDiscriminantAnalysis(), TWO, "decision_function", "quadratic"),
    "three of them": (QuadraticDiscriminantAnalysis(), THREE, "decision_function", "quadratic"),
    "naive bayes": (make_pipeline(scaled, GaussianNB()), THREE, "predict_proba", ""),
    "naive bayes, joint": (GaussianNB(), THREE, "predict_joint_log_proba", "quadratic"),
    "pipeline": (make_pipeline(scaled, PCA(6, whiten=True), LogisticRegression()), TWO, "predict_proba", "product"),
    "other scalers": (
        make_pipeline(RobustScaler(), MinMaxScaler(), MaxAbsScaler(), "passthrough", SelectKBest(k=7), Ridge()),
        TWO,
        "predict",
        "linear",
    ),
    "clipping scaler": (make_pipeline(MinMaxScaler(clip=True), Ridge()), TARGET, "predict", ""),
    "search": (GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}), TWO, "predict_proba", "product"),
    "network with corners": (_network("relu"), TARGET, "predict", ""),
    "isotonic": (CalibratedClassifierCV(LinearSVC(), method="isotonic"), TWO, "predict_proba", ""),
    "huber": (SGDClassifier(loss="modified_huber", random_state=0), TWO, "predict_proba", ""),
}
MODELS = {name: (_fitted(model, y), y, method, way) for name, (model, y, method, way) in MODELS.items()}
CASES: dict[str, Any] = {
    "shapley": {"reference": REFERENCE},
    "background": {"reference": BACKGROUND},
    "owen": {"reference": BACKGROUND, "index": "owen", "blocks": BLOCKS},
    "view": {"reference": REFERENCE, "index": "owen", "blocks": BLOCKS, "view": 2},
    "groups": {"reference": BACKGROUND, "groups": GROUPS},
}
KNOWN = [name for name, (*_, way) in MODELS.items() if way]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", KNOWN)
def test_a_known_model_s_values_are_those_of_all_its_coalitions(name, case):
    model, _, method, way = MODELS[name]
    predict, game = getattr(model, method), dict(CASES[case])
    reference = game.pop("reference")
    found = shapley_values(predict, X, reference, **game, **FEW)
    wanted = shapley_values(lambda rows: predict(rows), X, reference, **game)  # noqa: PLW0108 - hides the model
    assert (found.method, wanted.method) == (way, "exact")
    assert found.exact
    assert found.notes == ()
    scale = np.abs(wanted.predictions).max() + np.abs(wanted.values).max()
    # scikit-learn takes logarithms of probabilities near 0 that are 1 less another, and loses digits there.
    digits = 1e-9 if method == "predict_log_proba" else 1e-11
    np.testing.assert_allclose(found.values, wanted.values, rtol=0, atol=digits * scale)
    np.testing.assert_allclose(found.predictions, wanted.predictions, rtol=0, atol=1e-10 * scale)


@pytest.mark.parametrize("name", [name for name in MODELS if name not in KNOWN])
def test_a_model_that_is_not_known_has_its_coalitions_evaluated(name):
    model, _, method, _ = MODELS[name]
    assert shapley_values(getattr(model, method), X, REFERENCE, method="exact").method == "exact"


@pytest.mark.parametrize("kind", [pd.DataFrame, lambda rows, columns: pl.DataFrame(rows, schema=list(columns))])
def test_frames_of_numbers_are_as_good_as_arrays(kind):
    columns = [f"c{i}" for i in range(D)]
    train, rows, reference = (kind(table, columns=columns) for table in (TRAIN, X, REFERENCE[None]))
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(train, TWO)
    found = shapley_values(model.predict_proba, rows, reference, **FEW)
    assert found.method == "product"
    wanted = shapley_values(lambda table: model.predict_proba(table), rows, reference)  # noqa: PLW0108
    np.testing.assert_allclose(found.values, wanted.values, atol=1e-12)


# --- many players --------------------------------------------------------------------------------------------------


def _of_two_kinds(function, base, moves, counts):
    """Shapley values where players are of two kinds, counted out: the value depends on how many of each are in."""
    n = sum(counts)
    values = []
    for mine, other in ((0, 1), (1, 0)):
        total = 0.0
        for a in range(counts[mine]):
            for b in range(counts[other] + 1):
                ways = comb(counts[mine] - 1, a) * comb(counts[other], b) / (n * comb(n - 1, a + b))
                u = base + a * moves[mine] + b * moves[other]
                total += ways * (function(u + moves[mine]) - function(u))
        values.append(total)
    return values


@pytest.mark.parametrize("counts", [(30, 30), (5, 195), (250, 250)])
@pytest.mark.parametrize("index", ["shapley", "owen"])
def test_hundreds_of_players_have_the_values_that_counting_gives(counts, index):
    moves, base = (0.11, -0.07), 0.4
    n = sum(counts)
    model = LogisticRegression().fit([[0.0] * n, [1.0] * n], [0, 1])
    model.coef_ = np.repeat(moves, counts)[None]
    model.intercept_ = np.array([base])
    game: Any = {"index": "owen", "blocks": [[i] for i in range(n)]} if index == "owen" else {}
    found = shapley_values(model.predict_proba, np.ones((1, n)), np.zeros(n), **game)
    assert found.method == "product"
    one, two = _of_two_kinds(expit, base, moves, counts)
    wanted = np.repeat([one, two], counts)
    np.testing.assert_allclose(found.values[0, :, 1], wanted, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.values[0, :, 0], -wanted, rtol=0, atol=1e-12)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(15, 60))
def test_efficiency_symmetry_and_nothing_for_those_who_change_nothing(seed, n):
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=n) / np.sqrt(n) * rng.uniform(0.1, 6)
    weights[1], weights[2] = weights[0], 0.0
    model = LogisticRegression().fit([[0.0] * n, [1.0] * n], [0, 1])
    model.coef_, model.intercept_ = weights[None], np.array([rng.normal()])
    offsets = np.eye(n)[None]
    found = additive_shapley_values(model.predict_proba, np.zeros(n), offsets)
    assert found.method == "product"
    np.testing.assert_allclose(found.predictions, model.predict_proba(np.ones((1, n))), rtol=0, atol=1e-10)
    assert (found.values[0, 2] == 0).all()
    np.testing.assert_allclose(found.values[0, 0], found.values[0, 1], rtol=0, atol=1e-13)


def test_the_quotient_of_owen_values_is_the_shapley_value_of_the_blocks():
    n, rng = 60, np.random.default_rng(3)
    model = LogisticRegression().fit([[0.0] * n, [1.0] * n], [0, 1])
    model.coef_ = rng.normal(size=(1, n)) / 3
    rows, blocks = rng.normal(size=(2, n)), [list(range(25)), list(range(25, 57)), [57, 58, 59]]
    owen = shapley_values(model.predict_proba, rows, np.zeros(n), index="owen", blocks=blocks)
    between = shapley_values(model.predict_proba, rows, np.zeros(n), groups=blocks)
    totals = np.stack([owen.values[:, block].sum(axis=1) for block in blocks], axis=1)
    np.testing.assert_allclose(totals, between.values, rtol=0, atol=1e-12)


def test_a_sample_s_values_do_not_depend_on_the_others():
    predict = MODELS["logistic regression"][0].predict_proba
    together = shapley_values(predict, X, REFERENCE, **FEW)
    for at in range(len(X)):
        alone = shapley_values(predict, X[[at]], REFERENCE, **FEW)
        np.testing.assert_array_equal(alone.values[0], together.values[at])


# --- models that are not what they say -----------------------------------------------------------------------------


class Clipped(LinearRegression):  # type: ignore[misc]
    """Says that it is linear, and is not where it matters."""

    def predict(self, X):
        return np.clip(super().predict(X), -0.2, 0.8)


class Rounded(LogisticRegression):  # type: ignore[misc]
    """Is recognised by no name, and rounds."""

    def predict_proba(self, X):
        return super().predict_proba(X).round(3)


def test_a_model_that_claims_to_be_linear_and_is_not_is_evaluated_with_a_note():
    model = Clipped().fit(TRAIN, TARGET)
    found = shapley_values(model.predict, X, REFERENCE, method="exact")
    assert found.method == "exact"
    wanted = shapley_values(lambda rows: model.predict(rows), X, REFERENCE, method="exact")  # noqa: PLW0108
    np.testing.assert_allclose(found.values, wanted.values, atol=1e-12)
    limited = shapley_values(model.predict, X, REFERENCE, max_evals=200, random_state=0)
    assert limited.method == "sampled"
    assert "does not answer as its coefficients say" in limited.notes[0]


def test_a_subclass_is_not_taken_for_its_parent():
    model = Rounded().fit(TRAIN, TWO)
    assert shapley_values(model.predict_proba, X, REFERENCE, max_evals=200, random_state=0).method == "sampled"


def test_projections_that_reach_too_far_are_sampled_with_a_note():
    model = LogisticRegression().fit(TRAIN, TWO)
    model.coef_ = model.coef_ * 1e5
    found = shapley_values(model.predict_proba, X, REFERENCE, max_evals=300, random_state=0)
    assert found.method == "sampled"
    assert "reach too far" in found.notes[0]
    assert shapley_values(model.predict_proba, X, REFERENCE, method="exact").method == "exact"


def test_a_sampled_explanation_that_was_asked_for_is_sampled():
    predict = MODELS["logistic regression"][0].predict_proba
    assert shapley_values(predict, X, REFERENCE, method="sampled", random_state=0).method == "sampled"


def test_notes_are_saved(tmp_path):
    model = Clipped().fit(TRAIN, TARGET)
    found = shapley_values(model.predict, X, REFERENCE, max_evals=200, random_state=0)
    found.save(tmp_path / "file")
    assert type(found).load(tmp_path / "file").notes == found.notes


@pytest.mark.parametrize("activation", ["tanh", "logistic"])
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two classes", "three classes"])
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_network_classifier_s_scores_are_solved_and_make_its_probabilities(activation, y, wrapped):
    network = MLPClassifier((9,), activation=activation, max_iter=60, random_state=0)
    model = _fitted(make_pipeline(StandardScaler(), "passthrough", network) if wrapped else network, y)
    scores = class_scores(model)
    found = scores(TRAIN)
    probabilities = model.predict_proba(TRAIN)
    mine = softmax(found, axis=1) if found.ndim == 2 else expit(found)
    np.testing.assert_allclose(mine, probabilities if found.ndim == 2 else probabilities[:, 1], atol=1e-12)
    solved = shapley_values(scores, X, BACKGROUND, **FEW)
    assert solved.method == "product"
    every = shapley_values(lambda rows: scores(rows), X, BACKGROUND, method="exact")  # noqa: PLW0108
    np.testing.assert_allclose(solved.values, every.values, rtol=0, atol=1e-10 * np.abs(every.values).max())


def test_scores_of_other_classifiers():
    model = LogisticRegression().fit(TRAIN, TWO)
    np.testing.assert_array_equal(class_scores(model)(X), model.decision_function(X))
    corners = _fitted(MLPClassifier((9, 4), max_iter=30, random_state=0), TWO)
    np.testing.assert_allclose(expit(class_scores(corners)(TRAIN)), corners.predict_proba(TRAIN)[:, 1], atol=1e-12)
    with pytest.raises(InputError, match=r"must be a fitted classifier.*Got GaussianNB.*predict_proba"):
        class_scores(GaussianNB().fit(TRAIN, TWO))
    with pytest.raises(InputError, match="Got MLPRegressor"):
        class_scores(_fitted(_network("tanh"), TARGET))


def test_linear_values_of_large_numbers_are_exact_and_those_of_equal_cells_are_0():
    rng = np.random.default_rng(5)
    background, rows = 1e5 + rng.normal(size=(1000, 30)), 1e5 + rng.normal(size=(4, 30))
    background[:, 3] = rows[:, 3] = 0.1
    model = LinearRegression().fit(background, background @ rng.normal(size=30))
    model.coef_[3] = 1.7
    found = shapley_values(model.predict, rows, background, max_evals=128)
    assert found.method == "linear"
    assert np.all(found.values[:, 3] == 0.0)
    gaps = np.mean(rows[:, None] - background, axis=1)
    np.testing.assert_allclose(found.values, gaps * model.coef_, rtol=0, atol=1e-13 * np.abs(found.values).max())
