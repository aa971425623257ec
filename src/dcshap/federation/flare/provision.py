"""Kits between real organisations: everybody makes its own key, and one authority signs requests.

The authority must not be the analyst: it could issue a second certificate in a party's name, and read what parties
send each other. No private key leaves its owner; a request holds none.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from dcshap.collaboration.party import require_name
from dcshap.exceptions import FederationError, InputError, PrivacyError, StorageError
from dcshap.federation.flare.job import write_job
from dcshap.federation.flare.kits import Kit, secure_server
from dcshap.federation.flare.local import run_nvflare
from dcshap.federation.seals.revocation import REVOKED
from dcshap.federation.site.configuration import require_collaboration
from dcshap.federation.site.hosting import RunSettings

__all__ = [
    "Asked",
    "Project",
    "approve",
    "init_project",
    "make_authority",
    "make_kit",
    "read_request",
    "renew",
    "request_certificate",
    "require_listed",
]

_ROLES = ("lead", "member")


@dataclass(frozen=True)
class Project:
    """Who takes part, as the operator writes it down."""

    name: str
    parties: Mapping[str, str]  # the organisation of each
    requesters: Mapping[str, str]  # by e-mail address: "lead" may train, "member" may ask
    # The analyst's server as the parties reach it. It listens there and nowhere else; "localhost" by default.
    host: str = "localhost"
    port: int = 8502
    analyst: str = "analyst"  # the analyst's organisation
    organisations: Mapping[str, str] = field(default_factory=dict)  # of requesters; the analyst's where it is not said
    kind: str = "horizontal"  # or "vertical": how the data of the project's first collaboration are split

    def __post_init__(self) -> None:
        require_collaboration(self.name)
        for party in self.parties:
            require_name(party)
        if len(self.parties) < 2:
            raise InputError(f"A project needs at least two parties. Got {len(self.parties)}.")
        wrong = sorted(name for name, role in self.requesters.items() if role not in _ROLES or "@" not in name)
        if wrong:
            raise InputError(f"Requesters must be e-mail addresses with a role of {list(_ROLES)}. Not so: {wrong}.")
        if "lead" not in self.requesters.values():
            raise InputError("A requester must have the role 'lead', or nobody could train.")

    @classmethod
    def load(cls, path: str | Path) -> Project:
        """Read a project's file."""
        try:
            content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
            parties = content.pop("parties")
            named = parties if isinstance(parties, dict) else {name: name for name in parties}
            return cls(parties=named, **content)
        except OSError as error:
            raise InputError(f"{path} cannot be read.") from error
        except (yaml.YAMLError, TypeError, KeyError, AttributeError) as error:
            raise InputError(
                f"{path} must be YAML with `name`, `parties` and `requesters`, and may have `host`, `port`, "
                f"`analyst`, `kind`."
            ) from error

    def participants(self) -> dict[str, dict[str, Any]]:
        """Every participant's entry by file name."""
        server = {"name": self.host, "type": "server", "org": self.analyst}
        found = {"analyst": server | {"fed_learn_port": self.port, "admin_port": self.port}}
        found |= {name: {"name": name, "type": "client", "org": org} for name, org in self.parties.items()}
        return found | {
            name: {"name": name, "type": "admin", "org": self.organisations.get(name, self.analyst), "role": role}
            for name, role in self.requesters.items()
        }

    def profile(self) -> dict[str, Any]:
        """What all participants have in common."""
        ports = {"fed_learn_port": self.port, "admin_port": self.port}
        return {
            "name": self.name,
            "scheme": "http",
            "connection_security": "mtls",
            "server": {"host": self.host, **ports},
        }


def init_project(project: Project, folder: str | Path) -> list[Path]:
    """Write the profile, one file per participant, who makes its certificate request from it, and the job.

    The job is there to be read before anybody agrees to it: what a run asks of each site, and that it brings no code.
    A training is the same job with a model and an identifier of its own (see `Session.train`).
    """
    target, settings = Path(folder), RunSettings(project.name, project.kind, tuple(sorted(project.parties)))
    if target.exists() and any(target.iterdir()):
        raise StorageError(f"{target} must be new or empty. It holds files.")
    written = [_write(target / "profile.yaml", project.profile())]
    for file, entry in project.participants().items():
        content = {"name": project.name, "participants": [entry]}
        written.append(_write(target / "participants" / f"{file}.yaml", content))
    return [*written, write_job(target / "job", settings)]


def make_authority(profile: str | Path, folder: str | Path) -> str:
    """Make the project's certificate authority; its fingerprint, which participants are told by another way."""
    return _fingerprint(run_nvflare("cert", "init", "--profile", str(profile), "-o", str(folder)))


def request_certificate(participant: str | Path, folder: str | Path) -> Path:
    """Make a participant's key, and the request for its certificate; the key stays in the folder."""
    _require_new(Path(folder), "A renewal is a new request, with a new key")
    run_nvflare("cert", "request", "-p", str(participant), "--out", str(folder))
    return _one(Path(folder), "*.request.zip")


@dataclass(frozen=True)
class Asked:
    """Who asks the authority for what."""

    name: str
    organisation: str
    role: str  # "analyst", "party", "lead" or "member"
    project: str
    key: str  # the fingerprint of the key that would be certified


