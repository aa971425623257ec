"""The analyst's place in the engine: NVIDIA FLARE calls it, `AnalystSite` does the work."""

from __future__ import annotations

import base64
import threading
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable
from nvflare.apis.signal import Signal

from dcshap.collaboration.messages import ANALYST
from dcshap.exceptions import DcshapError, FederationError, ProtocolError
from dcshap.federation.flare.executor import TOPIC, as_shareable
from dcshap.federation.seals.identity import Identity
from dcshap.federation.seals.refusals import as_plain
from dcshap.federation.site.analyst_site import AnalystSite, RunSettings
from dcshap.federation.site.configuration import trusted_by_analyst

__all__ = ["AnalystController"]

LINGER = 20.0  # seconds that a finished run waits for somebody to read how it ended
_POLL = 0.1
# A party's process that is still starting; everything else is an answer.
_STARTING = (ReturnCode.TOPIC_UNKNOWN, ReturnCode.COMMUNICATION_ERROR)


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
        self._met: set[str] = set()
        self._stop = threading.Event()
        self._read = threading.Event()
        self._serving = threading.Event()

    def start_controller(self, fl_ctx: FLContext) -> None:
        """Listen for what parties send and requesters ask."""
        self._engine = fl_ctx.get_engine()
        kit = Path(fl_ctx.get_workspace().get_root_dir())
        identity, trusted = Identity(kit / "startup"), trusted_by_analyst(kit)
        self._site = AnalystSite(self._settings, kit / "dcshap", identity, self, trusted=trusted)
        self._engine.register_aux_message_handler(topic=TOPIC, message_handle_func=self._told)
        # Whoever may ask may call these. Ending a run is the engine's own command, for whoever has submitted it.
        for command, handler in (("status", self._status), ("ask", self._answer)):
            self._engine.register_app_command(command, handler)

    def control_flow(self, abort_signal: Signal, fl_ctx: FLContext) -> None:
        """Train or resume, then serve."""
        site = self._begun()
        try:
            if self._settings.model:
                site.train()
            else:
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
        self._serving.set()
        site.progress.state = "serving"
        self._wait(self._stop, abort_signal, None)

    def stop_controller(self, fl_ctx: FLContext) -> None:  # noqa: ARG002 - the engine's signature
        """End."""
        self._stop.set()

    def process_result_of_unknown_task(self, *_: Any, **__: Any) -> None:
        """There are no tasks."""

    def _begun(self) -> AnalystSite:
        if self._site is None:
            raise FederationError("The run has not begun yet.")
        return self._site

    # --- what requesters ask, and parties send ------------------------------------------------------------------

    def _status(self, topic: str, data: Any, fl_ctx: FLContext) -> dict[str, Any]:  # noqa: ARG002
        site = self._begun()
        content = site.progress.to_dict() | {
            "collaboration": self._settings.collaboration,
            "kind": self._settings.kind,
            "parties": list(self._settings.parties),
            "run": site.run,
            "certificates": site.certificates,
        }
        if content["state"] != "training":
            self._read.set()
        return content

    def _answer(self, topic: str, data: Any, fl_ctx: FLContext) -> dict[str, Any]:  # noqa: ARG002
        try:
            if not self._serving.is_set():
                raise FederationError("The collaboration is not trained yet.")
            replies = self._begun().answer(*_envelopes(data))
            encoded = {name: [base64.b64encode(each).decode() for each in found] for name, found in replies.items()}
        except DcshapError as error:
            return {"error": as_plain(error, site=ANALYST)}
        return {"replies": encoded}

    def _told(self, topic: str, request: Shareable, fl_ctx: FLContext) -> Shareable:  # noqa: ARG002
        return as_shareable(self._begun().handle(request["body"]))

    # --- asking parties ------------------------------------------------------------------------------------------

    def send(self, to: str, data: bytes, *, patience: float) -> bytes:
        """Bring an envelope to a party; a party whose process is still starting is asked again."""
        request, until = as_shareable(data), time.monotonic() + patience
        while True:
            left = max(until - time.monotonic(), _POLL)
            with self._engine.new_context() as fl_ctx:
                replies = self._engine.send_aux_request(
                    targets=[to], topic=TOPIC, request=request, timeout=left, fl_ctx=fl_ctx
                )
            answered = replies.get(to)
            code = None if answered is None else answered.get_return_code()
            if code == ReturnCode.OK:
                self._met.add(to)
                body: bytes = answered["body"]
                return body
            if code == ReturnCode.HANDLER_EXCEPTION:
                raise FederationError(f"{to!r} met an unexpected error; the site's own log has the details.")
            if time.monotonic() >= until or (to in self._met and code not in _STARTING):
                raise FederationError(f"No answer from {to!r} within {patience:g} s. Is it running?")
            time.sleep(_POLL)

    @staticmethod
    def _wait(event: threading.Event, abort_signal: Signal, seconds: float | None) -> None:
        until = None if seconds is None else time.monotonic() + seconds
        while not (event.wait(_POLL) or abort_signal.triggered):
            if until is not None and time.monotonic() >= until:
                return


def _envelopes(data: Any) -> tuple[str, dict[str, bytes]]:
    try:
        envelopes = {str(name): base64.b64decode(text, validate=True) for name, text in data["to"].items()}
        return str(data["session"]), envelopes
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise ProtocolError("A request must hold its session, and envelopes by party.") from error
