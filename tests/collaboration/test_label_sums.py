from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from dcshap import VerticalCollaboration
from dcshap.collaboration.label_sums import GuestSums, HolderSums, Target, noisy_responses
from dcshap.collaboration.messages import GuestTriple, HolderTriple, LabelSums, MaskedColumns
from dcshap.collaboration.moments import Moments
from dcshap.collaboration.reduction import moment_matrix
from dcshap.collaboration.span import common_span
from dcshap.collaboration.triples import deal, seed_for
from dcshap.exceptions import InputError, PrivacyError, PrivacyWarning, ProtocolError
from tests.collaboration.helpers import RecordedVertical, table, target

RNG = np.random.default_rng(0)
N, P = 90, 4
X = RNG.normal(size=(N, P))
NAMES = [str(i) for i in range(N)]


def dealt(width: int = P + 1, n_labels: int = 3) -> tuple[GuestTriple, HolderTriple]:
    seed = b"s" * 32
    triple = deal(N, width, n_labels, second=seed_for(seed, "shop"))
    return GuestTriple(triple.first), HolderTriple(seed, {"shop": width}, triple.share)


def summed(responses: np.ndarray, *, weighted: bool = False) -> GuestSums:
    for_guest, for_holder = dealt(n_labels=responses.shape[1])
    guest, holder = GuestSums("shop", [X]), HolderSums("bank", responses, weighted=weighted)
    guest.take_triple(for_guest)
    holder.take_triple(for_holder)
    holder.add_columns(guest.masked_columns())
    guest.add_sums(holder.sums_for("shop"))
    return guest


@pytest.mark.parametrize("labels", [RNG.integers(0, 3, N), np.array(["a", "b", "c"])[RNG.integers(0, 3, N)]])
def test_a_guest_s_moments_are_those_of_its_rows_and_the_labels(labels):
    target = Target(labels, classes=True)
    found = summed(target.columns(labels)).moments(moment_matrix([X]), classes=True)
    wanted = Moments.of([X], target.responses(labels), classes=True)
    np.testing.assert_allclose(found.flat(), wanted.flat(), rtol=0, atol=N * 2.0**-16)
    np.testing.assert_allclose(found.mean, X.mean(axis=0), rtol=0, atol=1e-12)  # which the guest knows exactly


def test_a_number_gives_the_same_direction_without_its_spread():
    labels = X @ [1.0, -2.0, 0.5, 0.0] + RNG.normal(size=N)
    target = Target(labels, classes=False)
    assert target.width == 1
    found = summed(target.columns(labels)).moments(moment_matrix([X]), classes=False)
    wanted = Moments.of([X], target.responses(labels), classes=False)
    spans = [common_span(each, names=list("abcd"), n_components=2, seed=0) for each in (found, wanted)]
    np.testing.assert_allclose(spans[0].weights, spans[1].weights, rtol=0, atol=1e-4)


@pytest.mark.parametrize("classes", [True, False])
def test_with_weights_a_guest_s_sums_are_weighted_and_its_covariance_is_not(classes):
    weights = RNG.choice([0.0, 0.5, 2.0, 7.0], N)
    labels = RNG.integers(0, 3, N) if classes else X @ [1.0, -2.0, 0.5, 0.0] + RNG.normal(size=N)
    target = Target(labels, classes=classes, weighted=True)
    found = summed(target.columns(labels, weights), weighted=True).moments(moment_matrix([X]), classes=classes)
    wanted = Moments.of([X], target.responses(labels), classes=classes, weights=weights * N / weights.sum())
    np.testing.assert_allclose(found.sums, wanted.sums, rtol=0, atol=N * 2.0**-14)
    np.testing.assert_allclose(found.mean, weights @ X / weights.sum(), rtol=0, atol=1e-3)
    np.testing.assert_allclose(found.covariance, np.cov(X.T, bias=True), rtol=0, atol=1e-12)
    assert found.n_rows == pytest.approx(N)


