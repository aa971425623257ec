from __future__ import annotations

import itertools
import json
import re
import stat
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from sklearn.base import BaseEstimator
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier

from dcshap.exceptions import InputError, ProtocolError, StorageError
from dcshap.explanation.receipt import (
    Receipt,
    Signer,
    compare,
    fresh_opening,
    read_openings,
    read_receipts,
    receipt_of,
    write_receipts,
)
from dcshap.explanation.receipt.commitments import (
    _content_digest,
    agree,
    commit_numbers,
    commit_record,
    digest_numbers,
    model_digest,
    opening_bytes,
)
from dcshap.federation.seals.revocation import revoke, signed_by
from dcshap.storage import read_model, write_model
from tests.explanation.conftest import split


@pytest.fixture(scope="module")
def rows(heart) -> pd.DataFrame:
    return heart[0].iloc[:4]


@pytest.fixture(scope="module")
def both(horizontal, rows):
    """What two parties explain of the same rows."""
    return {party: horizontal.explain(rows, party=party) for party in ("north", "south")}


def outcomes(one: Receipt, other: Receipt) -> dict[str, str]:
    return {finding.what: finding.outcome for finding in compare(one, other).findings}


# --- what two receipts say -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("sample", range(4))
def test_two_parties_with_a_common_span_state_the_same_of_every_record(horizontal, both, sample):
    north = horizontal.receipt(both["north"], sample=sample)
    south = horizontal.receipt(both["south"], sample=sample, opening=north.opening)
    assert north.party != south.party
    found = compare(north, south)
    assert found.same, str(found)
    assert set(outcomes(north, south)) >= {"model", "maps", "reference", "index", "record", "values", "prediction"}


def test_another_record_another_reference_and_another_training_are_told_apart(horizontal, horizontal_data, rows, both):
    north = horizontal.receipt(both["north"])
    other = horizontal.receipt(both["south"], sample=1, opening=north.opening)
    assert {what for what, how in outcomes(north, other).items() if how == "differs"} >= {"record", "values"}
    population = horizontal.explain(rows, party="south", reference="background", n_background=5)
    compared = outcomes(north, horizontal.receipt(population, opening=north.opening))
    assert {what for what, how in compared.items() if how == "differs"} == {"reference", "values", "prediction"}
    again = type(horizontal)(LogisticRegression(), random_state=5).fit(horizontal_data)
    retrained = outcomes(north, again.receipt(again.explain(rows, party="south"), opening=north.opening))
    assert retrained["model"] == retrained["run"] == retrained["maps"] == "differs"
    assert retrained["record"] == "same"


def test_maps_that_differ_from_party_to_party_are_found(private_span, rows):
    north = private_span.receipt(private_span.explain(rows, party="north"))
    south = private_span.receipt(private_span.explain(rows, party="south"), opening=north.opening)
    found = outcomes(north, south)
    assert (found["maps"], found["values"]) == ("differs", "differs")
    assert (found["model"], found["reference"], found["record"]) == ("same", "same", "same")


def test_under_different_openings_nothing_is_said_of_record_and_values(horizontal, both):
    found = compare(horizontal.receipt(both["north"]), horizontal.receipt(both["south"]))
    assert (found["record"], found["values"]) == ("unknown", "unknown")
    assert found["model"] == "same"
    assert not found.same


@pytest.mark.parametrize("n_parties", [2, 3])
def test_party_views_agree_in_what_each_party_contributes(verticals, heart, n_parties):
    collaboration = verticals[n_parties, "logistic"]
    X = split(heart[0].iloc[:2], n_parties)
    first, second = list(collaboration.parties_)[:2]
    full = collaboration.explain(X, index="owen")
    one = collaboration.receipt(collaboration.explain(X, view=first, index="owen"))
    other = collaboration.receipt(collaboration.explain(X, view=second, index="owen"), opening=one.opening)
    whole = collaboration.receipt(full, party=first, opening=one.opening)
    for a, b in itertools.combinations((one, other, whole), 2):
        found = compare(a, b)
        assert found.same, str(found)
        assert sum(finding.what.startswith("total of") for finding in found.findings) == n_parties
    shapley = collaboration.receipt(collaboration.explain(X, view=second, index="shapley"), opening=one.opening)
    assert outcomes(one, shapley)["index"] == "differs"


