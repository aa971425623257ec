"""Carriers: how a message gets to a role, and its answer back. Three exist.

- `dcshap.protocol.memory.MemoryCarrier`: a function call, in one process, with a record of what travelled;
- `dcshap.federation.seals.post.Post`: packs, signs, seals and writes the ledger; the bytes go over NVIDIA FLARE,
- or over `dcshap.protocol.simulated.SimulatedNetwork`, in one process.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from dcshap.collaboration.messages import Message
from dcshap.exceptions import DcshapError, FederationError
from dcshap.protocol.steps import Step

__all__ = ["Answered", "Carrier", "all_or_error"]


@dataclass(frozen=True)
class Answered:
    """A message that came back: from whom, in which step."""

    sender: str
    step: str
    message: Message


class Carrier(ABC):
    """Brings messages from one role to others."""

    @abstractmethod
    def bring(self, step: Step, messages: Mapping[str, Message | None]) -> list[Answered]:
        """Bring a message of a step to each recipient; what they answer, in the order of the recipients.

        None instead of a message calls for the step: the recipient is to send it now.

        Raises
        ------
        DcshapError
            What went wrong at the recipients, all of it at once.
        """


def all_or_error(outcomes: Mapping[str, list[Answered] | DcshapError]) -> list[Answered]:
    """All recipients' answers; or, where some met an error, one error that tells everybody's."""
    errors = [outcome for outcome in outcomes.values() if isinstance(outcome, DcshapError)]
    if len(errors) == 1:
        raise errors[0]
    if errors:
        kinds = {type(error) for error in errors}
        raise (kinds.pop() if len(kinds) == 1 else FederationError)(" ".join(str(error) for error in errors))
    return [answer for outcome in outcomes.values() if isinstance(outcome, list) for answer in outcome]
