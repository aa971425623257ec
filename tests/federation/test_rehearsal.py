"""Rehearsals themselves: they are replayed to the byte, and find the bugs that are planted."""

from __future__ import annotations

import json
import os
import time

import pytest
from typer.testing import CliRunner

from dcshap._disk import create
from dcshap.cli.main import app
from dcshap.exceptions import FederationError
from dcshap.federation.rehearsal import branches
from dcshap.federation.rehearsal.branches import faults_from, random_scenes
from dcshap.federation.rehearsal.programme import BLOCK, _kind, simulate
from dcshap.federation.rehearsal.schedule import Schedule, rehearse
from dcshap.federation.rehearsal.stage import OFFICER, SCENES, Stage
from dcshap.federation.seals.envelopes import Opened
from dcshap.federation.seals.ledger import Ledger
from dcshap.federation.site import runs, secrets
from dcshap.federation.site.keeping import KeepingAnalyst
from dcshap.protocol.faults import Fault
from dcshap.protocol.simulated import FaultyNetwork
from dcshap.protocol.world import World

ALL = [(kind, scene) for kind in SCENES for scene in SCENES[kind]]


@pytest.fixture(scope="module")
def stages():
    with Stage("horizontal", 2) as horizontal, Stage("vertical", 2) as vertical:
        yield {"horizontal": horizontal, "vertical": vertical}


@pytest.mark.parametrize(("kind", "scene"), ALL)
def test_a_schedule_is_replayed_to_the_byte(stages, kind, scene):
    schedule = Schedule((scene,), (Fault(4, "double", 7), Fault(9, "kill", 3), Fault(11, "corrupt", 12345)), seed=5)
    first, second = rehearse(stages[kind], schedule), rehearse(stages[kind], schedule)
    assert first.digest == second.digest
    assert first.journal == second.journal
    assert first.said == second.said
    assert first.digest != rehearse(stages[kind], Schedule((scene,), schedule.faults, seed=6)).digest


def test_a_copy_that_goes_wrong_is_what_its_seed_replays():
    stage = Stage("vertical", 2)
    with stage:
        block = next(seed for seed in range(100) if random_scenes("vertical", seed) == ("predict",))
        without = rehearse(stage, Schedule(("predict",), (), block))
        faults = faults_from(3, without.journal[2][0], seed=block, copy=1)
        assert rehearse(stage, Schedule(("predict",), faults, block)).n_faults >= 1
    assert simulate(block * BLOCK + 5, 1, 2, tell=lambda _: None).schedules == 1


def test_what_was_cut_short_goes_on_with_the_next_seed():
    block = next(
        seed for seed in range(100) if (_kind(seed), random_scenes("vertical", seed)) == ("vertical", ("predict",))
    )
    whole = simulate(block * BLOCK, 12, 2, tell=lambda _: None)
    begun = simulate(block * BLOCK, 5, 2, tell=lambda _: None)
    again = simulate(begun.seeds[1] + 1, 7, 2, tell=lambda _: None)
    assert whole.seeds == [block * BLOCK, block * BLOCK + 11]
    assert again.seeds == [block * BLOCK + 5, block * BLOCK + 11]
    assert begun.faults + again.faults == whole.faults
    assert begun.schedules + again.schedules == whole.schedules == 12


def first_found(stage: Stage, scene: str, event: str, fault: str, *, backwards: bool = False):
    """The first verdict that finds something, of one fault at each event of a kind."""
    journal = rehearse(stage, Schedule((scene,))).journal
    at = [number for number, (kind, _) in enumerate(journal, start=1) if kind == event]
    for number in reversed(at) if backwards else at:
        stage.recovered.clear()
        verdict = rehearse(stage, Schedule((scene,), (Fault(number, fault, 5),))).verdict
        if verdict:
            return verdict
    return None


def test_a_message_that_leaves_unrecorded_is_found(stages, monkeypatch):
    append = Ledger.append
    monkeypatch.setattr(Ledger, "append", lambda book, entry: entry.kind == "Ready" or append(book, entry))
    assert rehearse(stages["horizontal"], Schedule(("resume",))).verdict.lost


def test_a_file_that_is_not_replaced_as_a_whole_is_found(stages, monkeypatch):
    monkeypatch.setattr(secrets, "write_private", lambda path, text: create(path, text.encode()))
    monkeypatch.setattr(runs, "write_private", lambda path, text: create(path, text.encode()))
    found = first_found(stages["horizontal"], "train", "write", "tear")
    assert found is not None
    assert found.lost


