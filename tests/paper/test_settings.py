"""The settings are what they are said to be."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from dcshap import HorizontalCollaboration
from dcshap.exceptions import InputError, PrivacyWarning
from dcshap.paper.settings import DATASETS, MODELS, PUBLISHED, collaboration, new_model
from dcshap.paper.tasks import horizontal_task


def test_setting_paper_is_the_papers_recipe():
    task = horizontal_task("heart", split="skewed", seed=0)
    with pytest.warns(PrivacyWarning, match="uniform"):
        trained = collaboration("heart", setting="paper", seed=0).fit(task.parties)
    for name, (X, _) in task.parties.items():
        party = trained.parties_[name]
        labels = np.stack([X[c].cat.codes if X[c].dtype == "category" else X[c] for c in X.columns], axis=1)
        assert np.array_equal(party.encode(X), labels)  # label encoding, nothing centred or scaled
        assert not party.linear_reduction.offset.any()
        assert not party.alignment.intercept.any()
        # The reduction spans the leading right singular vectors of the party's own rows.
        leading = np.linalg.svd(labels.astype(float), full_matrices=False)[2][:10].T
        weights = party.linear_reduction.weights
        assert np.allclose(leading @ leading.T, weights @ weights.T, atol=1e-6)
        assert len(party.anchor.rows) == 2000


def test_the_papers_model_is_seven_neighbours_by_kd_tree():
    model = new_model(MODELS[0], setting="paper", seed=0)
    assert isinstance(model, KNeighborsClassifier)
    assert (model.n_neighbors, model.algorithm) == (7, "kd_tree")


@pytest.mark.parametrize(
    ("dataset", "dimensions"), [("iris", 3), ("pima", 6), ("adult", 9), ("wine", 10), ("heart", 10)]
)
def test_dimensions_are_nine_on_adult_and_three_quarters_elsewhere(dataset, dimensions):
    for setting in ("paper", "private-span", "shared-span"):
        wanted = collaboration(dataset, setting=setting, seed=0).n_components
        assert not isinstance(wanted, str)
        exact = wanted if isinstance(wanted, int) else wanted * PUBLISHED[dataset].n_features
        assert round(exact) == dimensions


def test_setting_default_sets_nothing():
    plain = HorizontalCollaboration()
    found = collaboration("adult", setting="default", seed=0).get_params(deep=False)
    set_here = {name for name, value in found.items() if value != getattr(plain, name)}
    assert set_here == {"model", "random_state"}


@pytest.mark.parametrize("setting", ["paper", "private-span", "shared-span"])
def test_settings_of_exact_representations_say_so(setting):
    assert collaboration("iris", setting=setting, seed=0).noise == 0


def test_the_papers_smallest_factor_is_the_one_it_claims():
    assert min(PUBLISHED[name].factor for name in DATASETS) == pytest.approx(1.75)


def test_unknown_settings_and_models_are_named():
    with pytest.raises(InputError, match="lavish"):
        collaboration("iris", setting="lavish", seed=0)
    with pytest.raises(InputError, match="oracle"):
        new_model("oracle", setting="default", seed=0)
