"""Sums of a guest's columns with labels that only their holder has: what a vertical supervised span is found from.

The arithmetic is in `dcshap.collaboration.triples`. A guest ends with its own class counts and class sums; the holder
and the analyst learn nothing. Exact sums of many columns are a puzzle that lattice reduction could solve for the
labels, so the holder adds noise to what stands for them: a fraction of the spread that chance gives the sums anyway.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np

from dcshap._typing import Array, FloatArray
from dcshap.collaboration.labels import target_values
from dcshap.collaboration.messages import GuestTriple, HolderTriple, LabelSums, MaskedColumns
from dcshap.collaboration.moments import Moments, class_responses, number_responses
from dcshap.collaboration.noise import frozen_noise, text_digests
from dcshap.collaboration.triples import (
    LARGEST_LABEL,
    expand,
    first_share,
    from_fixed,
    second_share,
    seed_for,
    to_fixed,
)
from dcshap.exceptions import PrivacyError, ProtocolError

__all__ = ["GuestSums", "HolderSums", "Target", "noisy_responses"]

RECORDS_PER_SUM = 2  # with fewer records in common, a guest could solve its sums for the labels


class Target:
    """What stands for labels in sums: one indicator per class, or the number scaled to −1 … 1.

    It is made from all labels (n,) that the holder has, of records in common or not. Where they are `weighted`, what
    stands for a label is multiplied by its weight, and the weight itself stands beside a number.
    """

    def __init__(self, labels: Array, *, classes: bool, weighted: bool = False) -> None:
        self.classes, self.weighted = classes, weighted
        self._values = target_values(labels, classes=classes)
        if not classes and self._values[0] == self._values[1]:
            self._values = self._values + np.array([0.0, 1.0])

    @property
    def width(self) -> int:
        """How many numbers stand for a label in sums with guests' columns."""
        return len(self._values) if self.classes else 1 + self.weighted

    def responses(self, labels: Array) -> FloatArray:
        """As `Moments` takes them: (n, K), or (n, 2) for a number."""
        if self.classes:
            return class_responses(labels, self._values)
        return number_responses(labels, low=float(self._values[0]), high=float(self._values[1]))

    def columns(self, labels: Array, weights: Array | None = None) -> FloatArray:
        """What guests' columns are multiplied with (n, width): the responses without the ones that everybody knows.

        Weights (n,) are taken as fractions of the largest one; a guest scales what it gets to its number of rows.
        """
        responses = self.responses(labels)
        if weights is not None:
            return np.asarray(weights[:, None] / (weights.max() or 1.0) * responses)
        return responses if self.classes else responses[:, 1:]


def noisy_responses(
    responses: FloatArray, identifiers: Sequence[str], *, fraction: float, private_seed: int
) -> FloatArray:
    """Responses (n, K) with noise of a fraction of each one's spread.

    The same labels of the same records always get the same noise, so that asking again shows nothing. Other records,
    or other labels, get other noise: the difference of two sums shows no single label.
    """
    digests = text_digests(identifiers, private_seed=private_seed)
    name = hashlib.sha256(digests.tobytes() + np.ascontiguousarray(responses).tobytes()).hexdigest()
    scale = fraction * responses.std(axis=0)
    noise = frozen_noise(digests, scale, private_seed=private_seed, map_name=f"labels {name}")
    return np.asarray(np.clip(responses + noise, -LARGEST_LABEL, LARGEST_LABEL))


