"""`dcshap fit horizontal` and `dcshap fit vertical`."""

from __future__ import annotations

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

from dcshap import HorizontalCollaboration, Schema, VerticalCollaboration
from dcshap.audit import Audit
from dcshap.cli.audit import StrictOption, show_audit
from dcshap.cli.console import DebugOption, JsonOption, print_json, print_table, working
from dcshap.cli.tables import About, Run, named_files, read_table, require_column, select_columns
from dcshap.collaboration.noise import NOISE
from dcshap.exceptions import InputError
from dcshap.storage import require_writable

__all__ = ["Model", "estimator", "fit"]

fit = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    help="Train a collaboration on the parties' files.",
)


class Model(StrEnum):
    """The models that the command line knows."""

    knn = "knn"
    logistic = "logistic"
    forest = "forest"
    boosting = "boosting"
    mlp = "mlp"


PartyOption = Annotated[
    list[str], typer.Option("--party", metavar="NAME=FILE", help="A party and its csv or parquet file; repeat it.")
]
TargetOption = Annotated[str, typer.Option(help="The column to predict.")]
OutOption = Annotated[Path, typer.Option(help="The folder to write the run to.")]
ModelOption = Annotated[Model, typer.Option(help="The model to train.")]
RegressionOption = Annotated[bool, typer.Option("--regression", help="Predict a number instead of a class.")]
ComponentsOption = Annotated[
    str, typer.Option(help="Dimensions of the representations: auto, a number, or a fraction of the columns.")
]
SchemaOption = Annotated[Path | None, typer.Option(help="The agreed schema, as YAML; from the files by default.")]
OnehotOption = Annotated[list[str] | None, typer.Option(help="A category to encode as indicators; repeat it.")]
MissingOption = Annotated[str, typer.Option(help="What a missing value means: error, or reference (absent).")]
SeedOption = Annotated[int | None, typer.Option(help="A seed, to get the same run again.")]
AuditOption = Annotated[bool, typer.Option("--audit", help="Attack what each party sent; exits with 0, 1 or 2.")]
IdOption = Annotated[str, typer.Option("--id", help="The column of the record identifiers.")]


@fit.command()
def horizontal(
    party: PartyOption,
    target: TargetOption,
    out: OutOption,
    model: ModelOption = Model.logistic,
    regression: RegressionOption = False,
    components: ComponentsOption = "auto",
    span: Annotated[str, typer.Option(help="Which directions: supervised, private, shared or random.")] = "supervised",
    noise: Annotated[float, typer.Option(help="Noise on rows that leave a party, of their spread.")] = NOISE,
    epsilon: Annotated[float | None, typer.Option(help="Differential privacy of the sums behind the span.")] = None,
    alignment: Annotated[str, typer.Option(help="auto, affine, svd or orthogonal.")] = "auto",
    reduction: Annotated[str, typer.Option(help="svd, pca, random or lpp.")] = "svd",
    anchor: Annotated[str, typer.Option(help="gaussian or uniform.")] = "gaussian",
    schema: SchemaOption = None,
    onehot: OnehotOption = None,
    missing: MissingOption = "error",
    seed: SeedOption = None,
    test: Annotated[Path | None, typer.Option(help="A file with held-out rows to score on.")] = None,
    audit: AuditOption = False,
    strict: StrictOption = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,  # noqa: ARG001 - read where errors are shown
) -> None:
    """Parties with the same columns of different rows.

    Example: `dcshap fit horizontal --party north=north.csv --party south=south.csv --target income --out run/`
    """
    require_writable(out)
    data = {name: _rows_and_labels(file, target) for name, file in named_files(party).items()}
    tables = {name: X for name, (X, _) in data.items()}
    dictionary = _schema(schema, tables, onehot, supervised=span == "supervised")
    held_out = None if test is None else _held_out(test, target, dictionary)
    collaboration = HorizontalCollaboration(
        estimator(model, regression=regression, seed=seed),
        _components(components),
        span=span,  # type: ignore[arg-type]  # checked where it is used
        noise=noise,
        epsilon=epsilon,
        alignment=alignment,  # type: ignore[arg-type]
        reduction=reduction,
        anchor=anchor,
        schema=dictionary,
        missing=missing,  # type: ignore[arg-type]
        random_state=seed,
    )
    with working("Training"):
        collaboration.fit(data)
        Run(collaboration, About("horizontal", target, None, _absolute(party))).save(out)
    rows: list[dict[str, Any]] = [{"party": name, "rows": len(X)} for name, (X, _) in data.items()]
    if held_out is not None:
        for row in rows:
            row["score"] = collaboration.score(*held_out, party=row["party"])
            row.update(_worth(collaboration, held_out, row["party"]))
    _report(out, model, rows, audits=_audits(collaboration) if audit else {}, strict=strict, as_json=as_json)


