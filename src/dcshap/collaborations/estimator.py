"""What horizontal and vertical collaborations in one process have in common: seeds, the record, the folder on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Self, TypedDict, Unpack, overload

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.linear_model import LogisticRegression, Ridge

from dcshap._html import paragraph, snippet, table
from dcshap._machine import new_identifier
from dcshap._typing import Array, FloatArray
from dcshap.audit import Audit, History, audit_party
from dcshap.collaboration.agreement import Agreement
from dcshap.collaboration.analyst import Analyst
from dcshap.collaboration.labels import MANY_NUMBERS, as_labels, has_fractions
from dcshap.collaboration.messages import ANALYST, Message, Sent
from dcshap.collaboration.party import Party, require_name
from dcshap.collaboration.randomness import SEED_BITS, derived_seed, fresh_seed
from dcshap.exceptions import InputError, NotFittedError, StorageError
from dcshap.explanation.receipt import Receipt, Signer, receipt_of
from dcshap.explanation.statement import PartyExplanation
from dcshap.protocol import Cast, Protocol, run_in_memory
from dcshap.schema import Schema
from dcshap.storage import PLAIN, State, interpreting, plain, read_folder, require_trusted_tree, write_tree

__all__ = ["AuditOptions", "CollaborationEstimator", "for_each"]


class AuditOptions(TypedDict, total=False):
    """Options of an audit."""

    thresholds: Mapping[str, tuple[float, float]] | None
    n_rows: int
    seed: int


class CollaborationEstimator(BaseEstimator):  # type: ignore[misc]  # sklearn is untyped
    """Roles of one process, that exchange the same messages as between organisations.

    Attributes
    ----------
    sent_ : list of Sent
        Who sent what kind of message to whom, and how large.
    """

    kind: ClassVar[str]
    party_class: ClassVar[type[Party]]
    random_state: Any
    model: Any
    span: Any
    noise: float
    reduction: Any
    anchor: Any
    n_anchor: int
    scaled: bool
    missing: Any
    parties_: dict[str, Any]
    analyst_: Analyst
    sent_: list[Sent]

    def _start(self) -> None:
        """Begin a run with the root from which every stream of it is derived by name."""
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
        """A party's private seed: the one it had before, unless a whole number as `random_state` says otherwise."""
        known = self._known_parties()
        return int(known[name].private_seed) if name in known else derived_seed(self._root, "private", name)

    def _shared_seed(self) -> int:
        """The parties' shared seed. It too is kept: a random span is drawn from it."""
        seeds = [party.anchor_seed for party in self._known_parties().values()]
        return int(seeds[0]) if seeds else derived_seed(self._root, "shared")

    def _known_parties(self) -> dict[str, Any]:
        """The parties of an earlier training, whose seeds are to be used again."""
        seeded = isinstance(self.random_state, int | np.integer)
        return {} if seeded else getattr(self, "parties_", {})

    def _estimator(self, labels: Iterable[Any]) -> Any:
        """The model, or the one that goes with the parties' labels."""
        if self.model is not None:
            model = self.model if hasattr(self.model, "fit") and not isinstance(self.model, type) else None
            if model is not None and is_classifier(model) and any(map(has_fractions, labels)):
                raise InputError("A classifier predicts classes. The labels have fractions: use a regressor.")
            return self.model
        arrays = [as_labels(y) for y in labels]
        if any(map(has_fractions, arrays)):
            return Ridge()
        n_numbers = len(set().union(*(np.unique(each).tolist() for each in arrays if each.dtype.kind in "iuf")))
        if n_numbers > MANY_NUMBERS:
            raise InputError(
                f"The labels are {n_numbers} different whole numbers. Say with `model` what they are: a regressor such "
                f"as Ridge() predicts a number, a classifier such as LogisticRegression() takes each for a class."
            )
        return LogisticRegression(max_iter=1000)

    def _schema_from(self, tables: Mapping[str, Any], earlier: Party | None) -> Schema:
        """A dictionary of tables: the one of an earlier training, or a new one."""
        found = Schema.for_supervision(tables) if self.span == "supervised" else Schema.from_frames(tables)
        # One more row may move a column's range. The maps are of coordinates that were scaled by the old one.
        if earlier is None or set(earlier.agreement.schema.names) != set(found.names):
            return found
        return earlier.agreement.schema

    def _agreed(self, schema: Schema, estimator: Any, **own: Any) -> Agreement:
        """What the parties agree on; `own` is what one kind of collaboration has to itself."""
        return Agreement(
            schema,
            reduction=self.reduction,
            span=self.span,
            noise=self.noise,
            task="classes" if is_classifier(estimator) else "number",
            anchor=self.anchor,
            n_anchor=self.n_anchor,
            scaled=self.scaled,
            missing=self.missing,
            **own,
        )

    def _keep_maps(self, parties: Mapping[str, Any]) -> list[bool]:
        """Have parties take over the maps of an earlier training; whether each has maps now."""
        known = self._known_parties()
        for name, party in parties.items():
            if name in known:
                party.keep_maps(known[name])
        return [party.has_maps for party in parties.values()]

    def _held(self) -> dict[str, tuple[FloatArray, Array, FloatArray]]:
        """What the analyst was sent to train on."""
        self._require_fitted()
        if not self.analyst_.held_:
            raise NotFittedError("The analyst has the parties' rows at hand after `fit` only, not from disk.")
        return self.analyst_.held_

    def _record(self, sender: str, recipient: str, message: Message) -> None:
        self.sent_.append(Sent.of(sender, recipient, message))

    def _train(
        self, protocol: Protocol, parties: dict[str, Any], analyst: Analyst, *, holder: str | None = None
    ) -> None:
        """Run a training's protocol; what was trained before is replaced once all parties have committed."""
        # By name: the order in which parties are listed must not change the result.
        cast = Cast(tuple(sorted(parties)), holder=holder)
        parties[cast.parties[0]].anchor_seed = self._shared_seed()
        analyst.run = new_identifier()
        earlier, self.sent_ = getattr(self, "sent_", []), []
        try:
            run_in_memory(protocol, cast, {**parties, ANALYST: analyst}, conductor=ANALYST, record=self._record)
            self.parties_, self.analyst_ = parties, analyst
        finally:
            if getattr(self, "analyst_", None) is not analyst:  # what was trained before is still used
                self.sent_ = earlier

    def receipt(
        self,
        explanation: PartyExplanation,
        *,
        sample: int = 0,
        party: str | None = None,
        opening: str | None = None,
        signer: Signer | None = None,
    ) -> Receipt:
        """A party's signed receipt of an explanation of one sample.

        Parameters
        ----------
        explanation : PartyExplanation
        sample : int, default 0
        party : str, optional
            Who signs: whose explanation it is, by default.
        opening : str, optional
            The opening of another party's receipt of the same record, so that the two can be compared.
        signer : Signer, optional
            By default with the key that the party keeps.
        """
        name = explanation.party if party is None else party
        if name is None:
            raise InputError(f"Say who signs with `party`, one of {list(self.parties_)}: the explanation is of all.")
        return receipt_of(self._party(name), explanation, sample=sample, opening=opening, signer=signer)

    def _html_repr(self) -> str:
        """The collaboration as a notebook shows it: who trained it, with what, and how much travelled."""
        if not hasattr(self, "parties_"):
            return str(super()._html_repr())
        model, sent = type(self.analyst_.model_).__name__, self.sent_
        rows = [
            (name, len(party.agreement.schema), sum(each.n_bytes for each in sent if each.sender == name))
            for name, party in self.parties_.items()
        ]
        about = f"{model}, span {self.span}, noise {self.noise:g}; run {self.analyst_.run[:8]}."
        return snippet(type(self).__name__, paragraph(about), table(["party", "columns", "bytes sent"], rows))

    def _repr_html_(self) -> str:
        return self._html_repr()

    def _require_fitted(self) -> None:
        if not hasattr(self, "parties_"):
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet: call `fit` first.")

    def _party(self, name: Any, what: str = "party") -> Any:
        self._require_fitted()
        if name not in self.parties_:
            raise InputError(f"`{what}` must be one of {list(self.parties_)}. Got {name!r}.")
        return self.parties_[name]

    # --- what attackers would learn -----------------------------------------------------------------------

    @overload
    def audit(self, party: str, **options: Unpack[AuditOptions]) -> Audit: ...

    @overload
    def audit(self, party: None = None, **options: Unpack[AuditOptions]) -> dict[str, Audit]: ...

    def audit(self, party: str | None = None, **options: Unpack[AuditOptions]) -> Audit | dict[str, Audit]:
        """Attack what a party has sent, with the strongest attacks known: its `Audit`, or all parties' by name.

        It needs the rows that were trained with, so a run that was loaded from disk must be given them first
        (`parties_[party].take`).

        Parameters
        ----------
        party : str, optional
            All by default.
        **options
            `thresholds`, `n_rows` and `seed`, as in `dcshap.audit.audit_party`.
        """
        self._require_fitted()
        if party is None:
            return {name: self.audit(name, **options) for name in self.parties_}
        own, others = self._party(party), [each for name, each in self.parties_.items() if name != party]
        beside = [each for each in others if each.has_rows]
        return audit_party(own, history=self._history(party), others=beside, **options)

    def _history(self, party: str) -> History:
        """What the record of this run knows of all that a party has sent."""
        sent = [line for line in self.sent_ if line.sender == party]
        vectors: dict[str, int] = {}
        for line in sent:
            if line.kind == "RecordVectors":
                records = max((shape[0] for shape in line.shapes.values() if shape), default=0)
                vectors[line.recipient] = vectors.get(line.recipient, 0) + records
        counts = [len(each.codes) for each in self.parties_.values() if each.has_rows]
        return History(
            record_vectors=vectors,
            algorithm3=any(line.kind in ("RecordOffsets", "CoalitionTable") for line in sent),
            n_parties=len(self.parties_),
            summed_rows=min(counts, default=None),
        )

    # --- on disk ------------------------------------------------------------------------------------------

    def save(self, folder: str | Path, *, files: Mapping[str, bytes] | None = None) -> None:
        """Write the run to a folder, one inside it per role: all of it or nothing, in place of an earlier run.

        Between organisations, each keeps its own.

        Parameters
        ----------
        folder : path
        files : mapping of str to bytes, optional
            More files to lie in the folder, by name.
        """
        self._require_fitted()
        parameters = self.get_params(deep=False)
        schema = parameters.pop("schema", None)
        models = {} if self.model is None else {"model": clone(self.model)}
        if not isinstance(self.reduction, str):
            models["reduction"] = clone(self.reduction)
        content = {
            "parameters": {name: plain(v) for name, v in parameters.items() if isinstance(plain(v), PLAIN)},
            "schema": None if schema is None else schema.to_dict(),
            "public_anchor": not isinstance(self.anchor, str),
            "parties": list(self.parties_),
            "sent": [asdict(line) for line in self.sent_],
        }
        roles = {f"party-{name}": party.state() for name, party in self.parties_.items()}
        states = {"": State(self.kind, content, models=models), **roles, ANALYST: self.analyst_.state()}
        write_tree(folder, states, files=files)

    @classmethod
    def load(cls, folder: str | Path, *, trusted: Sequence[str] = ()) -> Self:
        """Read a run from its folder; it predicts and explains as the one that was saved."""
        require_trusted_tree(folder, trusted=trusted)
        state = read_folder(folder, kind=cls.kind, trusted=trusted)
        with interpreting(folder):
            run = cls._from_state(state)
            names = [require_name(name) for name in state.content["parties"]]
        run.parties_ = {name: cls.party_class.load(Path(folder) / f"party-{name}", trusted=trusted) for name in names}
        run.analyst_ = Analyst.load(Path(folder) / ANALYST, trusted=trusted)
        runs = {name: role.run for name, role in {**run.parties_, ANALYST: run.analyst_}.items()}
        if len(set(runs.values())) > 1:
            said = ", ".join(f"{name!r} {of[:8]}" for name, of in runs.items())
            raise StorageError(f"The roles in {folder} are of different runs: {said}. Train and save again.")
        if state.content["public_anchor"]:
            run.anchor = next(iter(run.parties_.values())).agreement.anchor
        return run

    @classmethod
    def _from_state(cls, state: State) -> Self:
        content = state.content
        given = dict(content["parameters"])
        if content["schema"] is not None:
            given["schema"] = Schema.from_dict(content["schema"])
        if "reduction" in state.models:
            given["reduction"] = state.models["reduction"]
        run = cls(state.models.get("model"), **given)
        run.sent_ = [Sent(**(line | {"shapes": _tuples(line["shapes"])})) for line in content["sent"]]
        return run


def for_each(names: Iterable[str], action: Callable[[str], None]) -> None:
    """Do something for every party; where tables are not what they must be, say so of all of them at once."""
    problems: dict[str, InputError] = {}
    for name in names:
        try:
            action(name)
        except InputError as error:
            problems[name] = error
    if problems:
        kinds = {type(error) for error in problems.values()}
        kind = kinds.pop() if len(kinds) == 1 else InputError
        raise kind(" ".join(f"{name!r}: {error}" for name, error in problems.items()))


def _tuples(shapes: dict[str, list[int]]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(shape) for name, shape in shapes.items()}
