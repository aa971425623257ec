"""Sites on a simulated network: what is equal, what is refused and how, what can be read on the way."""

from __future__ import annotations

import shutil
from dataclasses import replace
from uuid import uuid4

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from dcshap import HorizontalCollaboration, Schema, VerticalCollaboration
from dcshap.collaboration import HorizontalParty
from dcshap.exceptions import (
    FederationError,
    InputError,
    PrivacyError,
    ProtocolError,
    SchemaError,
    StorageError,
)
from dcshap.explanation.rows import explain_rows
from dcshap.federation.seals.ledger import Ledger
from dcshap.federation.site.configuration import Right
from dcshap.federation.site.party_site import load_trained
from dcshap.federation.site.secrets import Secrets

from .conftest import OFFICER, horizontal_tables, people, schema_of, vertical_tables
from .twin import NAME, SEED

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
@pytest.mark.parametrize("span", ["supervised", "private", "shared", "random"])
def test_horizontal_training_equals_that_in_one_process(twin, n, span):
    run = twin("horizontal", PARTIES[n], agreement={"span": span})
    run.trained(KNeighborsClassifier(5))
    expected = in_one_process(PARTIES[n], model=KNeighborsClassifier(5), span=span)
    X = people(40, seed=9).drop(columns="repaid")
    for name in PARTIES[n]:
        party = load_trained(run.sites[name].config, NAME)
        assert np.allclose(party.predict_proba(X), expected.predict_proba(X, party=name), rtol=0, atol=1e-9)
        assert np.allclose(
            explain_rows(party, X.head(3)).values, expected.explain(X.head(3), party=name).values, rtol=0, atol=1e-9
        )


def ask(run, analyst, *, records=RECORDS, requester=OFFICER, **what):
    return run.requester(analyst, requester).explain(records, **what)


@pytest.mark.parametrize("n", [2, 4])
def test_every_vertical_view_equals_that_in_one_process(twin, n):
    run = twin("vertical", PARTIES[n], rights=RIGHTS, agreement={"n_components": 1})
    analyst = run.trained(KNeighborsClassifier(5))
    expected, tables = vertical_in_one_process(PARTIES[n], KNeighborsClassifier(5), n_components=1)
    held = {name: table.loc[RECORDS] for name, table in tables.items()}
    for view in ("full", "bank"):
        for index in ("shapley", "owen"):
            found, wanted = ask(run, analyst, view=view, index=index), expected.explain(held, view=view, index=index)
            assert found.feature_names == wanted.feature_names
            assert np.allclose(found.values, wanted.values, rtol=0, atol=1e-9)
            assert np.allclose(found.base_values, wanted.base_values, rtol=0, atol=1e-9)
            assert found.reference_fingerprint == wanted.reference_fingerprint
            assert list(found.data.index) == RECORDS
    merged = ask(run, analyst, view="bank", index="shapley", merged=True)
    assert np.allclose(
        merged.values, expected.explain(held, view="bank", index="shapley", merged=True).values, rtol=0, atol=1e-9
    )


def test_a_background_is_the_same_as_in_one_process_and_comes_back_after_a_restart(twin):
    run = twin("vertical", PARTIES[2], rights=RIGHTS)
    analyst = run.trained(model())
    expected, tables = vertical_in_one_process(PARTIES[2], model())
    held = {name: table.loc[RECORDS] for name, table in tables.items()}
    against = {"reference": "background", "n_background": 6}
    wanted = expected.explain(held, index="owen", **against)
    again = run.again()
    resumed = again.analyst()
    resumed.resume(uuid4().hex)
    for found in (ask(run, analyst, index="owen", **against), ask(again, resumed, index="owen", **against)):
        assert np.allclose(found.values, wanted.values, rtol=0, atol=1e-9)
        assert found.reference_fingerprint == wanted.reference_fingerprint
        assert found.reference is None
    with pytest.raises(InputError, match="at most 500 rows"):
        ask(again, resumed, index="owen", reference="background", n_background=501)


