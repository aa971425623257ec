"""Records are matched by identifier, whatever the tables and the identifiers are, in fit, predict and explain alike.

Every kind of table stands beside every other, in shuffled orders, and each record must come out as it does where all
tables are DataFrames in one order.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, Literal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression

from dcshap import Schema, VerticalCollaboration
from dcshap.collaboration.arrivals import matched, rows_in_common
from dcshap.collaboration.messages import RecordLabels, RecordRepresentation
from dcshap.collaboration.records import Records, identifiers, in_one_order, pseudonyms
from dcshap.exceptions import InputError, ProtocolError, SchemaError

N, ASKED = 30, 6
VALUES = np.random.default_rng(0).normal(size=(N, 6))
LABELS = (VALUES[:, 0] + VALUES[:, 4] > 0).astype(int)
COLUMNS = {"p": ["p.x0", "p.x1", "p.x2"], "q": ["q.x0", "q.x1", "q.x2"]}  # as the columns of arrays are called

# Record number i, written by a party in its own way.
IDENTIFIERS: dict[str, Callable[[list[int]], pd.Index[Any]]] = {
    "integers": pd.Index,
    "texts": lambda rows: pd.Index([str(i) for i in rows]),
    "floats": lambda rows: pd.Index([float(i) for i in rows]),
    "mixed": lambda rows: pd.Index([(int, str, float)[i % 3](i) for i in rows], dtype=object),
}
MORE_IDENTIFIERS: dict[str, Callable[[list[int]], pd.Index[Any]]] = {
    "nullable": lambda rows: pd.Index(rows, dtype="Int64"),
    "string": lambda rows: pd.Index([str(i) for i in rows], dtype="string"),
    "categories": lambda rows: pd.CategoricalIndex([str(i) for i in rows]),
    "numpy's": lambda rows: pd.Index([np.int64(i) for i in rows], dtype=object),
    "small": lambda rows: pd.Index(np.array(rows, dtype=np.uint8)),
    "single floats": lambda rows: pd.Index(np.array(rows, dtype=np.float32)),
}
# Without identifiers of their own: the position is the identifier, so these are never shuffled.
POSITIONAL: dict[str, Callable[[np.ndarray, list[str]], Any]] = {
    "array": lambda values, _: values,
    "list": lambda values, _: values.tolist(),
    "polars": lambda values, names: pl.DataFrame(values, schema=names),
}
MORE_POSITIONAL: dict[str, Callable[[np.ndarray, list[str]], Any]] = {
    "tuple": lambda values, _: tuple(map(tuple, values.tolist())),
    "pyarrow": lambda values, names: pa.table(dict(zip(names, values.T, strict=True))),
    "columns in Fortran order": lambda values, _: np.asfortranarray(values),
}
KINDS = [*POSITIONAL, *IDENTIFIERS]
MORE_KINDS = [*MORE_POSITIONAL, *MORE_IDENTIFIERS]
INDICES: tuple[Literal["shapley", "owen"], ...] = ("shapley", "owen")
EVERY_VIEW = list(product(("full", "p", "q"), INDICES))


def values_of(party: str, n: int) -> np.ndarray:
    return VALUES[:n, :3] if party == "p" else VALUES[:n, 3:]


def table(party: str, kind: str, n: int) -> Any:
    """A party's columns of the first n records, in an order of its own where it has identifiers."""
    positional, named = POSITIONAL | MORE_POSITIONAL, IDENTIFIERS | MORE_IDENTIFIERS
    if kind in positional:
        return positional[kind](values_of(party, n), COLUMNS[party])
    rows = np.random.default_rng(ord(party)).permutation(n)
    index = named[kind](rows.tolist())
    return pd.DataFrame(values_of(party, n)[rows], columns=COLUMNS[party], index=index)


def in_order(n: int) -> dict[str, Any]:
    return {party: pd.DataFrame(values_of(party, n), columns=COLUMNS[party]) for party in COLUMNS}


def records_in(asked: Any) -> list[int]:
    """Which records a table has, row by row."""
    return [int(float(each)) for each in asked.index] if isinstance(asked, pd.DataFrame) else list(range(len(asked)))


def untrained(**settings: Any) -> VerticalCollaboration:
    return VerticalCollaboration(LogisticRegression(), 2, n_anchor=100, random_state=0, **settings)


