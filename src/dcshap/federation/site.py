"""A party's own configuration: where its table is, what it has agreed to, and who may ask for what.

It is one YAML file that never leaves the site, `dcshap.yaml` in the `local` folder of the party's FLARE kit. Nothing
in it can be set from outside: a job only says which collaboration is meant.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import yaml

from dcshap._sources import read_source
from dcshap.collaboration.agreement import Agreement
from dcshap.collaboration.party import require_name
from dcshap.collaboration.randomness import fresh_seed
from dcshap.exceptions import InputError, PrivacyError, StorageError
from dcshap.schema import Schema

__all__ = ["CONFIG", "CollaborationConfig", "Right", "Secrets", "SiteConfig"]

CONFIG = "dcshap.yaml"
FULL = "full"  # the view of all parties' features
Kind = Literal["horizontal", "vertical"]


# --- one collaboration --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CollaborationConfig:
    """What a party brings to one collaboration.

    Attributes
    ----------
    kind : {"horizontal", "vertical"}
    table : mapping
        As in `read_source`.
    schema : str
        The agreed schema's file. In a vertical collaboration it covers all parties' columns.
    partners : tuple of str
        The other parties. A run with anybody else is refused: who is let in learns the anchor's seed.
    id : str, optional
        The column of the record identifiers; needed in a vertical collaboration.
    target : str, optional
        The column of the labels, where this party holds them.
    agreement : mapping
        `n_components`, `span`, `reduction`, `anchor`, `n_anchor`, `scaled`, `missing`.
    instance_models : bool
        Whether a model that contains training rows may leave the analyst.
    trusted : tuple of str
        Types beyond scikit-learn's own that a received model may contain.
    """

    kind: Kind
    table: Mapping[str, str]
    schema: str
    partners: tuple[str, ...]
    id: str | None = None
    target: str | None = None
    agreement: Mapping[str, Any] = field(default_factory=dict)
    instance_models: bool = False
    trusted: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in ("horizontal", "vertical"):
            raise InputError(f"`kind` must be 'horizontal' or 'vertical'. Got {self.kind!r}.")
        if not self.partners:
            raise InputError("A collaboration needs `partners`, the names of the other parties.")
        if self.kind == "vertical" and self.id is None:
            raise InputError("A vertical collaboration needs `id`, the column of the record identifiers.")
        if self.kind == "horizontal" and self.target is None:
            raise InputError("A horizontal collaboration needs `target`, the column of the labels.")


@dataclass(frozen=True)
class Data:
    """A party's table, cut to what takes part."""

    X: pd.DataFrame
    y: pd.Series | None
    agreement: Agreement


def load_data(config: CollaborationConfig, *, base: Path) -> Data:
    """Read the table and check it against the schema.

    Raises
    ------
    SchemaError
        Naming every column that does not fit.
    """
    table, schema = read_source(config.table, base=base), Schema.load(base / config.schema)
    lacking = [name for name in (config.id, config.target) if name is not None and name not in table.columns]
    if lacking:
        raise InputError(f"The table must have the columns {lacking}. It has {list(table.columns)}.")
    if config.id is not None:
        table = table.set_index(config.id)
    if config.kind == "vertical":
        schema = schema.select([name for name in schema.names if name in set(table.columns)])
    present = [name for name in schema.names if name in set(table.columns)]
    agreement = Agreement(schema, **config.agreement)
    X = table[present]
    schema.codes(X, missing=agreement.missing)  # says what does not fit
    return Data(X, None if config.target is None else table[config.target], agreement)


# --- who may ask --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Right:
    """What a requester may ask for: which views (a party's name, or "full"), of how many records."""

    views: tuple[str, ...]
    budget: int