def test_a_prediction_equals_that_in_one_process(twin):
    run = twin("vertical", PARTIES[2], rights=RIGHTS)
    analyst = run.trained(model())
    expected, tables = vertical_in_one_process(PARTIES[2], model())
    answered = run.requester(analyst, OFFICER).predict(RECORDS)
    wanted = expected.predict_proba({name: table.loc[RECORDS] for name, table in tables.items()})
    assert np.allclose(answered.values, wanted, rtol=0, atol=1e-9)
    assert answered.classes == ("no", "yes")


def test_requests_that_were_answered_are_not_kept(twin):
    run = twin("vertical", PARTIES[2], rights={OFFICER: Right(("bank", "full"), 100)})
    analyst = run.trained(model())
    for view, index in (("bank", "owen"), ("bank", "shapley"), ("full", "owen"), ("full", "shapley")):
        for _ in range(2):
            ask(run, analyst, view=view, index=index)
            run.requester(analyst, OFFICER).predict(RECORDS[:1])
    for site in run.sites.values():
        assert len(site._asked_at) <= 1  # the last one, until the next comes
        assert {key for key in site._sessions if key in site._asked_at} == set(site._asked_at)


def test_a_trained_collaboration_goes_on_after_everybody_restarted(twin):
    first = twin("vertical", PARTIES[2], rights=RIGHTS)
    analyst = first.trained(model())
    before = ask(first, analyst, view="bank")
    again = first.again()
    resumed = again.analyst()
    resumed.resume(uuid4().hex)
    assert np.array_equal(ask(again, resumed, view="bank").values, before.values)


@pytest.mark.parametrize("span", ["supervised", "private", "shared", "random"])
def test_training_again_sends_the_same_representation(twin, span):
    run = twin("horizontal", PARTIES[2], agreement={"span": span})
    run.trained(model())
    first = run.sites["bank"].party.send_representation("analyst")
    again = run.again()
    again.trained(model())
    assert np.array_equal(first.rows, again.sites["bank"].party.send_representation("analyst").rows)


# --- what is refused, and how it is said ------------------------------------------------------------------------


def refusal(run, estimator=None, kind=Exception):
    with pytest.raises(kind) as refused:
        run.trained(estimator or model())
    return str(refused.value)


def test_an_instance_based_model_is_refused_before_anything_is_sent(twin):
    run = twin("horizontal", PARTIES[2], changes={"shop": {"instance_models": False}})
    said = refusal(run, KNeighborsClassifier(), PrivacyError)
    assert "['shop']" in said
    assert left(run, "bank") == ["Greeting"]


def test_a_run_with_anybody_who_was_not_agreed_on_is_refused(twin):
    run = twin("horizontal", PARTIES[4], changes={"bank": {"partners": ("post", "shop")}})
    said = refusal(run, kind=PrivacyError)
    assert "agreed to work with ['post', 'shop']" in said
    assert left(run, "bank") == ["Greeting"]


def left(run, name):
    """The kinds of messages that left a party, by its ledger."""
    return [entry.kind for entry in Ledger(run.sites[name].config.ledger) if entry.kind != "Refusal"]


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


def test_a_schema_and_settings_that_differ_are_all_named_at_once(twin):
    content = schema_of(people()).to_dict()
    low, high = (content["columns"]["age"][end] for end in ("low", "high"))
    content["columns"]["age"]["knots"] = [low, 40.0, high]
    run = twin(
        "horizontal",
        PARTIES[4],
        schemas={"shop": Schema.from_dict(content)},
        changes={"shop": {"agreement": {"epsilon": 3.0, "noise": 0.3}}, "post": {"agreement": {"noise": 0.1}}},
    )
    said = refusal(run, kind=FederationError)
    assert "column 'age' differs in knots" in said
    assert "'shop' differs: ['epsilon', 'noise']" in said
    assert "'post' differs: ['noise']" in said


def test_another_anchor_is_refused_by_the_party_that_was_given_one(twin):
    run = twin("horizontal", PARTIES[2])
    secrets = Secrets.load(run.sites["shop"].folder)
    secrets.anchor_seed, secrets.agreed = 12345, True
    secrets.save(run.sites["shop"].folder)
    said = refusal(run, kind=PrivacyError)
    assert "another anchor" in said
    assert "12345" not in said


@pytest.mark.parametrize("span", ["private", "shared", "random"])
def test_one_party_with_another_span_is_refused(twin, span):
    run = twin("horizontal", PARTIES[2], changes={"shop": {"agreement": {"span": span}}})
    assert "['span']" in refusal(run, kind=ProtocolError)


