"""What somebody gets who is not who a step is for: members, other parties, the analyst out of turn, replays."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sklearn.linear_model import LogisticRegression

from dcshap.collaboration import messages as m
from dcshap.collaboration.messages import ANALYST
from dcshap.exceptions import DcshapError, PrivacyError, ProtocolError
from dcshap.explanation.disclosures import Request
from dcshap.federation.seals.envelopes import About, seal
from dcshap.federation.seals.ledger import Ledger
from dcshap.federation.seals.post import PostOffice
from dcshap.federation.seals.requests import sign_request
from dcshap.federation.seals.wire import pack
from dcshap.federation.site.configuration import Right
from dcshap.protocol.steps import CALL, asking, training

from .conftest import OFFICER, builder, people
from .twin import NAME, SERVER

RECORDS = people().index[[3, 50, 7]].tolist()
PARTIES = ["bank", "shop"]
TABLES = {
    "horizontal": training("horizontal", span="supervised", rounds=3),
    "horizontal, shared span": training("horizontal", span="shared"),
    "vertical": training("vertical"),
}
CALLED = [(kind, step) for kind, table in TABLES.items() for step in table if step.on == CALL]
FROM_ANALYST = [(kind, step) for kind, table in TABLES.items() for step in table if step.sender == "analyst"]


def of_kind(twin, kind, **more):
    agreement = {"span": "shared"} if "shared" in kind else {}
    rights = {OFFICER: Right(("bank", "full"), 5)}
    run = twin(kind.partition(",")[0], PARTIES, rights=rights, agreement=agreement, **more)
    return run, run.trained(LogisticRegression(max_iter=1000))


@pytest.fixture
def trained(twin):
    return lambda kind: of_kind(twin, kind)


@pytest.fixture(scope="module")
def common(tmp_path_factory, identities):
    """One training of each kind, for all who are refused and change nothing."""
    twin = builder(tmp_path_factory.mktemp("intruders"), identities)
    return {kind: of_kind(twin, kind, folder=kind) for kind in TABLES}


def sent(run, to, about, content=b"", *, by):
    """What a site answers to an envelope: the error that it refuses with, or the messages."""
    who, recipient = run.identities[by], run.identities[to]
    sealed = seal(who, about, content, to=recipient.certificate)
    office = PostOffice(about.sender, who)
    return office.answers_in(run.sites[to].handle(sealed), sealed, sender=to)


def left(run, name):
    return [line.kind for line in Ledger(run.sites[name].config.ledger) if line.kind != "Refusal"]


# --- who may call for a step ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", [OFFICER, "bank"])
@pytest.mark.parametrize(("kind", "step"), CALLED, ids=lambda value: getattr(value, "name", value))
def test_nobody_but_the_analyst_calls_for_a_step(common, kind, step, by):
    run, analyst = common[kind]
    before = left(run, "shop")
    for sender in (ANALYST, "bank", "requester"):
        about = About(sender, "shop", TABLES[kind].name, analyst.run, step.name, 5.0)
        with pytest.raises(ProtocolError, match=r"was signed by|cannot call for it"):
            sent(run, "shop", about, by=by)
    assert left(run, "shop") == before


@pytest.mark.parametrize(("kind", "step"), CALLED, ids=lambda value: getattr(value, "name", value))
def test_the_analyst_itself_calls_for_a_step_once(common, kind, step):
    run, analyst = common[kind]
    name = "bank" if step.sender in ("lead", "holder") or step.recipient == "later" else "shop"
    before = left(run, name)
    about = About(ANALYST, name, TABLES[kind].name, analyst.run, step.name, 5.0)
    with pytest.raises(ProtocolError, match="called for before"):
        sent(run, name, about, by=SERVER)
    assert left(run, name) == before


def test_a_session_that_never_began_is_refused(common):
    run, _ = common["horizontal"]
    about = About(ANALYST, "shop", TABLES["horizontal"].name, "elsewhere", "representation", 5.0)
    with pytest.raises(ProtocolError, match="no such session"):
        sent(run, "shop", about, by=SERVER)


@pytest.mark.parametrize("by", [OFFICER, "bank"])
@pytest.mark.parametrize(("kind", "step"), FROM_ANALYST, ids=lambda value: getattr(value, "name", value))
def test_nobody_but_the_analyst_gives_a_party_a_model_or_a_commit(common, kind, step, by):
    run, analyst = common[kind]
    message = m.Commit(analyst.run) if step.message is m.Commit else m.JoinReport(1, {"shop": 1})
    for sender in (ANALYST, "bank"):
        about = About(sender, "shop", TABLES[kind].name, analyst.run, step.name, 5.0)
        with pytest.raises(ProtocolError, match=r"was signed by|is not sent by|takes another message"):
            sent(run, "shop", about, pack(message), by=by)


def test_bytes_without_any_certificate_are_refused(common):
    run, _ = common["horizontal"]
    before = left(run, "shop")
    office = PostOffice(ANALYST, run.identities[SERVER])
    for data in (b"", b"anything", b"\0" * 64):
        with pytest.raises(ProtocolError, match="whole and signed"):
            office.answers_in(run.sites["shop"].handle(data), data, sender="shop")
    assert left(run, "shop") == before


def test_what_a_party_sends_the_analyst_opens_for_the_analyst_alone(trained):
    run, _ = trained("horizontal")
    rows = run.sites["shop"].party.send_representation(ANALYST).rows
    assert rows[0].tobytes() not in b"".join(run.network.carried)


# --- what was asked is what was signed --------------------------------------------------------------------------------


def request(analyst, protocol, view, **changes):
    return Request(
        **(
            {
                "requester": OFFICER,
                "identifier": "r1",
                "collaboration": NAME,
                "run": analyst.run,
                "protocol": protocol,
                "records": tuple(RECORDS[:1]),
                "view": view,
            }
            | changes
        )
    )


def asked(run, asked_for, *, protocol=None, step="request", by=OFFICER, sender="requester", to="bank", session=None):
    """A request in an envelope for some protocol, which may be another than the one it was signed for."""
    signed = sign_request(asked_for, run.identities[OFFICER]) if not asked_for.signature else asked_for
    name = protocol or asked_for.protocol
    about = About(sender, to, name, session or asked_for.identifier, step, 5.0)
    return sent(run, to, about, pack(signed), by=by)


@pytest.mark.parametrize("other", ["algorithm 3", "predict", "algorithm 4"])
def test_a_request_for_party_views_cannot_be_replayed_as_anything_else(trained, other):
    run, analyst = trained("vertical")
    view = request(analyst, "party views", "full")
    with pytest.raises(ProtocolError, match="that it was signed for"):
        asked(run, view, protocol=other)
    assert not [line for line in Ledger(run.sites["bank"].config.ledger) if line.n_records]


@pytest.mark.parametrize("protocol", ["algorithm 3", "predict"])
def test_the_analyst_gets_nothing_that_it_does_not_await(trained, protocol):
    run, analyst = trained("vertical")
    with pytest.raises(ProtocolError, match="nobody has asked"):
        asked(run, request(analyst, protocol, "full"))


def test_a_request_is_answered_once_also_after_a_restart(trained):
    run, analyst = trained("vertical")
    signed = sign_request(request(analyst, "party views", "bank"), run.identities[OFFICER])
    assert asked(run, signed)
    with pytest.raises((ProtocolError, PrivacyError), match=r"taken before|answered before"):
        asked(run, signed)
    again = run.again()
    resumed = again.analyst()
    resumed.resume("again")
    with pytest.raises(PrivacyError, match="answered before"):
        asked(again, signed)


def test_a_request_that_was_changed_on_the_way_is_refused(trained):
    run, analyst = trained("vertical")
    signed = sign_request(request(analyst, "party views", "bank"), run.identities[OFFICER])
    for changes in ({"records": tuple(RECORDS)}, {"view": "full"}, {"reference": "medoid"}, {"written": float("nan")}):
        with pytest.raises(ProtocolError):
            asked(run, replace(signed, **changes))


def test_a_party_cannot_forward_what_nobody_asked_of_it(trained):
    run, analyst = trained("vertical")
    signed = sign_request(request(analyst, "party views", "bank"), run.identities[OFFICER])
    # The shop holds a request for the bank's view, and asks the bank for vectors with it.
    with pytest.raises(ProtocolError, match="is not sent by 'shop'"):
        asked(run, signed, step="forward", by="shop", sender="shop")


def test_an_answer_belongs_to_the_request_it_answers(trained):
    run, analyst = trained("vertical")
    who, certificate = run.identities[OFFICER], run.identities["bank"].certificate
    office, sealed = PostOffice("requester", who), []
    for identifier in ("r1", "r2"):
        signed = sign_request(request(analyst, "party views", "bank", identifier=identifier), who)
        about = About("requester", "bank", "party views", identifier, "request", 5.0)
        sealed.append(seal(who, about, pack(signed), to=certificate))
    reply = run.sites["bank"].handle(sealed[0])
    with pytest.raises(ProtocolError, match="answers something else"):
        office.answers_in(reply, sealed[1], sender="bank")
    assert office.answers_in(reply, sealed[0], sender="bank")


def test_a_request_for_another_training_is_refused_by_name(trained):
    run, analyst = trained("vertical")
    with pytest.raises(ProtocolError, match=r"'bank' uses another training"):
        asked(run, request(analyst, "party views", "bank", run="0" * 32))


@pytest.mark.parametrize(
    ("protocol", "view"), [("algorithm 3", "bank"), ("algorithm 4", "full"), ("party views", "mars"), ("no", "bank")]
)
def test_a_request_for_what_there_is_not_is_refused(trained, protocol, view):
    run, analyst = trained("vertical")
    with pytest.raises(DcshapError):
        asked(run, request(analyst, protocol, view))


def test_every_protocol_for_requests_has_a_table():
    assert {asking(name).name for name in ("algorithm 3", "algorithm 4", "party views", "predict")} == {
        "algorithm 3",
        "algorithm 4",
        "party views",
        "predict",
    }
