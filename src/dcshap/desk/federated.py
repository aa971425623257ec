"""Cases of a running federation: the parties are asked by signed requests, and answer by their own budgets."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self, TypeVar

from dcshap._typing import FloatArray
from dcshap.desk.cases import Cases, Stated, UnknownCaseError
from dcshap.exceptions import FederationError, InputError, PrivacyError
from dcshap.explanation import PartyExplanation
from dcshap.explanation.receipt import Receipt

__all__ = ["Asking", "FederationCases"]

T = TypeVar("T")


class Asking(Protocol):
    """A session with a federation's server, as `dcshap.federation.flare.session.Session` is one."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: Any) -> None: ...
    def connected(self) -> list[str]:
        """The parties that are connected."""

    def collaborations(self) -> list[str]:
        """The collaborations that run now."""

    def status(self, collaboration: str) -> dict[str, Any]:
        """How far a collaboration is."""

    def explain(self, collaboration: str, records: Sequence[Any], **what: Any) -> PartyExplanation:
        """Explain predictions of records."""


class FederationCases(Cases):
    """Cases that are known by their identifiers only, of a vertical collaboration.

    Parameters
    ----------
    connect : callable
        Begins a session with the server.
    collaboration : str, optional
        The only one that runs, by default.
    party : str, optional
        Whose view the desk shows; the first one's by default.
    """

    kind = "federation"
    asks_at_once = True

    def __init__(
        self, connect: Callable[[], Asking], collaboration: str | None = None, *, party: str | None = None
    ) -> None:
        self._connect = connect
        self._session: Asking | None = None
        self._last_error = ""
        self._lock = threading.RLock()  # a session carries one request at a time
        running = self._ask(lambda session: session.collaborations())
        if collaboration is None and len(running) != 1:
            raise InputError(f"Say with --collaboration which one the desk is for. Now run {running}.")
        self._collaboration: str = collaboration or running[0]
        told = self._told()
        parties = sorted(told["certificates"].keys() - {"analyst"})
        self.party = parties[0] if party is None else party
        if self.party not in parties:
            raise InputError(f"--party must be one of {parties}. Got {party!r}.")
        self.organisations = tuple(name for name in parties if name != self.party)
        self._run = str(told["run"])

    @property
    def run(self) -> str:
        """The training that serves, as last heard of: a party that does not answer must not close the desk."""
        return self._run

    def records(self) -> Sequence[str]:
        """None: identifiers are the parties'."""
        return ()

    def knows(self, record: str) -> bool:
        """Only the parties can tell, when they are asked."""
        return bool(record)

    def predictions(self) -> FloatArray | None:
        """Every prediction is asked for, and counted, by itself."""
        return None

    def answer(self, record: str) -> tuple[float, ...]:  # noqa: ARG002
        """The explanation itself says what is predicted."""
        return ()

    def explain(self, record: str, *, reference: str, view: str | None = None) -> Stated:
        """Ask the parties for a view of one case."""
        what = {"view": view or self.party, "index": "owen", "reference": reference}
        try:
            explained = self._ask(lambda session: session.explain(self._collaboration, [record], **what))
        except PrivacyError:
            raise
        except InputError as error:  # a party does not hold the record
            raise UnknownCaseError(str(error)) from error
        self._run = explained.run or self._run
        return Stated(explained, None)

    def receipt(self, record: str, explanation: PartyExplanation, *, opening: str) -> Receipt | None:  # noqa: ARG002
        """None: the desk holds no copy of the model."""
        return None

    def state(self) -> list[tuple[str, str]]:
        """Who is connected, what runs, and what went wrong last."""
        try:
            connected = self._ask(lambda session: session.connected())
            running = self._ask(lambda session: session.collaborations())
            told = self._told()
        except FederationError as error:
            return [("server", str(error)), ("last error", self._last_error or "none")]
        lacking = sorted({self.party, *self.organisations} - set(connected))
        return [
            ("server", "answers"),
            ("connected", ", ".join(connected) or "nobody"),
            ("not connected", ", ".join(lacking) or "nobody"),
            ("collaborations that run", ", ".join(running)),
            ("state", str(told.get("state", ""))),
            ("training", str(told["run"])[:12]),
            ("last error", self._last_error or "none"),
        ]

    def _told(self) -> dict[str, Any]:
        return self._ask(lambda session: session.status(self._collaboration))

    def _ask(self, action: Callable[[Asking], T]) -> T:
        """Do something with the session, which is begun again after it failed."""
        with self._lock:
            try:
                if self._session is None:
                    self._session = self._connect().__enter__()
                return action(self._session)
            except FederationError as error:
                self._last_error = str(error)
                self.close()
                raise

    def close(self) -> None:
        """End the session."""
        session, self._session = self._session, None
        if session is not None:
            session.__exit__(None, None, None)
