"""Parties of different organisations that meet, with what each of them must keep to itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.linear_model import Ridge

from dcshap.collaboration.messages import ANALYST, Message
from dcshap.federation.seals.ledger import Ledger
from dcshap.federation.seals.post import PostOffice
from dcshap.federation.site.configuration import SiteConfig
from dcshap.federation.site.holdings import Data, load_data
from dcshap.federation.site.hosting import AnalystMeeting, RunSettings
from dcshap.federation.site.meeting import Meeting
from dcshap.federation.site.secrets import Secrets
from dcshap.federation.site.witness import Witness
from dcshap.protocol import Cast, Protocol, run_in_memory
from dcshap.schema import Schema
from tests.federation.twin import NAME, SERVER, Authority, configured


class Organisations:
    """Vertical parties with identities, tables and configurations of their own.

    Parameters
    ----------
    folder : Path
    tables : mapping of party to its columns
    labels : Series
    holder : str
        The party that holds the labels.
    """

    def __init__(self, folder: Path, tables: Mapping[str, pd.DataFrame], labels: pd.Series[Any], holder: str) -> None:
        authority, self.names = Authority(), tuple(sorted(tables))
        self._folder = folder
        self.analyst = PostOffice(ANALYST, authority.issue(folder / SERVER, SERVER))
        self.offices = {name: PostOffice(name, authority.issue(folder / name, name)) for name in tables}
        self.keys = {name: (folder / name / "client.key").read_text() for name in tables}
        schema = _wide_schema(pd.concat(tables.values(), axis=1))
        self.configs: dict[str, SiteConfig] = {}
        for name, X in tables.items():
            table = (X.assign(label=labels) if name == holder else X).rename_axis("id").reset_index()
            more: dict[str, Any] = {"target": "label"} if name == holder else {}
            more["partners"] = tuple(other for other in self.names if other != name)
            self.configs[name] = configured(folder / name, name, table, schema, kind="vertical", id="id", **more)

    def secrets(self, name: str) -> Secrets:
        """A party's seeds."""
        return Secrets.load(self.configs[name].state_folder(NAME))

    def messages(self, protocol: Protocol) -> list[tuple[str, str, Message]]:
        """What travels when they meet."""
        settings = RunSettings(NAME, "vertical", self.names)
        roles: dict[str, Any] = {
            ANALYST: AnalystMeeting(settings, self.analyst, self._witness(SERVER), model=Ridge(), run="r1")
        }
        roles |= {name: self._meeting(name) for name in self.names}
        found: list[tuple[str, str, Message]] = []
        run_in_memory(protocol, Cast(self.names), roles, conductor=ANALYST, record=lambda *line: found.append(line))
        return found

    def _meeting(self, name: str) -> Meeting:
        config = self.configs[name]

        def data(*_: object) -> Data:
            return load_data(config.collaboration(NAME), base=config.folder, task="number")

        return Meeting(
            config,
            NAME,
            self.offices[name],
            self._witness(name),
            analyst=self.analyst.identity.certificate,
            span="supervised",
            begin=data,
            resume=data,
        )

    def _witness(self, name: str) -> Witness:
        return Witness(Ledger(self._folder / name / "dcshap" / "ledger.jsonl"), self._folder / name / "dcshap" / NAME)


def _wide_schema(X: pd.DataFrame) -> Schema:
    """A schema agreed by hand: no value of a table is in it, but for categories."""
    content = Schema.from_frames([X]).to_dict()
    for column in content["columns"].values():
        if column["kind"] == "number":
            column |= {"low": -9, "high": 9, "typical": 0}
    return Schema.from_dict(content)
