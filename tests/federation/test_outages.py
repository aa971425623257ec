"""Who is let in, and what becomes of a trained collaboration when a site stands still or dies; real processes."""

from __future__ import annotations

import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dcshap.exceptions import DcshapError, FederationError
from dcshap.federation.flare.processes import SiteProcess

from .conftest import OFFICER, people
from .loopback import RECORDS, runs_of
from .twin import Authority

# The engine's own code uses what its libraries have deprecated.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")

PARTIES = ["bank", "shop"]
RECORD = people().index[3]
ANSWER = 120.0  # seconds that a site may take where it should answer; the machine may be busy


@pytest.fixture(scope="module")
def fed(loopback):
    return loopback


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


def answered_again(fed):
    """What is answered once the collaboration is back, which nobody has asked it to be; and what was said till then."""
    said: list[str] = []
    until = time.monotonic() + ANSWER
    while time.monotonic() < until:
        try:
            return explained(fed), said
        except FederationError as error:
            said.append(str(error))
            time.sleep(0.5)
    raise AssertionError(said)


def test_a_site_is_its_own_process_one_that_runs_are_forked_from_and_a_run(serving):
    for site in (serving.server, *(serving.sites[name] for name in PARTIES)):
        own, *others = site.processes()
        assert sorted(process.ppid() for process in others) == [own.pid, own.pid]
        assert len(runs_of(site)) == 1


def test_while_a_party_stands_still_others_are_answered_at_once_and_it_is_named(serving):
    before = explained(serving)
    run = runs_of(serving.sites["shop"])
    with serving.requester(OFFICER, timeout=8) as officer, serving.requester(timeout=60) as lead:
        for process in run:
            process.send_signal(signal.SIGSTOP)
        try:
            with ThreadPoolExecutor() as threads:
                slow = threads.submit(officer.explain, RECORDS, [RECORD], view="bank", index="owen")
                time.sleep(1)
                began = time.monotonic()
                assert lead.status(RECORDS)["state"] in ("serving", "waiting for parties")
                assert time.monotonic() - began < 5
                with pytest.raises(FederationError, match="shop"):
                    slow.result()
            until = time.monotonic() + 30
            while not (named := lead.status(RECORDS))["away"]:
                assert time.monotonic() < until
                time.sleep(0.5)
            assert (named["state"], named["away"]) == ("waiting for parties", ["shop"])
            began = time.monotonic()
            with pytest.raises(FederationError, match=r"\['shop'\] cannot be reached"):
                officer.explain(RECORDS, [RECORD], view="bank", index="owen")
            assert time.monotonic() - began < 5
        finally:
            for process in run:
                process.send_signal(signal.SIGCONT)
    assert np.array_equal(answered_again(serving)[0], before)


def test_a_retraining_that_fails_leaves_what_served_before_serving(serving):
    before = explained(serving)
    with serving.requester(timeout=60) as lead:
        with pytest.raises(DcshapError):
            lead.train(RECORDS, LogisticRegression(C=-1.0), kind="vertical", parties=PARTIES, timeout=ANSWER)
        assert lead.status(RECORDS)["state"] == "serving"
    assert np.array_equal(explained(serving), before)


def test_a_server_that_was_killed_serves_again_by_itself(serving):
    before = explained(serving)
    serving.server.kill()
    with pytest.raises(FederationError, match="cannot be reached"), serving.requester(OFFICER, timeout=5):
        pass
    serving.server.start().wait_for_port(serving.port, timeout=ANSWER)
    again, said = answered_again(serving)
    assert np.array_equal(again, before)
    assert not any("Train it" in each for each in said)  # which would abort what is about to answer


@pytest.mark.slow
def test_a_party_that_was_killed_is_named_and_comes_back_by_itself(serving):
    before = explained(serving)
    serving.sites["shop"].kill()
    with serving.requester(OFFICER, timeout=10) as officer, pytest.raises(FederationError, match="shop"):
        officer.explain(RECORDS, [RECORD], view="bank", index="owen")
    serving.sites["shop"].start()
    assert np.array_equal(answered_again(serving)[0], before)


@pytest.mark.slow
def test_a_run_whose_process_was_killed_comes_back_by_itself(serving):
    before = explained(serving)
    for site in (serving.sites["shop"], serving.server):
        for process in site.processes()[1:]:
            process.kill()
        assert np.array_equal(answered_again(serving)[0], before)


def test_a_training_takes_the_place_of_what_served_and_what_was_stopped_stays_stopped(serving):
    with serving.requester(timeout=60) as lead, serving.requester(OFFICER, timeout=60) as officer:
        officer.explain(RECORDS, [RECORD], view="bank", index="owen")
        before = lead.status(RECORDS)["run"]
        trained = lead.train(RECORDS, LogisticRegression(C=0.5), kind="vertical", parties=PARTIES, timeout=ANSWER)
        assert trained["run"] != before
        until = time.monotonic() + ANSWER  # the earlier run answers until the server has ended it
        while officer.explain(RECORDS, [RECORD], view="bank", index="owen").run != trained["run"]:
            assert time.monotonic() < until
        lead.stop(RECORDS)
        time.sleep(3)  # longer than the server's watchman needs
        with pytest.raises(FederationError, match="not running now"):
            lead.status(RECORDS)
