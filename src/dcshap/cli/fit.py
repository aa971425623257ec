"""`dcshap fit horizontal` and `dcshap fit vertical`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
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
from dcshap.cli.columns import Columns
from dcshap.cli.console import DebugOption, JsonOption, print_json, print_table, working
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
OnehotOption = Annotated[list[str] | None, typer.Option(help="A category to encode as indicators; repeat it.")]
CategoryOption = Annotated[
    list[str] | None, typer.Option("--category", help="A column of numbers that are codes of categories; repeat it.")
]
DropOption = Annotated[list[str] | None, typer.Option("--drop", help="A column to leave out; repeat it.")]
LabelsOption = Annotated[
    list[str] | None, typer.Option("--labels", metavar="OLD=NEW", help="A class that means another one; repeat it.")
]
MissingOption = Annotated[str, typer.Option(help="What a missing value means: error, or reference (absent).")]
SeedOption = Annotated[int | None, typer.Option(help="A seed, to get the same run again.")]
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
    as_json: JsonOption = False,
    debug: DebugOption = False,  # noqa: ARG001 - read where errors are shown
) -> None:
    """Parties with the same columns of different rows.

    Example: `dcshap fit horizontal --party north=north.csv --party south=south.csv --target income --out run/`
    """
    require_writable(out)
    reader, spellings = Reader(sep, keep_text, sql or ()), Spellings(labels)
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
        random_state=seed,
    )
    with working("Training"):
        collaboration.fit({name: (tables[name], y) for name, (_, y) in data.items()})
        Run(collaboration, About("horizontal", target, None, keep_text)).save(out)
    rows: list[dict[str, Any]] = [{"party": name, "rows": len(X)} for name, X in tables.items()]
    if held_out is not None:
        for row in rows:
            row["score"] = collaboration.score(*held_out, party=row["party"])
            row.update(_worth(collaboration, held_out, row["party"]))
    _report(out, model, rows, as_json=as_json)


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
    as_json: JsonOption = False,
    debug: DebugOption = False,  # noqa: ARG001 - read where errors are shown
) -> None:
    """Parties with different columns of the same records; one of the files holds the target.

    Example: `dcshap fit vertical --party bank=bank.csv --party shop=shop.csv --id customer --target default --out run/`
    """
    require_writable(out)
    if target == identifier:
        raise InputError(f"The target and the record identifiers must be two columns. Got {target!r} for both.")
    reader, spellings = Reader(sep, keep_text, sql or ()), Spellings(labels)
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
        random_state=seed,
    )
    run = Run(collaboration, About("vertical", target, identifier, keep_text))
    held_out = (
        None
        if not test
        else _held_out_records(reader, test, run.about, {n: t.columns.tolist() for n, t in tables.items()})
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
        rows = [row | {"score": score} | _worth(collaboration, (records, answers), row["party"]) for row in rows]
    _report(out, model, rows, as_json=as_json)


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


def _held_out_records(
    reader: Reader, files: Sequence[str], about: About, columns: Mapping[str, Sequence[str]]
) -> tuple[dict[str, pd.DataFrame], pd.Series[Any]]:
    """Held-out records by party, and their labels in the order of the first party's."""
    if len(files) == 1 and not re.match(r"[\w .@-]+=", files[0]):
        named = dict.fromkeys(columns, files[0])
    else:
        named = named_files(files, option="--test")
    if set(named) != set(columns):
        raise InputError(f"--test must be one file, or one for each of {list(columns)} as NAME=FILE.")
    tables = {name: reader.read(named[name], party=name, index=about.identifier) for name in columns}
    labels = [table[about.target] for table in tables.values() if about.target in table.columns]
    if not labels:
        raise InputError(f"--test must have the target column {about.target!r} in one of its files.")
    records = {name: select_columns(tables[name], columns[name], named[name]) for name in columns}
    order = next(iter(records.values())).index
    lacking = len(order.difference(labels[0].index))
    if lacking:
        raise InputError(f"--test must have a label for every record. {lacking} of {len(order)} have none.")
    return records, labels[0].loc[order]


def _worth(
    collaboration: HorizontalCollaboration | VerticalCollaboration, held_out: tuple[Any, Any], party: str
) -> dict[str, float]:
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


def _report(out: Path, model: Model, rows: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        print_json({"run": str(out), "model": model.value, "parties": rows})
        return
    print_table(pd.DataFrame(rows), f"Trained {model.value}, written to {out}")