class HolderSums:
    """The part of the party that holds the labels, for which responses (n, K) stand, with their noise."""

    def __init__(self, party: str, responses: FloatArray, *, weighted: bool = False) -> None:
        self._party, self._responses, self._weighted = party, to_fixed([responses]), weighted
        self._dealt: HolderTriple | None = None
        self._columns: dict[str, MaskedColumns] = {}

    def take_triple(self, message: HolderTriple) -> None:
        """Take what the analyst dealt."""
        rows = sum(message.widths.values())
        if message.shares.shape != (rows, self._responses.shape[1]):
            raise ProtocolError(
                f"The analyst must deal for {rows} columns and {self._responses.shape[1]} labels. Got a share of "
                f"{message.shares.shape}."
            )
        self._dealt = message

    def add_columns(self, message: MaskedColumns) -> None:
        """Take a guest's masked columns, unless there are too few records to hide labels among."""
        width, n_records = message.words.shape[-1], len(self._responses)
        if n_records < RECORDS_PER_SUM * width:
            raise PrivacyError(
                f"With {width - 1} encoded columns, party {message.party!r} could solve sums over {n_records} records "
                f"for the labels. A supervised span needs {RECORDS_PER_SUM * width} records in common: use "
                f"span='private', or fewer columns."
            )
        self._columns[message.party] = message

    def sums_for(self, guest: str) -> LabelSums:
        """The masked labels, and this party's share of the product."""
        if self._dealt is None or guest not in self._columns or guest not in self._dealt.widths:
            raise ProtocolError(f"Party {guest!r} must send its masked columns, and be dealt for, before it gets sums.")
        names = list(self._dealt.widths)
        ends = np.cumsum([0, *self._dealt.widths.values()])
        at = names.index(guest)
        mask = expand(seed_for(self._dealt.seed, guest), "B", *self._responses.shape)
        share = second_share(self._columns[guest].words, mask, self._dealt.shares[ends[at] : ends[at + 1]])
        return LabelSums(self._party, self._responses - mask, share, self._weighted)


class GuestSums:
    """A guest's part, with its encoded rows (n, p) of the records in common, given some at a time."""

    def __init__(self, party: str, encoded: Iterable[FloatArray]) -> None:
        self._party = party
        self._columns = to_fixed(np.concatenate([np.ones((len(part), 1)), part], axis=1) for part in encoded)
        self._seed: bytes | None = None
        self._sums: FloatArray | None = None
        self._weighted = False

    def take_triple(self, message: GuestTriple) -> None:
        """Take what the analyst dealt."""
        self._seed = message.seed

    @property
    def seed(self) -> bytes:
        """What the analyst dealt."""
        if self._seed is None:
            raise ProtocolError(f"Party {self._party!r} must be dealt random numbers before it masks its columns.")
        return self._seed

    def masked_columns(self) -> MaskedColumns:
        """The columns under the mask."""
        return MaskedColumns(self._party, self._columns - expand(self.seed, "A", *self._columns.shape))

    def add_sums(self, message: LabelSums) -> None:
        """Take the masked labels and the holder's share: together they are the sums."""
        own = first_share(self._columns, message.masked, self.seed)
        if message.share.shape != own.shape:
            raise ProtocolError(f"A share of the sums must have the shape {own.shape}. Got {message.share.shape}.")
        self._sums, self._weighted = from_fixed(own + message.share), message.weighted

    def moments(self, products: FloatArray, *, classes: bool) -> Moments:
        """The guest's moments: its sums with the labels, and its own `[1 X]ᵀ[1 X]` (p + 1, p + 1)."""
        if self._sums is None:
            raise ProtocolError(f"Party {self._party!r} must get its sums with the labels first.")
        sums = self._sums
        if self._weighted:
            sums, products = _about_weighted_mean(sums, products, classes=classes)
        n_rows, totals = products[0, 0], products[0]
        if not classes:
            total = sums[0, -1]
            # The target's spread only scales the direction that is found, so nobody needs to know it.
            responses = np.array([[n_rows, total], [total, n_rows]])
            return Moments(responses, np.stack([totals[1:], sums[1:, -1]]), products[1:, 1:], classes=False)
        kept = sums[:, sums[0] > 0.5]  # classes that have rows
        if not kept.size:
            raise ProtocolError("The sums with the labels must be of some rows. They are of none.")
        # Over all classes they add up to what the guest knows of its own rows, but for noise and rounding.
        kept = kept + (totals[:, None] - kept.sum(axis=1, keepdims=True)) / kept.shape[1]
        return Moments(np.diag(kept[0]), kept[1:].T, products[1:, 1:], classes=True)


def _about_weighted_mean(sums: FloatArray, products: FloatArray, *, classes: bool) -> tuple[FloatArray, FloatArray]:
    """A guest's weighted sums for its number of rows, and its `[1 X]ᵀ[1 X]` about the weighted mean.

    The guest does not know the weights, so the covariance of its columns is that of the rows as they are.
    """
    counted = sums.sum(axis=1) if classes else sums[:, 0]  # of [1 X], by weights
    if not counted[0] > 0:
        raise ProtocolError("The weights of the records in common must add up to more than 0. They do not.")
    n_rows, mean, weighted = products[0, 0], products[0] / products[0, 0], counted / counted[0]
    moved = products + n_rows * (np.outer(weighted, weighted) - np.outer(mean, mean))
    return sums * (n_rows / counted[0]), moved
