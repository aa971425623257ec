"""Cases of a party that holds all columns of its own people: it explains them alone."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from dcshap import disagreement
from dcshap._typing import FloatArray
from dcshap.collaboration.horizontal_party import HorizontalParty
from dcshap.desk.cases import Changes, Compared, Stated, changed_row
from dcshap.desk.gathering import Gathering
from dcshap.desk.onsite import RunCases, Source, answers, quietly
from dcshap.exceptions import DcshapError, InputError
from dcshap.explanation import PartyExplanation
from dcshap.explanation.receipt import Receipt, Signer, receipt_of
from dcshap.explanation.receipt.commitments import OPENING, grouped
from dcshap.explanation.receipt.signature import Revoked
from dcshap.explanation.reference import BACKGROUND, reference_rows
from dcshap.explanation.rows import explain_codes, explain_rows
from dcshap.schema.typed import cells_of

__all__ = ["HorizontalCases"]

N_CONTROLS = 10


@dataclass(frozen=True)
class _Asked:
    party: HorizontalParty
    codes: FloatArray  # (1, M)
    reference: str


_Outcome = Stated | DcshapError


def _told(asked: Sequence[_Asked]) -> PartyExplanation:
    """The explanation of rows that one party is asked for; as lists, which are quicker to make than tables."""
    party, reference = asked[0].party, asked[0].reference
    codes = party.codes_of(np.concatenate([each.codes for each in asked]))
    rows, columns = reference_rows(party, reference), party.agreement.schema.columns
    found = explain_codes(party, codes, rows, choice=reference)
    return replace(found, data=cells_of(columns, codes), reference=cells_of(columns, rows))


class HorizontalCases(RunCases):
    """Cases of a party that holds all columns of its own people.

    Parameters
    ----------
    source : Source
        Of a HorizontalCollaboration, or of this party alone.
    party : str
    table : DataFrame of shape (n, M)
        Its index has the identifiers.
    signer : Signer, optional
        Signs receipts; by default with the key that the party keeps.
    organisations : sequence of str, optional
        The other parties, where the source has not all of them.
    authority, revoked : optional
        As in `Cases`.
    """

    kind = "horizontal"
    references = ("anchor", "background")

    def __init__(
        self,
        source: Source,
        party: str,
        table: pd.DataFrame,
        *,
        signer: Signer | None = None,
        organisations: Sequence[str] = (),
        authority: str | None = None,
        revoked: Revoked | None = None,
    ) -> None:
        super().__init__(source, party, table, signer=signer)
        self._explaining = Gathering(self._explained_together)
        self._coded: tuple[HorizontalParty, FloatArray] | None = None
        self._sampled = ""  # the training whose values were found to be sampled
        self.organisations = tuple(organisations) or self.organisations
        self.authority, self.revoked = authority, revoked

    def _party(self) -> HorizontalParty:
        party: HorizontalParty = self._current().parties_[self.party]
        return party

    def _model(self) -> Any:
        return self._party().model_

    def _predicted(self) -> FloatArray:
        return answers(self._party().predict_proba, self._party().predict, self._model(), self._table)

    def _outputs(self, record: str, rows: pd.DataFrame) -> FloatArray:  # noqa: ARG002 - all columns are in the rows
        party = self._party()
        with self._lock:
            return answers(party.predict_proba, party.predict, party.model_, rows)

    def explain(self, record: str, *, reference: str, view: str | None = None) -> Stated:
        """Explain one case; by default as this party sees it."""
        if view not in (None, self.party):
            raise InputError("All features of this case are at this desk: nobody else needs to be asked.")
        party, at = self._party(), self._position[record]
        return self._explained(party, self._codes(party)[at : at + 1], reference)

    def explain_changed(self, record: str, row: pd.DataFrame, changes: Changes, *, reference: str) -> Stated:  # noqa: ARG002
        """Explain a case as if some own cells of its row were others."""
        party = self._party()
        with quietly():
            codes = party.codes_of(changed_row(row, party.agreement.schema, changes))
        return self._explained(party, codes, reference)

    def _codes(self, party: HorizontalParty) -> FloatArray:
        """The codes (n, M) of all cases: to read single rows of a table takes longer than to explain them."""
        with self._loading:
            if self._coded is None or self._coded[0] is not party:
                with quietly():
                    self._coded = party, party.codes_of(self._table)
            return self._coded[1]

    def _explained(self, party: HorizontalParty, codes: FloatArray, reference: str) -> Stated:
        found = self._explaining.ask(_Asked(party, codes, reference))
        if isinstance(found, DcshapError):
            raise found
        return found

    def _explained_together(self, asked: Sequence[_Asked]) -> Sequence[_Outcome]:
        """Explain rows that are asked for at the same time by one call, and sign what each is told.

        Values that are sampled depend on what else is in the call, and what is shown of a case must not: these are
        explained one by one, as are rows that fit into no call together.
        """
        with self._lock, quietly():
            found = self._in_one_call(asked) if len(asked) > 1 else None
            return [self._alone(each) for each in asked] if found is None else found

    def _alone(self, asked: _Asked) -> _Outcome:
        """The explanation of a row, or why there is none."""
        try:
            return self._stated(asked.party, _told([asked]))
        except DcshapError as error:
            return error

    def _in_one_call(self, asked: Sequence[_Asked]) -> list[Stated] | None:
        """The explanation of each row; None where they must be explained one by one."""
        party, reference = asked[0].party, asked[0].reference
        if self._sampled == party.run or any((each.party, each.reference) != (party, reference) for each in asked):
            return None
        try:
            found = _told(asked)
            if found.exact:
                return [self._stated(party, each) for each in found]
        except DcshapError:  # of one of them, who is told when it is asked for alone
            return None
        self._sampled = party.run
        return None

    def agreement(self, records: Sequence[str]) -> Compared | None:
        """How far the parties' explanations of these cases differ; None where the others are not on this machine."""
        rows, parties = self._table.loc[list(records)], self._current().parties_
        if len(parties) < 2:
            return None
        with self._lock, quietly():
            return Compared(disagreement({name: explain_rows(each, rows) for name, each in parties.items()}))

    def controls(self) -> list[Receipt]:
        """Receipts of some rows of the synthetic population, which every party draws from the agreed seed."""
        party = self._party()
        with self._lock, quietly():
            explained = explain_rows(party, reference_rows(party, BACKGROUND, N_CONTROLS))
        openings = [_control_opening(party.run, at) for at in range(len(explained))]
        return [
            receipt_of(party, explained, sample=at, opening=opening, signer=self._signer_of(party))
            for at, opening in enumerate(openings)
        ]


def _control_opening(run: str, at: int) -> str:
    """The same at every party: a synthetic case is nobody's, so nothing needs to be hidden from those who have it."""
    return grouped(hashlib.sha256(f"dcshap control {at} of {run}".encode()).digest()[:OPENING])
