"""A network in one process: bytes go from site to site by function calls, and whatever is to be rehearsed may go wrong.

With it sealed protocols run without an engine: the same sites, envelopes and ledgers as between organisations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dcshap.exceptions import FederationError

__all__ = ["SimulatedNetwork"]

Handler = Callable[[bytes], bytes]
Tamper = Callable[[str, bytes], bytes]  # recipient and bytes on their way -> what arrives


def _unchanged(to: str, data: bytes) -> bytes:  # noqa: ARG001
    return data


@dataclass
class SimulatedNetwork:
    """Participants by name, and what passed between them.

    Attributes
    ----------
    participants : mapping of name to callable
        Takes what arrives, and gives the reply.
    carried : list of bytes
        Everything that was on its way, as who carries it sees it.
    silent : set of str
        Who does not answer.
    tamper : callable
        Changes what is on its way.
    """

    participants: dict[str, Handler] = field(default_factory=dict)
    carried: list[bytes] = field(default_factory=list)
    silent: set[str] = field(default_factory=set)
    tamper: Tamper = _unchanged

    def send(self, to: str, data: bytes, *, patience: float) -> bytes:
        """Bring bytes to a participant, and its reply back."""
        self.carried.append(data)
        if to in self.silent or to not in self.participants:
            raise FederationError(f"No answer from {to!r} within {patience:g} s. Is it running?")
        reply = self.participants[to](self.tamper(to, data))
        self.carried.append(reply)
        return reply