@fit.command()
def vertical(
    party: PartyOption,
    identifier: IdOption,
    target: TargetOption,
    out: OutOption,
    model: ModelOption = Model.logistic,
    regression: RegressionOption = False,
    components: ComponentsOption = "auto",
    span: Annotated[str, typer.Option(help="Which directions: supervised, private or random.")] = "supervised",
    noise: Annotated[float, typer.Option(help="Noise on what leaves a party, of its spread.")] = NOISE,
    reduction: Annotated[str, typer.Option(help="svd, pca, random or lpp.")] = "svd",
    schema: SchemaOption = None,
    missing: MissingOption = "error",
    seed: SeedOption = None,
    audit: AuditOption = False,
    strict: StrictOption = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,  # noqa: ARG001 - read where errors are shown
) -> None:
    """Parties with different columns of the same records; one of the files holds the target.

    Example: `dcshap fit vertical --party bank=bank.csv --party shop=shop.csv --id customer --target default --out run/`
    """
    require_writable(out)
    if target == identifier:
        raise InputError(f"The target and the record identifiers must be two columns. Got {target!r} for both.")
    tables = {name: read_table(file, index=identifier) for name, file in named_files(party).items()}
    holders = [name for name, table in tables.items() if target in table.columns]
    if len(holders) != 1:
        there = {name: list(table.columns) for name, table in tables.items()}
        raise InputError(
            f"Exactly one party must hold the target {target!r}. Got {holders or 'none'}. The columns are {there}."
        )
    labels = tables[holders[0]][target]
    tables[holders[0]] = tables[holders[0]].drop(columns=target)
    collaboration = VerticalCollaboration(
        estimator(model, regression=regression, seed=seed),
        _components(components),
        span=span,  # type: ignore[arg-type]  # checked where it is used
        noise=noise,
        reduction=reduction,
        schema=None if schema is None else Schema.load(schema),
        missing=missing,  # type: ignore[arg-type]
        random_state=seed,
    )
    with working("Training"):
        collaboration.fit(tables, labels, label_party=holders[0])
        Run(collaboration, About("vertical", target, identifier, _absolute(party))).save(out)
    dropped = collaboration.joined_.n_dropped
    rows = [
        {"party": name, "columns": table.shape[1], "records": len(table), "left out": dropped[name]}
        for name, table in tables.items()
    ]
    _report(out, model, rows, audits=_audits(collaboration) if audit else {}, strict=strict, as_json=as_json)


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


def _absolute(party: list[str]) -> dict[str, str]:
    """Where each party's file lies, so that an audit finds it again."""
    return {name: str(Path(file).absolute()) for name, file in named_files(party).items()}


def _components(given: str) -> int | float | Literal["auto"]:
    if given == "auto":
        return "auto"
    try:
        number = float(given)
    except ValueError as error:
        raise typer.BadParameter(f"must be auto or a number. Got {given!r}.", param_hint="--components") from error
    return int(number) if number >= 1 and number.is_integer() else number


def _schema(path: Path | None, tables: dict[str, Any], onehot: list[str] | None, *, supervised: bool) -> Schema:
    if path is not None and onehot:
        raise InputError("--onehot belongs in the schema file where one is given.")
    if path is not None:
        return Schema.load(path)
    if supervised and not onehot:
        return Schema.for_supervision(tables)
    return Schema.from_frames(tables, onehot=onehot or ())


def _rows_and_labels(file: str | Path, target: str) -> tuple[pd.DataFrame, pd.Series]:
    table = read_table(file)
    require_column(table, target, file, what="target column")
    return table.drop(columns=target), table[target]


def _held_out(file: Path, target: str, schema: Schema) -> tuple[pd.DataFrame, pd.Series]:
    X, y = _rows_and_labels(file, target)
    return select_columns(X, schema.names, file), y


def _worth(collaboration: HorizontalCollaboration, held_out: tuple[Any, Any], party: str) -> dict[str, float]:
    """What a party has of collaborating: the same score alone and pooled, and how far explanations are from pooled."""
    found = collaboration.quality(*held_out, party=party)
    first = found.scores.columns[0]
    pooled = found.fidelity["pooled"]
    return {
        "alone": float(found.scores[first]["alone"]),
        "pooled": float(found.scores[first]["pooled"]),
        "explanations: error": pooled.relative_error,
        "wrong signs": pooled.wrong_signs,
    }


def _audits(collaboration: HorizontalCollaboration | VerticalCollaboration) -> dict[str, Audit]:
    with working("Attacking"):
        return collaboration.audit()


def _report(
    out: Path, model: Model, rows: list[dict[str, Any]], *, audits: dict[str, Audit], strict: bool, as_json: bool
) -> None:
    if as_json:
        told = {"audit": {name: found.to_dict() for name, found in audits.items()}} if audits else {}
        print_json({"run": str(out), "model": model.value, "parties": rows} | told)
    else:
        print_table(pd.DataFrame(rows), f"Trained {model.value}, written to {out}")
        for found in audits.values():
            show_audit(found)
    code = max((found.exit_code(strict=strict) for found in audits.values()), default=0)
    if code:
        raise typer.Exit(code)
