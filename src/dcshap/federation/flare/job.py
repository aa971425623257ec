"""The job that a run is submitted as: configuration only. `dcshap` is installed at every site; no code travels."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dcshap.exceptions import StorageError
from dcshap.federation.flare.naming import CONTROLLER, EXECUTOR, NAME_BEGINS
from dcshap.federation.site.hosting import RunSettings

__all__ = ["read_job", "write_job"]

_SERVER = Path("analyst", "config", "config_fed_server.json")
_CLIENT = Path("party", "config", "config_fed_client.json")
_ENDS: dict[str, list[Any]] = {"components": [], "task_data_filters": [], "task_result_filters": []}


def write_job(folder: str | Path, settings: RunSettings) -> Path:
    """Write the job of a run to a folder.

    The server's part has the run's settings, the parties' only the collaboration's name: everything else they take
    from their own configuration.
    """
    target, parties = Path(folder), list(settings.parties)
    meta = {
        "name": f"{NAME_BEGINS}{settings.collaboration}",
        "resource_spec": {},
        "min_clients": len(parties),
        "mandatory_clients": parties,
        "deploy_map": {"analyst": ["server"], "party": parties},
    }
    server = {
        "format_version": 2,
        "server": {"task_request_interval": 1.0},
        "workflows": [{"id": "analyst", "path": CONTROLLER, "args": asdict(settings) | {"parties": parties}}],
    }
    client = {
        "format_version": 2,
        "executors": [
            {"tasks": ["*"], "executor": {"path": EXECUTOR, "args": {"collaboration": settings.collaboration}}}
        ],
    }
    _write(target / "meta.json", meta)
    _write(target / _SERVER, server | _ENDS)
    _write(target / _CLIENT, client | _ENDS)
    return target


def read_job(folder: str | Path) -> RunSettings:
    """What a job that was written to a folder is for."""
    path = Path(folder) / _SERVER
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))["workflows"][0]["args"]
        return RunSettings(**(settings | {"parties": tuple(settings["parties"])}))
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise StorageError(f"{folder} must be a job as `dcshap federation init` writes it, and is not.") from error


def _write(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
