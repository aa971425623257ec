"""A party meets the others: who takes part, whether all have agreed to the same, and its own table brought along.

The methods `send_…` and `receive_…` are its part in `dcshap.protocol.steps.MEET` and `RESUME`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dcshap.collaboration.agreement import require_one_holder
from dcshap.collaboration.messages import ANALYST, Greeting, HeldColumns, Hello, Introduction, Ready, Resume, Settings
from dcshap.collaboration.newton import ROUNDS
from dcshap.exceptions import PrivacyError, ProtocolError, SchemaError
from dcshap.federation.seals.identity import Certificate
from dcshap.federation.seals.post import PostOffice
from dcshap.federation.site.configuration import SiteConfig
from dcshap.federation.site.holdings import Data
from dcshap.federation.site.pins import Pins
from dcshap.federation.site.witness import Witness
from dcshap.schema import Schema

__all__ = ["VERSION", "Meeting"]

VERSION = 5  # of the protocol between sites


class Meeting:
    """A party that meets the others.

    Parameters
    ----------
    config : SiteConfig
    collaboration : str
    office : PostOffice
        Gets the others' certificates.
    witness : Witness
    analyst : Certificate
        Who has said hello; can be sealed to once the certificates that are remembered allow it.
    span : str
        How this party's span is found: as the agreement says, or "kept" from an earlier training.
    begin : callable
        Brings the table along for a training.
    resume : callable
        Brings the table along for a run that was trained before.
    """

    def __init__(
        self,
        config: SiteConfig,
        collaboration: str,
        office: PostOffice,
        witness: Witness,
        *,
        analyst: Certificate,
        span: str,
        begin: Callable[[Introduction, Hello], Data],
        resume: Callable[[str], Data],
    ) -> None:
        self._settings, self._office, self._witness = config.collaboration(collaboration), office, witness
        self._pins = Pins(config.state_folder(collaboration))
        self._analyst, self._span, self._begin, self._resume = analyst, span, begin, resume
        self._data: Data | None = None
        self._n_rows = 0
        self._hello: Hello | None = None
        self._held: dict[str, tuple[str, ...]] = {}

    @property
    def data(self) -> Data:
        """The table's schema and agreement, once it was brought along."""
        if self._data is None:
            raise ProtocolError(f"Party {self._office.me!r} has not brought its table along yet.")
        return self._data

    def receive_hello(self, message: Hello) -> None:
        """Refuse an analyst that speaks another version, or means another kind of collaboration."""
        if message.version != VERSION:
            raise ProtocolError(
                f"All sites must speak version {VERSION} of the protocol. The analyst speaks another: install the "
                f"same version of dcshap."
            )
        if message.kind != self._settings.kind:
            raise ProtocolError(
                f"Party {self._office.me!r} agreed to a {self._settings.kind} collaboration. Asked: another."
            )
        self._hello = message

    def send_greeting(self, to: str) -> Greeting:
        """What the analyst must know before anything is sent."""
        agreed = self._settings.agreement
        return Greeting(
            party=self._office.me,
            certificate=self._office.identity.certificate.pem,
            instance_models=self._settings.instance_models,
            labels=self._settings.target is not None,
            span=self._span,
            rounds=0 if agreed.get("epsilon") is not None else int(agreed.get("span_rounds", ROUNDS)),
            ledger=self._witness.own,
            remembered=self._witness.of(to),
        )

    def receive_introduction(self, message: Introduction) -> None:
        """Take the other parties' certificates, and bring the table along."""
        hello = self._meet(message.certificates, message.remembered)
        self._bring(self._begin(message, hello))

    def receive_resume(self, message: Resume) -> None:
        """Take the other parties' certificates, and what was trained before."""
        self._meet(message.certificates, message.remembered)
        self._bring(self._resume(message.run))

    def _bring(self, data: Data) -> None:
        """Keep what the others ask about a table; the rows themselves are with the party."""
        self._data, self._n_rows = replace(data, X=data.X.iloc[:0], y=None), len(data.X)

    def _meet(self, certificates: Mapping[str, str], remembered: str) -> Hello:
        """Refuse to work with anybody whom this party has not agreed to work with, or with a ledger cut short."""
        if self._hello is None:
            raise ProtocolError("An introduction comes after the analyst's hello.")
        self._witness.require_own(remembered)
        expected, given = {self._office.me, *self._settings.partners}, set(certificates)
        if given != expected:
            raise PrivacyError(
                f"Party {self._office.me!r} agreed to work with {sorted(self._settings.partners)}. Asked to work with "
                f"{sorted(given - {self._office.me})}."
            )
        check = self._office.identity.check
        checked = {name: check(pem, name=name) for name, pem in certificates.items()}
        self._pins.require([self._analyst, *(each for name, each in checked.items() if name != self._office.me)])
        self._office.directory.update(checked | {ANALYST: self._analyst})
        self._witness.note(ANALYST, self._hello.ledger)
        return self._hello

    def send_ready(self, to: str) -> Ready:  # noqa: ARG002
        """The table is at hand."""
        return Ready(self._office.me, self._n_rows)

    # --- the same settings everywhere -----------------------------------------------------------------------

    def send_settings(self, to: str) -> Settings:  # noqa: ARG002 - all are sent the same
        """The settings of the party that leads, for the others to compare."""
        return Settings(json.dumps(self._agreed()))

    def receive_settings(self, message: Settings) -> None:
        """Refuse a schema and settings that differ from this party's own, naming every difference."""
        theirs, mine = json.loads(message.content), json.loads(json.dumps(self._agreed()))
        found = Schema.from_dict(mine.pop("schema")).differences(Schema.from_dict(theirs.pop("schema")))
        differing = sorted(key for key in {*mine, *theirs} if mine.get(key) != theirs.get(key))
        said = []
        if found:
            said.append(
                f"All parties must have the same schema. That of {self._office.me!r} (the first) and of the leading "
                f"party (the second) differ: {'; '.join(found)}."
            )
        if differing:
            said.append(f"All parties must have agreed on the same settings. {self._office.me!r} differs: {differing}.")
        if said:
            raise (SchemaError if found else ProtocolError)(" ".join(said))

    def _agreed(self) -> dict[str, Any]:
        """What all parties must have alike."""
        content = self.data.agreement.to_dict()
        content["schema"] = self.data.agreed_schema.to_dict()
        if self._settings.kind == "vertical":
            del content["n_components"]  # each party's own: its columns are its own
        return content

    def send_columns_held(self, to: str) -> HeldColumns:  # noqa: ARG002
        """Which columns this party brings."""
        return HeldColumns(self._office.me, self.data.agreement.schema.names)

    def receive_columns_held(self, message: HeldColumns) -> None:
        """As the party that leads: once all have told, whether the columns fit together."""
        self._held[message.party] = message.names
        if self._settings.kind == "horizontal" or len(self._held) < len(self._settings.partners):
            return
        columns = [name for names in (self.data.agreement.schema.names, *self._held.values()) for name in names]
        require_one_holder(columns, self.data.agreed_schema)
