"""A site that is run for years: checks, a service, health, backups, certificates by the project's list, renewal."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
import zipfile
from datetime import UTC, datetime, timedelta

import pytest
import typer
import yaml
from typer.testing import CliRunner

from dcshap._disk import Disk, using_disk
from dcshap.cli.console import ReadableErrors
from dcshap.cli.federation import federation as commands
from dcshap.exceptions import StorageError
from dcshap.federation.flare.kits import Kit, secure_party
from dcshap.federation.flare.local import provision
from dcshap.federation.flare.preparation import init_party
from dcshap.federation.flare.processes import free_port
from dcshap.federation.operation.backups import back_up, restore
from dcshap.federation.operation.checks import check_site, days_left
from dcshap.federation.operation.gauges import answering_health
from dcshap.federation.operation.units import unit_name, unit_of
from dcshap.federation.seals.ledger import Entry, Ledger
from dcshap.federation.seals.revocation import REVOKED, honour, revoke
from dcshap.federation.site.configuration import CollaborationConfig, SiteConfig

from .conftest import people, schema_of

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
SECRET = "correct horse battery"  # noqa: S105 - of this test alone
app = typer.Typer(cls=ReadableErrors)
app.add_typer(commands, name="federation")


def run(*arguments, **more):
    return CliRunner().invoke(app, ["federation", *map(str, arguments)], **more)


@pytest.fixture(scope="module")
def kits(tmp_path_factory):
    folder = tmp_path_factory.mktemp("upkeep")
    made = provision(folder, port=free_port(), parties=["bank", "shop"], requesters=[])
    people().to_csv(folder / "people.csv")
    schema_of(people()).save(folder / "schema.yaml")
    settings = CollaborationConfig(
        "vertical", {"csv": str(folder / "people.csv")}, str(folder / "schema.yaml"), ("shop",), id="id"
    )
    init_party(made["bank"], "credit", settings)
    Ledger(made["bank"].folder / "dcshap" / "ledger.jsonl").append(Entry("shop", "AnchorSeed", 40))
    return made


@pytest.fixture
def bank(kits, tmp_path):
    """The bank's kit, to be spoiled."""
    shutil.copytree(kits["bank"].folder, tmp_path / "bank")
    return Kit.load(tmp_path / "bank")


