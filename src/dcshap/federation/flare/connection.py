"""A connection with the analyst's server, through the engine: who is connected, which runs there are, and commands."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from nvflare.apis.fl_exception import FLCommunicationError
from nvflare.fuel.flare_api import api_spec as engine
from nvflare.fuel.flare_api.flare_api import Session as EngineSession
from nvflare.fuel.flare_api.flare_api import new_secure_session
from nvflare.tool.cli_output import set_output_format

from dcshap.exceptions import FederationError, StorageError
from dcshap.federation.flare.kits import Kit
from dcshap.federation.flare.naming import NAME_BEGINS
from dcshap.federation.seals.identity import Identity

__all__ = ["REFUSED", "UNREACHABLE", "Connection", "collaboration_of"]

REFUSED = (engine.AuthenticationError, engine.AuthorizationError)
UNREACHABLE = (
    engine.CommandError,
    engine.InternalError,
    engine.InvalidJobDefinition,
    engine.InvalidTarget,
    engine.JobNotDone,
    engine.JobNotFound,
    engine.JobNotRunning,
    engine.NoClientsAvailable,
    engine.NoConnection,
    engine.NoReply,
    engine.SessionClosed,
    FLCommunicationError,  # of a server that is too busy to let somebody in
    RuntimeError,  # what the engine raises for everything else
)
_ALIVE = ("RUNNING", "DISPATCHED", "SUBMITTED")
_HEARD = 15.0  # seconds since a party's last heartbeat within which it counts as connected
_AT_ONCE = 2.0  # seconds that a run may take to answer a command
_POLL = 0.25


class Connection:
    """A connection with the analyst's server.

    Parameters
    ----------
    kit : path
        The kit of a participant who may ask.
    timeout : float
        Seconds that an answer may take.
    """

    def __init__(self, kit: str | Path, *, timeout: float = 30.0) -> None:
        self.kit = Kit.load(kit, "requester")
        self.identity = Identity(self.kit.startup)
        self.timeout = timeout
        self._session: EngineSession | None = None

    def __enter__(self) -> Self:
        if not os.access(self.kit.folder, os.W_OK):
            raise StorageError(f"{self.kit.folder} must be writable: the engine keeps its log there. It is not.")
        set_output_format("json")  # what the engine says of itself then goes to stderr
        try:
            self._session = self._let_in()
            self._session.set_timeout(self.timeout)
        except REFUSED as error:
            raise FederationError(f"The server does not let {self.kit.name!r} in.") from error
        except UNREACHABLE as error:
            raise FederationError("The analyst's server cannot be reached. Is it running?") from error
        except OSError as error:
            raise StorageError(f"{self.kit.folder} must be writable. It is not ({error.strerror}).") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._session is not None:
            self._session.close()

    def _let_in(self) -> EngineSession:
        """The engine's session; a server that is too busy to let somebody in is asked again."""
        until = time.monotonic() + self.timeout
        while True:
            try:
                return new_secure_session(self.kit.name, str(self.kit.folder), timeout=self.timeout)
            except FLCommunicationError:
                if time.monotonic() >= until:
                    raise
                time.sleep(_POLL)

    @property
    def session(self) -> EngineSession:
        """The engine's session."""
        if self._session is None:
            raise FederationError("Use a Session in a `with` statement.")
        return self._session

    def connected(self) -> list[str]:
        """The parties that the server has heard of lately.

        By the server's clock, which this machine's need not agree with: compared are the parties with each other.
        """
        heard = {each.name: each.last_connect_time or 0.0 for each in self.call(self.session.get_connected_client_list)}
        since = max(heard.values(), default=0.0) - _HEARD
        return sorted(name for name, when in heard.items() if when >= since)

    def wait_for(self, parties: Sequence[str], *, timeout: float) -> None:
        """Wait until all parties are connected."""
        until = time.monotonic() + timeout
        while missing := sorted(set(parties) - set(self.connected())):
            if time.monotonic() >= until:
                raise FederationError(f"{missing} did not connect within {timeout:g} s. Is every party started?")
            time.sleep(_POLL)

    def command(self, job: str, command: str, data: dict[str, Any]) -> dict[str, Any] | None:
        """What a run answers to a command; None where it does not, which is soon.

        All commands are answered within a second. One that reaches a process which is just starting or ending is lost.
        """
        self.session.set_timeout(min(self.timeout, _AT_ONCE))
        try:
            found: dict[str, Any] = self.session.do_app_command(job, command, data)
        except REFUSED as error:
            raise FederationError(f"The server does not allow {self.kit.name!r} to do this.") from error
        except UNREACHABLE:
            return None
        finally:
            self.session.set_timeout(self.timeout)
        return found

    def running(self, collaboration: str) -> list[str]:
        """The runs of a collaboration that have not ended, the newest first."""
        named = [job for job in self.jobs_listed() if collaboration_of(job) == collaboration]
        named.sort(key=lambda job: str(job.get("submit_time")), reverse=True)
        return [str(job["job_id"]) for job in named]

    def jobs_listed(self) -> list[dict[str, Any]]:
        """All runs that have not ended."""
        jobs: list[dict[str, Any]] = self.call(self.session.list_jobs)
        return [job for job in jobs if str(job.get("status")) in _ALIVE]

    def call(self, action: Callable[..., Any], *arguments: Any) -> Any:
        """What the engine gives; its errors in words."""
        try:
            return action(*arguments)
        except REFUSED as error:
            raise FederationError(f"The server does not allow {self.kit.name!r} to do this.") from error
        except UNREACHABLE as error:
            raise FederationError(
                "The analyst's server did not do what was asked, or in time. Is the collaboration running?"
            ) from error


def collaboration_of(job: dict[str, Any]) -> str:
    """The collaboration that a job is a run of; empty if it is none of ours."""
    name = str(job.get("job_name", job.get("name")))
    return name.removeprefix(NAME_BEGINS) if name.startswith(NAME_BEGINS) else ""
