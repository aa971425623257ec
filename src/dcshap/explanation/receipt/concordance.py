"""Whether two receipts say the same, told by whoever has nothing but the receipts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dcshap.exceptions import ProtocolError
from dcshap.explanation.receipt.commitments import agree
from dcshap.explanation.receipt.signature import Revoked
from dcshap.explanation.receipt.slip import Receipt

__all__ = ["Concordance", "Finding", "compare"]

Outcome = Literal["same", "differs", "unknown"]


@dataclass(frozen=True)
class Finding:
    """One thing that was compared: what, whether it is the same, and a sentence."""

    what: str
    outcome: Outcome
    sentence: str


@dataclass(frozen=True)
class Concordance:
    """What two receipts have in common.

    Attributes
    ----------
    findings : tuple of Finding
    """

    findings: tuple[Finding, ...]

    @property
    def same(self) -> bool:
        """Whether both state the same explanation, as far as their views overlap: nothing differs or is unknown."""
        return all(finding.outcome == "same" for finding in self.findings)

    def __getitem__(self, what: str) -> Outcome:
        return next(finding.outcome for finding in self.findings if finding.what == what)

    def __str__(self) -> str:
        verdict = (
            "Both receipts state the same explanation."
            if self.same
            else "The receipts do not prove the same explanation."
        )
        return "\n".join([verdict, *(f"  {finding.outcome:8} {finding.sentence}" for finding in self.findings)])


def compare(one: Receipt, other: Receipt, *, root: str | None = None, revoked: Revoked | None = None) -> Concordance:
    """Whether two receipts are of the same explanation, or what differs.

    Parameters
    ----------
    one, other : Receipt
    root, revoked : optional
        As in `Receipt.verify`.
    """
    pair = (one, other)
    places = zip(pair, ("first", "second"), strict=True)
    found = [_signature(receipt, place, root, revoked) for receipt, place in places]
    found += [
        _equal("run", "training", one.run, other.run),
        _equal("model", "model", one.model, other.model),
        _equal("index", "kind of values", one.index, other.index),
    ]
    if one.maps or other.maps:
        found.append(_finding("maps", "map from columns to the model's input", same=agree(one.maps, other.maps)))
    if one.view == other.view:
        found.append(_equal("reference", "reference", one.reference, other.reference))
    return Concordance((*found, *_secret(one, other)))


def _secret(one: Receipt, other: Receipt) -> list[Finding]:
    """What is hashed under an opening."""
    if one.under != other.under:
        why = "The receipts were made under different openings"
        again = "let one party issue its receipt again under the opening of the other"
        return [Finding(what, "unknown", f"{why}, which hide the {what}: {again}.") for what in ("record", "values")]
    found = [_finding("prediction", "prediction", same=agree(one.prediction, other.prediction))]
    if one.view == other.view:
        found.append(_equal("record", "record", one.record, other.record))
        found.append(_finding("values", "list of contributions", same=agree(one.values, other.values)))
    shared = sorted(set(one.totals) & set(other.totals))
    if one.view != other.view and not shared:
        found.append(Finding("values", "unknown", "The two views have no party in common that could be compared."))
    for party in shared:
        same = agree(one.totals[party], other.totals[party])
        found.append(_finding(f"total of {party}", f"sum of the contributions of {party}", same=same))
    return found


def _signature(receipt: Receipt, place: str, root: str | None, revoked: Revoked | None) -> Finding:
    what = f"signature of the {place}"
    try:
        receipt.verify(root=root, revoked=revoked)
    except ProtocolError as error:
        return Finding(what, "differs", f"The {place} receipt: {error}")
    return Finding(what, "same", f"The {place} receipt is signed by {receipt.party} with the key {receipt.signer}.")


def _equal(what: str, said: str, one: str, other: str) -> Finding:
    return _finding(what, said, same=one == other)


def _finding(what: str, said: str, *, same: bool) -> Finding:
    return Finding(what, "same" if same else "differs", f"The {said} {'is the same' if same else 'differs'}.")
