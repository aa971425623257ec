"""Every table of `dcshap.protocol.steps`, run in one process with all of its messages kept.

What travelled must be what the table says, in an order that it allows; and what each message holds of the roles'
secrets must be what `MAY_HOLD` lists for its step. A step, a kind of message or a field that is not listed fails.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, is_regressor
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge

from dcshap.collaboration import Agreement, Analyst, VerticalParty
from dcshap.collaboration.messages import (
    ANALYST,
    REQUESTER,
    AnchorDigest,
    AnchorSeed,
    Commit,
    CommonRecords,
    Greeting,
    GuestTriple,
    HeldColumns,
    Hello,
    HolderTriple,
    Integration,
    Introduction,
    JoinReport,
    LabelSums,
    MaskedColumns,
    MaskedMoments,
    Message,
    PairKey,
    Prepared,
    PseudonymKey,
    Ready,
    RecordLabels,
    RecordPseudonyms,
    RecordRepresentation,
    Representation,
    Resume,
    Sent,
    Settings,
    SharedModel,
    Targets,
)
from dcshap.collaboration.moments import Moments, class_responses, number_responses
from dcshap.collaboration.reduction import LinearReduction, moment_matrix
from dcshap.explanation import PartyExplanation
from dcshap.explanation.disclosures import (
    Answer,
    CoalitionTable,
    Prediction,
    RecordOffsets,
    RecordPart,
    RecordVectors,
    Request,
)
from dcshap.explanation.reference import reference_rows
from dcshap.protocol import Cast, Protocol, Step, run_in_memory, steps
from dcshap.protocol.steps import (
    ALGORITHM_3,
    ALGORITHM_4,
    CALL,
    MEET,
    PARTY_VIEWS,
    PREDICT,
    RESUME,
    SHARE_MODEL,
    training,
)
from dcshap.schema import Schema
from tests.collaboration.helpers import RecordedHorizontal, RecordedVertical
from tests.collaboration.organisations import Organisations
from tests.collaboration.searching import held_in, numbers_in, parts_of

ROUNDS = 2
SPANS: dict[str, dict[str, Any]] = {
    "private span": {"span": "private"},
    "shared span": {"span": "shared"},
    "random span": {"span": "random"},
    "span supervised by numbers": {"span": "supervised"},
    "span supervised by classes": {"span": "supervised", "rounds": ROUNDS},
}
ON_ROWS = {title: training("horizontal", **settings) for title, settings in SPANS.items()}
ON_RECORDS = {
    "private": training("vertical", share=False),
    "supervised": training("vertical", span="supervised", share=False),
    "with the model": training("vertical", span="supervised"),
}
KEPT = training("horizontal", span="supervised", rounds=ROUNDS, kept=True)
TRAININGS = (*ON_ROWS.values(), KEPT, *ON_RECORDS.values())
TABLES = (MEET, RESUME, *TRAININGS, SHARE_MODEL, ALGORITHM_3, ALGORITHM_4, PARTY_VIEWS, PREDICT)

SENDER, RECIPIENT, ANYBODY = "the sender's own", "the recipient's own", "anybody's"

# What a message of a step may hold, and whose that may be. Everything else that `secrets_of` knows is forbidden.
MAY_HOLD: dict[tuple[str, type[Message]], dict[str, str]] = {
    ("hello", Hello): {},
    ("greeting", Greeting): {"certificate": SENDER},
    ("introduction", Introduction): {"certificate": ANYBODY},
    ("resume", Resume): {"certificate": ANYBODY},
    ("ready", Ready): {},
    ("settings", Settings): {"agreed column": ANYBODY, "agreed category": ANYBODY},
    ("columns_held", HeldColumns): {"agreed column": ANYBODY},
    ("anchor", AnchorSeed): {"anchor seed": ANYBODY},
    ("drawn", AnchorDigest): {"anchor digest": ANYBODY},
    ("pair_key", PairKey): {"pair key": SENDER},
    ("targets", Targets): {"class": ANYBODY},
    ("sums", MaskedMoments): {},
    **{(f"newton_{at}", MaskedMoments): {} for at in range(1, ROUNDS + 1)},
    ("bends", MaskedMoments): {},
    ("bend_checks", MaskedMoments): {},
    ("moments", MaskedMoments): {},
    ("representation", Representation): {
        "reduced row": SENDER,
        "reduced anchor": SENDER,
        "label": SENDER,
        "class": ANYBODY,
    },
    ("integration", Integration): {"alignment": RECIPIENT, "model": ANYBODY, "class": ANYBODY},
    ("pseudonym_key", PseudonymKey): {"pseudonym key": ANYBODY},
    ("pseudonyms", RecordPseudonyms): {"pseudonym": ANYBODY},
    ("common", CommonRecords): {"pseudonym": ANYBODY},
    ("holder_triple", HolderTriple): {},
    ("guest_triple", GuestTriple): {},
    ("masked_columns", MaskedColumns): {},
    ("label_sums", LabelSums): {},
    ("records", RecordRepresentation): {"reduced row": SENDER, "pseudonym": ANYBODY},
    ("labels", RecordLabels): {"label": SENDER, "pseudonym": ANYBODY},
    ("joined", JoinReport): {},
    ("model", SharedModel): {"model": ANYBODY},
    ("prepared", Prepared): {},
    ("commit", Commit): {},
    ("committed", Prepared): {},
    ("request", Request): {"identifier": ANYBODY},
    ("forward", Request): {"identifier": ANYBODY},
    ("vectors", RecordVectors): {
        "reduced record": SENDER,
        "reduced reference": SENDER,
        "reduced background": SENDER,
        "pseudonym": ANYBODY,
    },
    ("answer", Answer): {"record": SENDER, "column": SENDER, "category": SENDER, "identifier": ANYBODY},
    ("columns", RecordOffsets): {
        "reduced reference": SENDER,
        "reduced background": SENDER,
        "column": SENDER,
        "pseudonym": ANYBODY,
    },
    ("columns", CoalitionTable): {
        "reduced record": SENDER,
        "reduced reference": SENDER,
        "reduced background": SENDER,
        "column": SENDER,
        "pseudonym": ANYBODY,
    },
    ("part", RecordPart): {"record": SENDER, "column": SENDER, "category": SENDER, "identifier": ANYBODY},
    ("values", Answer): {"column": ANYBODY},
    ("asked_records", RecordRepresentation): {"reduced record": SENDER, "pseudonym": ANYBODY},
    ("prediction", Prediction): {},
}

# What each kind of message is made of. A field that is new must be thought about.
FIELDS: dict[type[Message], set[str]] = {
    Hello: {"version", "kind", "task", "ledger"},
    Greeting: {"party", "certificate", "instance_models", "labels", "span", "rounds", "ledger", "remembered"},
    Introduction: {"certificates", "holder", "remembered", "run"},
    Resume: {"run", "certificates", "remembered"},
    Ready: {"party", "rows"},
    Settings: {"content"},
    HeldColumns: {"party", "names"},
    AnchorSeed: {"seed"},
    AnchorDigest: {"party", "digest"},
    PairKey: {"party", "key"},
    Targets: {"party", "values"},
    MaskedMoments: {"party", "words"},
    Representation: {"party", "anchor", "rows", "labels", "instance_models", "weights"},
    Integration: {"party", "alignment", "model"},
    PseudonymKey: {"key"},
    RecordPseudonyms: {"party", "pseudonyms", "n_records", "width"},
    CommonRecords: {"pseudonyms"},
    HolderTriple: {"seed", "widths", "shares"},
    GuestTriple: {"seed"},
    MaskedColumns: {"party", "words"},
    LabelSums: {"party", "masked", "share", "weighted"},
    RecordRepresentation: {"party", "pseudonyms", "rows", "instance_models"},
    RecordLabels: {"party", "pseudonyms", "labels", "weights"},
    JoinReport: {"n_common", "n_dropped"},
    SharedModel: {"model", "widths", "resolution"},
    Prepared: {"party"},
    Commit: {"run"},
    Request: {
        *("requester", "identifier", "collaboration", "run", "protocol", "records", "view", "merged", "reference"),
        *("n_background", "written", "certificate", "signature", "enclosed", "enclosure"),
    },
    RecordVectors: {"party", "pseudonyms", "present", "absent"},
    RecordOffsets: {"party", "pseudonyms", "names", "absent", "offsets"},
    CoalitionTable: {"party", "pseudonyms", "names", "rows"},
    Answer: {"party", "explanation", "receipts"},
    RecordPart: {"party", "data", "reference", "fingerprint"},
    Prediction: {"values", "classes"},
}

# The same once more, from where the messages arrive: in all protocols together, who never sees what.
ALWAYS_PRIVATE = {
    *("row", "exact row", "noise", "anchor", "weights", "moments", "private seed", "private key", "exact record"),
    *("background", "exact background"),
}
SHARED_BY_PARTIES = {"anchor seed", "anchor digest", "pair key", "basis", "pseudonym key"}
AGREED_BY_PARTIES = {"agreed column", "agreed category"}
NEVER_AT_THE_ANALYST = ALWAYS_PRIVATE | SHARED_BY_PARTIES | AGREED_BY_PARTIES | {"record", "identifier", "category"}
NEVER_AT_A_REQUESTER = (
    ALWAYS_PRIVATE
    | SHARED_BY_PARTIES
    | {
        "reduced row",
        "reduced anchor",
        "reduced record",
        "reduced reference",
        "reduced background",
        "label",
        "pseudonym",
        "model",
        "alignment",
    }
)
NEVER_AT_ANOTHER_PARTY = ALWAYS_PRIVATE | {
    *("record", "column", "category", "reduced row", "reduced anchor", "label", "alignment"),
}


# --- the runs ---------------------------------------------------------------------------------------------------------

COLUMNS = {
    "shop": ["spending", "visits", "basket"],  # not in the order of the names: the first by name leads, not the first
    "bank": ["income", "balance", "savings"],
    "clinic": ["pressure", "cholesterol", "town"],
}
NAMES = tuple(sorted(COLUMNS))
HOLDER = "clinic"
TOWNS = ["Aachen", "Bochum", "Coburg"]
ALL_COLUMNS = [column for columns in COLUMNS.values() for column in columns]


def people(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    latent = rng.standard_normal((n, 4))
    numbers = {
        name: latent @ rng.standard_normal(4) + 0.5 * rng.standard_normal(n) for name in ALL_COLUMNS if name != "town"
    }
    town = pd.Categorical(np.array(TOWNS)[rng.integers(3, size=n)], categories=TOWNS)
    return pd.DataFrame(numbers | {"town": town}, index=[f"patient-{row}" for row in range(n)])[ALL_COLUMNS]


def others(X: pd.DataFrame) -> pd.DataFrame:
    """Four more, between some of the first, so that their numbers are none of these and in no new range."""
    numbers = X.drop(columns="town")
    some, more = numbers.iloc[:4], numbers.iloc[8:12].set_axis(numbers.index[:4])
    between = ((some + 2 * more) / 3).assign(town=X["town"].iloc[:4])
    return between.set_axis([f"patient-{row}" for row in range(90, 94)])


def target(X: pd.DataFrame) -> pd.Series[float]:
    """Numbers that differ from person to person, so that they are found wherever they are."""
    return X["income"] - X["spending"] + 0.1 * np.random.default_rng(5).standard_normal(len(X))


TRAINED = people(60)
ASKED = others(TRAINED)
LABELS = target(TRAINED)
CLASSES = ["recovered", "relapsed"]
NAMED = pd.Series(np.array(CLASSES)[(LABELS.median() < LABELS).astype(int)], index=LABELS.index)


def split(X: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return {name: X[columns] for name, columns in COLUMNS.items()}


def weights_of(reduction: Any) -> list[Any]:
    """The numbers of a map, but for a linear one's offset, which is the representation of a reference in the middle."""
    if isinstance(reduction, LinearReduction):
        return [reduction.weights]
    return [part for part in parts_of(reduction) if isinstance(part, np.ndarray)]


