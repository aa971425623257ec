"""`dcshap desk`: the web page where people ask why."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Hashable
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from threadpoolctl import threadpool_limits

from dcshap import HorizontalCollaboration, Schema
from dcshap.cli.console import note, tell, working
from dcshap.cli.tables import KeepTextOption, Reader, Run, SepOption, SqlOption, known_columns
from dcshap.exceptions import InputError
from dcshap.storage import current

if TYPE_CHECKING:
    from dcshap.desk.cases import Cases
    from dcshap.desk.server import Opening

__all__ = ["desk"]

DEMO = "demo"
PORT = 8642
NEEDED = ("argon2", "jinja2", "multipart", "sqlalchemy", "starlette", "uvicorn")


def desk(
    run: Annotated[str | None, typer.Argument(metavar="[RUN|demo]", help="The folder that `dcshap fit` wrote.")] = None,
    tables: Annotated[
        list[str] | None,
        typer.Argument(metavar="TABLE...", help="The cases: a file or a database's URL, or NAME=FILE per party."),
    ] = None,
    party: Annotated[str | None, typer.Option(help="Whose desk it is.")] = None,
    kit: Annotated[Path | None, typer.Option(help="A kit of a federation: a requester's, or a party's.")] = None,
    collaboration: Annotated[str | None, typer.Option(help="With --kit: which collaboration.")] = None,
    schema: Annotated[Path | None, typer.Option(help="With a requester's kit: the agreed schema.")] = None,
    identifier: Annotated[str | None, typer.Option("--id", help="The column of the case identifiers.")] = None,
    sep: SepOption = None,
    keep_text: KeepTextOption = False,
    sql: SqlOption = None,
    words: Annotated[Path | None, typer.Option(help="A YAML file: what decisions and columns are called.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Where the desk keeps its key and its database.")] = None,
    database: Annotated[str | None, typer.Option(help="The URL of a database; SQLite by default.")] = None,
    account: Annotated[
        list[str] | None, typer.Option(metavar="NAME=ROLE", help="Make an account; asks for its password.")
    ] = None,
    what_ifs: Annotated[int, typer.Option(help="Questions “what if” of an officer in a day.")] = 100,
    audit: Annotated[Path | None, typer.Option(help="What `dcshap audit --json` printed, for the auditor.")] = None,
    font: Annotated[Path | None, typer.Option(help="A TrueType font to embed in Japanese letters.")] = None,
    host: Annotated[str, typer.Option(help="Where to listen; beyond loopback with HTTPS only.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes any that is free.")] = PORT,
    certificate: Annotated[Path | None, typer.Option(help="For HTTPS: the certificate, as PEM.")] = None,
    key: Annotated[Path | None, typer.Option(help="For HTTPS: its private key, as PEM.")] = None,
) -> None:
    """Open the page where officers, persons concerned and auditors ask why.

    Examples: `dcshap desk demo`, `dcshap desk run/ cases.csv --party north --account olga=officer`
    """
    started = time.perf_counter()
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise InputError(f"The desk needs {missing}. Install it with `pip install 'dcshap[desk]'`.")
    from dcshap.desk.server import Opening, most_processes, serve  # noqa: PLC0415 - it takes a second to import

    threadpool_limits(1)  # many small computations at once: threads within each would be in each other's way
    where: dict[str, Any] = {"host": host, "certificate": certificate, "key": key}
    if run == DEMO:
        _demo(Opening, serve, where, port, started)
        return
    from dcshap.desk.state import Desk  # noqa: PLC0415
    from dcshap.desk.vocabulary import Vocabulary  # noqa: PLC0415

    reader = Reader(sep, keep_text, sql)
    if (run is None) == (kit is None):
        raise InputError("Say what the desk is for: a RUN folder with --party, --kit, or demo.")
    if kit is None:
        cases, place = _cases(Path(str(run)), tables or [], party, identifier=identifier, reader=reader)
    else:
        cases, place = _cases_of_kit(kit, tables or [], party, collaboration=collaboration, schema=schema)
    opened = Desk(
        folder or place,
        cases,
        Vocabulary() if words is None else Vocabulary.load(words),
        url=database,
        what_ifs=what_ifs,
        mail=None if run is None else place.parent / f"{Path(run).name}.desk-mail",
        audit=None if audit is None else _audit(audit),
        font=font,
    )
    with closing(opened):
        _make_accounts(opened, account or [])
        opening = Opening(opened, port=port, **where)
        bound = opening.bound()
        tell(f"The desk of {cases.party} is open at {opening.address(bound)}", style="bold")
        # A session with a federation's server belongs to one process.
        serve([(opening, bound)], processes=1 if cases.asks_at_once else most_processes())


def _demo(opening: type[Opening], serve: Any, where: dict[str, Any], port: int, started: float) -> None:
    from dcshap.desk.showcase import showcase  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="dcshap-desk-") as folder:
        with working("Training two collaborations on embedded data"):
            stands = showcase(Path(folder))
        bound = []
        for at, stand in enumerate(stands):
            each = opening(stand.desk, port=port + at if port else 0, **where)
            bound.append((each, each.bound()))
        for stand, (each, socket) in zip(stands, bound, strict=True):
            tell(f"\n{stand.title}", style="bold")
            for token, entry in stand.desk.tokens.items():
                tell(f"  {entry.role:9} {each.address(socket)}/enter/{token}")
        seconds = time.perf_counter() - started
        tell(f"\nOpen an address in a browser ({seconds:.0f} s). Ctrl+C ends the demonstration.")
        serve(bound)


def _cases_of_kit(
    kit: Path, files: list[str], party: str | None, *, collaboration: str | None, schema: Path | None
) -> tuple[Cases, Path]:
    """Cases of a federation, and where the desk keeps its own things by default."""
    from dcshap.desk.federated import FederationCases, cases_of_party  # noqa: PLC0415 - takes seconds to import
    from dcshap.federation.flare.heaps import give_back_memory  # noqa: PLC0415
    from dcshap.federation.flare.kits import Kit  # noqa: PLC0415
    from dcshap.federation.flare.session import Session  # noqa: PLC0415
    from dcshap.federation.seals.identity import Identity  # noqa: PLC0415

    if files:
        raise InputError(f"With --kit the cases are the federation's: give no tables. Got {len(files)}.")
    found, place = Kit.load(kit), Path(f"{kit}.desk")
    identity = Identity(found.startup)
    if found.role == "party":
        return cases_of_party(kit, identity, collaboration), place
    agreed = None if schema is None else Schema.load(schema)
    asked: dict[str, Any] = {
        "party": party,
        "schema": agreed,
        "authority": identity.root_pem,
        "revoked": identity.revokes,
    }
    give_back_memory()  # a session has hundreds of threads as a site has, and a desk is open for months
    return FederationCases(lambda: Session(kit), collaboration, **asked), place


def _cases(
    folder: Path, files: list[str], party: str | None, *, identifier: str | None, reader: Reader | None = None
) -> tuple[Cases, Path]:
    """Cases of a run, and where the desk keeps its own things by default."""
    from dcshap.desk.horizontal_cases import HorizontalCases  # noqa: PLC0415 - as below
    from dcshap.desk.onsite import Source, VerticalCases  # noqa: PLC0415

    trained = Run.load(folder, reader)
    whose = trained.party(party)
    source = Source(lambda: Run.load(folder).collaboration, lambda: _stamp(folder))
    place = folder.with_name(f"{folder.name}.desk-{whose}")
    if not files:
        raise InputError(
            "Give the cases' table: a file (csv, Excel, Feather, Parquet) or a database's URL with --sql; NAME=FILE "
            "for each party of a vertical run."
        )
    if not isinstance(trained.collaboration, HorizontalCollaboration):
        return VerticalCases(source, whose, trained.records(files)), place
    if len(files) != 1:
        raise InputError(f"A horizontal run takes one file of cases. Got {len(files)}.")
    table = trained.reader.read(files[0], party=whose, index=identifier)
    names = trained.collaboration.schema_.names
    known = known_columns(table, names, files[0], target=trained.about.target)
    return HorizontalCases(source, whose, known), place


def _stamp(folder: Path) -> Hashable:
    """Differs once the run was written again: it then is another folder of the same name."""
    found = current(folder).stat()
    return found.st_ino, found.st_mtime_ns


def _audit(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path} must be what `dcshap audit --json` printed. It is not JSON.") from error
    lines = content.get("lines") if isinstance(content, dict) else None
    shown = {"attack", "attacker", "verdict", "words", "advice"}
    if not isinstance(lines, list) or not all(isinstance(line, dict) and shown <= set(line) for line in lines):
        raise InputError(f"{path} must be what `dcshap audit --json` printed. It is something else.")
    return content


def _make_accounts(opened: Any, wanted: list[str]) -> None:
    from dcshap.desk.accounts import Role  # noqa: PLC0415

    for entry in wanted:
        name, _, role = entry.partition("=")
        if role not in (Role.OFFICER, Role.AUDITOR, Role.OPERATOR):
            raise typer.BadParameter(
                f"must be NAME=officer, auditor or operator. Got {role!r}.", param_hint="--account"
            )
        password = typer.prompt(f"Password of {name}", hide_input=True, confirmation_prompt=True, err=True)
        opened.accounts.add(name, Role(role), password)
    if not opened.accounts.roles():
        note("Nobody can come in yet: make an account with --account NAME=ROLE.")
