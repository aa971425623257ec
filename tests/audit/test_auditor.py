"""The audit of whole releases: old settings fail, the default passes every line of the analyst alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from dcshap import VerticalCollaboration
from dcshap.audit import THRESHOLDS, Audit, History, Line, audit_party
from dcshap.audit.findings import ALONE
from dcshap.audit.ledgers import ledger_lines
from dcshap.audit.models import model_line
from dcshap.audit.release import release_of
from dcshap.collaboration import Agreement, HorizontalParty, VerticalParty
from dcshap.exceptions import InputError
from dcshap.schema import Schema
from tests.audit.releases import tables, trained

pytest.importorskip("fpylll")
PIMA = "pima/pima-indians-diabetes.data.csv"


def line(audit: Audit, attack: str) -> Line:
    (found,) = [each for each in audit.lines if each.attack == attack]
    return found


@pytest.mark.parametrize("setting", ["paper", "old default"])
@pytest.mark.parametrize("name", ["adult", "heart", "pima"])
def test_settings_of_the_paper_and_of_version_0_1_fail(name, setting, published):
    if name == "pima":
        published(PIMA)
    audit = trained(name, setting).audit("north", n_rows=1000)
    assert audit.verdict == "fail"
    for attack in ("noise", "hidden lattice", "reading rows, map known", "linkage, map known"):
        assert line(audit, attack).verdict == "fail"
    assert line(audit, "reading rows, map known").value > 0.95


@pytest.mark.parametrize("name", ["adult", "heart", "pima", "wine", "breast_cancer"])
def test_the_default_passes_every_line_of_the_analyst_alone(name, published):
    if name == "pima":
        published(PIMA)
    audit = trained(name, "new default").audit("north", n_rows=1000)
    alone = [each for each in audit.lines if each.attacker == ALONE]
    assert {each.attack for each in alone} == {"noise", "hidden lattice", "components", "retraining", "algorithm 3"}
    assert {each.verdict for each in alone} == {"pass"}
    assert line(audit, "reading rows, map known").value == 0
    assert all(each.words for each in audit.lines)
    assert all(each.advice for each in audit.lines if each.verdict == "fail")


def test_a_small_table_is_said_to_be_linkable_by_an_analyst_and_a_party():
    assert line(trained("wine", "new default").audit("north"), "linkage, map known").verdict == "fail"


@pytest.fixture(scope="module")
def heart():
    return trained("heart", "new default")


def test_all_parties_are_audited_and_the_same_seed_gives_the_same_figures(heart):
    audits = heart.audit()
    assert set(audits) == {"north", "south"}
    assert heart.audit("north").to_dict() == audits["north"].to_dict()
    assert list(audits["north"].to_frame()["verdict"]) == [each.verdict for each in audits["north"].lines]
    with pytest.raises(InputError, match="one of"):
        heart.audit("west")


def test_auditing_changes_nothing_at_the_party(heart):
    party = heart.parties_["north"]
    before = party.send_representation("analyst").rows
    audit_party(party)
    np.testing.assert_array_equal(party.send_representation("analyst").rows, before)


def test_overridden_thresholds_decide_and_are_named(heart):
    audit = heart.audit("north", thresholds={"linkage": (0.9, 0.95), "noise": (5.0, 1.0)})
    assert line(audit, "linkage, map known").verdict == "pass"
    assert line(audit, "noise").verdict == "fail"
    assert set(audit.overridden) == {"linkage", "noise"}


def test_without_the_library_the_lattice_line_says_so_and_warns(heart, monkeypatch):
    monkeypatch.setattr("dcshap.audit.attacks.lll._fpylll", lambda: None)
    found = line(heart.audit("north"), "hidden lattice")
    assert found.verdict == "warn"
    assert "install dcshap[audit]" in found.words


def unsent(span: Any = "supervised", **settings: Any) -> HorizontalParty:
    X, y = tables("heart")["north"]
    dictionary = Schema.for_supervision({"north": X})
    party = HorizontalParty("north", Agreement(dictionary, span=span, **settings), private_seed=1)
    party.take(X, y)
    return party


@pytest.mark.parametrize("span", ["supervised", "private", "shared", "random"])
def test_before_the_first_training_the_release_is_what_would_be_sent(span):
    party = unsent(span)
    release = release_of(party)
    assert "Nothing was sent yet" in release.notes[0]
    assert release.noise == pytest.approx(0.2 * release.rms, rel=0.05)
    assert not party.has_maps


def test_before_the_first_training_exact_rows_fail_and_noisy_ones_pass_the_analyst_s_lines():
    exact, noisy = (audit_party(unsent(noise=noise)) for noise in (0, 0.2))
    assert line(exact, "hidden lattice").verdict == "fail"
    assert {each.verdict for each in noisy.lines if each.attacker == ALONE} == {"pass"}


def test_a_guest_without_labels_is_audited_before_training():
    X, _ = tables("heart")["north"]
    party = VerticalParty("lab", Agreement(Schema.for_supervision({"lab": X})), private_seed=1)
    party.take(X)
    audit = audit_party(party)
    assert "without the labels" in audit.notes[0]
    assert line(audit, "sums").attacker == "analyst and label holder"


def test_more_rows_than_are_looked_at_are_sampled_and_it_says_so(heart):
    assert "100 of 149 rows were drawn" in heart.audit("north", n_rows=100).notes[0]


def of_ledger(heart, history: History, attack: str) -> Line:
    party = heart.parties_["north"]
    lines = ledger_lines(party, release_of(party), history, THRESHOLDS, seed=0)
    return next(each for each in lines if each.attack == attack)


def test_the_ledger_decides_about_maps_record_vectors_and_algorithm_3(heart):
    columns = len(heart.schema_)
    given = History(maps=2, record_vectors={"bank": columns + 5, "shop": 1}, algorithm3=True)
    assert of_ledger(heart, given, "retraining").verdict == "fail"
    assert of_ledger(heart, given, "record vectors").verdict == "warn"  # the noise keeps them from being solved
    assert of_ledger(heart, given, "algorithm 3").verdict == "fail"
    assert of_ledger(heart, replace(given, consented=True), "algorithm 3").verdict == "warn"
    rows = heart.parties_["north"].send_representation("analyst").rows
    kept = History(representations=(rows, rows), record_vectors={"bank": columns - 1})
    assert of_ledger(heart, kept, "retraining").verdict == of_ledger(heart, kept, "record vectors").verdict == "pass"


@pytest.mark.parametrize(
    ("history", "verdict"),
    [
        (History(n_parties=2, summed_rows=99), "fail"),
        (History(n_parties=2, summed_rows=100), "warn"),
        (History(n_parties=3, summed_rows=20), "warn"),
        (History(n_parties=2, summed_rows=20, epsilon=3.0), "pass"),
        (History(n_parties=2, summed_rows=20, epsilon=4.0), "fail"),
    ],
)
def test_sums_pass_with_noise_warn_where_many_are_in_them_and_fail_else(heart, history, verdict):
    assert of_ledger(heart, history, "sums").verdict == verdict


def test_a_model_that_keeps_rows_fails_and_logistic_regression_passes(heart):
    party = heart.parties_["north"]
    models = (KNeighborsClassifier(1), LogisticRegression())
    found = [model_line(party, model, release_of(party), THRESHOLDS, seed=0).verdict for model in models]
    assert found == ["fail", "pass"]


def test_a_vertical_collaboration_is_audited_and_its_record_of_requests_counts():
    X, y = tables("heart")["north"]
    X, y = X.reset_index(drop=True), y.reset_index(drop=True)
    parts = {"clinic": X.iloc[:, :7], "lab": X.iloc[:, 7:]}
    run = VerticalCollaboration(LogisticRegression(max_iter=1000), random_state=0).fit(parts, y, label_party="clinic")
    asked = {name: table.iloc[:4] for name, table in parts.items()}
    run.explain(asked, view="clinic", index="owen")
    audit = run.audit("lab")
    assert "4 records" in line(audit, "record vectors").words
    assert line(audit, "algorithm 3").verdict == "pass"
    run.explain(asked, index="shapley", view="full")
    assert line(run.audit("lab"), "algorithm 3").verdict == "fail"


# --- columns that are marked as sensitive ------------------------------------------------------------------------


def marked(*names: str):
    data = tables("heart")
    found = Schema.for_supervision({name: X for name, (X, _) in data.items()})
    return Schema(tuple(replace(column, sensitive=column.name in names) for column in found.columns))


def test_sensitive_columns_cannot_be_read_and_the_audit_says_what_that_costs():
    plain, guarded = (trained("heart", "new default", schema=marked(*names)) for names in ((), ("thal", "oldpeak")))
    before = line(plain.audit("north"), "reading columns, map known").per_column
    audit = guarded.audit("north")
    after = line(audit, "reading columns, map known").per_column
    assert before["thal"] > 0.2
    assert max(after[name] for name in ("thal", "oldpeak")) < 0.1
    assert "of the labels' variance" in line(audit, "reading sensitive columns, map known").words
    assert line(audit, "components").value < 0.5


def test_over_all_rows_together_no_released_dimension_correlates_with_a_sensitive_column():
    run = trained("heart", "new default", schema=marked("sex", "chol"))
    parties = run.parties_.values()
    encoded = np.concatenate([party.anchor.encode(party.codes) for party in parties])
    names = run.schema_.names
    blocks = next(iter(parties)).anchor.encoder.blocks
    for party in parties:
        released = party.reduction.transform(encoded)
        for name in ("sex", "chol"):
            column = encoded[:, blocks[names.index(name)]]
            crossed = (released - released.mean(axis=0)).T @ (column - column.mean(axis=0)) / len(encoded)
            assert np.abs(crossed).max() < 1e-9 * released.std()


def test_schemas_where_every_column_is_sensitive_are_refused():
    with pytest.raises(InputError, match="must not be sensitive"):
        trained("heart", "new default", schema=marked(*tables("heart")["north"][0].columns))