def secrets_of(
    parties: Mapping[str, Any], messages: list[tuple[str, str, Message]], analyst: Analyst
) -> dict[tuple[str, str], list[Any]]:
    """What the roles of a run know, by what it is and whose ("" for what several share)."""
    found: dict[tuple[str, str], list[Any]] = {}
    vertical = isinstance(next(iter(parties.values())), VerticalParty)
    for name, party in parties.items():
        encoded = party.anchor.encode(party.codes)
        found |= {
            ("row", name): [party.codes, encoded],
            ("anchor", name): [party.anchor.rows, party.anchor.codes],
            ("weights", name): weights_of(party.reduction),
            ("moments", name): [moment_matrix([encoded])],
            ("private seed", name): [party.private_seed],
            ("reduced anchor", name): [party.reduction.transform(party.anchor.rows)],
        }
        exact, noise = party.reduction.transform(encoded), party.noise_of(party.codes)
        found |= {
            ("exact row", name): [exact],
            ("noise", name): [noise],
            ("reduced row", name): [exact + noise],
        }
        if vertical:
            asked, background = party.records_of(ASKED[COLUMNS[name]]), reference_rows(party, "background", 3)
            found |= {
                ("background", name): [background, party.anchor.encode(background)],
                ("exact background", name): [party.reduce_codes(background)],
                ("reduced background", name): [party.noisy_codes(background)],
                ("record", name): [asked.codes, party.anchor.encode(asked.codes)],
                ("exact record", name): [party.reduce_codes(asked.codes)],
                ("reduced record", name): [party.represent(asked).rows],
                ("reduced reference", name): [party.reduce_codes(party.anchor.reference())],
                ("column", name): COLUMNS[name],
                ("category", name): TOWNS if "town" in COLUMNS[name] else [],
                ("label", name): [LABELS.to_numpy()] if name == HOLDER else [],
            }
        else:
            found["moments", name] += summed_by(party, encoded)
            found |= {
                ("label", name): [party.labels] if party.labels.dtype.kind == "f" else [],
                ("alignment", name): [party.alignment.weights, party.alignment.intercept],
            }
    lead = parties[NAMES[0]]
    found |= {
        ("class", ""): [] if is_regressor(analyst.model_) else CLASSES,
        ("anchor seed", ""): [lead.anchor_seed],
        ("anchor digest", ""): [lead.send_drawn("").digest],
        ("model", ""): [analyst.model_.coef_],
        ("identifier", ""): ["patient-"],
    }
    for sender, _, message in messages:
        if isinstance(message, PairKey):
            found.setdefault(("pair key", sender), []).append(message.key)
    if vertical:
        names = [*lead.held.identifiers, *lead.records_of(ASKED[COLUMNS[lead.name]]).identifiers]
        known = dataclasses.replace(lead.held, identifiers=names)
        found |= {("pseudonym key", ""): [lead.key]}
        found |= {("pseudonym", ""): [each.tobytes() for each in lead.pseudonyms_of(known)]}
    else:
        found |= {("column", ""): ALL_COLUMNS, ("category", ""): TOWNS}
        found |= {("basis", ""): [] if lead._basis is None else [lead._basis]}
    return found


