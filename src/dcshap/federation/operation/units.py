"""A site as a systemd service, which starts with the machine, comes back after a crash, and can touch little else."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from dcshap.exceptions import InputError
from dcshap.federation.flare.kits import Kit

__all__ = ["unit_name", "unit_of"]

# A thread is kept for a minute per message: over a thousand under load.
_TASKS = 4096
_UNIT = """\
[Unit]
Description=dcshap: {name} ({role})
After=network-online.target
Wants=network-online.target
StartLimitIntervalSec=0

[Service]
Type=exec
User={user}
ExecStart={python} -m dcshap federation {command} start {kit} --health {health}
Restart=always
RestartSec=5
KillMode=mixed
TimeoutStopSec=30
TasksMax={tasks}
UMask=0077
Environment=PYTHONUNBUFFERED=1 HOME={kit}

NoNewPrivileges=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectSystem=strict
ProtectHome=read-only
ReadWritePaths={kit}
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectControlGroups=yes
ProtectClock=yes
ProtectHostname=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
CapabilityBoundingSet=
SystemCallArchitectures=native
SystemCallFilter=@system-service

[Install]
WantedBy=multi-user.target
"""


def unit_name(kit: Kit) -> str:
    """What the site's service is called."""
    return f"dcshap-{'analyst' if kit.role == 'server' else kit.name}.service"


def unit_of(kit: Kit, *, user: str, health: int) -> str:
    """The systemd unit of a site. The user must own the kit's folder; at the port `health` the site says how it is."""
    if kit.role == "requester":
        raise InputError("A requester runs no service. Give the kit of the analyst's server or of a party.")
    if re.search(r"[\s%'\"\\]", str(kit.folder)):
        raise InputError(f"{kit.folder} must have a path without spaces and quotes to be run as a service. Move it.")
    command = "analyst" if kit.role == "server" else "party"
    return _UNIT.format(
        name=kit.name,
        role=command,
        user=user,
        python=Path(sys.executable),
        command=command,
        kit=kit.folder,
        health=health,
        tasks=_TASKS,
    )
