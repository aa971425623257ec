"""What goes wrong between real processes ends in a clear message at the right place, in time; the others go on."""

from __future__ import annotations

import json
import shutil
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from dcshap import Schema
from dcshap.exceptions import FederationError, PrivacyError, ProtocolError, SchemaError
from dcshap.federation.conductor import RunSettings
from dcshap.federation.job import write_job
from dcshap.federation.processes import Site
from dcshap.federation.site import Secrets, SiteConfig

from .conftest import OFFICER, people
from .loopback import RECORDS, ROWS, federation
from .twin import Authority

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]

SABOTAGE = Path(__file__).parent / "sabotage"
PARTIES = ["bank", "shop"]
RECORD = people().index[3]
ANSWER = 90.0  # seconds that a site may take where it should answer; the machine may be busy


@pytest.fixture(scope="module")
def fed(tmp_path_factory):
    built = federation(tmp_path_factory.mktemp("failures"), PARTIES, idle=["post"])
    built.start(parties=PARTIES)
    yield built
    built.stop()


@pytest.fixture
def lead(fed):
    with fed.requester(timeout=60) as requester:
        yield requester


def train(lead, *, parties=PARTIES, timeout=ANSWER, model=None, **more):
    model = model or LogisticRegression(max_iter=1000)
    return lead.train(ROWS, model, kind="horizontal", parties=parties, timeout=timeout, **more)


def site_config(fed, name):
    return SiteConfig.load(fed.kits[name].folder)


def restart(fed, name, env=None):
    fed.sites[name].stop()
    fed.environment(name, env or {})
    fed.sites[name].start()


def test_a_party_that_never_starts_is_named(fed, lead):
    lead.wait_for(PARTIES, timeout=ANSWER)
    began = time.monotonic()
    with pytest.raises(FederationError, match=r"\['post'\] did not connect within 4 s"):
        train(lead, parties=["bank", "post"], timeout=4)
    assert time.monotonic() - began < 30
    assert train(lead)["state"] == "done"


def test_a_party_killed_while_training_is_named_comes_back_and_nothing_is_lost(fed, lead):
    before = (fed.kits["bank"].folder / "dcshap" / ROWS / "run.json").read_text()
    killed = threading.Event()

    def kill(told):
        if told["phases"] and not killed.is_set():
            killed.set()
            fed.sites["shop"].kill()

    # A party that stands still is not answering when it is killed.
    halt = threading.Thread(target=_halt_the_run, args=(fed.sites["shop"],))
    halt.start()
    with pytest.raises(FederationError, match=r"\['shop'\]"):
        train(lead, timeout=20, watch=kill)
    halt.join()
    assert (fed.kits["bank"].folder / "dcshap" / ROWS / "run.json").read_text() == before
    fed.sites["shop"].start()
    lead.wait_for(PARTIES, timeout=ANSWER)
    assert train(lead)["state"] == "done"
    assert (fed.kits["bank"].folder / "dcshap" / ROWS / "run.json").read_text() != before


