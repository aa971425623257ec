"""Every single fault at every step of what a trained federation does; with more parties, where slow tests run."""

from __future__ import annotations

import pytest

from dcshap.federation.rehearsal.programme import every_single_fault
from dcshap.federation.rehearsal.stage import SCENES

ALL = [(kind, scene) for kind in SCENES for scene in SCENES[kind]]


@pytest.mark.parametrize(("kind", "scene"), [each for each in ALL if each[1] != "train"])
def test_every_single_fault_at_every_step_of_two_parties_holds(kind, scene):
    found = every_single_fault(2, scenes=[(kind, scene)])
    assert found.failures == []
    assert found.schedules > 70
    assert found.faults == found.schedules - 1  # one came in each, but for the run without


@pytest.mark.slow
@pytest.mark.parametrize("n_parties", [3, 4, 5])
@pytest.mark.parametrize(("kind", "scene"), ALL)
def test_every_single_fault_at_every_step_of_more_parties_holds(n_parties, kind, scene):
    assert every_single_fault(n_parties, scenes=[(kind, scene)]).failures == []
