"""What bad input gets: an error of our own tree that says what must hold, and no data values in it."""

from __future__ import annotations

import traceback
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from dcshap import HorizontalCollaboration, VerticalCollaboration
from dcshap.collaboration import Agreement, Analyst, HorizontalParty, VerticalParty
from dcshap.collaboration.messages import Integration, RecordRepresentation, Representation
from dcshap.exceptions import (
    DcshapError,
    InputError,
    ModelError,
    NotFittedError,
    PrivacyError,
    ProtocolError,
    RangeWarning,
    SchemaError,
    TableWarning,
)
from dcshap.protocol import Cast, Node
from dcshap.protocol.memory import MemoryCarrier
from dcshap.protocol.steps import training
from dcshap.schema import Category, Number, Schema
from tests.collaboration.helpers import RecordedHorizontal, parties, table, target

SECRET = 7741.125
WORD = "zanzibar"
LABELS = np.arange(40) % 2


def horizontal(**settings) -> HorizontalCollaboration:
    return HorizontalCollaboration(settings.pop("model", LogisticRegression()), **({"random_state": 0} | settings))


def vertical(**settings) -> VerticalCollaboration:
    return VerticalCollaboration(settings.pop("model", LogisticRegression()), **({"random_state": 0} | settings))


def tables(n: int = 40) -> dict[str, pd.DataFrame]:
    X = table(n).set_axis([f"{WORD}{i}" for i in range(n)])
    return {"a": X[["n0", "n1", "n2"]], "b": X[["n3", "n4", "town"]]}


def failing(action) -> str:
    """All that a user sees of the error that an action raises; never a data value."""
    with pytest.raises(DcshapError) as caught:
        action()
    text = "".join(traceback.format_exception(caught.value, limit=0))
    assert WORD not in text
    assert str(int(SECRET)) not in text
    return f"{type(caught.value).__name__}: {caught.value}"


def with_table(name: str, change) -> dict[str, Any]:
    data = parties(2, 40)
    X, y = data[name]
    return data | {name: (change(X), y)}


# --- who takes part --------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [{}, {"a": parties(1, 20)["party0"]}])
def test_fewer_than_two_parties_are_refused(data):
    assert f"at least two parties. Got {len(data)}" in failing(lambda: horizontal().fit(data))


def test_fewer_than_two_vertical_parties_are_refused():
    one = {"a": tables()["a"]}
    assert "at least two parties. Got 1" in failing(lambda: vertical().fit(one, LABELS))


@pytest.mark.parametrize("data", [None, [1, 2], {"a": table(5), "b": table(5)}, {"a": (1,), "b": (1, 2)}])
def test_data_of_another_shape_is_refused(data):
    assert "mapping of party name to (X, y)" in failing(lambda: horizontal().fit(data))


@pytest.mark.parametrize("X", [None, [1, 2], table(5)])
def test_vertical_data_of_another_shape_is_refused(X):
    assert "mapping of party name to table" in failing(lambda: vertical().fit(X, [0, 1]))


@pytest.mark.parametrize(
    "name", ["", "../up", "a/b", ".hidden", "a" * 65, 3, "new\nline", "analyst", "full", "requester"]
)
def test_names_that_cannot_be_a_folder_or_are_taken_are_refused(name):
    data = parties(2, 20)
    assert "InputError" in failing(lambda: horizontal().fit({name: data["party0"], "b": data["party1"]}))


@pytest.mark.parametrize(
    ("name", "meaning"),
    [("analyst", "the one who trains"), ("full", "the view of all features"), ("requester", "whoever asks")],
)
def test_a_party_has_no_name_that_means_somebody_else(name, meaning):
    words = f"A party must not be called {name!r}: that is the name of {meaning}."
    rows, columns = parties(2, 20), tables()
    assert words in failing(lambda: horizontal().fit({"a": rows["party0"], name: rows["party1"]}))
    assert words in failing(lambda: vertical().fit({"a": columns["a"], name: columns["b"]}, LABELS))
    agreement = Agreement(Schema.from_frames([table(40)]))
    for kind in (HorizontalParty, VerticalParty):
        assert words in failing(lambda kind=kind: kind(name, agreement))
    assert horizontal().fit({f"{name}s": rows["party0"], name.upper(): rows["party1"]}).parties_


