from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem
from sklearn.neighbors import KNeighborsClassifier

from dcshap import Schema, VerticalCollaboration, shapley_values
from dcshap.collaboration.messages import ANALYST, REQUESTER
from dcshap.exceptions import InputError, NotFittedError, PrivacyError, PrivacyWarning, ProtocolError, ReferenceWarning
from dcshap.explanation import joint, views
from dcshap.explanation.disclosures import Answer, RecordOffsets, RecordPart, RecordVectors, Request
from tests.collaboration.helpers import RecordedVertical
from tests.explanation.conftest import columns_of, split

MODELS = ("knn", "logistic")


def composed(run, n_parties):
    """The whole collaboration as a function of all columns' codes, columns in the order of the parties."""
    widths = [len(columns) for columns in columns_of(n_parties).values()]
    ends = np.cumsum([0, *widths])

    def predict(codes):
        tables = {name: codes[:, ends[k] : ends[k + 1]] for k, name in enumerate(columns_of(n_parties))}
        return run.predict_proba(tables)

    return predict


def codes_and_reference(run, X, n_parties):
    tables = split(X, n_parties)
    codes = [run.parties_[name].agreement.schema.codes(table) for name, table in tables.items()]
    reference = [run.parties_[name].anchor.reference() for name in tables]
    return np.concatenate(codes, axis=1), np.concatenate(reference)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("n_parties", [2, 3, 4])
def test_every_protocol_sums_to_the_prediction(verticals, heart, n_parties, model):
    run, records = verticals[n_parties, model], split(heart[0].head(5), n_parties)
    predictions = run.predict_proba(records)
    for index in ("shapley", "owen"):
        for view in ("full", *run.parties_):
            explained = run.explain(records, view=view, index=index)
            np.testing.assert_allclose(explained.predictions, predictions, atol=1e-8)
            assert explained.index == index


@pytest.mark.parametrize("model", MODELS)
def test_algorithm_3_equals_shapley_values_of_the_composed_model(exact_verticals, heart, model):
    run, X = exact_verticals[2, model], heart[0].head(2)
    codes, reference = codes_and_reference(run, X, 2)
    independent = shapley_values(composed(run, 2), codes, reference, method="exact")
    explained = run.explain(split(X, 2), index="shapley")
    np.testing.assert_allclose(explained.values, independent.values, atol=1e-9)
    assert explained.feature_names == tuple(c for columns in columns_of(2).values() for c in columns)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("n_parties", "merged"), [(2, False), (3, False), (3, True)])
def test_algorithm_4_equals_the_merged_game(exact_verticals, heart, n_parties, merged, model):
    run, X = exact_verticals[n_parties, model], heart[0].head(2)
    codes, reference = codes_and_reference(run, X, n_parties)
    columns = columns_of(n_parties)
    widths = np.cumsum([0, *(len(held) for held in columns.values())])
    host, *guests = list(columns)
    own = [[j] for j in range(len(columns[host]))]
    others = [list(range(widths[k], widths[k + 1])) for k in range(1, n_parties)]
    groups = own + ([[j for guest in others for j in guest]] if merged else others)
    independent = shapley_values(composed(run, n_parties), codes, reference, groups=groups, method="exact")
    explained = run.explain(split(X, n_parties), view=host, index="shapley", merged=merged)
    np.testing.assert_allclose(explained.values, independent.values, atol=1e-9)
    bars = ["DC Features"] if merged or n_parties == 2 else [f"DC Features ({name})" for name in guests]
    assert explained.feature_names == (*columns[host], *bars)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("n_parties", [2, 3, 4])
def test_party_views_agree_with_each_other_and_with_full_owen_values(exact_verticals, heart, n_parties, model):
    run, X = exact_verticals[n_parties, model], heart[0].head(2)
    codes, reference = codes_and_reference(run, X, n_parties)
    columns = columns_of(n_parties)
    widths = np.cumsum([0, *(len(held) for held in columns.values())])
    blocks = [list(range(widths[k], widths[k + 1])) for k in range(n_parties)]
    independent = shapley_values(composed(run, n_parties), codes, reference, index="owen", blocks=blocks)
    records = split(X, n_parties)
    full = run.explain(records, index="owen")
    np.testing.assert_allclose(full.values, independent.values, atol=1e-9)
    for k, name in enumerate(columns):
        view = run.explain(records, view=name, index="owen")
        np.testing.assert_allclose(view.values[:, : len(columns[name])], full.values[:, blocks[k]], atol=1e-9)
        totals = [full.values[:, block].sum(axis=1) for j, block in enumerate(blocks) if j != k]
        np.testing.assert_allclose(view.values[:, len(columns[name]) :], np.stack(totals, axis=1), atol=1e-9)
        assert view.view == name


