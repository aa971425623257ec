"""The analyst's place in the engine: NVIDIA FLARE calls it, `AnalystSite` does the work."""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import uuid4

from nvflare.apis.fl_constant import FLContextKey, ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable
from nvflare.apis.signal import Signal

from dcshap.collaboration.messages import ANALYST
from dcshap.exceptions import DcshapError, FederationError, ProtocolError
from dcshap.federation.flare.executor import ALIVE, GRACE, TOPIC, as_shareable
from dcshap.federation.flare.launcher import end_with_parent
from dcshap.federation.operation.presence import Presence, Seen
from dcshap.federation.operation.tickets import Tickets, ticket_of
from dcshap.federation.operation.wishes import AGAIN, drop_wish, keep_wish, order_to_end
from dcshap.federation.seals.envelopes import recent
from dcshap.federation.seals.identity import Identity
from dcshap.federation.seals.refusals import as_plain
from dcshap.federation.site.analyst_site import AnalystSite
from dcshap.federation.site.configuration import AnalystConfig
from dcshap.federation.site.hosting import RunSettings

__all__ = ["AnalystController"]

LINGER = 20.0  # seconds that a finished run waits for somebody to read how it ended
_POLL = 0.1
_MOMENT = 1.0  # seconds that a requester is kept waiting for an answer; a command may take twice as long
_MODELS = 50  # trainings that `status` tells of
_LOOK = 3.0  # seconds between looks at the parties, and how long one may take
_KNOCK = 1.0  # seconds that a party's process may take to say that it listens, before it is asked again
_SEEN: dict[str, Seen] = {ReturnCode.OK: "there", ReturnCode.TOPIC_UNKNOWN: "there", ReturnCode.TIMEOUT: "silent"}
Command = Callable[[Any], dict[str, Any]]


