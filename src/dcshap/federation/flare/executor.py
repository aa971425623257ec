"""A party's place in the engine: NVIDIA FLARE calls it, `PartySite` does the work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nvflare.apis.event_type import EventType
from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.apis.signal import Signal
from nvflare.fuel.f3.cellnet.fqcn import FQCN

from dcshap.collaboration.messages import ANALYST
from dcshap.exceptions import DcshapError, FederationError
from dcshap.federation.flare.launcher import end_with_parent
from dcshap.federation.seals.identity import Identity
from dcshap.federation.seals.post import refusal
from dcshap.federation.site.configuration import SiteConfig
from dcshap.federation.site.party_site import PartySite

__all__ = ["ALIVE", "TOPIC", "PartyExecutor", "as_shareable"]

TOPIC = "dcshap"
ALIVE = "dcshap.alive"  # asked by the analyst again and again; the answer says that the party's process is there
GRACE = 5.0  # seconds that a run's process has to end by itself once its site has ended


class PartyExecutor(Executor):  # type: ignore[misc]  # nvflare is untyped
    """Hands envelopes to the party's site, and the site's to others.

    Parameters
    ----------
    collaboration : str
        Which of the site's collaborations is meant. Everything else comes from the site's own configuration.
    """

    def __init__(self, collaboration: str) -> None:
        super().__init__()
        self.collaboration = collaboration
        self._site: PartySite | None = None
        self._engine: Any = None
        self._name = ""

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Listen once the run starts."""
        if event_type == EventType.START_RUN:
            end_with_parent(grace=GRACE)
            self._engine, self._name = fl_ctx.get_engine(), fl_ctx.get_identity_name()
            self._engine.register_aux_message_handler(topic=TOPIC, message_handle_func=self._asked)
            self._engine.register_aux_message_handler(topic=ALIVE, message_handle_func=_alive)  # once it can be asked

    def execute(
        self,
        task_name: str,  # noqa: ARG002 - the engine's signature
        shareable: Shareable,  # noqa: ARG002
        fl_ctx: FLContext,  # noqa: ARG002
        abort_signal: Signal,  # noqa: ARG002
    ) -> Shareable:
        """Everything is asked by message; there are no tasks."""
        return make_reply(ReturnCode.OK)

    def _asked(self, topic: str, request: Shareable, fl_ctx: FLContext) -> Shareable:  # noqa: ARG002
        try:
            reply = self._at_site(fl_ctx).handle(request["body"])
        except DcshapError as error:  # the configuration is wrong, and whoever asks is told
            reply = refusal(error, site=self._name)
        return as_shareable(reply)

    def _at_site(self, fl_ctx: FLContext) -> PartySite:
        if self._site is None:
            kit = Path(fl_ctx.get_workspace().get_root_dir())
            config, identity = SiteConfig.load(kit), Identity(kit / "startup")
            self._site = PartySite(config, identity, collaboration=self.collaboration, network=self)
        return self._site

    def send(self, to: str, data: bytes, *, patience: float) -> bytes:
        """Bring an envelope to another party, through the server, or to the analyst, which is the server."""
        request, target = as_shareable(data), FQCN.ROOT_SERVER if to == ANALYST else to
        with self._engine.new_context() as fl_ctx:
            replies = self._engine.send_aux_request(
                targets=[target], topic=TOPIC, request=request, timeout=patience, fl_ctx=fl_ctx, secure=to != ANALYST
            )
        answered = replies.get(target)
        code = ReturnCode.TIMEOUT if answered is None else answered.get_return_code()
        if code == ReturnCode.TIMEOUT:
            raise FederationError(f"{to!r} did not answer {self._name!r} within {patience:g} s.")
        if code != ReturnCode.OK:
            raise FederationError(f"{to!r} cannot be reached by {self._name!r}. Is it running?")
        body: bytes = answered["body"]
        return body


def _alive(topic: str, request: Shareable, fl_ctx: FLContext) -> Shareable:  # noqa: ARG001 - the engine's signature
    return as_shareable(b"")


def as_shareable(body: bytes) -> Shareable:
    """Bytes for the engine to carry. Errors travel in them: a return code other than OK would end the run."""
    shareable = make_reply(ReturnCode.OK)
    shareable["body"] = body
    return shareable