def test_a_receipt_of_all_parties_must_be_signed_by_one_of_them(verticals, heart):
    collaboration = verticals[2, "logistic"]
    full = collaboration.explain(split(heart[0].iloc[:1], 2), index="owen")
    with pytest.raises(InputError, match="Say who signs"):
        collaboration.receipt(full)


def test_an_explanation_of_an_earlier_model_gets_no_receipt(horizontal, both):
    with pytest.raises(InputError, match="trained since"):
        horizontal.receipt(replace(both["north"], run="earlier"))


# --- what a receipt does not show ----------------------------------------------------------------------------------


def test_a_receipt_s_file_holds_neither_cells_nor_values_nor_the_opening(horizontal, both, rows):
    receipt = horizontal.receipt(both["north"])
    text = receipt.to_json()
    assert receipt.opening not in text
    assert receipt.opening.replace("-", "") not in text
    assert not any(f"{value:.4g}" in text for value in both["north"].values[0].ravel() if abs(value) > 1e-3)
    assert set(json.loads(text)) == {
        *("format", "party", "run", "written", "view", "index", "method", "model", "maps", "reference", "under"),
        *("record", "values", "prediction", "totals", "pem", "signature"),
    }


def test_whoever_tries_all_records_needs_the_opening():
    cells = [{"age": age, "sick": sick} for age in range(100) for sick in ("no", "yes")]
    opening = fresh_opening()
    hidden = commit_record(cells[77], opening)
    assert [each for each in cells if commit_record(each, opening) == hidden] == [cells[77]]
    guesses = {commit_record(each, fresh_opening()) for each in cells}
    assert hidden not in guesses


def test_the_same_record_looks_different_in_every_receipt(horizontal, both):
    one, other = (horizontal.receipt(both["north"]) for _ in range(2))
    hidden = ("under", "record", "values", "prediction")
    assert all(getattr(one, name) != getattr(other, name) for name in hidden)
    assert one.opening != other.opening


def test_who_has_the_record_and_the_opening_can_check_the_receipt(horizontal, both, rows):
    receipt = horizontal.receipt(both["north"], sample=2)
    record = {name: rows[name].iloc[2] for name in reversed(list(rows.columns))}
    assert receipt.is_of(record, receipt.opening)
    assert receipt.is_of(record, receipt.opening.lower().replace("-", " "))
    assert not receipt.is_of(record | {"age": record["age"] + 1}, receipt.opening)
    assert not receipt.is_of(record, fresh_opening())


@pytest.mark.parametrize("typed", ["", "ABCD", "0000-0000-0000-0000-0000-0000-00", "1" * 26, "Ä" * 26])
def test_a_wrong_opening_is_refused(typed):
    with pytest.raises(InputError, match="26 letters and digits"):
        opening_bytes(typed)


# --- signatures ----------------------------------------------------------------------------------------------------


def test_whatever_is_changed_in_a_receipt_is_noticed(horizontal, both):
    receipt = horizontal.receipt(both["north"])
    receipt.verify()
    content = json.loads(receipt.to_json())
    for name, value in content.items():
        if name in ("format", "pem", "signature"):
            continue
        forged: Any = "forged"
        if isinstance(value, list | dict):
            forged = ["0" * 64, "1" * 64] if isinstance(value, list) else {"x": ["0", "1"]}
        with pytest.raises(ProtocolError, match="as it was signed"):
            Receipt.from_json(json.dumps(content | {name: forged})).verify()


def test_a_signature_of_another_key_is_refused(horizontal, both, tmp_path):
    receipt, other = horizontal.receipt(both["north"]), Signer.kept_in(tmp_path / "key")
    with pytest.raises(ProtocolError):
        replace(receipt, pem=other.pem).verify()
    for pem in ("", "garbage", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"):
        with pytest.raises(ProtocolError):
            replace(receipt, pem=pem).verify()
    assert outcomes(receipt, replace(receipt, signature="AAAA"))["signature of the second"] == "differs"


def test_a_party_signs_with_the_same_key_after_it_was_saved_and_loaded(horizontal, both, tmp_path):
    horizontal.save(tmp_path / "run")
    again = type(horizontal).load(tmp_path / "run")
    one, other = horizontal.receipt(both["north"]), again.receipt(both["north"])
    assert one.signer == other.signer
    assert one.model == other.model
    assert one.signer != horizontal.receipt(both["south"]).signer


def test_a_key_is_made_once_and_nobody_else_can_read_it(tmp_path):
    first, second = Signer.kept_in(tmp_path / "a" / "key"), Signer.kept_in(tmp_path / "a" / "key")
    assert first.pem == second.pem
    assert stat.S_IMODE((tmp_path / "a" / "key").stat().st_mode) == 0o600
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["key"]
    (tmp_path / "a" / "key").write_text("damaged")
    with pytest.raises(StorageError, match="cannot be read"):
        Signer.kept_in(tmp_path / "a" / "key")


def certificate(name: str, key: rsa.RSAPrivateKey, issuer: str, by: rsa.RSAPrivateKey, *, days_ago: int = 0) -> str:
    now = datetime.now(UTC) - timedelta(days=days_ago)
    subject, author = (x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, each)]) for each in (name, issuer))
    builder = x509.CertificateBuilder(author, subject, key.public_key(), 7, now, now + timedelta(days=1))
    return builder.sign(by, hashes.SHA256()).public_bytes(Encoding.PEM).decode()


