"""Attacks of requesters, hosts and the server on a serving federation: each got what it wanted once."""

from __future__ import annotations

import base64
import time
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dcshap.collaboration.messages import ANALYST
from dcshap.exceptions import DcshapError, FederationError, PrivacyError, ProtocolError, UnanswerableError
from dcshap.explanation.disclosures import Request
from dcshap.federation.flare.controller import AnalystController
from dcshap.federation.operation.tickets import ticket_of
from dcshap.federation.requester import Requester
from dcshap.federation.seals.envelopes import About, seal
from dcshap.federation.seals.ledger import Ledger
from dcshap.federation.seals.post import _ROOM, Post, PostOffice
from dcshap.federation.seals.requests import sign_request
from dcshap.federation.seals.wire import pack
from dcshap.federation.site.configuration import CollaborationConfig, Right
from dcshap.federation.site.holdings import load_data
from dcshap.protocol.steps import training

from .conftest import OFFICER, people, vertical_tables
from .twin import NAME

PARTIES = ["bank", "post", "shop"]
EVERYBODY = people().index.tolist()
STRANGER = "stranger@bank.example"


@pytest.fixture
def serving(twin):
    def build(budget=100, **more):
        right = Right(("bank", "shop", "full"), budget)
        run = twin("vertical", PARTIES, rights={OFFICER: right, STRANGER: right}, **more)
        return run, run.trained(LogisticRegression(max_iter=1000))

    return build


def lines(run, name, kind=None):
    return [line for line in Ledger(run.sites[name].config.ledger) if kind in (None, line.kind)]


def send(run, analyst, records, *, identifier="r", protocol="party views", view="bank", to="bank", by=OFFICER):
    """A request in an envelope of its own, as somebody writes it who does not use our requester."""
    who = run.identities[by]
    asked = Request(by, identifier, NAME, analyst.run, protocol, tuple(records), view)
    about = About("requester", to, protocol, identifier, "request", 5.0)
    sealed = seal(who, about, pack(sign_request(asked, who)), to=run.identities[to].certificate)
    return PostOffice("requester", who).answers_in(run.sites[to].handle(sealed), sealed, sender=to)


# --- another's answer --------------------------------------------------------------------------------------------


def test_an_answer_is_fetched_with_the_asker_s_key_and_not_by_who_knows_its_request_or_ticket(serving):
    run, analyst = serving()
    controller = AnalystController(collaboration=NAME, kind="vertical", parties=PARTIES)
    controller._site = analyst
    controller._serving.set()
    stolen = []

    def exchange(session, envelopes):
        to = {name: base64.b64encode(each).decode() for name, each in envelopes.items()}
        found = controller._ask({"session": session, "ticket": ticket_of("key"), "to": to})
        while not found:
            time.sleep(0.01)
            found = controller._fetch({"key": "key"})
        for known in (session, ticket_of("key")):
            for field in ("key", "ticket"):
                with pytest.raises(FederationError, match="none for this ticket"):
                    stolen.append(controller._fetch({field: known}))
        return {name: [base64.b64decode(each) for each in replies] for name, replies in found["replies"].items()}

    asker = Requester(run.identities[OFFICER], NAME, analyst.run, analyst.certificates, exchange, timeout=5.0)
    assert len(asker.predict(EVERYBODY[:1]).values) == 1
    assert stolen == []
    controller._tickets.close()


# --- Algorithm 3 and references ----------------------------------------------------------------------------------


def test_algorithm_3_needs_the_consent_of_every_party(serving):
    run, analyst = serving(changes={"shop": {"algorithm_3": False}})
    with pytest.raises(PrivacyError, match=r"'shop': Algorithm 3 .* every party must agree"):
        run.requester(analyst, OFFICER).explain(EVERYBODY[:1], index="shapley")
    assert not lines(run, "shop", "RecordOffsets")
    assert not lines(run, "shop", "RecordPart")


def test_a_party_s_configuration_does_not_allow_algorithm_3_by_itself():
    settings = CollaborationConfig("vertical", {"csv": "t.csv"}, "schema.yaml", ("shop",), id="id")
    assert settings.algorithm_3 is False


def test_a_full_view_asks_for_party_views_unless_told_otherwise(serving):
    run, analyst = serving(algorithm_3=False)
    assert run.requester(analyst, OFFICER).explain(EVERYBODY[:1]).index == "owen"
    assert {line.kind for line in lines(run, "shop") if line.requester} == {
        *("Asked", "Request", "RecordVectors", "Answer")
    }


@pytest.mark.parametrize("reference", ["own", "mean", "medoid"])
@pytest.mark.parametrize("view", ["bank", "full"])
def test_a_requester_gets_no_training_row_and_no_statistics_as_reference(serving, reference, view):
    run, analyst = serving()
    with pytest.raises(PrivacyError, match=r"may compare with \['anchor', 'background'\]"):
        run.requester(analyst, OFFICER).explain(EVERYBODY[:1], view=view, reference=reference)
    assert not [line for name in PARTIES for line in lines(run, name) if line.kind in ("RecordVectors", "Answer")]


