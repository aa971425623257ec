"""`dcshap demo`: the main job on real data, offline."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
from sklearn.neighbors import KNeighborsClassifier

from dcshap import (
    Disagreement,
    HorizontalCollaboration,
    Schema,
    VerticalCollaboration,
    datasets,
    disagreement,
)
from dcshap.cli.compare import view_differences
from dcshap.cli.console import JsonOption, output, print_json, print_table, tell, working
from dcshap.collaboration.baseline import Baseline
from dcshap.collaborations.quality import Quality
from dcshap.exceptions import PrivacyWarning, QualityWarning
from dcshap.explanation import PartyExplanation

__all__ = ["demo"]

N_HELD_OUT = 2000
N_EXPLAINED = 50
THRESHOLD = 0.05
KERNELSHAP = "KernelSHAP"
PRIVATE_SPAN = "DC-SHAP, private spans"  # as in the paper
DCSHAP = "DC-SHAP"


@dataclass(frozen=True)
class Horizontal:
    """Two parties with label-skewed halves of Adult."""

    collaboration: HorizontalCollaboration
    accuracy: pd.DataFrame
    explanations: dict[str, dict[str, PartyExplanation]]  # by method, then party
    disagreements: dict[str, Disagreement]  # by method
    quality: Quality  # of logistic regression, for one party


@dataclass(frozen=True)
class Vertical:
    """A bank and a shop with six columns of Adult each."""

    collaboration: VerticalCollaboration
    accuracy: pd.DataFrame
    views: dict[str, PartyExplanation]
    differences: pd.DataFrame


def demo(
    out: Annotated[Path, typer.Option(help="The folder to write the report to.")] = Path("dcshap-demo"),
    seed: Annotated[int, typer.Option(help="A seed, to see it on another split.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """The main job on real data (Adult, in the package): train, explain, compare, report. About a minute, offline.

    Example: `dcshap demo --out demo/`
    """
    started = time.perf_counter()
    data = datasets.load_adult("train")
    kept, held_out = datasets.hold_out(data.target, N_HELD_OUT, random_state=seed)
    train = data.data.iloc[kept].reset_index(drop=True), data.target.iloc[kept].reset_index(drop=True)
    test = data.data.iloc[held_out].reset_index(drop=True), data.target.iloc[held_out].reset_index(drop=True)
    with working("Two parties with the same columns, north and south"):
        horizontal = _horizontal(*train, *test, seed=seed)
    with working("Two parties with the same records, bank and shop"):
        vertical = _vertical(*train, *test, seed=seed)
    with working("Writing the report"):
        page = _write(horizontal, vertical, out)
    if as_json:
        print_json(_plain(horizontal, vertical, page))
    else:
        _show(horizontal, vertical, page, seconds=time.perf_counter() - started)


WHY_NEIGHBOURS = (
    "The model is 7 nearest neighbours, as in the paper. It contains every party's aligned rows, so the parties of "
    "this demonstration agree that it leaves the analyst (instance_models). Logistic regression, the default, needs no "
    "consent."
)


def _horizontal(X: pd.DataFrame, y: Any, X_test: pd.DataFrame, y_test: Any, *, seed: int) -> Horizontal:
    model = KNeighborsClassifier(7)
    parts = datasets.label_skew(y, random_state=seed)
    parties = {name: (X.iloc[rows], y.iloc[rows]) for name, rows in zip(("north", "south"), parts, strict=True)}
    with warnings.catch_warnings():
        # The paper's method, beside the default: that it shows rows and loses columns is what the demo compares.
        warnings.simplefilter("ignore", PrivacyWarning)
        warnings.simplefilter("ignore", QualityWarning)
        private = HorizontalCollaboration(model, n_components=9, span="private", noise=0, random_state=seed).fit(
            parties
        )
    together = HorizontalCollaboration(model, random_state=seed).fit(parties)
    pooled = Baseline.fit(model, together.schema_, X, y)
    accuracy = [
        {
            "party": name,
            "rows": len(own_X),
            "above 50K": f"{own_y.mean():.0%}",
            "alone": Baseline.fit(model, together.schema_, own_X, own_y).score(X_test, y_test),
            "together, private spans": private.score(X_test, y_test, party=name),
            "together": together.score(X_test, y_test, party=name),
            "pooled": pooled.score(X_test, y_test),
        }
        for name, (own_X, own_y) in parties.items()
    ]
    explained = X_test.head(N_EXPLAINED)
    explanations = {
        method: {name: run.explain(explained, party=name, reference=reference) for name in parties}
        for method, run, reference in (
            (KERNELSHAP, private, "own"),
            (PRIVATE_SPAN, private, "anchor"),
            (DCSHAP, together, "anchor"),
        )
    }
    disagreements = {method: disagreement(each, threshold=THRESHOLD) for method, each in explanations.items()}
    quality = HorizontalCollaboration(random_state=seed).fit(parties).quality(X_test, y_test, party="north")
    return Horizontal(together, pd.DataFrame(accuracy), explanations, disagreements, quality)


def _vertical(X: pd.DataFrame, y: Any, X_test: pd.DataFrame, y_test: Any, *, seed: int) -> Vertical:
    columns = {"bank": list(X.columns[:6]), "shop": list(X.columns[6:])}
    run = VerticalCollaboration(KNeighborsClassifier(7), random_state=seed)
    run.fit({name: X[held] for name, held in columns.items()}, y, label_party="bank")
    test = {name: X_test[held] for name, held in columns.items()}
    pooled = Baseline.fit(run.model, Schema.from_frames([X]), X, y).score(X_test, y_test)
    accuracy = [
        {
            "party": name,
            "columns": len(held),
            "alone": Baseline.fit(run.model, run.parties_[name].agreement.schema, X[held], y).score(
                X_test[held], y_test
            ),
            "together": run.score(test, y_test),
            "pooled": pooled,
        }
        for name, held in columns.items()
    ]
    explained = {name: table.head(N_EXPLAINED) for name, table in test.items()}
    views = {
        "all features (Algorithm 3)": run.explain(explained, index="shapley"),
        "bank (Algorithm 4)": run.explain(explained, view="bank", index="shapley"),
        "bank (party view)": run.explain(explained, view="bank", index="owen"),
        "shop (party view)": run.explain(explained, view="shop", index="owen"),
    }
    return Vertical(run, pd.DataFrame(accuracy), views, view_differences(run, explained))


# --- what the user sees -----------------------------------------------------------------------------------------


def comparison(found: Horizontal) -> pd.DataFrame:
    """KernelSHAP against DC-SHAP with private spans, and with the supervised span that all parties share."""
    return pd.DataFrame(
        [
            {
                "explained by": method,
                "RMSE": each.rmse,
                "contradictions": len(each.contradictions),
                "rank correlation": each.rank_correlation,
            }
            for method, each in found.disagreements.items()
        ]
    )


def contradictions(found: Horizontal) -> pd.DataFrame:
    """Each contradiction that KernelSHAP shows, and what the same parties say by DC-SHAP."""
    rows = []
    listed = found.disagreements[KERNELSHAP].contradictions
    for sample, feature in zip(listed["sample"], listed["feature"], strict=True):
        row: dict[str, Any] = {"row": sample, "feature": feature}
        for method, explanations in found.explanations.items():
            for party, explanation in explanations.items():
                at = explanation.feature_names.index(feature)
                row[f"{method} {party}"] = float(explanation.values[sample, at, 1])
        rows.append(row)
    return pd.DataFrame(rows)


def _write(horizontal: Horizontal, vertical: Vertical, out: Path) -> Path:
    """The report: one page about both collaborations."""
    from dcshap import report  # noqa: PLC0415 - drawing takes a second to import

    sample = horizontal.disagreements[KERNELSHAP].worst_samples(1)[0]
    agreed = horizontal.explanations[DCSHAP]["north"]
    views = vertical.views
    examples: list[report.Block] = [
        report.Picture(
            report.dots(views),
            "Dots of every feature's attributions, one panel per view: " + ", ".join(views) + ".",
            "All features, and one party's with the other's folded into one bar.",
        ),
        report.explanation_section(views["bank (party view)"], 0),
        report.Table(vertical.differences, "How far each party's view is from the full view (RMSE)"),
    ]
    sections = [
        report.Section(
            "North and south: the same columns, different people",
            report.collaboration_sections(
                horizontal.collaboration,
                accuracy=horizontal.accuracy,
                explanations=horizontal.explanations,
                disagreements=horizontal.disagreements,
                examples=[report.explanation_section(agreed, sample)],
            ),
        ),
        report.Section(
            "Bank and shop: the same people, different columns",
            report.collaboration_sections(vertical.collaboration, accuracy=vertical.accuracy, examples=examples),
        ),
    ]
    lead = "Adult (census income), divided among parties that do not show each other their rows or columns."
    out.mkdir(parents=True, exist_ok=True)
    page = out / "report.html"
    report.Report("dcshap demo", sections, lead=lead).write(page)
    return page


def _plain(horizontal: Horizontal, vertical: Vertical, page: Path) -> dict[str, Any]:
    return {
        "horizontal": {
            "accuracy": horizontal.accuracy,
            "comparison": comparison(horizontal),
            "contradictions": contradictions(horizontal),
            "quality": horizontal.quality.scores,
            "truth": {name: vars(found) for name, found in horizontal.quality.fidelity.items()},
        },
        "vertical": {"accuracy": vertical.accuracy, "views": vertical.differences},
        "report": str(page),
    }


def _show(horizontal: Horizontal, vertical: Vertical, page: Path, *, seconds: float) -> None:
    output.print(WHY_NEIGHBOURS)
    print_table(horizontal.accuracy, "North and south: the same columns, different people. Accuracy")
    print_table(comparison(horizontal), f"Do north and south explain {N_EXPLAINED} predictions alike?")
    found = contradictions(horizontal)
    if len(found):
        title = f"Contradictions found (opposite signs, both above {THRESHOLD:g}), and their resolution: north / south"
        shown = found[["row", "feature"]].copy()
        for method in horizontal.explanations:
            north, south = found[f"{method} north"], found[f"{method} south"]
            shown[method] = [f"{a:+.3f} / {b:+.3f}" for a, b in zip(north, south, strict=True)]
        print_table(shown, title)
    truth = horizontal.quality.fidelity["pooled"]
    output.print(
        f"Agreement is not truth. By logistic regression, north's explanations differ from those of a model on "
        f"everybody's rows by {truth.relative_error:.0%}, with {truth.wrong_signs:.0%} of the signs wrong.\n"
    )
    print_table(vertical.accuracy, "Bank and shop: the same people, different columns. Accuracy")
    print_table(vertical.differences, "How far each party's view is from the full view (RMSE)")
    tell(f"Report: {page} ({seconds:.0f} s)", style="bold")