def test_a_kit_that_cannot_be_made_safe_anew_stays_safe_as_it_was(bank):
    class Full(Disk):
        def write(self, path, data, *, size):
            super().write(path, data[:1], size=size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = {path: path.read_bytes() for path in (bank.folder / "local").glob("*.json")}
    with using_disk(Full()), pytest.raises(StorageError, match="disk full"):
        secure_party(bank)
    assert {path: path.read_bytes() for path in before} == before
    assert before


def test_a_kit_of_another_user_is_refused_in_words(bank, tmp_path):
    class Foreign(Disk):
        def write(self, *_, **__):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    people().to_csv(tmp_path / "people.csv")
    table, schema = tmp_path / "people.csv", bank.folder / "local" / "schema-credit.yaml"
    asked = ["--kind", "vertical", "--partner", "shop", "--id", "id", "--csv", table, "--schema", schema]
    with using_disk(Foreign()):
        said = run("party", "init", bank.folder, "credit", *asked)
    assert said.exit_code == 1
    assert "belong to the user who runs this" in " ".join(said.output.split())


def test_a_configuration_that_is_there_and_cannot_be_read_is_not_called_missing(bank):
    config = bank.folder / "local" / "dcshap.yaml"
    config.unlink()
    with pytest.raises(StorageError, match="is missing: run"):
        SiteConfig.load(bank.folder)
    config.mkdir()  # cannot be read by root either
    with pytest.raises(StorageError, match="cannot be read: does the kit belong"):
        SiteConfig.load(bank.folder)


def levels(kit):
    return {each.check: each.level for each in check_site(kit)}


# --- the doctor -------------------------------------------------------------------------------------------------------


def test_the_doctor_finds_a_site_in_order_but_for_the_server_that_is_not_there(bank):
    found = levels(bank)
    assert found.pop("connection") == "problem"
    assert found.pop("process") == "warning"
    assert set(found.values()) == {"good"}
    assert {"certificate", "clock", "disk", "versions", "ledger", "table of credit"} <= set(found)


def test_the_doctor_names_a_readable_key_a_damaged_ledger_and_a_missing_table(bank):
    (bank.startup / "client.key").chmod(0o644)
    (bank.folder / "dcshap" / "ledger.jsonl").write_text("nonsense\n")
    config = (bank.folder / "local" / "dcshap.yaml").read_text()
    (bank.folder / "local" / "dcshap.yaml").write_text(config.replace("people.csv", "gone.csv"))
    found = levels(bank)
    assert [found[each] for each in ("private key", "ledger", "table of credit")] == ["problem"] * 3


def test_the_doctor_notices_a_clock_that_was_set_back(bank):
    ahead = datetime.now(UTC).timestamp() + 3600
    os.utime(bank.folder / "dcshap" / "ledger.jsonl", (ahead, ahead))
    assert levels(bank)["clock"] == "problem"


def test_a_certificate_is_warned_of_from_thirty_days_on(bank, monkeypatch):
    later = datetime.now(UTC) + timedelta(days=days_left(bank) - 20)

    class Later(datetime):
        @classmethod
        def now(cls, tz=None):  # noqa: ARG003 - datetime's signature
            return later

    monkeypatch.setattr("dcshap.federation.operation.checks.datetime", Later)
    assert 19.9 < days_left(bank) < 20.1
    assert levels(bank)["certificate"] == "warning"


def test_the_doctors_command_ends_with_one_where_there_is_a_problem(bank):
    found = run("doctor", bank.folder, "--json")
    assert found.exit_code == 1
    problems = [each["check"] for each in json.loads(found.stdout)["findings"] if each["level"] == "problem"]
    assert problems == ["connection"]


# --- a service --------------------------------------------------------------------------------------------------------


def test_a_unit_is_one_that_systemd_accepts(kits, tmp_path):
    for name, wanted in (("bank", "dcshap-bank.service"), ("localhost", "dcshap-analyst.service")):
        kit = kits[name]
        assert unit_name(kit) == wanted
        run("service", "install", kit.folder, "--user", "root", "--write", tmp_path)
        assert (tmp_path / wanted).read_text() == unit_of(kit, user="root", health=8750)
        if shutil.which("systemd-analyze") is None:
            continue
        done = subprocess.run(
            ["systemd-analyze", "verify", str(tmp_path / wanted)], capture_output=True, text=True, check=False
        )
        about = [line for line in done.stderr.splitlines() if wanted in line]
        assert about == []


def test_a_path_that_systemd_would_read_otherwise_is_refused(bank, tmp_path):
    shutil.copytree(bank.folder, tmp_path / "my bank")
    assert "without spaces" in run("service", "install", tmp_path / "my bank").output


# --- health -----------------------------------------------------------------------------------------------------------


def asked(port, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_a_site_says_whether_it_lives_and_is_ready_and_tells_metrics_without_data(bank):
    ready = [False]
    with answering_health(bank, 0, lambda: ready[0]) as port:
        assert asked(port, "/healthz") == (200, "alive\n")
        assert asked(port, "/readyz") == (503, "not ready\n")
        ready[0] = True
        assert asked(port, "/readyz") == (200, "ready\n")
        status, text = asked(port, "/metrics")
        assert status == 200
        assert 'dcshap_ready{site="bank"} 1.0' in text
        assert "dcshap_certificate_days_left" in text
        assert asked(port, "/")[0] == 404


# --- backups ----------------------------------------------------------------------------------------------------------


def contents(folder):
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mode & 0o777)
        for part in ("startup", "local", "dcshap")
        for path in (folder / part).rglob("*")
        if path.is_file()
    }


