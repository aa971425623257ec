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

from dcshap.exceptions import DcshapError, FederationError
from dcshap.federation.horizontal import HorizontalSite
from dcshap.federation.identity import Identity
from dcshap.federation.party import PartySite
from dcshap.federation.replies import Reply, error_header, raise_remote
from dcshap.federation.site import SiteConfig
from dcshap.federation.vertical import VerticalSite

__all__ = ["PEER_TOPIC", "TOPIC", "PartyExecutor"]

TOPIC = "dcshap"
PEER_TOPIC = "dcshap.peer"


class PartyExecutor(Executor):  # type: ignore[misc]  # nvflare is untyped
    """Answers the analyst and other parties.

    Parameters
    ----------
    collaboration : str
        Which of the site's collaborations is meant. Everything else comes from the site's own configuration.
    """

    def __init__(self, collaboration: str) -> None:
        super().__init__()
        self.collaboration = collaboration
        self._site: PartySite[Any] | None = None
        self._engine: Any = None
        self._name = ""

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Listen once the run starts."""
        if event_type == EventType.START_RUN:
            self._engine, self._name = fl_ctx.get_engine(), fl_ctx.get_identity_name()
            self._engine.register_aux_message_handler(topic=TOPIC, message_handle_func=self._asked)
            self._engine.register_aux_message_handler(topic=PEER_TOPIC, message_handle_func=self._asked_by_peer)

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
            reply = self._at_site(fl_ctx).handle(request["step"], request["header"], request["body"])
        except DcshapError as error:
            reply = Reply(error_header(error, site=self._name))
        return as_shareable(reply)

    def _asked_by_peer(self, topic: str, request: Shareable, fl_ctx: FLContext) -> Shareable:  # noqa: ARG002
        try:
            reply = Reply(body=self._at_site(fl_ctx).handle_peer(request["step"], request["body"]))
        except DcshapError as error:
            reply = Reply(error_header(error, site=self._name))
        return as_shareable(reply)

    def _at_site(self, fl_ctx: FLContext) -> PartySite[Any]:
        # On the first message, so that what is wrong with the configuration is told to whoever asks.
        if self._site is None:
            kit = Path(fl_ctx.get_workspace().get_root_dir())
            config, identity = SiteConfig.load(kit), Identity(kit / "startup")
            horizontal = config.collaboration(self.collaboration).kind == "horizontal"
            site = HorizontalSite if horizontal else VerticalSite
            self._site = site(config, identity, collaboration=self.collaboration, carry=self._carry)
        return self._site

    def _carry(self, to: str, step: str, sealed: bytes, timeout: float) -> bytes:
        """Bring an envelope to another party, through the server, which the engine keeps from reading it as well."""
        request = Shareable()
        request["step"], request["body"] = step, sealed
        with self._engine.new_context() as fl_ctx:
            replies = self._engine.send_aux_request(
                targets=[to], topic=PEER_TOPIC, request=request, timeout=timeout, fl_ctx=fl_ctx, secure=True
            )
        answered = replies.get(to)
        code = ReturnCode.TIMEOUT if answered is None else answered.get_return_code()
        if code == ReturnCode.TIMEOUT:
            raise FederationError(f"Party {to!r} did not answer {self._name!r} within {timeout:g} s.")
        if code != ReturnCode.OK:
            raise FederationError(f"Party {to!r} cannot be reached by {self._name!r}. Is it running?")
        raise_remote(answered["header"])
        body: bytes = answered["body"]
        return body


def as_shareable(reply: Reply) -> Shareable:
    """A reply for the engine to carry. Errors travel in it: a return code other than OK would end the run."""
    shareable = make_reply(ReturnCode.OK)
    shareable["header"], shareable["body"] = reply.header, reply.body
    return shareable