def test_a_party_with_no_rows_is_refused_by_name():
    data = parties(2, 40)
    X, y = data["party1"]
    message = failing(lambda: horizontal().fit(data | {"party1": (X.iloc[:0], y[:0])}))
    assert "'party1': A party must hold at least one row. Got none." in message
    empty = tables() | {"b": tables()["b"].iloc[:0]}
    schema = Schema.from_frames([table(40)])
    assert "'b': A party must hold at least one row" in failing(lambda: vertical(schema=schema).fit(empty, LABELS))


# --- tables ----------------------------------------------------------------------------------------------


def test_all_differences_between_parties_are_named_at_once():
    data = with_table("party1", lambda X: X.drop(columns="n0").assign(n1=WORD, extra=SECRET))
    message = failing(lambda: horizontal().fit(data))
    assert message.startswith("SchemaError")
    for part in ("'party1' lacks ['n0']", "'party1' has ['extra']", "'n1' holds numbers for some"):
        assert part in message


def test_all_parties_that_do_not_fit_an_agreed_schema_are_named_at_once():
    data = parties(3, 40)
    schema = Schema.from_frames([X for X, _ in data.values()])
    data["party0"] = (data["party0"][0].assign(town=WORD), data["party0"][1])
    data["party2"] = (data["party2"][0].drop(columns="n3").assign(n2=WORD), data["party2"][1])
    message = failing(lambda: horizontal(schema=schema).fit(data))
    assert "'party0': " in message
    assert "'town' has 40 values that are none of its 3 categories" in message
    assert "'party2': " in message
    assert "['n3'] are lacking" in message
    assert "'n2' must hold numbers" in message


def test_values_outside_the_range_warn_with_counts():
    data = parties(2, 40)
    schema = Schema.from_frames([X for X, _ in data.values()])
    X, y = data["party0"]
    with pytest.warns(RangeWarning, match="n0 2") as caught:
        horizontal(schema=schema).fit(data | {"party0": (X.assign(n0=[SECRET, -SECRET, *X["n0"][2:]]), y)})
    assert not any(str(int(SECRET)) in str(warning.message) for warning in caught)


def test_constant_columns_are_refused_by_name():
    data = {name: (X.assign(n0=SECRET, n3=SECRET), y) for name, (X, y) in parties(2, 40).items()}
    message = failing(lambda: horizontal().fit(data))
    assert "'n0' must have a finite range" in message
    assert "'n3' must have a finite range" in message
    assert "leave it out" in message


def test_a_column_that_is_constant_at_one_party_alone_is_no_mistake():
    data = with_table("party0", lambda X: X.assign(n0=1.0, town="north"))
    assert horizontal().fit(data).parties_


@pytest.mark.parametrize(("value", "said"), [(np.nan, "Missing values per column: n1 2"), (np.inf, "Infinite")])
def test_missing_and_infinite_values_are_refused_by_party_column_and_count(value, said):
    data = with_table("party1", lambda X: X.assign(n1=[value, value, *X["n1"][2:]]))
    message = failing(lambda: horizontal().fit(data))
    assert "'party1': " in message
    assert said in message


def test_several_parties_mistakes_of_different_kinds_are_told_together():
    data = parties(2, 40)
    schema = Schema.from_frames([X for X, _ in data.values()])
    bad = {
        "party0": (data["party0"][0].assign(n0=np.nan), data["party0"][1]),
        "party1": (data["party1"][0].drop(columns="n2"), data["party1"][1]),
    }
    message = failing(lambda: horizontal(schema=schema).fit(bad))
    assert "'party0': Values must not be missing" in message
    assert "'party1': The table must fit the schema" in message


# --- settings --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("span", ["private", "shared", "random"])
@pytest.mark.parametrize("n", [6, 7, 600])
def test_as_many_components_as_columns_are_refused(n, span):
    message = failing(lambda: horizontal(n_components=n, span=span).fit(parties(2, 40)))
    assert message.startswith("PrivacyError")
    assert f"Got {n} for 6 columns" in message


@pytest.mark.parametrize("n", [8, 9, 600])
def test_with_a_supervised_span_as_many_components_as_encoded_coordinates_are_refused(n):
    message = failing(lambda: horizontal(n_components=n).fit(parties(2, 40)))
    assert message.startswith("PrivacyError")
    assert f"smaller than the number of encoded coordinates, or representations hide nothing. Got {n} for 8" in message
    assert horizontal(n_components=7).fit(parties(2, 40)).analyst_.model_.n_features_in_ == 7


