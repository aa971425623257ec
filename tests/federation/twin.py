"""A federation in one process: the same sites and conductor, with a function call in place of the engine."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from dcshap import Schema
from dcshap.collaboration.randomness import SEED_BITS, derived_seed
from dcshap.exceptions import DcshapError, FederationError
from dcshap.federation.site.analyst_site import Conductor, RunSettings
from dcshap.federation.horizontal import HorizontalSite
from dcshap.federation.seals.identity import Identity
from dcshap.federation.party import PartySite
from dcshap.federation.replies import Reply, error_header, raise_remote, require_sound
from dcshap.federation.seals.requests import Request
from dcshap.federation.site import CollaborationConfig, Secrets, SiteConfig
from dcshap.federation.vertical import REQUEST, VerticalSite
from dcshap.storage import write_model

SEED = 7
NAME = "study"


class Authority:
    """A certificate authority that issues startup folders."""

    def __init__(self, name: str = "dcshap") -> None:
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.certificate = self._signed(name, self.key.public_key(), ca=True)

    def _signed(self, name: str, key: Any, *, ca: bool = False, days: float = 30) -> x509.Certificate:
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
            .not_valid_before(now - timedelta(days=60))
            .not_valid_after(now + timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
            .sign(self.key, hashes.SHA256())
        )

    def issue(self, folder: Path, name: str, *, days: float = 30) -> Identity:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        folder.mkdir(parents=True, exist_ok=True)
        pem = serialization.Encoding.PEM
        (folder / "client.crt").write_bytes(self._signed(name, key.public_key(), days=days).public_bytes(pem))
        (folder / "rootCA.pem").write_bytes(self.certificate.public_bytes(pem))
        (folder / "client.key").write_bytes(
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
    """Sites by name, and what passed between them."""

    folder: Path
    kind: Any
    identities: dict[str, Identity]
    sites: dict[str, PartySite[Any]] = field(default_factory=dict)
    carried: list[bytes] = field(default_factory=list)
    silent: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, folder: Path, kind: str, configs: Sequence[SiteConfig], identities: dict[str, Identity]) -> Twin:
        twin = cls(folder, kind, identities)
        site = HorizontalSite if kind == "horizontal" else VerticalSite
        for config in configs:
            name = config.party
            twin.sites[name] = site(config, identities[name], collaboration=NAME, carry=twin.carry)
        return twin

    def carry(self, to: str, step: str, sealed: bytes, timeout: float) -> bytes:
        self.carried.append(sealed)
        if to in self.silent:
            raise FederationError(f"Party {to!r} did not answer within {timeout:g} s.")
        try:
            answer = self.sites[to].handle_peer(step, sealed)
        except DcshapError as error:
            raise_remote(json.loads(json.dumps(error_header(error, site=to))))
            raise
        self.carried.append(answer)
        return answer

    def ask(self, step: str, bodies: Mapping[str, bytes], header: dict[str, Any]) -> dict[str, Reply]:
        replies: dict[str, Reply | None] = {}
        for name, body in bodies.items():
            self.carried.append(body)
            if name in self.silent:
                replies[name] = None
                continue
            try:
                replies[name] = reply = self.sites[name].handle(step, json.loads(json.dumps(header)), body)
                self.carried += [json.dumps(reply.header).encode(), reply.body]
            except DcshapError as error:
                replies[name] = Reply(json.loads(json.dumps(error_header(error, site=name))))
        return require_sound(replies, step=step, timeout=header["timeout"])

    def conductor(self, model: Any = None, **more: Any) -> Conductor:
        packed = "" if model is None else base64.b64encode(write_model(model)).decode()
        settings = RunSettings(NAME, self.kind, tuple(self.sites), run="run1", model=packed, timeout=5.0, **more)
        return Conductor(settings, self.folder / "server" / "dcshap", self.ask)

    def envelopes(self, requester: Identity, request: Request, to: Sequence[str]) -> dict[str, bytes]:
        signed = request.signed(requester)
        return {name: requester.seal(signed, to=self.identities[name].certificate, purpose=REQUEST) for name in to}
