"""Whether a site can do its part: certificates, clock, disk, permissions, port, versions, table, ledger; in words."""

from __future__ import annotations

import importlib.metadata
import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from cryptography import x509

from dcshap.exceptions import DcshapError
from dcshap.federation.flare.kits import Kit
from dcshap.federation.flare.listening import server_of
from dcshap.federation.flare.processes import is_running
from dcshap.federation.seals.identity import Identity
from dcshap.federation.seals.ledger import Ledger
from dcshap.federation.site.configuration import SiteConfig
from dcshap.federation.site.holdings import load_data

__all__ = ["WARN_DAYS", "Finding", "check_site", "days_left"]

WARN_DAYS = 30  # before a certificate ends
_TESTED_ENGINE = "2.9"
_LOW, _TOO_LOW = 2_000_000_000, 200_000_000  # bytes of free disk
_CONNECT = 5.0  # seconds
Level = Literal["good", "warning", "problem"]


@dataclass(frozen=True)
class Finding:
    """What one check found.

    Attributes
    ----------
    check : str
    level : {"good", "warning", "problem"}
    said : str
        What is so, and what to do where it is not good.
    """

    check: str
    level: Level
    said: str


def days_left(kit: Kit) -> float:
    """Days until the first of the site's certificates, the authority's included, ends."""
    found = [kit.startup / "rootCA.pem", *kit.startup.glob("*.crt")]
    ends = [x509.load_pem_x509_certificate(path.read_bytes()).not_valid_after_utc for path in found]
    return (min(ends) - datetime.now(UTC)) / timedelta(days=1)


def check_site(kit: Kit) -> list[Finding]:
    """Check everything at a site that can be checked without disturbing it."""
    checks: list[Callable[[Kit], Iterator[Finding]]] = [_certificate, _clock, _folder, _versions, _server, _ledger]
    if kit.role == "party":
        checks.append(_tables)
    found = []
    for check in checks:
        try:
            found += list(check(kit))
        except (DcshapError, OSError, ValueError) as error:
            found.append(Finding(check.__name__.strip("_"), "problem", str(error)))
    return found


def _certificate(kit: Kit) -> Iterator[Finding]:
    left = days_left(kit)
    renew = "Make a new request, have it signed, and run `dcshap federation certificates renew`."
    if left <= 0:
        yield Finding("certificate", "problem", f"It has ended {-left:.0f} days ago. {renew}")
        return
    Identity(kit.startup)
    said = f"{kit.name} is {kit.role} of {kit.organisation}; {left:.0f} days are left."
    yield Finding(
        "certificate", "warning" if left <= WARN_DAYS else "good", f"{said} {renew}" if left <= WARN_DAYS else said
    )
    for path in kit.startup.glob("*.key"):
        if path.stat().st_mode & 0o077:
            yield Finding("private key", "problem", f"{path} can be read by others: chmod 600 {path}")


def _clock(kit: Kit) -> Iterator[Finding]:
    """A clock that is wrong shows in what was written by it, or by the authority."""
    begins = x509.load_pem_x509_certificate((kit.startup / "rootCA.pem").read_bytes()).not_valid_before_utc
    newest = max((path.stat().st_mtime for path in (kit.folder / "dcshap").rglob("*")), default=0.0)
    if datetime.now(UTC) < begins:
        yield Finding("clock", "problem", "It is before the time at which the authority was made. Set the clock.")
    elif newest > time.time() + 60:
        yield Finding(
            "clock", "problem", "The site's own files are of the future: the clock was set back. Set the clock."
        )
    else:
        said = "Nothing speaks against it. Envelopes are refused where clocks differ by more than ten minutes: run NTP."
        yield Finding("clock", "good", said)


def _folder(kit: Kit) -> Iterator[Finding]:
    probe = kit.folder / ".doctor"
    try:
        probe.write_text("", encoding="utf-8")
        probe.unlink()
    except OSError as error:
        yield Finding("folder", "problem", f"{kit.folder} cannot be written ({error.strerror}). The site must own it.")
    if kit.folder.stat().st_mode & 0o022:
        yield Finding("folder", "problem", f"{kit.folder} can be changed by others: chmod go-w {kit.folder}")
    free = shutil.disk_usage(kit.folder).free
    level: Level = "problem" if free < _TOO_LOW else "warning" if free < _LOW else "good"
    more = "" if level == "good" else " Make room: without it nothing can be trained, and nothing is answered."
    yield Finding("disk", level, f"{free / 1e9:.1f} GB are free.{more}")


def _versions(kit: Kit) -> Iterator[Finding]:  # noqa: ARG001 - as all checks
    engine, package = importlib.metadata.version("nvflare"), importlib.metadata.version("dcshap")
    said = f"dcshap {package}, nvflare {engine}, Python {sys.version.split()[0]}."
    if engine.startswith(f"{_TESTED_ENGINE}."):
        yield Finding("versions", "good", said)
    else:
        yield Finding("versions", "warning", f"{said} It was tested with nvflare {_TESTED_ENGINE}: install that.")


def _server(kit: Kit) -> Iterator[Finding]:
    host, port = server_of(kit.folder)
    running = kit.role != "requester" and is_running(kit)
    if kit.role != "requester":
        yield Finding(
            "process", "good" if running else "warning", "It is running." if running else "It is not running."
        )
    try:
        with socket.create_connection((host, port), timeout=_CONNECT):
            reached = True
    except OSError:
        reached = False
    if kit.role == "server" and not running:
        said = f"Another program uses port {port}: end it, or choose another port for the project."
        yield Finding("port", "problem", said) if reached else Finding("port", "good", f"Port {port} is free.")
    elif reached:
        yield Finding("connection", "good", f"{host}:{port} is reached.")
    else:
        said = f"{host}:{port} cannot be reached: the server is not running, or a firewall is between."
        yield Finding("connection", "problem", said)


def _ledger(kit: Kit) -> Iterator[Finding]:
    path = kit.folder / "dcshap" / "ledger.jsonl"
    if path.exists():
        yield Finding("ledger", "good", f"{Ledger(path).verify()} lines; the chain is whole.")


def _tables(kit: Kit) -> Iterator[Finding]:
    config = SiteConfig.load(kit.folder)
    for name in config.collaborations:
        try:
            data = load_data(config.collaboration(name), base=Path(config.folder))
        except DcshapError as error:
            yield Finding(f"table of {name}", "problem", str(error))
        else:
            yield Finding(f"table of {name}", "good", f"{len(data.X)} rows fit the schema.")
