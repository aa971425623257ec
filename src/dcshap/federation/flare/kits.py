"""FLARE kits: one folder per participant, with its certificate and key, made safe before the first start.

A kit as the engine makes it lets a job's submitter send code, lists a hundred classes that a job may name, and streams
error logs to the server. `secure_party` and `secure_server` leave what the federation needs and nothing else.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from cryptography import x509
from cryptography.x509.oid import NameOID

from dcshap.exceptions import StorageError
from dcshap.federation.flare.naming import CONTROLLER, EXECUTOR
from dcshap.storage import write_private

__all__ = ["Kit", "secure_party", "secure_server"]

Role = Literal["server", "party", "requester"]
_FILES: dict[Role, str] = {"server": "fed_server.json", "party": "fed_client.json", "requester": "fed_admin.json"}
_WATCHMAN = "dcshap.federation.flare.watchman.Watchman"
_LAUNCHERS = {
    "server": "dcshap.federation.flare.nursery.AnalystLauncher",
    "party": "dcshap.federation.flare.nursery.PartyLauncher",
}
_HEARTBEAT = 4  # seconds between a party's heartbeats
# A run waits until all its parties are connected: it is tried often, and at most this long before it is submitted anew.
_SCHEDULING = {"max_jobs": 32, "min_schedule_interval": 1.0, "max_schedule_interval": 2.0, "max_schedule_count": 500}
_LOG_RECEIVER = "nvflare.app_common.logging.job_log_receiver.JobLogReceiver"

# What each role may do at a site. Whatever is not named is refused.
_LEAD_AT_PARTY = {
    "submit_job": "any",
    "clone_job": "none",
    "manage_job": "n:submitter",
    "download_job": "none",
    "view": "any",
    "operate": "o:site",
    "shell_commands": "none",
    "byoc": "none",
}
_LEAD_AT_SERVER = {**_LEAD_AT_PARTY, "app_command": "any"}
_MEMBER_AT_SERVER = {"view": "any", "app_command": "any"}
_ONLOOKER = {"view": "any"}


@dataclass(frozen=True)
class Kit:
    """A participant's folder."""

    folder: Path
    role: Role
    name: str  # as on the certificate
    organisation: str

    @classmethod
    def load(cls, folder: str | Path, role: Role | None = None) -> Kit:
        """Read a kit, which must be of the role that is asked for."""
        target = Path(folder).absolute()
        roles = [each for each, file in _FILES.items() if (target / "startup" / file).is_file()]
        if not roles or role not in (None, roles[0]):
            wanted = "participant" if role is None else role
            raise StorageError(f"{target} must be the kit of a {wanted}. It is {'none' if not roles else 'another'}.")
        try:
            pem = (target / "startup" / ("server.crt" if roles[0] == "server" else "client.crt")).read_bytes()
            subject = x509.load_pem_x509_certificate(pem).subject
            name, organisation = (
                str(subject.get_attributes_for_oid(oid)[0].value)
                for oid in (NameOID.COMMON_NAME, NameOID.ORGANIZATION_NAME)
            )
        except (OSError, ValueError, IndexError) as error:
            raise StorageError(f"{target} must hold the participant's certificate. It cannot be read.") from error
        return cls(target, roles[0], name, organisation)

    @property
    def startup(self) -> Path:
        """Where the certificate and the key are."""
        return self.folder / "startup"

    def command(self) -> list[str]:
        """How the engine is started for this kit."""
        module = {"server": "server.server_train", "party": "client.client_train"}[self.role]
        named = [f"uid={self.name}", f"heart_beat_interval={_HEARTBEAT}"] if self.role == "party" else []
        return [
            "-u",
            "-m",
            "dcshap.federation.flare.launcher",
            f"nvflare.private.fed.app.{module}",
            "-m",
            str(self.folder),
            "-s",
            _FILES[self.role],
            "--set",
            "secure_train=true",
            *named,
            f"org={self.organisation}",
            "config_folder=config",
        ]


def secure_party(kit: Kit) -> None:
    """Make a party's kit safe: no code from outside, our executor only, no logs to the server."""
    resources = _default(kit, "resources.json")
    resources["class_list_enforcement_mode"] = "enforce"
    resources["class_allow_list"] = [EXECUTOR]
    resources["allow_log_streaming"] = False
    resources["components"] = [each for each in resources["components"] if each["id"] != "site_log_streamer"]
    _launch_from_nursery(kit, resources)
    _write(kit, "resources.json", resources)
    _write(kit, "authorization.json", _permissions(lead=_LEAD_AT_PARTY, member=_ONLOOKER))
    _logs(kit)


def secure_server(kit: Kit) -> None:
    """Make the analyst's kit safe: our controller only, storage in the kit, requesters may ask."""
    resources = _default(kit, "resources.json")
    resources["class_list_enforcement_mode"] = "enforce"
    resources["class_allow_list"] = [CONTROLLER, _LOG_RECEIVER]
    store = kit.folder / "dcshap" / "engine"
    resources["snapshot_persistor"]["args"]["storage"]["args"]["root_dir"] = str(store / "snapshots")
    for component in resources["components"]:
        if component["id"] == "job_manager":
            component["args"]["uri_root"] = str(store / "jobs")
        if component["id"] == "job_scheduler":
            component["args"] = _SCHEDULING
    resources["components"].append(
        {"id": "watchman", "path": _WATCHMAN, "args": {"folder": str(kit.folder / "dcshap")}}
    )
    _launch_from_nursery(kit, resources)
    _write(kit, "resources.json", resources)
    _write(kit, "authorization.json", _permissions(lead=_LEAD_AT_SERVER, member=_MEMBER_AT_SERVER))
    _logs(kit)


def _launch_from_nursery(kit: Kit, resources: dict[str, Any]) -> None:
    for component in resources["components"]:
        if component["id"] == "process_launcher":
            component["path"] = _LAUNCHERS[kit.role]


def _permissions(*, lead: dict[str, str], member: dict[str, str]) -> dict[str, Any]:
    # `project_admin` is "any" by default: whoever holds the certificate authority could then do anything at any site.
    roles = {"project_admin": _ONLOOKER, "org_admin": {"view": "any", "operate": "o:site"}}
    return {"format_version": "1.0", "permissions": roles | {"lead": lead, "member": member}}


def _logs(kit: Kit) -> None:
    _write(kit, "log_config.json", _default(kit, "log_config.json"))


def _default(kit: Kit, name: str) -> Any:
    path = kit.folder / "local" / f"{name}.default"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StorageError(f"{path} must be as the engine made it. It cannot be read.") from error


def _write(kit: Kit, name: str, content: Any) -> None:
    write_private(kit.folder / "local" / name, json.dumps(content, indent=1))
