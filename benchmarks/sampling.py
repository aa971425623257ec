"""Sampled Shapley values against their peers, at equal numbers of evaluations.

An error is `‖φ̂ − φ‖² / ‖φ‖²`, averaged over samples and seeds. Games and estimators are those of
`benchmarks.sampled_games` and `benchmarks.estimators`.

Every game is first played by everybody for a few samples. Peers whose error is then more than three times that of the
best peer, and those whose values are another's, do not play the others, for some take a minute for one sample; those
with more than a hundred times its error do not play with more evaluations either. Errors are written to
`results/sampling.jsonl` as they are found, with the version of what was measured (for dcshap, a hash of its sampling).
A run takes from there what it needs, so that one that was cut off goes on where it was.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np

import dcshap.shapley
from benchmarks.estimators import ESTIMATORS
from benchmarks.report import RESULTS
from benchmarks.sampled_games import CountedGame, Problem, problems

__all__ = ["play", "run"]

EVALS_PER_FEATURE = (8, 16, 32, 64, 128, 256)
N_SAMPLES, N_SEEDS, N_FIRST = 20, 5, 4
HOPELESS, FAR_OFF = 3.0, 100.0  # times the best peer's error
EXACT = 1e-20  # errors below are rounding
JOURNAL = RESULTS / "sampling.jsonl"
PACKAGES = ("Leverage SHAP", "shap ", "shapiq", "lightshap")


class Run(NamedTuple):
    """One estimate: by whom (and which version), of which game, with how many evaluations."""

    by: str
    version: str
    game: str
    evals_per_feature: int
    sample: int
    seed: int


Errors = dict[Run, float]


def run(*, quick: bool = False) -> list[dict[str, Any]]:
    """One row per game and budget: mean errors of dcshap, of Leverage SHAP and of each package's best estimator."""
    n_samples, n_seeds, budgets = (2, 1, EVALS_PER_FEATURE[:1]) if quick else (N_SAMPLES, N_SEEDS, EVALS_PER_FEATURE)
    errors, rows = read_journal(), []
    for problem in problems(n_samples):
        names = list(ESTIMATORS)
        for budget in budgets:
            rows.append(play(problem, budget, names, n_seeds, errors))
            names = still_playing(problem, budget, names, errors)
    return rows


def still_playing(problem: Problem, evals: int, names: Sequence[str], errors: Errors) -> list[str]:
    """Who plays with more evaluations: those that were not far off, or had too few."""
    first = {
        name: np.mean(_errors_of(name, problem.name, evals, _plays(problem, 1)[:N_FIRST], errors)) for name in names
    }
    best = min(mean for name, mean in first.items() if name != "dcshap")
    return [name for name, mean in first.items() if name == "dcshap" or not FAR_OFF * best < mean < np.inf]


def play(problem: Problem, evals: int, names: Sequence[str], n_seeds: int, errors: Errors) -> dict[str, Any]:
    """Play a game with so many evaluations per feature, as far as that was not done before; one row of the table."""
    everybody = _plays(problem, n_seeds)
    first, others = everybody[:N_FIRST], everybody[N_FIRST:]
    _fill(problem, evals, names, first, errors)
    hopeful = _hopeful({name: _errors_of(name, problem.name, evals, first, errors) for name in names})
    _fill(problem, evals, hopeful, others, errors)
    return _row(problem, evals, {name: _errors_of(name, problem.name, evals, everybody, errors) for name in hopeful})


def _plays(problem: Problem, n_seeds: int) -> list[tuple[int, int]]:
    return [(sample, seed) for seed in range(n_seeds) for sample in range(len(problem.games))]


def _hopeful(first: dict[str, list[float]]) -> list[str]:
    """Who may turn out to be the best peer, dcshap and Leverage SHAP in any case."""
    means = {name: float(np.mean(each)) for name, each in first.items()}
    best = min((mean for name, mean in means.items() if name != "dcshap"), default=np.inf)
    chosen: list[str] = []
    for name, mine in first.items():
        within = means[name] <= HOPELESS * max(best, EXACT)
        peers = (other for other in chosen if other != "dcshap")
        repeated = any(np.allclose(mine, first[other], rtol=1e-3, atol=EXACT) for other in peers)
        if name in ("dcshap", "Leverage SHAP") or (within and not repeated):
            chosen.append(name)
    return chosen


