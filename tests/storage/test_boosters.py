"""Boosted trees of other libraries are saved, loaded and sent without pickle, and without being named as trusted."""

from __future__ import annotations

import typing
from typing import Any

import catboost  # type: ignore[import-untyped]
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from dcshap import HorizontalCollaboration
from dcshap.collaboration import messages as m
from dcshap.exceptions import StorageError
from dcshap.federation.seals.wire import pack, unpack
from dcshap.storage import read_model, write_model

QUIET: dict[str, Any] = {"verbose": 0, "allow_writing_files": False, "iterations": 8, "thread_count": 1}
MODELS = {
    "LightGBM": (
        lightgbm.LGBMClassifier(n_estimators=8, verbose=-1, n_jobs=1),
        lightgbm.LGBMRegressor(n_estimators=8, verbose=-1, n_jobs=1),
    ),
    "XGBoost": (xgboost.XGBClassifier(n_estimators=8, n_jobs=1), xgboost.XGBRegressor(n_estimators=8, n_jobs=1)),
    "CatBoost": (catboost.CatBoostClassifier(**QUIET), catboost.CatBoostRegressor(**QUIET)),
}


def parties(*, number: bool) -> dict[str, tuple[pd.DataFrame, Any]]:
    rng = np.random.default_rng(0)
    data = {}
    for name in ("north", "south"):
        X = pd.DataFrame(rng.normal(size=(80, 4)), columns=list("abcd"))
        target = X["a"] - X["b"] ** 2
        data[name] = (X, target if number else (target > 0).astype(int))
    return data


@pytest.mark.parametrize("library", MODELS)
@pytest.mark.parametrize("number", [False, True])
def test_a_collaboration_is_saved_and_loaded_with_it(library, number, tmp_path):
    data = parties(number=number)
    run = HorizontalCollaboration(MODELS[library][number], random_state=0).fit(data)
    run.save(tmp_path / "run")
    again = HorizontalCollaboration.load(tmp_path / "run")
    X = data["north"][0].head(6)
    np.testing.assert_array_equal(again.predict(X, party="south"), run.predict(X, party="south"))
    one, two = (each.explain(X, party="north").values for each in (run, again))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("library", MODELS)
@pytest.mark.parametrize("number", [False, True])
def test_it_is_sent(library, number):
    X, y = parties(number=number)["north"]
    model = MODELS[library][number].fit(X.to_numpy(), np.asarray(y))
    sent = pack(m.SharedModel(model, {"north": 2, "south": 2}, 1.0))
    got = typing.cast(m.SharedModel, unpack(sent)).model
    np.testing.assert_array_equal(got.predict(X.to_numpy()), model.predict(X.to_numpy()))


# --- types that are not trusted --------------------------------------------------------------------------------------


class Doubled(LogisticRegression):  # type: ignore[misc]  # sklearn is untyped
    pass


def halved(values: Any) -> Any:
    return values / 2


def shifted(values: Any) -> Any:
    return values + 1


def test_all_untrusted_types_of_a_model_are_named_at_once():
    steps = [("one", FunctionTransformer(halved)), ("two", FunctionTransformer(shifted)), ("three", Doubled())]
    with pytest.raises(StorageError) as caught:
        read_model(write_model(Pipeline(steps)))
    for name in ("halved", "shifted", "Doubled"):
        assert f"{__name__}.{name}" in str(caught.value)


class Remembering(LogisticRegression):  # type: ignore[misc]
    """Holds a type, once fitted, that it does not hold before."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Remembering:
        self.inner_ = Doubled()
        super().fit(X, y, sample_weight)
        return self


def test_types_that_only_the_fitted_model_holds_are_named_with_the_others(tmp_path):
    HorizontalCollaboration(Remembering(), random_state=0).fit(parties(number=False)).save(tmp_path / "run")
    with pytest.raises(StorageError, match=r"Doubled.*Remembering"):
        HorizontalCollaboration.load(tmp_path / "run")
    names = [f"{__name__}.{name}" for name in ("Doubled", "Remembering")]
    HorizontalCollaboration.load(tmp_path / "run", trusted=names)
