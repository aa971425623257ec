"""Who is let in, and what becomes of a trained collaboration when a site stands still or dies; real processes."""

from __future__ import annotations

import json
import shutil
import signal
import time
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

from dcshap.cli.federation import federation as commands
from dcshap.exceptions import FederationError
from dcshap.federation.flare.local import LEAD
from dcshap.federation.flare.processes import SiteProcess

from .conftest import OFFICER, people
from .loopback import RECORDS, federation, runs_of
from .twin import Authority

# The engine's own code uses what its libraries have deprecated.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")

PARTIES = ["bank", "shop"]
RECORD = people().index[3]
ANSWER = 120.0  # seconds that a site may take where it should answer; the machine may be busy


@pytest.fixture(scope="module")
def fed(tmp_path_factory):
    built = federation(tmp_path_factory.mktemp("outages"), PARTIES, idle=["post"])
    built.start(parties=PARTIES)
    yield built
    built.stop()


# --- who may connect ------------------------------------------------------------------------------------------------


def _without(startup, fed):
    (startup / "client.crt").unlink()
    (startup / "client.key").unlink()


def _of_another_authority(startup, fed):
    root = (startup / "rootCA.pem").read_bytes()
    Authority().issue(startup, "post")  # of the right name; it still trusts the project's server
    (startup / "rootCA.pem").write_bytes(root)


def _of_another_party(startup, fed):
    for file in ("client.crt", "client.key"):
        shutil.copy(fed.kits["shop"].startup / file, startup / file)


def test_a_party_without_a_certificate_of_its_own_is_not_let_in_and_the_others_go_on(fed, tmp_path):
    impostors = []
    for change in (_without, _of_another_authority, _of_another_party):
        folder = tmp_path / change.__name__
        shutil.copytree(fed.kits["post"].folder, folder)
        change(folder / "startup", fed)
        impostors.append(SiteProcess(replace(fed.kits["post"], folder=folder)).start())
    try:
        with fed.requester(timeout=60) as lead:
            lead.wait_for(PARTIES, timeout=ANSWER)
            with pytest.raises(FederationError, match=r"\['post'\] did not connect"):
                lead.wait_for(["post"], timeout=10)
            assert set(lead.connected()) == set(PARTIES)
    finally:
        for impostor in impostors:
            impostor.kill()
    # The server itself says why: who holds the certificate is not who the party says it is.
    assert "authenticated as 'shop' but claimed endpoint 'post'" in fed.server.log.read_text()


def test_a_party_with_its_own_certificate_is_let_in(fed):
    # After the impostors, whose kits are copies of this one: nothing but the certificate kept them out.
    with fed.sites["post"], fed.requester(timeout=60) as lead:
        lead.wait_for(["post"], timeout=ANSWER)
        assert "post" in lead.connected()


# --- a trained collaboration ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def serving(fed):
    with fed.requester(timeout=60) as lead:
        lead.wait_for(PARTIES, timeout=ANSWER)
        lead.train(RECORDS, LogisticRegression(), kind="vertical", parties=PARTIES, timeout=ANSWER)
    return fed


def explained(fed, **more):
    with fed.requester(OFFICER, timeout=60) as officer:
        return officer.explain(RECORDS, [RECORD], view="bank", index="owen", **more).values


def test_a_request_to_a_party_that_answers_late_fails_in_time_and_answers_again_later(serving):
    before = explained(serving)
    run = runs_of(serving.sites["shop"])
    with serving.requester(OFFICER, timeout=5) as officer:
        for process in run:
            process.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        with pytest.raises(FederationError):
            officer.explain(RECORDS, [RECORD], view="bank", index="owen")
        assert time.monotonic() - began < 30
        for process in run:
            process.send_signal(signal.SIGCONT)
    assert np.array_equal(explained(serving), before)


def test_the_server_killed_and_restarted_goes_on_answering(serving):
    before = explained(serving)
    serving.server.kill()
    with pytest.raises(FederationError, match="cannot be reached"), serving.requester(OFFICER, timeout=5):
        pass
    serving.server.start().wait_for_port(serving.port, timeout=ANSWER)
    with serving.requester(timeout=60) as lead:
        lead.wait_for(PARTIES, timeout=ANSWER)
    asked = ["serve", RECORDS, "--kit", str(serving.kits[LEAD].folder), "--party", "bank", "--party", "shop", "--json"]
    served = CliRunner().invoke(commands, [*asked, "--timeout", str(ANSWER)])
    assert json.loads(served.stdout)["state"] == "serving"
    assert np.array_equal(explained(serving), before)


@pytest.mark.slow
def test_a_party_killed_while_serving_comes_back(serving):
    before = explained(serving)
    serving.sites["shop"].kill()
    unreachable = pytest.raises(FederationError, match=r"'shop'|in time")
    with serving.requester(OFFICER, timeout=10) as officer, unreachable:
        officer.explain(RECORDS, [RECORD], view="bank", index="owen")
    serving.sites["shop"].start()
    with serving.requester(timeout=60) as lead:
        lead.wait_for(PARTIES, timeout=ANSWER)
        lead.serve(RECORDS, parties=PARTIES, timeout=ANSWER)
    assert np.array_equal(explained(serving), before)
