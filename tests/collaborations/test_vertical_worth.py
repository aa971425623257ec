"""Together, vertical parties predict better than the better of them alone, and nearly as with all columns at hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from dcshap import Schema, VerticalCollaboration, datasets
from dcshap.collaboration.baseline import Baseline

MODELS = {
    "logistic": LogisticRegression(max_iter=1000),
    "boosting": HistGradientBoostingClassifier(max_iter=50, random_state=0),
}


def areas(X, y, model, seed):
    """Area under the curve of the better party alone, together, and pooled."""
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
    columns = {"host": list(X.columns[:6]), "guest": list(X.columns[6:])}

    def plain(held):
        trained = Baseline.fit(model, Schema.for_supervision([X[held]]), X[held], y)
        return roc_auc_score(y_test, trained.model.predict_proba(trained.points(X_test[held]))[:, 1])

    run = VerticalCollaboration(model, random_state=seed).fit({name: X[held] for name, held in columns.items()}, y)
    together = run.predict_proba({name: X_test[held] for name, held in columns.items()})[:, 1]
    return max(map(plain, columns.values())), roc_auc_score(y_test, together), plain(list(X.columns))


@pytest.mark.filterwarnings("ignore::dcshap.exceptions.RangeWarning")
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("dataset", "n"), [("heart", 8), ("adult", 1)])
def test_together_is_better_than_alone_and_as_good_as_pooled(dataset, n, model):
    bunch = getattr(datasets, f"load_{dataset}")()
    found = [areas(bunch.data.iloc[:20000], bunch.target.iloc[:20000], MODELS[model], seed) for seed in range(n)]
    alone, together, pooled = np.mean(found, axis=0)
    assert together > alone
    assert together > pooled - 0.02