def test_the_key_of_a_certificate_signs_too_and_its_authority_vouches_for_the_name(horizontal, both):
    authority, key = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
    root = certificate("root", authority, "root", authority)
    pss = padding.PSS(mgf=padding.MGF1(hashes.SHA256()), salt_length=padding.PSS.DIGEST_LENGTH)

    def signed(pem: str) -> Receipt:
        signer = Signer(pem, lambda content: key.sign(content, pss, hashes.SHA256()))
        found: Receipt = horizontal.receipt(both["north"], signer=signer)
        return found

    receipt = signed(certificate("north", key, "root", authority))
    receipt.verify(root=root)
    with pytest.raises(ProtocolError, match="as it was signed"):
        replace(receipt, model="another").verify(root=root)
    with pytest.raises(ProtocolError, match="that of 'south'"):
        signed(certificate("south", key, "root", authority)).verify(root=root)
    with pytest.raises(ProtocolError, match="of the given authority"):
        signed(certificate("north", key, "root", key)).verify(root=root)
    for days_ago in (2, -2):
        with pytest.raises(ProtocolError, match="while its certificate is valid"):
            signed(certificate("north", key, "root", authority, days_ago=days_ago)).verify(root=root)
    for written in ("yesterday", "2026-01-01T00:00:00"):
        unsigned = replace(receipt, written=written)
        undated = unsigned.signed(Signer(receipt.pem, lambda content: key.sign(content, pss, hashes.SHA256())))
        with pytest.raises(ProtocolError, match="in universal time"):
            undated.verify(root=root)
    with pytest.raises(ProtocolError, match="of the given authority"):
        horizontal.receipt(both["north"]).verify(root=root)


def test_a_certificate_that_its_authority_has_revoked_proves_nothing(horizontal, both, tmp_path):
    authority, key = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
    root = certificate("root", authority, "root", authority)
    (tmp_path / "rootCA.pem").write_text(root)
    plain = authority.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "rootCA.key").write_bytes(plain)
    pss = padding.PSS(mgf=padding.MGF1(hashes.SHA256()), salt_length=padding.PSS.DIGEST_LENGTH)
    signer = Signer(certificate("north", key, "root", authority), lambda text: key.sign(text, pss, hashes.SHA256()))
    receipt = horizontal.receipt(both["north"], signer=signer)
    for whom, refused in (("south", False), ("0x7", True), ("north", True)):
        found = signed_by(tmp_path / "rootCA.pem", revoke(tmp_path, [whom])).revoke
        assert compare(receipt, receipt, root=root, revoked=found).same is not refused
        if refused:
            with pytest.raises(ProtocolError, match="was revoked"):
                receipt.verify(root=root, revoked=found)
        (tmp_path / "revoked.json").unlink()


# --- hashes --------------------------------------------------------------------------------------------------------


def test_numbers_that_differ_in_the_last_digits_have_the_same_hashes():
    rng = np.random.default_rng(0)
    for _ in range(200):
        # Halves, thirds, powers of two and zeros: where a grid's edge would be, if it were at a round number.
        numbers = np.array([0.5, 1 / 3, 2.0**-9, 2.0**-20, 0.0, 1e-8, 5e-9, 1.0, *rng.normal(size=200)])
        moved = numbers + 1e-14 * rng.standard_normal(len(numbers))
        assert agree(digest_numbers(numbers), digest_numbers(moved))
        opening = fresh_opening()
        hashed = [commit_numbers(each, "values", opening, scale=float(np.abs(each).max())) for each in (numbers, moved)]
        assert agree(*hashed)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 10.0, 1e5])