@pytest.mark.parametrize("n", [0, -1, 1.0, 0.0, 1.5, -0.5, "3", None, True, np.nan])
def test_components_that_are_no_number_or_fraction_are_refused(n):
    assert "`n_components` must be" in failing(lambda: horizontal(n_components=n).fit(parties(2, 40)))


def test_a_party_with_one_column_is_refused():
    X = table(40)
    message = failing(lambda: vertical().fit({"a": X[["n0"]], "b": X[["n1", "n2"]]}, target(X)))
    assert "'a': A party needs at least 2 columns" in message


def test_fewer_anchor_rows_than_dimensions_are_refused():
    message = failing(lambda: horizontal(n_anchor=5, span="private").fit(parties(2, 40)))
    assert "Got 5 rows for 5 dimensions" in message
    assert "Got 3 rows for 2 dimensions" in failing(lambda: horizontal(n_anchor=3).fit(parties(2, 40)))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"span": "common"}, "`span` must be"),
        ({"alignment": "cca"}, "`alignment` must be"),
        ({"reduction": "umap", "span": "private"}, "`reduction` must be"),
        ({"anchor": "normal"}, "`anchor` must be"),
        ({"missing": "drop"}, "`missing` must be"),
        ({"random_state": -1}, "`random_state` must be"),
        ({"random_state": "seed"}, "`random_state` must be"),
        ({"random_state": np.random.RandomState(0)}, "`random_state` must be"),
        ({"span": "supervised", "reduction": "pca"}, "`reduction` belongs to span='private'"),
        ({"span": "shared", "reduction": "lpp"}, "With span='shared' leave it at its default"),
        ({"span": "random", "reduction": PCA()}, "With span='random' leave it at its default"),
        ({"model": KMeans}, "must have `fit` and `predict`"),
        ({"model": "knn"}, "must have `fit` and `predict`"),
        ({"model": PCA()}, "must have `fit` and `predict`"),
    ],
)
def test_unknown_settings_are_refused(settings, said):
    assert said in failing(lambda: horizontal(**settings).fit(parties(2, 40)))


def test_vertical_components_must_name_every_party():
    assert "`n_components` must name every party" in failing(
        lambda: vertical(n_components={"a": 2}).fit(tables(), LABELS)
    )


# --- labels ----------------------------------------------------------------------------------------------


def test_labels_with_one_class_are_refused():
    data = {name: (X, [WORD] * len(X)) for name, (X, _) in parties(2, 40).items()}
    assert "at least two classes over all parties" in failing(lambda: horizontal().fit(data))
    assert "at least two classes" in failing(lambda: vertical().fit(tables(), [WORD] * 40))


def test_one_class_at_one_party_is_no_mistake_and_one_value_is_none_for_a_regressor():
    data = {name: (X, [i] * len(X)) for i, (name, (X, _)) in enumerate(parties(2, 40).items())}
    assert horizontal().fit(data).parties_
    same = {name: (X, [1.5] * len(X)) for name, (X, _) in data.items()}
    assert horizontal(model=LinearRegression()).fit(same).parties_


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([np.nan, 1.0], "2 of 4 are"),
        ([None, WORD], "2 of 4 are"),
        ([np.inf, 1.0], "must be finite. 2 are not"),
        ([1, WORD], "all of one type"),
        ([[1, 2], [3, 4]], "one dimension"),
        ([{"a": WORD}, {"a": 1}], "numbers, booleans or text"),
        (np.array(["2020-01-01", "2020-01-02"], "datetime64[D]"), "numbers, booleans or text"),
        (np.array([b"a", b"b"]), "numbers, booleans or text"),
        ([1 + 2j, 1j], "numbers, booleans or text"),
    ],
)
def test_labels_that_cannot_be_learnt_are_refused(labels, said):
    values = np.concatenate([labels, labels]) if isinstance(labels, np.ndarray) else [*labels, *labels]
    party = HorizontalParty("a", Agreement(Schema.from_frames([table(40)])))
    if isinstance(values, list) and WORD in map(str, values) and 1 in values:
        values = np.array(values, dtype=object)
    assert said in failing(lambda: party.take(table(4, seed=0), values))


