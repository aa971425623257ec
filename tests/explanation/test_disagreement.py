from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from dcshap import Explanation, disagreement
from dcshap.exceptions import InputError


def explanation(values, *, outputs=("no", "yes")):
    values = np.asarray(values, dtype=float)
    n, m = values.shape[:2]
    k = values.shape[2:]
    return Explanation(
        values=values,
        base_values=np.zeros((n, *k)),
        feature_names=tuple(f"f{j}" for j in range(m)),
        output_names=outputs if k else ("output",),
        index="shapley",
        method="exact",
        exact=True,
        n_evals=np.zeros(n, dtype=np.int64),
        standard_errors=np.zeros_like(values),
        converged=np.ones(n, dtype=bool),
    )


def test_rmse_is_the_papers_root_mean_square_per_feature_then_averaged():
    a, b = np.array([[1.0, 0.0], [3.0, 0.0]]), np.array([[0.0, 0.5], [1.0, 0.5]])
    found = disagreement({"a": explanation(a), "b": explanation(b)})
    np.testing.assert_allclose(found.rmse_per_feature, [np.sqrt(2.5), 0.5])
    assert found.rmse == pytest.approx((np.sqrt(2.5) + 0.5) / 2)
    assert found.worst_samples(1) == [1]


def test_more_than_two_parties_are_compared_in_pairs():
    values = [np.full((1, 1), v) for v in (0.0, 1.0, 3.0)]
    found = disagreement({str(i): explanation(v) for i, v in enumerate(values)})
    assert found.rmse == pytest.approx(np.sqrt((1 + 9 + 4) / 3))


def test_contradictions_have_opposite_signs_and_are_both_above_the_threshold():
    yes_a = np.array([[0.06, -0.2, 0.04, 0.3]])
    yes_b = np.array([[-0.07, 0.04, -0.9, 0.2]])
    both = [np.stack([-v, v], axis=2) for v in (yes_a, yes_b)]
    found = disagreement({"a": explanation(both[0]), "b": explanation(both[1])}, threshold=0.05)
    assert found.contradictions[["sample", "feature", "output"]].to_numpy().tolist() == [[0, "f0", "yes"]]
    looser = disagreement({"a": explanation(both[0]), "b": explanation(both[1])}, threshold=0.03)
    assert sorted(looser.contradictions["feature"]) == ["f0", "f1", "f2"]
    assert looser.to_frame()["contradictions"].tolist() == [1, 1, 1, 0]


def test_rank_correlation_is_spearmans():
    a, b = np.random.default_rng(0).normal(size=(2, 7, 5))
    found = disagreement({"a": explanation(a), "b": explanation(b)})
    expected = np.mean([spearmanr(x, y).statistic for x, y in zip(a, b, strict=True)])
    assert found.rank_correlation == pytest.approx(expected)


def test_why_splits_the_difference_into_references_and_maps(private_span, heart):
    X = heart[0].head(6)
    own = private_span.disagreement(X, reference="own")
    assert own.sources is not None
    assert own.sources.groupby(["first", "second"])["share"].sum().to_numpy() == pytest.approx(1.0)
    references = own.sources.set_index("source")["share"]["references"]
    assert references > 0.5
    anchor = private_span.disagreement(X, reference="anchor")
    assert anchor.sources is not None
    assert anchor.sources.set_index("source")["share"]["maps"] == pytest.approx(1.0)
    assert "comes from" in str(own)


def test_by_default_all_of_the_difference_comes_from_references(horizontal, heart):
    X = heart[0].head(6)
    own = horizontal.disagreement(X, reference="own")
    assert own.rmse > 0.01
    assert own.sources.set_index("source")["share"]["references"] == pytest.approx(1.0)
    assert horizontal.disagreement(X, reference="anchor").rmse < 1e-12


def test_it_prints_and_makes_a_table(horizontal, heart):
    found = disagreement({p: horizontal.explain(heart[0].head(3), party=p) for p in horizontal.parties_})
    assert "north, south" in str(found)
    assert isinstance(found.to_frame(), pd.DataFrame)
    assert list(found.to_frame()["feature"]) == list(horizontal.schema_.names)


def test_what_cannot_be_compared_is_refused():
    one = explanation(np.zeros((2, 3)))
    with pytest.raises(InputError, match="at least two"):
        disagreement({"a": one})
    with pytest.raises(InputError, match=r"\(2, 3\), 'b' \(1, 3\)"):
        disagreement({"a": one, "b": one[:1]})
    with pytest.raises(InputError, match="one index"):
        disagreement({"a": one, "b": replace(one, index="owen")})
    with pytest.raises(InputError, match="threshold"):
        disagreement({"a": one, "b": one}, threshold=-1)
