"""The demonstration, whole: four sites as real processes, two trainings, explanations, and a clean end."""

from __future__ import annotations

import pytest

from dcshap.federation.demo import run_demo

pytestmark = [
    pytest.mark.slow,  # what it shows one by one is shown by the other tests of real processes
    # The engine's own code uses what its libraries have deprecated.
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]


def test_the_demonstration_runs_and_its_parties_agree(tmp_path):
    told: list[str] = []
    found = run_demo(told.append, folder=tmp_path)
    assert len(told) >= 5
    assert set(found.horizontal) == {"bank", "insurer", "shop"}
    assert found.vertical["full"].values.shape[1] == 12
    kinds = set(zip(found.travelled["to"], found.travelled["what"], strict=True))
    assert ("analyst", "Representation") in kinds
    assert not [what for to, what in kinds if to == "analyst" and what in ("AnchorSeed", "PseudonymKey")]
