"""What must hold after a rehearsal, whatever went wrong in it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from dcshap.collaboration import Analyst, HorizontalParty, VerticalParty
from dcshap.collaboration.messages import ANALYST, REQUESTER
from dcshap.exceptions import DcshapError, ProtocolError, StorageError
from dcshap.explanation.disclosures import Request
from dcshap.federation.rehearsal.play import NAME, Play
from dcshap.federation.seals.envelopes import unframed
from dcshap.federation.seals.ledger import Ledger
from dcshap.federation.seals.wire import kind_of
from dcshap.federation.site.runs import Runs
from dcshap.federation.site.secrets import Secrets
from dcshap.federation.site.witness import Witness

__all__ = ["Mail", "Verdict", "check_books", "check_folders"]


@dataclass
class Verdict:
    """What did not hold, a sentence each."""

    hung: list[str] = field(default_factory=list)  # what neither ended nor failed in words within its time
    # A model, prediction or explanation that is not the fault-free twin's.
    wrong: list[str] = field(default_factory=list)
    # What was trained before and no longer answers, a ledger that is not whole, a message that left without a line in
    # it, a state that is half-written.
    lost: list[str] = field(default_factory=list)
    overdrawn: list[str] = field(default_factory=list)  # a budget that was exceeded

    def __bool__(self) -> bool:
        """Whether anything did not hold."""
        return bool(self.hung or self.wrong or self.lost or self.overdrawn)


# --- ledgers and budgets ------------------------------------------------------------------------------------------


class Mail:
    """Every message that was on its way, opened once: what was sent later is added to it."""

    def __init__(self, play: Play) -> None:
        self._play, self._n_read = play, 0
        # By sender: of which kind, how large and in which session messages were.
        self.left: dict[str, Counter[tuple[str, int, str]]] = {}
        self.told: dict[tuple[str, str], set[str]] = {}  # by party and who asked, the sessions in which it was told
        # By sender, session and digest of a message in parts how many bytes were on their way, from the first part on.
        self.parcels: dict[tuple[str, str, str], int] = {}

    def read_on(self) -> None:
        """Open what was sent since."""
        carried = self._play.network.carried
        for sender, session, packed in chain.from_iterable(map(self._messages, carried[self._n_read :])):
            kind = kind_of(packed)
            self.left.setdefault(sender, Counter())[kind, len(packed), session] += 1
            if kind != Request.__name__ and session in self._play.asked and sender != ANALYST:
                self.told.setdefault((sender, self._play.asked[session][0]), set()).add(session)
        self._n_read = len(carried)

    def _messages(self, data: bytes) -> Iterator[tuple[str, str, bytes]]:
        """Every message that was on its way at once: its sender, its session, and its bytes."""
        if data[:1] == b"{":  # through the door: of what is in it, only what the analyst adds does not pass elsewhere
            added = json.loads(data).get("replies", {}).get(ANALYST, [])
            envelopes = [bytes.fromhex(each) for each in added]
        elif int.from_bytes(data[:8], "big") == 0:  # a reply: no refusal, and an envelope
            envelopes = unframed(data, 2)[0][1:]
        else:
            envelopes = [data]
        for sealed in envelopes:
            yield from self._opened(sealed)

    def _opened(self, sealed: bytes) -> Iterator[tuple[str, str, bytes]]:
        """The messages in an envelope that is whole; none in a refusal in clear text.

        What was damaged is passed on by the analyst, who cannot tell. It is counted where it left its sender.
        """
        play = self._play
        try:
            (signature,), signed = unframed(sealed, 1)
            (head, wrapped), body = unframed(signed, 2)
            written = json.loads(head)
            play.identities[ANALYST].check(written["certificate"]).require_signature(signature, signed)
        except (ValueError, LookupError, TypeError, ProtocolError):
            return
        about = written["about"]
        if wrapped:
            to = play.asked[about["session"]][0] if about["recipient"] == REQUESTER else about["recipient"]
            body = play.identities[to].decrypt(wrapped, body, head)
        if about["answers"]:
            (told,), rest = unframed(body, 1)
            parts = unframed(rest, len(json.loads(told).get("steps", ())))[0]
        else:
            parts = [body] if body else []
        for part in filter(None, parts):
            if about["part"] >= 0:
                key = about["sender"], about["session"], about["parcel"]
                self.parcels[key] = max(self.parcels.get(key, 0), about["size"] - about["part"] * play.part)
            elif about["sender"] != REQUESTER:
                yield about["sender"], about["session"], part


def check_books(play: Play, mail: Mail, budgets: dict[str, int], verdict: Verdict) -> None:
    """Every ledger is whole, has a line for every message that left, and no budget was exceeded."""
    mail.read_on()
    books = {name: Ledger(_home(play, name) / "ledger.jsonl") for name in (*play.names, ANALYST)}
    for name, book in books.items():
        try:
            lines = Counter((entry.kind, entry.n_bytes, entry.request) for entry in book)  # checks the chain
            written = book.path.read_bytes().splitlines() if book.exists else []
            for other in books.keys() - {name}:
                _check_remembered(written, Witness(book, _home(play, other) / NAME).of(name))
        except DcshapError as error:
            verdict.lost.append(f"The ledger of {name}: {error}")
            continue
        unwritten = [kind for kind, _, _ in mail.left.get(name, Counter()) - lines]
        unwritten += _unwritten_parts(name, mail.parcels, lines)
        verdict.lost += [f"A {kind} left {name} without a line in its ledger." for kind in unwritten]
    for (party, who), sessions in mail.told.items():
        used = sum(play.asked[session][1] for session in sessions)
        if used > budgets[who]:
            verdict.overdrawn.append(f"{party} told {who} of {used} records. The budget is {budgets[who]}.")


def _unwritten_parts(
    name: str, parcels: dict[tuple[str, str, str], int], lines: Iterable[tuple[str, int, str]]
) -> list[str]:
    """The messages in parts that somebody has sent without a line about as many bytes."""
    mine = [(session, size) for (sender, session, _), size in parcels.items() if sender == name]
    known = [(request, n_bytes) for _, n_bytes, request in lines]
    return ["message in parts" for session, size in mine if not any(r == session and n >= size for r, n in known)]


def _check_remembered(written: list[bytes], remembered: str) -> None:
    """As `Ledger.require_state`, of a ledger that was read just now."""
    count, _, last = remembered.partition(":")
    if not remembered or not int(count):
        return  # they met before anything was written
    if len(written) < int(count) or last.encode() not in written[int(count) - 1]:
        raise StorageError(f"It is not what partners remember: line {count} is another.")


def _home(play: Play, name: str) -> Path:
    return play.folder / ("server" if name == ANALYST else name) / "dcshap"


# --- folders ------------------------------------------------------------------------------------------------------


def check_folders(play: Play, verdict: Verdict) -> None:
    """Whatever has its place in a site's folder can be read; what was cut short does not take one."""
    party = HorizontalParty if play.kind == "horizontal" else VerticalParty
    for name in (*play.names, ANALYST):
        folder = _home(play, name) / NAME
        try:
            Runs(folder).current  # noqa: B018 - reading is the check
            if name != ANALYST:
                Secrets.load(folder)
            for run in folder.glob("run-*"):
                (Analyst if name == ANALYST else party).load(run)
        except DcshapError as error:
            verdict.lost.append(f"The folder of {name}: {error}")
