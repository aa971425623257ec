"""Certificates: remembered at first sight, renewed on purpose, revoked by the authority, refused with a wrong date."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import replace

import pytest
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

from dcshap.cli.main import app
from dcshap.collaboration.messages import ANALYST, Hello
from dcshap.exceptions import InputError, PrivacyError, ProtocolError, StorageError
from dcshap.explanation.disclosures import Request
from dcshap.federation.seals.envelopes import MAX_AGE, About, recent, seal
from dcshap.federation.seals.identity import Identity
from dcshap.federation.seals.post import PostOffice
from dcshap.federation.seals.requests import _signed_part, verify_request
from dcshap.federation.seals.revocation import REVOKED, honour, revoke
from dcshap.federation.seals.wire import pack
from dcshap.federation.site.configuration import Right
from dcshap.federation.site.meeting import VERSION
from dcshap.federation.site.pins import Pins
from dcshap.protocol.steps import MEET

from .conftest import OFFICER, builder, people
from .twin import NAME, SERVER, Authority

PARTIES = ["bank", "shop"]
EVERYBODY = (*PARTIES, SERVER, OFFICER)
YESTERDAY = time.time() - 86_400
RECORDS = people().index[:1].tolist()


@pytest.fixture(scope="module")
def certified(tmp_path_factory):
    """An authority, and the kits that it has certified: a new key for each takes longer than a training."""
    authority, kits = Authority(), tmp_path_factory.mktemp("certified")
    for name in EVERYBODY:
        authority.issue(kits / name / "startup", name)
    return authority, kits


@pytest.fixture
def project(certified, tmp_path):
    """A federation of its own, with the authority that certifies it."""
    authority, kits = certified
    shutil.copytree(kits, tmp_path / "kits")
    identities = {name: Identity(tmp_path / "kits" / name / "startup") for name in EVERYBODY}
    rights = {OFFICER: Right(("bank", "full"), 100)}
    run = builder(tmp_path, identities)("vertical", PARTIES, rights=rights)
    return run, authority, authority.save(tmp_path / "authority")


def model():
    return LogisticRegression(max_iter=1000)


def renewed(run, authority, name, folder, **more):
    """The same federation after somebody got a second certificate."""
    run.identities[name] = authority.issue(folder, name, **more)
    return run.again()


# --- a second certificate ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["shop", SERVER])
def test_a_second_certificate_of_a_known_name_is_refused_until_it_is_accepted(project, tmp_path, name):
    run, authority, _ = project
    run.trained(model())
    again = renewed(run, authority, name, tmp_path / "second")
    with pytest.raises(PrivacyError, match="must be the one that it had at first"):
        again.trained(model())
    fingerprint = run.identities[name].certificate.fingerprint
    for party in set(PARTIES) - {name}:
        Pins(run.sites[party].folder).accept(name, fingerprint)
    run.again().trained(model())


def test_a_second_certificate_is_refused_when_serving_goes_on(project, tmp_path):
    run, authority, _ = project
    run.trained(model())
    again = renewed(run, authority, "shop", tmp_path / "second")
    with pytest.raises(PrivacyError, match="'bank': The certificate of 'shop'"):
        again.analyst().resume("session")


def test_who_was_met_cannot_be_stood_in_for(project, tmp_path):
    run, authority, _ = project
    analyst = run.trained(model())
    second = authority.issue(tmp_path / "second", "shop")
    about = About("shop", "bank", "party views", "r1", "forward", 5.0)
    sealed = seal(second, about, b"", to=run.identities["bank"].certificate)
    with pytest.raises(ProtocolError, match="has met 'shop' with another certificate"):
        PostOffice("shop", second).answers_in(run.sites["bank"].handle(sealed), sealed, sender="bank")
    assert analyst.run


def greeted(run, identity, session="another", step="hello"):
    """What the bank answers to somebody who says to be the analyst."""
    about = About(ANALYST, "bank", MEET.name, session, step, 5.0)
    content = pack(Hello(VERSION, "vertical", "")) if step == "hello" else b""
    sealed = seal(identity, about, content, to=run.identities["bank"].certificate)
    return PostOffice(ANALYST, identity).answers_in(run.sites["bank"].handle(sealed), sealed, sender="bank")


def test_a_hello_of_a_second_analyst_does_not_change_whom_a_party_seals_to(project, tmp_path):
    run, authority, _ = project
    run.trained(model())
    second = authority.issue(tmp_path / "second", SERVER)
    with pytest.raises(PrivacyError, match="must be the one that it had at first"):
        greeted(run, second)
    assert run.sites["bank"].office.directory[ANALYST].pem == run.identities[SERVER].certificate.pem


def test_a_first_hello_alone_is_not_enough_to_be_sealed_to_and_nobody_else_goes_on_from_it(project, tmp_path):
    run, authority, _ = project
    greeted(run, run.identities[SERVER])
    assert ANALYST not in run.sites["bank"].office.directory
    second = authority.issue(tmp_path / "second", SERVER)
    with pytest.raises(ProtocolError, match="certificate that has said hello"):
        greeted(run, second, step="introduction")


@pytest.mark.parametrize("fingerprint", ["", "AA", ":".join(["AG"] * 32)])
def test_what_is_no_fingerprint_is_not_accepted(project, fingerprint):
    run, *_ = project
    run.trained(model())
    with pytest.raises(InputError, match="fingerprint"):
        Pins(run.sites["bank"].folder).accept("shop", fingerprint)
    with pytest.raises(InputError, match="one of"):
        Pins(run.sites["bank"].folder).accept("post", ":".join(["AA"] * 32))


# --- revocation ----------------------------------------------------------------------------------------------------


def kit(run, name):
    return run.identities[name]._folder


def test_a_revoked_requester_is_refused_by_every_site_at_once(project):
    run, _, authority = project
    analyst = run.trained(model())
    asking = run.requester(analyst, OFFICER)
    asking.explain(RECORDS, view="bank")
    revoked = revoke(authority, [OFFICER])
    honour(revoked, kit(run, "shop"))
    with pytest.raises(ProtocolError, match=r"'shop': The certificate of 'officer@bank.example' was revoked"):
        asking.explain(RECORDS, view="bank")
    honour(revoked, kit(run, "bank"))
    with pytest.raises(ProtocolError, match=r"'bank': The certificate of 'officer@bank.example' was revoked"):
        asking.explain(RECORDS, view="bank")


@pytest.mark.parametrize("by", ["name", "serial"])
def test_a_revoked_party_is_not_trained_with_and_its_next_certificate_is(project, tmp_path, monkeypatch, by):
    run, issuing, authority = project
    what = "shop" if by == "name" else f"0x{run.identities['shop'].certificate.serial}"
    monkeypatch.setattr("dcshap.federation.seals.revocation.now", lambda: YESTERDAY)
    revoked = revoke(authority, [what])
    monkeypatch.undo()
    for name in ("bank", SERVER):
        honour(revoked, kit(run, name))
    with pytest.raises(ProtocolError, match="'shop' was revoked"):
        run.trained(model())
    renewed(run, issuing, "shop", tmp_path / "second", since=0).trained(model())


def test_one_s_own_revoked_certificate_is_told_of(project):
    run, _, authority = project
    honour(revoke(authority, ["bank"]), kit(run, "bank"))
    with pytest.raises(ProtocolError, match="'bank' was revoked"):
        Identity(kit(run, "bank"))


def test_a_list_that_the_authority_has_not_signed_is_refused_and_trusts_nobody(project, tmp_path):
    run, _, authority = project
    revoked = revoke(authority, [OFFICER])
    content = json.loads(revoked.read_text()) | {"names": {}}
    revoked.write_text(json.dumps(content))
    with pytest.raises(StorageError, match="signed by the project's authority"):
        honour(revoked, kit(run, "bank"))
    shutil.copyfile(revoked, kit(run, "bank") / REVOKED)
    with pytest.raises(StorageError, match="signed by the project's authority"):
        Identity(kit(run, "bank"))
    other = revoke(Authority().save(tmp_path / "other"), [OFFICER])
    with pytest.raises(StorageError, match="signed by the project's authority"):
        honour(other, kit(run, "shop"))


def test_an_older_list_does_not_take_a_newer_one_s_place(project, tmp_path):
    run, _, authority = project
    older = tmp_path / "older.json"
    shutil.copyfile(revoke(authority, [OFFICER]), older)
    honour(revoke(authority, ["0xAB12"]), kit(run, "bank"))
    with pytest.raises(InputError, match="it is older"):
        honour(older, kit(run, "bank"))


def test_a_list_that_revokes_a_name_up_to_an_earlier_moment_is_older(project, tmp_path):
    run, _, authority = project
    older = tmp_path / "older.json"
    shutil.copyfile(revoke(authority, [OFFICER]), older)
    honour(revoke(authority, [OFFICER]), kit(run, "bank"))
    with pytest.raises(InputError, match="it is older"):
        honour(older, kit(run, "bank"))


def test_the_commands_revoke_honour_show_and_accept(project):
    run, _, authority = project
    run.trained(model())
    home, shell = run.sites["bank"].config.folder, CliRunner()
    shutil.copytree(kit(run, "bank"), home / "startup")
    shown = shell.invoke(app, ["federation", "certificates", "show", str(home), "--json"])
    assert json.loads(shown.stdout)["fingerprint"] == run.identities["bank"].certificate.fingerprint
    done = shell.invoke(app, ["federation", "certificates", "revoke", OFFICER, "0xAB", "--authority", str(authority)])
    assert done.exit_code == 0, done.output
    done = shell.invoke(app, ["federation", "certificates", "honour", str(authority / REVOKED), str(home)])
    assert "1 names and 1 serial numbers" in done.stdout
    fingerprint = ":".join(["AB"] * 32)
    done = shell.invoke(
        app, ["federation", "certificates", "accept", str(home), NAME, "shop", "--fingerprint", fingerprint]
    )
    assert done.exit_code == 0, done.output
    with pytest.raises(PrivacyError):
        Pins(run.sites["bank"].folder).require([run.identities["shop"].certificate])


# --- dates ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("written", [float("nan"), float("inf"), -float("inf"), 10**400, None, "now", "1e9", [1]])
def test_a_date_that_is_none_is_never_recent(written):
    assert not recent(written)


@pytest.mark.parametrize(("ahead", "passes"), [(-MAX_AGE + 5, True), (-MAX_AGE - 5, False), (30, True), (90, False)])
def test_what_is_dated_ahead_is_refused(ahead, passes, monkeypatch):
    monkeypatch.setattr("dcshap.federation.seals.envelopes.now", lambda: 1e9)
    assert recent(1e9 + ahead) is passes


def test_a_request_that_its_author_dates_ahead_is_refused(project):
    run, *_ = project
    who = run.identities[OFFICER]
    for written in (float("nan"), float("inf"), 1e12):
        request = Request(OFFICER, "r", NAME, "run", "party views", tuple(RECORDS), "bank", written=written)
        request = replace(request, certificate=who.certificate.pem)
        with pytest.raises(ProtocolError, match="answered within"):
            verify_request(replace(request, signature=who.sign(_signed_part(request))), run.identities["bank"])
