"""What must hold after a rehearsal, whatever went wrong in it."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dcshap.collaboration import Analyst, HorizontalParty, VerticalParty
from dcshap.collaboration.messages import ANALYST, REQUESTER
from dcshap.exceptions import DcshapError, StorageError
from dcshap.explanation.disclosures import Request
from dcshap.federation.rehearsal.play import NAME, Play
from dcshap.federation.seals.envelopes import unframed
from dcshap.federation.seals.ledger import Ledger
from dcshap.federation.seals.wire import kind_of
from dcshap.federation.site.runs import Runs
from dcshap.federation.site.secrets import Secrets
from dcshap.federation.site.witness import Witness

__all__ = ["Verdict", "check_books", "check_folders", "digest_of"]


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


def check_books(play: Play, budgets: dict[str, int], verdict: Verdict) -> None:
    """Every ledger is whole, has a line for every message that left, and no budget was exceeded."""
    left: dict[str, Counter[tuple[str, int, str]]] = {}
    told: dict[tuple[str, str], set[str]] = {}
    parcels: dict[tuple[str, str, str], int] = {}
    for sender, session, packed in _messages(play, parcels):
        kind = kind_of(packed)
        left.setdefault(sender, Counter())[kind, len(packed), session] += 1
        if kind != Request.__name__ and session in play.asked and sender != ANALYST:
            told.setdefault((sender, play.asked[session][0]), set()).add(session)
    for name in (*play.names, ANALYST):
        try:
            book = Ledger(_home(play, name) / "ledger.jsonl")
            lines = Counter((entry.kind, entry.n_bytes, entry.request) for entry in book)  # checks the chain
            for other in {*play.names, ANALYST} - {name}:
                _check_remembered(book, Witness(book, _home(play, other) / NAME).of(name))
        except DcshapError as error:
            verdict.lost.append(f"The ledger of {name}: {error}")
            continue
        unwritten = [kind for kind, _, _ in left.get(name, Counter()) - lines]
        unwritten += _unwritten_parts(name, parcels, lines)
        verdict.lost += [f"A {kind} left {name} without a line in its ledger." for kind in unwritten]
    for (party, who), sessions in told.items():
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


def _check_remembered(book: Ledger, remembered: str) -> None:
    """As `Ledger.require_state`, of a ledger that was read just now."""
    count, _, last = remembered.partition(":")
    if not remembered or not int(count):
        return  # they met before anything was written
    if last.encode() not in book.path.read_bytes().splitlines()[int(count) - 1]:
        raise StorageError(f"It is not what partners remember: line {count} is another.")


def _home(play: Play, name: str) -> Path:
    return play.folder / ("server" if name == ANALYST else name) / "dcshap"


def _messages(play: Play, parcels: dict[tuple[str, str, str], int]) -> Iterator[tuple[str, str, bytes]]:
    """Every message that was on its way: its sender, its session, and its bytes.

    Of those in parts, `parcels` gets by sender, session and digest how many bytes were, from the first part on.
    """
    for data in play.network.carried:
        if data[:1] == b"{":  # through the door: of what is in it, only what the analyst adds does not pass elsewhere
            added = json.loads(data).get("replies", {}).get(ANALYST, [])
            envelopes = [bytes.fromhex(each) for each in added]
        elif int.from_bytes(data[:8], "big") == 0:  # a reply: no refusal, and an envelope
            envelopes = unframed(data, 2)[0][1:]
        else:
            envelopes = [data]
        for sealed in envelopes:
            yield from _opened(sealed, play, parcels)


def _opened(sealed: bytes, play: Play, parcels: dict[tuple[str, str, str], int]) -> Iterator[tuple[str, str, bytes]]:
    """The messages in an envelope; none in a refusal in clear text."""
    (_, head, wrapped), body = unframed(sealed, 3) if sealed.count(b'"about"', 0, 400) else ([b"", b"{}", b""], b"")
    about = json.loads(head).get("about")
    if about is None:
        return
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
            key, left = (about["sender"], about["session"], about["parcel"]), about["size"] - about["part"] * play.part
            parcels[key] = max(parcels.get(key, 0), left)
        elif about["sender"] != REQUESTER:
            yield about["sender"], about["session"], part


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


def digest_of(folder: Path) -> str:
    """What a federation's folders hold, but for ledgers and identifiers: with the same, the same follows."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name not in ("ledger.jsonl", "ledgers.json", "opened.txt"):
            name = re.sub(r"-[0-9a-f]{32}|-\d+$", "", str(path.relative_to(folder)))
            found.append(f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()}")
    return hashlib.sha256("\n".join(sorted(found)).encode()).hexdigest()