def test_labels_of_different_kinds_are_refused():
    data = parties(2, 40)
    X, y = data["party1"]
    assert "one kind" in failing(lambda: horizontal().fit(data | {"party1": (X, np.where(y, "yes", "no"))}))


def test_another_number_of_labels_than_rows_is_refused():
    data = parties(2, 40)
    X, y = data["party1"]
    assert "Got 40 rows and 39 labels" in failing(lambda: horizontal().fit(data | {"party1": (X, y[1:])}))
    assert "Got 40 rows and 39 labels" in failing(lambda: vertical().fit(tables(), np.arange(39) % 2))
    run = horizontal().fit(data)
    assert "Got 40 rows and 39 labels" in failing(lambda: run.score(X, y[1:], party="party1"))


def test_a_vertical_training_without_labels_is_refused():
    assert "One party must bring labels" in failing(lambda: vertical().fit(tables(), None))


# --- use -------------------------------------------------------------------------------------------------


def test_unfitted_use_is_refused(tmp_path):
    X = table(5)
    for action in (
        lambda: horizontal().predict(X, party="a"),
        lambda: horizontal().predict_proba(X, party="a"),
        lambda: horizontal().score(X, [1] * 5, party="a"),
        lambda: horizontal().schema_,
        lambda: horizontal().save(tmp_path / "run"),
        lambda: vertical().predict(tables()),
        lambda: vertical().predict_proba(tables()),
        lambda: vertical().save(tmp_path / "run"),
        lambda: Analyst(LogisticRegression()).model_,
        lambda: Analyst(LogisticRegression()).save(tmp_path / "analyst"),
    ):
        assert failing(action).startswith("NotFittedError")


def test_party_steps_out_of_order_are_refused(tmp_path):
    agreement = Agreement(Schema.from_frames([table(40)]))
    party, other = HorizontalParty("a", agreement), VerticalParty("b", agreement)
    for action in (
        lambda: party.anchor,
        lambda: party.codes,
        lambda: party.send_drawn("b"),
        lambda: party.send_representation("analyst"),
        lambda: party.points(table(3)),
        lambda: party.predict(table(3)),
        lambda: party.reduction,
        lambda: party.save(tmp_path / "party"),
        lambda: other.key,
        lambda: other.held,
        lambda: other.send_labels("analyst"),
        lambda: other.send_records("analyst"),
        lambda: other.represent(other.records_of(table(40))),
    ):
        assert failing(action).startswith("NotFittedError")


@pytest.mark.parametrize("name", ["east", None, 3])
def test_unknown_party_names_are_refused(name):
    run = horizontal().fit(parties(2, 40))
    assert "`party` must be one of ['party0', 'party1']" in failing(lambda: run.predict(table(3), party=name))


def test_an_unknown_label_party_is_refused():
    message = failing(lambda: vertical().fit(tables(), LABELS, label_party="c"))
    assert "`label_party` must be one of ['a', 'b']" in message


def test_a_model_that_cannot_be_trained_is_said_so():
    message = failing(lambda: horizontal(model=KNeighborsClassifier(0)).fit(parties(2, 40)))
    assert message.startswith("ModelError: KNeighborsClassifier could not be trained on 80 points of 2 dimensions")


class FailsLater(LogisticRegression):  # type: ignore[misc]  # sklearn is untyped
    """A model that cannot be trained a second time."""

    trained = 0

    def fit(self, X, y):
        if FailsLater.trained:
            raise ValueError("once is enough")
        FailsLater.trained += 1
        return super().fit(X, y)


def rows_again() -> tuple[Any, tuple[Any, ...], tuple[Any, ...], Any]:
    """A run, what it is trained with, what it cannot be trained with, and how it predicts."""
    data = parties(2, 40)
    bad = with_table("party1", lambda X: X.assign(n1=np.nan))
    run = horizontal(model=FailsLater())
    return run, (data,), (bad,), lambda: run.predict_proba(data["party0"][0], party="party0")


def records_again() -> tuple[Any, tuple[Any, ...], tuple[Any, ...], Any]:
    bad = tables() | {"b": tables()["b"].assign(n3=np.nan)}
    run = vertical(model=FailsLater())
    return run, (tables(), LABELS), (bad, LABELS), lambda: run.predict_proba(tables())