@pytest.fixture(scope="module")
def plain() -> VerticalCollaboration:
    return untrained().fit(in_order(N), LABELS)


@pytest.fixture(scope="module")
def plain_by(plain) -> dict[str, VerticalCollaboration]:
    """By who holds the labels: guests know sums with labels that have the holder's noise."""
    return {"p": plain, "q": untrained().fit(in_order(N), LABELS, label_party="q")}


@pytest.fixture(scope="module")
def expected(plain):
    """The plainly ordered run, record by record."""
    X = in_order(ASKED)
    explained = {(view, index): plain.explain(X, view=view, index=index) for view, index in EVERY_VIEW}
    return plain.predict(X), plain.predict_proba(X), explained


def assert_trained_alike(run, plain):
    """To the last digits: sums over rows in another order may differ there."""
    assert run.joined_.n_common == N
    assert run.joined_.n_dropped == {"p": 0, "q": 0}
    X = in_order(N)
    np.testing.assert_allclose(run.predict_proba(X), plain.predict_proba(X), rtol=0, atol=1e-9)
    explained, wanted = (each.explain(in_order(ASKED), index="owen") for each in (run, plain))
    np.testing.assert_allclose(explained.values, wanted.values, rtol=0, atol=1e-9)


def assert_answered_alike(run, X, expected):
    first = next(iter(X.values()))
    records = records_in(first)
    shown = list(first.index) if isinstance(first, pd.DataFrame) else list(range(ASKED))
    classes, probabilities, explained = expected
    np.testing.assert_array_equal(run.predict(X), classes[records])
    np.testing.assert_allclose(run.predict_proba(X), probabilities[records], rtol=0, atol=1e-12)
    for (view, index), wanted in explained.items():
        found = run.explain(X, view=view, index=index)
        order = [found.feature_names.index(name) for name in wanted.feature_names]
        assert found.values.shape == wanted.values.shape
        np.testing.assert_allclose(found.values[:, order], wanted.values[records], rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.base_values, wanted.base_values, rtol=0, atol=1e-12)
        assert found.data.shape == wanted.data.shape == (ASKED, len(wanted.data.columns))
        assert not found.data.isna().any(axis=None)
        np.testing.assert_array_equal(found.data[wanted.data.columns], wanted.data.iloc[records])
        assert list(found.data.index) == shown
        assert [type(each) for each in found.data.index] == [type(each) for each in shown]
        np.testing.assert_array_equal(found.reference[wanted.data.columns], wanted.reference)


# --- the matrix ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("q", KINDS)
@pytest.mark.parametrize("p", KINDS)
def test_any_two_tables_train_as_frames_in_one_order(plain, p, q):
    labels = pd.Series(LABELS, index=IDENTIFIERS["mixed"](list(range(N)))).sample(frac=1, random_state=0)
    assert_trained_alike(untrained().fit({"p": table("p", p, N), "q": table("q", q, N)}, labels), plain)


@pytest.mark.parametrize("q", KINDS)
@pytest.mark.parametrize("p", KINDS)
def test_any_two_tables_are_predicted_and_explained_record_by_record(plain, expected, p, q):
    assert_answered_alike(plain, {"p": table("p", p, ASKED), "q": table("q", q, ASKED)}, expected)


@pytest.mark.parametrize("q", ["array", "mixed"])
@pytest.mark.parametrize("p", KINDS)
def test_answers_come_in_the_order_of_the_first_table_whoever_s_it_is(plain, expected, p, q):
    assert_answered_alike(plain, {"q": table("q", q, ASKED), "p": table("p", p, ASKED)}, expected)


