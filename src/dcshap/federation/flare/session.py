"""A session with the analyst's server: trains, tells how far a run is, and carries requests, all through the engine."""

from __future__ import annotations

import base64
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from dcshap._machine import new_identifier
from dcshap.exceptions import FederationError
from dcshap.explanation.receipt import Receipt
from dcshap.explanation.statement import PartyExplanation
from dcshap.federation.flare.connection import REFUSED, UNREACHABLE, Connection, collaboration_of
from dcshap.federation.flare.job import write_job
from dcshap.federation.operation.tickets import ticket_of
from dcshap.federation.operation.wishes import order_to_end
from dcshap.federation.requester import Requester
from dcshap.federation.seals.refusals import as_error
from dcshap.federation.site.hosting import RunSettings
from dcshap.storage import write_model

__all__ = ["Session"]

_UNDER_WAY = ("training", "starting")
_ANSWERING = ("serving", "waiting for parties")  # states of a run that was trained, and is to answer
_POLL = 0.25
_SOON = 0.02  # seconds until an answer that was not there yet is fetched again, at first
Watch = Callable[[dict[str, Any]], None]


class Session(Connection):
    """A session with the analyst's server.

    Parameters
    ----------
    kit : path
        The kit of a participant who may ask.
    timeout : float
        Seconds that an answer may take.
    """

    def __init__(self, kit: str | Path, *, timeout: float = 30.0) -> None:
        super().__init__(kit, timeout=timeout)
        self._jobs: dict[str, str] = {}
        self._requesters: dict[str, Requester] = {}
        self.timings: dict[str, Any] = {}

    # --- runs ----------------------------------------------------------------------------------------------------

    def train(
        self,
        collaboration: str,
        model: Any,
        *,
        kind: str,
        parties: Sequence[str],
        alignment: str = "auto",
        at_once: int = 8,
        timeout: float = 60.0,
        resume: bool = False,
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
        at_once : int
            Requests that are answered at the same time.
        timeout : float
            Seconds that a party may take for each step, and all of them together to connect.
        resume : bool
            Whether to go on with a training that was interrupted: everything else must be as it was then.
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
            at_once=at_once,
            resume=resume,
        )
        return self._run(settings, watch)

    def serve(
        self,
        collaboration: str,
        *,
        parties: Sequence[str],
        at_once: int = 8,
        timeout: float = 60.0,
        watch: Watch | None = None,
    ) -> dict[str, Any]:
        """Have a vertical collaboration that was trained before answer requests again."""
        settings = RunSettings(collaboration, "vertical", tuple(sorted(parties)), timeout=timeout, at_once=at_once)
        return self._run(settings, watch)

    def _run(self, settings: RunSettings, watch: Watch | None) -> dict[str, Any]:
        self._break_off_trainings(settings.collaboration)
        self.wait_for(settings.parties, timeout=settings.timeout)
        with tempfile.TemporaryDirectory() as folder:
            job = self.call(self.session.submit_job, str(write_job(folder, settings)))
        until, begun = time.monotonic() + settings.timeout, False
        while True:
            status = self._status_of(job)
            if status is None:
                self._require_alive(job, until, settings, begun=begun)
            else:
                until, begun = time.monotonic() + settings.timeout, True
                if watch is not None:
                    watch(status)
                if status["error"] is not None:
                    raise as_error(status["error"])
                if status["state"] not in _UNDER_WAY:
                    self._forget(settings.collaboration)
                    self._jobs[settings.collaboration] = job
                    return status
            time.sleep(_POLL)

    def _status_of(self, job: str) -> dict[str, Any] | None:
        """What a run says of itself; None while it starts, or once it has ended."""
        return self.command(job, "status", {})

    def _require_alive(self, job: str, until: float, settings: RunSettings, *, begun: bool) -> None:
        status = str(self.call(self.session.get_job_meta, job).get("status"))
        if status.startswith("FINISHED"):
            how = status.removeprefix("FINISHED:").lower().replace("_", " ")
            missing = sorted(set(settings.parties) - set(self.connected()))
            why = (
                f"{missing} are not connected"
                if missing
                else "the process of a run was ended"
                if begun
                else "a site refused the job, or its process was ended"
            )
            raise FederationError(f"The run broke off ({how}): {why}. The logs of the sites say more; then try again.")
        if time.monotonic() >= until:
            self._abort(job)
            raise FederationError(
                f"The run did not {'go on' if begun else 'start'} within {settings.timeout:g} s. Connected: "
                f"{self.connected()} of {sorted(settings.parties)}."
            )

    def collaborations(self) -> list[str]:
        """The collaborations that run now, or wait for their parties, by name."""
        return sorted({collaboration_of(job) for job in self.jobs_listed()} - {""})

    def status(self, collaboration: str) -> dict[str, Any]:
        """How far a collaboration is, who takes part, and who is connected.

        While a collaboration is trained anew the earlier training serves: `retraining` then has the new run's status.
        """
        told: list[dict[str, Any]] = []
        # The newest first: after a server was killed its list still has the run that died with it.
        for job in self.running(collaboration):
            found = self._status_of(job)
            if found is not None and found["state"] in _ANSWERING:
                self._jobs[collaboration] = job
                return found | ({"retraining": told[0]} if told else {})
            told += [] if found is None else [found]
        if told:
            return told[0]
        raise FederationError(self._why_not(collaboration))

    def _why_not(self, collaboration: str) -> str:
        """Why a collaboration does not answer now, and what to do."""
        jobs = self.running(collaboration)
        if not jobs:
            return f"The collaboration {collaboration!r} is not running now. Train it, or `serve` it."
        parties = self.call(self.session.get_job_meta, jobs[0]).get("mandatory_clients") or []
        missing = sorted(set(parties) - set(self.connected()))
        if missing:
            return (
                f"The collaboration {collaboration!r} waits for {missing}, which are not connected. It answers again "
                f"by itself once they are: start them."
            )
        return f"The collaboration {collaboration!r} is starting. It answers by itself in some seconds."

    def stop(self, collaboration: str) -> None:
        """End a collaboration's runs, if there are some, and wait until they are gone; what was trained is kept."""
        jobs = self.running(collaboration)
        for job in jobs:
            told = self._status_of(job)
            if told is not None and told["state"] in _ANSWERING:
                self._order_to_end(job)
            if told is None or told["state"] not in ("done", "failed"):
                self._abort(job)
        self._forget(collaboration)
        for job in jobs:
            self._wait_for_end(job)

    def _order_to_end(self, job: str) -> None:
        """Have a run not be submitted again once it has ended."""
        written = time.time()
        signature = base64.b64encode(self.identity.sign(order_to_end(job, written))).decode()
        order = {"job": job, "written": written, "signature": signature}
        self._told(job, "end", order | {"certificate": self.identity.certificate.pem})

    def _break_off_trainings(self, collaboration: str) -> None:
        """End trainings that have not ended; what serves goes on until the new run has taken its place."""
        for job in self.running(collaboration):
            told = self._status_of(job)
            if told is not None and told["state"] in _UNDER_WAY:
                self._abort(job)

    def _abort(self, job: str) -> None:
        try:
            self.session.abort_job(job)
        except REFUSED as error:
            raise FederationError("A run can be ended by whoever has started it.") from error
        except UNREACHABLE:
            return  # it is not running any more

    def _wait_for_end(self, job: str) -> None:
        until = time.monotonic() + self.timeout
        while time.monotonic() < until:
            if str(self.call(self.session.get_job_meta, job).get("status")).startswith("FINISHED"):
                return
            time.sleep(_POLL)

    def _forget(self, collaboration: str) -> None:
        self._jobs.pop(collaboration, None)
        self._requesters.pop(collaboration, None)

    # --- requests -----------------------------------------------------------------------------------------------

    def explain(self, collaboration: str, records: Sequence[Any], **what: Any) -> PartyExplanation:
        """Explain the predictions of records of a vertical collaboration.

        As `VerticalCollaboration.explain`, with the records' identifiers instead of tables: `view`, `index`, `merged`,
        `reference`, `n_background` and `groups`, in which not all columns need to be.
        """
        found: PartyExplanation = self._asked(collaboration, lambda asking: asking.explain(records, **what))
        self.timings = self._requesters[collaboration].timings
        return found

    def explain_signed(
        self, collaboration: str, records: Sequence[Any], **what: Any
    ) -> tuple[PartyExplanation, list[Receipt]]:
        """One party's view of records, and the receipts that it signs; see `Requester.explain_signed`."""
        found: tuple[PartyExplanation, list[Receipt]] = self._asked(
            collaboration, lambda asking: asking.explain_signed(records, **what)
        )
        return found

    def predict(self, collaboration: str, records: Sequence[Any], **what: Any) -> dict[str, Any]:
        """Predict records of a vertical collaboration: class probabilities with their classes, or numbers."""
        found = self._asked(collaboration, lambda asking: asking.predict(records, **what))
        return {"predictions": found.values.tolist(), "classes": list(found.classes)}

    def _asked(self, collaboration: str, ask: Callable[[Requester], Any]) -> Any:
        """Ask; and once more where another run has taken the place of the one that this session knew."""
        known = self._jobs.get(collaboration)
        try:
            return ask(self._requester(collaboration))
        except FederationError:
            self._forget(collaboration)
            if known is None or known in self.running(collaboration)[:1]:
                raise
            return ask(self._requester(collaboration))

    def _requester(self, collaboration: str) -> Requester:
        if collaboration not in self._requesters:
            status = self.status(collaboration)
            if collaboration not in self._jobs:
                raise FederationError(
                    f"The collaboration {collaboration!r} is {status['state']}, and answers nobody yet."
                )

            def exchange(session: str, envelopes: Mapping[str, bytes]) -> dict[str, list[bytes]]:
                return self._carried(collaboration, session, envelopes)

            self._requesters[collaboration] = Requester(
                self.identity, collaboration, status["run"], status["certificates"], exchange, timeout=self.timeout
            )
        return self._requesters[collaboration]

    def _carried(self, collaboration: str, session: str, envelopes: Mapping[str, bytes]) -> dict[str, list[bytes]]:
        """Bring a request's envelopes to the analyst; what comes back for it."""
        to = {name: base64.b64encode(each).decode() for name, each in envelopes.items()}
        job, until, pause = self._jobs[collaboration], time.monotonic() + self.timeout, _SOON
        key = new_identifier()  # without it nobody fetches the answer
        try:
            found = self._told(job, "ask", {"session": session, "ticket": ticket_of(key), "to": to})
            while not found:
                if time.monotonic() >= until:
                    raise FederationError(self._too_late(job))
                time.sleep(pause)
                pause = min(1.5 * pause, _POLL)
                found = self._told(job, "fetch", {"key": key})
        except FederationError:
            self._forget(collaboration)  # another run may serve it by the time of the next request
            raise
        return {name: [base64.b64decode(each) for each in replies] for name, replies in found["replies"].items()}

    def _told(self, job: str, command: str, data: dict[str, Any]) -> dict[str, Any]:
        """What a run answers to a command, which may be given twice; where there is no run any more, why."""
        until = time.monotonic() + self.timeout
        while (told := self.command(job, command, data)) is None:
            meta = self.call(self.session.get_job_meta, job)
            if str(meta.get("status")).startswith("FINISHED") or time.monotonic() >= until:
                raise FederationError(self._why_not(collaboration_of(meta)))
        if "error" in told:
            raise as_error(told["error"])
        return told

    def _too_late(self, job: str) -> str:
        told = self._status_of(job) or {}
        away = told.get("away")
        named = f" {away} do not answer." if away else f" {told.get('waiting_requests', '?')} requests are waiting."
        return f"There was no answer within {self.timeout:g} s.{named}"
