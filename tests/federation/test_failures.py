"""A training that goes wrong between real processes ends in a clear message at the right place, in time."""

from __future__ import annotations

import json
import signal
import threading
import time
from dataclasses import replace

import psutil
import pytest
import yaml
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from dcshap import Schema
from dcshap.exceptions import FederationError, PrivacyError, ProtocolError, SchemaError
from dcshap.federation.flare.job import write_job
from dcshap.federation.flare.processes import SiteProcess
from dcshap.federation.site.configuration import SiteConfig
from dcshap.federation.site.hosting import RunSettings
from dcshap.federation.site.secrets import Secrets

from .loopback import ROWS, runs_of

# The engine's own code uses what its libraries have deprecated.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")

PARTIES = ["bank", "shop"]
ANSWER = 120.0  # seconds that a site may take where it should answer; the machine may be busy


@pytest.fixture(scope="module")
def fed(loopback):
    return loopback


@pytest.fixture(scope="module")
def lead(fed):
    with fed.requester(timeout=60) as requester:
        yield requester


def train(lead, *, parties=PARTIES, timeout=ANSWER, model=None, **more):
    model = model or LogisticRegression(max_iter=1000)
    return lead.train(ROWS, model, kind="horizontal", parties=parties, timeout=timeout, **more)


def site_config(fed, name):
    return SiteConfig.load(fed.kits[name].folder)


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
    halt = threading.Thread(target=_halt_the_next_run, args=(fed.sites["shop"], runs_of(fed.sites["shop"])))
    halt.start()
    try:
        with pytest.raises(FederationError, match=r"No answer from 'shop'|'shop' (did not answer|cannot be reached)"):
            train(lead, timeout=25, watch=kill)
    finally:
        halt.join()
        fed.sites["shop"].kill()
        fed.sites["shop"].start()
    assert (fed.kits["bank"].folder / "dcshap" / ROWS / "run.json").read_text() == before
    lead.wait_for(PARTIES, timeout=ANSWER)
    assert train(lead)["state"] == "done"
    assert (fed.kits["bank"].folder / "dcshap" / ROWS / "run.json").read_text() != before


def _halt_the_next_run(site: SiteProcess, earlier: list[psutil.Process]) -> None:
    """Stop a site's run, as soon as there is one beside earlier ones, before it answers."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for process in runs_of(site):
            if process not in earlier:
                process.send_signal(signal.SIGSTOP)
                return
        time.sleep(0.05)


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
    assert not (tmp_path / "touched").exists()  # and the trainings below show that everybody goes on


@pytest.mark.parametrize(("how", "said"), [("nan", "must send finite numbers"), ("shape", "must send rows")])
def test_a_representation_that_is_none_is_refused_at_the_analyst(lead, orders, how, said):
    orders.write_text(how)
    try:
        with pytest.raises(ProtocolError, match=f"'shop' {said}"):
            train(lead)
    finally:
        orders.write_text("")


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


@pytest.mark.slow
def test_an_instance_based_model_without_consent_is_refused_at_the_start(fed, lead):
    config = site_config(fed, "shop")
    refusing = replace(config.collaborations[ROWS], instance_models=False)
    replace(config, collaborations={**config.collaborations, ROWS: refusing}).save()
    try:
        with pytest.raises(PrivacyError, match=r"Not agreed: \['shop'\]"):
            train(lead, model=KNeighborsClassifier(5))
    finally:
        config.save()


@pytest.mark.slow
def test_a_job_that_names_another_class_is_refused(fed, lead, tmp_path):
    job = write_job(tmp_path / "job", RunSettings(ROWS, "horizontal", tuple(PARTIES), run="x", model="x"))
    path = job / "party" / "config" / "config_fed_client.json"
    text = path.read_text().replace(
        "dcshap.federation.flare.executor.PartyExecutor", "nvflare.app_common.np.np_trainer.NPTrainer"
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
