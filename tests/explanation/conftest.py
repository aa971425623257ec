"""Small real collaborations, trained once."""

from __future__ import annotations

import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from dcshap import HorizontalCollaboration, VerticalCollaboration, datasets
from dcshap.exceptions import PrivacyWarning

COLUMNS = ["age", "sex", "cp", "trestbps", "chol", "thalach", "exang", "oldpeak", "ca", "thal"]


@pytest.fixture(scope="session")
def heart() -> tuple[pd.DataFrame, pd.Series]:
    bunch = datasets.load_heart()
    X = bunch.data[COLUMNS].set_axis([f"patient-{i}" for i in range(len(bunch.data))])
    return X, bunch.target.set_axis(X.index)


@pytest.fixture(scope="session")
def horizontal_data(heart):
    X, y = heart
    north, south = datasets.label_skew(y.iloc[20:], random_state=0)
    X, y = X.iloc[20:], y.iloc[20:]
    return {"north": (X.iloc[north], y.iloc[north]), "south": (X.iloc[south], y.iloc[south])}


@pytest.fixture(scope="session")
def horizontal(horizontal_data):
    return HorizontalCollaboration(KNeighborsClassifier(7), random_state=0).fit(horizontal_data)


@pytest.fixture(scope="session")
def private_span(horizontal_data):
    """Maps differ from party to party."""
    return HorizontalCollaboration(KNeighborsClassifier(7), span="private", random_state=0).fit(horizontal_data)


def columns_of(n_parties: int) -> dict[str, list[str]]:
    """The columns dealt out to parties, one after the other."""
    return {f"party{k}": COLUMNS[k::n_parties] for k in range(n_parties)}


def split(X: pd.DataFrame, n_parties: int) -> dict[str, pd.DataFrame]:
    return {name: X[columns] for name, columns in columns_of(n_parties).items()}


def trained_on_records(heart, **settings):
    X, y = heart
    models = {"knn": KNeighborsClassifier(7), "logistic": LogisticRegression(max_iter=500)}
    return {
        (n, name): VerticalCollaboration(model, random_state=0, **settings).fit(split(X.iloc[20:], n), y)
        for n in (2, 3, 4)
        for name, model in models.items()
    }


@pytest.fixture(scope="session")
def verticals(heart):
    """Vertical collaborations of two, three and four parties, by number and model."""
    return trained_on_records(heart)


@pytest.fixture(scope="session")
def exact_verticals(heart):
    """Without noise a collaboration is a function of its columns, that can be explained as any other."""
    with pytest.warns(PrivacyWarning, match="Without noise"):
        return trained_on_records(heart, noise=0.0)
