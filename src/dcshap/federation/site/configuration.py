"""A party's own configuration: where its table is, what it has agreed to, and who may ask for what.

It is one YAML file that never leaves the site, `dcshap.yaml` in the `local` folder of the party's FLARE kit. Nothing
in it can be set from outside: a job only says which collaboration is meant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import yaml

from dcshap.collaboration.agreement import Agreement
from dcshap.collaboration.party import require_name
from dcshap.exceptions import InputError, PrivacyError, StorageError
from dcshap.explanation.reference import BACKGROUND, KINDS
from dcshap.federation.site.cluster import require_cluster
from dcshap.storage import write_private

__all__ = [
    "CONFIG",
    "REFERENCES",
    "AnalystConfig",
    "CollaborationConfig",
    "Right",
    "SiteConfig",
    "require_collaboration",
]

CONFIG = "dcshap.yaml"
Kind = Literal["horizontal", "vertical"]
REFERENCES = ("anchor", BACKGROUND)  # what all parties have in common
_LISTS = ("partners", "trusted", "references")
# Without noise, as many record vectors as columns decode all of them. With it, many are needed to single out a column.
_SOME_NOISE, _RECORDS_PER_COLUMN = 0.01, 100


# --- one collaboration --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CollaborationConfig:
    """What a party brings to one collaboration."""

    kind: Kind
    table: Mapping[str, str]  # as in `read_source`
    schema: str  # the agreed schema's file; in a vertical collaboration it covers all parties' columns
    # The other parties. A run with anybody else is refused: who is let in learns the anchor's seed.
    partners: tuple[str, ...]
    id: str | None = None  # the column of the record identifiers; needed in a vertical collaboration
    target: str | None = None  # the column of the labels, where this party holds them
    agreement: Mapping[str, Any] = field(default_factory=dict)  # fields of `Agreement`, but for schema and task
    instance_models: bool = False  # whether a model that contains training rows may leave the analyst
    trusted: tuple[str, ...] = ()  # types beyond scikit-learn's own that a received model may contain
    # Whether the next trainings find new maps instead of using those of the first: who has seen rows through two maps
    # knows more of them than through one.
    refit_span: bool = False
    # Whether the analyst may be told what each column of a record adds, which decodes training rows.
    algorithm_3: bool = False
    # What a requester may compare with. Beyond the default, "own" and "mean" tell statistics of the party's rows, and
    # "medoid" is one of them.
    references: tuple[str, ...] = REFERENCES
    # Of how many records another party may be told vectors, whoever asks and however long it takes. By default fewer
    # than the party has columns where there is no noise, else a hundred times its columns.
    recipient_budget: int | None = None
    # `accept` and `reason`: to train although the party's own audit of what it sends fails. The reason goes into the
    # ledger.
    audit: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in ("horizontal", "vertical"):
            raise InputError(f"`kind` must be 'horizontal' or 'vertical'. Got {self.kind!r}.")
        if not self.partners:
            raise InputError("A collaboration needs `partners`, the names of the other parties.")
        if self.kind == "vertical" and self.id is None:
            raise InputError("A vertical collaboration needs `id`, the column of the record identifiers.")
        if self.kind == "horizontal" and self.target is None:
            raise InputError("A horizontal collaboration needs `target`, the column of the labels.")
        unknown = sorted(set(self.references) - {*KINDS, BACKGROUND})
        if unknown:
            raise InputError(f"`references` must be of {[*KINDS, BACKGROUND]}. Got {unknown}.")

        if not isinstance(self.audit, Mapping) or set(self.audit) - {"accept", "reason"}:
            raise InputError("`audit` must be {accept: true, reason: …}, or not there.")
        if self.audit.get("accept") and not str(self.audit.get("reason") or "").strip():
            raise InputError("An audit is accepted with a `reason`, which goes into the ledger. There is none.")

    def records_per_recipient(self, agreement: Agreement) -> int:
        """Of how many records another party may be told vectors."""
        if self.recipient_budget is not None:
            return self.recipient_budget
        columns = len(agreement.schema)
        return _RECORDS_PER_COLUMN * columns if agreement.noise >= _SOME_NOISE else columns - 1


# --- who may ask --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Right:
    """What a requester may ask for: which views (a party's name, or "full"), of how many records.

    With `what_if`, also what would be if this party's own cells of a record were others.
    """

    views: tuple[str, ...]
    budget: int
    what_if: bool = False


@dataclass(frozen=True)
class SiteConfig:
    """A party's configuration."""

    party: str
    folder: Path  # the kit's folder
    collaborations: Mapping[str, CollaborationConfig]
    rights: Mapping[str, Right] = field(default_factory=dict)  # by the requester's name
    budget_days: float = 30.0  # the span of time that a budget is for

    @classmethod
    def load(cls, kit: str | Path) -> SiteConfig:
        """Read the configuration of a kit."""
        path = Path(kit) / "local" / CONFIG
        try:
            content = _read(path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise StorageError(f"{path} is missing: run `dcshap federation party init` first.") from error
        except OSError as error:
            raise StorageError(f"{path} cannot be read: does the kit belong to the user who runs this?") from error
        except yaml.YAMLError as error:
            raise StorageError(f"{path} is not YAML.") from error
        except (TypeError, KeyError, AttributeError) as error:
            raise StorageError(f"{path} has a setting that is unknown, missing or of another type.") from error
        if not content:
            raise StorageError(f"{path} must hold `party` and `collaborations`.")
        return cls(folder=Path(kit), **content)

    def save(self) -> Path:
        """Write the configuration to its kit; nobody but the owner can read it."""
        path = self.folder / "local" / CONFIG
        content = {
            "party": self.party,
            "budget_days": self.budget_days,
            "collaborations": {name: _plain(config) for name, config in self.collaborations.items()},
            "rights": {n: asdict(r) | {"views": list(r.views)} for n, r in self.rights.items()},
        }
        write_private(path, yaml.safe_dump(content, sort_keys=False, allow_unicode=True))
        return path

    def collaboration(self, name: str) -> CollaborationConfig:
        """What the party has agreed to take part in, by name."""
        if name not in self.collaborations:
            raise PrivacyError(f"Party {self.party!r} takes no part in a collaboration of this name.")
        return self.collaborations[name]

    def state_folder(self, collaboration: str) -> Path:
        """Where the party keeps what it learnt and its secrets."""
        return self.folder / "dcshap" / require_collaboration(collaboration)

    @property
    def ledger(self) -> Path:
        """The party's ledger."""
        return self.folder / "dcshap" / "ledger.jsonl"

    def right(self, requester: str, view: str) -> Right:
        """What a requester may ask for, if this view is part of it."""
        right = self.rights.get(requester)
        if right is None:
            raise PrivacyError(f"Party {self.party!r} has given {requester!r} no right to ask.")
        if view not in right.views:
            raise PrivacyError(
                f"Party {self.party!r} has given {requester!r} the right to the views {list(right.views)}. Asked for: "
                f"{view!r}."
            )
        return right


@lru_cache(maxsize=16)
def _read(text: str) -> dict[str, Any]:
    """What the text of a configuration says, if it is one. It is read for every request, and seldom another."""
    content = yaml.safe_load(text)
    if not isinstance(content, dict) or not isinstance(content.get("collaborations"), dict):
        return {}
    return {
        "party": require_name(content["party"]),
        "collaborations": {require_collaboration(n): _known(c) for n, c in content["collaborations"].items()},
        "rights": {n: _right(r) for n, r in content.get("rights", {}).items()},
        "budget_days": _days(content.get("budget_days", 30.0)),
    }


@dataclass(frozen=True)
class AnalystConfig:
    """The analyst's configuration, in its own `dcshap.yaml`; all of it may be left out."""

    trusted: tuple[str, ...] = ()  # types beyond scikit-learn's own that a model may contain
    # The Dask cluster on which models are trained; see `dcshap.federation.site.cluster`.
    dask: Mapping[str, str] | None = None

    @classmethod
    def load(cls, kit: str | Path) -> AnalystConfig:
        """Read the configuration of the analyst's kit."""
        path = Path(kit) / "local" / CONFIG
        if not path.exists():
            return cls()
        try:
            content = yaml.safe_load(path.read_text(encoding="utf-8"))
            unknown = sorted(set(content) - {"trusted", "dask"})
            trusted = tuple(str(name) for name in content.get("trusted", ()))
        except (OSError, yaml.YAMLError, TypeError, AttributeError) as error:
            raise StorageError(f"{path} must hold `trusted`, a list of types, or `dask`. It cannot be read.") from error
        if unknown:
            raise StorageError(f"{path} may hold `trusted` and `dask`. It also has {unknown}.")
        return cls(trusted, require_cluster(content["dask"]) if "dask" in content else None)


def require_collaboration(name: Any) -> str:
    """A collaboration's name, if it can be one; it becomes a folder's name."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", name):
        raise InputError("A collaboration's name must be 1 to 64 letters, digits, '_' or '-'.")
    return name


def _right(content: Mapping[str, Any]) -> Right:
    what_if = content.get("what_if", False)
    if not isinstance(what_if, bool):
        raise TypeError("true or false")
    return Right(tuple(content["views"]), int(content["budget"]), what_if)


def _known(content: Mapping[str, Any]) -> CollaborationConfig:
    unknown = sorted(set(content) - {entry.name for entry in fields(CollaborationConfig)})
    if unknown:
        raise InputError(f"A collaboration's settings have unknown entries: {unknown}.")
    lists = {name: tuple(content[name]) for name in _LISTS if name in content}
    return CollaborationConfig(**(dict(content) | lists))


def _plain(config: CollaborationConfig) -> dict[str, Any]:
    content = asdict(config)
    lists = {name: list(getattr(config, name)) for name in _LISTS}
    return content | lists | {"table": dict(config.table), "agreement": dict(config.agreement)}


def _days(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise TypeError("a number of days")
    return float(value)
