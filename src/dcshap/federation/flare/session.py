"""A session with the analyst's server: trains, tells how far a run is, and carries requests, all through the engine."""

from __future__ import annotations

import base64
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

from nvflare.fuel.flare_api import api_spec as engine
from nvflare.fuel.flare_api.flare_api import Session as EngineSession
from nvflare.fuel.flare_api.flare_api import new_secure_session
from nvflare.tool.cli_output import set_output_format

from dcshap.exceptions import FederationError
from dcshap.explanation.statement import PartyExplanation
from dcshap.federation.flare.job import NAME_BEGINS, write_job
from dcshap.federation.flare.kits import Kit
from dcshap.federation.requester import Requester
from dcshap.federation.seals.identity import Identity
from dcshap.federation.seals.refusals import as_error
from dcshap.federation.site.analyst_site import RunSettings
from dcshap.storage import write_model

__all__ = ["Session"]

_REFUSED = (engine.AuthenticationError, engine.AuthorizationError)
_UNREACHABLE = (
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
    RuntimeError,  # what the engine raises for everything else
)
_ALIVE = ("RUNNING", "DISPATCHED", "SUBMITTED")
_POLL = 0.25
_AT_ONCE = 5.0  # seconds that a run may take to say how far it is
Watch = Callable[[dict[str, Any]], None]


