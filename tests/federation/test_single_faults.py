"""Every single fault at every step of what a trained federation does; with more parties, where slow tests run."""

from __future__ import annotations

import pytest

from dcshap.federation.rehearsal.stage import SCENES

from .copies import single_faults

ALL = [(kind, scene) for kind in SCENES for scene in SCENES[kind]]


def test_every_single_fault_at_every_step_of_two_parties_holds():
    scenes = [each for each in ALL if each[1] != "train"]
    found = single_faults(2, *scenes)
    assert found["failures"] == []
    assert set(found["by_scene"]) == {f"{kind}, {scene}" for kind, scene in scenes}
    assert min(found["by_scene"].values()) > 70
    assert found["faults"] == found["schedules"] - len(scenes)  # one came in each, but for the runs without


@pytest.mark.slow
@pytest.mark.parametrize("n_parties", [3, 4, 5])
@pytest.mark.parametrize(("kind", "scene"), ALL)
def test_every_single_fault_at_every_step_of_more_parties_holds(n_parties, kind, scene):
    assert single_faults(n_parties, (kind, scene))["failures"] == []
