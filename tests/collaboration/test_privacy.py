"""What each role gets to see: every message of a run is recorded and searched."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.decomposition import KernelPCA
from sklearn.ensemble import (
    BaggingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KDTree, KNeighborsClassifier, NearestCentroid
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from dcshap.collaboration import Agreement, Analyst, Anchor, Party
from dcshap.collaboration.alignment import Alignment
from dcshap.collaboration.consent import carries_rows
from dcshap.collaboration.messages import (
    AnchorDigest,
    AnchorSeed,
    Commit,
    CommonRecords,
    GuestTriple,
    HolderTriple,
    JoinReport,
    LabelSums,
    MaskedColumns,
    MaskedMoments,
    Message,
    PairKey,
    Prepared,
    PseudonymKey,
    RecordLabels,
    RecordPseudonyms,
    RecordRepresentation,
    Representation,
    Targets,
)
from dcshap.collaboration.reduction import LinearReduction, TransformerReduction
from dcshap.exceptions import PrivacyError, PrivacyWarning
from dcshap.explanation.disclosures import Prediction, Request
from dcshap.schema import Schema
from dcshap.schema.encoding import Encoder
from tests.collaboration.helpers import RecordedHorizontal, RecordedVertical, parties, table, target

BETWEEN_PARTIES = {
    *(AnchorSeed, AnchorDigest, PairKey, Targets, MaskedMoments, PseudonymKey),
    *(MaskedColumns, LabelSums),
}
SPANS = ["supervised", "private", "shared", "random"]
DIMENSIONS = {"supervised": 2, "private": 5, "shared": 5, "random": 5}


def horizontal(span: Any = "supervised", **settings) -> RecordedHorizontal:
    return RecordedHorizontal(LogisticRegression(), span=span, random_state=0, **settings).fit(parties(3, 50))


def vertical(**settings) -> RecordedVertical:
    X = table(80).set_axis([f"patient-{row}" for row in range(80)])
    tables = {"bank": X[["n0", "n1", "n2"]], "shop": X[["n3", "n4", "town"]].sample(frac=1, random_state=0)}
    return RecordedVertical(LogisticRegression(), random_state=0, **settings).fit(tables, target(X))


def atoms(value: Any) -> Iterator[Any]:
    """Everything that a message is made of."""
    if dataclasses.is_dataclass(value):
        for entry in dataclasses.fields(value):
            yield from atoms(getattr(value, entry.name))
    elif isinstance(value, dict):
        yield from atoms(list(value.keys()) + list(value.values()))
    elif isinstance(value, list | tuple | set):
        for part in value:
            yield from atoms(part)
    else:
        yield value


def secrets_of(party: Party) -> np.ndarray:
    """Every number that must stay with the party."""
    anchor = party.anchor
    assert isinstance(party.reduction, LinearReduction)
    return np.concatenate(
        [
            array.ravel()
            for array in (party.codes, anchor.encode(party.codes), anchor.rows, anchor.codes, party.reduction.weights)
        ]
    )


def numbers_in(messages: list[Message]) -> np.ndarray:
    arrays = [a for m in messages for a in atoms(m) if isinstance(a, np.ndarray) and a.dtype.kind == "f"]
    return np.concatenate([a.ravel() for a in arrays])


# --- horizontal --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("span", SPANS)
def test_the_analyst_receives_representations_only(span):
    received = horizontal(span).received_by("analyst")
    # Ready before the commit and after it; that is a name.
    assert [type(message) for message in received] == [Representation] * 3 + [Prepared] * 6
    assert all(vars(message) == {"party": f"party{i % 3}"} for i, message in enumerate(received[3:]))
    for message in received[:3]:
        fields = {entry.name: getattr(message, entry.name) for entry in dataclasses.fields(message)}
        assert set(fields) == {"party", "anchor", "rows", "labels", "instance_models", "weights"}
        assert fields["weights"].size == 0
        assert fields["anchor"].shape == (2000, DIMENSIONS[span])
        assert fields["rows"].shape == (50, DIMENSIONS[span])


@pytest.mark.parametrize("span", SPANS)
def test_no_raw_value_no_anchor_value_and_no_weight_reaches_the_analyst(span):
    run = horizontal(span)
    seen = numbers_in(run.received_by("analyst"))
    for party in run.parties_.values():
        assert not np.isin(seen, secrets_of(party)).any()


@pytest.mark.parametrize("span", SPANS)
def test_no_seed_and_no_key_reaches_the_analyst(span):
    run = horizontal(span)
    parts = [part for message in run.received_by("analyst") for part in atoms(message)]
    assert not [part for part in parts if isinstance(part, bytes)]
    assert not [part for part in parts if isinstance(part, int) and not isinstance(part, bool)]


@pytest.mark.parametrize("span", SPANS)
def test_the_analyst_keeps_no_part_of_a_party(span):
    run = horizontal(span)
    forbidden = (Party, Anchor, Agreement, Schema, Encoder, LinearReduction, TransformerReduction)
    parts = list(atoms(vars(run.analyst_)))
    assert not [part for part in parts if isinstance(part, forbidden)]
    kept = numbers_in([Message(), *run.analyst_.alignments_.values()])  # type: ignore[list-item]  # read alike
    kept = kept[kept != 0]  # an orthogonal alignment has no intercept
    for party in run.parties_.values():
        assert not np.isin(kept, secrets_of(party)).any()


@pytest.mark.parametrize(
    ("span", "kinds"),
    [
        ("private", {AnchorSeed, AnchorDigest}),
        ("random", {AnchorSeed, AnchorDigest}),
        ("shared", {AnchorSeed, AnchorDigest, PairKey, MaskedMoments}),
        ("supervised", {AnchorSeed, AnchorDigest, PairKey, Targets, MaskedMoments}),
    ],
)
def test_parties_exchange_what_the_span_needs_and_nothing_else(span, kinds):
    between = [
        message for sender, recipient, message in horizontal(span).messages if "analyst" not in (sender, recipient)
    ]
    assert {type(message) for message in between} == kinds


@pytest.mark.parametrize("span", SPANS)
def test_no_party_receives_another_s_rows_or_weights(span):
    run = horizontal(span)
    for name in run.parties_:
        received = run.received_by(name)
        seen = numbers_in(received)
        seen = seen[seen != 0]  # an orthogonal alignment has no intercept
        for other, party in run.parties_.items():
            if other != name:
                assert not np.isin(seen, np.concatenate([party.codes.ravel(), party.reduction.weights.ravel()])).any()


@pytest.mark.parametrize(("span", "n_sums"), [("shared", 1), ("supervised", 6)])
def test_masked_sums_reach_every_party_and_not_the_analyst(span, n_sums):
    run = horizontal(span)
    sent = [(sender, recipient) for sender, recipient, m in run.messages if isinstance(m, MaskedMoments)]
    pairs = [(one, two) for one in run.parties_ for two in run.parties_ if one != two]
    assert sorted(sent) == sorted(n_sums * pairs)  # the moments, three Newton rounds, and bends with their checks


@pytest.mark.parametrize("run", [*(lambda span=span: horizontal(span) for span in SPANS), vertical])
def test_every_message_is_on_the_record_with_its_size_and_without_its_values(run):
    done = run()
    assert [(line.sender, line.recipient, line.kind) for line in done.sent_] == [
        (sender, recipient, type(message).__name__) for sender, recipient, message in done.messages
    ]
    # All but the two that end a training, of which the one holds a name and the other that of the run.
    assert {line.kind for line in done.sent_ if line.n_bytes == 0} == {"Prepared", "Commit"}
    for part in atoms(done.sent_):
        assert isinstance(part, str | int)


def test_private_seeds_have_nothing_to_do_with_the_shared_one():
    first, second = (RecordedHorizontal(LogisticRegression()).fit(parties(2, 40)) for _ in range(2))
    seeds = [party.private_seed for run in (first, second) for party in run.parties_.values()]
    assert len({*seeds, first.parties_["party0"].anchor_seed, second.parties_["party0"].anchor_seed}) == 6
    assert first.parties_["party0"].anchor_seed == first.parties_["party1"].anchor_seed


# --- vertical ------------------------------------------------------------------------------------------------------


def test_the_analyst_receives_pseudonymous_representations_and_one_party_s_labels():
    received = vertical().received_by("analyst")
    kinds = [*[RecordPseudonyms] * 2, *[RecordRepresentation] * 2, RecordLabels, *[Prepared] * 4]
    assert [type(message) for message in received] == kinds
    assert [message.party for message in received] == [*["bank", "shop"] * 2, "bank", *["bank", "shop"] * 2]


def test_no_raw_value_and_no_weight_of_a_vertical_party_reaches_the_analyst():
    run = vertical()
    seen = numbers_in(run.received_by("analyst"))
    for party in run.parties_.values():
        assert not np.isin(seen, secrets_of(party)).any()


def test_no_record_identifier_and_no_key_reaches_the_analyst():
    run = vertical()
    key = run.parties_["bank"].key
    for message in run.received_by("analyst"):
        for part in atoms(message):
            raw = part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode()
            assert b"patient" not in raw
            assert key not in raw
            assert not isinstance(part, bytes)


def test_pseudonyms_cannot_be_computed_without_the_key_and_change_with_it():
    one, two = vertical(), RecordedVertical(LogisticRegression(), random_state=1)
    X = table(80).set_axis([f"patient-{row}" for row in range(80)])
    two.fit({"bank": X[["n0", "n1", "n2"]], "shop": X[["n3", "n4", "town"]]}, target(X))
    seen = [{p.tobytes() for p in run.received_by("analyst")[0].pseudonyms} for run in (one, two)]
    assert len(seen[0]) == 80
    assert not seen[0] & seen[1]


@pytest.mark.parametrize("span", ["supervised", "private"])
def test_vertical_parties_exchange_the_seed_and_the_key_and_what_is_masked_only(span):
    run = vertical(span=span)
    between = {type(m) for sender, recipient, m in run.messages if "analyst" not in (sender, recipient)}
    masked = {MaskedColumns, LabelSums} if span == "supervised" else set()
    assert between == {AnchorSeed, AnchorDigest, PseudonymKey} | masked
    sums = [GuestTriple, LabelSums] if span == "supervised" else []
    assert [type(m) for m in run.received_by("shop")] == [
        *(AnchorSeed, PseudonymKey, CommonRecords),
        *sums,
        *(JoinReport, Commit),
    ]
    assert [type(m) for m in run.received_by("bank") if isinstance(m, HolderTriple | MaskedColumns)] == (
        [HolderTriple, MaskedColumns] if span == "supervised" else []
    )


@pytest.mark.parametrize("span", ["supervised", "private"])
def test_nothing_of_records_that_not_all_hold_leaves_a_party_but_their_pseudonyms(span):
    """A run with such records sends the very same as one without them, but for pseudonyms and how many were left."""
    X = table(100).set_axis([f"patient-{row}" for row in range(100)])
    y = pd.Series(target(X), index=X.index)
    held = {"bank": X[["n0", "n1", "n2"]].iloc[:90], "shop": X[["n3", "n4", "town"]].iloc[10:]}
    common, schema = X.index[10:85], Schema.for_supervision([X])
    runs = [RecordedVertical(LogisticRegression(), span=span, schema=schema, random_state=0) for _ in range(2)]
    runs[0].fit(held, y.iloc[:85].sample(frac=1, random_state=0), label_party="bank")
    runs[1].fit({name: part.loc[common] for name, part in held.items()}, y.loc[common], label_party="bank")
    assert runs[0].joined_ == JoinReport(75, {"bank": 15, "shop": 15})
    lone = {p.tobytes() for p in runs[0].parties_["bank"].pseudonyms_of(runs[0].parties_["bank"].held)} - {
        p.tobytes() for p in runs[0].parties_["bank"].pseudonyms_of(runs[0].parties_["bank"].common)
    }
    assert len(lone) == 15
    for one, two in zip(runs[0].messages, runs[1].messages, strict=True):
        assert one[:2] == two[:2]
        assert type(one[2]) is type(two[2])
        for name, array in one[2].arrays().items():
            if not isinstance(one[2], RecordPseudonyms):
                assert array.shape == two[2].arrays()[name].shape
                assert not any(pseudonym in array.tobytes() for pseudonym in lone)
            if isinstance(one[2], RecordRepresentation | RecordLabels | CommonRecords):
                np.testing.assert_array_equal(array, two[2].arrays()[name])


def test_records_travel_in_the_order_of_their_pseudonyms_whatever_the_tables_order():
    for message in vertical().received_by("analyst"):
        if isinstance(message, RecordPseudonyms | RecordRepresentation | RecordLabels):
            sent = [pseudonym.tobytes() for pseudonym in message.pseudonyms]
            assert sent == sorted(sent)


def test_the_analyst_never_sees_what_its_random_numbers_mask():
    run = vertical()
    assert not [m for m in run.received_by("analyst") if isinstance(m, MaskedColumns | LabelSums)]
    shop = run.parties_["shop"]
    (columns,) = [m for m in run.received_by("bank") if isinstance(m, MaskedColumns)]
    (sums,) = [m for m in run.received_by("shop") if isinstance(m, LabelSums)]
    # Every bit of what is sent is as often 0 as 1.
    for words in (columns.words, sums.masked):
        bits = np.unpackbits(np.ascontiguousarray(words).view(np.uint8)).reshape(-1, 64)
        assert np.all(np.abs(bits.mean(axis=0) - 0.5) < 5 * 0.5 / np.sqrt(len(bits)))
    assert columns.words.shape == (80, shop.anchor.encoder.n_coordinates + 1)


def test_too_few_records_to_hide_labels_among_are_refused():
    X = table(9)
    tables = {"bank": X[["n0", "n1", "n2"]], "shop": X[["n3", "n4", "town"]]}
    with pytest.raises(PrivacyError, match="could solve sums over 9 records for the labels"):
        RecordedVertical(LogisticRegression(), random_state=0).fit(tables, target(X))


@pytest.mark.parametrize("span", ["supervised", "private"])
def test_vertical_training_again_sends_records_as_before_and_new_maps_are_warned_of(span):
    X = table(100).set_axis([f"patient-{row}" for row in range(100)])
    y = pd.Series(target(X), index=X.index)
    run = RecordedVertical(LogisticRegression(), span=span, random_state=None)

    def sent(rows, **more):
        run.messages = []
        tables = {"bank": X[["n0", "n1", "n2"]].iloc[:rows], "shop": X[["n3", "n4", "town"]].iloc[:rows]}
        run.fit(tables, y, **more)
        found = [m for m in run.received_by("analyst") if isinstance(m, RecordRepresentation)]
        return {
            (m.party, pseudonym.tobytes()): row
            for m in found
            for pseudonym, row in zip(m.pseudonyms, m.rows, strict=True)
        }

    first, again = sent(80), sent(81)
    assert len(again) == len(first) + 2
    assert all(np.array_equal(row, again[key]) for key, row in first.items())
    assert not [m for *_, m in run.messages if isinstance(m, MaskedColumns | LabelSums)]
    with pytest.warns(PrivacyWarning, match="find new maps"):
        anew = sent(81, refit_span=True)
    assert (span == "supervised") == any(isinstance(m, LabelSums) for *_, m in run.messages)
    assert set(anew) == set(again)


def test_a_prediction_sends_representations_of_the_asked_records_only():
    run = vertical()
    X = table(80).set_axis([f"patient-{row}" for row in range(80)]).iloc[:4]
    before = len(run.messages)
    run.predict({"bank": X[["n0", "n1", "n2"]], "shop": X[["n3", "n4", "town"]]})
    later: list[Any] = run.messages[before:]
    assert [(sender, recipient, type(m)) for sender, recipient, m in later] == [
        ("requester", "bank", Request),
        ("bank", "analyst", RecordRepresentation),
        ("requester", "shop", Request),
        ("shop", "analyst", RecordRepresentation),
        ("analyst", "requester", Prediction),
    ]
    assert [len(m.rows) for _, recipient, m in later if recipient == "analyst"] == [4, 4]
    assert later[-1][2].values.shape == (4,)


# --- the messages are all there is ------------------------------------------------------------------------------------


@pytest.mark.parametrize("run", [*(lambda span=span: horizontal(span) for span in SPANS), vertical])
def test_roles_speak_in_messages_of_known_kinds_only(run):
    from_party = BETWEEN_PARTIES | {Representation, RecordPseudonyms, RecordRepresentation, RecordLabels, Prepared}
    for sender, recipient, message in run().messages:
        assert isinstance(message, Message)
        if sender != "analyst":
            assert type(message) in from_party
            assert (recipient == "analyst") == (type(message) not in BETWEEN_PARTIES)


@pytest.mark.parametrize("span", SPANS)
def test_an_alignment_tells_a_party_nothing_of_another_s_reduction(span):
    run = horizontal(span)
    for name in run.parties_:
        parts = [part for m in run.received_by(name) for part in vars(m).values() if isinstance(part, Alignment)]
        assert len(parts) == 1


@pytest.mark.parametrize("span", SPANS)
def test_rows_do_not_travel_in_the_order_of_the_table(span):
    data = parties(2, 60)
    run = RecordedHorizontal(span=span, random_state=0).fit(data)
    turned = RecordedHorizontal(span=span, random_state=0, schema=run.schema_).fit(
        {name: (X.iloc[::-1], y[::-1]) for name, (X, y) in data.items()}
    )
    for sent, again in zip(representations(run), representations(turned), strict=True):
        party = run.parties_[sent.party]
        own = party.reduction.transform(party.encode(data[sent.party][0])) + party.noise_of(party.codes)
        at = np.argmin(((own[:, None] - sent.rows[None]) ** 2).sum(axis=2), axis=1)
        assert abs(np.corrcoef(at, np.arange(60))[0, 1]) < 0.4
        np.testing.assert_array_equal(sent.labels[at], np.asarray(data[sent.party][1]))
        np.testing.assert_allclose(again.rows, sent.rows, atol=1e-9)  # whatever the order in the table
        np.testing.assert_array_equal(again.labels, sent.labels)


# --- models that contain rows ---------------------------------------------------------------------------------------


class KeepsRows(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # sklearn is untyped
    """A model of somebody's own that looks harmless and keeps its training rows."""

    def __init__(self, how: str = "array") -> None:
        self.how = how

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        kept = {"array": X, "single": X.astype(np.float32), "tree": KDTree(X), "some": X[::7].copy(), "list": list(X)}
        self.memory_ = {"kept": [kept[self.how]]}
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