def _row(problem: Problem, evals: int, errors: dict[str, list[float]]) -> dict[str, Any]:
    mean = {name: float(np.mean(each)) for name, each in errors.items()}
    best = {
        package: min((name for name in mean if name.startswith(package)), key=mean.__getitem__, default=None)
        for package in PACKAGES
    }
    row: dict[str, Any] = {"game": problem.name, "evals per feature": evals, "runs": len(next(iter(errors.values())))}
    row["dcshap"] = mean.get("dcshap", np.nan)
    row |= {package.strip(): None if name is None else mean[name] for package, name in best.items()}
    row["best peer"] = best_peer = min((name for name in mean if name != "dcshap"), key=mean.__getitem__)
    row["of best peer"] = _ratio(row["dcshap"], mean[best_peer])
    if "Leverage SHAP" in mean:  # it may have been far off with fewer evaluations
        row["of Leverage SHAP"] = _ratio(row["dcshap"], mean["Leverage SHAP"])
    return row


def _ratio(ours: float, theirs: float) -> float | str:
    return "both exact" if max(ours, theirs) <= EXACT else ours / max(theirs, EXACT)


# --- what was measured ------------------------------------------------------------------------------------------------


def read_journal() -> Errors:
    """The errors that were found before, of the versions that are installed."""
    found: Errors = {}
    if JOURNAL.exists():
        for line in JOURNAL.read_text().splitlines():
            *about, error = json.loads(line)
            of = Run(*about)
            if of.by in ESTIMATORS and of.version == version_of(of.by):
                found[of] = error
    return found


def _fill(problem: Problem, evals: int, names: Iterable[str], plays: Sequence[tuple[int, int]], errors: Errors) -> None:
    """Find the errors that are missing, and write each to the journal as soon as it is there."""
    runs = [Run(name, version_of(name), problem.name, evals, sample, seed) for sample, seed in plays for name in names]
    games = [CountedGame(game, problem.n_players) for game in problem.games]
    RESULTS.mkdir(exist_ok=True)
    found = joblib.Parallel(n_jobs=-1, return_as="generator_unordered")(
        joblib.delayed(_error)(each, games[each.sample], problem.truths[each.sample])
        for each in runs
        if each not in errors
    )
    with JOURNAL.open("a") as journal:
        for each, error in found:
            errors[each] = error
            journal.write(json.dumps([*each, error]) + "\n")
            journal.flush()


def _errors_of(name: str, game: str, evals: int, plays: Sequence[tuple[int, int]], errors: Errors) -> list[float]:
    return [errors[Run(name, version_of(name), game, evals, sample, seed)] for sample, seed in plays]


def _error(of: Run, game: CountedGame, truth: Any) -> tuple[Run, float]:
    """An estimate's error, infinite where the budget is too small for the estimator, or it fails."""
    budget, game.n_evals = of.evals_per_feature * game.n_players, 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            values = ESTIMATORS[of.by](game, budget, of.seed)
    except Exception:
        if of.by == "dcshap":
            raise
        values = np.full(len(truth), np.nan)
    assert game.n_evals <= budget, f"{of.by} took {game.n_evals} evaluations of {budget}"
    error = float(((values - truth) ** 2).sum() / (truth**2).sum())
    return of, error if np.isfinite(error) else np.inf


@lru_cache
def version_of(name: str) -> str:
    """What was measured: a package's version, or a hash of our own files."""
    if name != "dcshap":
        return "1" if name.startswith("Leverage") else version(name.split(maxsplit=1)[0])
    folder = Path(dcshap.shapley.__file__).parent / "sampled"
    return sha256(b"".join(path.read_bytes() for path in sorted(folder.glob("*.py")))).hexdigest()[:12]