def test_a_model_that_counts_before_all_have_it_is_found(stages, monkeypatch):
    """The analyst decides when it has the model, not when all parties have prepared."""
    from dcshap.collaboration import Analyst  # noqa: PLC0415

    send = Analyst.send_integration

    def hasty(self, to):
        message = send(self, to)
        self.runs.prepare(self.run, self.save)
        KeepingAnalyst(self, self.runs, self.spool).send_commit(to)
        return message

    original = KeepingAnalyst.__init__

    def told(self, analyst, kept, spool):
        analyst.runs, analyst.spool = kept, spool
        original(self, analyst, kept, spool)

    monkeypatch.setattr(KeepingAnalyst, "__init__", told)
    monkeypatch.setattr(Analyst, "send_integration", hasty)
    found = first_found(stages["horizontal"], "train", "message", "lose", backwards=True)
    assert found is not None
    assert found.lost


def test_an_answer_that_differs_is_found(stages, monkeypatch):
    from dcshap.explanation.answering import AnsweringAnalyst  # noqa: PLC0415

    stages["vertical"].expected(0, "predict")
    predict = AnsweringAnalyst.send_prediction
    monkeypatch.setattr(
        AnsweringAnalyst,
        "send_prediction",
        lambda self, to: (self._records.sort(key=lambda each: each.party, reverse=True), predict(self, to))[1],
    )
    sound = rehearse(stages["vertical"], Schedule(("predict",))).verdict
    monkeypatch.setattr(
        "dcshap.collaboration.Analyst.predict_records",
        lambda self, _, **__: self.model_.predict_proba([[9.0] * self.model_.n_features_in_]),
    )
    assert not sound.wrong  # the order of arrival does not matter
    assert rehearse(stages["vertical"], Schedule(("predict",))).verdict.wrong


def test_a_budget_that_is_not_kept_is_found(stages, monkeypatch):
    scenes = ("predict",) * 4  # one more than the officer's budget
    assert rehearse(stages["vertical"], Schedule(scenes)).verdict.overdrawn == []
    monkeypatch.setattr(Ledger, "_require_budget", lambda *_, **__: None)
    assert rehearse(stages["vertical"], Schedule(scenes)).verdict.overdrawn


def test_an_error_without_words_is_found(stages, monkeypatch):
    def fail(*_):
        raise KeyError("opened")

    monkeypatch.setattr(Opened, "once", fail)
    assert rehearse(stages["vertical"], Schedule(("resume",))).verdict.hung


def test_the_officer_s_budget_is_all_that_is_answered(stages):
    said = rehearse(stages["vertical"], Schedule(("predict",) * 4)).said
    assert said[:3] == ["", "", ""]
    assert "The budget of" in said[3]
    assert OFFICER in said[3]


def said_by_a_copy(do):
    reading, writing = os.pipe()
    copy = os.fork()
    if not copy:
        do()
        os.write(writing, b"done")
        os._exit(0)
    os.close(writing)
    return branches._said_by(copy, reading)


def work(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def work_slowly():
    for _ in range(9):
        work(0.03)
        time.sleep(0.1)


def test_a_copy_hangs_if_it_waits_for_itself_or_works_without_end_and_not_if_it_is_slow(monkeypatch):
    monkeypatch.setattr(branches, "_PATIENCE", 0.4)
    assert said_by_a_copy(lambda: time.sleep(60)) == b""
    assert said_by_a_copy(lambda: work(60)) == b""
    assert said_by_a_copy(work_slowly) == b"done"  # as on a busy machine


def test_time_passes_only_in_the_world():
    world = World()
    network = FaultyNetwork({"bank": lambda data: data}, world=world)
    world.counting = True
    world.add([Fault(1, "lose")])
    with world.as_actor("shop"), pytest.raises(FederationError, match="No answer from 'bank' within 500 s"):
        network.send("bank", b"hello", patience=500.0)
    assert 500.0 <= world.time < 501.0


def test_what_was_delayed_arrives_later_and_its_sender_has_given_up():
    world, arrived = World(), []

    def take(data):
        arrived.append(data)
        return data

    network = FaultyNetwork({"bank": take}, world=world)
    world.counting = True
    world.add([Fault(1, "delay", how=0)])
    with world.as_actor("shop"):
        with pytest.raises(FederationError):
            network.send("bank", b"first", patience=5.0)
        for at in range(3):
            network.send("bank", b"%d" % at, patience=5.0)
    assert arrived == [b"0", b"first", b"1", b"2"]


def test_the_command_prints_the_four_counts():
    found = CliRunner().invoke(app, ["federation", "simulate", "--schedules", "30", "--parties", "2", "--json"])
    assert found.exit_code == 0, found.output
    counts = json.loads(found.stdout)
    assert counts["schedules"] == 30
    assert counts["faults"] > 20
    assert [counts[key] for key in ("hung", "wrong", "lost", "overdrawn")] == [0, 0, 0, 0]