def test_a_restored_site_is_what_was_backed_up_and_the_file_shows_nothing_of_it(bank, tmp_path):
    (bank.folder / "dcshap" / "large").write_bytes(os.urandom(3_000_000))  # several chunks
    path = tmp_path / "bank.backup"
    back_up(bank, path, passphrase=SECRET)
    assert path.stat().st_mode & 0o077 == 0
    data = path.read_bytes()
    assert b"PRIVATE KEY" not in data
    made = restore(path, tmp_path / "again", passphrase=SECRET)
    assert contents(made.folder) == contents(bank.folder)
    assert made.name == "bank"
    assert made.folder.stat().st_mode & 0o077 == 0


def test_a_backup_is_encrypted_before_it_reaches_a_disk(bank, tmp_path, monkeypatch):
    (bank.folder / "dcshap" / "large").write_bytes(os.urandom(2_500_000))

    def refused(*_, **__):
        raise AssertionError("a file in clear")

    monkeypatch.setattr(tempfile, "TemporaryFile", refused)
    monkeypatch.setattr(tempfile, "mkstemp", refused)
    back_up(bank, tmp_path / "bank.backup", passphrase=SECRET)
    assert (tmp_path / "bank.backup").stat().st_size > 2_500_000


def test_another_passphrase_or_a_changed_cut_or_reordered_backup_is_refused(bank, tmp_path):
    (bank.folder / "dcshap" / "large").write_bytes(os.urandom(2_500_000))
    path, spoiled = tmp_path / "bank.backup", tmp_path / "spoiled"
    back_up(bank, path, passphrase=SECRET)
    data = path.read_bytes()
    with pytest.raises(StorageError, match="passphrase is another"):
        restore(path, tmp_path / "again", passphrase=SECRET + "x")
    flipped = bytearray(data)
    flipped[len(data) // 2] ^= 1
    head = 32 + 5
    size = int.from_bytes(data[32:36], "big")
    swapped = (
        data[:32]
        + data[head + size : head + size + head - 32 + size]
        + data[32 : head + size]
        + data[2 * (5 + size) + 32 :]
    )
    for wrong in (bytes(flipped), data[:-1000], data[: head + size], swapped, data[:40], b""):
        spoiled.write_bytes(wrong)
        with pytest.raises(StorageError):
            restore(spoiled, tmp_path / "again", passphrase=SECRET)
        assert not (tmp_path / "again").exists()


def test_backup_and_restore_from_the_shell(bank, tmp_path):
    env = {"DCSHAP_PASSPHRASE": SECRET}
    assert run("backup", bank.folder, tmp_path / "b", env=env).exit_code == 0
    assert run("restore", tmp_path / "b", tmp_path / "again", env=env).exit_code == 0
    assert "exists already" in run("backup", bank.folder, tmp_path / "b", env=env).output
    assert "at least 12" in run("backup", bank.folder, tmp_path / "c", env={"DCSHAP_PASSPHRASE": "short"}).output


# --- the authority ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    content = {
        "name": "credit",
        "parties": ["bank", "shop"],
        "requesters": {"lead@analyst.example": "lead", "officer@bank.example": "member"},
    }
    (folder / "project.yaml").write_text(yaml.safe_dump(content))
    run("init", folder / "project.yaml", "--out", folder / "credit")
    said = run("certificates", "authority", folder / "credit" / "profile.yaml", "--out", folder / "ca").output
    return folder, next(word for word in said.split() if word.count(":") == 31)


def test_the_fingerprint_stands_on_one_line(project):
    assert len(project[1]) == 95


def approve(folder, request, *more, **options):
    given = ("--profile", folder / "credit" / "profile.yaml", "--authority", folder / "ca")
    return run("certificates", "approve", request, *given, *more, **options)


