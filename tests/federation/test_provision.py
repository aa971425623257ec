"""Kits as separate organisations make them: keys at home, requests, approvals; then a training with them."""

from __future__ import annotations

import zipfile

import pytest
from sklearn.linear_model import LogisticRegression

from dcshap.exceptions import FederationError
from dcshap.federation.processes import Site, free_port
from dcshap.federation.provision import (
    Project,
    approve,
    init_project,
    make_authority,
    make_kit,
    request_certificate,
)
from dcshap.federation.requester import Requester
from dcshap.federation.setup import init_party
from dcshap.federation.site import CollaborationConfig

from .conftest import horizontal_tables, people, schema_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]

PARTIES = ["bank", "shop"]
LEAD = "lead@institute.example"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Everybody's kit by name, and the project."""
    folder = tmp_path_factory.mktemp("organisations")
    project = Project("credit", dict.fromkeys(PARTIES, "org"), {LEAD: "lead"}, port=free_port())
    init_project(project, folder / "project")
    profile = folder / "project" / "profile.yaml"
    fingerprint = make_authority(profile, folder / "authority")
    kits = {}
    for file in ("analyst", *PARTIES, LEAD):
        home = folder / file
        request = request_certificate(folder / "project" / "participants" / f"{file}.yaml", home / "request")
        with zipfile.ZipFile(request) as zipped:
            assert not [name for name in zipped.namelist() if name.endswith(".key")]
            assert b"PRIVATE KEY" not in b"".join(zipped.read(name) for name in zipped.namelist())
        signed = approve(request, authority=folder / "authority", profile=profile, folder=home / "signed")
        kits[file] = make_kit(signed, request=home / "request", fingerprint=fingerprint, folder=home / "kit")
    return kits, project, folder


def _partners(name):
    return tuple(other for other in PARTIES if other != name)


def test_a_training_runs_with_certificates_by_request_and_approval(made):
    kits, project, folder = made
    schema_of(people()).save(folder / "schema.yaml")
    for name, table in horizontal_tables(PARTIES).items():
        table.to_csv(folder / f"{name}.csv", index=False)
        settings = CollaborationConfig(
            "horizontal",
            {"csv": str(folder / f"{name}.csv")},
            str(folder / "schema.yaml"),
            _partners(name),
            target="repaid",
        )
        init_party(kits[name], "credit", settings)
    with Site(kits["analyst"]) as server:
        server.wait_for_port(project.port, timeout=60)
        with Site(kits["bank"]), Site(kits["shop"]), Requester(kits[LEAD].folder, timeout=60) as lead:
            told = lead.train("credit", LogisticRegression(), kind="horizontal", parties=PARTIES, timeout=120)
    assert told["state"] == "done"
    assert (kits["shop"].folder / "dcshap" / "credit" / "party").is_dir()


def test_a_kit_of_an_unexpected_authority_is_not_made(made, tmp_path):
    _, _, folder = made
    wrong = ":".join(["00"] * 32)
    with pytest.raises(FederationError, match="package"):
        make_kit(
            folder / "bank" / "signed" / "bank.signed.zip",
            request=folder / "bank" / "request",
            fingerprint=wrong,
            folder=tmp_path,
        )