@dataclass(frozen=True)
class SiteConfig:
    """A party's configuration.

    Attributes
    ----------
    party : str
    folder : path
        The kit's folder.
    collaborations : mapping of str to CollaborationConfig
    rights : mapping of requester's name to Right
    budget_days : float
        The span of time that a budget is for.
    """

    party: str
    folder: Path
    collaborations: Mapping[str, CollaborationConfig]
    rights: Mapping[str, Right] = field(default_factory=dict)
    budget_days: float = 30.0

    @classmethod
    def load(cls, kit: str | Path) -> SiteConfig:
        """Read the configuration of a kit."""
        path = Path(kit) / "local" / CONFIG
        try:
            content = yaml.safe_load(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise StorageError(f"{path} is missing: run `dcshap federation party init` first.") from error
        except yaml.YAMLError as error:
            raise StorageError(f"{path} is not YAML.") from error
        if not isinstance(content, dict) or not isinstance(content.get("collaborations"), dict):
            raise StorageError(f"{path} must hold `party` and `collaborations`.")
        try:
            return cls(
                party=require_name(content["party"]),
                folder=Path(kit),
                collaborations={require_collaboration(n): _known(c) for n, c in content["collaborations"].items()},
                rights={n: Right(tuple(r["views"]), int(r["budget"])) for n, r in content.get("rights", {}).items()},
                budget_days=float(content.get("budget_days", 30.0)),
            )
        except (TypeError, KeyError, AttributeError) as error:
            raise StorageError(f"{path} has a setting that is unknown, missing or of another type.") from error

    def save(self) -> Path:
        """Write the configuration to its kit; nobody but the owner can read it."""
        path = self.folder / "local" / CONFIG
        content = {
            "party": self.party,
            "budget_days": self.budget_days,
            "collaborations": {name: _plain(config) for name, config in self.collaborations.items()},
            "rights": {n: {"views": list(r.views), "budget": r.budget} for n, r in self.rights.items()},
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


def trusted_by_analyst(kit: str | Path) -> tuple[str, ...]:
    """Types beyond scikit-learn's own that a model may contain at the analyst; `trusted` in its own `dcshap.yaml`."""
    path = Path(kit) / "local" / CONFIG
    if not path.exists():
        return ()
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        return tuple(str(name) for name in content["trusted"])
    except (OSError, yaml.YAMLError, TypeError, LookupError) as error:
        raise StorageError(f"{path} must hold `trusted`, a list of types. It cannot be read.") from error


@dataclass
class Secrets:
    """Seeds and keys that a party keeps and uses again; a fresh basis for the same data would help an attacker.

    Attributes
    ----------
    private_seed : int
    anchor_seed, pseudonym_key : optional
        As shared between the parties. Where they were agreed out of band, others are refused.
    agreed : bool
        Whether the shared ones were agreed out of band.
    """

    private_seed: int
    anchor_seed: int | None = None
    pseudonym_key: bytes | None = None
    agreed: bool = False

    @classmethod
    def load(cls, folder: Path) -> Secrets:
        """Read the secrets in a folder; on the first time the private seed is drawn and kept."""
        path = folder / "secrets.json"
        if not path.exists():
            secrets = cls(fresh_seed())
            secrets.save(folder)
            return secrets
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            key, anchor = content.get("pseudonym_key"), content.get("anchor_seed")
            return cls(
                private_seed=int(content["private_seed"], 16),
                anchor_seed=None if anchor is None else int(anchor, 16),
                pseudonym_key=None if key is None else bytes.fromhex(key),
                agreed=bool(content.get("agreed", False)),
            )
        except (OSError, ValueError, TypeError, LookupError) as error:
            raise StorageError(f"{path} is damaged.") from error

    def save(self, folder: Path) -> None:
        """Keep the secrets; nobody but the owner can read them."""
        content = {
            "private_seed": hex(self.private_seed),
            "anchor_seed": None if self.anchor_seed is None else hex(self.anchor_seed),
            "pseudonym_key": None if self.pseudonym_key is None else self.pseudonym_key.hex(),
            "agreed": self.agreed,
        }
        write_private(folder / "secrets.json", json.dumps(content))


def write_private(path: Path, text: str) -> None:
    """Write a file as a whole or not at all; nobody but the owner can read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}-{os.getpid()}")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    aside.replace(path)


def require_collaboration(name: Any) -> str:
    """A collaboration's name, if it can be one; it becomes a folder's name."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", name):
        raise InputError("A collaboration's name must be 1 to 64 letters, digits, '_' or '-'.")
    return name


def _known(content: Mapping[str, Any]) -> CollaborationConfig:
    unknown = sorted(set(content) - {entry.name for entry in fields(CollaborationConfig)})
    if unknown:
        raise InputError(f"A collaboration's settings have unknown entries: {unknown}.")
    lists = {name: tuple(content.get(name, ())) for name in ("partners", "trusted")}
    return CollaborationConfig(**(dict(content) | lists))


def _plain(config: CollaborationConfig) -> dict[str, Any]:
    content = asdict(config)
    lists = {"partners": list(config.partners), "trusted": list(config.trusted)}
    return content | lists | {"table": dict(config.table), "agreement": dict(config.agreement)}
