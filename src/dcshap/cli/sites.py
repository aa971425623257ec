"""`dcshap federation party …`, `analyst start` and `ledger`: what is done at a site, with its own kit."""

from __future__ import annotations

from dataclasses import fields, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pandas as pd
import typer
import yaml

from dcshap.audit.release import N_ROWS
from dcshap.cli.audit import StrictOption, ThresholdOption, report_audit, thresholds_of
from dcshap.cli.console import JsonOption, command_group, print_json, print_table, say, tell, working
from dcshap.cli.explain import show_explanation
from dcshap.cli.tables import (
    KeepTextOption,
    Reader,
    SepOption,
    SqlOption,
    known_columns,
    require_folder_of,
    show_unknown_categories,
)
from dcshap.exceptions import InputError

if TYPE_CHECKING:
    from dcshap.federation.site.configuration import Right

__all__ = [
    "CollaborationArgument",
    "Kind",
    "KitArgument",
    "KitOption",
    "TimeoutOption",
    "analyst",
    "audit",
    "ledger",
    "party",
]

party = command_group("A party: an organisation that holds data.")
analyst = command_group("The analyst: integrates and trains, and sees no data.")


class Kind(StrEnum):
    """How the data are split."""

    horizontal = "horizontal"
    vertical = "vertical"


class Task(StrEnum):
    """What is predicted."""

    classes = "classes"
    number = "number"


KitArgument = Annotated[Path, typer.Argument(metavar="KIT", help="The participant's own folder.", envvar="DCSHAP_KIT")]
KitOption = Annotated[Path, typer.Option("--kit", help="The folder of whoever asks.", envvar="DCSHAP_KIT")]
CollaborationArgument = Annotated[str, typer.Argument(metavar="COLLABORATION")]
TimeoutOption = Annotated[float, typer.Option(help="Seconds that a site may take to answer.")]
HealthOption = Annotated[
    int | None, typer.Option(help="A port on loopback that answers /healthz, /readyz and /metrics; none by default.")
]
KindOption = Annotated[Kind, typer.Option(help="The same columns of different rows, or the other way round.")]


@party.command("init")
def party_init(
    folder: KitArgument,
    collaboration: CollaborationArgument,
    kind: KindOption,
    schema: Annotated[Path, typer.Option(help="The agreed schema; vertical: of all parties' columns.")],
    partner: Annotated[list[str], typer.Option(help="Another party of the collaboration; repeat it.")],
    file: Annotated[Path | None, typer.Option(help="The table: csv, Excel, Feather or Parquet.")] = None,
    csv: Annotated[Path | None, typer.Option(help="The table, as a csv file.")] = None,
    parquet: Annotated[Path | None, typer.Option(help="The table, as a parquet file.")] = None,
    sql: Annotated[str | None, typer.Option(help="The table, as a query.")] = None,
    url: Annotated[str | None, typer.Option(help="The database, as SQLAlchemy URL, or env:NAME.")] = None,
    identifier: Annotated[str | None, typer.Option("--id", help="The column of the record identifiers.")] = None,
    target: Annotated[str | None, typer.Option(help="The column of the labels, where this party holds them.")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="An agreed setting, e.g. span=shared.")
    ] = None,
    instance_models: Annotated[
        bool, typer.Option("--instance-models", help="Agree to models that contain training rows (k-NN).")
    ] = False,
    algorithm_3: Annotated[
        bool, typer.Option("--algorithm-3", help="Agree that the analyst is told what each column of a record adds.")
    ] = False,
    reference: Annotated[
        list[str] | None, typer.Option(help="What requesters may compare with; default: anchor and background.")
    ] = None,
    recipient_budget: Annotated[
        int | None, typer.Option(min=0, help="Of how many records another party may be told vectors, in all.")
    ] = None,
    accept_audit: Annotated[
        str | None,
        typer.Option(metavar="REASON", help="Train although the audit fails; it goes to the ledger."),
    ] = None,
    trust: Annotated[list[str] | None, typer.Option(help="A type that a received model may contain.")] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(metavar="WHO=VIEWS:BUDGET", help="Who may ask, e.g. officer@bank.org=bank,full:100."),
    ] = None,
    allow_what_if: Annotated[
        list[str] | None,
        typer.Option(metavar="WHO", help="Of those, who may also ask what would be if own cells were others."),
    ] = None,
) -> None:
    """Configure a party: check its table against the agreed schema, and make its kit safe.

    Example: `dcshap federation party init KIT credit --kind horizontal --partner shop --schema schema.yaml --csv
    rows.csv --target default`
    """
    from dcshap.federation.flare.kits import Kit  # noqa: PLC0415 - an optional extra, as below
    from dcshap.federation.flare.preparation import init_party  # noqa: PLC0415
    from dcshap.federation.site.configuration import REFERENCES, CollaborationConfig  # noqa: PLC0415

    given = {"file": file, "csv": csv, "parquet": parquet, "sql": sql, "url": url}
    settings = CollaborationConfig(
        kind.value,
        {name: str(value) for name, value in given.items() if value is not None},
        str(schema),
        tuple(partner),
        id=identifier,
        target=target,
        agreement=_settings(setting or []),
        instance_models=instance_models,
        trusted=tuple(trust or ()),
        algorithm_3=algorithm_3,
        recipient_budget=recipient_budget,
        audit={} if accept_audit is None else {"accept": True, "reason": accept_audit},
        references=tuple(reference) if reference else REFERENCES,
    )
    kit = Kit.load(folder, "party")
    rights = dict(_right(entry, views=("full", kit.name, *partner)) for entry in allow or [])
    for who in allow_what_if or []:
        if who not in rights:
            raise typer.BadParameter(f"must be one of {list(rights)}. Got {who!r}.", param_hint="--allow-what-if")
        rights[who] = replace(rights[who], what_if=True)
    found = init_party(kit, collaboration, settings, rights=rights)
    tell(
        f"{found.rows} rows of {len(found.columns)} columns fit the schema; they will be represented in "
        f"{found.dimensions} dimensions. Written to {found.config}"
    )


