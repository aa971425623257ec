"""Whether a party's rows may leave: it attacks its own release before the first training, and keeps what it found.

The attacks take some seconds, so they run once for a table, a schema and settings. Where they succeed too well, the
party does not train, unless its configuration accepts that with a reason; the reason goes into the ledger.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from dcshap.audit import Audit, History, audit_party
from dcshap.collaboration import HorizontalParty, VerticalParty
from dcshap.collaboration.stacking import parts_of
from dcshap.exceptions import PrivacyError
from dcshap.explanation.disclosures import CoalitionTable, RecordOffsets
from dcshap.federation.seals.ledger import Entry, Ledger
from dcshap.federation.site.configuration import SiteConfig
from dcshap.federation.site.holdings import load_data
from dcshap.federation.site.secrets import Secrets
from dcshap.storage import write_private

__all__ = ["NEW_MAPS", "Clearance", "attack_aside", "digest_of", "party_at_hand"]

NEW_MAPS = "New maps"  # the ledger's line of a training that represents the same rows anew
AUDIT = "Audit"  # the line of an audit that was accepted
_FILE = "audit.json"
_SECONDS = 600.0  # that the attacks may take before a training
_LABELS = 1 << 16  # that are turned to text together
_ROWS = 1000  # that are attacked before a training; the command `audit` looks at more


class Clearance:
    """A party's audits of what it sends in one collaboration."""

    def __init__(self, config: SiteConfig, collaboration: str, ledger: Ledger) -> None:
        self._config, self._collaboration, self._ledger = config, collaboration, ledger
        self._settings = config.collaboration(collaboration)
        self._path = config.state_folder(collaboration) / _FILE

    def require(self, party: HorizontalParty | VerticalParty, *, run: str) -> None:
        """Refuse to train where the audit of what would be sent fails and that was not accepted.

        Raises
        ------
        PrivacyError
            Which crosses the border of the organisation, and so does not say which attack succeeds.
        """
        kept = self._kept(digest_of(party))
        reason = self._settings.audit.get("reason", "")
        if self._settings.audit.get("accept"):
            note = f"{kept or 'not run'}, accepted: {reason}"
            self._ledger.append(Entry(party.name, AUDIT, 0, request=run, note=note))
            return
        if not kept:
            attack_aside(self._config.folder, self._collaboration, task=party.agreement.task)
        if (kept or self._kept(digest_of(party))) not in ("pass", "warn"):
            raise PrivacyError(
                f"Party {party.name!r} does not train: its own audit of what it would send fails. There, `dcshap "
                f"federation audit` says why and what to change; `audit: {{accept: true, reason: …}}` in its "
                f"configuration accepts it."
            )

    def audit(self, party: HorizontalParty | VerticalParty, **options: Any) -> Audit:
        """Attack what a party has sent, or would send, and keep what was found."""
        found = audit_party(party, history=self.history(), **options)
        if not options.get("thresholds"):
            self._keep(digest_of(party), found)
        return found

    def history(self) -> History:
        """What the ledger knows of all that was ever sent."""
        lines, settings = list(self._ledger), self._settings
        told: dict[str, set[str]] = {}
        for line in lines:
            if line.recipient in settings.partners:
                told.setdefault(line.recipient, set()).update(line.records)
        columns = {RecordOffsets.__name__, CoalitionTable.__name__}
        maps = [line for line in lines if (line.kind, line.note) == (NEW_MAPS, self._collaboration)]
        return History(
            maps=1 + len(maps),
            record_vectors={name: len(records) for name, records in told.items() if records},
            algorithm3=settings.algorithm_3 or any(line.kind in columns for line in lines),
            consented=settings.algorithm_3,
            epsilon=self._ledger.epsilons().get(self._collaboration),
            n_parties=len(settings.partners) + 1,
        )

    def _kept(self, digest: str) -> str:
        """The verdict on the same table, schema and settings; empty where there is none."""
        try:
            content = json.loads(self._path.read_text(encoding="utf-8"))
            return str(content["audit"]["verdict"]) if content["digest"] == digest else ""
        except (OSError, ValueError, LookupError, TypeError):
            return ""  # it is run again

    def _keep(self, digest: str, found: Audit) -> None:
        write_private(self._path, json.dumps({"digest": digest, "audit": found.to_dict()}))


def attack_aside(kit: Path, collaboration: str, *, task: str) -> None:
    """Have the audit run, and kept, in a process of its own.

    Lattice reduction sets signal handlers, which only the first thread of a process may; a site answers in others.
    """
    command = [sys.executable, "-m", "dcshap", "federation", "audit", str(kit), collaboration]
    command += ["--task", task, "--rows", str(_ROWS), "--json"]
    try:
        subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)  # noqa: S603 - our own command
    except (OSError, subprocess.TimeoutExpired):
        return  # nothing is kept, and the party does not train


def party_at_hand(
    config: SiteConfig, collaboration: str, *, trained: Any = None, task: str | None = None
) -> HorizontalParty | VerticalParty:
    """The party with its table at hand: as a training left it, or as it would begin the first one.

    Parameters
    ----------
    config : SiteConfig
    collaboration : str
    trained : HorizontalParty or VerticalParty, optional
    task : {"classes", "number"}, optional
        What the labels are; classes, by default, unless they are decimal numbers.
    """
    settings, folder = config.collaboration(collaboration), config.state_folder(collaboration)
    if trained is not None:
        task = trained.agreement.task
    data = load_data(settings, base=config.folder, task=task or "classes")
    if task is None and data.y is not None and np.asarray(data.y).dtype.kind == "f":
        data = load_data(settings, base=config.folder, task="number")
    party: HorizontalParty | VerticalParty
    if trained is not None:
        party = trained
    else:
        kind, secrets = (HorizontalParty if settings.kind == "horizontal" else VerticalParty), Secrets.load(folder)
        party = kind(config.party, data.agreement, private_seed=secrets.private_seed)
        party.anchor_seed = secrets.anchor_seed
    party.take(data.X, data.y)
    return party


def digest_of(party: HorizontalParty | VerticalParty) -> str:
    """A digest of what a party brings to a training, keyed by its private seed: it tells nobody anything of rows."""
    digest = hashlib.sha256(f"{party.private_seed}\x1f{json.dumps(party.agreement.to_dict(), sort_keys=True)}".encode())
    for rows in parts_of(party.codes):
        digest.update(np.ascontiguousarray(rows).data)
    labels = party._labels
    for part in () if labels is None else labels if isinstance(labels, tuple) else (labels,):
        for at in range(0, len(part), _LABELS):
            digest.update((("\x1f" if at else "") + "\x1f".join(map(str, part[at : at + _LABELS]))).encode())
    return digest.hexdigest()
