"""Cases of a running federation: the parties are asked by signed requests, and answer by their own budgets."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

import numpy as np
import pandas as pd

from dcshap import Schema, disagreement
from dcshap._typing import FloatArray
from dcshap.collaboration.horizontal_party import HorizontalParty
from dcshap.desk.cases import Cases, Changes, Compared, Stated, UnknownCaseError, changed_row
from dcshap.desk.horizontal_cases import HorizontalCases
from dcshap.desk.onsite import Source, folded
from dcshap.exceptions import FederationError, InputError, ProtocolError, StorageError, UnanswerableError
from dcshap.explanation import PartyExplanation
from dcshap.explanation.receipt import Receipt, Signer, fresh_opening
from dcshap.explanation.receipt.signature import Revoked
from dcshap.federation.seals.identity import Identity
from dcshap.federation.seals.ledger import Ledger
from dcshap.federation.site.configuration import SiteConfig
from dcshap.federation.site.holdings import load_data
from dcshap.federation.site.party_site import REFUSAL, load_trained
from dcshap.federation.site.runs import Runs

__all__ = ["Asking", "FederationCases", "PartyCases", "cases_of_party"]

T = TypeVar("T")


class Asking(Protocol):
    """A session with a federation's server, as `dcshap.federation.flare.session.Session` is one."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: Any) -> None: ...
    def connected(self) -> list[str]:
        """The parties that are connected."""

    def collaborations(self) -> list[str]:
        """The collaborations that run now."""

    def status(self, collaboration: str) -> dict[str, Any]:
        """How far a collaboration is."""

    def explain_signed(
        self, collaboration: str, records: Sequence[Any], **what: Any
    ) -> tuple[PartyExplanation, list[Receipt]]:
        """Explain predictions of records through one party's eyes, with the receipts that it signs."""


@dataclass(frozen=True)
class _Alone:
    """A horizontal party as its site has kept it: it explains with no network at all."""

    parties_: Mapping[str, HorizontalParty]


class PartyCases(HorizontalCases):
    """Cases of a horizontal party on its own kit.

    Parameters
    ----------
    *args, **about
        As in `HorizontalCases`.
    ledger : Ledger
        Of the party's site.
    """

    def __init__(self, *args: Any, ledger: Ledger, **about: Any) -> None:
        super().__init__(*args, **about)
        self._ledger = ledger

    def state(self) -> list[tuple[str, str]]:
        """What the site has kept, and written down of what left it."""
        try:
            lines = [("ledger", f"{self._ledger.verify():,} lines, whole")]
            entries = list(self._ledger)
        except (StorageError, ProtocolError) as error:
            lines, entries = [("ledger", str(error))], []
        refused = [entry for entry in entries if entry.kind == REFUSAL]
        last = f"{refused[-1].when[:16]} {refused[-1].note}" if refused else "none"
        found = [("other parties", ", ".join(self.organisations)), ("training", self.run[:12]), *lines]
        found += [("last message that left", entries[-1].when[:16] if entries else "none")]
        return [*found, ("refused", f"{len(refused):,}"), ("last error", last)]


def cases_of_party(kit: Path, identity: Identity, collaboration: str | None) -> PartyCases:
    """The cases of a horizontal party: the rows of its own table, explained with what its site has kept.

    Parameters
    ----------
    kit : Path
        The party's.
    identity : Identity
        Signs receipts.
    collaboration : str, optional
        The only horizontal one, by default.
    """
    config = SiteConfig.load(kit)
    named = [name for name, each in config.collaborations.items() if each.kind == "horizontal"]
    if collaboration is None and len(named) != 1:
        raise InputError(f"Say with --collaboration which horizontal one the desk is for. There are {named}.")
    name = collaboration or named[0]
    settings, runs = config.collaboration(name), Runs(config.state_folder(name))
    if settings.kind != "horizontal":
        raise InputError(
            "The cases of a vertical collaboration are asked for by a requester: give its kit with --kit, and the "
            "agreed schema with --schema."
        )
    source = Source(lambda: _Alone({config.party: load_trained(config, name)}), lambda: runs.current)
    return PartyCases(
        source,
        config.party,
        load_data(settings, base=config.folder).X,
        signer=Signer(identity.certificate.pem, identity.sign),
        organisations=settings.partners,
        authority=identity.root_pem,
        revoked=identity.revokes,
        ledger=Ledger(config.ledger),
    )


