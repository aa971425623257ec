"""Real processes, killed, stopped, cut off and misled at random moments of training and serving.

`DCSHAP_KILLS` says how often; the seed is `DCSHAP_SEED`. Checked after each: the run ends or fails in words, what is
answered is what that training has always answered, the ledgers' chains are whole, and it is answered without anybody's
help.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dcshap.exceptions import DcshapError
from dcshap.federation.seals.ledger import Ledger

from .conftest import OFFICER, people
from .loopback import RECORDS, federation, sabotage

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]
PARTIES = ["bank", "shop"]
RECORD = people().index[3]
KILLS = int(os.environ.get("DCSHAP_KILLS", "6"))
SEED = int(os.environ.get("DCSHAP_SEED", "1"))
PATIENCE = 240.0  # seconds; the machine may be busy


@pytest.fixture(scope="module")
def fed(tmp_path_factory):
    built = federation(tmp_path_factory.mktemp("chaos"), PARTIES)
    built.start(timeout=PATIENCE)
    with built.requester(timeout=60) as lead:
        lead.wait_for(PARTIES, timeout=PATIENCE)
        lead.train(RECORDS, LogisticRegression(), kind="vertical", parties=PARTIES, timeout=PATIENCE)
    yield built
    built.stop()


class Witness:
    """Remembers what each training has answered; no training may ever answer otherwise."""

    def __init__(self, built):
        self.built, self.answers, self.waits = built, {}, []

    def check(self):
        began, said = time.monotonic(), []
        while True:
            try:
                with self.built.requester(OFFICER, timeout=30) as officer:
                    found = officer.explain(RECORDS, [RECORD], view="bank", index="owen")
                break
            except DcshapError as error:
                said.append(str(error))
                assert time.monotonic() - began < PATIENCE, said[-3:]
                time.sleep(0.5)
        self.waits.append(time.monotonic() - began)
        known = self.answers.setdefault(found.run, found.values)
        assert np.array_equal(known, found.values)
        for name in (*PARTIES, "localhost"):
            assert Ledger(self.built.kits[name].folder / "dcshap" / "ledger.jsonl").verify() > 0


@pytest.fixture(scope="module")
def witness(fed):
    found = Witness(fed)
    found.check()
    return found


def site_of(fed, name):
    return fed.server if name == "localhost" else fed.sites[name]


def kill_one(fed, rng):
    """Kill a whole site, which is started again, or the process of a run, which nobody starts again."""
    name, whole = rng.choice([*PARTIES, "localhost"]), rng.random() < 0.5
    site = site_of(fed, name)
    if whole:
        site.kill()
        time.sleep(rng.random() * 3)
        site.start()
    else:
        for process in site.processes()[1:]:
            process.kill()
    return f"{name}{'' if whole else ' (run)'}"


def trained(fed, seconds):
    """Train again; what became of it, in words."""
    try:
        with fed.requester(timeout=60) as lead:
            told = lead.train(RECORDS, LogisticRegression(), kind="vertical", parties=PARTIES, timeout=seconds)
        return told["state"]
    except DcshapError as error:
        return str(error)


def test_sites_killed_at_random_moments_answer_again_by_themselves(fed, witness, capsys):
    rng, log = random.Random(SEED), []
    for at in range(KILLS):
        if at % 3 == 2:
            with ThreadPoolExecutor() as threads:
                training = threads.submit(trained, fed, 60.0)
                time.sleep(rng.random() * 12)
                killed = kill_one(fed, rng)
                outcome = training.result(timeout=PATIENCE)
        else:
            time.sleep(rng.random())
            killed, outcome = kill_one(fed, rng), "serving"
        witness.check()
        log.append((at, killed, outcome[:60], round(witness.waits[-1], 1)))
        with capsys.disabled():
            sys.stdout.write(f"{log[-1]}\n")
            sys.stdout.flush()
    assert len(log) == KILLS


def test_a_party_that_is_stopped_for_thirty_seconds_answers_afterwards(fed, witness):
    processes = fed.sites["shop"].processes()
    for process in processes:
        process.send_signal(signal.SIGSTOP)
    time.sleep(30)
    for process in processes:
        process.send_signal(signal.SIGCONT)
    witness.check()


def test_a_party_whose_clock_is_an_hour_ahead_is_refused_in_words_and_answers_once_it_is_right(fed, witness, tmp_path):
    earlier = fed.sites["shop"]
    earlier.stop()
    sabotage(fed, "shop", tmp_path / "orders", "clock")
    fed.sites["shop"].start()
    with fed.requester(timeout=60) as lead:
        lead.wait_for(PARTIES, timeout=PATIENCE)
    assert "clock" in trained(fed, 60.0)
    fed.sites["shop"].stop()
    fed.sites["shop"] = earlier.start()
    witness.check()


def test_a_training_on_a_full_disk_fails_in_words_and_the_earlier_one_answers(fed, witness, tmp_path):
    before = dict(witness.answers)
    earlier = fed.sites["shop"]
    earlier.stop()
    sabotage(fed, "shop", tmp_path / "orders", "full")
    fed.sites["shop"].start()
    with fed.requester(timeout=60) as lead:
        lead.wait_for(PARTIES, timeout=PATIENCE)
    assert "disk full" in trained(fed, 120.0)
    fed.sites["shop"].stop()
    fed.sites["shop"] = earlier.start()
    witness.check()
    assert set(witness.answers) == set(before)


def mount(*arguments):
    """Whether the system lets us; a container, or a user who is not root, may not."""
    command = shutil.which("mount")
    return (
        command is not None and not subprocess.run([command, *arguments], check=False, capture_output=True).returncode
    )


@pytest.fixture
def disk(fed, witness, tmp_path):
    """What the shop keeps, on a disk of its own."""
    place, aside = fed.kits["shop"].folder / "dcshap", tmp_path / "aside"
    fed.sites["shop"].stop()
    shutil.copytree(place, aside)
    mounted = mount("-t", "tmpfs", "none", str(place))
    if mounted:
        shutil.copytree(aside, place, dirs_exist_ok=True)
    fed.sites["shop"].start()
    if not mounted:
        pytest.skip("nothing can be mounted here")
    witness.check()
    yield place
    fed.sites["shop"].stop()
    shutil.copytree(place, tmp_path / "after")
    subprocess.run(["umount", str(place)], check=True)
    shutil.copytree(tmp_path / "after", place, dirs_exist_ok=True)
    fed.sites["shop"].start()
    witness.check()


def test_a_party_on_a_read_only_disk_says_so_and_answers_once_it_can_write(fed, witness, disk):
    before = dict(witness.answers)
    assert mount("-o", "remount,ro", str(disk))
    try:
        with fed.requester(OFFICER, timeout=30) as officer, pytest.raises(DcshapError, match="read-only"):
            officer.explain(RECORDS, [RECORD], view="bank", index="owen")  # nothing leaves without a line
        assert "read-only" in trained(fed, 60.0)
        assert [path.name for path in disk.rglob("*") if path.name.startswith(".")] == []
    finally:
        assert mount("-o", "remount,rw", str(disk))
    witness.check()
    assert set(witness.answers) == set(before)
