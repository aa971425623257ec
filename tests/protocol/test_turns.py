"""The tables themselves, and what a session refuses: out of turn, twice, from or to the wrong one."""

from __future__ import annotations

import numpy as np
import pytest

from dcshap.collaboration import Analyst, HorizontalParty, VerticalParty
from dcshap.collaboration.messages import ANALYST, REQUESTER, AnchorSeed, Commit, Message, Representation
from dcshap.exceptions import ProtocolError
from dcshap.explanation.answering import AnsweringAnalyst, AnsweringParty, Asking
from dcshap.federation.site.hosting import AnalystMeeting
from dcshap.federation.site.meeting import Meeting
from dcshap.protocol import Cast, Protocol
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
from dcshap.protocol.turns import Turns

NAMES = ("bank", "post", "shop")
SPANS = ("supervised", "private", "shared", "random")
TRAININGS = [training("horizontal", span=span, rounds=2) for span in SPANS] + [
    training("horizontal", span="supervised", rounds=2, kept=True),
    training("vertical"),
    training("vertical", share=False),
]
TABLES = [MEET, RESUME, SHARE_MODEL, *TRAININGS, ALGORITHM_3, ALGORITHM_4, PARTY_VIEWS, PREDICT]
CAST = Cast(NAMES, holder="bank", viewers=NAMES)


def who(table: Protocol) -> tuple[list[type], list[type], list[type]]:
    """The roles of parties, of the analyst and of the requester in a table."""
    if table in (MEET, RESUME):
        return [Meeting], [AnalystMeeting], []
    if table in (*TRAININGS, SHARE_MODEL):
        return [HorizontalParty if "horizontal" in table.name else VerticalParty], [Analyst], []
    return [AnsweringParty], [AnsweringAnalyst], [Asking]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_step_has_its_methods_at_both_roles(table):
    parties, analysts, requesters = who(table)
    for step in table:
        for role, verb in ((step.sender, "send"), (step.recipient, "receive")):
            classes = {"analyst": analysts, "requester": requesters}.get(role, parties)
            assert any(hasattr(each, f"{verb}_{step.method}") for each in classes), (step.name, role)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_names_are_unique_and_every_step_comes_after_earlier_ones_only(table):
    names = [step.name for step in table]
    assert len(set(names)) == len(names)
    for at, step in enumerate(table):
        earlier = set(names[:at])
        assert step.on in (None, CALL) or step.on in earlier
        assert {name for name in step.after if name in names} <= earlier


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_between_parties_and_from_requesters_everything_is_sealed(table):
    for step in table:
        if "analyst" not in (step.sender, step.recipient):
            assert step.sealed, step.name
        elif step.recipient == "analyst":
            assert step.sealed, step.name  # for the analyst, and for nobody else on the way


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_a_message_is_refused_from_whom_the_table_does_not_name(table):
    for step in table:
        allowed = set(CAST.pairs(step))
        kind = step.message if isinstance(step.message, type) else step.message[0]
        for me in (*NAMES, ANALYST, REQUESTER):
            for sender in (*NAMES, ANALYST, REQUESTER):
                if (sender, me) not in allowed:
                    with pytest.raises(ProtocolError):
                        Turns(table, CAST, me).receive(step.name, sender, object.__new__(kind))


def representation(name: str) -> Representation:
    return Representation(name, np.zeros((2, 1)), np.zeros((2, 1)), np.zeros(2), True)


def test_a_step_out_of_order_is_refused():
    turns = Turns(training("horizontal"), CAST, ANALYST)
    for name in NAMES[:2]:
        turns.receive("representation", name, representation(name))
    with pytest.raises(ProtocolError, match="'integration' comes after 'representation'"):
        turns.send(turns.protocol["integration"], "bank")
    turns.receive("representation", "shop", representation("shop"))
    turns.send(turns.protocol["integration"], "bank")


def test_a_step_is_taken_once():
    turns = Turns(training("horizontal"), CAST, "shop")
    turns.receive("anchor", "bank", AnchorSeed(1))
    with pytest.raises(ProtocolError, match="taken before"):
        turns.receive("anchor", "bank", AnchorSeed(2))


def test_a_message_of_another_kind_or_in_another_s_name_is_refused():
    turns = Turns(training("horizontal"), CAST, ANALYST)
    with pytest.raises(ProtocolError, match="takes another message"):
        turns.receive("representation", "bank", Commit("run"))
    with pytest.raises(ProtocolError, match="in another's name"):
        turns.receive("representation", "bank", representation("shop"))
    with pytest.raises(ProtocolError, match="has the steps"):
        turns.receive("reduction", "bank", Message())


def test_a_step_is_called_for_by_the_analyst_in_order_and_once():
    turns = Turns(training("horizontal", span="shared"), CAST, "bank")
    with pytest.raises(ProtocolError, match="'shop' cannot call"):
        turns.call("anchor", "shop")
    with pytest.raises(ProtocolError, match="comes after 'pair_key'"):
        turns.call("moments", ANALYST)
    assert turns.call("anchor", ANALYST).name == "anchor"
    with pytest.raises(ProtocolError, match="called for before"):
        turns.call("anchor", ANALYST)
    with pytest.raises(ProtocolError, match="cannot call"):
        turns.call("drawn", ANALYST)  # it answers another step


def test_an_answer_goes_to_whoever_sent_and_the_rest_waits_for_all():
    turns = Turns(PARTY_VIEWS, CAST, "bank")
    forward, vectors = PARTY_VIEWS["forward"], PARTY_VIEWS["vectors"]
    turns._note(forward, "shop", "bank")
    assert turns.cued_by(forward, "shop") == [(vectors, ["shop"])]
    turns._note(vectors, "shop", "bank")
    assert turns.cued_by(vectors, "shop") == []
    turns._note(vectors, "post", "bank")
    assert turns.cued_by(vectors, "post") == [(PARTY_VIEWS["answer"], [REQUESTER])]


def test_a_cast_resolves_who_sends_to_whom():
    shared = training("horizontal", span="shared")
    assert CAST.pairs(shared["anchor"]) == [("bank", "post"), ("bank", "shop")]
    assert CAST.pairs(shared["drawn"]) == [("post", "bank"), ("shop", "bank")]
    assert CAST.pairs(shared["pair_key"]) == [("bank", "post"), ("bank", "shop"), ("post", "shop")]
    assert CAST.pairs(training("vertical")["labels"]) == [("bank", ANALYST)]
    assert Cast(NAMES, viewers=("post",)).pairs(ALGORITHM_4["vectors"]) == [("bank", "post"), ("shop", "post")]