def test_numbers_that_differ_visibly_have_other_hashes(scale):
    numbers = scale * np.array([0.25, -0.5, 1.0])
    assert not agree(digest_numbers(numbers), digest_numbers(numbers + scale * np.array([0, 1e-6, 0])))


def test_a_receipt_without_the_hashes_of_a_total_differs_from_one_that_has_them(verticals, heart):
    collaboration = verticals[2, "logistic"]
    X = split(heart[0].iloc[:1], 2)
    party = next(iter(collaboration.parties_))
    receipt = collaboration.receipt(collaboration.explain(X, view=party, index="owen"))
    bare = Receipt.from_json(replace(receipt, totals=dict.fromkeys(receipt.totals, ())).to_json())
    assert outcomes(receipt, bare)[f"total of {party}"] == "differs"


def test_numbers_that_are_not_finite_are_refused():
    with pytest.raises(InputError, match="finite"):
        digest_numbers(np.array([np.nan]))


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        KNeighborsClassifier(3),
        KNeighborsClassifier(3, algorithm="ball_tree"),
        KNeighborsClassifier(3, algorithm="kd_tree"),
        RandomForestClassifier(5, random_state=0),
        GradientBoostingClassifier(n_estimators=3, random_state=0),
        HistGradientBoostingClassifier(max_iter=3),
        MLPClassifier((3,), max_iter=2000, tol=1e-2, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_copy_of_a_model_has_its_hash_and_another_model_has_not(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    fitted: BaseEstimator = model.fit(X, y)
    copies = [read_model(write_model(fitted)) for _ in range(2)]
    assert {model_digest(each) for each in copies} == {model_digest(fitted)}
    copies[0].predict(X)  # neighbours' trees count how often they are asked
    assert _content_digest(write_model(copies[0])) == model_digest(fitted)
    another = read_model(write_model(fitted)).fit(X + 0.1, 1 - y)
    assert model_digest(another) != model_digest(fitted)


# --- on disk -------------------------------------------------------------------------------------------------------


def test_receipts_are_read_as_they_were_written_and_openings_are_private(horizontal, both, tmp_path):
    issued = [horizontal.receipt(both["north"], sample=at) for at in range(3)]
    beside = write_receipts(tmp_path / "receipts", issued)
    assert read_receipts(tmp_path / "receipts") == issued
    assert read_openings(beside) == [each.opening for each in issued]
    assert stat.S_IMODE(beside.stat().st_mode) == 0o600
    for each in read_receipts(tmp_path / "receipts"):
        each.verify()
        assert each.opening is None


def test_every_receipt_has_a_code_of_its_own_too_long_to_find_two_receipts_with_it(horizontal, both):
    codes = {horizontal.receipt(both["north"], sample=at).code for at in range(4)}
    assert len(codes) == 4
    assert all(len(code.replace("-", "")) * 5 >= 160 for code in codes)  # bits; two alike take 2 to the half of them


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"format": "dcshap receipt 1"}', '{"format": "other"}', "[" * 5000, "x" * 200_000]
)
def test_what_is_no_receipt_is_refused(text):
    with pytest.raises(InputError, match="A receipt must be"):
        Receipt.from_json(text)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("maps", "x"),
        ("values", []),
        ("values", ["a"]),
        ("prediction", [1, 2]),
        ("totals", []),
        ("party", 3),
        ("view", 1),
    ],
)
def test_a_receipt_with_parts_of_another_kind_is_refused(horizontal, both, name, value):
    content = json.loads(horizontal.receipt(both["north"]).to_json())
    with pytest.raises(InputError, match="must hold texts and pairs"):
        Receipt.from_json(json.dumps(content | {name: value}))


def test_a_party_without_a_model_issues_no_receipt(horizontal, both):
    party = type(horizontal.parties_["north"])("north", horizontal.parties_["north"].agreement)
    party.run = both["north"].run or ""
    with pytest.raises(Exception, match="must have a copy of the model"):
        receipt_of(party, both["north"])


def test_the_documentation_s_python_runs(capsys):
    page = Path(__file__).parents[2] / "docs" / "receipts.md"
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    exec(compile(code, "receipts.md", "exec"), {})  # noqa: S102 - our own page
    assert capsys.readouterr().out.startswith("Both receipts state the same explanation.")