@dataclasses.dataclass(frozen=True)
class Case:
    """One run of one table."""

    title: str
    table: Protocol
    cast: Cast
    messages: list[tuple[str, str, Message]]
    sent: list[Sent]
    secrets: dict[tuple[str, str], list[Any]]


def summed_by(party: Any, encoded: Any) -> list[Any]:
    """What a party adds to the sums of a supervised span, before it is masked."""
    if party.labels.dtype.kind == "f":
        responses = number_responses(party.labels, low=party.labels.min(), high=party.labels.max())
    else:
        responses = class_responses(party.labels, CLASSES)
    return [Moments.of([encoded], responses, classes=party.labels.dtype.kind != "f").flat()]


def trained_on_rows() -> Iterator[Case]:
    parts = {name: slice(20 * i, 20 * (i + 1)) for i, name in enumerate(COLUMNS)}
    for title, table in ON_ROWS.items():
        model, y = (LogisticRegression(), NAMED) if "classes" in title else (Ridge(), LABELS)
        run = RecordedHorizontal(
            model, span=SPANS[title]["span"], span_rounds=ROUNDS, n_anchor=200, random_state=np.random.default_rng(0)
        )
        data = {name: (TRAINED[rows], y[rows]) for name, rows in parts.items()}
        for each in (table, KEPT) if "classes" in title else (table,):
            run.messages = []
            run.fit(data)
            known = secrets_of(run.parties_, run.messages, run.analyst_)
            yield Case(f"horizontally, {title}", each, Cast(NAMES), run.messages, run.sent_, known)


