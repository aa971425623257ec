"""A party: an organisation that holds data. Its rows, its reduction and the anchor stay with it.

`Party` is what horizontal and vertical parties have in common: the agreement, the anchor, the private reduction, and
what a party knows of its own rows.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Self, Unpack

import numpy as np

from dcshap._typing import FloatArray
from dcshap.collaboration.agreement import Agreement
from dcshap.collaboration.anchor import Anchor
from dcshap.collaboration.cautions import warn_of_lost_columns
from dcshap.collaboration.messages import ANALYST, REQUESTER, AnchorDigest, AnchorSeed, Commit, Prepared
from dcshap.collaboration.moments import Moments
from dcshap.collaboration.noise import Words, frozen_noise, noise_scale, record_digests
from dcshap.collaboration.own_rows import OwnRows
from dcshap.collaboration.randomness import fresh_seed
from dcshap.collaboration.reduction import (
    LinearReduction,
    Reduction,
    TransformerReduction,
    fit_reduction,
    random_basis,
)
from dcshap.collaboration.stacking import parts_of
from dcshap.collaboration.survival import lost_columns
from dcshap.exceptions import InputError, NotFittedError, PrivacyWarning, ProtocolError
from dcshap.schema import Absent
from dcshap.storage import State, interpreting, read_folder, write_folder

__all__ = ["FULL", "Party", "require_name"]

FULL = "full"  # the view of all parties' features

# Names that mean somebody or something else in messages, requests and rights.
RESERVED = {ANALYST: "the one who trains", FULL: "the view of all features", REQUESTER: "whoever asks"}


def require_name(name: Any) -> str:
    """A party's name, if it can be one; it becomes part of a folder's name."""
    if not isinstance(name, str) or not re.fullmatch(r"[\w@-][\w .@-]{0,63}", name):
        raise InputError(
            "A party's name must be 1 to 64 letters, digits, spaces or any of '_.@-', not beginning with a dot."
        )
    if name in RESERVED:
        raise InputError(f"A party must not be called {name!r}: that is the name of {RESERVED[name]}.")
    return name


class Party:
    """What every party has and can do.

    Parameters
    ----------
    name : str
    agreement : Agreement
    private_seed : int, optional
        Where the party's private randomness comes from; drawn from the operating system by default. It is never
        derived from anything shared, and is kept for as long as the party is.
    instance_models : bool
        Whether a model that contains training rows (k nearest neighbours and the like) may leave the analyst. It
        shows the aligned rows of every party to every other, so it must be agreed to.
    """

    kind: ClassVar[str]

    def __init__(
        self,
        name: str,
        agreement: Agreement,
        *,
        private_seed: int | None = None,
        instance_models: bool = False,
    ) -> None:
        self.name = require_name(name)
        self.agreement = agreement
        self.private_seed = fresh_seed() if private_seed is None else private_seed
        self.instance_models = instance_models
        self.anchor_seed: int | None = None
        self.run = ""  # of the training whose result is used
        self.target: str | None = None  # what the party's column of labels is called
        self._anchor: Anchor | None = None
        self._reduction: Reduction | None = None
        self._noise_scale: FloatArray | None = None
        self._usual_spread = 0.0  # of all parties' representations, where it is known
        self._codes: FloatArray | None = None
        self._own_rows: OwnRows | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {len(self.agreement.schema)} columns)"

    # --- the anchor ---------------------------------------------------------------------------------------

    def send_anchor(self, to: str) -> AnchorSeed:  # noqa: ARG002 - all are sent the same
        """The shared seed, from the party that leads; drawn now unless the party has one."""
        if self._anchor is None:
            self._warn_of_uniform_anchor()
            self.receive_anchor(AnchorSeed(fresh_seed() if self.anchor_seed is None else self.anchor_seed))
        if self.anchor_seed is None:
            raise NotFittedError(f"Party {self.name!r} has an anchor without a seed.")
        return AnchorSeed(self.anchor_seed)

    def receive_anchor(self, message: AnchorSeed) -> None:
        """Draw the anchor from the shared seed."""
        self.anchor_seed = message.seed
        self._anchor = self.agreement.draw_anchor(message.seed)

    def send_drawn(self, to: str) -> AnchorDigest:  # noqa: ARG002
        """What the party that leads compares with its own anchor."""
        return AnchorDigest(self.name, self._anchor_digest())

    def receive_drawn(self, message: AnchorDigest) -> None:
        """Refuse to go on with a party that drew another anchor."""
        if message.digest != self._anchor_digest():
            raise ProtocolError(
                f"Party {message.party!r} drew another anchor from the same seed: install the same version of dcshap "
                f"and numpy at all parties."
            )

    def _anchor_digest(self) -> bytes:
        """A digest that is equal where all parties can go on with their anchors."""
        raise NotImplementedError

    def _warn_of_uniform_anchor(self) -> None:
        if isinstance(self.agreement.anchor, str) and self.agreement.anchor == "uniform":
            warnings.warn(
                "The analyst can undo a uniform anchor by independent component analysis and reconstruct rows from "
                "representations. Use it to reproduce the paper; anchor='gaussian' gives the same accuracy.",
                PrivacyWarning,
                stacklevel=2,
            )

    @property
    def anchor(self) -> Anchor:
        """The anchor that this party shares with the others."""
        if self._anchor is None:
            raise NotFittedError(f"Party {self.name!r} has no anchor yet: it must receive the shared seed first.")
        return self._anchor

    # --- its own rows -------------------------------------------------------------------------------------

    def _take_rows(self, X: Any) -> None:
        codes = self.codes_of(X)
        if len(codes) == 0:
            raise InputError("A party must hold at least one row. Got none.")
        self._codes, self._own_rows = codes, None

    @property
    def codes(self) -> FloatArray:
        """The party's training rows (n, M)."""
        if self._codes is None:
            raise NotFittedError(f"Party {self.name!r} has no rows at hand: it must take its table first.")
        return self._codes

    @property
    def has_rows(self) -> bool:
        """Whether the party has its training rows at hand; one that was read from disk has not."""
        return self._codes is not None

    @property
    def own_rows(self) -> OwnRows:
        """What the party remembers of its training rows."""
        if self._own_rows is None:
            self._own_rows = OwnRows.of(self.codes, self.agreement.schema, self.anchor)
        return self._own_rows

    # --- the reduction ------------------------------------------------------------------------------------

    def codes_of(self, X: Any, **absent: Unpack[Absent]) -> FloatArray:
        """The codes (n, M) of a table; a missing value means what was agreed, unless it is said here."""
        return self.agreement.schema.codes(X, **({"missing": self.agreement.missing} | absent))

    def encode(self, X: Any, **absent: Unpack[Absent]) -> FloatArray:
        """Encode a table (n, M) to coordinates (n, p)."""
        return self.anchor.encode(self.codes_of(X, **absent))

    @property
    def reduction(self) -> Reduction:
        """The party's private map. It never leaves the party."""
        if self._reduction is None:
            raise NotFittedError(f"Party {self.name!r} has no reduction yet: it must represent its rows first.")
        return self._reduction

    @property
    def has_maps(self) -> bool:
        """Whether the party has maps already, of an earlier training."""
        return self._reduction is not None

    def keep_maps(self, earlier: Party) -> None:
        """Use the maps of an earlier training again: rows that were represented before are sent as they were then."""
        if earlier.agreement.to_dict() == self.agreement.to_dict():
            self._reduction, self._noise_scale = earlier._reduction, earlier._noise_scale

    def _reduce(
        self, basis: FloatArray | None = None, offset: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """The reduced anchor (n_anchor, m), and the reduced rows (n, m) with their noise; the reduction is found first.

        A common subspace is given by its basis (p, m), and what is added to it (m,).
        """
        if self._reduction is None:
            self._reduction = self._found_reduction(basis, offset)
        anchor = self._reduction.transform(self.anchor.rows)
        rows = np.empty((len(self.codes), anchor.shape[1]))
        start = 0
        for encoded in self._encoded():
            rows[start : start + len(encoded)] = self._reduction.transform(encoded)
            start += len(encoded)
        if self._noise_scale is None:
            # At least that of all parties' rows, or one whose rows hardly vary would send them exactly.
            self._noise_scale = noise_scale(rows, fraction=self.agreement.noise, at_least=self._usual_spread)
        for part, codes in zip(parts_of(rows), parts_of(self.codes), strict=True):
            np.add(part, self.noise_of(codes), out=part)
        return anchor, rows

    def _found_reduction(self, basis: FloatArray | None, offset: FloatArray | None) -> Reduction:
        names = self.anchor.encoder.coordinate_names
        if basis is None and self.agreement.span == "random":
            seed = self.anchor_seed if self.anchor_seed is not None else 0
            basis = random_basis(names, self.agreement.dimensions, seed=seed)
        return fit_reduction(
            self.agreement.reduction,
            self._encoded,
            names=names,
            n_components=self.agreement.dimensions if basis is None else basis.shape[1],
            private_seed=self.private_seed,
            basis=basis,
            offset=offset,
            n_columns=len(self.agreement.schema),
        )

    def noise_of(self, codes: FloatArray) -> FloatArray:
        """The noise (n, m) on the representation of rows given as codes (n, M): the same whenever they are sent."""
        if self._noise_scale is None:
            raise NotFittedError(f"Party {self.name!r} has no noise yet: it must represent its rows first.")
        digests = self._digests(codes)
        return frozen_noise(digests, self._noise_scale, private_seed=self.private_seed, map_name=self._map_name())

    def _digests(self, codes: FloatArray) -> Words:
        """Keyed digests (n, 3) of rows given as codes (n, M)."""
        by_name = np.argsort(self.agreement.schema.names)  # the order of columns changes nothing
        return np.concatenate([record_digests(p[:, by_name], private_seed=self.private_seed) for p in parts_of(codes)])

    def _map_name(self) -> str:
        """Names the reduction and the scale, so that the same noise never hides a row in two ways."""
        encoder = self.anchor.encoder
        image = self.reduction.transform(np.eye(encoder.n_coordinates))[np.argsort(encoder.coordinate_names)]
        parts = (image, np.zeros(0) if self._noise_scale is None else self._noise_scale)
        # Six digits: sums in another order differ in the last ones.
        text = " ".join(f"{number + 0.0:.6g}" for part in parts for number in part.ravel())
        return hashlib.sha256(text.encode()).hexdigest()

    def _encoded(self) -> Iterator[FloatArray]:
        """The party's own rows, encoded, some at a time: all of them at once would be a copy of the data."""
        return self.anchor.chunks(self.codes, complete=self.agreement.missing == "error")

    @property
    def linear_reduction(self) -> LinearReduction | None:
        """The reduction where it is linear, so that explanations can use it; None otherwise."""
        return self.reduction if isinstance(self.reduction, LinearReduction) else None

    def _warn_of_lost_columns(self, moments: Moments) -> None:
        """Warn of columns that the party's own model leans on and that its representation lacks."""
        if self.linear_reduction is not None:
            blocks, names = self.anchor.encoder.blocks, self.agreement.schema.names
            warn_of_lost_columns(self.name, lost_columns(moments, blocks, self.linear_reduction.weights, names))

    # --- the end of a training ------------------------------------------------------------------------------

    def send_prepared(self, to: str) -> Prepared:  # noqa: ARG002
        """Tell the analyst that this party has all it needs of a training."""
        return Prepared(self.name)

    def receive_commit(self, message: Commit) -> None:
        """Use what the run has trained."""
        self.run = message.run

    def send_committed(self, to: str) -> Prepared:  # noqa: ARG002
        """Tell the analyst that it is used."""
        return Prepared(self.name)

    # --- on disk ------------------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> None:
        """Write the party to a folder of its own. It holds the private maps and seeds: keep it where the data are."""
        write_folder(folder, self.state())

    @classmethod
    def load(cls, folder: str | Path, *, trusted: Sequence[str] = ()) -> Self:
        """Read a party from its folder. Its rows are not in it; what it remembers of them is."""
        state = read_folder(folder, kind=cls.kind, trusted=trusted)
        with interpreting(folder):
            return cls._from_state(state)

    def state(self) -> State:
        """What the party is made of, to be written to disk; its rows are not in it."""
        content = {
            "name": self.name,
            "run": self.run,
            "target": self.target,
            "agreement": self.agreement.to_dict(),
            "private_seed": hex(self.private_seed),
            "anchor_seed": hex(self.anchor_seed or 0),
            "instance_models": self.instance_models,
        }
        arrays = {f"own_{name}": row for name, row in asdict(self.own_rows).items()}
        if self._noise_scale is not None:
            arrays["noise_scale"] = self._noise_scale
        if not isinstance(self.agreement.anchor, str):
            arrays["anchor_codes"] = self.anchor.codes
        models = {}
        if isinstance(self.reduction, TransformerReduction):
            models["reduction"], arrays["rotation"] = self.reduction.transformer, self.reduction.rotation
        elif isinstance(self.reduction, LinearReduction):
            arrays["reduction_weights"], arrays["reduction_offset"] = self.reduction.weights, self.reduction.offset
        return State(self.kind, content, arrays, models)

    @classmethod
    def _from_state(cls, state: State) -> Self:
        content, arrays = state.content, state.arrays
        given: dict[str, Any] = {}
        if "anchor_codes" in arrays:
            given["anchor"] = arrays["anchor_codes"]
        if "reduction" in state.models:
            given["reduction"] = state.models["reduction"]
        party = cls(
            content["name"],
            Agreement.from_dict(content["agreement"], **given),
            private_seed=int(content["private_seed"], 16),
            instance_models=content["instance_models"],
        )
        party.run, party.target = content["run"], content.get("target")
        party.receive_anchor(AnchorSeed(int(content["anchor_seed"], 16)))
        if "rotation" in arrays:
            party._reduction = TransformerReduction(state.models["reduction"], arrays["rotation"])
        else:
            party._reduction = LinearReduction(arrays["reduction_weights"], arrays["reduction_offset"])
        party._noise_scale = arrays.get("noise_scale")
        party._own_rows = OwnRows(**{k.removeprefix("own_"): v for k, v in arrays.items() if k.startswith("own_")})
        return party