def test_a_reference_that_all_parties_allow_is_answered(serving):
    run, analyst = serving(references=("anchor", "mean"))
    asking = run.requester(analyst, OFFICER)
    assert len(asking.explain(EVERYBODY[:1], view="bank", reference="mean")) == 1
    with pytest.raises(PrivacyError):
        asking.explain(EVERYBODY[:1], view="bank", reference="medoid")


# --- who is in a party's table -------------------------------------------------------------------------------------


def asked_for(run, analyst, record, view):
    """What the requester is told, and what the server sees: sizes of what it carries, by recipient."""
    run.network.carried.clear()
    with pytest.raises(UnanswerableError) as refused:
        run.requester(analyst, OFFICER).explain([record], view=view)
    return str(refused.value), replies(run)


def replies(run):
    """The sizes of all replies that were carried, and how many questions there were."""
    sizes = sorted(len(data) for data in run.network.carried)
    return [size for size in sizes if size > _ROOM], sum(size <= _ROOM for size in sizes)


@pytest.fixture
def apart(serving):
    """A federation in which some people are at one party only."""
    tables = vertical_tables(PARTIES)
    held = {name: table.drop(index=EVERYBODY[at]) for at, (name, table) in enumerate(tables.items())}
    return serving(tables=held)


@pytest.mark.parametrize("view", ["bank", "full"])
def test_nobody_learns_which_party_lacks_a_record_or_whether_anybody_has_it(apart, view):
    run, analyst = apart
    # Lacking at the bank, at the post, at the shop, and everywhere.
    told = [asked_for(run, analyst, record, view) for record in (*EVERYBODY[:3], "person-99999")]
    assert told == [told[0]] * 4
    assert "lacks" not in told[0][0]


@pytest.mark.parametrize("view", ["bank", "full"])
def test_the_server_cannot_tell_a_refusal_from_an_answer_by_its_size(apart, view):
    run, analyst = apart
    _, refused = asked_for(run, analyst, EVERYBODY[0], view)
    run.network.carried.clear()
    run.requester(analyst, OFFICER).explain([EVERYBODY[9]], view=view)
    assert replies(run) == refused


def test_asking_for_people_who_do_not_exist_is_charged_and_written_down(serving):
    run, analyst = serving(budget=2)
    for at in range(2):
        with pytest.raises(UnanswerableError):
            run.requester(analyst, OFFICER).explain([f"nobody-{at}"], view="bank")
    with pytest.raises(PrivacyError, match="budget"):
        run.requester(analyst, OFFICER).explain(["nobody-2"], view="bank")
    assert [line.units for line in lines(run, "bank", "Asked")] == [1, 1]
    refused = [line.note for line in lines(run, "bank", "Refusal")]
    assert refused == ["request: UnanswerableError"] * 2 + ["request: PrivacyError"]
    assert "nobody" not in run.sites["bank"].config.ledger.read_text()


def test_nothing_is_disclosed_to_a_party_that_does_not_hold_the_record(apart):
    run, analyst = apart
    asked_for(run, analyst, EVERYBODY[0], "bank")
    assert not lines(run, "shop", "RecordVectors")


# --- budgets ------------------------------------------------------------------------------------------------------


def test_one_identifier_for_many_requests_does_not_stretch_a_budget(serving):
    run, analyst = serving(budget=20)
    send(run, analyst, EVERYBODY[:5])
    for protocol, records in (("party views", EVERYBODY[5:9]), ("algorithm 4", EVERYBODY[9:14])):
        with pytest.raises((PrivacyError, ProtocolError)):
            send(run, analyst, records, protocol=protocol)
    assert sum(line.n_records for line in lines(run, "bank", "Answer")) == 5


def test_a_budget_ends_after_as_many_records_whatever_the_identifiers(serving):
    run, analyst = serving(budget=20)
    answered = 0
    for at in range(16):
        try:
            send(run, analyst, EVERYBODY[5 * at : 5 * at + 5], identifier=f"r{at % 8}")
        except DcshapError:
            continue
        answered += 5
    assert answered == 20
    assert sum(line.n_records for line in lines(run, "shop", "RecordVectors")) == 20


def test_a_full_view_costs_a_unit_for_each_kind_of_message(serving):
    run, analyst = serving(budget=100)
    run.requester(analyst, OFFICER).explain(EVERYBODY[:3])
    assert [line.units for line in lines(run, "bank", "Asked")] == [2 * 3]  # vectors to the others, and the answer


