"""A vertical party's steps: pseudonyms, its representation, and the explanations it answers for."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from dcshap.collaboration import VerticalParty
from dcshap.collaboration.messages import ANALYST, JoinReport, Message, PseudonymKey, SharedModel
from dcshap.collaboration.records import identifiers
from dcshap.exceptions import InputError, PrivacyError, ProtocolError, SchemaError
from dcshap.explanation import joint, views
from dcshap.explanation.messages import Answer, RecordVectors
from dcshap.explanation.statement import PartyExplanation
from dcshap.federation.identity import Envelope
from dcshap.federation.ledger import Entry
from dcshap.federation.party import PartySite, message_of
from dcshap.federation.post import entry_of
from dcshap.federation.replies import Reply
from dcshap.federation.requests import Request
from dcshap.federation.site import FULL, Secrets
from dcshap.federation.wire import pack

__all__ = ["REQUEST", "VerticalSite"]

REQUEST = "request"  # the purpose of a requester's envelope


class VerticalSite(PartySite[VerticalParty]):
    """A party with columns of its own."""

    party_class = VerticalParty

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._table = pd.DataFrame()
        self._rows: dict[str, int] = {}
        self.steps |= {
            "key": self._key,
            "labels": self._labels,
            "joined": self._joined,
            "model": self._model,
            "explain": self._explain,
            "columns": self._columns,
            "records": self._records,
        }
        self.peer_steps |= {"key": self._receive_key, "vectors": self._vectors}

    def _take(self, X: Any, y: Any) -> None:
        self.party.take(X, y)
        self._take_back(X)

    def _take_back(self, X: Any) -> None:
        self._rows = {record: row for row, record in enumerate(identifiers(X))}
        self._table = X

    def _resume(self, header: dict[str, Any], body: bytes) -> Reply:
        reply = super()._resume(header, body)
        self._warm_up()
        return reply

    def _anchor_digest(self) -> bytes:
        # Each party draws its own columns of the anchor: there is nothing to compare but the seed.
        return hashlib.sha256(str(self.party.anchor_seed).encode()).digest()

    def _agreed(self) -> dict[str, Any]:
        content = super()._agreed()
        del content["n_components"]  # each party's own: its columns are its own
        return content

    def _check_columns(self, held: Mapping[str, list[str]]) -> None:
        columns = [column for names in held.values() for column in names]
        twice = sorted({name for name in columns if columns.count(name) > 1})
        if twice:
            raise SchemaError(f"Each column must belong to one party. Held by several: {twice}. Rename or drop them.")
        unheld = [name for name in self._agreed_names() if name not in columns]
        if unheld:
            raise SchemaError(f"Each column of the schema must belong to a party. Nobody brings {unheld}.")

    def _agreed_names(self) -> list[str]:
        return list(self._agreed()["schema"]["columns"])

    # --- training -------------------------------------------------------------------------------------------

    def _key(self, header: dict[str, Any], body: bytes) -> Reply:  # noqa: ARG002 - every step has both
        """As the party that leads: draw the key of the pseudonyms, or use the earlier one, and pass it on."""
        secrets = Secrets.load(self.folder)
        proposal = self.party.propose_key(secrets.pseudonym_key)
        secrets.pseudonym_key = proposal.key
        secrets.save(self.folder)
        for other in self.post.others:
            self.post.exchange(other, "key", self.post.recorded(proposal, to=other), timeout=header["timeout"])
        return Reply()

    def _receive_key(self, envelope: Envelope) -> bytes:
        self._require_lead(envelope)
        proposal, secrets = message_of(envelope.content, PseudonymKey), Secrets.load(self.folder)
        if secrets.agreed and secrets.pseudonym_key not in (None, proposal.key):
            raise PrivacyError(
                f"Party {self.name!r} was given the key of the pseudonyms out of band: another is refused."
            )
        self.party.receive_key(proposal)
        secrets.pseudonym_key = proposal.key
        secrets.save(self.folder)
        return b""

    def _represent(self, header: dict[str, Any], body: bytes) -> Reply:  # noqa: ARG002
        return self._to_analyst(self.party.represent())

    def _labels(self, header: dict[str, Any], body: bytes) -> Reply:  # noqa: ARG002
        return self._to_analyst(self.party.labels())

    def _joined(self, header: dict[str, Any], body: bytes) -> Reply:  # noqa: ARG002
        report = self._from_analyst(body, JoinReport)
        return Reply({"n_common": report.n_common})

    def _model(self, header: dict[str, Any], body: bytes) -> Reply:  # noqa: ARG002
        """Take a copy of the model to explain with, and keep all."""
        self.party.receive_model(self._from_analyst(body, SharedModel))
        self._keep()
        self._warm_up()
        return Reply()

    def _warm_up(self) -> None:
        """Explain one of the party's own records to nobody, so that the first requester need not wait for compilers."""
        shared, X = self.party.shared_model_, self._table.iloc[:1]
        if shared is None:
            return
        marked = self.party.represent_records(X).pseudonyms
        blank = [
            RecordVectors(name, marked, np.zeros((1, width)), np.zeros(width))
            for name, width in shared.widths.items()
            if name != self.name
        ]
        views.explain_view(self.party, X, blank, index="owen")

    # --- requests -------------------------------------------------------------------------------------------

    def _requested(self, sealed: bytes) -> tuple[bytes, Request]:
        """A requester's envelope: the signed request in it, and what it asks."""
        envelope = self.post.identity.open(sealed, purpose=REQUEST)
        return envelope.content, self._admitted(envelope.content)

    def _admitted(self, signed: bytes) -> Request:
        """A signed request, if this party lets its author ask that."""
        request = Request.verified(signed, self.post.identity)
        if request.collaboration != self.collaboration:
            raise ProtocolError("A request for another collaboration arrived.")
        self.config.right(request.requester, request.view)
        return request

    def _held(self, request: Request) -> pd.DataFrame:
        """The party's columns of the records that are asked for."""
        lacking = sum(record not in self._rows for record in request.records)
        if lacking:
            raise InputError(
                f"Party {self.name!r} must hold the records that are asked for. It lacks {lacking} of "
                f"{len(request.records)}."
            )
        return self._table.iloc[[self._rows[record] for record in request.records]]

    def _require_budget(self, request: Request) -> None:
        """Refuse a request that could not be answered in the end, before other parties disclose anything for it."""
        right = self.config.right(request.requester, request.view)
        answer = Entry(
            request.requester,
            Answer.__name__,
            0,
            request=request.identifier,
            requester=request.requester,
            n_records=len(request.records),
        )
        self.post.ledger.require_budget(answer, budget=right.budget, days=self.config.budget_days)

    def _charge(self, message: Message, request: Request, *, to: str) -> bytes:
        """A message as bytes, once the ledger has it and the requester's budget allows it."""
        data, right = pack(message), self.config.right(request.requester, request.view)
        entry = entry_of(
            message,
            to=to,
            n_bytes=len(data),
            request=request.identifier,
            requester=request.requester,
            n_records=len(request.records),
        )
        self.post.ledger.charge(entry, budget=right.budget, days=self.config.budget_days)
        return data

    # --- Algorithm 4 and party views ---------------------------------------------------------------------------

    def _explain(self, header: dict[str, Any], body: bytes) -> Reply:
        """Explain with this party's eyes, and answer the requester alone."""
        began = time.perf_counter()
        signed, request = self._requested(body)
        if request.view not in (self.name, FULL):
            raise PrivacyError(f"Party {self.name!r} answers for its own view. Asked for: {request.view!r}.")
        if request.view == FULL and request.index != "owen":
            raise InputError("The full view by Shapley values is evaluated by the analyst (Algorithm 3).")
        self._require_budget(request)
        X = self._held(request)
        asked = time.perf_counter()
        vectors = [
            message_of(self.post.exchange(other, "vectors", signed, timeout=header["timeout"]), RecordVectors)
            for other in self.post.others
        ]
        waited = time.perf_counter() - asked
        explained = views.explain_view(
            self.party, X, vectors, index=request.index, merged=request.merged, reference=request.reference
        )
        sealed = self._answer(explained, signed, request)
        return Reply({"seconds": time.perf_counter() - began - waited}, sealed)

    def _answer(self, explained: PartyExplanation, signed: bytes, request: Request) -> bytes:
        data = self._charge(Answer(explained), request, to=request.requester)
        return self._sealed_to_requester(data, signed)

    def _sealed_to_requester(self, data: bytes, signed: bytes) -> bytes:
        to = self.post.identity.check(json.loads(signed)["certificate"])
        return self.post.identity.seal(data, to=to, purpose="answer")

    def _vectors(self, envelope: Envelope) -> bytes:
        """The two vectors per record, for another party's view of a request that its author has signed."""
        request = self._admitted(envelope.content)
        if request.view not in (envelope.sender, FULL):
            raise PrivacyError(f"Party {envelope.sender!r} asked for what a view of {request.view!r} needs.")
        message = views.disclose(self.party, self._held(request), reference=request.reference)
        return self._charge(message, request, to=envelope.sender)

    # --- Algorithm 3, and predictions ----------------------------------------------------------------------------

    def _columns(self, header: dict[str, Any], body: bytes) -> Reply:  # noqa: ARG002
        """What each column adds, to the analyst; the record itself, to the requester alone."""
        signed, request = self._requested(body)
        if request.view != FULL or request.index != "shapley":
            raise ProtocolError("Algorithm 3 answers requests for the full view by Shapley values.")
        X = self._held(request)
        part = self._charge(
            joint.record_part(self.party, X, reference=request.reference), request, to=request.requester
        )
        columns = joint.disclose_columns(self.party, X, reference=request.reference)
        sealed = self._sealed_to_requester(part, signed)
        return Reply({"sealed": len(sealed)}, sealed + self._charge(columns, request, to=ANALYST))

    def _records(self, header: dict[str, Any], body: bytes) -> Reply:  # noqa: ARG002
        """The records' representations, for the analyst to predict."""
        _, request = self._requested(body)
        message = self.party.represent_records(self._held(request))
        return Reply(body=self._charge(message, request, to=ANALYST))
