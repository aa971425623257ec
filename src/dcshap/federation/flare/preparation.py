"""Setting up a site: a party's kit made safe and configured, its table checked against the agreed schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from dcshap.exceptions import StorageError
from dcshap.federation.flare.kits import Kit, secure_party
from dcshap.federation.site.configuration import (
    CONFIG,
    CollaborationConfig,
    Right,
    SiteConfig,
    require_collaboration,
)
from dcshap.federation.site.holdings import load_data
from dcshap.federation.site.secrets import Secrets
from dcshap.storage import write_private

__all__ = ["Prepared", "init_party"]


@dataclass(frozen=True)
class Prepared:
    """What a party's set-up found: how much of its table takes part. It stays on the party's screen."""

    config: Path
    rows: int
    columns: tuple[str, ...]
    dimensions: int


def init_party(
    kit: Kit,
    collaboration: str,
    settings: CollaborationConfig,
    *,
    rights: Mapping[str, Right] | None = None,
    budget_days: float | None = None,
) -> Prepared:
    """Configure a party for a collaboration, and make its kit safe.

    Parameters
    ----------
    kit : Kit
    collaboration : str
        A kit may take part in several; each has its own table.
    settings : CollaborationConfig
        Its schema's file is copied to the kit, so that what was agreed cannot change by accident; a table's file is
        read where it is.
    rights : mapping of requester's name to Right, optional
        Added to those that the kit has given.
    """
    name = require_collaboration(collaboration)
    table = {
        kind: value if kind in ("sql", "url") else str(Path(value).absolute()) for kind, value in settings.table.items()
    }
    data = load_data(replace(settings, table=table), base=Path.cwd())
    copied = Path("local") / f"schema-{name}.yaml"
    write_private(kit.folder / copied, (Path.cwd() / settings.schema).read_text(encoding="utf-8"))
    earlier = _earlier(kit)
    config = SiteConfig(
        party=kit.name,
        folder=kit.folder,
        collaborations={**earlier.collaborations, name: replace(settings, table=table, schema=str(copied))},
        rights={**earlier.rights, **(rights or {})},
        budget_days=earlier.budget_days if budget_days is None else budget_days,
    )
    secure_party(kit)
    path = config.save()
    Secrets.load(config.state_folder(name))  # the private seed is drawn now, and kept
    return Prepared(path, len(data.X), data.agreement.schema.names, data.agreement.dimensions)


def _earlier(kit: Kit) -> SiteConfig:
    if not (kit.folder / "local" / CONFIG).exists():
        return SiteConfig(kit.name, kit.folder, {})
    found = SiteConfig.load(kit.folder)
    if found.party != kit.name:
        raise StorageError(f"{kit.folder} is configured for {found.party!r}, and its certificate is {kit.name!r}'s.")
    return found