def read_request(request: str | Path) -> Asked:
    """What a participant's request asks for."""
    try:
        with zipfile.ZipFile(request) as file:
            content = json.loads(_limited(file, "request.json"))
            (entry,) = yaml.safe_load(_limited(file, "site.yaml"))["participants"]
        role = _role_of(entry)
        asked = Asked(
            str(entry["name"]), str(entry["org"]), role, str(content["project"]), content["public_key_sha256"]
        )
        said = (content["name"], content["org"], content.get("cert_role") or role)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, yaml.YAMLError, zipfile.BadZipFile) as error:
        raise InputError(f"{request} must be a request, as the participant's own command wrote it.") from error
    if said != (asked.name, asked.organisation, asked.role):
        raise InputError(f"{request} asks for two different things: it was changed after it was made. Sign nothing.")
    return asked


def require_listed(asked: Asked, participants: str | Path) -> None:
    """Refuse a request that is not what the project's list has for its author."""
    path = Path(participants)
    listed = {}
    for file in sorted(path.glob("*.yaml")):
        try:
            for entry in yaml.safe_load(file.read_text(encoding="utf-8"))["participants"]:
                listed[str(entry["name"])] = (str(entry["org"]), _role_of(entry))
        except (OSError, KeyError, TypeError, yaml.YAMLError) as error:
            raise InputError(f"{file} must be a participant's file, as `dcshap federation init` wrote it.") from error
    if not listed:
        raise InputError(
            f"{path} must hold the project's participants, as `init` wrote them. Say --participants FOLDER."
        )
    if asked.name not in listed:
        raise PrivacyError(f"{asked.name!r} is not on the project's list {sorted(listed)}. Nothing was signed.")
    expected = listed[asked.name]
    if expected != (asked.organisation, asked.role):
        raise PrivacyError(
            f"{asked.name!r} is on the project's list as {expected[1]!r} of {expected[0]!r}, and asks to be "
            f"{asked.role!r} of {asked.organisation!r}. Nothing was signed."
        )


def _role_of(entry: Mapping[str, Any]) -> str:
    kinds = {"server": "analyst", "client": "party", "admin": str(entry.get("role"))}
    return kinds[str(entry["type"])]


def _limited(file: zipfile.ZipFile, name: str, most: int = 100_000) -> bytes:
    with file.open(name) as part:
        return part.read(most)


def approve(request: str | Path, *, authority: str | Path, profile: str | Path, folder: str | Path) -> Path:
    """Sign a request, as the authority; what goes back to the participant."""
    signed = Path(folder) / Path(request).name.replace(".request.zip", ".signed.zip")
    if signed.name == Path(request).name:
        raise InputError("A request must be a file *.request.zip, as the participant made it.")
    if signed.exists():
        raise StorageError(f"{signed} exists already. To sign a renewal, say another folder: --out FOLDER.")
    signed.parent.mkdir(parents=True, exist_ok=True)
    run_nvflare("cert", "approve", "-c", str(authority), "--profile", str(profile), "--out", str(signed), str(request))
    return signed


def make_kit(signed: str | Path, *, request: str | Path, fingerprint: str, folder: str | Path) -> Kit:
    """Make a participant's kit from its signed request and its own key, if the authority is the expected one."""
    arguments = ("--request-dir", str(request), "--fingerprint", fingerprint, "-w", str(folder))
    run_nvflare("package", str(signed), *arguments)
    kit = Kit.load(_one(Path(folder), "*/prod_*/*/startup").parent)
    if kit.role == "server":
        secure_server(kit)
    return kit


def renew(signed: str | Path, *, request: str | Path, fingerprint: str, kit: Kit) -> Kit:
    """Put a renewed certificate and its key into a kit; what it was configured for, and has trained, stays.

    The old ones are kept beside it, in `startup.old`.
    """
    with tempfile.TemporaryDirectory(dir=kit.folder) as folder:
        renewed = make_kit(signed, request=request, fingerprint=fingerprint, folder=folder)
        if (renewed.role, renewed.name, renewed.organisation) != (kit.role, kit.name, kit.organisation):
            raise InputError(f"The new certificate must be of {kit.name!r}. It is of {renewed.name!r}.")
        if (kit.startup / REVOKED).exists():  # whoever was revoked stays so
            shutil.copyfile(kit.startup / REVOKED, renewed.startup / REVOKED)
        aside = kit.folder / "startup.old"
        shutil.rmtree(aside, ignore_errors=True)
        kit.startup.replace(aside)
        renewed.startup.replace(kit.startup)
    return Kit.load(kit.folder, kit.role)


def _require_new(folder: Path, why: str) -> None:
    if folder.exists() and any(folder.iterdir()):
        raise StorageError(f"{folder} must be new or empty. It holds files. {why}: say another folder with --out.")


def _fingerprint(printed: str) -> str:
    found = re.search(r"SHA256:((?:[0-9A-F]{2}:){31}[0-9A-F]{2})", printed)
    if found is None:
        raise FederationError("The engine's command gave no fingerprint of the authority.")
    return found.group(1)


def _one(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise StorageError(f"{folder} must hold one {pattern}. It holds {len(found)}: use a new folder.")
    return found[0]


def _write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return path
