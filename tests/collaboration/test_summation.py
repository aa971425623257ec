from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dcshap.collaboration import Agreement, HorizontalParty
from dcshap.collaboration.messages import AnchorDigest, AnchorSeed, MaskedMoments, PairKey
from dcshap.collaboration.reduction import moment_matrix
from dcshap.collaboration.summation import masked, unmasked_sum
from dcshap.exceptions import InputError, ProtocolError
from dcshap.protocol import Cast
from dcshap.protocol.steps import training
from dcshap.protocol.turns import Turns
from dcshap.schema import Schema
from tests.collaboration.helpers import parties


def shared_keys(names: list[str], seed: int = 0) -> dict[str, dict[str, bytes]]:
    rng = np.random.default_rng(seed)
    keys: dict[str, dict[str, bytes]] = {name: {} for name in names}
    for one, two in combinations(names, 2):
        keys[one][two] = keys[two][one] = rng.bytes(32)
    return keys


def as_number(word: np.ndarray) -> int:
    return int.from_bytes(word.tobytes(), "little")


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(2, 6), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_the_sum_is_exact_for_any_number_of_parties(data, n_parties, width, seed):
    # Multiples of 2⁻⁶⁴ are exactly what the fixed point holds.
    finite = st.floats(-1e12, 1e12).map(lambda value: float(int(Fraction(value) * 2**64)) / 2.0**64)
    values = {f"p{i}": np.array(data.draw(st.lists(finite, min_size=width, max_size=width))) for i in range(n_parties)}
    keys = shared_keys(list(values), seed)
    words = [masked(v, party=name, keys=keys[name]) for name, v in values.items()]
    exact = [float(sum(Fraction(v[j]) for v in values.values())) for j in range(width)]
    assert unmasked_sum(words).tolist() == exact
    assert unmasked_sum(words[::-1]).tolist() == exact


def test_a_masked_value_is_uniformly_random_by_itself():
    values = np.ones(4000)
    words = masked(values, party="a", keys=shared_keys(["a", "b"])["a"])
    counts = np.bincount(words.ravel(), minlength=256)
    assert stats.chisquare(counts).pvalue > 1e-4
    assert len(np.unique(words, axis=0)) == len(words)


def test_masks_of_two_values_and_two_keys_have_nothing_in_common():
    one = masked(np.zeros(500), party="a", keys=shared_keys(["a", "b"], 1)["a"])
    two = masked(np.zeros(500), party="a", keys=shared_keys(["a", "b"], 2)["a"])
    assert not (one == two).all(axis=1).any()
    assert abs(np.mean(one == two) - 1 / 256) < 0.005


def test_without_one_party_nothing_comes_out():
    values = {name: np.arange(5.0) for name in "abc"}
    keys = shared_keys(list(values))
    words = {name: masked(v, party=name, keys=keys[name]) for name, v in values.items()}
    for left_out in values:
        partial = unmasked_sum([w for name, w in words.items() if name != left_out])
        assert np.abs(partial).min() > 1e6


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 2.0**62, 2.0**61])
def test_values_that_do_not_fit_the_fixed_point_are_refused(value):
    with pytest.raises(InputError, match="below 2⁶²"):
        masked(np.array([value]), party="a", keys={"b": b"key"})


def test_the_largest_values_of_many_parties_still_add_up():
    names = [f"p{i:02}" for i in range(20)]
    keys = shared_keys(names)
    value = 2.0**62 / 20 * (1 - 2**-52)
    assert unmasked_sum([masked(np.array([-value]), party=n, keys=keys[n]) for n in names])[0] == -20 * value


def test_words_of_different_shapes_are_refused():
    with pytest.raises(ProtocolError, match="one shape"):
        unmasked_sum([np.zeros((3, 16), np.uint8), np.zeros((4, 16), np.uint8)])


# --- between parties -------------------------------------------------------------------------------------------


def three_parties() -> list[HorizontalParty]:
    data = parties(3, 40)
    agreement = Agreement(Schema.from_frames([X for X, _ in data.values()]), span="shared")
    found = []
    for name, (X, y) in data.items():
        party = HorizontalParty(name, agreement, private_seed=1)
        party.take(X, y)
        party.receive_anchor(AnchorSeed(5))
        found.append(party)
    return found


def exchange_keys(members: list[HorizontalParty]) -> list[PairKey]:
    sent = []
    for one, two in combinations(members, 2):
        sent.append(one.send_pair_key(two.name))
        two.receive_pair_key(sent[-1])
    return sent


