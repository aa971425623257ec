"""Who of a run's parties is there: each is asked again and again, and a party that has gone is named at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Literal

from dcshap.exceptions import FederationError

__all__ = ["Presence", "Seen"]

Seen = Literal["there", "silent", "gone"]  # answered; did not answer in time; cannot be reached at all
SILENT = 6.0  # seconds of silence after which nobody is let wait for a party
GONE_FOR_GOOD = 8.0  # seconds after which a process that cannot be reached does not come back in the same run


class Presence:
    """What is known of each party's process in a run; `look` asks one party, and gives how it was seen."""

    def __init__(self, parties: Sequence[str], look: Callable[[str], Seen]) -> None:
        self._look, self._lock = look, threading.Lock()
        self._seen: dict[str, Seen] = dict.fromkeys(parties, "there")
        self._since = dict.fromkeys(parties, time.monotonic())

    def note(self, party: str, seen: Seen) -> None:
        """Note how a party was seen, also by whoever had something else to send it."""
        with self._lock:
            if self._seen[party] != seen:
                self._seen[party], self._since[party] = seen, time.monotonic()

    def look(self) -> None:
        """Ask all parties at the same time."""
        threads = [threading.Thread(target=self._ask, args=(party,), daemon=True) for party in self._seen]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _ask(self, party: str) -> None:
        self.note(party, self._look(party))

    def there(self) -> list[str]:
        """The parties that answer, or did some seconds ago."""
        with self._lock:
            return sorted(set(self._seen) - set(self._away()))

    def away(self) -> list[str]:
        """The parties that cannot be reached, or have not answered for some time."""
        with self._lock:
            return self._away()

    def _away(self) -> list[str]:
        long_ago = time.monotonic() - SILENT
        return sorted(
            party
            for party, seen in self._seen.items()
            if seen == "gone" or (seen == "silent" and self._since[party] <= long_ago)
        )

    def lost(self, *, after: float = GONE_FOR_GOOD) -> list[str]:
        """The parties whose process has been gone for so long that this run cannot go on."""
        with self._lock:
            until = time.monotonic() - after
            return sorted(party for party, each in self._seen.items() if each == "gone" and self._since[party] <= until)

    def require_all(self) -> None:
        """Refuse at once what a party that has gone would be needed for."""
        away = self.away()
        if away:
            raise FederationError(
                f"{away} cannot be reached now. The collaboration answers again by itself once all parties are back."
            )
