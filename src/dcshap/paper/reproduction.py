"""Run experiments, and write what they show: one page, the figures, and the rows for machines."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

import pandas as pd

from dcshap.datasets import load_heart_hospitals, load_pima
from dcshap.exceptions import DatasetError, InputError
from dcshap.paper.alternatives import ALTERNATIVES
from dcshap.paper.bias import BIAS
from dcshap.paper.cells import run_cells
from dcshap.paper.contradictions import CONTRADICTIONS
from dcshap.paper.example import EXAMPLE
from dcshap.paper.horizontal import HORIZONTAL
from dcshap.paper.hospitals import HOSPITALS
from dcshap.paper.models import MODEL_KINDS
from dcshap.paper.outcome import Experiment, Options, Outcome, Row
from dcshap.paper.privacy import PRIVACY
from dcshap.paper.settings import DATASETS, SETTINGS
from dcshap.paper.table1 import TABLE1
from dcshap.paper.targets import Target, check_targets
from dcshap.paper.tasks import SPLITS
from dcshap.paper.vertical import VERTICAL
from dcshap.report import Block, Note, Paragraph, Report, Section, Table

__all__ = ["ALL", "EXPERIMENTS", "Reproduction", "reproduce"]

ALL = "all"
EXPERIMENTS: Mapping[str, Experiment] = MappingProxyType(
    {
        each.name: each
        for each in (
            *(TABLE1, ALTERNATIVES, CONTRADICTIONS, HORIZONTAL, VERTICAL, EXAMPLE, BIAS, HOSPITALS, MODEL_KINDS),
            PRIVACY,
        )
    }
)
PNG_DPI = 110


@dataclass(frozen=True)
class Reproduction:
    """What several experiments showed, by the experiment's name, and what was left out for want of its data."""

    outcomes: dict[str, Outcome]
    left_out: list[str] = field(default_factory=list)

    @property
    def rows(self) -> list[Row]:
        """The rows of all experiments."""
        return [row for outcome in self.outcomes.values() for row in outcome.rows]

    @property
    def targets(self) -> list[Target]:
        """What the reproduction must show, as far as these experiments tell."""
        return check_targets(self.rows)

    def page(self) -> Report:
        """All of it on one page."""
        sections = [Section(EXPERIMENTS[name].title, _blocks(outcome)) for name, outcome in self.outcomes.items()]
        if self.targets:
            sections.insert(0, Section("What it must show", _target_blocks(self.targets)))
        if self.left_out:
            sections.insert(0, Section("What is not here", [Note(text) for text in self.left_out]))
        lead = (
            "The experiments of “Achieving Transparency in Distributed Machine Learning with Explainable Data "
            f"Collaboration”, by dcshap {importlib.metadata.version('dcshap')}, beside the paper's figures."
        )
        return Report("The paper, reproduced", sections, lead=lead)

    def write(self, folder: Path, *, page: str = "report", rows: str = "results") -> Path:
        """Write a page, its figures, and the rows as JSON; the path of the page."""
        (folder / "figures").mkdir(parents=True, exist_ok=True)
        for outcome in self.outcomes.values():
            for file, picture in outcome.pictures.items():
                picture.figure.savefig(folder / "figures" / f"{file}.png", dpi=PNG_DPI, metadata={"Software": None})
        content = {
            "version": importlib.metadata.version("dcshap"),
            "targets": [target.row() for target in self.targets],
            "left_out": self.left_out,
            "results": self.rows,
        }
        text = json.dumps(content, indent=1, allow_nan=False) + "\n"
        (folder / f"{rows}.json").write_text(text, encoding="utf-8")
        self.page().write(folder / f"{page}.html")
        return folder / f"{page}.html"


def reproduce(
    names: Sequence[str],
    options: Options | None = None,
    *,
    folder: Path,
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> Reproduction:
    """Run experiments of the paper.

    Parameters
    ----------
    names : sequence of str
        Of `EXPERIMENTS`, or `"all"`: those whose data can be had. An experiment that is asked for by name fails
        without its data.
    options : Options, optional
        Settings, splits, seeds and data sets; each experiment has its own where they are None.
    folder : Path
        Finished pieces of work are kept in `folder/cache`, and used again by the same version.
    n_jobs : int, optional
        Processes, as joblib counts them; all cores by default.
    progress : bool, optional
        Whether to show a bar on stderr; where that is a terminal by default.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> options = Options(settings=("shared-span",), splits=("skewed",), n_seeds=1, datasets=("iris",))
    >>> with TemporaryDirectory() as folder:
    ...     row = reproduce(["table1"], options, folder=Path(folder)).rows[0]
    >>> row["dcshap_rmse"] < 1e-3
    True
    """
    options = options or Options()
    chosen = _chosen(names)
    _require_known(options)
    left_out: list[str] = []
    if ALL in names:
        chosen, options, left_out = _with_data_at_hand(chosen, options)
    cells = [cell for experiment in chosen for cell in experiment.cells(options)]
    results = run_cells(cells, folder=folder / "cache", n_jobs=n_jobs, progress=progress)
    return Reproduction({each.name: each.outcome(options, results) for each in chosen}, left_out)


def _chosen(names: Sequence[str]) -> list[Experiment]:
    unknown = [name for name in names if name != ALL and name not in EXPERIMENTS]
    if unknown or not names:
        raise InputError(f"Experiments must be of {[ALL, *EXPERIMENTS]}. Got {unknown or 'none'}.")
    wanted = EXPERIMENTS if ALL in names else dict.fromkeys(names)
    return [EXPERIMENTS[name] for name in wanted]


def _with_data_at_hand(chosen: list[Experiment], options: Options) -> tuple[list[Experiment], Options, list[str]]:
    """All experiments but for data that is neither in the package nor found; and a sentence for each such omission."""
    left_out = []
    wanted = options.datasets or DATASETS
    if "pima" in wanted and not _is_there(load_pima):
        options = replace(options, datasets=tuple(name for name in wanted if name != "pima"))
        left_out.append("Pima is left out of all experiments: its file was not found, see `dcshap.datasets`.")
    if not _is_there(load_heart_hospitals):
        chosen = [experiment for experiment in chosen if experiment is not HOSPITALS]
        left_out.append("The four hospitals are left out: their files were not found, see `dcshap.datasets`.")
    return chosen, options, left_out


def _is_there(load: Callable[[], object]) -> bool:
    try:
        load()
    except DatasetError:
        return False
    return True


def _require_known(options: Options) -> None:
    known = {"settings": SETTINGS, "splits": SPLITS, "datasets": DATASETS}
    for what, names in known.items():
        unknown = [name for name in getattr(options, what) or () if name not in names]
        if unknown:
            raise InputError(f"`{what}` must be of {list(names)}. Got {unknown}.")
    if options.n_seeds is not None and options.n_seeds < 1:
        raise InputError(f"`n_seeds` must be at least 1. Got {options.n_seeds}.")


def _target_blocks(targets: list[Target]) -> list[Block]:
    frame = pd.DataFrame([target.row() for target in targets]).drop(columns="why")
    reasons = dict.fromkeys(target.why for target in targets if target.why)
    return [Table(frame, "Targets, and what was found"), *(Note(why) for why in reasons)]


def _blocks(outcome: Outcome) -> list[Block]:
    text = Paragraph(outcome.text)
    tables = [Table(frame, caption) for caption, frame in outcome.tables.items()]
    return [text, *tables[:1], *outcome.pictures.values(), *tables[1:]]