def trained_on_records(how: str, **settings: Any) -> Iterator[Case]:
    run = RecordedVertical(Ridge(), 2, n_anchor=200, random_state=0, **settings)
    run.fit(split(TRAINED), LABELS.sample(frac=1, random_state=0), label_party=HOLDER)
    secrets = secrets_of(run.parties_, run.messages, run.analyst_)

    def case(title: str, table: Protocol, **cast: Any) -> Iterator[Case]:
        """What has travelled since the last."""
        last = max((at for at, (*_, m) in enumerate(run.messages) if isinstance(m, SharedModel)), default=-1)
        parts = {SHARE_MODEL: slice(last + 1), table: slice(last + 1, None)}
        for each, part in parts.items():
            if run.messages[part]:
                yield Case(f"{title}, {how}", each, Cast(NAMES, **cast), run.messages[part], run.sent_[part], secrets)
        run.messages, run.sent_ = [], []

    yield from case("vertically", ON_RECORDS[run.span], holder=HOLDER)
    asked = split(ASKED)
    run.predict(asked)
    yield from case("predicted", PREDICT)
    run.explain(asked, index="shapley")
    yield from case("all features", ALGORITHM_3)
    for view in NAMES:
        for merged in (False, True):
            run.explain(asked, view=view, index="shapley", merged=merged)
            yield from case(f"Algorithm 4 at {view}, merged {merged}", ALGORITHM_4, viewers=(view,))
        run.explain(asked, view=view, index="owen")
        yield from case(f"the view of {view}", PARTY_VIEWS, viewers=(view,))
    run.explain(asked, index="owen")
    yield from case("all views", PARTY_VIEWS, viewers=NAMES)
    against: dict[str, Any] = {"reference": "background", "n_background": 3}
    run.explain(asked, index="shapley", **against)
    yield from case("all features against a background", ALGORITHM_3)
    run.explain(asked, view="bank", index="shapley", **against)
    yield from case("Algorithm 4 against a background", ALGORITHM_4, viewers=("bank",))
    run.explain(asked, index="owen", **against)
    yield from case("all views against a background", PARTY_VIEWS, viewers=NAMES)


