"""Who holds which rows."""

from __future__ import annotations

import numpy as np
import pytest

from dcshap.exceptions import InputError
from dcshap.paper.tasks import N_EXPLAINED, SPLITS, horizontal_task


@pytest.mark.parametrize("dataset", ["iris", "wine", "heart"])
def test_no_row_is_both_trained_on_and_held_out(dataset):
    task = horizontal_task(dataset, split="skewed", seed=0)
    held = [set(X.index) for X, _ in task.parties.values()]
    assert not held[0] & held[1]
    assert not (held[0] | held[1]) & set(task.X_test.index)
    assert len(task.X_test) >= N_EXPLAINED


def test_adult_trains_on_all_of_adult_data_and_tests_on_adult_test():
    task = horizontal_task("adult", split="skewed", seed=0)
    assert sum(len(y) for _, y in task.parties.values()) == 32561
    assert len(task.y_test) == 2000


def test_user_1_holds_nine_tenths_of_the_positives_and_one_of_the_negatives():
    task = horizontal_task("adult", split="skewed", seed=0)
    (_, first), (_, second) = task.parties.values()
    positives, negatives = first.sum(), (first == 0).sum()
    assert positives / (positives + second.sum()) == pytest.approx(0.9, abs=1e-3)
    assert negatives / (negatives + (second == 0).sum()) == pytest.approx(0.1, abs=1e-3)


def test_of_the_last_class_split_only_the_last_class_is_skewed():
    task = horizontal_task("iris", split="last class", seed=0)
    (_, first), (_, second) = task.parties.values()
    shares = first.value_counts().sort_index() / (first.value_counts() + second.value_counts()).sort_index()
    assert shares[2] == pytest.approx(0.9, abs=0.03)
    assert shares[0] + shares[1] == pytest.approx(0.2, abs=0.12)


@pytest.mark.parametrize("split", [name for name in SPLITS if name != "contradiction"])
def test_a_seed_gives_the_same_task_again(split):
    one, two = (horizontal_task("iris", split=split, seed=7) for _ in range(2))
    assert one.X_test.equals(two.X_test)
    assert all(np.array_equal(one.parties[user][0], two.parties[user][0]) for user in one.parties)


def test_an_unknown_split_or_data_set_is_named():
    with pytest.raises(InputError, match="diagonal"):
        horizontal_task("iris", split="diagonal", seed=0)
    with pytest.raises(InputError, match="moons"):
        horizontal_task("moons", split="iid", seed=0)
