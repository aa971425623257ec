"""The analyst meets the parties: what a run is for, who takes part, and what they have agreed to."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from sklearn.base import is_classifier

from dcshap.collaboration.consent import require_consent
from dcshap.collaboration.messages import Greeting, Hello, Introduction, Ready, Resume
from dcshap.exceptions import InputError
from dcshap.federation.seals.post import PostOffice
from dcshap.federation.site.configuration import require_collaboration
from dcshap.federation.site.meeting import VERSION
from dcshap.federation.site.witness import Witness
from dcshap.protocol import Protocol
from dcshap.protocol.steps import training

__all__ = ["AnalystMeeting", "RunSettings"]


@dataclass(frozen=True)
class RunSettings:
    """What a run is for. All of it is public: it comes with the job."""

    collaboration: str
    kind: str  # "horizontal" or "vertical"
    parties: tuple[str, ...]
    run: str = ""  # unlike that of every other run
    # The estimator to train, through skops, in base64; empty where a trained collaboration is to go on.
    model: str = ""
    alignment: Any = "auto"  # or "affine", "svd", "orthogonal"
    timeout: float = 60.0  # seconds that a site may take to answer
    at_once: int = 8  # requests that are answered at the same time; more wait in order
    resume: bool = False  # whether to go on with the training that was interrupted; `run` is then that of the attempt

    def __post_init__(self) -> None:
        require_collaboration(self.collaboration)
        if self.kind not in ("horizontal", "vertical"):
            raise InputError(f"`kind` must be 'horizontal' or 'vertical'. Got {self.kind!r}.")
        if len(self.parties) < 2:
            raise InputError(f"A collaboration needs at least two parties. Got {len(self.parties)}.")
        if self.at_once < 1:
            raise InputError(f"`at_once` must be at least 1. Got {self.at_once}.")

    @property
    def digest(self) -> str:
        """Of what is trained with whom, which an attempt to resume must have alike."""
        what = [self.collaboration, self.kind, sorted(self.parties), self.model, self.alignment]
        return hashlib.sha256(json.dumps(what).encode()).hexdigest()


class AnalystMeeting:
    """The analyst, meeting the parties: its part in `dcshap.protocol.steps.MEET` and `RESUME`.

    Parameters
    ----------
    settings : RunSettings
    office : PostOffice
        Gets the parties' certificates.
    witness : Witness
    model : estimator, optional
        What is to be trained.
    run : str
        The training to go on from; with a model, one that was interrupted.
    """

    def __init__(
        self, settings: RunSettings, office: PostOffice, witness: Witness, *, model: Any = None, run: str = ""
    ) -> None:
        self._settings, self._office, self._model, self._run = settings, office, model, run
        self._witness = witness
        self._greetings: dict[str, Greeting] = {}

    def send_hello(self, to: str) -> Hello:  # noqa: ARG002 - all are sent the same
        """What the run is for."""
        number = self._model is not None and not is_classifier(self._model)
        return Hello(VERSION, self._settings.kind, "number" if number else "classes", self._witness.own)

    def receive_greeting(self, message: Greeting) -> None:
        """A party's certificate, and what it has agreed to."""
        certificate = self._office.identity.check(message.certificate, name=message.party)
        self._witness.require_own(message.remembered)
        self._office.directory[message.party] = certificate
        self._greetings[message.party] = message

    def send_introduction(self, to: str) -> Introduction:
        """Who takes part; refused where nobody should send anything for what is to be trained."""
        refusing = [name for name, each in self._greetings.items() if not each.instance_models]
        require_consent(self._model, refusing)
        return Introduction(self._certificates(), self.holder or "", self._witness.of(to), self._run)

    def send_resume(self, to: str) -> Resume:
        """Which training to go on from, and who takes part."""
        return Resume(self._run, self._certificates(), self._witness.of(to))

    def receive_ready(self, message: Ready) -> None:
        """A party has its table at hand, and its ledger is what it was."""
        self._witness.note(message.party, self._greetings[message.party].ledger)

    @property
    def holder(self) -> str | None:
        """The vertical party that holds the labels."""
        if self._settings.kind == "horizontal":
            return None
        holders = [name for name, each in self._greetings.items() if each.labels]
        if len(holders) != 1:
            raise InputError(f"Exactly one party must hold the labels. Got {holders or 'none'}.")
        return holders[0]

    @property
    def span(self) -> str:
        """The span that the parties have agreed on; they compare it themselves."""
        spans = sorted({each.span for each in self._greetings.values()})
        if len(spans) > 1:
            raise InputError(
                f"All parties must find their span in the same way. Got {spans}. A party that is new needs "
                f"`refit_span` at all of them."
            )
        return spans[0]

    def table(self) -> Protocol:
        """The table of the training that follows."""
        span, _, kept = self.span.partition(", ")
        rounds = {each.rounds for each in self._greetings.values()}
        classes = is_classifier(self._model)
        return training(self._settings.kind, span=span, rounds=max(rounds) if classes else 0, kept=bool(kept))

    def alignment(self) -> Any:
        """How representations are brought together: exactly, where all parties have one span."""
        if self._settings.alignment != "auto":
            return self._settings.alignment
        return "affine" if self.span.startswith("private") else "orthogonal"

    def _certificates(self) -> dict[str, str]:
        return {name: each.certificate for name, each in self._greetings.items()}
