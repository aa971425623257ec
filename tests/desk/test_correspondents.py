"""Letters between desks: who may ask and answer in whose name."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dcshap.desk.accounts import Role
from dcshap.desk.correspondents import Correspondents
from dcshap.desk.enquiries import ANSWERS, Letter
from dcshap.desk.state import Desk
from dcshap.desk.vocabulary import Organisation
from dcshap.explanation.receipt import Signer
from tests.desk.conftest import vertical_desk
from tests.desk.people import WORDS, Browser, handle, text_of


@pytest.fixture
def desks(together, tmp_path):
    made = [vertical_desk(together, name, tmp_path) for name in ("bank", "shop")]
    yield made
    for desk in made:
        desk.close()


@pytest.fixture
def stranger(desks, tmp_path):
    """Somebody with a key of their own."""
    return Correspondents(desks[0].database, Signer.kept_in(tmp_path / "stranger.key"), {})


def asked(desks) -> str:
    bank, shop = desks
    Browser(bank, Role.OFFICER).post(f"/cases/{handle(bank)}/ask", {"organisation": "shop"})
    return str(shop.enquiries.letters()[0][1])


def exchange(desks) -> None:
    bank, shop = desks
    assert Browser(shop, Role.OFFICER).post("/requests/release", {"request": asked(desks)}).status_code == 200
    assert "Signed with the key" in Browser(bank, Role.OFFICER).get(f"/cases/{handle(bank)}").text


def signed_by(who: Correspondents, letter: Letter) -> str:
    theirs = replace(letter, signer=who.signer.pem)
    return json.dumps(theirs.content | {"signature": who.signature(theirs.content)})


def test_both_pages_show_the_keys_that_people_compare(desks):
    bank, shop = desks
    page = text_of(Browser(shop, Role.OFFICER).post("/requests/read", {"request": asked(desks)}).text)
    assert bank.correspondents.own_fingerprint in page
    assert shop.correspondents.own_fingerprint in page
    assert "sees for the first time" in page
    exchange(desks)
    page = text_of(Browser(bank, Role.OFFICER).get(f"/cases/{handle(bank)}").text)
    assert bank.correspondents.own_fingerprint in page
    assert shop.correspondents.own_fingerprint in page
    again = text_of(Browser(shop, Role.OFFICER).post("/requests/read", {"request": asked(desks)}).text)
    assert "the one that is known of" in again


@pytest.mark.parametrize("part", ["identifier", "record", "run", "key", "signer", "signature"])
def test_a_request_that_was_changed_on_its_way_is_refused(desks, stranger, part):
    content = json.loads(asked(desks))
    other = {"signer": stranger.signer.pem, "record": "C1", "signature": stranger.signature(content)}
    changed = json.dumps(content | {part: other.get(part, content[part][::-1])})
    for act in ("read", "release"):
        answer = Browser(desks[1], Role.OFFICER).post(f"/requests/{act}", {"request": changed})
        assert answer.status_code == 422
        assert "must be as the other desk signed it" in answer.text


def test_after_the_first_exchange_nobody_asks_in_anothers_name(desks, stranger):
    exchange(desks)
    forged = signed_by(stranger, Letter.read(asked(desks)))
    answer = Browser(desks[1], Role.OFFICER).post("/requests/release", {"request": forged})
    assert answer.status_code == 422
    assert "must be signed with the key" in answer.text


def test_after_the_first_exchange_nobody_answers_in_anothers_name(desks, stranger):
    exchange(desks)
    bank = desks[0]
    officer, place = Browser(bank, Role.OFFICER), f"/cases/{handle(bank)}"
    asked(desks)
    waiting = next(each for each in bank.enquiries.of(handle(bank)) if not each.answer)
    invented = Letter.read(waiting.request).sealed(["Invented."], stranger)
    assert officer.post(f"{place}/answer", {"sealed": invented}).status_code == 422
    bank.enquiries.mail.send("bank", "f" * 32, invented)
    assert "Invented." not in officer.get(place).text


def test_an_answer_belongs_to_the_request_that_it_was_signed_for(desks):
    bank, shop = desks
    asked(desks)
    asked(desks)
    first, second = (Letter.read(each.request) for each in bank.enquiries.of(handle(bank)))
    sealed = replace(first, identifier=second.identifier).sealed(["A reason."], shop.correspondents)
    answer = Browser(bank, Role.OFFICER).post(f"/cases/{handle(bank)}/answer", {"sealed": sealed})
    assert answer.status_code == 422
    assert json.loads(sealed)["format"] == ANSWERS


def test_a_key_in_the_words_holds_from_the_first_letter_on(desks, stranger, tmp_path):
    shop = desks[1]
    agreed = Organisation("Bank", key=desks[0].correspondents.own_fingerprint)
    wary = Desk(tmp_path / "wary", shop.cases, replace(WORDS, organisations={"bank": agreed}))
    officer, request = Browser(wary, Role.OFFICER), asked(desks)
    forged = signed_by(stranger, Letter.read(request))
    assert officer.post("/requests/read", {"request": forged}).status_code == 422
    assert officer.post("/requests/release", {"request": request}).status_code == 200
    wary.close()
