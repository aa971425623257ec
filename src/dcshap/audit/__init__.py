"""A party attacks its own release, before or after it leaves, with the strongest attacks known.

`audit_party` runs every attack of `dcshap.audit.attacks` on what a party sends, and holds what it finds against
`dcshap.audit.verdicts`. Nothing leaves the party.
"""

from dcshap.audit.auditor import audit_party
from dcshap.audit.findings import Audit, Line
from dcshap.audit.release import History, Release
from dcshap.audit.verdicts import THRESHOLDS, Threshold, parse_threshold

__all__ = ["THRESHOLDS", "Audit", "History", "Line", "Release", "Threshold", "audit_party", "parse_threshold"]
