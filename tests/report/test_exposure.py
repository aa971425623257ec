"""The page of an audit."""

from __future__ import annotations

from dcshap.audit import Audit, Line
from dcshap.report import audit_report
from tests.report.checker import Page


def test_a_page_of_an_audit_shows_bars_words_and_what_to_change():
    lines = (
        Line("noise", "analyst", "noise", 0.2, "pass", "The noise is 0.2."),
        Line("linkage", "analyst and a party", "linkage", 0.3, "fail", "Found for <30%>.", "More noise.", {"a<b": 0.4}),
        Line("lattice", "analyst", "lattice", float("nan"), "warn", "Not run."),
    )
    page = Page(audit_report(Audit("north", lines, ("All rows.",), {"linkage": (0.1, 0.2)})).html())
    assert page.problems == []
    text = "".join(page.text)
    for expected in ("More noise.", "Found for <30%>.", "All rows.", "not the default", "a<b", "What to change"):
        assert expected in text
