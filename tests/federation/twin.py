"""A federation in one process: real sites, certificates, envelopes and ledgers on a simulated network."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pandas as pd
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from dcshap import Schema
from dcshap.collaboration.messages import ANALYST
from dcshap.collaboration.randomness import SEED_BITS, derived_seed
from dcshap.federation.requester import Requester
from dcshap.federation.seals.identity import Identity
from dcshap.federation.site.analyst_site import AnalystSite
from dcshap.federation.site.configuration import CollaborationConfig, SiteConfig
from dcshap.federation.site.hosting import RunSettings
from dcshap.federation.site.party_site import PartySite
from dcshap.federation.site.secrets import Secrets
from dcshap.protocol.simulated import SimulatedNetwork
from dcshap.storage import write_model

SEED = 7
NAME = "study"
SERVER = "localhost"


class Authority:
    """A certificate authority that issues startup folders."""

    def __init__(self, name: str = "dcshap") -> None:
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.certificate = self._signed(name, self.key.public_key(), ca=True)

    def _signed(
        self, name: str, key: Any, *, ca: bool = False, days: float = 30, since: float = 60
    ) -> x509.Certificate:
        subject = x509.Name(
            [x509.NameAttribute(NameOID.COMMON_NAME, name), x509.NameAttribute(NameOID.ORGANIZATION_NAME, name)]
        )
        issuer = subject if ca else self.certificate.subject
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=since))
            .not_valid_after(now + timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
            .sign(self.key, hashes.SHA256())
        )

    def save(self, folder: Path) -> Path:
        """The authority's own folder."""
        folder.mkdir(parents=True, exist_ok=True)
        pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
        (folder / "rootCA.pem").write_bytes(self.certificate.public_bytes(pem))
        (folder / "rootCA.key").write_bytes(self.key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
        return folder

    def issue(self, folder: Path, name: str, *, days: float = 30, since: float = 60) -> Identity:
        """A participant's startup folder: a requester's if the name is an address, else a party's or the server's."""
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        folder.mkdir(parents=True, exist_ok=True)
        pem = serialization.Encoding.PEM
        kit, config = ("server", {}) if name == SERVER else ("client", {"servers": [{"identity": SERVER}]})
        if "@" in name:
            (folder / "fed_admin.json").write_text(json.dumps({"admin": {"server_identity": SERVER}}))
        else:
            (folder / f"fed_{kit}.json").write_text(json.dumps(config))
        (folder / f"{kit}.crt").write_bytes(
            self._signed(name, key.public_key(), days=days, since=since).public_bytes(pem)
        )
        (folder / "rootCA.pem").write_bytes(self.certificate.public_bytes(pem))
        (folder / f"{kit}.key").write_bytes(
            key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        )
        return Identity(folder)


def secrets_for(name: str) -> Secrets:
    """The seeds that a collaboration in one process derives from `random_state=SEED`."""
    key = derived_seed(SEED, "pseudonyms").to_bytes(SEED_BITS // 8, "big")
    return Secrets(derived_seed(SEED, "private", name), derived_seed(SEED, "shared"), key)


def configured(
    kit: Path, name: str, table: pd.DataFrame, schema: Schema, *, kind: Any, rights: Any = None, **more: Any
) -> SiteConfig:
    """A party's kit with its table, schema, configuration and seeds in it."""
    (kit / "local").mkdir(parents=True, exist_ok=True)
    table.to_parquet(kit / "table.parquet")
    schema.save(kit / "schema.yaml")
    source = {"parquet": "table.parquet"}
    config = SiteConfig(
        name, kit, {NAME: CollaborationConfig(kind, source, "schema.yaml", **more)}, rights=rights or {}
    )
    config.save()
    secrets_for(name).save(config.state_folder(NAME))
    return config


@dataclass
class Twin:
    """Sites by name, the network between them, and the analyst."""

    folder: Path
    kind: Any
    identities: dict[str, Identity]
    sites: dict[str, PartySite] = field(default_factory=dict)
    network: SimulatedNetwork = field(default_factory=SimulatedNetwork)

    @classmethod
    def of(cls, folder: Path, kind: str, configs: Sequence[SiteConfig], identities: dict[str, Identity]) -> Twin:
        twin = cls(folder, kind, identities)
        for config in configs:
            name = config.party
            twin.sites[name] = PartySite(config, identities[name], collaboration=NAME, network=twin.network)
            twin.network.participants[name] = twin.sites[name].handle
        return twin

    def again(self) -> Twin:
        """The same after everybody has been started again."""
        return Twin.of(self.folder, self.kind, [site.config for site in self.sites.values()], self.identities)

    def analyst(self, model: Any = None, *, run: str | None = None, **more: Any) -> AnalystSite:
        packed = "" if model is None else base64.b64encode(write_model(model)).decode()
        settings = RunSettings(
            NAME, self.kind, tuple(self.sites), run=run or uuid4().hex, model=packed, timeout=5.0, **more
        )
        site = AnalystSite(settings, self.folder / "server" / "dcshap", self.identities[SERVER], self.network)
        self.network.participants[ANALYST] = site.handle
        return site

    def trained(self, model: Any, **more: Any) -> AnalystSite:
        site = self.analyst(model, **more)
        site.train()
        return site

    def requester(self, analyst: AnalystSite, name: str) -> Requester:
        who = self.identities[name]
        return Requester(who, NAME, analyst.run, analyst.certificates, analyst.answer, timeout=5.0)