INSTANCE_BASED = [
    KNeighborsClassifier(3),
    make_pipeline(StandardScaler(), KNeighborsClassifier(3)),
    SVC(),
    OneVsRestClassifier(SVC()),
    GaussianProcessClassifier(),
    BaggingClassifier(KNeighborsClassifier(3), n_estimators=2),
    VotingClassifier([("a", LogisticRegression()), ("b", KNeighborsClassifier(3))]),
    StackingClassifier([("a", KNeighborsClassifier(3))]),
    CalibratedClassifierCV(KNeighborsClassifier(3)),
    GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 3]}),
    make_pipeline(StandardScaler(), KernelPCA(3), LogisticRegression()),
    make_pipeline(StandardScaler(), Nystroem(n_components=5), LogisticRegression()),
    make_pipeline(StandardScaler(), KMeans(20, n_init=1), LogisticRegression()),  # a centre for nearly every row
    make_pipeline(StandardScaler(), RBFSampler(), FunctionTransformer(), LogisticRegression()),
    BaggingClassifier(make_pipeline(StandardScaler(), KMeans(9, n_init=1), LogisticRegression()), n_estimators=2),
]
PARAMETRIC = [
    LogisticRegression(),
    make_pipeline(StandardScaler(), LogisticRegression()),
    DecisionTreeClassifier(),
    RandomForestClassifier(n_estimators=5),
    HistGradientBoostingClassifier(max_iter=5),
    MLPClassifier(hidden_layer_sizes=(5,), max_iter=300, tol=1e-2),
    NearestCentroid(),
]