@pytest.mark.parametrize("index", ["shapley", "owen"])
def test_a_reduction_that_is_not_linear_gives_the_same_games(heart, index):
    X, y = heart
    tables = split(X, 2)
    settings: dict[str, Any] = {"span": "private", "reduction": Nystroem(), "random_state": 0}
    with pytest.warns(PrivacyWarning, match="Without noise"):
        run = VerticalCollaboration(KNeighborsClassifier(7), 3, noise=0.0, **settings).fit(tables, y)
    records = split(X.head(2), 2)
    codes, reference = codes_and_reference(run, X.head(2), 2)
    blocks: dict[str, Any] = {"index": "owen", "blocks": [list(range(5)), list(range(5, 10))]}
    independent = shapley_values(
        composed(run, 2), codes, reference, method="exact", **(blocks if index == "owen" else {})
    )
    np.testing.assert_allclose(run.explain(records, index=index).values, independent.values, atol=1e-9)
    view = run.explain(records, view="party0", index=index)
    np.testing.assert_allclose(view.predictions, run.predict_proba(records), atol=1e-8)


# --- noise: the same in every view --------------------------------------------------------------------------------


def spans() -> dict[str, dict[str, Any]]:
    return {
        "supervised": {},
        "private": {"span": "private"},
        "not linear": {"span": "private", "reduction": Nystroem(), "n_components": 2},
    }


@pytest.fixture(scope="module", params=spans())
def noisy(request, heart):
    X, y = heart
    run = VerticalCollaboration(KNeighborsClassifier(7), random_state=0, **spans()[request.param])
    return run.fit(split(X.iloc[20:], 3), y)


def test_with_noise_party_views_are_parts_of_the_full_one(noisy, heart):
    records = split(heart[0].head(8), 3)
    full, at = noisy.explain(records, index="owen"), 0
    totals = {name: full.values[:, list(map(full.feature_names.index, held))] for name, held in columns_of(3).items()}
    for name, held in columns_of(3).items():
        view = noisy.explain(records, view=name, index="owen")
        np.testing.assert_allclose(view.values[:, : len(held)], full.values[:, at : at + len(held)], rtol=0, atol=1e-12)
        others = np.stack([part.sum(axis=1) for other, part in totals.items() if other != name], axis=1)
        np.testing.assert_allclose(view.values[:, len(held) :], others, rtol=0, atol=1e-12)
        np.testing.assert_allclose(view.base_values, full.base_values, rtol=0, atol=1e-12)
        at += len(held)


def test_with_noise_every_view_sums_to_what_the_analyst_predicts(noisy, heart):
    records = split(heart[0].head(8), 3)
    predictions = noisy.predict_proba(records)
    for index in ("shapley", "owen"):
        for view in ("full", *noisy.parties_):
            found = noisy.explain(records, view=view, index=index)
            np.testing.assert_allclose(found.predictions, predictions, rtol=0, atol=1e-12)


def test_a_column_as_in_the_reference_is_worth_nothing_and_a_whole_reference_has_no_noise(noisy, heart):
    references = {name: party.anchor.reference() for name, party in noisy.parties_.items()}
    tables = split(heart[0].head(3), 3)
    schemas = {name: party.agreement.schema for name, party in noisy.parties_.items()}
    codes = {name: schemas[name].codes(table) for name, table in tables.items()}
    codes["party0"][0, 1] = references["party0"][1]
    codes["party1"][:] = references["party1"]
    changed = {name: schemas[name].frame(each).set_axis(tables[name].index) for name, each in codes.items()}
    for index in ("shapley", "owen"):
        found = noisy.explain(changed, index=index)
        assert np.abs(found.values[0, 1]).max() < 1e-15
        names = columns_of(3)["party1"]
        assert np.abs(found.values[:, [found.feature_names.index(name) for name in names]]).max() < 1e-15
        assert np.any(found.values != 0)
    party = noisy.parties_["party1"]
    vectors = views.disclose(party, party.records_of(changed["party1"]))
    np.testing.assert_allclose(vectors.present, np.tile(vectors.absent, (3, 1)), rtol=0, atol=1e-12)