@party.command("start")
def party_start(folder: KitArgument, health: HealthOption = None) -> None:
    """Take part, until interrupted.

    Example: `dcshap federation party start KIT`
    """
    from dcshap.federation.flare.kits import Kit  # noqa: PLC0415
    from dcshap.federation.operation.foreground import run_in_foreground  # noqa: PLC0415
    from dcshap.federation.site.configuration import SiteConfig  # noqa: PLC0415

    kit, configured = Kit.load(folder, "party"), SiteConfig.load(folder).party
    if kit.name != configured:
        raise InputError(f"The kit is configured for {configured!r}. Its certificate is that of {kit.name!r}.")
    raise typer.Exit(run_in_foreground(kit, say, health=health))


@party.command("explain")
def party_explain(
    folder: KitArgument,
    collaboration: CollaborationArgument,
    rows: Annotated[str, typer.Argument(help="A file (csv, Excel, Feather, Parquet) or a database's URL.")],
    sep: SepOption = None,
    keep_text: KeepTextOption = False,
    sql: SqlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Explain rows of a horizontal collaboration, with no network at all.

    Example: `dcshap federation party explain KIT credit rows.csv`
    """
    from dcshap.explanation.rows import explain_rows  # noqa: PLC0415
    from dcshap.federation.site.configuration import SiteConfig  # noqa: PLC0415
    from dcshap.federation.site.party_site import load_trained  # noqa: PLC0415

    trained = load_trained(SiteConfig.load(folder), collaboration)
    schema, table = trained.agreement.schema, Reader(sep, keep_text, sql).read(rows, party=trained.name)
    known = known_columns(table, schema.names, rows, target=trained.target)
    show_unknown_categories(known, schema, rows)
    show_explanation(explain_rows(trained, known), as_json=as_json)


@analyst.command("start")
def analyst_start(
    folder: KitArgument,
    listen: Annotated[
        str | None, typer.Option(help="The address to listen on; the one that the server's name stands for by default.")
    ] = None,
    health: HealthOption = None,
) -> None:
    """Run the analyst's server, until interrupted. What served before serves again by itself.

    Example: `dcshap federation analyst start KIT`
    """
    from dcshap.federation.flare.kits import Kit, secure_server  # noqa: PLC0415
    from dcshap.federation.flare.listening import LISTEN, address_of, server_of  # noqa: PLC0415
    from dcshap.federation.operation.foreground import run_in_foreground  # noqa: PLC0415

    server = Kit.load(folder, "server")
    host, port = server_of(server.folder)
    address = address_of(host, listen)
    secure_server(server)
    say(f"{server.name} listens on {address}:{port}, and between its own processes on loopback.")
    raise typer.Exit(run_in_foreground(server, say, env={LISTEN: address}, health=health))


def audit(
    folder: KitArgument,
    collaboration: CollaborationArgument,
    threshold: ThresholdOption = None,
    strict: StrictOption = False,
    task: Annotated[Task | None, typer.Option(help="What the labels are; guessed by default.")] = None,
    rows: Annotated[int, typer.Option(min=2, help="Attack at most this many rows.")] = N_ROWS,
    seed: Annotated[int, typer.Option(help="A seed for the audit's own draws.")] = 0,
    html: Annotated[Path | None, typer.Option(help="Write a page with what was found.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Attack what a party would send, or has sent, at its own site; nothing leaves. Exits with 0 pass, 1 warn, 2 fail.

    Example: `dcshap federation audit KIT credit`
    """
    from dcshap.federation.seals.ledger import Ledger  # noqa: PLC0415
    from dcshap.federation.site.clearance import Clearance, party_at_hand  # noqa: PLC0415
    from dcshap.federation.site.configuration import SiteConfig  # noqa: PLC0415
    from dcshap.federation.site.party_site import load_trained  # noqa: PLC0415
    from dcshap.federation.site.runs import Runs  # noqa: PLC0415

    require_folder_of(html)
    config = SiteConfig.load(folder)
    trained = Runs(config.state_folder(collaboration)).current and load_trained(config, collaboration)
    own = party_at_hand(config, collaboration, trained=trained or None, task=task)
    with working("Attacking"):
        clearance = Clearance(config, collaboration, Ledger(config.ledger))
        found = clearance.audit(own, thresholds=thresholds_of(threshold), n_rows=rows, seed=seed)
    report_audit(found, html=html, as_json=as_json, strict=strict)


def ledger(
    folder: KitArgument,
    archive: Annotated[bool, typer.Option("--archive", help="Close the file and begin another.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show and verify a site's ledger: every message that left it.

    Example: `dcshap federation ledger KIT`
    """
    from dcshap.federation.seals.ledger import Ledger  # noqa: PLC0415

    if not folder.is_dir():
        raise InputError(f"{folder} must be a participant's folder. There is none.")
    book = Ledger(folder / "dcshap" / "ledger.jsonl")
    if not book.exists:
        raise InputError(f"{folder} has no ledger: nothing has left it yet, or it is another participant's folder.")
    if archive:
        say(f"Archived as {book.archive()}; the chain goes on in a new file.")
    count, lines = book.verify(), list(book)
    spent = book.epsilons()
    if as_json:
        print_json({"verified": count, "epsilon": spent, "entries": [vars(line) for line in lines]})
        return
    rows = []
    for line in lines:
        shapes = ", ".join(f"{name} {tuple(shape)}" for name, shape in line.shapes.items())
        asked = line.requester or line.request[:8]
        said = (shapes or line.note, line.n_bytes, asked, line.n_records or "", line.units or "")
        rows.append((line.when[:19], line.recipient, line.kind, *said))
    table = pd.DataFrame(rows, columns=["when", "to", "what", "shapes", "bytes", "for", "records", "units"])
    print_table(table, f"{count} lines of {folder.name}; the chain is whole", right=("bytes", "records", "units"))
    for name, epsilon in spent.items():
        tell(f"Differential privacy that all trainings of {name} have spent: ε = {epsilon:g}")


# --- how options read, and how it looks ------------------------------------------------------------------------------


def _settings(entries: list[str]) -> dict[str, Any]:
    from dcshap.collaboration import Agreement  # noqa: PLC0415

    known, found = [entry.name for entry in fields(Agreement) if entry.name != "schema"], {}
    for entry in entries:
        name, separator, value = entry.partition("=")
        if not separator or name not in known:
            raise typer.BadParameter(f"must be NAME=VALUE, NAME one of {known}. Got {entry!r}.", param_hint="--set")
        try:
            found[name] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise typer.BadParameter(
                f"must have a VALUE that YAML can read. Got {entry!r}.", param_hint="--set"
            ) from error
    return found


def _right(entry: str, *, views: tuple[str, ...]) -> tuple[str, Right]:
    from dcshap.federation.site.configuration import Right  # noqa: PLC0415

    who, _, rest = entry.partition("=")
    allowed, _, budget = rest.rpartition(":")
    named = tuple(allowed.split(","))
    if not (who and allowed and budget.isdigit()):
        raise typer.BadParameter(f"must be WHO=VIEWS:BUDGET. Got {entry!r}.", param_hint="--allow")
    unknown = sorted(set(named) - set(views))
    if unknown:
        raise typer.BadParameter(f"must name views of {list(views)}. Got {unknown}.", param_hint="--allow")
    return who, Right(named, int(budget))