class Session:
    """A session with the analyst's server.

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
        self._jobs: dict[str, str] = {}
        self._requesters: dict[str, Requester] = {}
        self.timings: dict[str, Any] = {}

    def __enter__(self) -> Self:
        set_output_format("json")  # what the engine says of itself then goes to stderr
        try:
            self._session = new_secure_session(self.kit.name, str(self.kit.folder), timeout=self.timeout)
            self._session.set_timeout(self.timeout)
        except _REFUSED as error:
            raise FederationError(f"The server does not let {self.kit.name!r} in.") from error
        except _UNREACHABLE as error:
            raise FederationError("The analyst's server cannot be reached. Is it running?") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._session is not None:
            self._session.close()

    @property
    def session(self) -> EngineSession:
        """The engine's session."""
        if self._session is None:
            raise FederationError("Use a Session in a `with` statement.")
        return self._session

    # --- who is there -----------------------------------------------------------------------------------------

    def connected(self) -> list[str]:
        """The parties that are connected to the server."""
        return sorted(client.name for client in self._call(self.session.get_connected_client_list))

    def wait_for(self, parties: Sequence[str], *, timeout: float) -> None:
        """Wait until all parties are connected."""
        until = time.monotonic() + timeout
        while missing := sorted(set(parties) - set(self.connected())):
            if time.monotonic() >= until:
                raise FederationError(f"{missing} did not connect within {timeout:g} s. Is every party started?")
            time.sleep(_POLL)

    # --- runs ----------------------------------------------------------------------------------------------------

    def train(
        self,
        collaboration: str,
        model: Any,
        *,
        kind: str,
        parties: Sequence[str],
        alignment: str = "auto",
        timeout: float = 60.0,
        watch: Watch | None = None,
    ) -> dict[str, Any]:
        """Train a collaboration; a vertical one answers requests from then on. What `status` says at the end.

        Parameters
        ----------
        collaboration : str
        model : scikit-learn compatible estimator
        kind : {"horizontal", "vertical"}
        parties : sequence of str
        alignment : {"auto", "affine", "svd", "orthogonal"}
        timeout : float
            Seconds that a party may take for each step, and all of them together to connect.
        watch : callable, optional
            Is given what `status` says, again and again.
        """
        settings = RunSettings(
            collaboration=collaboration,
            kind=kind,
            parties=tuple(sorted(parties)),
            run=uuid4().hex,
            model=base64.b64encode(write_model(model)).decode(),
            alignment=alignment,
            timeout=timeout,
        )
        return self._run(settings, watch)

    def serve(
        self, collaboration: str, *, parties: Sequence[str], timeout: float = 60.0, watch: Watch | None = None
    ) -> dict[str, Any]:
        """Have a vertical collaboration that was trained before answer requests again."""
        settings = RunSettings(collaboration, "vertical", tuple(sorted(parties)), timeout=timeout)
        return self._run(settings, watch)

    def _run(self, settings: RunSettings, watch: Watch | None) -> dict[str, Any]:
        self._end(settings.collaboration)
        self.wait_for(settings.parties, timeout=settings.timeout)
        with tempfile.TemporaryDirectory() as folder:
            job = self._call(self.session.submit_job, str(write_job(folder, settings)))
        self._jobs[settings.collaboration] = job
        self._requesters.pop(settings.collaboration, None)
        until = time.monotonic() + settings.timeout
        while True:
            status = self._status_of(job)
            if status is None:
                self._require_starting(job, until, settings.timeout)
            else:
                until = time.monotonic() + settings.timeout
                if watch is not None:
                    watch(status)
                if status["error"] is not None:
                    raise as_error(status["error"])
                if status["state"] != "training":
                    return status
            time.sleep(_POLL)

    def _status_of(self, job: str) -> dict[str, Any] | None:
        """What a run says of itself; None while it starts, or once it has ended.

        A command that reaches a process which is just starting or ending is lost, and waiting longer does not help.
        """
        self.session.set_timeout(min(self.timeout, _AT_ONCE))
        try:
            found: dict[str, Any] = self.session.do_app_command(job, "status", {})
        except _UNREACHABLE:
            return None
        finally:
            self.session.set_timeout(self.timeout)
        return found

    def _require_starting(self, job: str, until: float, timeout: float) -> None:
        status = str(self._call(self.session.get_job_meta, job).get("status"))
        if status.startswith("FINISHED"):
            raise FederationError(
                f"The run ended before it began ({status.removeprefix('FINISHED:')}): a site refused the job. Its own "
                f"log says why."
            )
        if time.monotonic() >= until:
            self._abort(job)
            raise FederationError(f"The run did not start within {timeout:g} s.")

    def collaborations(self) -> list[str]:
        """The collaborations that run now, by name."""
        return sorted({_collaboration_of(job) for job in self._jobs_listed()} - {""})

    def status(self, collaboration: str) -> dict[str, Any]:
        """How far a collaboration is, and who takes part."""
        # The newest first: after a server was killed its list still has the run that died with it.
        for job in self._running(collaboration):
            found = self._status_of(job)
            if found is not None:
                self._jobs[collaboration] = job
                return found
        raise FederationError(f"The collaboration {collaboration!r} is not running now. Train it, or `serve` it.")

    def stop(self, collaboration: str) -> None:
        """End a collaboration's run, if there is one, and wait until it is gone; what was trained is kept."""
        for job in self._end(collaboration):
            self._wait_for_end(job)

    def _end(self, collaboration: str) -> list[str]:
        """Break a collaboration's runs off, but for those that end by themselves; which they are."""
        jobs = self._running(collaboration)
        for job in jobs:
            told = self._status_of(job)
            if told is None or told["state"] not in ("done", "failed"):
                self._abort(job)
        self._forget(collaboration)
        return jobs

    def _abort(self, job: str) -> None:
        try:
            self.session.abort_job(job)
        except _REFUSED as error:
            raise FederationError("A run can be ended by whoever has started it.") from error
        except _UNREACHABLE:
            return  # it is not running any more

    def _wait_for_end(self, job: str) -> None:
        until = time.monotonic() + self.timeout
        while time.monotonic() < until:
            if str(self._call(self.session.get_job_meta, job).get("status")).startswith("FINISHED"):
                return
            time.sleep(_POLL)

    def _forget(self, collaboration: str) -> None:
        self._jobs.pop(collaboration, None)
        self._requesters.pop(collaboration, None)

    def _running(self, collaboration: str) -> list[str]:
        named = [job for job in self._jobs_listed() if _collaboration_of(job) == collaboration]
        named.sort(key=lambda job: str(job.get("submit_time")), reverse=True)
        return [str(job["job_id"]) for job in named]

    def _jobs_listed(self) -> list[dict[str, Any]]:
        jobs: list[dict[str, Any]] = self._call(self.session.list_jobs)
        return [job for job in jobs if str(job.get("status")) in _ALIVE]

    def _job(self, collaboration: str) -> str:
        if collaboration not in self._jobs:
            self.status(collaboration)
        return self._jobs[collaboration]

    # --- requests -----------------------------------------------------------------------------------------------

    def explain(self, collaboration: str, records: Sequence[Any], **what: Any) -> PartyExplanation:
        """Explain the predictions of records of a vertical collaboration.

        As `VerticalCollaboration.explain`, with the records' identifiers instead of tables: `view`, `index`, `merged`,
        `reference` and `n_background`.
        """
        requester = self._requester(collaboration)
        found = requester.explain(records, **what)
        self.timings = requester.timings
        return found

    def predict(self, collaboration: str, records: Sequence[Any], **what: Any) -> dict[str, Any]:
        """Predict records of a vertical collaboration: class probabilities with their classes, or numbers."""
        found = self._requester(collaboration).predict(records, **what)
        return {"predictions": found.values.tolist(), "classes": list(found.classes)}

    def _requester(self, collaboration: str) -> Requester:
        if collaboration not in self._requesters:
            status = self.status(collaboration)

            def exchange(session: str, envelopes: Mapping[str, bytes]) -> dict[str, list[bytes]]:
                return self._carried(collaboration, session, envelopes)

            self._requesters[collaboration] = Requester(
                self.identity, collaboration, status["run"], status["certificates"], exchange, timeout=self.timeout
            )
        return self._requesters[collaboration]

    def _carried(self, collaboration: str, session: str, envelopes: Mapping[str, bytes]) -> dict[str, list[bytes]]:
        """Bring a request's envelopes to the analyst; what comes back for it."""
        to = {name: base64.b64encode(each).decode() for name, each in envelopes.items()}
        try:
            job = self._job(collaboration)
            answered = self._call(self.session.do_app_command, job, "ask", {"session": session, "to": to})
        except FederationError:
            self._forget(collaboration)  # another run may serve it by the time of the next request
            raise
        if "error" in answered:
            raise as_error(answered["error"])
        return {name: [base64.b64decode(each) for each in found] for name, found in answered["replies"].items()}

    def _call(self, action: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return action(*arguments)
        except _REFUSED as error:
            raise FederationError(f"The server does not allow {self.kit.name!r} to do this.") from error
        except _UNREACHABLE as error:
            raise FederationError(
                "The analyst's server did not do what was asked, or in time. Is the collaboration running?"
            ) from error


def _collaboration_of(job: dict[str, Any]) -> str:
    """The collaboration that a job is a run of; empty if it is none of ours."""
    name = str(job.get("job_name", job.get("name")))
    return name.removeprefix(NAME_BEGINS) if name.startswith(NAME_BEGINS) else ""