def _halt_the_run(site: Site) -> None:
    """Stop a site's run, as soon as there is one, before it answers."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for process in site.processes():
            if "worker_process" in " ".join(process.cmdline()):
                process.send_signal(signal.SIGSTOP)
                return
        time.sleep(0.05)


@pytest.mark.parametrize(("how", "said"), [("nan", "must send finite numbers"), ("shape", "must send rows")])
def test_a_representation_that_is_none_is_refused_at_the_analyst(fed, lead, how, said):
    restart(fed, "shop", {"DCSHAP_SABOTAGE": how, "PYTHONPATH": str(SABOTAGE)})
    lead.wait_for(PARTIES, timeout=ANSWER)
    try:
        with pytest.raises(ProtocolError, match=f"'shop' {said}"):
            train(lead)
    finally:
        restart(fed, "shop")
    lead.wait_for(PARTIES, timeout=ANSWER)


def test_another_schema_version_is_refused_between_the_parties(fed, lead):
    path = fed.kits["shop"].folder / "local" / f"schema-{ROWS}.yaml"
    agreed = path.read_text()
    content = yaml.safe_load(agreed)
    content["columns"]["age"]["high"] = 123.0
    Schema.from_dict(content).save(path)
    try:
        with pytest.raises(SchemaError, match="'age' differs in high") as refused:
            train(lead)
    finally:
        path.write_text(agreed)
    assert "123" not in str(refused.value)


def test_another_anchor_is_refused_between_the_parties(fed, lead):
    folder = site_config(fed, "shop").state_folder(ROWS)
    kept = Secrets.load(folder)
    replace(kept, anchor_seed=4711, agreed=True).save(folder)
    try:
        with pytest.raises(PrivacyError, match="another anchor") as refused:
            train(lead)
    finally:
        kept.save(folder)
    assert "4711" not in str(refused.value)


def test_an_instance_based_model_without_consent_is_refused_at_the_start(fed, lead):
    config = site_config(fed, "shop")
    refusing = replace(config.collaborations[ROWS], instance_models=False)
    replace(config, collaborations={**config.collaborations, ROWS: refusing}).save()
    try:
        with pytest.raises(PrivacyError, match=r"Not agreed: \['shop'\]"):
            train(lead, model=KNeighborsClassifier(5))
    finally:
        config.save()


def test_a_job_that_brings_code_is_refused(fed, lead, tmp_path):
    settings = RunSettings(ROWS, "horizontal", tuple(PARTIES), run="x", model="x")
    job = write_job(tmp_path / "job", settings)
    custom = job / "party" / "custom"
    custom.mkdir()
    (custom / "evil.py").write_text(f"open({str(tmp_path / 'touched')!r}, 'w')")
    config = json.loads((job / "party" / "config" / "config_fed_client.json").read_text())
    config["executors"][0]["executor"] = {"path": "evil.Executor", "args": {}}
    (job / "party" / "config" / "config_fed_client.json").write_text(json.dumps(config))
    assert _ended(lead, job, 60) != "FINISHED:COMPLETED"
    assert not (tmp_path / "touched").exists()
    assert train(lead)["state"] == "done"


def test_a_job_that_names_another_class_is_refused(fed, lead, tmp_path):
    job = write_job(tmp_path / "job", RunSettings(ROWS, "horizontal", tuple(PARTIES), run="x", model="x"))
    path = job / "party" / "config" / "config_fed_client.json"
    text = path.read_text().replace(
        "dcshap.federation.executor.PartyExecutor", "nvflare.app_common.np.np_trainer.NPTrainer"
    )
    path.write_text(text.replace('"collaboration": "rows"', '"sleep_time": 0'))
    assert _ended(lead, job, 60) != "FINISHED:COMPLETED"


def _ended(lead, job, timeout):
    """How a job ended that should not have begun; a refusal on submission counts as well."""
    try:
        submitted = lead.session.submit_job(str(job))
    except Exception as error:  # whatever the engine raises, it refused
        return type(error).__name__
    until = time.monotonic() + timeout
    while time.monotonic() < until:
        status = str(lead.session.get_job_meta(submitted).get("status"))
        if status.startswith(("FINISHED", "FAILED")):
            return status
        time.sleep(0.5)
    lead.session.abort_job(submitted)
    return "still waiting"


# --- who may connect ------------------------------------------------------------------------------------------------


def _impostor(fed, tmp_path, change):
    """Start a party from a changed copy of post's kit; whether it was let in, within some seconds."""
    folder = tmp_path / "impostor"
    shutil.copytree(fed.kits["post"].folder, folder)
    change(folder / "startup")
    impostor = Site(replace(fed.kits["post"], folder=folder))
    with fed.requester(timeout=60) as lead, impostor:
        try:
            lead.wait_for(["post"], timeout=12)
        except FederationError:
            assert set(lead.connected()) == set(PARTIES)
            return False
    return True


def test_a_party_without_certificate_is_not_let_in(fed, tmp_path):
    def change(startup):
        (startup / "client.crt").unlink()
        (startup / "client.key").unlink()

    assert not _impostor(fed, tmp_path, change)


def test_a_party_with_a_certificate_of_another_authority_is_not_let_in(fed, tmp_path):
    def change(startup):
        root = (startup / "rootCA.pem").read_bytes()
        Authority().issue(startup, "post")  # of the right name; it still trusts the project's server
        (startup / "rootCA.pem").write_bytes(root)

    assert not _impostor(fed, tmp_path, change)


def test_a_party_with_another_party_s_certificate_is_not_let_in_under_its_own_name(fed, tmp_path):
    def change(startup):
        for file in ("client.crt", "client.key"):
            shutil.copy(fed.kits["shop"].startup / file, startup / file)

    assert not _impostor(fed, tmp_path, change)


def test_a_party_with_its_own_certificate_is_let_in(fed, tmp_path):
    # After the others: the server remembers for some minutes who was there.
    assert _impostor(fed, tmp_path, lambda _: None)


# --- a trained collaboration ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def serving(fed):
    with fed.requester(timeout=60) as lead:
        lead.wait_for(PARTIES, timeout=ANSWER)
        lead.train(RECORDS, KNeighborsClassifier(5), kind="vertical", parties=PARTIES, timeout=ANSWER)
    return fed


def explained(fed, **more):
    with fed.requester(OFFICER, timeout=60) as officer:
        return officer.explain(RECORDS, [RECORD], view="bank", index="owen", **more).values


def test_a_request_to_a_party_that_answers_late_fails_in_time_and_answers_again_later(serving):
    before = explained(serving)
    run = [p for p in serving.sites["shop"].processes() if "worker_process" in " ".join(p.cmdline())]
    with serving.requester(OFFICER, timeout=8) as officer:
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
        assert lead.serve(RECORDS, parties=PARTIES, timeout=ANSWER)["state"] == "serving"
    assert np.array_equal(explained(serving), before)


def test_a_party_killed_while_serving_comes_back(serving):
    before = explained(serving)
    serving.sites["shop"].kill()
    with serving.requester(OFFICER, timeout=10) as officer, pytest.raises(FederationError):
        officer.explain(RECORDS, [RECORD], view="bank", index="owen")
    serving.sites["shop"].start()
    with serving.requester(timeout=60) as lead:
        lead.wait_for(PARTIES, timeout=ANSWER)
        lead.serve(RECORDS, parties=PARTIES, timeout=ANSWER)
    assert np.array_equal(explained(serving), before)
