"""`dcshap federation …`: the same collaborations between separate organisations."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pandas as pd
import typer
from rich.live import Live

from dcshap.cli.backup import backup, restore
from dcshap.cli.certificates import certificates
from dcshap.cli.console import (
    JsonOption,
    command_group,
    error_console,
    print_json,
    print_table,
    say,
    tell,
    working,
)
from dcshap.cli.doctor import doctor
from dcshap.cli.explain import (
    BackgroundOption,
    GroupOption,
    Index,
    ToldOption,
    as_plain,
    read_groups,
    show_explanation,
)
from dcshap.cli.fit import Model, estimator
from dcshap.cli.progress import phases, show_status
from dcshap.cli.service import service
from dcshap.cli.simulate import simulate
from dcshap.cli.sites import CollaborationArgument, Kind, KitOption, TimeoutOption, analyst, audit, ledger, party
from dcshap.cli.watch import watch
from dcshap.exceptions import InputError
from dcshap.explanation.background import N_BACKGROUND

if TYPE_CHECKING:
    from dcshap.federation.flare.session import Session
    from dcshap.federation.site.hosting import RunSettings

__all__ = ["federation"]

federation = command_group("Train and explain between separate organisations.")
federation.add_typer(party, name="party")
federation.add_typer(analyst, name="analyst")
federation.add_typer(certificates, name="certificates")
federation.add_typer(service, name="service")
for each in (audit, ledger, simulate, doctor, backup, restore, watch):
    federation.command()(each)

RunningArgument = Annotated[
    str | None, typer.Argument(metavar="COLLABORATION", help="Which one; not needed while one is running alone.")
]
PartiesOption = Annotated[list[str], typer.Option("--party", help="A party that takes part; repeat it.")]
RecordsOption = Annotated[list[str], typer.Option(help="A record's identifier; repeat it.")]
AtOnceOption = Annotated[int, typer.Option(min=1, help="Requests that are answered at the same time.")]


@federation.callback()
def _needs_extra() -> None:
    lacking = [name for name in ("nvflare", "psutil", "cryptography") if importlib.util.find_spec(name) is None]
    if lacking:
        raise InputError(f"The federation needs more packages ({lacking}): pip install 'dcshap[federation]'.")


# --- the operator -----------------------------------------------------------------------------------------------


@federation.command()
def init(
    project: Annotated[Path, typer.Argument(metavar="PROJECT", help="Who takes part, as YAML.")],
    out: Annotated[Path, typer.Option(help="A new folder.")] = Path("federation"),
) -> None:
    """Write the profile, one file per participant, from which each asks for its certificate, and the job.

    Example: `dcshap federation init project.yaml --out credit`
    """
    from dcshap.federation.flare.provision import Project, init_project  # noqa: PLC0415 - an optional extra, as below

    for path in init_project(Project.load(project), out):
        tell(str(path))


# --- whoever leads ---------------------------------------------------------------------------------------------------


@federation.command()
def train(
    kit_folder: KitOption,
    collaboration: Annotated[str | None, typer.Argument(metavar="COLLABORATION")] = None,
    kind: Annotated[Kind | None, typer.Option(help="How the data are split.")] = None,
    parties: Annotated[list[str] | None, typer.Option("--party", help="A party that takes part; repeat it.")] = None,
    job: Annotated[Path | None, typer.Option(help="Take these three from the job that `init` wrote.")] = None,
    model: Annotated[Model, typer.Option(help="The model to train.")] = Model.logistic,
    regression: Annotated[bool, typer.Option("--regression", help="Predict a number instead of a class.")] = False,
    alignment: Annotated[str, typer.Option(help="auto, affine, svd or orthogonal.")] = "auto",
    seed: Annotated[int | None, typer.Option(help="A seed for the model.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a training that was interrupted.")] = False,
    at_once: AtOnceOption = 8,
    timeout: TimeoutOption = 120.0,
    as_json: JsonOption = False,
) -> None:
    """Train a collaboration; a vertical one then answers requests.

    Examples: `dcshap federation train credit --kit KIT --kind vertical --party bank --party shop --model boosting`,
    `dcshap federation train --kit KIT --job credit/job`. After an interruption the same command with `--resume` goes
    on: what was computed and sent before is not computed and sent again.
    """
    built, run = estimator(model, regression=regression, seed=seed), _run_of(job, collaboration, kind, parties)
    with _requester(kit_folder, timeout) as lead, Live(console=error_console, transient=True) as live:
        status = lead.train(
            run.collaboration,
            built,
            kind=run.kind,
            parties=run.parties,
            alignment=alignment,
            at_once=at_once,
            timeout=timeout,
            resume=resume,
            watch=lambda told: live.update(phases(told)),
        )
    show_status(status, as_json=as_json)


@federation.command()
def serve(
    collaboration: CollaborationArgument,
    kit_folder: KitOption,
    parties: PartiesOption,
    at_once: AtOnceOption = 8,
    timeout: TimeoutOption = 120.0,
    as_json: JsonOption = False,
) -> None:
    """Have a vertical collaboration that was stopped answer again. After a restart it does so by itself.

    Example: `dcshap federation serve credit --kit KIT --party bank --party shop`
    """
    with _requester(kit_folder, timeout) as lead, working("Waking the sites"):
        status = lead.serve(collaboration, parties=parties, at_once=at_once, timeout=timeout)
    show_status(status, as_json=as_json)


@federation.command()
def status(
    kit_folder: KitOption,
    collaboration: RunningArgument = None,
    timeout: TimeoutOption = 30.0,
    as_json: JsonOption = False,
) -> None:
    """How far a collaboration is: phases, who has answered, bytes.

    Example: `dcshap federation status credit --kit KIT`
    """
    with _requester(kit_folder, timeout) as asking:
        show_status(asking.status(_running(asking, collaboration)), as_json=as_json)


@federation.command()
def models(
    kit_folder: KitOption,
    collaboration: RunningArgument = None,
    timeout: TimeoutOption = 30.0,
    as_json: JsonOption = False,
) -> None:
    """List the trainings of a running collaboration that were put to use: number, when, model, records.

    Example: `dcshap federation models credit --kit KIT`
    """
    with _requester(kit_folder, timeout) as asking:
        found = asking.status(_running(asking, collaboration))["models"]
    if as_json:
        print_json({"models": found})
        return
    table = pd.DataFrame(found, columns=["number", "when", "model", "parties", "records", "dropped", "quality", "run"])
    table["parties"] = table["parties"].map(", ".join)
    table["quality"] = [f"{q['measure']} {q['value']:.3f}" if isinstance(q, dict) else "–" for q in table["quality"]]
    print_table(table)


@federation.command()
def stop(
    kit_folder: KitOption,
    collaboration: RunningArgument = None,
    timeout: TimeoutOption = 30.0,
) -> None:
    """End a collaboration's run, until somebody calls `serve`. What was trained is kept.

    Example: `dcshap federation stop credit --kit KIT`
    """
    with _requester(kit_folder, timeout) as lead:
        lead.stop(_running(lead, collaboration))


# --- whoever asks ----------------------------------------------------------------------------------------------------


@federation.command()
def explain(
    kit_folder: KitOption,
    record: RecordsOption,
    collaboration: RunningArgument = None,
    view: Annotated[str, typer.Option(help="'full', or a party's name.")] = "full",
    index: Annotated[Index, typer.Option(help="owen: party views, which agree. shapley: Algorithm 4.")] = Index.owen,
    merged: Annotated[bool, typer.Option("--merged", help="One bar for all other parties together.")] = False,
    reference: Annotated[str, typer.Option(help="Compared with: anchor, or what all parties allow.")] = "anchor",
    n_background: BackgroundOption = N_BACKGROUND,
    group: GroupOption = None,
    told: ToldOption = None,
    timeout: TimeoutOption = 30.0,
    as_json: JsonOption = False,
) -> None:
    """Explain the predictions of records of a running vertical collaboration.

    Example: `dcshap federation explain credit --kit KIT --record 4711 --view bank`
    """
    with _requester(kit_folder, timeout) as asking:
        which = _running(asking, collaboration)
        against: dict[str, Any] = {"reference": reference, "n_background": n_background}
        against |= {"groups": read_groups(group or ())}
        explained = asking.explain(which, record, view=view, index=index.value, merged=merged, **against)
    show_explanation(explained, told=told, as_json=as_json)


@federation.command()
def predict(
    kit_folder: KitOption,
    record: RecordsOption,
    collaboration: RunningArgument = None,
    view: Annotated[str, typer.Option(help="The view whose right is used: 'full', or a party's name.")] = "full",
    timeout: TimeoutOption = 30.0,
    as_json: JsonOption = False,
) -> None:
    """Predict records of a running vertical collaboration.

    Example: `dcshap federation predict credit --kit KIT --record 4711`
    """
    with _requester(kit_folder, timeout) as asking:
        predicted = asking.predict(_running(asking, collaboration), record, view=view)
    if as_json:
        print_json({"records": record} | predicted)
        return
    shown = pd.DataFrame(predicted["predictions"], columns=predicted["classes"] or ["prediction"])
    shown.insert(0, "record", record, allow_duplicates=True)
    print_table(shown, digits=".4g")


@federation.command()
def demo(as_json: JsonOption = False) -> None:
    """An analyst and three parties on this machine, as separate processes with real certificates. About a minute.

    Example: `dcshap federation demo`
    """
    from dcshap.federation.demo import run_demo  # noqa: PLC0415

    found = run_demo(say)
    if as_json:
        print_json(
            {
                "horizontal": {name: as_plain(each) for name, each in found.horizontal.items()},
                "vertical": {name: as_plain(each) for name, each in found.vertical.items()},
                "travelled": found.travelled,
                "seconds": found.seconds,
            }
        )
        return
    for name, each in found.vertical.items():
        tell(f"\n{name}: a record that three parties hold columns of", style="bold")
        show_explanation(each)
    for name, each in found.horizontal.items():
        tell(f"\n{name} alone, after training with the others", style="bold")
        show_explanation(each)
    print_table(found.travelled, "What each role saw")
    took = ", ".join(f"{step} {seconds:.1f} s" for step, seconds in found.seconds.items())
    tell(f"{took}; {sum(found.seconds.values()):.0f} s in all")


# --- what they have in common ----------------------------------------------------------------------------------------


def _requester(folder: Path, timeout: float) -> Session:
    from dcshap.federation.flare.session import Session  # noqa: PLC0415

    return Session(folder, timeout=timeout)


def _run_of(job: Path | None, collaboration: str | None, kind: Kind | None, parties: list[str] | None) -> RunSettings:
    """What a training is for, by a job's folder and the options that stand above it."""
    from dcshap.federation.flare.job import read_job  # noqa: PLC0415
    from dcshap.federation.site.hosting import RunSettings  # noqa: PLC0415

    given: dict[str, Any] = {
        "collaboration": collaboration,
        "kind": kind and kind.value,
        "parties": tuple(sorted(parties or ())),
    }
    named = {name: value for name, value in given.items() if value}
    if job is not None:
        return replace(read_job(job), **named)
    lacking = [name for name in given if name not in named]
    if lacking:
        raise InputError(f"A training needs a COLLABORATION, --kind and --party, or a --job. Not given: {lacking}.")
    return RunSettings(**named)


def _running(asking: Session, collaboration: str | None) -> str:
    """The collaboration that is meant, which need not be said while one runs alone."""
    if collaboration is not None:
        return collaboration
    found = asking.collaborations()
    if len(found) != 1:
        say = f"Say which COLLABORATION is meant of those that run now: {found}."
        raise InputError(say if found else "No collaboration is running now. Train one, or `serve` it.")
    return found[0]