def agreed(X: pd.DataFrame) -> Agreement:
    return Agreement(Schema.from_frames([X]), n_components=2, n_anchor=200, task="number")


def trained_with_the_model() -> Iterator[Case]:
    """As between organisations, where the parties get the model at once."""
    parties: dict[str, VerticalParty] = {}
    for name, X in split(TRAINED).items():
        parties[name] = VerticalParty(name, agreed(X))
        parties[name].take(X, LABELS if name == HOLDER else None)
    messages: list[tuple[str, str, Message]] = []
    analyst, cast, table = Analyst(Ridge()), Cast(NAMES, holder=HOLDER), ON_RECORDS["with the model"]
    analyst.run = "r1"
    run_in_memory(
        table, cast, {**parties, ANALYST: analyst}, conductor=ANALYST, record=lambda *line: messages.append(line)
    )
    sent = [Sent.of(*line) for line in messages]
    yield Case("vertically, with the model", table, cast, messages, sent, secrets_of(parties, messages, analyst))


def met(folder: Path) -> Iterator[Case]:
    """Parties that meet before a training, and before they go on from one."""
    meeting = Organisations(folder, split(TRAINED), LABELS, HOLDER)
    secrets: dict[tuple[str, str], list[Any]] = {
        ("identifier", ""): ["patient-"],
        ("agreed column", ""): ALL_COLUMNS,
        ("agreed category", ""): TOWNS,
        ("label", HOLDER): [LABELS.to_numpy()],
    }
    for name, X in split(TRAINED).items():
        own = meeting.secrets(name)
        secrets |= {
            ("row", name): [X.drop(columns="town", errors="ignore").to_numpy()],
            ("private seed", name): [own.private_seed],
            ("certificate", name): [meeting.offices[name].identity.certificate.pem],
            ("private key", name): [meeting.keys[name]],
            ("anchor seed", ""): [own.anchor_seed],
            ("pseudonym key", ""): [own.pseudonym_key],
        }
    for table in (MEET, RESUME):
        messages = meeting.messages(table)
        sent = [Sent.of(*line) for line in messages]
        yield Case(f"between organisations, {table.name}", table, Cast(NAMES), messages, sent, secrets)


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    return [
        *met(tmp_path_factory.mktemp("met")),
        *trained_on_rows(),
        *trained_on_records("supervised"),
        *trained_on_records("linear", span="private", reduction="pca"),
        *trained_on_records("not linear", span="private", reduction=Nystroem(n_components=2, random_state=0)),
        *trained_with_the_model(),
    ]


