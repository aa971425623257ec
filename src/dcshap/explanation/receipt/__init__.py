"""Receipts: signed statements of what was explained, that can be compared without the data."""

from dcshap.explanation.receipt.commitments import fresh_opening
from dcshap.explanation.receipt.concordance import Concordance, Finding, compare
from dcshap.explanation.receipt.issuing import receipt_of, require_stated
from dcshap.explanation.receipt.signature import Signer
from dcshap.explanation.receipt.slip import Receipt, read_openings, read_receipts, write_receipts

__all__ = [
    "Concordance",
    "Finding",
    "Receipt",
    "Signer",
    "compare",
    "fresh_opening",
    "read_openings",
    "read_receipts",
    "receipt_of",
    "require_stated",
    "write_receipts",
]
