from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dcshap import Explanation, shapley_values
from dcshap.exceptions import InputError
from dcshap.explanation import PartyExplanation

NAMES = ("income", "debt", "age", "job", "town")


def explained(
    values: Any,
    data: Any = None,
    reference: Any = None,
    *,
    base: Any = 10.0,
    outputs: tuple[str, ...] = ("output",),
    bars: Mapping[str, tuple[str, ...]] | None = None,
) -> Explanation:
    """An explanation made of values (M,), (n, M) or (n, M, K)."""
    numbers = np.atleast_2d(np.asarray(values, dtype=float))
    given: dict[str, Any] = {
        "values": numbers,
        "base_values": np.broadcast_to(base, (len(numbers), *numbers.shape[2:])),
        "feature_names": NAMES[: numbers.shape[1]],
        "output_names": outputs,
        "index": "shapley",
        "method": "exact",
        "exact": True,
        "n_evals": np.ones(len(numbers), dtype=int),
        "standard_errors": np.zeros(numbers.shape),
        "converged": np.ones(len(numbers), dtype=bool),
        "data": data,
        "reference": reference,
    }
    return Explanation(**given) if bars is None else PartyExplanation(**given, bars=bars)


def two_classes(values: Any, data: Any = None, reference: Any = None) -> Explanation:
    positive = np.atleast_2d(np.asarray(values, dtype=float))
    both = np.stack([-positive, positive], axis=2)
    return explained(both, data, reference, base=[0.4, 0.6], outputs=("no", "yes"))


ROW = pd.DataFrame({"income": [1200.0], "debt": [900.0], "age": [40.0], "job": ["clerk"], "town": ["A"]})
TYPICAL = pd.DataFrame({"income": [2500.0], "debt": [100.0], "age": [40.0], "job": ["nurse"], "town": ["A"]})


def test_the_largest_come_first_with_direction_and_size():
    reasons = explained([-6.0, 3.0, 0.0, 0.5, 0.02], ROW, TYPICAL).reasons()
    assert [(r.feature, r.direction, r.size) for r in reasons] == [
        ("income", "lowers", "large"),
        ("debt", "raises", "moderate"),
        ("job", "raises", "small"),
    ]
    assert [r.amount for r in reasons] == [-6.0, 3.0, 0.5]
    assert reasons[0].sentence == "income is 1200 (typical: 2500). This lowers the prediction strongly, by 6."


def test_probabilities_are_told_in_percentage_points_of_the_positive_class():
    reasons = two_classes([-0.2, 0.1, 0.0, 0.009, 0.0104], ROW, TYPICAL).reasons(5)
    assert [r.sentence.partition("This ")[2] for r in reasons] == [
        "lowers the estimated probability of “yes” strongly, by about 20 percentage points.",
        "raises the estimated probability of “yes” clearly, by about 10 percentage points.",
        "raises the estimated probability of “yes” slightly, by less than one percentage point.",
    ]
    town = two_classes([-0.2, 0.1, 0.0, 0.009, 0.0104]).reasons(5)[2]
    assert town.sentence.endswith("slightly, by about one percentage point.")


def test_another_output_and_another_name_for_it_can_be_asked_for():
    (reason,) = two_classes([0.2]).reasons(output="no", outcome="default")
    assert (reason.amount, reason.direction) == (-0.2, "lowers")
    assert "“default”" in reason.sentence


def test_a_feature_as_in_the_reference_is_no_reason_whatever_its_value():
    noisy = explained([5.0, 3.0, 4.0, 2.0, 1.0], ROW, TYPICAL)
    assert [r.feature for r in noisy.reasons(5)] == ["income", "debt", "job"]
    nearly = TYPICAL.assign(debt=900.0 * (1 + 1e-13))
    assert [r.feature for r in explained([5.0, 3.0, 4.0, 2.0, 1.0], ROW, nearly).reasons(5)] == ["income", "job"]


def test_a_missing_cell_is_no_reason():
    missing = ROW.assign(income=np.nan, job=np.nan)
    assert [r.feature for r in explained([5.0, 3.0, 4.0, 2.0, 1.0], missing, TYPICAL).reasons(5)] == ["debt"]


def test_against_a_background_a_feature_counts_unless_all_rows_have_it():
    background = pd.concat([TYPICAL, TYPICAL.assign(age=50.0)])
    reasons = explained([5.0, 3.0, 4.0, 2.0, 1.0], ROW, background).reasons(5)
    assert [r.feature for r in reasons] == ["income", "age", "debt", "job"]
    assert reasons[0].sentence.startswith("income is 1200. This")