def owners(whose: str, sender: str, recipient: str) -> set[str]:
    return {SENDER: {sender}, RECIPIENT: {recipient}, ANYBODY: {"", *NAMES}}[whose]


# --- nothing is forgotten ---------------------------------------------------------------------------------------------


def kinds_of(step: Step) -> tuple[type[Message], ...]:
    return step.message if isinstance(step.message, tuple) else (step.message,)


def test_every_table_is_listed():
    known = {each.name: each for each in vars(steps).values() if isinstance(each, Protocol)}
    assert {table.name for table in TABLES} == known.keys() | {t.name for t in TRAININGS}
    assert all(table in TABLES for table in known.values())


def test_every_step_and_kind_of_message_is_listed_with_what_it_may_hold():
    assert {(step.name, kind) for table in TABLES for step in table for kind in kinds_of(step)} == MAY_HOLD.keys()
    assert {kind for _, kind in MAY_HOLD} == FIELDS.keys()


def test_every_kind_of_message_has_the_fields_that_are_listed():
    found = {kind: {entry.name for entry in dataclasses.fields(kind)} for kind in FIELDS}
    assert found == FIELDS


def test_every_table_is_run(cases):
    assert {id(case.table) for case in cases} == {id(table) for table in TABLES}


# --- what the tables say, and nothing else ----------------------------------------------------------------------------


def steps_taken(case: Case) -> list[tuple[Step, str, str, Message]]:
    """Each message with the step that it was; of two that it could be, the earlier."""
    taken: list[tuple[Step, str, str, Message]] = []
    for sender, recipient, message in case.messages:
        done = {(step.name, one, two) for step, one, two, _ in taken}
        could_be = [
            step
            for step in case.table
            if isinstance(message, step.message)
            and (sender, recipient) in case.cast.pairs(step)
            and (step.name, sender, recipient) not in done
        ]
        assert could_be, f"{case.title}: {type(message).__name__} from {sender} to {recipient} is not in the table"
        taken.append((could_be[0], sender, recipient, message))
    return taken


def wanting(case: Case, step: Step, sender: str, recipient: str) -> Iterator[tuple[str, str, str]]:
    """The messages that must have been sent before one of a step, as the columns `after` and `on` have it."""
    for name in step.after:
        if name in case.table:
            for pair in case.cast.pairs(case.table[name]):
                if step.on == CALL or sender in pair or recipient in pair:  # a call comes once everybody is that far
                    yield (name, *pair)
    if step.on not in (None, CALL):
        cue = case.table[str(step.on)]
        answer = step.recipient == cue.sender
        for pair in case.cast.pairs(cue):
            if pair[1] == sender and (not answer or pair[0] == recipient):
                yield (cue.name, *pair)