def test_weights_that_add_up_to_nothing_are_refused():
    target = Target(np.array([0, 1] * (N // 2)), classes=True, weighted=True)
    columns = target.columns(np.array([0, 1] * (N // 2)), np.zeros(N))
    with pytest.raises(ProtocolError, match="add up to more than 0"):
        summed(columns, weighted=True).moments(moment_matrix([X]), classes=True)


def test_a_class_without_records_in_common_is_left_out():
    labels = np.array([0, 1] * (N // 2))
    target = Target(np.append(labels, 2), classes=True)
    found = summed(target.columns(labels)).moments(moment_matrix([X]), classes=True)
    assert found.responses.shape == (2, 2)
    assert found.n_rows == pytest.approx(N)


def test_noise_on_labels_stays_with_the_records_and_labels_and_is_small_beside_chance():
    labels = RNG.integers(0, 2, N)
    exact = Target(labels, classes=True).columns(labels)
    once, again = (noisy_responses(exact, NAMES, fraction=0.2, private_seed=5) for _ in range(2))
    np.testing.assert_array_equal(once, again)
    assert 0.15 < (once - exact).std() / exact.std() < 0.25
    fewer = noisy_responses(exact[1:], NAMES[1:], fraction=0.2, private_seed=5)
    assert np.abs(once[1:] - fewer).min() > 0  # the difference of two sums shows no single label
    np.testing.assert_array_equal(noisy_responses(exact, NAMES, fraction=0.0, private_seed=5), exact)


def test_wrong_shapes_and_steps_out_of_order_are_refused():
    for_guest, for_holder = dealt()
    guest, holder = GuestSums("shop", [X]), HolderSums("bank", np.ones((N, 3)))
    with pytest.raises(ProtocolError, match="before it masks"):
        guest.masked_columns()
    with pytest.raises(ProtocolError, match="before it gets sums"):
        holder.sums_for("shop")
    with pytest.raises(ProtocolError, match="must deal for 5 columns and 3 labels"):
        holder.take_triple(HolderTriple(b"s", {"shop": 5}, for_holder.shares[:, :2]))
    holder.take_triple(for_holder)
    guest.take_triple(for_guest)
    with pytest.raises(ProtocolError, match="must get its sums"):
        guest.moments(moment_matrix([X]), classes=True)
    holder.add_columns(MaskedColumns("shop", guest.masked_columns().words[:-1]))
    with pytest.raises(ProtocolError, match=f"same {N} records"):
        holder.sums_for("shop")
    holder.add_columns(guest.masked_columns())
    sums = holder.sums_for("shop")
    with pytest.raises(ProtocolError, match="must have the shape"):
        guest.add_sums(LabelSums("bank", sums.masked, sums.share[:-1]))
    with pytest.raises(PrivacyError, match="span='private'"):
        holder.add_columns(MaskedColumns("shop", np.zeros((N, N), dtype=np.uint64)))


def test_labels_that_cannot_be_summed_are_refused():
    with pytest.raises(InputError, match="at most 100 classes"):
        Target(np.arange(101), classes=True)
    with pytest.raises(InputError, match="predicts numbers"):
        Target(np.array(["a", "b"]), classes=False)


# --- whole collaborations ----------------------------------------------------------------------------------------


def parts(n_parties: int, rows: int = 120) -> tuple[dict[str, pd.DataFrame], np.ndarray]:
    X = table(rows)
    columns = {2: [["n0", "n1", "n2"], ["n3", "n4", "town"]], 3: [["n0", "n1"], ["n2", "n3"], ["n4", "town"]]}
    return {f"p{k}": X[names] for k, names in enumerate(columns[n_parties])}, target(X, classes=3)


@pytest.mark.parametrize("n_parties", [2, 3])
@pytest.mark.parametrize("holder", ["p0", "p1"])
def test_without_noise_every_guest_s_span_is_that_of_plain_moments(n_parties, holder):
    tables, y = parts(n_parties)
    with pytest.warns(PrivacyWarning, match="Without noise"):
        run = RecordedVertical(LogisticRegression(), noise=0.0, random_state=0).fit(tables, y, label_party=holder)
    labels = pd.Series(y, index=[str(row) for row in range(len(y))])
    for party in run.parties_.values():
        wanted = Moments.of(
            [party.anchor.encode(party.codes)],
            Target(y, classes=True).responses(labels[party.common.identifiers].to_numpy()),
            classes=True,
        )
        np.testing.assert_allclose(party._moments().flat(), wanted.flat(), rtol=0, atol=1e-2)


def test_numbers_are_predicted_too_and_views_agree():
    tables, _ = parts(3)
    y = tables["p0"]["n0"] - 2 * tables["p1"]["n3"] + 0.1 * RNG.normal(size=120)
    run = VerticalCollaboration(Ridge(), random_state=0).fit(tables, y)
    assert run.score(tables, y) > 0.8
    asked = {name: part.head(5) for name, part in tables.items()}
    full = run.explain(asked, index="owen")
    np.testing.assert_allclose(full.predictions.ravel(), run.predict(asked), rtol=0, atol=1e-9)


def test_a_random_span_needs_no_labels():
    tables, y = parts(2)
    run = RecordedVertical(LogisticRegression(), span="random", random_state=0).fit(tables, y)
    assert not [m for *_, m in run.messages if isinstance(m, MaskedColumns | LabelSums)]


def test_a_span_of_rows_that_parties_add_up_is_refused():
    tables, y = parts(2)
    with pytest.raises(InputError, match="Vertically `span` must be one of"):
        VerticalCollaboration(LogisticRegression(), span="shared").fit(tables, y)
