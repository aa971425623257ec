from __future__ import annotations

import time

import numpy as np
import pytest

from dcshap.exceptions import ProtocolError, StorageError
from dcshap.federation import identity
from dcshap.federation.seals.identity import Identity

from .twin import Authority

CONTENT = b"the anchor's seed"


@pytest.fixture
def bank(identities):
    return identities["bank"]


@pytest.fixture
def shop(identities):
    return identities["shop"]


def test_the_recipient_opens_what_was_sealed(bank, shop):
    sealed = bank.seal(CONTENT, to=shop.certificate, purpose="anchor")
    opened = shop.open(sealed, purpose="anchor", sender="bank")
    assert (opened.content, opened.sender) == (CONTENT, "bank")
    assert CONTENT not in sealed


def test_nobody_else_opens_it(bank, shop, identities):
    sealed = bank.seal(CONTENT, to=shop.certificate, purpose="anchor")
    with pytest.raises(ProtocolError, match="reached 'rail'"):
        identities["rail"].open(sealed, purpose="anchor")


def test_it_opens_for_its_purpose_only_and_from_its_sender_only(bank, shop):
    sealed = bank.seal(CONTENT, to=shop.certificate, purpose="anchor")
    with pytest.raises(ProtocolError, match="'key' was expected"):
        shop.open(sealed, purpose="key")
    with pytest.raises(ProtocolError, match="from 'rail' was expected"):
        shop.open(sealed, purpose="anchor", sender="rail")


def test_any_changed_byte_is_found(bank, shop):
    sealed = bytearray(bank.seal(CONTENT, to=shop.certificate, purpose="anchor"))
    for at in np.random.default_rng(0).integers(len(sealed), size=40):
        changed = bytearray(sealed)
        changed[at] ^= 1
        with pytest.raises(ProtocolError):
            shop.open(bytes(changed), purpose="anchor")


@pytest.mark.parametrize("cut", [0, 3, 100, 400])
def test_a_cut_envelope_is_refused(bank, shop, cut):
    with pytest.raises(ProtocolError):
        shop.open(bank.seal(CONTENT, to=shop.certificate, purpose="anchor")[:cut], purpose="anchor")


def test_an_old_envelope_is_refused(bank, shop, monkeypatch):
    sealed = bank.seal(CONTENT, to=shop.certificate, purpose="anchor")
    later = time.time() + identity.MAX_AGE + 1
    monkeypatch.setattr("dcshap.federation.seals.identity.time.time", lambda: later)
    with pytest.raises(ProtocolError, match="older"):
        shop.open(sealed, purpose="anchor")


def test_a_sender_of_another_authority_is_refused(shop, tmp_path):
    forger = Authority().issue(tmp_path / "bank", "bank")
    with pytest.raises(ProtocolError, match="authority"):
        shop.open(forger.seal(CONTENT, to=shop.certificate, purpose="anchor"), purpose="anchor")


def test_an_expired_certificate_is_refused(authority, shop, tmp_path):
    with pytest.raises(ProtocolError, match="not valid today"):
        authority.issue(tmp_path / "old", "old", days=-1)


def test_a_certificate_in_another_name_is_refused(bank, shop):
    with pytest.raises(ProtocolError, match=r"of 'rail' was expected. Got that of 'shop'"):
        bank.check(shop.certificate.pem, name="rail")


def test_a_folder_without_key_is_refused(tmp_path):
    with pytest.raises(StorageError, match="certificate and key"):
        Identity(tmp_path)
