"""Seeds and keys that a party keeps in a private file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dcshap.collaboration.randomness import fresh_seed
from dcshap.storage import read_private, write_private

__all__ = ["Secrets"]


@dataclass
class Secrets:
    """Seeds and keys that a party keeps and uses again; a fresh basis for the same data would help an attacker."""

    private_seed: int
    # As shared between the parties. Where they were agreed out of band, others are refused.
    anchor_seed: int | None = None
    pseudonym_key: bytes | None = None
    agreed: bool = False  # whether the shared ones were agreed out of band

    @classmethod
    def load(cls, folder: Path) -> Secrets:
        """Read the secrets in a folder; on the first time the private seed is drawn and kept."""
        path = folder / "secrets.json"
        if not path.exists():
            secrets = cls(fresh_seed())
            secrets.save(folder)
            return secrets
        return read_private(path, cls._from_content, remedy="put it back from a backup")

    @classmethod
    def _from_content(cls, content: Any) -> Secrets:
        key, anchor = content.get("pseudonym_key"), content.get("anchor_seed")
        return cls(
            private_seed=int(content["private_seed"], 16),
            anchor_seed=None if anchor is None else int(anchor, 16),
            pseudonym_key=None if key is None else bytes.fromhex(key),
            agreed=bool(content.get("agreed", False)),
        )

    def save(self, folder: Path) -> None:
        """Keep the secrets; nobody but the owner can read them."""
        content = {
            "private_seed": hex(self.private_seed),
            "anchor_seed": None if self.anchor_seed is None else hex(self.anchor_seed),
            "pseudonym_key": None if self.pseudonym_key is None else self.pseudonym_key.hex(),
            "agreed": self.agreed,
        }
        write_private(folder / "secrets.json", json.dumps(content))
