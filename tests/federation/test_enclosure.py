"""What a request tells one party alone: openings of receipts, and cells as they would be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dcshap.exceptions import DcshapError, InputError, PrivacyError, ProtocolError
from dcshap.explanation import answering
from dcshap.explanation.answering import AnsweringParty
from dcshap.explanation.disclosures import Request
from dcshap.explanation.enclosure import Enclosure, _digest, enclosed, enclosure_of
from dcshap.explanation.receipt import compare, fresh_opening, receipt_of
from dcshap.federation.seals.ledger import Ledger
from dcshap.federation.seals.wire import pack
from dcshap.federation.site.admission import Declining
from dcshap.federation.site.configuration import Right, SiteConfig
from dcshap.protocol.steps import PARTY_VIEWS

from .conftest import OFFICER, builder, people

PARTIES = ["bank", "post", "shop"]
RECORD = people().index[0]
CLERK = "clerk@bank.example"


@pytest.fixture(scope="module")
def asked(tmp_path_factory, identities):
    """A federation, and a requester who may ask what if, and as often as all tests here do."""
    rights = {OFFICER: Right(("bank", "post", "shop", "full"), 1000, what_if=True)}
    run = builder(tmp_path_factory.mktemp("enclosure"), identities)("vertical", PARTIES, rights=rights)
    analyst = run.trained(LogisticRegression(max_iter=1000))
    return run, run.requester(analyst, OFFICER)


def charged(run, name="bank"):
    return sum(line.units for line in Ledger(run.sites[name].config.ledger))


def own_columns(run, name="bank"):
    return run.sites[name].party.agreement.schema.names


def test_a_view_comes_with_a_receipt_that_its_party_has_signed(asked):
    run, requester = asked
    explained, (receipt,) = requester.explain_signed([RECORD], view="bank")
    plain = requester.explain([RECORD], view="bank")
    assert explained.values.tolist() == plain.values.tolist()
    receipt.verify(root=run.identities["bank"].root_pem)
    cells = {name: explained.data[name].iloc[0] for name in own_columns(run)}
    assert receipt.is_of(cells, receipt.opening)
    assert (receipt.party, receipt.view) == ("bank", "bank")


def test_receipts_of_two_parties_views_under_one_opening_prove_that_they_agree(asked):
    _, requester = asked
    openings = [fresh_opening()]
    views = [requester.explain_signed([RECORD], view=name, openings=openings)[1][0] for name in ("bank", "shop")]
    assert compare(*views).same


@pytest.mark.parametrize("forged", ["values", "record", "signature", "party"])
def test_a_receipt_that_is_not_of_what_was_sent_is_refused(asked, monkeypatch, forged):
    run, requester = asked
    honest = receipt_of

    def lie(party, explanation, *, signer, **about):
        made = honest(party, explanation, signer=signer, **about)
        if forged == "values":
            other = replace(explanation, values=explanation.values[:, ::-1])
            return honest(party, other, signer=signer, **about)
        if forged == "record":
            return replace(made, record="0" * 64).signed(signer)
        if forged == "party":
            other = run.identities["shop"]
            return replace(made).signed(replace(signer, pem=other.certificate.pem, sign=other.sign))
        return replace(made, run="another")

    monkeypatch.setattr(answering, "receipt_of", lie)
    with pytest.raises(ProtocolError, match="receipt"):
        requester.explain_signed([RECORD], view="bank")


def test_what_if_changes_own_cells_and_leaves_what_the_others_hold(asked):
    run, requester = asked
    before, _ = requester.explain_signed([RECORD], view="bank")
    name = own_columns(run)[0]
    column = run.sites["bank"].party.agreement.schema[name]
    after, (receipt,) = requester.explain_signed([RECORD], view="bank", changes={name: f"{column.high:.12g}"})
    assert after.data[name].iloc[0] == column.high
    assert not np.allclose(before.predictions, after.predictions)
    np.testing.assert_allclose(before.base_values, after.base_values)
    receipt.verify()
    unchanged = {each: before.data[each].iloc[0] for each in own_columns(run)}
    same, _ = requester.explain_signed([RECORD], view="bank", changes={name: str(unchanged[name])})
    np.testing.assert_allclose(same.values, before.values)


def test_what_if_is_charged_like_every_request(asked):
    run, requester = asked
    name = own_columns(run)[0]
    before = charged(run), charged(run, "shop")
    requester.explain_signed([RECORD], view="bank")
    plain = charged(run) - before[0], charged(run, "shop") - before[1]
    value = f"{run.sites['bank'].party.agreement.schema[name].low:.12g}"
    requester.explain_signed([RECORD], view="bank", changes={name: value})
    assert (charged(run) - before[0], charged(run, "shop") - before[1]) == (2 * plain[0], 2 * plain[1])
    assert min(plain) > 0


def test_who_has_no_right_to_ask_what_if_is_refused_before_anything_is_charged_or_sent(twin):
    run = twin("vertical", PARTIES, rights={OFFICER: Right(("bank", "full"), 50)})
    requester = run.requester(run.trained(LogisticRegression(max_iter=1000)), OFFICER)
    name = own_columns(run)[0]
    with pytest.raises(PrivacyError, match="no right to ask what if"):
        requester.explain_signed([RECORD], view="bank", changes={name: "1"})
    assert charged(run) == 0
    assert charged(run, "shop") == 0


def test_a_right_to_ask_what_if_is_not_there_unless_it_is_written_down(tmp_path):
    config = SiteConfig("bank", tmp_path, {}, {OFFICER: Right(("bank",), 5), CLERK: Right(("bank",), 5, what_if=True)})
    config.save()
    assert SiteConfig.load(tmp_path).rights == config.rights
    path = tmp_path / "local" / "dcshap.yaml"
    path.write_text(path.read_text().replace("    what_if: false\n", ""))
    assert SiteConfig.load(tmp_path).rights == config.rights
    path.write_text(path.read_text().replace("what_if: true", "what_if: 'true'"))
    with pytest.raises(DcshapError, match="of another type"):
        SiteConfig.load(tmp_path)


def test_other_parties_are_shown_neither_changes_nor_openings(asked, monkeypatch):
    run, requester = asked
    forwarded, received = [], AnsweringParty.receive_forward

    def spy(self, message):
        forwarded.append(message)
        received(self, message)

    monkeypatch.setattr(AnsweringParty, "receive_forward", spy)
    name, opening = own_columns(run)[0], fresh_opening()
    value = f"{run.sites['bank'].party.agreement.schema[name].low:.12g}"
    requester.explain_signed([RECORD], view="bank", openings=[opening], changes={name: value})
    assert len(forwarded) == 2
    for message in forwarded:
        assert message.enclosure == ""
        assert opening.encode() not in pack(message)
        assert f'"{name}"'.encode() not in pack(message)
        assert message.signature


def test_an_enclosure_that_was_exchanged_on_the_way_is_refused():
    request = Request("o", "r", "study", "run", "party views", ("a",), "bank")
    made = enclosed(request, Enclosure(("one",), {"age": "3"}))
    assert enclosure_of(made) == Enclosure(("one",), {"age": "3"})
    with pytest.raises(ProtocolError, match="what its author has signed"):
        enclosure_of(replace(made, enclosure=made.enclosure.replace("3", "4")))
    assert enclosed(request, Enclosure(("one",), {"age": "3"})).enclosed != made.enclosed  # nobody can try it out
    assert enclosed(request, Enclosure()) == request


def test_an_enclosure_that_is_none_is_refused():
    for text in ("[]", "{}", '{"openings": [1], "changes": {}}', '{"openings": ["a", "b"], "changes": {}}', "["):
        request = Request("o", "r", "study", "run", "party views", ("a",), "bank", enclosure=text)
        made = enclosed(request, Enclosure(("x",)))
        with pytest.raises(ProtocolError):
            enclosure_of(replace(made, enclosure=text))


def test_what_if_is_of_one_record_and_one_party_and_within_the_schema(asked):
    run, requester = asked
    name = own_columns(run)[0]
    with pytest.raises(InputError, match="one party's own columns"):
        requester._ask(PARTY_VIEWS, [RECORD], enclosure=Enclosure((), {name: "1"}), view="full")
    with pytest.raises(ProtocolError, match="changes of one record"):
        requester.explain_signed(list(people().index[:2]), view="bank", changes={name: "1"})
    with pytest.raises(DcshapError) as outside:
        requester.explain_signed([RECORD], view="bank", changes={name: "987654321"})
    assert "987654321" not in str(outside.value)
    with pytest.raises(DcshapError, match="no column"):
        requester.explain_signed([RECORD], view="bank", changes={"secret": "1"})


# --- groups of columns ---------------------------------------------------------------------------------------------


def columns_of(run):
    return {name: list(own_columns(run, name)) for name in PARTIES}


def test_a_group_is_one_player_in_every_view(asked):
    run, requester = asked
    held = columns_of(run)
    groups = {"money": held["bank"], "habits": held["shop"][:2]}
    alone = [*held["post"], *held["shop"][2:]]
    explained = requester.explain([RECORD], groups=groups)
    assert set(explained.feature_names) == {"money", "habits", *alone}
    plain = requester.explain([RECORD])
    # Owen values of a party's features add up to what the party is worth, however they are grouped.
    at = [plain.feature_names.index(column) for column in held["bank"]]
    money = explained.values[:, explained.feature_names.index("money")]
    np.testing.assert_allclose(money, plain.values[:, at].sum(axis=1), atol=1e-12)
    view = requester.explain([RECORD], view="bank", groups={"money": held["bank"]})
    assert view.feature_names[0] == "money"
    np.testing.assert_allclose(view.values[:, 0], money, atol=1e-12)
    bars = requester.explain([RECORD], view="bank", index="shapley", groups=[held["bank"]])
    assert bars.feature_names[0] == " + ".join(held["bank"])


def test_what_no_party_can_group_is_refused_before_anything_is_charged(asked):
    run, requester = asked
    held, before = columns_of(run), charged(run)
    for groups, said in (
        ({"both": [held["bank"][0], held["shop"][0]]}, "must hold columns of one party"),
        ({"other": [held["shop"][0]]}, "must hold columns of one party"),
        ({held["bank"][1]: [held["bank"][0]]}, "like a column that is not in it"),
        ({"DC Features": [held["bank"][0]]}, "must not begin with 'DC Features'"),
        ({"twice": [held["bank"][0], held["bank"][0]]}, "exactly once"),
        ({"none": []}, "at least one column"),
    ):
        with pytest.raises(InputError, match=said):
            requester.explain([RECORD], view="bank", groups=groups)
    assert charged(run) == before
    with pytest.raises(InputError, match=r"None holds \['nowhere'\]"):
        requester.explain([RECORD], groups={"none": ["nowhere"]})


def test_a_party_that_lacks_the_record_refuses_the_same_groups(asked):
    run, requester = asked
    wrong = {"both": [own_columns(run)[0], "nowhere"]}
    for record in (RECORD, "nobody"):
        with pytest.raises(InputError, match="must hold columns of one party"):
            requester.explain([record], view="bank", groups=wrong)
    unsigned = Request("", "", "", "", PARTY_VIEWS.name, ("nobody",), "full")
    declining = Declining(unsigned, run.sites["bank"].party)
    with pytest.raises(InputError, match="must hold columns of one party"):
        declining.receive_request(enclosed(unsigned, Enclosure(groups=wrong)))


def test_other_parties_are_not_shown_the_groups_of_one_view(asked, monkeypatch):
    run, requester = asked
    name, shown = own_columns(run)[0], []
    receive = AnsweringParty.receive_forward

    def look(self, message):
        shown.append(message)
        receive(self, message)

    monkeypatch.setattr(AnsweringParty, "receive_forward", look)
    requester.explain([RECORD], view="bank", groups={"a secret name": [name]})
    assert len(shown) == 2
    assert all(each.enclosed and b"a secret name" not in pack(each) for each in shown)


@pytest.mark.parametrize(
    "groups", ['{"a": "bc"}', '{"a": []}', '{"a": ["b", "b"]}', '{"": ["b"]}', '["a"]', "3", '{"a": [1]}']
)
def test_groups_that_are_none_are_refused(groups):
    text = f'{{"openings": [], "changes": {{}}, "groups": {groups}}}'
    request = Request("", "", "", "", PARTY_VIEWS.name, ("1",), "bank")
    with pytest.raises(ProtocolError, match="groups of different columns"):
        enclosure_of(replace(request, enclosure=text, enclosed=_digest(text)))


def test_algorithm_3_takes_groups_of_several_parties(twin):
    run = twin("vertical", PARTIES, rights={OFFICER: Right(("full",), 50)})
    requester = run.requester(run.trained(LogisticRegression(max_iter=1000)), OFFICER)
    held = columns_of(run)
    groups = {"mixed": [held["shop"][0], held["bank"][0]]}
    explained = requester.explain([RECORD], index="shapley", groups=groups)
    rest = [column for name in PARTIES for column in held[name] if column not in groups["mixed"]]
    assert explained.feature_names == ("mixed", *rest)
    np.testing.assert_allclose(explained.values.sum(axis=1) + explained.base_values, explained.predictions, atol=1e-9)
    with pytest.raises(InputError, match="like a column that is not in it"):
        requester.explain([RECORD], index="shapley", groups={held["shop"][1]: [held["bank"][0]]})
