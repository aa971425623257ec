from __future__ import annotations

from benchmarks.extra import run


def test_what_the_extra_adds_to_an_installation_stays_below_40_megabytes():
    *packages, total = run(quick=True)
    assert {"sqlalchemy", "starlette", "uvicorn", "anyio"} <= {row["package"] for row in packages}
    assert not {"numpy", "matplotlib", "fonttools"} & {row["package"] for row in packages}
    assert total["of it bytecode"] > 5
    assert total["MB on disk"] < 40
