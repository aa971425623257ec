"""One copy of a federation in a world of faults: its sites, the network between them, and what is done with them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dcshap._typing import FloatArray
from dcshap.collaboration.messages import ANALYST, REQUESTER
from dcshap.exceptions import DcshapError, FederationError
from dcshap.federation.requester import Requester
from dcshap.federation.seals.identity import Identity
from dcshap.federation.seals.refusals import as_error, as_plain
from dcshap.federation.seals.spool import PART
from dcshap.federation.site.analyst_site import AnalystSite
from dcshap.federation.site.configuration import SiteConfig
from dcshap.federation.site.holdings import Data
from dcshap.federation.site.hosting import RunSettings
from dcshap.federation.site.party_site import PartySite
from dcshap.federation.site.runs import Runs
from dcshap.protocol.simulated import FaultyNetwork
from dcshap.protocol.world import FaultyDisk, World

__all__ = ["DOOR", "NAME", "PATIENCE", "Play"]

NAME = "rehearsal"
DOOR = "analyst's door"  # where requesters knock
_SMALL = 2000  # bytes of a part, of which a representation has two
PATIENCE = 20.0  # seconds that a site may take to answer


@dataclass
class Play:
    """A federation in a world.

    Parameters
    ----------
    kind : {"horizontal", "vertical"}
    folder : path
        With a folder for each party and for the analyst's server.
    configs : list of SiteConfig
    identities : mapping of name to Identity
    world : World
    disk : FaultyDisk
    load_data : callable
        Reads a party's table.

    Attributes
    ----------
    part : int
        Bytes of a message that travel in one envelope.
    asked : mapping of str to (str, int)
        By a request's identifier, who asked and of how many records.
    """

    kind: Any
    folder: Path
    configs: list[SiteConfig]
    identities: dict[str, Identity]
    world: World
    disk: FaultyDisk
    load_data: Callable[..., Data]
    part: int = PART
    asked: dict[str, tuple[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.network = FaultyNetwork(world=self.world, doors={DOOR: ANALYST})
        self.analyst: AnalystSite | None = None
        self.sites: dict[str, PartySite] = {}
        self.world.restart = self.start
        for config in self.configs:
            self.start(config.party)

    @property
    def names(self) -> tuple[str, ...]:
        """The parties."""
        return tuple(config.party for config in self.configs)

    def start(self, who: str) -> None:
        """Start a role's process, from nothing but its folder."""
        if who in self.names:
            config = self.configs[self.names.index(who)]
            site = PartySite(config, self.identities[who], collaboration=NAME, network=self.network)
            site.part, site.load_data = self.part, self.load_data
            self.sites[who] = site
            self.network.participants[who] = site.handle
        elif who == ANALYST:
            self.analyst = None
            self.network.participants.pop(ANALYST, None)
            self.network.participants.pop(DOOR, None)

    # --- what is done -----------------------------------------------------------------------------------------

    def train(self, run: str, model: str, *, resume: bool = False) -> None:
        """Train, as the analyst; or go on with a training that was interrupted, in an attempt of that name."""
        site = self._analyst_site(run, model, resume=resume)
        with self.world.as_actor(ANALYST):
            site.train()
        self._serve(site)

    def travel_in_parts(self) -> None:
        """Have messages of trainings travel in parts so small that some go in several."""
        self.part = _SMALL
        for site in self.sites.values():
            site.part = self.part

    @property
    def interrupted(self) -> list[str]:
        """The trainings that the analyst has begun and not ended."""
        return Runs(self.folder / "server" / "dcshap" / NAME).interrupted()

    def resume(self, session: str) -> None:
        """Go on from what was kept, as the analyst."""
        site = self._analyst_site(session, "")
        with self.world.as_actor(ANALYST):
            site.resume(session)
        self._serve(site)

    def ask(self, protocol: str, who: str, records: list[str]) -> FloatArray:
        """A prediction, or an explanation as one array of numbers, as somebody who asks."""
        if self.analyst is None:
            raise FederationError("Nothing is served.")
        run, certificates = self.analyst.run, self.analyst.certificates

        def exchange(session: str, envelopes: Any) -> dict[str, list[bytes]]:
            self.asked[session] = who, len(records)
            return self._exchange(session, envelopes)

        requester = Requester(self.identities[who], NAME, run, certificates, exchange, timeout=PATIENCE)
        with self.world.as_actor(REQUESTER):
            if protocol == "predict":
                return np.asarray(requester.predict(records).values, dtype=float).ravel()
            view = self.names[0] if protocol == "algorithm 4" else "full"
            explained = requester.explain(records, view=view, index="owen" if protocol == "party views" else "shapley")
        return np.concatenate([np.ravel(explained.base_values), np.ravel(explained.values)])

    def _analyst_site(self, run: str, model: str, *, resume: bool = False) -> AnalystSite:
        settings = RunSettings(NAME, self.kind, self.names, run=run, model=model, timeout=PATIENCE, resume=resume)
        site = AnalystSite(settings, self.folder / "server" / "dcshap", self.identities[ANALYST], self.network)
        site.part = self.part
        return site

    def _serve(self, site: AnalystSite) -> None:
        self.analyst = site
        self.network.participants[ANALYST] = site.handle
        self.network.participants[DOOR] = lambda data: _answered(site, data)

    def _exchange(self, session: str, envelopes: Any) -> dict[str, list[bytes]]:
        """Bring envelopes to the analyst; what comes back."""
        content = {"session": session, "envelopes": {name: each.hex() for name, each in envelopes.items()}}
        reply = self.network.send(DOOR, json.dumps(content).encode(), patience=PATIENCE)
        try:
            found = json.loads(reply)
            replies = {name: [bytes.fromhex(each) for each in parts] for name, parts in found["replies"].items()}
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise FederationError("What came back through the door is damaged.") from error
        if found["error"] is not None:
            raise as_error(found["error"])
        return replies


def _answered(site: AnalystSite, data: bytes) -> bytes:
    """What the analyst answers to whoever knocks; the engine's part."""
    found: dict[str, Any]
    try:
        asked = json.loads(data)
        envelopes = {name: bytes.fromhex(each) for name, each in asked["envelopes"].items()}
        replies = site.answer(str(asked["session"]), envelopes)
        found = {"replies": {n: [part.hex() for part in parts] for n, parts in replies.items()}, "error": None}
    except DcshapError as error:
        found = {"replies": {}, "error": as_plain(error, site=ANALYST)}
    except (ValueError, LookupError, TypeError, AttributeError):
        damaged = FederationError("What came through the door is damaged.")
        found = {"replies": {}, "error": as_plain(damaged, site=ANALYST)}
    return json.dumps(found).encode()