@pytest.mark.parametrize("because", ["of the table", "of the model"])
@pytest.mark.parametrize("again", [rows_again, records_again])
def test_a_training_that_fails_leaves_the_earlier_one(again, because, monkeypatch):
    monkeypatch.setattr(FailsLater, "trained", 0)
    run, good, bad, predict = again()
    run.fit(*good)
    expected, sent, roles, name = predict(), list(run.sent_), run.parties_, run.analyst_.run
    failing(lambda: run.fit(*(bad if because == "of the table" else good)))
    np.testing.assert_array_equal(predict(), expected)
    assert run.parties_ is roles
    assert {party.run for party in run.parties_.values()} == {run.analyst_.run} == {name}
    assert run.sent_[: len(sent)] == sent  # what has travelled has travelled


# --- records ---------------------------------------------------------------------------------------------


def test_duplicate_record_identifiers_are_refused_by_count():
    parts = tables()
    parts["b"] = parts["b"].set_axis([f"{WORD}{min(i, 37)}" for i in range(40)])
    assert "'b': Record identifiers must differ. 2 rows repeat one" in failing(lambda: vertical().fit(parts, LABELS))
    mixed = tables()
    mixed["b"] = mixed["b"].set_axis(pd.Index(["1", 1, *range(2, 40)], dtype=object))
    assert "1 rows repeat one" in failing(lambda: vertical().fit(mixed, LABELS))


def test_missing_record_identifiers_are_refused_by_count():
    parts = tables()
    parts["b"] = parts["b"].set_axis([None, np.nan, *(f"{WORD}{i}" for i in range(38))])
    assert "must not be missing. 2 are" in failing(lambda: vertical().fit(parts, LABELS))


def test_no_common_records_are_refused():
    parts = tables()
    parts["b"] = parts["b"].set_axis([f"other{i}" for i in range(40)])
    assert "must have records in common" in failing(lambda: vertical().fit(parts, LABELS))


def test_a_column_held_by_several_parties_is_refused():
    X = table(40)
    message = failing(lambda: vertical().fit({"a": X[["n0", "n1"]], "b": X[["n1", "n2"]]}, target(X)))
    assert "Held by several: ['n1']" in message


def test_columns_that_the_agreed_schema_does_not_know_are_ignored_with_a_warning():
    schema = Schema.from_frames([table(40)])
    extra = tables() | {"b": tables()["b"].assign(more=1)}
    with pytest.warns(TableWarning, match=r"\['more'\] are not in the schema and are ignored"):
        run = vertical(schema=schema).fit(extra, LABELS)
    assert "more" not in run.parties_["b"].agreement.schema.names


def test_columns_that_nobody_brings_are_refused():
    schema = Schema.from_frames([table(40)])
    less = tables() | {"b": tables()["b"].drop(columns="n4")}
    assert "Nobody brings ['n4']" in failing(lambda: vertical(schema=schema).fit(less, LABELS))


def test_arrays_of_different_lengths_are_refused():
    message = failing(lambda: vertical().fit({"a": np.ones((4, 2)), "b": np.ones((5, 2))}, [0, 1, 0, 1]))
    assert "must have the same length. Got {'a': 4, 'b': 5}" in message


def test_a_vertical_prediction_needs_every_party_and_the_same_records():
    run = vertical().fit(tables(), LABELS)
    bare: Any = table(3)
    assert "Each of ['a', 'b'] must bring its columns. Got ['a']" in failing(lambda: run.predict({"a": tables()["a"]}))
    assert "must bring its columns. Got DataFrame" in failing(lambda: run.predict(bare))
    less = {"a": tables()["a"], "b": tables()["b"].iloc[3:]}
    message = failing(lambda: run.predict(less))
    assert "'b' lacks 3 of 40" in message  # how many, not which


# --- messages that do not fit ----------------------------------------------------------------------------


def representation(party: str = "a", *, rows=(8, 3), anchor=(20, 3), labels: int = 8) -> Representation:
    rng = np.random.default_rng(0)
    return Representation(party, rng.standard_normal(anchor), rng.standard_normal(rows), np.arange(labels) % 2, False)