def test_a_host_cannot_collect_vectors_across_requesters(serving):
    run, analyst = serving(recipient_budget=4)
    run.requester(analyst, OFFICER).explain(EVERYBODY[:3], view="bank")
    other = run.requester(analyst, STRANGER)
    other.explain(EVERYBODY[:3], view="bank")  # the same again tells nothing new
    with pytest.raises(PrivacyError, match="'bank' may be told of 4 records in all"):
        other.explain(EVERYBODY[3:6], view="bank")
    told = {record for line in lines(run, "shop", "RecordVectors") for record in line.records}
    assert len(told) == 3
    assert not told & set(EVERYBODY)


@pytest.mark.parametrize(("agreement", "limit"), [({"noise": 0.2}, 200), ({"noise": 0.0}, 1), ({"noise": 0.005}, 1)])
def test_without_noise_a_host_is_told_of_fewer_records_than_there_are_columns(twin, agreement, limit):
    run = twin("vertical", PARTIES, agreement=agreement)
    settings = run.sites["shop"].settings
    agreed = load_data(settings, base=run.sites["shop"].config.folder).agreement
    assert (len(agreed.schema), settings.records_per_recipient(agreed)) == (2, limit)


# --- rights -------------------------------------------------------------------------------------------------------


def test_an_officer_who_was_removed_is_refused_at_once(serving):
    run, analyst = serving()
    asking = run.requester(analyst, OFFICER)
    asking.explain(EVERYBODY[:1], view="bank")
    config = run.sites["shop"].config
    replace(config, rights={STRANGER: config.rights[STRANGER]}).save()
    with pytest.raises(PrivacyError, match=r"'shop' has given 'officer@bank.example' no right"):
        asking.explain(EVERYBODY[:1], view="bank")


def test_a_budget_that_was_lowered_counts_at_once(serving):
    run, analyst = serving()
    asking = run.requester(analyst, OFFICER)
    asking.explain(EVERYBODY[:2], view="bank")
    replace(run.sites["bank"].config, rights={OFFICER: Right(("bank",), 2)}).save()
    with pytest.raises(PrivacyError, match="2 are used and 1 more"):
        asking.explain(EVERYBODY[:1], view="bank")


def test_two_requests_under_one_identifier_are_not_put_together(serving):
    run, analyst = serving()

    def exchange(session, envelopes):
        who, other = run.identities[OFFICER], EVERYBODY[1:2]
        asked = Request(OFFICER, session, NAME, analyst.run, "party views", tuple(other), "full")
        about = About("requester", "shop", "party views", session, "request", 5.0)
        sealed = seal(who, about, pack(sign_request(asked, who)), to=run.identities["shop"].certificate)
        return analyst.answer(session, {**envelopes, "shop": sealed})

    asking = Requester(run.identities[OFFICER], NAME, analyst.run, analyst.certificates, exchange, timeout=5.0)
    with pytest.raises(DcshapError, match=r"must be about the same one|answered before"):
        asking.explain(EVERYBODY[:1])
    assert not [line for name in PARTIES for line in lines(run, name, "Answer")]


# --- secure summation ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("span", "step"), [("supervised", "sums"), ("shared", "moments")])
@pytest.mark.parametrize("left_out", ["bank", "post"])
def test_an_analyst_that_leaves_a_party_s_keys_out_gets_no_sums(twin, monkeypatch, span, step, left_out):
    """With fewer masks than parties, the sums of the last one could be read by whoever has the others' keys."""
    run, bring = twin("horizontal", PARTIES, agreement={"span": span}), Post.bring

    def leaving_out(self, at, messages):
        if self._office.me == ANALYST and at.name == "pair_key":
            messages = {name: message for name, message in messages.items() if name != left_out}
        return bring(self, at, messages)

    monkeypatch.setattr(Post, "bring", leaving_out)
    with pytest.raises(ProtocolError, match="comes after 'pair_key', which is not complete"):
        run.trained(LogisticRegression(max_iter=1000))
    assert step in training("horizontal", span=span, rounds=3)
    assert not lines(run, "shop", "MaskedMoments")


def test_an_analyst_that_leaves_a_party_out_of_the_introduction_is_refused(twin):
    run = twin("horizontal", PARTIES, agreement={"span": "shared"})
    del run.sites["post"]
    with pytest.raises(PrivacyError, match=r"agreed to work with \['post', 'shop'\]"):
        run.trained(LogisticRegression(max_iter=1000))


def test_nobody_takes_a_shared_span_on_trust(twin):
    run = twin("horizontal", PARTIES, agreement={"span": "shared"})
    run.trained(LogisticRegression(max_iter=1000))
    weights = [run.sites[name].party._basis for name in PARTIES]
    assert all(np.array_equal(weights[0], each) for each in weights)
    sent = {name: [line.recipient for line in lines(run, name, "MaskedMoments")] for name in PARTIES}
    assert sent == {name: [other for other in PARTIES if other != name] for name in PARTIES}