def test_nan_wrong_shapes_and_another_party_s_name_are_refused_at_the_analyst(twin, monkeypatch):
    def spoilt(change):
        run = twin("horizontal", PARTIES[2])
        represent = HorizontalParty.send_representation

        def broken(self, to):
            message = represent(self, to)
            return change(message) if self.name == "shop" else message

        monkeypatch.setattr(HorizontalParty, "send_representation", broken)
        said = refusal(run, kind=ProtocolError)
        monkeypatch.undo()
        return said

    assert "'shop' must send finite numbers" in spoilt(lambda m: replace(m, rows=m.rows * np.nan))
    assert "'shop' must send rows (n, m)" in spoilt(lambda m: replace(m, rows=m.rows[:, :1]))
    assert "'shop' sent 7 rows" in spoilt(lambda m: replace(m, anchor=m.anchor[:7]))
    assert "in another's name" in spoilt(lambda m: replace(m, party="bank"))


def test_a_silent_party_is_named_and_the_others_go_on(twin):
    run = twin("horizontal", PARTIES[4])
    run.network.silent = {"rail"}
    assert "No answer from 'rail'" in refusal(run, kind=FederationError)
    run.again().trained(model())


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
        twin("vertical", PARTIES[2]).analyst().resume(uuid4().hex)


def test_a_party_that_lost_its_state_says_so(twin):
    run = twin("vertical", PARTIES[2])
    analyst = run.trained(model())
    shutil.rmtree(run.sites["shop"].folder / f"run-{analyst.run}")
    (run.sites["shop"].folder / "run.json").unlink()
    with pytest.raises(StorageError, match=r"'shop'.*train again"):
        run.again().analyst().resume(uuid4().hex)


# --- requests ------------------------------------------------------------------------------------------------------


@pytest.fixture
def serving(twin):
    run = twin("vertical", PARTIES[2], rights={OFFICER: Right(("bank",), 4)})
    analyst = run.trained(model())
    return run, analyst


def test_the_budget_counts_records_and_ends(serving):
    run, analyst = serving
    ask(run, analyst, view="bank", records=RECORDS)
    with pytest.raises(PrivacyError, match="3 are used and 2 more"):
        ask(run, analyst, view="bank", records=RECORDS[:2])
    ask(run, analyst, view="bank", records=RECORDS[:1], index="owen")
    with pytest.raises(PrivacyError, match="budget"):
        ask(run, analyst, view="bank", records=RECORDS[:1])
    kinds = [entry.kind for entry in Ledger(run.sites["shop"].config.ledger) if entry.requester]
    assert kinds == ["Asked", "RecordVectors", "Asked", "RecordVectors"]


@pytest.mark.parametrize("view", ["shop", "full"])
def test_a_view_without_right_is_refused(serving, view):
    run, analyst = serving
    with pytest.raises(PrivacyError, match=r"right to the views \['bank'\]"):
        ask(run, analyst, view=view)


def test_a_stranger_is_refused(serving):
    run, analyst = serving
    with pytest.raises(PrivacyError, match="no right"):
        ask(run, analyst, view="bank", requester="stranger@bank.example")


def test_one_party_s_consent_does_not_stand_for_another_s(twin):
    run = twin("vertical", PARTIES[2], rights=RIGHTS)
    analyst = run.trained(model())
    replace(run.sites["shop"].config, rights={}).save()
    with pytest.raises(PrivacyError, match="'shop' has given"):
        ask(run, analyst, view="bank")
    assert not [entry for entry in Ledger(run.sites["shop"].config.ledger) if entry.n_records]


# --- what can be read on the way ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "agreement"),
    [("horizontal", {"span": "shared"}), ("horizontal", {"span": "supervised"}), ("vertical", {})],
)
def test_nothing_secret_is_in_what_was_carried(twin, kind, agreement):
    run = twin(kind, PARTIES[2], rights=RIGHTS, agreement=agreement)
    analyst = run.trained(model())
    if kind == "vertical":
        for view in ("bank", "full"):
            for index in ("shapley", "owen"):
                ask(run, analyst, view=view, index=index)
    seen = b"".join(run.network.carried)
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