def named(model: Any) -> str:
    return str(model.steps[-1][1] if hasattr(model, "steps") else model).split("(")[0]


@pytest.mark.parametrize("model", INSTANCE_BASED, ids=named)
def test_an_instance_based_model_is_refused_before_training_unless_all_agree(model, monkeypatch):
    def never(*_):
        raise AssertionError("it must not be trained")

    monkeypatch.setattr(Analyst, "_fit", never)
    with pytest.raises(PrivacyError, match=r"contains training rows.*\['party0', 'party1'\]"):
        RecordedHorizontal(model, instance_models=False).fit(parties(2, 40))


@pytest.mark.parametrize("model", PARAMETRIC, ids=named)
def test_a_parametric_model_passes(model):
    run = RecordedHorizontal(model, instance_models=False, random_state=0).fit(parties(2, 40))
    assert type(run.analyst_.model_) is type(model)


def test_a_subclass_of_a_parametric_model_is_none():
    class Logistic(LogisticRegression):  # type: ignore[misc]  # sklearn is untyped
        """May keep whatever it likes."""

    assert carries_rows(Logistic())


def test_an_estimator_that_was_put_into_a_parametric_model_is_found():
    rows = np.random.default_rng(0).standard_normal((60, 4))
    model = LogisticRegression().fit(rows, rows[:, 0] > 0)
    assert not carries_rows(model, rows)
    model.extra_ = {"centres": KMeans(30, n_init=1).fit(2.0 * rows)}
    assert carries_rows(model, rows)


