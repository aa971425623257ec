"""An explanation survives as JSON."""

from __future__ import annotations

import json

import numpy as np

from dcshap.paper.packing import pack, unpack
from dcshap.paper.settings import collaboration
from dcshap.paper.tasks import horizontal_task


def test_an_explanation_comes_back_from_json_to_the_digit():
    task = horizontal_task("heart", split="skewed", seed=0)
    trained = collaboration("heart", setting="default", seed=0).fit(task.parties)
    given = trained.explain(task.X_test.iloc[:2].reset_index(drop=True), party="user 1")
    back = unpack(json.loads(json.dumps(pack(given), allow_nan=False)))
    assert np.array_equal(back.values, given.values)
    assert np.array_equal(back.base_values, given.base_values)
    assert back.feature_names == given.feature_names
    assert back.party == "user 1"
    assert list(back.data["thal"]) == list(given.data["thal"])
