"""Every single fault at every step of a training."""

from __future__ import annotations

import pytest

from dcshap.federation.rehearsal.programme import every_single_fault


@pytest.mark.parametrize("kind", ["horizontal", "vertical"])
def test_every_single_fault_at_every_step_of_a_training_holds(kind):
    found = every_single_fault(2, scenes=[(kind, "train")])
    assert found.failures == []
    assert found.faults == found.schedules - 1 > 800