def test_noise_is_on_what_leaves_and_the_same_every_time(noisy, heart):
    party, table = noisy.parties_["party1"], split(heart[0].iloc[20:28], 3)["party1"]
    records = party.records_of(table)
    exact = party.reduce_codes(records.codes)
    present = views.disclose(party, records).present
    assert np.abs(present - exact).max() > 0.01 * exact.std()
    np.testing.assert_array_equal(present, party.represent(records).rows)
    np.testing.assert_array_equal(present, exact + party.noise_of(records.codes))
    absent = views.disclose(party, records).absent
    np.testing.assert_array_equal(absent, party.reduce_codes(party.anchor.reference()))
    offsets = joint.disclose_columns(party, records)
    if isinstance(offsets, RecordOffsets):
        np.testing.assert_allclose(offsets.absent[0] + offsets.offsets[0].sum(axis=1), present, rtol=0, atol=1e-12)
    else:
        np.testing.assert_allclose(offsets.rows[0, :, -1], present, rtol=0, atol=1e-12)


@pytest.mark.parametrize("reduction", ["pca", Nystroem()])
@pytest.mark.parametrize("index", ["shapley", "owen"])
@pytest.mark.parametrize("view", ["full", "party0"])
def test_no_records_give_an_empty_explanation(heart, reduction, index, view):
    X, y = heart
    run = VerticalCollaboration(KNeighborsClassifier(7), 3, span="private", reduction=reduction, random_state=0)
    run.fit(split(X, 2), y)
    explained = run.explain(split(X.head(0), 2), view=view, index=index)
    assert len(explained) == len(explained.data) == 0
    assert explained.values.shape[1] == len(explained.feature_names)


@pytest.mark.parametrize(
    ("index", "view", "warned"), [("shapley", "full", 1), ("owen", "full", 1), ("owen", "party0", 1)]
)
def test_one_far_reference_warns_once(heart, index, view, warned):
    X, y = heart
    tables = split(X, 3)
    by_hand = Schema.from_frames({"all": X}).to_dict()
    by_hand["columns"]["trestbps"] |= {"low": 0, "high": 50000}
    by_hand["columns"]["trestbps"].pop("typical")
    run = VerticalCollaboration(KNeighborsClassifier(7), schema=Schema.from_dict(by_hand), random_state=0)
    run.fit(tables, y)
    with pytest.warns(ReferenceWarning, match=r"\['trestbps'\]") as caught:
        run.explain(split(X.head(2), 3), view=view, index=index)
    assert len(caught) == 1


# --- who saw what -------------------------------------------------------------------------------------------------


@pytest.fixture
def recording(heart):
    X, y = heart
    run = RecordedVertical(KNeighborsClassifier(7), random_state=0).fit(split(X.iloc[20:], 3), y)
    run._share_model()
    run.messages.clear()
    return run


def test_algorithm_4_and_a_party_view_take_two_vectors_from_each_other_party_and_nothing_else(recording, heart):
    for index in ("shapley", "owen"):
        recording.messages.clear()
        recording.explain(split(heart[0].head(3), 3), view="party0", index=index)
        assert [(s, r, type(m)) for s, r, m in recording.messages] == [
            (REQUESTER, "party0", Request),
            ("party0", "party1", Request),
            ("party1", "party0", RecordVectors),
            ("party0", "party2", Request),
            ("party2", "party0", RecordVectors),
            ("party0", REQUESTER, Answer),
        ]
        for sender, _, message in recording.messages:
            if not isinstance(message, RecordVectors):
                continue
            width = recording.analyst_.widths_[sender]
            assert message.present.shape == (3, width)
            assert message.absent.shape == (1, width)
            assert set(message.arrays()) == {"pseudonyms", "present", "absent"}


def test_the_full_owen_view_sends_no_coalition_matrix_and_nothing_to_the_analyst(recording, heart):
    recording.explain(split(heart[0].head(3), 3), index="owen")
    kinds = {type(message) for _, _, message in recording.messages}
    assert kinds == {Request, RecordVectors, Answer}
    assert ANALYST not in {role for sender, recipient, _ in recording.messages for role in (sender, recipient)}
    for sender, recipient, message in recording.messages:
        if isinstance(message, Answer):
            assert recipient == REQUESTER
            own = set(recording.parties_[sender].agreement.schema.names)
            shown = set(message.explanation.feature_names)
            assert shown - own <= {f"DC Features ({name})" for name in recording.parties_}


