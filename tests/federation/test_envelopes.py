from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dcshap._machine import Machine, using_machine
from dcshap.exceptions import ProtocolError, StorageError
from dcshap.federation.seals import envelopes
from dcshap.federation.seals.envelopes import About, Opened, open_envelope, seal
from dcshap.federation.seals.identity import Identity

from .twin import SERVER, Authority

CONTENT = b"the anchor's seed"


def sealed_by(who, to, *, sender=None, recipient="shop", step="anchor", content=CONTENT):
    about = About(sender or who.name, recipient, "train horizontally", "run1", step)
    return seal(who, about, content, to=to.certificate)


@pytest.fixture
def bank(identities):
    return identities["bank"]


@pytest.fixture
def shop(identities):
    return identities["shop"]


def test_the_recipient_opens_what_was_sealed(bank, shop):
    sealed = sealed_by(bank, shop)
    opened = open_envelope(shop, sealed, me="shop")
    assert (opened.content, opened.about.sender, opened.author.name) == (CONTENT, "bank", "bank")
    assert (opened.about.protocol, opened.about.session, opened.about.step) == ("train horizontally", "run1", "anchor")
    assert CONTENT not in sealed


def test_nobody_else_opens_it(bank, shop, identities):
    sealed = sealed_by(bank, shop)
    with pytest.raises(ProtocolError, match="reached 'rail'"):
        open_envelope(identities["rail"], sealed, me="rail")
    with pytest.raises(ProtocolError, match="whole and signed"):
        open_envelope(identities["rail"], sealed, me="shop")


def test_a_party_cannot_write_as_another_or_as_the_analyst(bank, shop, identities):
    for sender in ("rail", "analyst"):
        with pytest.raises(ProtocolError, match="was signed by 'bank'"):
            open_envelope(shop, sealed_by(bank, shop, sender=sender), me="shop")
    from_server = sealed_by(identities[SERVER], shop, sender="analyst")
    assert open_envelope(shop, from_server, me="shop").author.name == SERVER


def test_any_changed_byte_is_found(bank, shop):
    sealed = bytearray(sealed_by(bank, shop))
    for at in np.random.default_rng(0).integers(len(sealed), size=40):
        changed = bytearray(sealed)
        changed[at] ^= 1
        with pytest.raises(ProtocolError):
            open_envelope(shop, bytes(changed), me="shop")


@pytest.mark.parametrize("cut", [0, 3, 100, 400])
def test_a_cut_envelope_is_refused(bank, shop, cut):
    with pytest.raises(ProtocolError):
        open_envelope(shop, sealed_by(bank, shop)[:cut], me="shop")


class later(Machine):  # noqa: N801 - reads as what it says
    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def now(self) -> float:
        return super().now() + self._seconds


def test_an_old_envelope_is_refused(bank, shop):
    sealed = sealed_by(bank, shop)
    with using_machine(later(envelopes.MAX_AGE + 1)), pytest.raises(ProtocolError, match="older"):
        open_envelope(shop, sealed, me="shop")


@pytest.mark.parametrize("written", [float("nan"), float("inf"), "now", None])
def test_a_time_that_is_none_is_not_lately(written):
    assert not envelopes.recent(written)


def test_an_envelope_opens_once_also_after_a_restart(bank, shop, tmp_path):
    first, second = (open_envelope(shop, sealed_by(bank, shop), me="shop") for _ in range(2))
    Opened(tmp_path / "opened").once(first)
    after_restart = Opened(tmp_path / "opened")
    with pytest.raises(ProtocolError, match="opened before"):
        after_restart.once(first)
    after_restart.once(second)


@pytest.mark.parametrize("identifier", ["\ud800" * 32, "0" * 31 + "\n", "a b", 7])
def test_an_identifier_that_is_no_line_of_a_file_is_refused(bank, shop, monkeypatch, identifier):
    monkeypatch.setattr(envelopes, "new_identifier", lambda: identifier)
    with pytest.raises(ProtocolError, match="whole and signed"):
        open_envelope(shop, sealed_by(bank, shop), me="shop")


def test_identifiers_that_are_too_old_to_matter_are_dropped(bank, shop, tmp_path):
    envelope = open_envelope(shop, sealed_by(bank, shop), me="shop")
    opened = Opened(tmp_path / "opened")
    for at in range(1001):
        opened.once(replace(envelope, identifier=f"{at:032x}"))
    with using_machine(later(3 * envelopes.MAX_AGE)):
        opened.once(envelope)
        with pytest.raises(ProtocolError, match="opened before"):
            Opened(tmp_path / "opened").once(envelope)
    assert len((tmp_path / "opened").read_text().splitlines()) == 1


def test_identifiers_are_kept_as_long_as_their_envelopes_are_young_enough(bank, shop, tmp_path):
    with using_machine(later(envelopes.MAX_AHEAD - 2)):  # a sender whose clock is ahead
        sealed = sealed_by(bank, shop)
    envelope, opened = open_envelope(shop, sealed, me="shop"), Opened(tmp_path / "opened")
    opened.once(envelope)
    for at in range(1001):
        opened.once(replace(envelope, identifier=f"{at:032x}"))
    with using_machine(later(envelopes.MAX_AHEAD + envelopes.MAX_AGE - 10)):
        opened.once(replace(envelope, identifier="f" * 32))  # which drops what is too old
        again = open_envelope(shop, sealed, me="shop")
        with pytest.raises(ProtocolError, match="opened before"):
            opened.once(again)


@pytest.mark.parametrize("cut", range(1, 45, 7))
def test_a_line_cut_short_by_a_crash_does_not_open_the_next_envelope_twice(bank, shop, tmp_path, cut):
    first, second = (open_envelope(shop, sealed_by(bank, shop), me="shop") for _ in range(2))
    path = tmp_path / "opened"
    Opened(path).once(first)
    path.write_bytes(path.read_bytes()[:-cut])
    Opened(path).once(second)
    with pytest.raises(ProtocolError, match="opened before"):
        Opened(path).once(second)


def test_a_sender_of_another_authority_is_refused(shop, tmp_path):
    forger = Authority().issue(tmp_path / "bank", "bank")
    with pytest.raises(ProtocolError, match="authority"):
        open_envelope(shop, sealed_by(forger, shop), me="shop")


def test_an_expired_certificate_is_refused(authority, shop, tmp_path):
    with pytest.raises(ProtocolError, match="not valid today"):
        authority.issue(tmp_path / "old", "old", days=-1)


def test_a_certificate_in_another_name_is_refused(bank, shop):
    with pytest.raises(ProtocolError, match=r"of 'rail' was expected. Got that of 'shop'"):
        bank.check(shop.certificate.pem, name="rail")


def test_a_folder_without_key_is_refused(tmp_path):
    with pytest.raises(StorageError, match="certificate and key"):
        Identity(tmp_path)
