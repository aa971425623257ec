from __future__ import annotations

import pytest

from dcshap.exceptions import InputError
from dcshap.explanation.contrast import contrast


def test_the_differences_add_up_to_that_of_the_predictions(horizontal, heart):
    rows = heart[0].iloc[:3]
    explained = horizontal.explain(rows, party="north")
    found = contrast(explained, explained, samples=(0, 2))
    assert found.output == explained.output_names[1]
    assert found.predictions == pytest.approx((explained.predictions[0, 1], explained.predictions[2, 1]))
    assert found.frame["difference"].sum() == pytest.approx(found.predictions[1] - found.predictions[0])
    assert found.frame["difference"].abs().is_monotonic_decreasing
    by_name = found.frame.set_index("feature")
    assert (by_name.loc["age", "first"], by_name.loc["age", "second"]) == (rows["age"].iloc[0], rows["age"].iloc[2])


def test_both_parties_contrast_two_cases_alike(horizontal, heart):
    rows = heart[0].iloc[:2]
    one, other = (horizontal.explain(rows, party=party) for party in ("north", "south"))
    mixed = contrast(one, other, samples=(0, 1))
    alone = contrast(one, one, samples=(0, 1))
    assert mixed.frame["feature"].tolist() == alone.frame["feature"].tolist()
    assert mixed.frame["difference"].to_numpy() == pytest.approx(alone.frame["difference"].to_numpy(), abs=1e-9)


def test_what_cannot_be_contrasted_is_refused(horizontal, private_span, heart):
    rows = heart[0].iloc[:1]
    one = horizontal.explain(rows, party="north")
    with pytest.raises(InputError, match="same reference"):
        contrast(one, horizontal.explain(rows, party="north", reference="own"))
    with pytest.raises(InputError, match="one training"):
        contrast(one, private_span.explain(rows, party="north"))