def test_exactly_the_messages_of_the_table_travel(cases):
    for case in cases:
        taken = sorted((step.name, sender, recipient) for step, sender, recipient, _ in steps_taken(case))
        expected = sorted((step.name, *pair) for step in case.table for pair in case.cast.pairs(step))
        assert taken == expected, case.title


def test_no_message_travels_before_those_that_the_table_wants_earlier(cases):
    for case in cases:
        done: set[tuple[str, str, str]] = set()
        for step, sender, recipient, _ in steps_taken(case):
            assert set(wanting(case, step, sender, recipient)) <= done, f"{case.title}: {step.name}"
            done.add((step.name, sender, recipient))


def test_a_message_that_comes_too_early_would_be_found(cases):
    """Of every table, each message that wants an earlier one cannot come first."""
    for case in cases:
        for step, sender, recipient, _ in steps_taken(case):
            assert bool(step.on not in (None, CALL)) <= bool(set(wanting(case, step, sender, recipient)))


def test_the_record_has_every_message_in_its_order(cases):
    for case in cases:
        assert [(line.sender, line.recipient, line.kind) for line in case.sent] == [
            (sender, recipient, type(message).__name__) for sender, recipient, message in case.messages
        ], case.title


def test_the_record_tells_the_shape_and_size_of_all_numbers_but_those_of_models_and_explanations(cases):
    silent = set()
    for case in cases:
        for line, (*_, message) in zip(case.sent, case.messages, strict=True):
            assert {type(part) for part in parts_of(vars(line))} <= {str, int}
            parts = [
                part
                for entry in dataclasses.fields(message)
                if not isinstance(value := getattr(message, entry.name), BaseEstimator | PartyExplanation)
                for part in parts_of(value)
            ]
            if len(numbers_in(parts)) and not (line.n_bytes and line.shapes):
                silent.add(line.kind)
    assert silent <= {"SharedModel", "Settings"}  # with the grid's step, and the fraction of noise that was agreed


def test_a_horizontal_party_predicts_and_explains_alone():
    run = RecordedHorizontal(Ridge(), n_anchor=200, random_state=0)
    run.fit({name: (TRAINED[20 * i :][:20], LABELS[20 * i :][:20]) for i, name in enumerate(COLUMNS)})
    before = len(run.messages), len(run.sent_)
    run.predict(ASKED, party="bank")
    run.score(ASKED, target(ASKED), party="bank")
    run.explain(ASKED, party="shop")
    run.disagreement(ASKED)
    assert (len(run.messages), len(run.sent_)) == before


# --- who sees what ----------------------------------------------------------------------------------------------------


def test_no_message_holds_more_than_is_listed_for_its_step(cases):
    for case in cases:
        for step, sender, recipient, message in steps_taken(case):
            may = MAY_HOLD[step.name, type(message)]
            for what, whose in held_in(message, case.secrets):
                place = f"{case.title}: {step.name} from {sender} to {recipient} holds {what} of {whose or 'all'}"
                assert what in may, place
                assert whose in owners(may[what], sender, recipient), place


def test_what_is_listed_is_found_where_it_is(cases):
    """The search is not blind: of every entry, all that is allowed turns up in some message."""
    found: dict[tuple[str, type[Message]], set[str]] = {key: set() for key in MAY_HOLD}
    for case in cases:
        for step, _, _, message in steps_taken(case):
            found[step.name, type(message)] |= {what for what, _ in held_in(message, case.secrets)}
    assert found == {key: set(may) for key, may in MAY_HOLD.items()}


def test_over_all_protocols_no_role_sees_what_it_must_not(cases):
    for case in cases:
        for sender, recipient, message in case.messages:
            seen = held_in(message, case.secrets)
            place = f"{case.title}: {type(message).__name__} from {sender} to {recipient}"
            if recipient == ANALYST:
                assert not {what for what, _ in seen} & NEVER_AT_THE_ANALYST, place
            elif recipient == REQUESTER:
                assert not {what for what, _ in seen} & NEVER_AT_A_REQUESTER, place
            else:
                assert not {what for what, whose in seen if whose != recipient} & NEVER_AT_ANOTHER_PARTY, place


