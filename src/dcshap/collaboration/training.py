"""What horizontal and vertical collaborations in one process have in common: they only carry messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.metrics import accuracy_score, r2_score

from dcshap._typing import Array
from dcshap.collaboration.analyst import Analyst
from dcshap.collaboration.labels import as_labels
from dcshap.collaboration.messages import Message, Sent
from dcshap.collaboration.party import Party
from dcshap.collaboration.randomness import SEED_BITS, derived_seed, fresh_seed
from dcshap.collaboration.storage import State, read_folder, write_folder
from dcshap.exceptions import InputError, NotFittedError, SchemaError
from dcshap.schema import Schema

__all__ = ["ANALYST", "Training", "for_each", "goodness"]

ANALYST = "analyst"

M = TypeVar("M", bound=Message)


class Training(BaseEstimator):  # type: ignore[misc]  # sklearn is untyped
    """Carries messages between roles and keeps a record of what travelled.

    Attributes
    ----------
    sent_ : list of Sent
        Who sent what kind of message to whom, and how large.
    """

    kind: ClassVar[str]
    party_class: ClassVar[type[Party]]
    random_state: Any
    model: Any
    parties_: dict[str, Any]
    analyst_: Analyst

    def _deliver(self, sender: str, recipient: str, message: M) -> M:
        self.sent_.append(Sent.of(sender, recipient, message))
        return message

    def _start(self) -> None:
        """Begin a run: an empty record, and the root from which every stream of the run is derived by name."""
        self.sent_: list[Sent] = []
        if isinstance(self.random_state, np.random.Generator):
            self._root = int.from_bytes(self.random_state.bytes(SEED_BITS // 8), "big")
        elif self.random_state is None:
            self._root = fresh_seed()
        elif isinstance(self.random_state, int | np.integer) and self.random_state >= 0:
            self._root = int(self.random_state)
        else:
            raise InputError(
                f"`random_state` must be None, a whole number of at least 0 or a numpy Generator. "
                f"Got {type(self.random_state).__name__}."
            )

    def _private_seed(self, name: str) -> int:
        """A party's private seed. A party that was there before keeps its own, unless a seed says otherwise."""
        known = getattr(self, "parties_", {})
        if name in known and self.random_state is None:
            return int(known[name].private_seed)
        return derived_seed(self._root, "private", name)

    def _agree_on_anchor(self, parties: Sequence[Party]) -> None:
        lead, *others = parties
        proposal = lead.propose_anchor(derived_seed(self._root, "shared"))
        for party in others:
            party.receive_anchor(self._deliver(lead.name, party.name, proposal))

    def _require_fitted(self) -> None:
        if not hasattr(self, "parties_"):
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet: call `fit` first.")

    def _party(self, name: Any) -> Any:
        self._require_fitted()
        if name not in self.parties_:
            raise InputError(f"`party` must be one of {list(self.parties_)}. Got {name!r}.")
        return self.parties_[name]

    # --- on disk ------------------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> None:
        """Write the run to a folder: one inside it per role. Between organisations, each keeps its own."""
        self._require_fitted()
        parameters = self.get_params(deep=False)
        schema = parameters.pop("schema", None)
        content = {
            "parameters": {k: v for k, v in parameters.items() if isinstance(v, str | int | float | bool | dict)},
            "schema": None if schema is None else schema.to_dict(),
            "parties": list(self.parties_),
            "sent": [asdict(line) for line in self.sent_],
        } | self._more_content()
        write_folder(folder, State(self.kind, content, models={"model": clone(self.model)}))
        for name, party in self.parties_.items():
            party.save(Path(folder) / f"party-{name}")
        self.analyst_.save(Path(folder) / ANALYST)

    @classmethod
    def load(cls, folder: str | Path, *, trusted: Sequence[str] = ()) -> Self:
        """Read a run from its folder; it predicts and explains as the one that was saved."""
        state = read_folder(folder, kind=cls.kind, trusted=trusted)
        content = state.content
        schema = None if content["schema"] is None else Schema.from_dict(content["schema"])
        run = cls(state.models["model"], schema=schema, **content["parameters"])
        run.sent_ = [Sent(**(line | {"shapes": _tuples(line["shapes"])})) for line in content["sent"]]
        run.parties_ = {
            name: cls.party_class.load(Path(folder) / f"party-{name}", trusted=trusted) for name in content["parties"]
        }
        run.analyst_ = Analyst.load(Path(folder) / ANALYST, trusted=trusted)
        run._restore(content)
        return run

    def _more_content(self) -> dict[str, Any]:
        return {}

    def _restore(self, content: dict[str, Any]) -> None:
        """Take back what `_more_content` gave."""


def for_each(names: Iterable[str], action: Callable[[str], None]) -> None:
    """Do something for every party; where tables do not fit the schema, say so of all of them at once."""
    problems = []
    for name in names:
        try:
            action(name)
        except SchemaError as error:
            problems.append(f"{name!r}: {error}")
    if problems:
        raise SchemaError(" ".join(problems))


def goodness(model: Any, y: Any, predicted: Array) -> float:
    """Accuracy of a classifier's predictions, R² of a regressor's."""
    return float((accuracy_score if is_classifier(model) else r2_score)(as_labels(y), predicted))


def _tuples(shapes: dict[str, list[int]]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(shape) for name, shape in shapes.items()}
