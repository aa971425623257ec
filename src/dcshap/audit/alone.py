"""Lines of the audit about the representation in the hands of the analyst alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dcshap.audit.findings import ALONE, Line
from dcshap.audit.release import Release
from dcshap.audit.verdicts import Threshold

__all__ = ["analyst_lines"]

Table = Mapping[str, Threshold]


def analyst_lines(release: Release, beside: Sequence[Release], table: Table, *, seed: int) -> list[Line]:  # noqa: ARG001
    """What the analyst alone makes of the rows, the anchor and the other parties' representations."""
    return [_noise(release, table)]


def _noise(release: Release, table: Table) -> Line:
    share = release.noise / max(release.rms, 1e-300)
    verdict = table["noise"].verdict(share)
    words = f"The noise on every row is {share:.2g} of the representation's root mean square."
    advice = "" if verdict == "pass" else "Raise `noise` to 0.2, the default."
    return Line("noise", ALONE, "noise", share, verdict, words, advice)