@pytest.mark.parametrize("how", ["array", "single", "tree", "some", "list"])
def test_rows_that_a_fitted_model_kept_are_found(how):
    with pytest.raises(PrivacyError, match="KeepsRows contains training rows"):
        RecordedHorizontal(KeepsRows(how), instance_models=False).fit(parties(2, 40))
    assert RecordedHorizontal(KeepsRows(how)).fit(parties(2, 40)).analyst_.model_ is not None


def representations(run: RecordedHorizontal) -> list[Representation]:
    return [message for message in run.received_by("analyst") if isinstance(message, Representation)]


def test_a_refused_model_is_not_kept():
    analyst = Analyst(KeepsRows())
    run = horizontal()
    with pytest.raises(PrivacyError):
        analyst.integrate([dataclasses.replace(m, instance_models=False) for m in representations(run)])
    with pytest.raises(Exception, match="not trained"):
        _ = analyst.model_


def test_one_party_s_refusal_is_enough():
    messages = representations(horizontal())
    mixed = [dataclasses.replace(m, instance_models=m.party != "party1") for m in messages]
    with pytest.raises(PrivacyError, match=r"Not agreed: \['party1'\]"):
        Analyst(KNeighborsClassifier()).integrate(mixed)


def test_fitted_models_are_told_apart():
    rows = np.random.default_rng(0).standard_normal((60, 4))
    y = rows[:, 0] > 0
    for model in INSTANCE_BASED:
        assert carries_rows(model.fit(rows, y), rows)
    for model in PARAMETRIC:
        assert not carries_rows(model.fit(rows, y), rows)


@pytest.mark.parametrize("model", [KNeighborsClassifier(3), KeepsRows()], ids=named)
def test_a_vertical_model_with_rows_is_trained_but_does_not_leave_the_analyst(model, tmp_path):
    X = table(60)
    run = RecordedVertical(model, instance_models=False, random_state=0)
    run.fit({"a": X[["n0", "n1", "n2"]], "b": X[["n3", "n4", "town"]]}, target(X))
    with pytest.raises(PrivacyError, match="contains training rows"):
        run.analyst_.share_model()


def test_a_parametric_vertical_model_is_shared():
    shared = vertical(instance_models=False).analyst_.share_model()
    assert shared.widths == {"bank": 2, "shop": 2}