def test_named_features_are_left_out_and_never_mentioned():
    reasons = explained([5.0, 3.0, 0.0, 2.0, 0.0], ROW, TYPICAL).reasons(without=("income", "job"))
    assert [r.feature for r in reasons] == ["debt"]
    assert not any(word in r.sentence for r in reasons for word in ("income", "1200", "job", "clerk"))


def test_one_direction_can_be_asked_for():
    both = explained([5.0, -3.0, 0.0, 2.0, 0.0])
    assert [r.feature for r in both.reasons(direction="raises")] == ["income", "job"]
    assert [r.feature for r in both.reasons(direction="lowers")] == ["debt"]


def test_nothing_contributes_and_there_is_no_reason():
    assert explained([0.0, 0.0, 0.0, 0.0, 0.0], ROW, TYPICAL).reasons() == ()


@pytest.mark.parametrize("language", ["en", "de", "ja"])
def test_last_digits_and_the_order_of_equal_features_change_nothing(language):
    rng = np.random.default_rng(0)
    values = np.array([1.0, 1.0, -1.0, 1.0, 0.1])
    said = explained(values).reasons(5, language=language)
    assert [r.feature for r in said] == ["age", "debt", "income", "job", "town"]
    for _ in range(50):
        noisy = values * (1 + 1e-14 * rng.standard_normal(5))
        assert explained(noisy).reasons(5, language=language) == said


def test_three_equal_thirds_are_large_whatever_the_last_digit():
    for shift in (-1e-15, 0.0, 1e-15):
        assert {r.size for r in explained([1.0 + shift, 1.0, 1.0]).reasons()} == {"large"}


def test_other_parties_are_worded_as_organisations():
    seen = explained(
        [3.0, 2.0, -1.0],
        ROW[["income"]],
        TYPICAL[["income"]],
        bars={"debt": ("shop",), "age": ("agency", "registry")},
    )
    own, shop, several = seen.reasons()
    assert (own.party, shop.party, several.party) == (None, "shop", "agency, registry")
    assert shop.sentence == "Information held by shop about this case raises the prediction strongly, by 2."
    assert "held by agency and registry about" in several.sentence


def test_the_view_of_one_block_words_the_others():
    rng = np.random.default_rng(1)
    X, weights = pd.DataFrame(rng.normal(size=(1, 4)), columns=list("abcd")), np.array([1.0, 2.0, 3.0, 4.0])
    full = shapley_values(
        lambda Z: np.asarray(Z) @ weights, X, 0 * X, index="owen", blocks={"bank": ["a", "b"], "shop": ["c", "d"]}
    )
    parties = {r.feature: r.party for r in full.block_view("bank").reasons(4)}
    assert parties["shop"] == "shop"
    assert parties["b"] is None


def test_arrays_and_explanations_without_data_have_reasons_too():
    X, r = np.array([[1.0, 2.0]]), np.array([0.0, 2.0])
    reasons = shapley_values(lambda Z: np.asarray(Z) @ [3.0, 5.0], X, r).reasons()
    assert [r.sentence for r in reasons] == ["x0 is 1 (typical: 0). This raises the prediction strongly, by 3."]
    bare = explained([2.0, 1.0]).reasons(1)
    assert bare[0].sentence == "income raises the prediction strongly, by 2."


def test_german_and_japanese_sentences_read_as_they_should():
    one = two_classes([-0.2, 0.1, 0.0, 0.0, 0.0], ROW, TYPICAL)
    german, japanese = (one.reasons(1, language=language)[0].sentence for language in ("de", "ja"))
    assert german == (
        "income: 1200 (üblich: 2500). Das senkt die geschätzte Wahrscheinlichkeit für „yes“ stark, um etwa 20 "
        "Prozentpunkte."
    )
    assert (
        japanese
        == "incomeは1200です（一般的な値：2500）。これにより「yes」の推定確率が約20ポイント、大きく下がります。"
    )


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"n": 0}, "`n` must be at least 1"),
        ({"sample": 1}, "one of 1 samples"),
        ({"output": "maybe"}, "`output` must be one of"),
        ({"direction": "up"}, "`direction` must be"),
        ({"language": "fr"}, "`language` must be"),
    ],
)
def test_what_cannot_be_answered_is_said(arguments, text):
    with pytest.raises(InputError, match=text):
        two_classes([0.1, 0.2]).reasons(**arguments)


def test_of_three_classes_the_predicted_one_is_told_of():
    values = np.zeros((2, 1, 3))
    values[0, 0], values[1, 0] = [0.3, -0.1, -0.2], [-0.2, -0.1, 0.3]
    three = explained(values, base=1 / 3, outputs=("a", "b", "c"))
    assert three.chosen_outputs().tolist() == [0, 2]
    assert three.chosen_outputs("b").tolist() == [1, 1]
    assert "“c”" in three.reasons(sample=1)[0].sentence
