"""Partners as witnesses of a site's ledger: at every meeting each tells how long its ledger is and its last hash.

The other side remembers it, and repeats it at the next meeting, where the ledger's owner looks it up in its own lines.
So a ledger whose end was cut off, or that was put back from an old copy, is noticed by its owner.
"""

from __future__ import annotations

import json
from pathlib import Path

from dcshap.federation.seals.ledger import Ledger
from dcshap.storage import read_private, write_private

__all__ = ["Witness"]


class Witness:
    """What a site remembers of its partners' ledgers, in `ledgers.json` of a folder; and its own ledger."""

    def __init__(self, ledger: Ledger, folder: Path) -> None:
        self._ledger, self._path = ledger, folder / "ledgers.json"

    @property
    def own(self) -> str:
        """The state of the site's own ledger, for partners to remember."""
        return self._ledger.state

    def require_own(self, remembered: str) -> None:
        """Refuse to go on where a partner remembers lines that the site's own ledger no longer has."""
        self._ledger.require_state(remembered)

    def of(self, partner: str) -> str:
        """What is remembered of a partner's ledger; empty where that is nothing."""
        return self.remembered.get(partner, "")

    def note(self, partner: str, state: str) -> None:
        """Remember the state of a partner's ledger, once the partner has checked what was remembered before."""
        if self.of(partner) != state:
            write_private(self._path, json.dumps(self.remembered | {partner: state}))

    @property
    def remembered(self) -> dict[str, str]:
        """What is remembered of all partners' ledgers, by their names."""
        return read_private(
            self._path,
            lambda content: {str(name): str(state) for name, state in content.items()},
            otherwise=dict[str, str](),
            remedy="remove it, and partners are remembered anew",
        )