@pytest.mark.parametrize(
    "bad",
    [
        representation("b", rows=(8, 4)),
        representation("b", labels=7),
        representation("b", anchor=(21, 3)),
        representation("a"),
        Representation("b", np.full((20, 3), np.nan), np.ones((8, 3)), np.arange(8) % 2, False),
        Representation("b", np.ones((20, 3)), np.full((8, 3), np.inf), np.arange(8) % 2, False),
        Representation("b", np.ones(20), np.ones((8, 3)), np.arange(8) % 2, False),
    ],
)
def test_representations_that_do_not_fit_are_refused(bad):
    assert failing(lambda: Analyst(LogisticRegression()).integrate([representation(), bad])).startswith("ProtocolError")


def test_what_is_meant_for_another_party_is_refused():
    run = RecordedHorizontal(LogisticRegression(), random_state=0).fit(parties(2, 40))
    for_other = next(m for m in run.received_by("party1") if isinstance(m, Integration))
    party = run.parties_["party0"]
    node = Node(
        "party0", training("horizontal"), Cast(("party0", "party1")), [party], MemoryCarrier("party0", {}, print)
    )
    message = failing(lambda: node.handle("integration", "analyst", for_other))
    assert message.startswith("ProtocolError")
    assert "Integration meant for another" in message
    assert party.alignment is next(m for m in run.received_by("party0") if isinstance(m, Integration)).alignment


def represented(run: VerticalCollaboration, name: str, rows: pd.DataFrame) -> RecordRepresentation:
    party = run.parties_[name]
    return party.represent(party.records_of(rows))


def test_a_vertical_prediction_with_wrong_representations_is_refused():
    run = vertical().fit(tables(), LABELS)
    a, b = (represented(run, name, part.iloc[:3]) for name, part in tables().items())
    with pytest.raises(ProtocolError, match="needs a representation from each"):
        run.analyst_.predict_records([a], probabilities=False)
    other = represented(run, "b", tables()["b"].iloc[1:4])
    with pytest.raises(ProtocolError, match="3 records, 2 of them the same"):
        run.analyst_.predict_records([a, other], probabilities=False)
    assert run.analyst_.predict_records([a, b], probabilities=False).shape == (3,)


# --- the tree of errors ----------------------------------------------------------------------------------


def test_errors_can_be_caught_as_what_they_are():
    assert issubclass(SchemaError, InputError)
    assert issubclass(PrivacyError, InputError)
    assert issubclass(InputError, ValueError)
    for error in (InputError, ModelError, NotFittedError, ProtocolError):
        assert issubclass(error, DcshapError)


def test_good_input_gives_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        horizontal(span="shared").fit(parties(3, 40))
        vertical().fit(tables(), LABELS)


def test_a_schema_by_hand_may_be_wider_than_the_data():
    data = parties(2, 40)
    columns = [Number(f"n{j}", -20, 20) for j in range(5)]
    schema = Schema((*columns, Category("town", ("north", "middle", "south", "east"), "onehot")))
    run = horizontal(schema=schema, model=KNeighborsClassifier(5)).fit(data)
    assert run.score(*data["party0"], party="party0") > 0.6


@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_no_rows_are_no_prediction(method):
    data = parties(2, 40)
    run = HorizontalCollaboration(LogisticRegression(), random_state=0).fit(data)
    with pytest.raises(InputError, match="At least one row"):
        getattr(run, method)(data["party0"][0].iloc[:0], party="party0")


def test_a_class_that_parties_spell_differently_is_refused_and_counted():
    X = table(40)
    words = np.where(np.asarray(target(X)) > 0, WORD, "no")
    message = failing(lambda: HorizontalCollaboration().fit({"a": (X, words), "b": (X, np.char.upper(words))}))
    assert "2 classes have 4 spellings" in message
    both = np.where(X["n0"] > X["n0"].median(), words, np.char.upper(words))
    HorizontalCollaboration().fit({"a": (X, both), "b": (X, both)})  # two classes for who has both


def test_labels_that_may_be_numbers_or_classes_are_asked_about():
    data = {name: (X, np.arange(len(X))) for name, (X, _) in parties(2, 40).items()}
    message = failing(lambda: HorizontalCollaboration().fit(data))
    assert "40 different whole numbers. Say with `model` what they are: a regressor such as Ridge()" in message
    fractions = {name: (X, np.linspace(0, 1, len(X))) for name, (X, _) in parties(2, 40).items()}
    message = failing(lambda: horizontal(model=LogisticRegression()).fit(fractions))
    assert "The labels have fractions: use a regressor" in message
