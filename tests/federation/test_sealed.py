"""The contract of carriers, with real sites, envelopes and ledgers on a simulated network."""

from __future__ import annotations

import pytest

from dcshap.federation.seals.envelopes import About, seal
from dcshap.federation.seals.post import PostOffice
from dcshap.federation.seals.wire import pack
from dcshap.federation.site.configuration import Right
from dcshap.federation.site.party_site import load_trained
from tests.protocol.contract import PARTIES, RECORDS, RECORDS_MODEL, ROWS_MODEL, Carried, CarrierContract

from .conftest import OFFICER, builder
from .twin import NAME, SERVER


@pytest.fixture(scope="module")
def carried(tmp_path_factory, identities):
    twin = builder(tmp_path_factory.mktemp("sealed"), identities)
    rows = twin("horizontal", PARTIES)
    analyst = rows.trained(ROWS_MODEL)
    records = twin("vertical", PARTIES, rights={OFFICER: Right(("bank", "full"), 100)}, folder="vertical")
    requester = records.requester(records.trained(RECORDS_MODEL), OFFICER)

    def bring(step, sender, to, message):
        who = rows.identities[SERVER if sender == "analyst" else sender]
        about = About(sender, to, "train horizontally", analyst.run, step, 5.0)
        content = b"" if message is None else pack(message)
        sealed = seal(who, about, content, to=rows.identities[to].certificate)
        return PostOffice(sender, who).answers_in(rows.sites[to].handle(sealed), sealed, sender=to)

    return Carried(
        {name: load_trained(site.config, NAME) for name, site in rows.sites.items()},
        lambda **what: requester.explain(RECORDS, **what),
        requester.predict,
        bring,
    )


class TestSealed(CarrierContract):
    pass
