from __future__ import annotations

import numpy as np
import pytest

from dcshap.audit import THRESHOLDS, Audit, Line, parse_threshold
from dcshap.audit.verdicts import chosen_thresholds, worst
from dcshap.exceptions import InputError

BORDERS: dict[str, list[tuple[float, str]]] = {
    "noise": [(0.1, "pass"), (0.05, "warn"), (0.01, "warn"), (0.009, "fail")],
    "lattice": [(0.0, "pass"), (0.7, "warn"), (1.0, "fail")],
    "cells": [(0.10, "pass"), (0.2, "warn"), (0.31, "fail")],
    "rows": [(0.0, "pass"), (0.005, "warn"), (0.02, "fail")],
    "columns": [(0.45, "pass"), (0.5, "warn"), (0.66, "fail")],
    "sensitive": [(0.5, "pass"), (0.7, "warn"), (0.91, "fail")],
    "linkage": [(0.05, "pass"), (0.1, "warn"), (0.21, "fail")],
    "components": [(0.69, "pass"), (0.8, "warn"), (0.91, "fail")],
    "rank": [(0, "pass"), (1, "fail")],
    "records": [(-1, "pass"), (0, "warn"), (4, "warn"), (5, "fail")],
    "membership": [(0.05, "pass"), (0.1, "warn"), (0.21, "fail")],
}


@pytest.mark.parametrize("name", BORDERS)
def test_the_table_has_the_agreed_thresholds(name):
    assert [THRESHOLDS[name].verdict(value) for value, _ in BORDERS[name]] == [each for _, each in BORDERS[name]]


def test_what_could_not_be_measured_warns():
    assert THRESHOLDS["cells"].verdict(float("nan")) == "warn"


def test_thresholds_can_be_overridden_and_are_named():
    assert parse_threshold("linkage=0.3:0.5") == ("linkage", (0.3, 0.5))
    assert chosen_thresholds({"linkage": (0.3, 0.5)})["linkage"].verdict(0.25) == "pass"
    for wrong in ({"nothing": (0, 1)}, {"linkage": (0.5, 0.3)}, {"noise": (0.01, 0.1)}, {"cells": (np.nan, 1)}):
        with pytest.raises(InputError, match="threshold"):
            chosen_thresholds(wrong)
    for text in ("linkage", "linkage=1", "linkage=a:b", "linkage=1:2:3"):
        with pytest.raises(InputError, match="NAME=PASS:FAIL"):
            parse_threshold(text)


def test_an_audit_is_as_bad_as_its_worst_line_and_strict_makes_warnings_failures():
    lines = [Line("a", "analyst", "cells", 0.0, verdict, "words") for verdict in ("pass", "warn", "fail")]
    codes = [
        (Audit("p", tuple(lines[:k])).exit_code(), Audit("p", tuple(lines[:k])).exit_code(strict=True))
        for k in range(4)
    ]
    assert codes == [(0, 0), (0, 0), (1, 2), (2, 2)]
    assert worst([]) == "pass"
    told = Audit(
        "p", (Line("a", "analyst", "cells", float("nan"), "warn", "w"),), overridden={"cells": (0, 1)}
    ).to_dict()
    assert told["lines"][0]["value"] is None
    assert told["overridden"] == {"cells": [0, 1]}
