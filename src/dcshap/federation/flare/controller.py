"""The analyst's place in the engine: NVIDIA FLARE calls it, `Conductor` does the work."""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable
from nvflare.apis.signal import Signal

from dcshap.exceptions import DcshapError, FederationError, ProtocolError
from dcshap.federation.conductor import Conductor, RunSettings
from dcshap.federation.executor import TOPIC
from dcshap.federation.replies import Reply, error_header, require_sound
from dcshap.federation.site import trusted_by_analyst

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
        self._conductor: Conductor | None = None
        self._engine: Any = None
        self._stop = threading.Event()
        self._read = threading.Event()
        self._serving = threading.Event()

    def start_controller(self, fl_ctx: FLContext) -> None:
        """Listen for what requesters ask."""
        self._engine = fl_ctx.get_engine()
        kit = Path(fl_ctx.get_workspace().get_root_dir())
        self._conductor = Conductor(self._settings, kit / "dcshap", self._ask, trusted=trusted_by_analyst(kit))
        # Whoever may ask may call these. Ending a run is the engine's own command, for whoever has submitted it.
        for command, handler in (("status", self._status), ("ask", self._answer)):
            self._engine.register_app_command(command, handler)

    def control_flow(self, abort_signal: Signal, fl_ctx: FLContext) -> None:
        """Train or resume, then serve."""
        conductor = self._begun()
        try:
            if self._settings.model:
                conductor.train()
            else:
                conductor.resume()
        except DcshapError as error:
            conductor.progress.error = error_header(error, site="analyst")["error"]
            conductor.progress.state = "failed"
            self._wait(self._read, abort_signal, LINGER)
            self.system_panic(f"{type(error).__name__}: the run failed; `status` had the reason", fl_ctx)
            return
        if self._settings.kind == "horizontal":
            conductor.progress.state = "done"
            self._wait(self._read, abort_signal, LINGER)
            return
        self._serving.set()
        conductor.progress.state = "serving"
        self._wait(self._stop, abort_signal, None)

    def stop_controller(self, fl_ctx: FLContext) -> None:  # noqa: ARG002 - the engine's signature
        """End."""
        self._stop.set()

    def process_result_of_unknown_task(self, *_: Any, **__: Any) -> None:
        """There are no tasks."""

    # --- what requesters ask ----------------------------------------------------------------------------------

    def _status(self, topic: str, data: Any, fl_ctx: FLContext) -> dict[str, Any]:  # noqa: ARG002
        conductor = self._begun()
        content = conductor.progress.to_dict() | {
            "collaboration": self._settings.collaboration,
            "kind": self._settings.kind,
            "parties": list(self._settings.parties),
            "certificates": conductor.certificates,
        }
        if content["state"] != "training":
            self._read.set()
        return content

    def _answer(self, topic: str, data: Any, fl_ctx: FLContext) -> dict[str, Any]:  # noqa: ARG002
        began = time.perf_counter()
        try:
            if not self._serving.is_set():
                raise FederationError("The collaboration is not trained yet.")
            envelopes, how = _envelopes(data)
            return self._begun().answer(envelopes, how=how) | {"analyst_seconds": time.perf_counter() - began}
        except DcshapError as error:
            return error_header(error, site="analyst")

    def _begun(self) -> Conductor:
        if self._conductor is None:
            raise FederationError("The run has not begun yet.")
        return self._conductor

    # --- asking parties ------------------------------------------------------------------------------------------

    def _ask(self, step: str, bodies: Mapping[str, bytes], header: dict[str, Any]) -> dict[str, Reply]:
        progress = None if self._serving.is_set() else self._begun().progress
        if progress is not None:
            progress.begin(step, list(bodies), sent=sum(len(body) for body in bodies.values()))
        replies: dict[str, Reply | None] = {}
        with ThreadPoolExecutor(max_workers=len(bodies)) as threads:
            asked = {threads.submit(self._ask_one, name, step, bodies[name], header): name for name in bodies}
            for future in as_completed(asked):
                replies[asked[future]] = reply = future.result()
                if progress is not None and reply is not None:
                    progress.answered(asked[future], len(reply.body))
        if progress is not None:
            progress.end()
        return require_sound({name: replies[name] for name in bodies}, step=step, timeout=header["timeout"])

    def _ask_one(self, name: str, step: str, body: bytes, header: dict[str, Any]) -> Reply | None:
        """What a party answers; None where it does not in time."""
        request, until = Shareable(), time.monotonic() + header["timeout"]
        request["step"], request["header"], request["body"] = step, header, body
        while True:
            left = max(until - time.monotonic(), _POLL)
            with self._engine.new_context() as fl_ctx:
                replies = self._engine.send_aux_request(
                    targets=[name], topic=TOPIC, request=request, timeout=left, fl_ctx=fl_ctx
                )
            answered = replies.get(name)
            code = None if answered is None else answered.get_return_code()
            if code == ReturnCode.OK:
                return Reply(answered["header"], answered["body"])
            if code == ReturnCode.HANDLER_EXCEPTION:
                error = FederationError("met an unexpected error; the site's own log has the details.")
                return Reply(error_header(error, site=name))
            if time.monotonic() >= until or (step != "hello" and code not in _STARTING):
                return None
            time.sleep(_POLL)

    @staticmethod
    def _wait(event: threading.Event, abort_signal: Signal, seconds: float | None) -> None:
        until = None if seconds is None else time.monotonic() + seconds
        while not (event.wait(_POLL) or abort_signal.triggered):
            if until is not None and time.monotonic() >= until:
                return


def _envelopes(data: Any) -> tuple[dict[str, bytes], str]:
    try:
        return {str(name): base64.b64decode(text, validate=True) for name, text in data["to"].items()}, str(data["how"])
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise ProtocolError("A request must hold envelopes by party, and how they are to be answered.") from error
