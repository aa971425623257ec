"""`dcshap fit horizontal` and `dcshap fit vertical`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import pandas as pd
import typer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor

from dcshap import HorizontalCollaboration, VerticalCollaboration
from dcshap._sources import is_database
from dcshap.audit import Audit
from dcshap.cli.audit import StrictOption, show_audit
from dcshap.cli.columns import CategoryOption, Columns, DropOption, OnehotOption
from dcshap.cli.console import JsonOption, command_group, print_json, print_table, working
from dcshap.cli.held_out import held_out_records, worth
from dcshap.cli.tables import (
    About,
    KeepTextOption,
    Reader,
    Run,
    SepOption,
    SqlOption,
    named_files,
    note_of_identifiers,
    require_column,
    select_columns,
)
from dcshap.cli.target import Spellings, is_regression, require_labels, require_one_spelling
from dcshap.collaboration.noise import NOISE
from dcshap.exceptions import InputError
from dcshap.storage import require_writable

__all__ = ["Model", "estimator", "fit"]

fit = command_group("Train a collaboration on the parties' files.")


class Model(StrEnum):
    """The models that the command line knows."""

    knn = "knn"
    logistic = "logistic"
    forest = "forest"
    boosting = "boosting"
    mlp = "mlp"


PartyOption = Annotated[
    list[str],
    typer.Option(
        "--party", metavar="NAME=FILE", help="A party and its file (csv, Excel, Feather, Parquet) or URL; repeat it."
    ),
]
TargetOption = Annotated[str, typer.Option(help="The column to predict.")]
OutOption = Annotated[Path, typer.Option(help="The folder to write the run to.")]
ModelOption = Annotated[Model, typer.Option(help="The model to train.")]
RegressionOption = Annotated[
    bool | None, typer.Option("--regression/--classes", help="Whether the target is a number or a class.")
]
ComponentsOption = Annotated[
    str, typer.Option(help="Dimensions of the representations: auto, a number, or a fraction of the columns.")
]
NoiseOption = Annotated[float, typer.Option(help="Noise on rows that leave a party, of their spread.")]
ReductionOption = Annotated[str, typer.Option(help="svd, pca, random or lpp.")]
AnchorOption = Annotated[str, typer.Option(help="gaussian or uniform.")]
SchemaOption = Annotated[Path | None, typer.Option(help="The agreed schema, as YAML; from the files by default.")]
LabelsOption = Annotated[
    list[str] | None, typer.Option("--labels", metavar="OLD=NEW", help="A class that means another one; repeat it.")
]
MissingOption = Annotated[str, typer.Option(help="What a missing value means: error, or reference (absent).")]
SeedOption = Annotated[int | None, typer.Option(help="A seed, to get the same run again.")]
AuditOption = Annotated[bool, typer.Option("--audit", help="Attack what each party sent; exits with 0, 1 or 2.")]
InstanceOption = Annotated[
    bool,
    typer.Option("--instance-models", help="Where --audit is asked for: a model that holds training rows may leave."),
]
IdOption = Annotated[str, typer.Option("--id", help="The column of the record identifiers.")]


@fit.command()
def horizontal(
    party: PartyOption,
    target: TargetOption,
    out: OutOption,
    model: ModelOption = Model.logistic,
    regression: RegressionOption = None,
    components: ComponentsOption = "auto",
    span: Annotated[str, typer.Option(help="Which directions: supervised, private, shared or random.")] = "supervised",
    noise: NoiseOption = NOISE,
    epsilon: Annotated[float | None, typer.Option(help="Differential privacy of the sums behind the span.")] = None,
    alignment: Annotated[str, typer.Option(help="auto, affine, svd or orthogonal.")] = "auto",
    reduction: ReductionOption = "svd",
    anchor: AnchorOption = "gaussian",
    schema: SchemaOption = None,
    onehot: OnehotOption = None,
    category: CategoryOption = None,
    drop: DropOption = None,
    labels: LabelsOption = None,
    missing: MissingOption = "error",
    sep: SepOption = None,
    keep_text: KeepTextOption = False,
    sql: SqlOption = None,
    seed: SeedOption = None,
    test: Annotated[str | None, typer.Option(help="A file with held-out rows to score on.")] = None,
    audit: AuditOption = False,
    instance_models: InstanceOption = False,
    strict: StrictOption = False,
    as_json: JsonOption = False,
) -> None:
    """Parties with the same columns of different rows.

    Example: `dcshap fit horizontal --party north=north.csv --party south=south.csv --target income --out run/`
    """
    require_writable(out)
    reader, spellings = Reader(sep, keep_text, sql), Spellings(labels)
    data = {name: _rows_and_labels(reader, file, target, spellings, name) for name, file in named_files(party).items()}
    numbers = _require_target({name: y for name, (_, y) in data.items()}, target, regression, given=bool(labels))
    columns = Columns(schema, onehot or (), category or (), drop or (), supervised=span == "supervised")
    dictionary, tables = columns.of({name: X for name, (X, _) in data.items()})
    held_out = None
    if test is not None:
        X, y = _rows_and_labels(reader, test, target, spellings)
        held_out = select_columns(X, dictionary.names, test), y
    collaboration = HorizontalCollaboration(
        estimator(model, regression=numbers, seed=seed),
        _components(components),
        span=span,  # type: ignore[arg-type]  # checked where it is used
        noise=noise,
        epsilon=epsilon,
        alignment=alignment,  # type: ignore[arg-type]
        reduction=reduction,
        anchor=anchor,
        schema=dictionary,
        missing=missing,  # type: ignore[arg-type]
        instance_models=instance_models or not audit,
        random_state=seed,
    )
    with working("Training"):
        collaboration.fit({name: (tables[name], y) for name, (_, y) in data.items()})
        Run(collaboration, About("horizontal", target, None, keep_text, _absolute(party))).save(out)
    rows: list[dict[str, Any]] = [{"party": name, "rows": len(X)} for name, X in tables.items()]
    if held_out is not None:
        for row in rows:
            row["score"] = collaboration.score(*held_out, party=row["party"])
            row.update(worth(collaboration, held_out, row["party"]))
    called = _called(model, regression=numbers)
    _report(out, called, rows, audits=_audits(collaboration) if audit else {}, strict=strict, as_json=as_json)


@fit.command()
def vertical(
    party: PartyOption,
    identifier: IdOption,
    target: TargetOption,
    out: OutOption,
    model: ModelOption = Model.logistic,
    regression: RegressionOption = None,
    components: ComponentsOption = "auto",
    span: Annotated[str, typer.Option(help="Which directions: supervised, private or random.")] = "supervised",
    noise: NoiseOption = NOISE,
    reduction: ReductionOption = "svd",
    anchor: AnchorOption = "gaussian",
    schema: SchemaOption = None,
    onehot: OnehotOption = None,
    category: CategoryOption = None,
    drop: DropOption = None,
    labels: LabelsOption = None,
    missing: MissingOption = "error",
    sep: SepOption = None,
    keep_text: KeepTextOption = False,
    sql: SqlOption = None,
    seed: SeedOption = None,
    test: Annotated[
        list[str] | None, typer.Option(help="A file with held-out records to score on, or one per party as NAME=FILE.")
    ] = None,
    audit: AuditOption = False,
    instance_models: InstanceOption = False,
    strict: StrictOption = False,
    as_json: JsonOption = False,
) -> None:
    """Parties with different columns of the same records; one of the files holds the target.

    Example: `dcshap fit vertical --party bank=bank.csv --party shop=shop.csv --id customer --target default --out run/`
    """
    require_writable(out)
    if target == identifier:
        raise InputError(f"The target and the record identifiers must be two columns. Got {target!r} for both.")
    reader, spellings = Reader(sep, keep_text, sql), Spellings(labels)
    tables = {name: reader.read(f, party=name, index=identifier) for name, f in named_files(party).items()}
    holder = _holder(tables, target)
    outcome = spellings.apply(tables[holder].pop(target))
    numbers = _require_target({holder: outcome}, target, regression, given=bool(labels))
    note_of_identifiers(tables)
    columns = Columns(schema, onehot or (), category or (), drop or (), supervised=span == "supervised")
    dictionary, tables = columns.of_each(tables)
    collaboration = VerticalCollaboration(
        estimator(model, regression=numbers, seed=seed),
        _components(components),
        span=span,  # type: ignore[arg-type]  # checked where it is used
        noise=noise,
        reduction=reduction,
        anchor=anchor,  # type: ignore[arg-type]
        schema=dictionary,
        missing=missing,  # type: ignore[arg-type]
        instance_models=instance_models or not audit,
        random_state=seed,
    )
    run = Run(collaboration, About("vertical", target, identifier, keep_text, _absolute(party)))
    held_out = (
        None
        if not test
        else held_out_records(reader, test, run.about, {n: t.columns.tolist() for n, t in tables.items()})
    )
    with working("Training"):
        collaboration.fit(tables, outcome, label_party=holder)
        run.save(out)
    dropped = collaboration.joined_.n_dropped
    rows: list[dict[str, Any]] = [
        {"party": name, "columns": table.shape[1], "records": len(table), "left out": dropped[name]}
        for name, table in tables.items()
    ]
    if held_out is not None:
        records, answers = held_out[0], spellings.apply(held_out[1])
        score = collaboration.score(records, answers)
        rows = [row | {"score": score} | worth(collaboration, (records, answers), row["party"]) for row in rows]
    called = _called(model, regression=numbers)
    _report(out, called, rows, audits=_audits(collaboration) if audit else {}, strict=strict, as_json=as_json)


def estimator(model: Model, *, regression: bool, seed: int | None) -> Any:
    """The model of a name, for classes or for numbers."""
    seeded: dict[str, Any] = {"random_state": seed}
    stopped = seeded | {"max_iter": 1000, "early_stopping": True}
    classifier, regressor = {
        Model.knn: (KNeighborsClassifier(7), KNeighborsRegressor(7)),
        Model.logistic: (LogisticRegression(max_iter=1000), Ridge()),
        Model.forest: (RandomForestClassifier(**seeded), RandomForestRegressor(**seeded)),
        Model.boosting: (HistGradientBoostingClassifier(**seeded), HistGradientBoostingRegressor(**seeded)),
        Model.mlp: (MLPClassifier(**stopped), MLPRegressor(**stopped)),
    }[model]
    return regressor if regression else classifier


def _called(model: Model, *, regression: bool) -> str:
    return "ridge" if regression and model is Model.logistic else model.value


def _absolute(party: list[str]) -> dict[str, str]:
    """Where each party's file lies, so that an audit finds it again. A database's address may hold a password."""
    return {name: str(Path(file).absolute()) for name, file in named_files(party).items() if not is_database(file)}


def _components(given: str) -> int | float | Literal["auto"]:
    if given == "auto":
        return "auto"
    try:
        number = float(given)
    except ValueError as error:
        raise typer.BadParameter(f"must be auto or a number. Got {given!r}.", param_hint="--components") from error
    return int(number) if number >= 1 and number.is_integer() else number


def _require_target(labels: Mapping[str, pd.Series[Any]], target: str, regression: bool | None, *, given: bool) -> bool:
    """Whether the target is a number to predict, once its labels are such that they can be learned.

    `given` says that the user has said which spellings mean which class.
    """
    require_labels(labels, target=target)
    numbers = is_regression(labels, target=target, asked=regression)
    if not numbers and not given:
        require_one_spelling(labels, target=target)
    return numbers


def _rows_and_labels(
    reader: Reader, file: str, target: str, spellings: Spellings, party: str = ""
) -> tuple[pd.DataFrame, pd.Series[Any]]:
    table = reader.read(file, party=party)
    require_column(table, target, file, what="target column")
    return table.drop(columns=target), spellings.apply(table[target])


def _holder(tables: Mapping[str, pd.DataFrame], target: str) -> str:
    """The one party that holds the target."""
    holders = [name for name, table in tables.items() if target in table.columns]
    if len(holders) != 1:
        there = {name: list(table.columns) for name, table in tables.items()}
        raise InputError(
            f"Exactly one party must hold the target {target!r}. Got {holders or 'none'}. The columns are {there}."
        )
    return holders[0]


def _audits(collaboration: HorizontalCollaboration | VerticalCollaboration) -> dict[str, Audit]:
    with working("Attacking"):
        return collaboration.audit()


def _report(
    out: Path, model: str, rows: list[dict[str, Any]], *, audits: dict[str, Audit], strict: bool, as_json: bool
) -> None:
    if as_json:
        told = {"audit": {name: found.to_dict() for name, found in audits.items()}} if audits else {}
        print_json({"run": str(out), "model": model, "parties": rows} | told)
    else:
        print_table(pd.DataFrame(rows), f"Trained {model}, written to {out}")
        for found in audits.values():
            show_audit(found)
    code = max((found.exit_code(strict=strict) for found in audits.values()), default=0)
    if code:
        raise typer.Exit(code)
