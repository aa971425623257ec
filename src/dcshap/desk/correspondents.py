"""Whose letters are genuine: each desk signs its own, and knows another's key from the first exchange or its words.

The first exchange alone proves nothing: people compare the fingerprints by another way, as pages tell them.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import sqlalchemy as sa

from dcshap.desk.database import Database
from dcshap.desk.database import correspondents as table
from dcshap.desk.journal import now
from dcshap.exceptions import InputError, ProtocolError
from dcshap.explanation.receipt.signature import Signer, fingerprint_of_key, require_signature

__all__ = ["Correspondents"]


class Correspondents:
    """The key of this desk, and those of other organisations' desks.

    Parameters
    ----------
    database : Database
    signer : Signer
        Of this desk.
    agreed : mapping of party to fingerprint
        Of desks whose keys are known from elsewhere.
    """

    def __init__(self, database: Database, signer: Signer, agreed: Mapping[str, str]) -> None:
        self._database, self.signer, self._agreed = database, signer, agreed

    @cached_property
    def own_fingerprint(self) -> str:
        """Of this desk's key, for people to compare."""
        return fingerprint_of_key(self.signer.pem)

    def fingerprint(self, party: str) -> str | None:
        """Of the only key that letters of a party may be signed with; None before the first exchange."""
        if party in self._agreed:
            return self._agreed[party]
        with self._database.read() as connection:
            return connection.execute(sa.select(table.c.fingerprint).where(table.c.party == party)).scalar()

    def signature(self, content: Mapping[str, Any]) -> str:
        """The signature of this desk under a letter."""
        return base64.b64encode(self.signer.sign(_bytes(content))).decode()

    def require(self, party: str, content: Mapping[str, Any], *, pem: str, signature: str) -> str:
        """Refuse a letter that was not signed with the key of a party's desk; the key's fingerprint.

        Before the first exchange every key will do: `remember` ends that.
        """
        try:
            require_signature(pem, base64.b64decode(signature, validate=True), _bytes(content))
            found = fingerprint_of_key(pem)
        except (ProtocolError, ValueError) as error:
            raise InputError(
                "A letter must be as the other desk signed it. This one was changed, or signed by another."
            ) from error
        self._require_same(party, found, self.fingerprint(party))
        return found

    def remember(self, party: str, fingerprint: str) -> None:
        """Take no other key from a party from now on."""
        if party in self._agreed:
            return
        with self._database.write() as connection:
            known = connection.execute(sa.select(table.c.fingerprint).where(table.c.party == party)).scalar()
            self._require_same(party, fingerprint, known)  # somebody else may have been first
            if known is None:
                connection.execute(table.insert(), {"party": party, "fingerprint": fingerprint, "since": now()})

    @staticmethod
    def _require_same(party: str, found: str, known: str | None) -> None:
        if known is not None and found != known:
            raise InputError(
                f"A letter of {party!r} must be signed with the key {known}. This one is signed with {found}. Ask that "
                f"organisation by another way; if its desk has a new key, whoever runs this desk must put it into the "
                f"words as the organisation's `key`."
            )


def _bytes(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True).encode()
