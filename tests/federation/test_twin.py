"""The protocol between conductor and sites, without an engine: what is equal, what is refused, what is readable."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any
from uuid import uuid4

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from dcshap import HorizontalCollaboration, VerticalCollaboration
from dcshap.collaboration import HorizontalParty
from dcshap.exceptions import (
    FederationError,
    InputError,
    PrivacyError,
    ProtocolError,
    SchemaError,
    StorageError,
)
from dcshap.explanation.horizontal import explain_rows
from dcshap.explanation.disclosures import Answer, RecordPart
from dcshap.explanation.vertical import unite_views, with_parts
from dcshap.federation.seals.ledger import Ledger
from dcshap.federation.party import message_of
from dcshap.federation.seals.requests import Request
from dcshap.federation.site import Right, Secrets

from .conftest import OFFICER, horizontal_tables, people, schema_of, vertical_tables
from .twin import NAME, SEED, Authority

RIGHTS = {OFFICER: Right(("bank", "shop", "full"), 1000)}
PARTIES = {2: ["bank", "shop"], 4: ["bank", "post", "rail", "shop"]}
RECORDS = people().index[[3, 50, 7]].tolist()


def model():
    return LogisticRegression(max_iter=1000)


def in_one_process(names, **settings):
    tables = horizontal_tables(names)
    data = {name: (table.drop(columns="repaid"), table["repaid"]) for name, table in tables.items()}
    return HorizontalCollaboration(schema=schema_of(people()), random_state=SEED, **settings).fit(data)


def vertical_in_one_process(names, estimator, **settings):
    tables = vertical_tables(names)
    labels = tables["bank"].pop("repaid")
    collaboration = VerticalCollaboration(estimator, schema=schema_of(people()), random_state=SEED, **settings)
    return collaboration.fit(tables, labels, label_party="bank"), tables


@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("span", ["private", "shared", "random"])
def test_horizontal_training_equals_that_in_one_process(twin, n, span):
    run = twin("horizontal", PARTIES[n], agreement={"span": span})
    run.conductor(KNeighborsClassifier(5)).train()
    expected = in_one_process(PARTIES[n], model=KNeighborsClassifier(5), span=span)
    X = people(40, seed=9).drop(columns="repaid")
    for name in PARTIES[n]:
        party = HorizontalParty.load(run.sites[name].folder / "party")
        assert np.allclose(party.predict_proba(X), expected.predict_proba(X, party=name), rtol=0, atol=1e-9)
        assert np.allclose(
            explain_rows(party, X.head(3)).values, expected.explain(X.head(3), party=name).values, rtol=0, atol=1e-9
        )


def ask(run, conductor, *, records=RECORDS, view="full", index="shapley", how=None, requester=OFFICER, merged=False):
    who = run.identities[requester]
    request = Request(requester, uuid4().hex, NAME, tuple(records), view, index, merged)
    to = sorted(run.sites) if view == "full" else [view]
    how = how or ("columns" if (view, index) == ("full", "shapley") else "views")
    answered = conductor.answer(run.envelopes(who, request, to), how=how)
    kind = RecordPart if how == "columns" else Answer
    opened: dict[str, Any] = {
        name: message_of(who.open(base64.b64decode(text), purpose="answer", sender=name).content, kind)
        for name, text in answered["answers"].items()
    }
    if how == "columns":
        explained = message_of(base64.b64decode(answered["explanation"]), Answer).explanation
        return with_parts(explained, [opened[name] for name in to])
    views = {name: each.explanation for name, each in opened.items()}
    return unite_views(views) if view == "full" else views[view]


@pytest.mark.parametrize("n", [2, 4])
def test_every_vertical_view_equals_that_in_one_process(twin, n):
    run = twin("vertical", PARTIES[n], rights=RIGHTS, agreement={"n_components": 1})
    conductor = run.conductor(KNeighborsClassifier(5))
    conductor.train()
    expected, tables = vertical_in_one_process(PARTIES[n], KNeighborsClassifier(5), n_components=1)
    held = {name: table.loc[RECORDS] for name, table in tables.items()}
    for view in ("full", "bank"):
        for index in ("shapley", "owen"):
            found, wanted = ask(run, conductor, view=view, index=index), expected.explain(held, view=view, index=index)
            assert found.feature_names == wanted.feature_names
            assert np.allclose(found.values, wanted.values, rtol=0, atol=1e-9)
            assert np.allclose(found.base_values, wanted.base_values, rtol=0, atol=1e-9)
            assert found.reference_fingerprint == wanted.reference_fingerprint
            assert list(found.data.index) == RECORDS
    merged = ask(run, conductor, view="bank", merged=True)
    assert np.allclose(merged.values, expected.explain(held, view="bank", merged=True).values, rtol=0, atol=1e-9)


def test_a_prediction_equals_that_in_one_process(twin):
    run = twin("vertical", PARTIES[2], rights=RIGHTS)
    conductor = run.conductor(model())
    conductor.train()
    expected, tables = vertical_in_one_process(PARTIES[2], model())
    request = Request(OFFICER, uuid4().hex, NAME, tuple(RECORDS), "full")
    answered = conductor.answer(run.envelopes(run.identities[OFFICER], request, PARTIES[2]), how="predict")
    wanted = expected.predict_proba({name: table.loc[RECORDS] for name, table in tables.items()})
    assert np.allclose(answered["predictions"], wanted, rtol=0, atol=1e-9)
    assert answered["classes"] == ["no", "yes"]


def test_a_trained_collaboration_goes_on_after_everybody_restarted(twin):
    first = twin("vertical", PARTIES[2], rights=RIGHTS)
    conductor = first.conductor(model())
    conductor.train()
    before = ask(first, conductor, view="bank")
    again = twin_again(first)
    resumed = again.conductor()
    resumed.resume()
    assert np.array_equal(ask(again, resumed, view="bank").values, before.values)


def twin_again(run):
    return type(run).of(run.folder, run.kind, [site.config for site in run.sites.values()], run.identities)


def test_training_again_sends_the_same_representation(twin):
    run = twin("horizontal", PARTIES[2])
    run.conductor(model()).train()
    first = run.sites["bank"].party.represent()
    again = twin_again(run)
    again.conductor(model()).train()
    assert np.array_equal(first.rows, again.sites["bank"].party.represent().rows)


# --- what is refused, and how it is said ------------------------------------------------------------------------


def refusal(run, estimator=None, kind=Exception):
    with pytest.raises(kind) as refused:
        run.conductor(estimator or model()).train()
    return str(refused.value)


def test_an_instance_based_model_is_refused_before_anything_is_sent(twin):
    run = twin("horizontal", PARTIES[2], changes={"shop": {"instance_models": False}})
    said = refusal(run, KNeighborsClassifier(), PrivacyError)
    assert "['shop']" in said
    assert list(Ledger(run.sites["bank"].config.ledger)) == []


def test_a_run_with_anybody_who_was_not_agreed_on_is_refused(twin):
    run = twin("horizontal", PARTIES[4], changes={"bank": {"partners": ("post", "shop")}})
    said = refusal(run, kind=PrivacyError)
    assert "agreed to work with ['post', 'shop']" in said
    assert list(Ledger(run.sites["bank"].config.ledger)) == []


def test_another_schema_version_is_named(twin):
    table = people()
    table.loc[table.index[0], "age"] = 150.0
    run = twin("horizontal", PARTIES[2], schemas={"shop": schema_of(table)})
    said = refusal(run, kind=SchemaError)
    assert "'shop'" in said
    assert "'age' differs in high" in said


def test_other_settings_are_named(twin):
    run = twin("horizontal", PARTIES[2], changes={"shop": {"agreement": {"n_anchor": 999}}})
    assert "['n_anchor']" in refusal(run, kind=ProtocolError)


def test_another_anchor_is_refused_by_the_party_that_was_given_one(twin):
    run = twin("horizontal", PARTIES[2])
    secrets = Secrets.load(run.sites["shop"].folder)
    secrets.anchor_seed, secrets.agreed = 12345, True
    secrets.save(run.sites["shop"].folder)
    said = refusal(run, kind=PrivacyError)
    assert "another anchor" in said
    assert "12345" not in said


@pytest.mark.parametrize("span", ["shared", "random"])
def test_one_party_with_another_span_is_refused(twin, span):
    run = twin("horizontal", PARTIES[2], changes={"shop": {"agreement": {"span": span}}})
    assert "['span']" in refusal(run, kind=ProtocolError)


def test_nan_wrong_shapes_and_another_party_s_name_are_refused_at_the_analyst(twin, monkeypatch):
    def spoilt(change):
        run = twin("horizontal", PARTIES[2])
        represent = HorizontalParty.represent

        def broken(self):
            message = represent(self)
            return change(message) if self.name == "shop" else message

        monkeypatch.setattr(HorizontalParty, "represent", broken)
        said = refusal(run, kind=ProtocolError)
        monkeypatch.undo()
        return said

    assert "'shop' must send finite numbers" in spoilt(lambda m: replace(m, rows=m.rows * np.nan))
    assert "'shop' must send rows (n, m)" in spoilt(lambda m: replace(m, rows=m.rows[:, :2]))
    assert "'shop' sent 7 rows" in spoilt(lambda m: replace(m, anchor=m.anchor[:7]))
    assert "in another party's name" in spoilt(lambda m: replace(m, party="bank"))


def test_a_silent_party_is_named_and_the_others_go_on(twin):
    run = twin("horizontal", PARTIES[4])
    run.silent = {"rail"}
    assert "['rail']" in refusal(run, kind=FederationError)
    run.silent = set()
    twin_again(run).conductor(model()).train()


def test_all_tables_problems_are_told_at_once(twin):
    tables = horizontal_tables(PARTIES[2])
    broken = {name: table.drop(columns="age") for name, table in tables.items()}
    said = refusal(twin("horizontal", PARTIES[2], tables=broken), kind=SchemaError)
    assert "'bank': " in said
    assert "'shop': " in said
    assert said.count("age") == 2


def test_columns_that_two_vertical_parties_hold_are_refused(twin):
    tables = vertical_tables(PARTIES[2])
    tables["shop"] = tables["shop"].assign(age=people()["age"])
    assert "Held by several: ['age']" in refusal(twin("vertical", PARTIES[2], tables=tables), kind=SchemaError)


def test_a_column_that_nobody_brings_is_refused(twin):
    tables = vertical_tables(PARTIES[2])
    tables["shop"] = tables["shop"].drop(columns="years")
    assert "Nobody brings ['years']" in refusal(twin("vertical", PARTIES[2], tables=tables), kind=SchemaError)


def test_no_or_two_label_holders_are_refused(twin):
    tables = vertical_tables(PARTIES[2])
    none = tables | {"bank": tables["bank"].drop(columns="repaid")}
    assert "Got none" in refusal(twin("vertical", PARTIES[2], tables=none), kind=InputError)
    two = tables | {"shop": tables["shop"].assign(repaid="yes")}
    assert "['bank', 'shop']" in refusal(twin("vertical", PARTIES[2], tables=two), kind=InputError)


def test_a_collaboration_that_was_never_trained_does_not_resume(twin):
    with pytest.raises(StorageError, match="train first"):
        twin("vertical", PARTIES[2]).conductor().resume()


def test_a_party_that_lost_its_state_says_so(twin):
    run = twin("vertical", PARTIES[2])
    run.conductor(model()).train()
    (run.sites["shop"].folder / "run.json").unlink()
    with pytest.raises(StorageError, match=r"'shop'.*train again"):
        twin_again(run).conductor().resume()


# --- requests ------------------------------------------------------------------------------------------------------


@pytest.fixture
def serving(twin):
    run = twin("vertical", PARTIES[2], rights={OFFICER: Right(("bank",), 4)})
    conductor = run.conductor(model())
    conductor.train()
    return run, conductor


def test_the_budget_counts_records_and_ends(serving):
    run, conductor = serving
    ask(run, conductor, view="bank", records=RECORDS)
    with pytest.raises(PrivacyError, match="3 are used and 2 more"):
        ask(run, conductor, view="bank", records=RECORDS[:2])
    ask(run, conductor, view="bank", records=RECORDS[:1], index="owen")
    with pytest.raises(PrivacyError, match="budget"):
        ask(run, conductor, view="bank", records=RECORDS[:1])
    kinds = [entry.kind for entry in Ledger(run.sites["shop"].config.ledger) if entry.requester]
    assert kinds == ["RecordVectors"] * 2


@pytest.mark.parametrize("view", ["shop", "full"])
def test_a_view_without_right_is_refused(serving, view):
    run, conductor = serving
    with pytest.raises(PrivacyError, match=r"right to the views \['bank'\]"):
        ask(run, conductor, view=view)


def test_a_stranger_is_refused(serving):
    run, conductor = serving
    with pytest.raises(PrivacyError, match="no right"):
        ask(run, conductor, view="bank", requester="stranger@bank.example")


def test_one_party_s_consent_does_not_stand_for_another_s(twin):
    run = twin("vertical", PARTIES[2], rights=RIGHTS)
    conductor = run.conductor(model())
    conductor.train()
    object.__setattr__(run.sites["shop"].config, "rights", {})
    with pytest.raises(PrivacyError, match="'shop' has given"):
        ask(run, conductor, view="bank")
    assert not [entry for entry in Ledger(run.sites["shop"].config.ledger) if entry.requester]


def test_an_envelope_is_answered_once(serving):
    run, conductor = serving
    request = Request(OFFICER, uuid4().hex, NAME, tuple(RECORDS[:1]), "bank")
    envelopes = run.envelopes(run.identities[OFFICER], request, ["bank"])
    conductor.answer(envelopes, how="views")
    with pytest.raises(PrivacyError, match="answered before"):
        conductor.answer(envelopes, how="views")


def test_a_request_in_another_s_name_is_refused(serving):
    run, conductor = serving
    request = Request(OFFICER, uuid4().hex, NAME, tuple(RECORDS[:1]), "bank")
    with pytest.raises(ProtocolError, match="expected"):
        conductor.answer(run.envelopes(run.identities["stranger@bank.example"], request, ["bank"]), how="views")


def test_a_request_under_another_authority_is_refused(serving, tmp_path):
    run, conductor = serving
    impostor = Authority("dcshap").issue(tmp_path / "impostor", OFFICER)
    request = Request(OFFICER, uuid4().hex, NAME, tuple(RECORDS[:1]), "bank")
    with pytest.raises(ProtocolError, match="authority"):
        conductor.answer(run.envelopes(impostor, request, ["bank"]), how="views")


def test_an_unknown_record_is_counted_and_not_named(serving):
    run, conductor = serving
    with pytest.raises(InputError) as refused:
        ask(run, conductor, view="bank", records=["nobody-4711"])
    assert "lacks 1 of 1" in str(refused.value)
    assert "4711" not in str(refused.value)


def test_the_analyst_cannot_ask_for_what_nobody_requested(serving):
    run, _ = serving
    for step in ("explain", "columns", "records"):
        with pytest.raises(ProtocolError):
            run.sites["bank"].handle(step, {"timeout": 1.0}, b"anything")
    with pytest.raises(ProtocolError, match="knows the steps"):
        run.sites["bank"].handle("reduction", {}, b"")


# --- what can be read on the way ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["horizontal", "vertical"])
def test_nothing_secret_is_in_what_was_carried(twin, kind):
    run = twin(kind, PARTIES[2], rights=RIGHTS, agreement={"span": "shared"} if kind == "horizontal" else {})
    conductor = run.conductor(model())
    conductor.train()
    if kind == "vertical":
        for view in ("bank", "full"):
            for index in ("shapley", "owen"):
                ask(run, conductor, view=view, index=index)
    seen = b"".join(run.carried)
    for name, site in run.sites.items():
        for what, needle in forbidden(site).items():
            assert needle not in seen, (name, what)


def forbidden(site):
    """What must not be readable, as bytes: numbers as they lie in arrays and as text, identifiers, seeds, keys."""
    secrets, party = Secrets.load(site.folder), site.party
    found = {
        "private seed": str(secrets.private_seed).encode(),
        "shared seed": str(secrets.anchor_seed).encode(),
        "shared seed in hex": hex(secrets.anchor_seed or 0)[2:].encode(),
        "anchor row": party.anchor.rows[0].tobytes(),
        "anchor row as codes": party.anchor.codes[0].tobytes(),
        "reduction": party.reduction.weights[0].tobytes(),
        "raw row": party.codes[0].tobytes(),
        "raw row encoded": party.encode(party.agreement.schema.frame(party.codes[:1]))[0].tobytes(),
    }
    if secrets.pseudonym_key is not None and site.settings.kind == "vertical":
        found["key"] = secrets.pseudonym_key
        found |= {f"record {at}": record.encode() for at, record in enumerate(people().index)}
    for column in ("income", "basket", "debt"):
        table = pd.read_parquet(site.config.folder / "table.parquet")
        if column in table:
            values = table[column].to_numpy()
            found |= {f"{column} as text": repr(float(values[0])).encode(), column: values[:3].tobytes()}
    return found