@pytest.mark.parametrize("kind", MORE_KINDS)
def test_other_tables_and_identifiers_do_as_well(plain, plain_by, expected, kind):
    X = {"p": table("p", kind, N), "q": table("q", "mixed", N)}
    assert_trained_alike(untrained().fit(X, pd.Series(LABELS), label_party="q"), plain_by["q"])
    for beside in ("array", "mixed"):
        assert_answered_alike(plain, {"p": table("p", kind, ASKED), "q": table("q", beside, ASKED)}, expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("holder", ["p", "q"])
def test_labels_without_an_index_belong_to_the_rows_of_whoever_holds_them(plain_by, kind, holder):
    X = {name: table(name, kind if name == holder else "texts", N) for name in COLUMNS}
    labels = LABELS[records_in(X[holder])]
    for y in (labels, labels.tolist(), pl.Series(labels)):
        assert_trained_alike(untrained().fit(X, y, label_party=holder), plain_by[holder])


def test_a_run_from_disk_finds_records_as_before(plain, expected, tmp_path):
    plain.save(tmp_path / "run")
    run = VerticalCollaboration.load(tmp_path / "run")
    assert_answered_alike(run, {"p": table("p", "list", ASKED), "q": table("q", "mixed", ASKED)}, expected)


def test_three_parties_with_identifiers_and_orders_of_their_own():
    X = pd.DataFrame(VALUES, columns=list("abcdef"))
    parts = {"u": X[["a", "b"]], "v": X[["c", "d"]], "w": X[["e", "f"]]}
    plain = VerticalCollaboration(LogisticRegression(), 1, n_anchor=100, random_state=0).fit(parts, LABELS)
    asked = {name: part.head(ASKED) for name, part in parts.items()}
    orders = {"u": [3, 1, 0, 5, 2, 4], "v": [5, 4, 3, 2, 1, 0], "w": [2, 0, 1, 4, 5, 3]}
    kinds = {"u": "floats", "v": "mixed", "w": "texts"}
    turned = {n: asked[n].iloc[orders[n]].set_axis(IDENTIFIERS[kinds[n]](orders[n])) for n in ("v", "u", "w")}
    for view, index in product(("full", "u", "v", "w"), INDICES):
        found, wanted = plain.explain(turned, view=view, index=index), plain.explain(asked, view=view, index=index)
        order = [found.feature_names.index(name) for name in wanted.feature_names]
        np.testing.assert_allclose(found.values[:, order], wanted.values[orders["v"]], rtol=0, atol=1e-12)
        np.testing.assert_array_equal(found.data[wanted.data.columns], wanted.data.iloc[orders["v"]])
        assert list(found.data.index) == [5, "4", 3.0, 2.0, "1", 0]
    listed = {"u": asked["u"].to_numpy().tolist(), "v": turned["v"], "w": pl.from_pandas(asked["w"])}
    np.testing.assert_allclose(plain.predict_proba(listed), plain.predict_proba(asked), rtol=0, atol=1e-12)


def test_records_that_not_all_hold_are_left_out_of_training_whatever_the_tables_are():
    shorter = {"p": table("p", "array", 25), "q": table("q", "mixed", N)}
    run = untrained().fit(shorter, pd.Series(LABELS[:28], index=[str(i) for i in range(28)]))
    assert run.joined_.n_common == 25
    assert run.joined_.n_dropped == {"p": 0, "q": 5}


# --- what is no answer -----------------------------------------------------------------------------------------------

ACTIONS: dict[str, Callable[[VerticalCollaboration, Any], Any]] = {
    "predict": lambda run, X: run.predict(X),
    "predict_proba": lambda run, X: run.predict_proba(X),
    **{
        f"explain {view} {index}": lambda run, X, view=view, index=index: run.explain(X, view=view, index=index)  # type: ignore[misc]
        for view, index in EVERY_VIEW
    },
}


@pytest.fixture(params=ACTIONS)
def action(request, plain):
    return lambda X: ACTIONS[request.param](plain, X)


def said(action: Callable[[], Any], kind: type[Exception] = InputError) -> str:
    with pytest.raises(kind) as caught:
        action()
    return str(caught.value)


@pytest.mark.parametrize(
    "repeated", [[0, "0", 1, 2, 3, 4], [0, 0.0, 1, 2, 3, 4], ["0", 0.0, 1, 2, 3, 4], [0, 0, 1, 2, 3, 4]]
)
def test_an_identifier_that_is_written_in_two_ways_is_repeated(action, repeated):
    X = in_order(ASKED)
    X["q"] = X["q"].set_axis(pd.Index(repeated, dtype=object))
    assert "Record identifiers must differ. 1 rows repeat one" in said(lambda: action(X))
    X = in_order(N)
    X["q"] = X["q"].set_axis(pd.Index([*repeated, *range(5, N - 1)], dtype=object))
    assert said(lambda: untrained().fit(X, LABELS)).startswith("'q': Record identifiers must differ. 1 rows repeat one")


@pytest.mark.parametrize("index", [[np.nan, *range(1, 6)], pd.Index([pd.NA, *range(1, 6)], dtype="Int64")])
def test_missing_identifiers_are_counted(action, index):
    X = in_order(ASKED)
    assert "must not be missing. 1 are" in said(lambda: action(X | {"q": X["q"].set_axis(index)}))


def test_an_error_in_a_table_says_whose_table_it_is(action):
    X = in_order(ASKED)
    twice = X["q"].set_axis(pd.Index([0, "0", 1, 2, 3, 4], dtype=object))
    message = said(lambda: action({"p": X["p"].assign(**{"p.x1": np.nan}), "q": twice}))
    assert "'p': Values must not be missing" in message
    assert "'q': Record identifiers must differ" in message


def test_records_that_a_party_lacks_are_counted_and_not_named(action):
    X = in_order(ASKED)
    named = [f"patient-{row}" for row in range(ASKED)]
    for asked, words in (
        ({"p": X["p"], "q": X["q"].head(4)}, "'q' lacks 2 of 6."),
        ({"p": X["p"].to_numpy(), "q": X["q"].head(4).to_numpy().tolist()}, "'q' lacks 2 of 6."),
        ({"p": X["p"].to_numpy(), "q": X["q"].iloc[::-1].head(5)}, "'q' lacks 1 of 6."),
        ({"p": X["p"].iloc[1:].set_axis(named[1:]), "q": X["q"].iloc[:-1].set_axis(named[:-1])}, None),
        ({"p": pl.from_pandas(X["p"]), "q": X["q"].set_axis(named)}, "'p' lacks 6 of 12; 'q' lacks 6 of 12."),
    ):
        message = said(lambda asked=asked: action(asked))  # type: ignore[misc]
        wanted = words or "'p' lacks 1 of 6; 'q' lacks 1 of 6."
        assert message == f"All parties must hold the records that are asked for. {wanted}"
        assert "patient" not in message


def test_positions_beside_identifiers_of_another_kind_have_no_record_in_common():
    X = in_order(N)
    named = X["q"].set_axis([f"patient-{row}" for row in range(N)])
    for p in (X["p"].to_numpy(), X["p"].to_numpy().tolist(), pl.from_pandas(X["p"]), X["p"]):
        message = said(lambda p=p: untrained().fit({"p": p, "q": named}, LABELS))  # type: ignore[misc]
        assert message.startswith("The parties must have records in common.")
        assert "patient" not in message


def test_positions_of_different_numbers_of_rows_are_refused():
    X = in_order(N)
    for p in (X["p"].to_numpy(), X["p"].to_numpy().tolist(), pl.from_pandas(X["p"])):
        for q in (X["q"].to_numpy()[:25], X["q"].to_numpy()[:25].tolist(), pl.from_pandas(X["q"])[:25]):
            message = said(lambda p=p, q=q: untrained().fit({"p": p, "q": q}, LABELS))  # type: ignore[misc]
            assert "must have the same length. Got {'p': 30, 'q': 25}. Pass pandas DataFrames with" in message


NO_TABLES: dict[str, Any] = {
    "nothing": None,
    "a number": 3,
    "a column": pd.Series([1.0, 2.0]),
    "a mapping": {"p.x0": [1.0]},
    "a text": "table.csv",
    "a number's array": np.array(3.0),
    "a flat list": [1.0, 2.0, 3.0],
    "ragged rows": [[1.0, 2.0, 3.0], [1.0, 2.0]],
    "a lazy frame": pl.LazyFrame({"p.x0": [1.0], "p.x1": [1.0], "p.x2": [1.0]}),
}


@pytest.mark.parametrize("what", NO_TABLES)
def test_what_is_no_table_is_refused_in_prediction_and_explanation(action, what):
    message = said(lambda: action({"p": NO_TABLES[what], "q": in_order(ASKED)["q"]}))
    assert message.split()[-1] != "len()"
    assert any(words in message for words in ("A table must", "An array must have shape", "Rows must all have"))


@pytest.mark.parametrize("what", NO_TABLES)
def test_what_is_no_table_is_refused_in_training(what):
    message = said(lambda: untrained().fit({"p": NO_TABLES[what], "q": in_order(N)["q"]}, LABELS))
    assert any(words in message for words in ("A table must", "Rows must all have"))


def test_an_index_of_several_levels_is_refused(action):
    """A tuple would be matched by how it is printed."""

    def levelled(n: int) -> dict[str, Any]:
        index = pd.MultiIndex.from_product([["a"], range(n)])
        return {name: part.set_axis(index) for name, part in in_order(n).items()}

    assert "one level" in said(lambda: action(levelled(ASKED)))
    assert "one level" in said(lambda: untrained().fit(levelled(N), LABELS))


@pytest.mark.parametrize("predict", ["predict", "predict_proba"])
def test_no_records_cannot_be_predicted(plain, predict):
    said(lambda: getattr(plain, predict)({name: [] for name in COLUMNS}))
    for none in (in_order(0), {name: part.to_numpy() for name, part in in_order(0).items()}):
        message = said(lambda none=none: getattr(plain, predict)(none))  # type: ignore[misc]
        assert "At least one record must be asked for" in message
    assert "must bring its columns" in said(lambda: getattr(plain, predict)({}))


def test_an_array_does_not_say_which_columns_of_a_given_schema_it_has():
    schema = Schema.from_frames([pd.DataFrame(VALUES, columns=list("abcdef"))])
    X = {name: part.to_numpy() for name, part in in_order(N).items()}
    assert "With a given schema ['p', 'q'] must bring DataFrames" in said(
        lambda: untrained(schema=schema).fit(X, LABELS)
    )


def test_labels_of_unknown_repeated_or_missing_records_are_refused():
    X = in_order(N)
    other = pd.Series(LABELS, index=[f"patient-{row}" for row in range(N)])
    assert "must have records in common" in said(lambda: untrained().fit(X, other))
    twice = pd.Series(LABELS, index=pd.Index([1, "1", *range(2, N)], dtype=object))
    assert "'p': Record identifiers must differ. 1 rows repeat one" in said(lambda: untrained().fit(X, twice))
    missing = pd.Series(LABELS, index=[np.nan, *range(1, N)])
    assert "'p': Record identifiers must not be missing. 1 are" in said(lambda: untrained().fit(X, missing))


def test_columns_that_arrays_and_frames_both_have_are_refused():
    X = in_order(N)
    clash = X["q"].rename(columns={"q.x0": "p.x0"})
    message = said(lambda: untrained().fit({"p": X["p"].to_numpy(), "q": clash}, LABELS), SchemaError)
    assert "Held by several: ['p.x0']" in message


# --- the one place --------------------------------------------------------------------------------------------------


def test_identifiers_are_texts():
    frame = pd.DataFrame({"a": range(5)}, index=pd.Index([17, "17a", 3.0, 2.5, np.int64(4)], dtype=object))
    assert identifiers(frame) == ["17", "17a", "3", "2.5", "4"]
    assert identifiers(np.zeros((3, 2))) == identifiers([[0], [1], [2]]) == ["0", "1", "2"]


def test_texts_that_only_look_alike_are_different_records():
    frame = pd.DataFrame({"a": range(4)}, index=["17", "017", " 17", "17.5"])
    assert len(set(identifiers(frame))) == 4


def test_pseudonyms_are_equal_where_identifiers_are_and_the_key_is():
    indices = (pd.Index(["7", "8"]), pd.Index([7, 8]), pd.Index([7.0, 8.0]))
    ways = [identifiers(pd.DataFrame({"a": [0, 1]}, index=index)) for index in indices]
    one, *others = [pseudonyms(names, key=b"k" * 32) for names in ways]
    for other in others:
        np.testing.assert_array_equal(other, one)
    assert not set(one.tolist()) & set(pseudonyms(ways[0], key=b"l" * 32).tolist())


def test_records_are_selected_in_the_order_that_is_wanted():
    frame = pd.DataFrame({"a": [0.0, 1.0, 2.0]}, index=pd.Index([5, "6", 7.0], dtype=object))
    records = Records.of(frame, frame.to_numpy())
    chosen = records.select(["7", "5"])
    assert chosen.identifiers == ["7", "5"]
    assert list(chosen.index) == [7.0, 5]
    np.testing.assert_array_equal(chosen.codes, [[2.0], [0.0]])
    with pytest.raises(InputError, match=r"must be held\. 2 of 3 are not"):
        records.select(["5", "8", "9"])


def test_all_parties_records_come_in_one_order_under_the_first_s_identifiers():
    one = pd.DataFrame({"a": [0.0, 1.0, 2.0]}, index=["5", "6", "7"])
    two = pd.DataFrame({"b": [7.0, 5.0, 6.0]}, index=[7, 5, 6])
    found = in_one_order({"one": Records.of(one, one.to_numpy()), "two": Records.of(two, two.to_numpy())})
    assert [list(each.index) for each in found.values()] == [["5", "6", "7"]] * 2
    np.testing.assert_array_equal(found["two"].codes, [[5.0], [6.0], [7.0]])
    more = pd.DataFrame({"b": [7.0, 5.0, 8.0]}, index=[7, 5, 8])
    with pytest.raises(InputError, match=r"'one' lacks 1 of 4; 'more' lacks 1 of 4\.$"):
        in_one_order({"one": Records.of(one, one.to_numpy()), "more": Records.of(more, more.to_numpy())})


@pytest.mark.parametrize("n_parties", [2, 3, 5])
@pytest.mark.parametrize("n_everybody", [0, 1, 400])
def test_pseudonyms_are_matched_as_sets_of_bytes_would_be(n_parties, n_everybody):
    rng = np.random.default_rng(n_parties + n_everybody)
    pool = np.frombuffer(rng.bytes(16 * 900), dtype="V16").copy()
    pool[:3] = np.frombuffer(b"\0" * 48, dtype="V16")
    pool[1:3].view("u1")[[7, 31]] = 255, 1  # bytes beyond the first, and beyond the last but one, decide
    sent = []
    for at in range(n_parties):
        own = 450 + 80 * at
        sent.append((f"p{at}", rng.permutation(np.concatenate([pool[:n_everybody], pool[own : own + 80]]))))
    common, rows = matched(sent)
    by_set = sorted(set.intersection(*({each.tobytes() for each in known} for _, known in sent)))
    assert [each.tobytes() for each in common] == by_set
    assert len(by_set) == n_everybody
    for (_, known), own_rows in zip(sent, rows, strict=True):
        assert [each.tobytes() for each in known[own_rows]] == by_set


@pytest.mark.parametrize(
    "wrong", [np.zeros(3, dtype="V16"), np.zeros(3, dtype="V8"), np.arange(6.0), np.zeros((2, 2), dtype="V16")]
)
def test_pseudonyms_that_stand_twice_or_are_none_are_refused(wrong):
    right = pseudonyms(["a", "b"], key=b"k" * 32)
    with pytest.raises(ProtocolError, match="Party 'shop' must send"):
        matched([("bank", right), ("shop", wrong)])


def test_pseudonyms_are_the_same_however_many_are_made_at_once(monkeypatch):
    names = [f"person {at}" for at in range(50)]
    together = pseudonyms(names, key=b"k" * 32)
    monkeypatch.setattr("dcshap.collaboration.records._AT_ONCE", 7)
    assert np.array_equal(pseudonyms(names, key=b"k" * 32), together)
    assert np.array_equal(np.concatenate([pseudonyms([name], key=b"k" * 32) for name in names]), together)


def _sent(n, **other):
    known = pseudonyms([str(at) for at in range(n)], key=b"k" * 32)
    rows = RecordRepresentation("shop", **({"pseudonyms": known, "rows": np.zeros((n, 2))} | other.get("rows", {})))
    labels = {"pseudonyms": known, "labels": np.zeros(n, dtype=int), "weights": np.zeros(0)} | other.get("labels", {})
    return known, [RecordLabels("shop", **labels), rows]


STRUCTURED = np.zeros(5, dtype=[("a", "<u8"), ("b", "<u8")])


@pytest.mark.parametrize(
    "other",
    [
        {"rows": {"pseudonyms": STRUCTURED}},
        {"rows": {"rows": np.zeros((6, 2))}},
        {"rows": {"rows": np.zeros(5)}},
        {"labels": {"labels": np.zeros(6, dtype=int)}},
        {"labels": {"weights": np.ones(4)}},
    ],
)
def test_what_does_not_belong_to_the_records_is_refused_in_words(other):
    known, sent = _sent(5, **other)
    for expected in (known, None):
        with pytest.raises(ProtocolError, match="Party 'shop' must send"):
            rows_in_common(sent, expected=expected)
    known, sent = _sent(5)
    assert rows_in_common(sent, expected=known)[0] == rows_in_common(sent, expected=None)[0] == 5
