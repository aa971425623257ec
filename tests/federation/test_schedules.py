"""Several things go wrong, at random."""

from __future__ import annotations

from dcshap.federation.rehearsal.programme import simulate


def test_a_thousand_random_schedules_hold():
    found = simulate(0, 1000, 2, tell=lambda _: None)
    assert found.failures == []
    assert (found.schedules, found.hung, found.wrong, found.lost, found.overdrawn) == (1000, 0, 0, 0, 0)
    assert found.faults > 1000
