"""Commands to runs, carried by the server's own process without its lock.

The engine's server holds one lock while it waits for a run to answer a command: a run that takes its time, or stands
still, keeps everybody waiting, those who ask for other runs too. Nothing that the lock protects is touched here.
"""

from __future__ import annotations

from typing import Any

from nvflare.fuel.f3.cellnet.core_cell import MessageHeaderKey
from nvflare.fuel.f3.cellnet.defs import ReturnCode
from nvflare.fuel.f3.cellnet.fqcn import FQCN
from nvflare.private.defs import CellChannel, new_cell_message

__all__ = ["carry_without_lock"]


def carry_without_lock(engine: Any) -> None:
    """Have the engine of the analyst's server wait for several commands at the same time."""
    with_lock = engine.send_command_to_child_runner_process

    def send(job_id: str, command_name: str, command_data: Any, timeout: float = 5.0, optional: bool = False) -> Any:
        if timeout <= 0.0:  # nothing is waited for
            return with_lock(job_id, command_name, command_data, timeout, optional)
        reply = engine.server.cell.send_request(
            target=FQCN.join([FQCN.ROOT_SERVER, job_id]),
            channel=CellChannel.SERVER_COMMAND,
            topic=command_name,
            request=new_cell_message({}, command_data),
            timeout=timeout,
            optional=optional,
        )
        well = reply.get_header(MessageHeaderKey.RETURN_CODE, ReturnCode.OK) == ReturnCode.OK
        return reply.payload if well else None

    engine.send_command_to_child_runner_process = send