def test_algorithm_3_shows_the_analyst_coalitions_but_no_raw_values_or_identifiers(recording, heart):
    X = heart[0].head(3)
    recording.explain(split(X, 3), index="shapley")
    to_analyst = [(s, m) for s, r, m in recording.messages if r == ANALYST]
    assert [type(m) for _, m in to_analyst] == [RecordOffsets] * 3
    assert [(r, type(m)) for s, r, m in recording.messages if s == ANALYST] == [(REQUESTER, Answer)]
    others = [(s, r, type(m)) for s, r, m in recording.messages if ANALYST not in (s, r)]
    names = sorted(recording.parties_)
    assert sorted(others, key=str) == sorted(
        [(REQUESTER, name, Request) for name in names] + [(name, REQUESTER, RecordPart) for name in names], key=str
    )
    raw = {float(v) for v in X[["trestbps", "chol", "thalach"]].to_numpy(dtype=float).ravel()}
    for _, message in to_analyst:
        sent = {float(v) for name, a in message.arrays().items() if name != "pseudonyms" for v in a.ravel()}
        assert not raw & sent
        assert b"patient" not in message.pseudonyms.tobytes()
    answer = next(m for s, _, m in recording.messages if s == ANALYST)
    assert answer.explanation.data is None
    assert answer.explanation.reference is None


def test_a_model_with_rows_in_it_is_not_shared_without_consent(heart):
    X, y = heart
    tables = split(X, 2)
    run = VerticalCollaboration(KNeighborsClassifier(7), instance_models=False, random_state=0).fit(tables, y)
    with pytest.raises(PrivacyError, match="every party must agree"):
        run.explain(split(X.head(1), 2), view="party0")
    # Algorithm 3 is computed where the model is.
    assert len(run.explain(split(X.head(1), 2), index="shapley")) == 1


# --- what bad input gets ------------------------------------------------------------------------------------------


def test_views_and_records_that_do_not_exist_are_named(verticals, heart):
    run, X = verticals[2, "logistic"], heart[0]
    records = split(X.head(3), 2)
    with pytest.raises(InputError, match=r"one of \['party0', 'party1'\]"):
        run.explain(records, view="party9")
    with pytest.raises(InputError, match="'shapley' or 'owen'"):
        run.explain(records, index="banzhaf")
    with pytest.raises(InputError, match="'party1' lacks 1 of 3"):
        run.explain(records | {"party1": records["party1"].head(2)})
    with pytest.raises(InputError, match="bring its columns"):
        run.explain({"party0": records["party0"]})
    for view, index in (("full", "shapley"), ("full", "owen"), ("party0", "owen")):
        with pytest.raises(InputError, match="`merged` belongs to Algorithm 4"):
            run.explain(records, view=view, index=index, merged=True)
    with pytest.raises(InputError, match="must be a kind"):
        run.explain(records, reference=X.iloc[0])


def test_steps_refuse_messages_that_do_not_fit(verticals, heart):
    run, X = verticals[3, "logistic"], heart[0].head(3)
    records = split(X, 3)
    host = run.parties_["party0"]
    run._share_model()
    held = {name: run.parties_[name].records_of(table) for name, table in records.items()}
    one = views.disclose(run.parties_["party1"], held["party1"])
    with pytest.raises(ProtocolError, match="two vectors from each"):
        views.explain_view(host, held["party0"], [one])
    fewer = views.disclose(run.parties_["party2"], run.parties_["party2"].records_of(records["party2"].head(2)))
    with pytest.raises(ProtocolError, match="lacks 1"):
        views.explain_view(host, held["party0"], [one, fewer])
    two = views.disclose(run.parties_["party2"], held["party2"])
    with pytest.raises(InputError, match="another game"):
        views.explain_view(host, held["party0"], [one, two], index="owen", merged=True)
    parts = [joint.disclose_columns(run.parties_[name], held[name]) for name in ("party0", "party1")]
    with pytest.raises(ProtocolError, match="every party"):
        joint.explain_all(run.analyst_, parts)
    turned = held["party2"].select(held["party2"].identifiers[::-1])
    with pytest.raises(ProtocolError, match="same records in the same order"):
        joint.explain_all(run.analyst_, [*parts, joint.disclose_columns(run.parties_["party2"], turned)])
    fresh = VerticalCollaboration(run.model, random_state=0).fit(split(heart[0], 3), heart[1])
    with pytest.raises(NotFittedError, match="no copy of the model"):
        views.explain_view(fresh.parties_["party0"], held["party0"], [])


def test_records_are_matched_by_identifier_whatever_their_order(verticals, heart):
    run, X = verticals[2, "knn"], heart[0].head(4)
    records = split(X, 2)
    shuffled = records | {"party1": records["party1"].iloc[[2, 0, 3, 1]]}
    for index in ("shapley", "owen"):
        np.testing.assert_array_equal(
            run.explain(records, index=index).values, run.explain(shuffled, index=index).values
        )