class FederationCases(Cases):
    """Cases that are known by their identifiers only, of a vertical collaboration.

    Parameters
    ----------
    connect : callable
        Begins a session with the server.
    collaboration : str, optional
        The only one that runs, by default.
    party : str, optional
        Whose view the desk shows; the first one's by default.
    schema : Schema, optional
        The agreed one, of all parties' columns: which values a cell may have, and what is sensitive.
    authority, revoked : optional
        As in `Cases`.
    """

    kind = "federation"
    references = ("anchor", "background")
    asks_at_once = True

    def __init__(
        self,
        connect: Callable[[], Asking],
        collaboration: str | None = None,
        *,
        party: str | None = None,
        schema: Schema | None = None,
        authority: str | None = None,
        revoked: Revoked | None = None,
    ) -> None:
        self._connect, self._schema, self.authority, self.revoked = connect, schema, authority, revoked
        self._session: Asking | None = None
        self._last_error = ""
        self._lock = threading.RLock()  # a session carries one request at a time
        running = self._ask(lambda session: session.collaborations())
        if collaboration is None and len(running) != 1:
            raise InputError(f"Say with --collaboration which one the desk is for. Now run {running}.")
        self._collaboration: str = collaboration or running[0]
        told = self._told()
        parties = sorted(told["certificates"].keys() - {"analyst"})
        self.party = parties[0] if party is None else party
        if self.party not in parties:
            raise InputError(f"--party must be one of {parties}. Got {party!r}.")
        self.organisations = tuple(name for name in parties if name != self.party)
        self._run = str(told["run"])

    @property
    def schema(self) -> Schema | None:
        """The agreed schema, where the desk was given it."""
        return self._schema

    @property
    def run(self) -> str:
        """The training that serves, as last heard of: a party that does not answer must not close the desk."""
        return self._run

    def records(self) -> Sequence[str]:
        """None: identifiers are the parties'."""
        return ()

    def knows(self, record: str) -> bool:
        """Only the parties can tell, when they are asked."""
        return bool(record)

    def predictions(self) -> FloatArray | None:
        """Every prediction is asked for, and counted, by itself."""
        return None

    def answer(self, record: str) -> tuple[float, ...]:  # noqa: ARG002
        """The explanation itself says what is predicted."""
        return ()

    def explain(self, record: str, *, reference: str, view: str | None = None) -> Stated:
        """Ask the parties for a view of one case."""
        try:
            return self._stated(record, view=view or self.party, reference=reference)
        except UnanswerableError as error:  # a party does not hold the record, and says no more than that
            raise UnknownCaseError(str(error)) from error

    def explain_changed(self, record: str, row: pd.DataFrame, changes: Changes, *, reference: str) -> Stated:
        """Ask the own party what would be; the others' vectors stay, and are asked for like any other time."""
        if self._schema is not None:
            changed_row(row, self._schema.select([str(name) for name in row.columns]), changes)  # refused at no cost
        return self._stated(record, view=self.party, reference=reference, changes=dict(changes))

    def receipt(self, record: str, explanation: PartyExplanation, *, opening: str) -> Receipt | None:
        """Ask again: the party that explains is the one that signs."""
        stated = self._stated(
            record, view=self.party, reference=explanation.reference_choice or "anchor", openings=[opening]
        )
        if not np.allclose(stated.explanation.values, explanation.values, rtol=0, atol=1e-9):
            raise InputError("The party explains this case otherwise by now: look at it again.")
        return stated.receipt

    def _stated(self, record: str, **what: Any) -> Stated:
        explained, receipts = self._ask(lambda session: session.explain_signed(self._collaboration, [record], **what))
        self._run = explained.run or self._run
        return Stated(explained, receipts[0])

    def agreement(self, records: Sequence[str]) -> Compared:
        """Ask every party for its view, and compare what they say of each party's columns together."""
        openings = [fresh_opening() for _ in records]

        def view_of(name: str) -> tuple[PartyExplanation, list[Receipt]]:
            what: dict[str, Any] = {"view": name, "openings": openings}
            return self._ask(lambda session: session.explain_signed(self._collaboration, list(records), **what))

        views = {name: view_of(name) for name in sorted({self.party, *self.organisations})}
        signed = [receipts for _, receipts in views.values()]
        compared = [
            self.concordance(*pair)
            for one, other in itertools.combinations(signed, 2)
            for pair in zip(one, other, strict=True)
        ]
        sentences = [each.sentence for found in compared for each in found.findings if each.outcome != "same"]
        differ = disagreement({name: folded(explained) for name, (explained, _) in views.items()})
        return Compared(differ, signed=True, differences=tuple(dict.fromkeys(sentences)))

    def state(self) -> list[tuple[str, str]]:
        """Who is connected, what runs, and what went wrong last."""
        try:
            connected = self._ask(lambda session: session.connected())
            running = self._ask(lambda session: session.collaborations())
            told = self._told()
        except FederationError as error:
            return [("server", str(error)), ("last error", self._last_error or "none")]
        lacking = sorted({self.party, *self.organisations} - set(connected))
        return [
            ("server", "answers"),
            ("connected", ", ".join(connected) or "nobody"),
            ("not connected", ", ".join(lacking) or "nobody"),
            ("collaborations that run", ", ".join(running)),
            ("state", str(told.get("state", ""))),
            ("training", str(told["run"])[:12]),
            ("requests that wait", str(told.get("waiting_requests", 0))),
            ("does not answer", ", ".join(told.get("away") or ()) or "nobody"),
            ("last error", self._last_error or "none"),
            ("ledger", "each party keeps its own, and shows it with `dcshap federation ledger KIT`"),
        ]

    def _told(self) -> dict[str, Any]:
        return self._ask(lambda session: session.status(self._collaboration))

    def _ask(self, action: Callable[[Asking], T]) -> T:
        """Do something with the session, which is begun again after it failed."""
        with self._lock:
            try:
                if self._session is None:
                    self._session = self._connect().__enter__()
                return action(self._session)
            except FederationError as error:
                self._last_error = str(error)
                self.close()
                raise

    def close(self) -> None:
        """End the session."""
        session, self._session = self._session, None
        if session is not None:
            session.__exit__(None, None, None)