def test_a_pair_s_key_is_that_pair_s_alone(cases):
    for case in cases:
        keys = [message.key for *_, message in case.messages if isinstance(message, PairKey)]
        assert len(set(keys)) == len(keys) == (3 if "pair_key" in case.table else 0)


def test_a_viewer_s_answer_names_other_parties_and_none_of_their_columns(cases):
    for case in cases:
        for step, sender, _, message in steps_taken(case):
            if step.name == "answer":
                assert isinstance(message, Answer)
                explained = message.explanation
                assert explained.own_features == tuple(COLUMNS[sender])
                assert {party for bar in explained.bars.values() for party in bar} == set(NAMES) - {sender}
                assert list(explained.data.columns) == COLUMNS[sender]
                if explained.reference is not None:  # synthetic rows stay with their party
                    assert list(explained.reference.columns) == COLUMNS[sender]
            elif step.name == "values":
                assert isinstance(message, Answer)
                assert message.explanation.data is None
                assert message.explanation.reference is None


LEAKS: dict[str, tuple[str, type[Message], Any]] = {
    "rows instead of their representation": ("row", RecordRepresentation, lambda p: {"rows": p.codes}),
    "encoded rows": ("row", RecordRepresentation, lambda p: {"rows": p.anchor.encode(p.codes)}),
    "the anchor": ("anchor", RecordRepresentation, lambda p: {"rows": p.anchor.rows}),
    "the reduction": ("weights", RecordRepresentation, lambda p: {"rows": p.reduction.weights}),
    "moments": ("moments", RecordRepresentation, lambda p: {"rows": moment_matrix([p.anchor.encode(p.codes)])}),
    "the private seed": ("private seed", RecordRepresentation, lambda p: {"instance_models": p.private_seed}),
    "the private seed as text": ("private seed", RecordRepresentation, lambda p: {"party": f"p{p.private_seed}"}),
    "the anchor's seed as bytes": (
        "anchor seed",
        RecordRepresentation,
        lambda p: {"pseudonyms": np.frombuffer(p.anchor_seed.to_bytes(16, "big"), np.uint8)},
    ),
    "the key in hexadecimal": ("pseudonym key", RecordRepresentation, lambda p: {"party": p.key.hex()}),
    "identifiers": ("identifier", RecordRepresentation, lambda p: {"pseudonyms": np.array(p.held.identifiers)}),
    "one cell of a table": ("row", RecordPart, lambda p: {"reference": pd.DataFrame([p.codes[3, 1]])}),
    "another's column": ("column", RecordPart, lambda _: {"reference": ASKED[["income"]]}),
    "a pseudonym": ("pseudonym", RecordPart, lambda p: {"fingerprint": p.pseudonyms_of(p.held)[7].tobytes().hex()}),
}


def test_a_cell_in_the_settings_would_be_found(cases):
    case = next(case for case in cases if case.table is MEET)
    message = next(m for *_, m in case.messages if isinstance(m, Settings))
    cell = float(TRAINED["income"].iloc[7])
    leaked = Settings(message.content[:-1] + f', "median": {cell!r}}}')
    assert ("row", "bank") in held_in(leaked, case.secrets) - held_in(message, case.secrets)


@pytest.fixture(scope="module")
def asked() -> RecordedVertical:
    run = RecordedVertical(Ridge(), 2, n_anchor=200, random_state=0)
    run.fit(split(TRAINED), LABELS, label_party=HOLDER)
    run.explain(split(ASKED), index="shapley")
    return run


@pytest.mark.parametrize("leak", LEAKS)
def test_a_planted_leak_is_found(asked, leak):
    what, kind, change = LEAKS[leak]
    secrets = secrets_of(asked.parties_, asked.messages, asked.analyst_)
    message = next(m for sender, _, m in asked.messages if isinstance(m, kind) and sender == "shop")
    leaked = dataclasses.replace(message, **change(asked.parties_["shop"]))
    beyond = held_in(leaked, secrets) - held_in(message, secrets)
    assert what in {found for found, _ in beyond}