def own_moments(party: HorizontalParty) -> np.ndarray:
    matrix = moment_matrix([party.encode(party.agreement.schema.frame(party.codes))])
    return matrix[np.triu_indices(len(matrix))]


def test_the_leading_party_learns_the_total_alone():
    members = three_parties()
    exchange_keys(members)
    moments = [party.send_moments(members[0].name) for party in members]
    total = unmasked_sum([m.words for m in moments])
    np.testing.assert_allclose(total, sum(own_moments(party) for party in members), rtol=1e-12, atol=1e-9)


def test_no_party_s_own_moments_come_out_of_any_messages_but_the_total():
    """Neither a message, nor the difference or sum of any two, is anybody's moments."""
    members = three_parties()
    exchange_keys(members)
    messages = [party.send_moments(members[0].name) for party in members]
    own = [own_moments(party) for party in members]
    for message, other in combinations([m.words for m in messages], 2):
        for mixed in (
            unmasked_sum([message]),
            unmasked_sum([other]),
            unmasked_sum([message, other]),
            unmasked_sum([message]) - unmasked_sum([other]),
        ):
            for moments in own:
                assert not np.isclose(mixed, moments, rtol=1e-3).any()
                assert not np.isclose(mixed, -moments, rtol=1e-3).any()


def test_keys_and_masks_are_new_in_every_round():
    members = three_parties()
    first_keys = exchange_keys(members)
    first = [party.send_moments(members[0].name).words for party in members]
    assert members[0].send_moments("party2").words is first[0]  # all are sent the same
    second_keys = exchange_keys(members)
    second = [party.send_moments(members[0].name).words for party in members]
    assert not {key.key for key in first_keys} & {key.key for key in second_keys}
    for one, two in zip(first, second, strict=True):
        assert not (one == two).all(axis=1).any()
    assert unmasked_sum(first).tolist() == unmasked_sum(second).tolist()


def test_moments_from_the_wrong_parties_are_refused():
    members = three_parties()
    exchange_keys(members)
    lead, second, third = members
    moments = [party.send_moments(lead.name) for party in (second, third)]
    lead.send_moments(second.name)
    lead.receive_moments(moments[0])
    with pytest.raises(ProtocolError, match=r"Moments must come from each of .* Got those of \['party0', 'party1'\]"):
        lead.leading_subspace()
    lead.receive_moments(MaskedMoments("stranger", moments[1].words))
    with pytest.raises(ProtocolError, match=r"Moments must come from .* 'party1', 'stranger'\]"):
        lead.leading_subspace()
    turns = Turns(training("horizontal", span="shared"), Cast(("party0", "party1", "party2")), "party0")
    for step, sender in (("drawn", "party1"), ("drawn", "party2")):
        turns.send(turns.protocol["anchor"], sender)
        turns.receive(step, sender, AnchorDigest(sender, b""))
    for party in (second, third):
        turns.send(turns.protocol["pair_key"], party.name)
    turns.receive("moments", "party1", moments[0])
    with pytest.raises(ProtocolError, match="'moments' from 'party1' was taken before"):
        turns.receive("moments", "party1", moments[0])
    with pytest.raises(ProtocolError, match="is not sent by 'stranger'"):
        turns.receive("moments", "stranger", MaskedMoments("stranger", moments[1].words))
    with pytest.raises(ProtocolError, match="in another's name"):
        turns.receive("moments", "party2", moments[0])


def test_every_party_finds_the_basis_of_all_rows_together():
    members = three_parties()
    exchange_keys(members)
    for party in members:
        for other in members:
            if other is not party:
                party.receive_moments(other.send_moments(party.name))
        party.send_moments("")
    basis, *others = [party.leading_subspace() for party in members]
    for found in others:
        np.testing.assert_array_equal(found, basis)
    encoded = np.concatenate([party.anchor.encode(party.codes) for party in members])
    _, _, Vt = np.linalg.svd(encoded - encoded.mean(axis=0), full_matrices=False)
    leading = Vt[: basis.shape[1]]
    np.testing.assert_allclose(basis @ basis.T, leading.T @ leading, atol=1e-9)


def test_rows_are_not_represented_before_all_moments_are_there():
    with pytest.raises(ProtocolError, match="Moments must come from"):
        three_parties()[0].send_representation("analyst")
