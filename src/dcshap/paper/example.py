"""The example of Section 4.4: one person's explanation, the guest's features folded into "DC Features"."""

from __future__ import annotations

import numpy as np

from dcshap import report
from dcshap.paper.cells import Results
from dcshap.paper.outcome import Experiment, Group, Options, Outcome, Row, by_seed, table_of
from dcshap.paper.packing import unpack_all
from dcshap.paper.vertical import explain_views

__all__ = ["EXAMPLE"]

PREDICTION = 4 / 7  # the paper's sample has 0.6: four of seven neighbours
VIEWS = ("host, Algorithm 4", "host, party view", "all features, Algorithm 3")

TEXT = """\
One of the rows of the vertical experiment, the first whose prediction is the paper's 0.6 (four of seven neighbours).
The features of the host are as the host sees them; the bar "DC Features" is all that it sees of the guest's. Base value
and bars sum to the prediction.
"""


def groups(options: Options) -> list[Group]:  # noqa: ARG001 - one sample of one run, whatever the options
    """The same cells as of the vertical experiment."""
    return by_seed(explain_views, Options(), n_seeds=1, setting=("default",))


def outcome(options: Options, results: Results) -> Outcome:
    """One row per view and feature, and a waterfall per view."""
    ((_, (cell,)),) = groups(options)
    views = unpack_all(results[cell]["views"])
    predictions = views[VIEWS[0]].predictions[:, 1]
    sample = int(np.argmin(np.abs(predictions - PREDICTION)))
    rows: list[Row] = []
    for name in VIEWS:
        view = views[name]
        about = {
            "experiment": "example",
            "view": name,
            "sample": sample,
            "prediction": float(view.predictions[sample, 1]),
            "base_value": float(view.base_values[sample, 1]),
        }
        rows += [
            about | {"feature": feature, "value": float(view.values[sample, at, 1])}
            for at, feature in enumerate(view.feature_names)
        ]
    tables = {
        name: table_of([row for row in rows if row["view"] == name], {"feature": "feature", "value": "value"})
        for name in VIEWS
    }
    pictures = {
        f"example-{number}": report.Picture(
            report.waterfall(views[name], sample), report.describe_waterfall(views[name], sample), name
        )
        for number, name in enumerate(VIEWS, 1)
    }
    return Outcome(rows, TEXT, tables, pictures)


EXAMPLE = Experiment("example", "Section 4.4: one explanation", groups, outcome)
