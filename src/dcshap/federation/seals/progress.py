"""How far a run is: its phases, who has answered in each, and how many bytes travelled. No values."""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass, field
from typing import Any

from dcshap._machine import monotonic

__all__ = ["Phase", "Progress"]


@dataclass
class Phase:
    """One step of a run."""

    name: str
    waiting: list[str]  # the sites that are still asked
    answered: list[str] = field(default_factory=list)
    sent: int = 0  # bytes from the analyst
    received: int = 0  # bytes to the analyst
    seconds: float = 0.0  # how long it took, or has been taking


class Progress:
    """The phases of a run, in order; may be read while it goes on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._phases: list[Phase] = []
        self._began = 0.0
        self.state = "training"
        self.error: dict[str, Any] | None = None

    def begin(self, name: str, sites: list[str]) -> None:
        """Begin a phase in which these sites are asked."""
        with self._lock:
            self._began = monotonic()
            self._phases.append(Phase(name, sorted(sites)))

    def moved(self, *, sent: int = 0, received: int = 0) -> None:
        """Note bytes that have travelled: of a large message some at a time."""
        with self._lock:
            phase = self._phases[-1]
            phase.sent, phase.received = phase.sent + sent, phase.received + received
            phase.seconds = monotonic() - self._began

    def answered(self, site: str) -> None:
        """Note that a site has answered."""
        with self._lock:
            phase = self._phases[-1]
            if site in phase.waiting:
                phase.waiting.remove(site)
            phase.answered.append(site)
            phase.seconds = monotonic() - self._began

    def end(self) -> None:
        """Note that the phase is over."""
        with self._lock:
            self._phases[-1].seconds = monotonic() - self._began

    def to_dict(self) -> dict[str, Any]:
        """Plain content, for whoever asks how far the run is."""
        with self._lock:
            return {"state": self.state, "error": self.error, "phases": [asdict(phase) for phase in self._phases]}