class AnalystController(Controller):  # type: ignore[misc]  # nvflare is untyped
    """Leads a run: trains, or goes on from an earlier training, and then answers requests until it is stopped.

    Parameters
    ----------
    **settings
        Those of `RunSettings`.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self._settings = RunSettings(**(settings | {"parties": tuple(settings["parties"])}))
        self._site: AnalystSite | None = None
        self._engine: Any = None
        self._folder = Path()
        self._job = self._submitter = ""
        self._again = False
        self._tickets = Tickets(self._settings.at_once)
        self._presence = Presence(self._settings.parties, self._look_at)
        self._met: set[str] = set()
        self._stop = threading.Event()
        self._read = threading.Event()
        self._serving = threading.Event()

    def start_controller(self, fl_ctx: FLContext) -> None:
        """Listen for what parties send and requesters ask."""
        end_with_parent(grace=GRACE)
        self._engine, self._job = fl_ctx.get_engine(), str(fl_ctx.get_job_id())
        meta = fl_ctx.get_prop(FLContextKey.JOB_META) or {}
        self._submitter, self._again = str(meta.get("submitter_name")), bool(meta.get(AGAIN))
        kit = Path(fl_ctx.get_workspace().get_root_dir())
        self._folder = kit / "dcshap"
        identity, config = Identity(kit / "startup"), AnalystConfig.load(kit)
        self._site = AnalystSite(
            self._settings, self._folder, identity, self, trusted=config.trusted, cluster=config.dask
        )
        self._engine.register_aux_message_handler(topic=TOPIC, message_handle_func=self._told)
        # Whoever may ask may call these. All answer within `_MOMENT`.
        for command, handler in (
            ("status", self._status),
            ("ask", self._ask),
            ("fetch", self._fetch),
            ("end", self._end),
        ):
            self._engine.register_app_command(command, _in_words(handler))

    def control_flow(self, abort_signal: Signal, fl_ctx: FLContext) -> None:
        """Train or resume, then serve."""
        site = self._begun()
        try:
            if self._settings.model and not self._again:
                site.train()
            else:
                site.progress.state = "starting"
                site.resume(uuid4().hex)
        except DcshapError as error:
            site.progress.error = as_plain(error, site=ANALYST)
            site.progress.state = "failed"
            self._wait(self._read, abort_signal, LINGER)
            self.system_panic(f"{type(error).__name__}: the run failed; `status` had the reason", fl_ctx)
            return
        if self._settings.kind == "horizontal":
            site.progress.state = "done"
            self._wait(self._read, abort_signal, LINGER)
            return
        keep_wish(self._folder, self._settings.collaboration, self._job)
        self._serving.set()
        site.progress.state = "serving"
        self._serve(abort_signal, fl_ctx)

    def _serve(self, abort_signal: Signal, fl_ctx: FLContext) -> None:
        """Answer until the run is ended, or cannot go on: it is then submitted again (see `Watchman`)."""
        while not (self._stop.is_set() or abort_signal.triggered):
            self._presence.look()
            lost = self._presence.lost()
            if lost:
                self.system_panic(f"{lost} cannot be reached; the run is submitted again", fl_ctx)
                return
            self._wait(self._stop, abort_signal, _LOOK)

    def _look_at(self, party: str) -> Seen:
        return _SEEN.get(self._pinged(party, patience=_LOOK), "gone")

    def _pinged(self, party: str, *, patience: float) -> str:
        with self._engine.new_context() as fl_ctx:
            replies = self._engine.send_aux_request(
                targets=[party], topic=ALIVE, request=as_shareable(b""), timeout=patience, fl_ctx=fl_ctx
            )
        answered = replies.get(party)
        return str(ReturnCode.ERROR if answered is None else answered.get_return_code())

    def stop_controller(self, fl_ctx: FLContext) -> None:  # noqa: ARG002 - the engine's signature
        """End."""
        self._stop.set()
        self._tickets.close()

    def process_result_of_unknown_task(self, *_: Any, **__: Any) -> None:
        """There are no tasks."""

    def _begun(self) -> AnalystSite:
        if self._site is None:
            raise FederationError("The run has not begun yet.")
        return self._site

    # --- what requesters ask, and parties send ------------------------------------------------------------------

    def _status(self, data: Any) -> dict[str, Any]:  # noqa: ARG002 - as all commands
        site = self._begun()
        content = site.progress.to_dict() | {
            "collaboration": self._settings.collaboration,
            "kind": self._settings.kind,
            "parties": list(self._settings.parties),
            "connected": self._presence.there(),
            "away": self._presence.away(),
            "waiting_requests": self._tickets.waiting(),
            "answered_requests": self._tickets.answered,
            "run": site.run,
            "models": [asdict(each) for each in site.history.all()[-_MODELS:]],
            "certificates": site.certificates,
        }
        if content["state"] == "serving" and content["away"]:
            content["state"] = "waiting for parties"
        if content["state"] not in ("training", "starting"):
            self._read.set()
        return content

    def _ask(self, data: Any) -> dict[str, Any]:
        if not self._serving.is_set():
            raise FederationError("The collaboration is not trained yet.")
        self._presence.require_all()
        session, ticket, envelopes = _envelopes(data)
        self._tickets.take(ticket, lambda: self._begun().answer(session, envelopes))
        return self._answer(ticket)

    def _fetch(self, data: Any) -> dict[str, Any]:
        return self._answer(ticket_of(str(data.get("key") if isinstance(data, dict) else "")))

    def _answer(self, ticket: str) -> dict[str, Any]:
        """What a request was answered; nothing where that takes longer than a moment: it is to be fetched."""
        replies = self._tickets.result(ticket, wait=_MOMENT)
        if replies is None:
            return {}
        return {"replies": {name: [base64.b64encode(e).decode() for e in found] for name, found in replies.items()}}

    def _end(self, data: Any) -> dict[str, Any]:
        """Serve no longer, if whoever has submitted the run says so under its signature."""
        said, identity = _said(data), self._begun().office.identity
        author = identity.check(str(data.get("certificate")))
        author.require_signature(base64.b64decode(str(data.get("signature"))), said)
        if author.name != self._submitter:
            raise FederationError("A run can be ended by whoever has started it.")
        if data.get("job") != self._job or not recent(data.get("written")):
            raise ProtocolError("The order to end a run must be for this run, and new.")
        drop_wish(self._folder, self._settings.collaboration)
        return {"ended": True}

    def _told(self, topic: str, request: Shareable, fl_ctx: FLContext) -> Shareable:  # noqa: ARG002
        return as_shareable(self._begun().handle(request["body"]))

    # --- asking parties ------------------------------------------------------------------------------------------

    def send(self, to: str, data: bytes, *, patience: float) -> bytes:
        """Bring an envelope to a party; a party whose process is still starting is waited for."""
        until = time.monotonic() + patience
        self._meet(to, until)
        with self._engine.new_context() as fl_ctx:
            replies = self._engine.send_aux_request(
                targets=[to],
                topic=TOPIC,
                request=as_shareable(data),
                timeout=max(until - time.monotonic(), _POLL),
                fl_ctx=fl_ctx,
            )
        answered = replies.get(to)
        code = None if answered is None else answered.get_return_code()
        if code == ReturnCode.OK:
            self._presence.note(to, "there")
            body: bytes = answered["body"]
            return body
        if code == ReturnCode.HANDLER_EXCEPTION:
            raise FederationError(f"{to!r} met an unexpected error; the site's own log has the details.")
        if time.monotonic() >= until:
            raise FederationError(f"{to!r} did not answer within {patience:g} s. Is it running?")
        raise FederationError(f"{to!r} cannot be reached any more: its process or its connection has ended.")

    def _meet(self, to: str, until: float) -> None:
        """Wait until a party's process of this run listens: what reaches its site before is lost without a word."""
        while to not in self._met and time.monotonic() < until:
            if self._pinged(to, patience=_KNOCK) == ReturnCode.OK:
                self._met.add(to)
            else:
                time.sleep(_POLL)

    @staticmethod
    def _wait(event: threading.Event, abort_signal: Signal, seconds: float | None) -> None:
        until = None if seconds is None else time.monotonic() + seconds
        while not (event.wait(_POLL) or abort_signal.triggered):
            if until is not None and time.monotonic() >= until:
                return


def _in_words(command: Command) -> Callable[[str, Any, FLContext], dict[str, Any]]:
    """A command as the engine calls it; what goes wrong is told in its answer."""

    def called(topic: str, data: Any, fl_ctx: FLContext) -> dict[str, Any]:  # noqa: ARG001 - the engine's signature
        try:
            return command(data)
        except DcshapError as error:
            return {"error": as_plain(error, site=ANALYST)}

    return called


def _said(data: Any) -> bytes:
    if not isinstance(data, dict):
        raise ProtocolError("The order to end a run must be signed.")
    return order_to_end(str(data.get("job")), data.get("written", 0))


def _envelopes(data: Any) -> tuple[str, str, dict[str, bytes]]:
    try:
        envelopes = {str(name): base64.b64decode(text, validate=True) for name, text in data["to"].items()}
        return str(data["session"]), str(data["ticket"]), envelopes
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise ProtocolError("A request must hold its session, a ticket, and envelopes by party.") from error
