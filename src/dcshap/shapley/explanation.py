"""The explanation: attributions with everything needed to read, check, compare, plot and store them."""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar, Self, overload

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from dcshap._bytes import UNREADABLE, array_bytes, read_array, read_zip, zip_bytes
from dcshap._tables import Cells
from dcshap._typing import Array, BoolArray, FloatArray, IntArray
from dcshap.exceptions import InputError, StorageError
from dcshap.shapley.archive import table_from, written_table
from dcshap.shapley.outputs import chosen_outputs, sum_to_one
from dcshap.shapley.reasons import Direction, Reason, principal_reasons
from dcshap.shapley.telling.exchange import fields_from_shap, frame_of, shap_of
from dcshap.shapley.telling.likeness import n_reference_rows
from dcshap.shapley.telling.overview import overview_of

if TYPE_CHECKING:
    import shap

__all__ = ["Explanation"]

_FORMAT = "dcshap explanation 1"
_ARRAYS = ("values", "base_values", "n_evals", "standard_errors", "converged")
_TABLES = ("data", "reference")
_TEXTS = ("feature_names", "output_names", "index", "method", "exact", "blocks")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Explanation:
    """Attributions of `n` samples to `M` players, for one output of a model or for `K`.

    Every sample keeps its axis: `explanation[3]` is an explanation of one sample, `values` of shape (1, M).

    Parameters
    ----------
    values : array of shape (n, M) or (n, M, K)
        What each player contributes. `base_values + values.sum(axis=1)` is the model's answer.
    base_values : array of shape (n,) or (n, K)
        The model's answer where all players are out.
    feature_names : tuple of str, length M
    output_names : tuple of str, length K
        One name where `values` has no axis for outputs.
    index : {"shapley", "owen"}
        Which value of cooperative game theory this is.
    method : {"exact", "product", "quadratic", "linear", "sampled"}
        How: by evaluating every coalition, by the closed form of a model that was recognised, or by sampling.
    exact : bool
        Whether every sample's values are exact.
    n_evals : array of shape (n,)
        How many coalitions were evaluated for each sample.
    standard_errors : array shaped as `values`
        Zero where values are exact.
    converged : array of shape (n,)
        Whether each sample's standard errors are as small as was asked for: at most `tol`, or without one at
        most 5% of the output's largest value. Always true of exact values.
    data : table of shape (n, d), optional
        The samples, as they were given.
    reference : table, optional
        The row or rows that stand for "absent".
    blocks : mapping of str to tuple of str, optional
        The blocks of an Owen value, by names of players.
    view : str, optional
        The block whose view of Owen values this is: its own players, and every other block as one.
    notes : tuple of str
        Why a faster way that the model seemed to allow was not taken.
    """

    values: FloatArray
    base_values: FloatArray
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...]
    index: str
    method: str
    exact: bool
    n_evals: IntArray
    standard_errors: FloatArray
    converged: BoolArray
    data: Any = None
    reference: Any = None
    blocks: Mapping[str, tuple[str, ...]] | None = None
    view: str | None = None
    notes: tuple[str, ...] = ()

    # What a file holds beside arrays and tables, and what a subclass may add to.
    _LABELS: ClassVar[tuple[str, ...]] = ("view", "notes")
    _IN_REPR: ClassVar[tuple[str, ...]] = ("view",)

    def __post_init__(self) -> None:
        n, n_players = self.values.shape[:2]
        outputs = self.values.shape[2:]
        _check_shape("base_values", self.base_values.shape, (n, *outputs))
        _check_shape("standard_errors", self.standard_errors.shape, self.values.shape)
        _check_shape("n_evals", self.n_evals.shape, (n,))
        _check_shape("converged", self.converged.shape, (n,))
        _check_shape("feature_names", (len(self.feature_names),), (n_players,))
        _check_shape("output_names", (len(self.output_names),), outputs or (1,))

    @property
    def predictions(self) -> FloatArray:
        """The model's answers, shape (n,) or (n, K)."""
        return np.asarray(self.base_values + self.values.sum(axis=1))

    @cached_property
    def are_probabilities(self) -> bool:
        """Whether the outputs are probabilities of classes."""
        return sum_to_one(self.predictions)

    @property
    def compared_with(self) -> str:
        """Whom the samples are compared with, in words."""
        n = n_reference_rows(self.reference)
        if n == 0:
            return "a reference that the explanation does not carry"
        return "the reference row" if n == 1 else f"{n} reference rows, on average"

    @property
    def held_elsewhere(self) -> Mapping[str, tuple[str, ...]]:
        """The players that stand for other blocks' features, and for whose."""
        blocks = {} if self.view is None else self.blocks or {}
        return {name: (name,) for name in blocks if name != self.view}

    def chosen_outputs(self, output: str | int | None = None) -> IntArray:
        """Which output (n,) to tell of each sample: the given one, else of two the second, of more the predicted."""
        return chosen_outputs(self.predictions, self.output_names, output)

    def reasons(
        self,
        n: int = 4,
        sample: int = 0,
        *,
        output: str | int | None = None,
        language: str = "en",
        without: Collection[str] = (),
        direction: Direction | None = None,
        outcome: str | None = None,
    ) -> tuple[Reason, ...]:
        """The principal reasons for a prediction, the largest first, each in a plain sentence.

        A feature that is as in the reference is no reason, nor is one that hardly contributes.

        Parameters
        ----------
        n : int, default 4
            How many at most.
        sample : int, default 0
        output : str or int, optional
            By name or position; by default of two classes the second, of more the predicted one.
        language : {"en", "de", "ja"}
        without : collection of str
            Features that must not be told of, as those that a schema marks as sensitive.
        direction : {"raises", "lowers"}, optional
            Only reasons that move the output this way.
        outcome : str, optional
            What to call the output, if not by its name.
        """
        return principal_reasons(
            self,
            n,
            sample=sample,
            output=output,
            language=language,
            without=without,
            direction=direction,
            outcome=outcome,
        )

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Self]:
        """The explanation of each sample."""
        return (self[sample] for sample in range(len(self)))

    @overload
    def __getitem__(self, samples: str) -> FloatArray: ...
    @overload
    def __getitem__(self, samples: int | slice | Array | list[int]) -> Self: ...
    def __getitem__(self, samples: str | int | slice | Array | list[int]) -> Self | FloatArray:
        """The explanation of some of the samples, one of them included; or by name what a player contributes."""
        if isinstance(samples, str):
            if samples not in self.feature_names:
                raise KeyError(f"There is no player {samples!r} among {list(self.feature_names)}.")
            return np.asarray(self.values[:, self.feature_names.index(samples)])
        if isinstance(samples, int | np.integer):
            if not -len(self) <= samples < len(self):
                raise IndexError(f"There are {len(self)} samples. Got {samples}.")
            if len(self) == 1:
                return self
            samples = np.array([int(samples) % len(self)])
        rows = np.arange(len(self))[samples]
        taken = {name: getattr(self, name)[rows] for name in _ARRAYS}
        return replace(self, **taken, data=_rows_of(self.data, rows))

    def __repr__(self) -> str:
        n, n_players = self.values.shape[:2]
        outputs = f", {self.values.shape[2]} outputs" if self.values.ndim == 3 else ""
        extra = "".join(f", {name}={getattr(self, name)!r}" for name in self._IN_REPR if getattr(self, name))
        how = "exact" if self.exact else f"sampled, {int(self.converged.sum())} of {n} converged"
        what = f"{n} samples, {n_players} players{outputs}, {self.index}, {how}{extra}"
        return f"{type(self).__name__}({what})"

    def block_view(self, block: str) -> Self:
        """One block's view of Owen values: its own players, and every other block as one.

        Raises
        ------
        InputError
            If there are no blocks, or none of this name, or the values are a view already.
        """
        blocks = self.blocks or {}
        if self.view is not None or block not in blocks:
            raise InputError(f"`block` must be one of {list(blocks)} of a full Owen value. Got {block!r}.")
        own = [self.feature_names.index(name) for name in blocks[block]]
        others = {name: members for name, members in blocks.items() if name != block}
        at = [[self.feature_names.index(name) for name in members] for members in others.values()]
        folded = [self.values[:, own], *(self.values[:, each].sum(axis=1, keepdims=True) for each in at)]
        # A sum's standard error is at most the sum of its parts'.
        single = self.standard_errors
        errors = [single[:, own], *(single[:, each].sum(axis=1, keepdims=True) for each in at)]
        return replace(
            self,
            values=np.concatenate(folded, axis=1),
            standard_errors=np.concatenate(errors, axis=1),
            feature_names=(*blocks[block], *others),
            view=block,
        )

    def to_shap(self) -> shap.Explanation:
        """The same as a `shap.Explanation`, for shap's plots; shap must be installed."""
        return shap_of(self)

    @classmethod
    def from_shap(cls, theirs: shap.Explanation) -> Self:
        """What shap computed, as an explanation; taken to be exact where it has no `error_std`."""
        return cls(**fields_from_shap(theirs))

    def to_frame(self, outputs: IntArray | None = None) -> pd.DataFrame:
        """One row per sample, output and player.

        `sample` is its position and `row` its own name, `value` the feature's cell and `contribution` what it adds to
        the output; then `standard_error`, whether the feature is `as_in_reference`, `base_value`, `prediction`.

        Parameters
        ----------
        outputs : array of shape (n,), optional
            One output of each sample, as `chosen_outputs` gives them; all outputs by default.
        """
        return frame_of(self, outputs)

    def _repr_html_(self) -> str:
        return overview_of(self, repr(self))

    def save(self, path: str | Path | IO[bytes]) -> None:
        """Write to one file, a zip of plain arrays, JSON and Arrow tables. Nothing in it can run code."""
        about = {"format": _FORMAT, "kind": type(self).__name__}
        about |= {name: getattr(self, name) for name in _TEXTS + self._LABELS}
        members = {f"{name}.npy": array_bytes(getattr(self, name)) for name in _ARRAYS}
        for name in _TABLES:
            about[f"{name}_kind"], members[f"{name}.table"] = written_table(getattr(self, name), what=name)
        data = zip_bytes(members | {"about.json": json.dumps(about).encode()}, compressed=True)
        if isinstance(path, str | Path):
            Path(path).write_bytes(data)
        else:
            path.write(data)

    @classmethod
    def load(cls, path: str | Path | IO[bytes]) -> Self:
        """Read what `save` wrote, as the kind of explanation that was saved.

        Raises
        ------
        StorageError
            If the file is damaged, or not an explanation of this format.
        """
        content = Path(path).read_bytes() if isinstance(path, str | Path) else path.read()
        try:
            files = read_zip(content)
            about = json.loads(files["about.json"])
            if about["format"] != _FORMAT:
                raise StorageError(f"The file must be a {_FORMAT!r}. Got {about['format']!r}.")
            arrays: dict[str, Any] = {name: read_array(io.BytesIO(files[f"{name}.npy"])) for name in _ARRAYS}
            tables = {name: table_from(about[f"{name}_kind"], files[f"{name}.table"]) for name in _TABLES}
            kind = cls._named(about.get("kind", cls.__name__))
            return kind(**arrays, **tables, **kind._labels_from(about))
        except ModuleNotFoundError as error:
            raise StorageError("The file's tables are of a library that is not installed here.") from error
        except UNREADABLE as error:
            raise StorageError("The file must be an explanation that was saved whole. It is damaged.") from error

    @classmethod
    def _named(cls, kind: str) -> type[Self]:
        """The kind of explanation that a file holds: this one, or one that adds to it."""
        for known in (cls, *cls.__subclasses__()):
            if known.__name__ == kind:
                return known
        raise StorageError(f"The file must hold a {cls.__name__!r}. It holds another kind: load it with that kind.")

    @classmethod
    def _labels_from(cls, about: Mapping[str, Any]) -> dict[str, Any]:
        """The fields that are texts, as `save` wrote them to JSON."""
        texts = {name: about[name] for name in _TEXTS + cls._LABELS}
        blocks = texts["blocks"]
        return texts | {
            "feature_names": tuple(texts["feature_names"]),
            "output_names": tuple(texts["output_names"]),
            "notes": tuple(texts["notes"]),
            "blocks": None if blocks is None else {name: tuple(members) for name, members in blocks.items()},
        }


def _check_shape(name: str, got: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    if got != wanted:
        raise InputError(f"`{name}` must have shape {wanted} to fit `values`. Got {got}.")


def _rows_of(table: Any, rows: Array) -> Any:
    if table is None:
        return None
    if isinstance(table, pd.DataFrame):
        return table.iloc[rows]
    if isinstance(table, np.ndarray):
        return table[rows]
    if isinstance(table, Cells):
        return table.take(rows.tolist())
    return nw.from_native(table, eager_only=True)[rows].to_native()