def test_an_edited_role_is_refused_and_so_is_who_is_not_on_the_list(project, tmp_path):
    folder, _ = project
    original = yaml.safe_load((folder / "credit" / "participants" / "officer@bank.example.yaml").read_text())
    for change in ({"role": "lead"}, {"name": "stranger@bank.example"}):
        edited = {**original, "participants": [original["participants"][0] | change]}
        place = tmp_path / next(iter(change))
        place.mkdir()
        (place / "mine.yaml").write_text(yaml.safe_dump(edited))
        run("certificates", "request", place / "mine.yaml", "--out", place / "request")
        (request,) = (place / "request").glob("*.request.zip")
        refused = approve(folder, request, "--out", place / "signed", "--yes")
        assert refused.exit_code == 1
        assert "Nothing was signed" in refused.output
        assert not list(place.glob("signed/*"))


def test_the_authority_is_shown_who_asks_for_what_and_asked(project, tmp_path):
    folder, _ = project
    run("certificates", "request", folder / "credit" / "participants" / "bank.yaml", "--out", tmp_path / "request")
    request = tmp_path / "request" / "bank.request.zip"
    declined = approve(folder, request, "--out", tmp_path / "signed", input="n\n")
    assert "bank of bank asks to be a party of credit" in declined.output
    assert not list(tmp_path.glob("signed/*"))
    accepted = approve(folder, request, "--out", tmp_path / "signed", input="y\n")
    assert accepted.exit_code == 0
    with zipfile.ZipFile(tmp_path / "signed" / "bank.signed.zip") as zipped:
        assert any(name.endswith(".crt") for name in zipped.namelist())


@pytest.mark.slow
def test_a_renewed_certificate_goes_into_the_kit_and_everything_else_stays(project, tmp_path):
    folder, fingerprint = project
    participant = folder / "credit" / "participants" / "bank.yaml"
    for at in ("first", "second"):
        run("certificates", "request", participant, "--out", tmp_path / at / "request")
        approve(folder, tmp_path / at / "request" / "bank.request.zip", "--out", tmp_path / at, "--yes")
    again = run("certificates", "request", participant, "--out", tmp_path / "first" / "request")
    assert "A renewal is a new request" in again.output
    given = ("--request", tmp_path / "first" / "request", "--fingerprint", fingerprint, "--out", tmp_path / "kit")
    run("certificates", "kit", tmp_path / "first" / "bank.signed.zip", *given)
    (startup,) = (tmp_path / "kit").glob("*/prod_*/bank/startup")
    (startup.parent / "local" / "dcshap.yaml").write_text("party: bank\n")
    honour(revoke(folder / "ca", ["officer@bank.example"]), startup)
    before = (startup / "client.crt").read_bytes()
    given = ("--request", tmp_path / "second" / "request", "--fingerprint", fingerprint, "--kit", startup.parent)
    renewed = run("certificates", "renew", tmp_path / "second" / "bank.signed.zip", *given)
    assert renewed.exit_code == 0, renewed.output
    assert (startup / "client.crt").read_bytes() != before
    assert (startup.parent / "startup.old" / "client.crt").read_bytes() == before
    assert (startup / REVOKED).read_bytes() == (folder / "ca" / REVOKED).read_bytes()
    assert (startup.parent / "local" / "dcshap.yaml").read_text() == "party: bank\n"


# --- words ------------------------------------------------------------------------------------------------------------


def test_views_settings_and_days_that_are_wrong_are_said_in_words(bank, tmp_path):
    people().to_csv(tmp_path / "people.csv")
    schema_of(people()).save(tmp_path / "schema.yaml")
    given = ("--kind", "vertical", "--partner", "shop", "--csv", tmp_path / "people.csv", "--id", "id")
    init = ("party", "init", bank.folder, "other", *given, "--schema", tmp_path / "schema.yaml")
    assert "must name views of" in run(*init, "--allow", "officer@bank.example=bnk:10").output
    assert "NAME one of" in run(*init, "--set", "n_componets=3").output
    config = bank.folder / "local" / "dcshap.yaml"
    config.write_text(config.read_text() + "\nbudget_days: soon\n")
    refused = run("party", "start", bank.folder)
    assert refused.exit_code == 1
    assert "of another type" in refused.output
