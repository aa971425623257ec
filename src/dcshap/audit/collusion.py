"""Lines of the audit about an analyst that knows more than it was sent: the map, some rows, a public sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dcshap._typing import FloatArray, IntArray
from dcshap.audit.attacks.decoding import forest_decoded, integer_decoded, linearly_decoded
from dcshap.audit.attacks.known_rows import K, read_with_known
from dcshap.audit.attacks.linkage import linked
from dcshap.audit.attacks.lll import has_lll
from dcshap.audit.attacks.population import read_by_population
from dcshap.audit.findings import Line
from dcshap.audit.release import Release
from dcshap.audit.scores import column_r2, exact_shares, halves, units
from dcshap.audit.verdicts import Thresholds, Verdict, worst

__all__ = ["collusion_lines"]

TOGETHER = "analyst and a party"
ATTACKED = 1500  # rows that are read; the rates' standard error is then about .01
MOST_COORDINATES = 150  # of a lattice that is reduced in seconds
FEWER = "Fewer dimensions (`n_components`) or more `noise`; mark columns that must not be read as `sensitive`."


@dataclass(frozen=True)
class _Read:
    """What was read with the map known: estimates (n, p), R² (M,) of columns, and which rows they are of."""

    estimates: list[FloatArray]
    r2: FloatArray
    at: IntArray
    known: IntArray
    lattice: bool


def collusion_lines(release: Release, table: Thresholds, *, seed: int) -> list[Line]:
    """What an analyst reads together with a party, and with knowledge of its own."""
    if len(release.rows) < 8:
        words = f"{len(release.rows)} rows are too few to measure what can be read of them."
        return [Line("reading with the map", TOGETHER, "columns", float("nan"), "warn", words)]
    read = _read_with_map(release, seed)
    lines = [*_exactly(release, read, table), _columns(release, read, table)]
    if release.sensitive:
        lines.append(_sensitive(release, read, table))
    return [*lines, _linkage(release, read, table), _known(release, table, seed), _population(release, table, seed)]


def _judged(
    attack: str,
    measure: str,
    *,
    value: float,
    words: str,
    table: Thresholds,
    per_column: Mapping[str, float] | None = None,
) -> Line:
    line = Line.judged(attack, TOGETHER, measure, value, words, table=table, advice=FEWER)
    return replace(line, per_column=per_column or {})


def _by_name(names: Sequence[str], shares: FloatArray) -> dict[str, float]:
    return {name: float(share) for name, share in zip(names, shares, strict=True)}


def _read_with_map(release: Release, seed: int) -> _Read:
    at, known = halves(release, seed=seed, most=ATTACKED)
    true, like = release.encoded[at], release.encoded[known]
    noise = np.random.default_rng(seed).standard_normal(release.exact[known].shape) * release.noise
    estimates = [forest_decoded(release.rows[at], release.exact[known] + noise, like, seed=seed)]
    lattice = False
    if release.weights is not None and release.offset is not None:
        estimates.append(linearly_decoded(release.rows[at], release.weights, release.offset, like, noise=release.noise))
        lattice = has_lll() and release.weights.shape[0] <= MOST_COORDINATES
    if lattice:
        estimates.append(_by_lattice(release, at, known))
    r2 = np.max([column_r2(release, each, true) for each in estimates], axis=0)
    return _Read(estimates, r2, at, known, lattice)


def _by_lattice(release: Release, at: IntArray, known: IntArray) -> FloatArray:
    """Encoded rows (n, p) by lattice decoding: raw coordinates are whole numbers of their units."""
    encoder = release.anchor.encoder
    if release.weights is None or release.offset is None:
        return np.empty((0, encoder.n_coordinates))
    like = encoder.unscale(release.encoded[known])
    step = units(like)
    weights = release.weights * (step / encoder.scale)[:, None]
    shifted = release.rows[at] - release.offset + (encoder.center / encoder.scale) @ release.weights
    found = integer_decoded(
        shifted, weights, center=like.mean(axis=0) / step, spread=like.std(axis=0) / step + 0.05, noise=release.noise
    )
    return np.asarray((found * step - encoder.center) / encoder.scale)


def _exactly(release: Release, read: _Read, table: Thresholds) -> list[Line]:
    exact = exact_shares(release, read.estimates, release.codes[read.at], release.codes[read.known])
    value = float(np.mean(exact.cells))
    words = f"{value:.1%} more cells are read exactly than by guessing the most frequent value."
    words += "" if read.lattice else _without_lattice(release)
    per_column = _by_name(release.schema.names, exact.cells)
    of_rows = f"{exact.rows:.1%} of the rows are read exactly, beyond those that guessing the most frequent one gives."
    return [
        _judged("reading cells, map known", "cells", value=value, words=words, table=table, per_column=per_column),
        _judged("reading rows, map known", "rows", value=exact.rows, words=of_rows, table=table),
    ]


def _columns(release: Release, read: _Read, table: Thresholds) -> Line:
    names, mean = release.schema.names, float(read.r2.mean())
    best = int(read.r2.argmax())
    words = f"{mean:.0%} of a column's variance is read on average, {read.r2[best]:.0%} of {names[best]!r}."
    per_column = _by_name(names, read.r2)
    return _judged("reading columns, map known", "columns", value=mean, words=words, table=table, per_column=per_column)


def _without_lattice(release: Release) -> str:
    if not has_lll():
        return " Lattice decoding was not run: install dcshap[audit]."
    if release.weights is None:
        return " The map is not linear: lattice decoding was not run."
    return f" Lattice decoding was not run: more than {MOST_COORDINATES} coordinates."


def _sensitive(release: Release, read: _Read, table: Thresholds) -> Line:
    names, shares = [release.schema.names[j] for j in release.sensitive], read.r2[release.sensitive]
    value = float(shares.max())
    words = f"Of the sensitive columns {names[int(shares.argmax())]!r} is read best: {value:.0%} of its variance."
    if release.avoidance is not None:
        kept, whole = release.avoidance
        words += (
            f" Avoiding them, the span tells {kept:.2f} of the labels' variance; without, it would tell {whole:.2f}."
        )
    attack = "reading sensitive columns, map known"
    return _judged(attack, "sensitive", value=value, words=words, table=table, per_column=_by_name(names, shares))


def _linkage(release: Release, read: _Read, table: Thresholds) -> Line:
    """The better of two ways: nearest reconstruction, and nearest image of a candidate under the map."""
    spread = release.encoded[read.known].var(axis=0)
    shares = np.repeat(read.r2, [block.stop - block.start for block in release.anchor.encoder.blocks])
    weights = np.where(spread > 1e-12, shares / (1.0 - shares + 1e-3) / np.maximum(spread, 1e-12), 0.0)
    rates = [linked(each, read.at, release.encoded, weights=weights) for each in read.estimates[1:]]
    rates.append(linked(release.rows[read.at], read.at, release.exact, weights=np.ones(release.rows.shape[1])))
    value, n = max(rates), len(release.rows)
    words = f"Among {n} rows the right one is found for {value:.1%}; chance gives {1 / n:.2%}."
    return _judged("linkage, map known", "linkage", value=value, words=words, table=table)


def _known(release: Release, table: Thresholds, seed: int) -> Line:
    at, others = halves(release, seed=seed, most=ATTACKED)
    k = min(K, len(others))
    given = others[:k]
    found = read_with_known(release.rows[at], release.encoded[given], of=release.rows[given])
    words = f"Who knows {k} of the rows reads {{mean:.0%}} of a column's variance of the others on average."
    shares = column_r2(release, found, release.encoded[at])
    return _by_columns(
        "known rows", f"analyst who knows {k} rows", release=release, shares=shares, words=words, table=table
    )


def _population(release: Release, table: Thresholds, seed: int) -> Line:
    at, public = halves(release, seed=seed, most=ATTACKED)
    labels, public_labels = (None, None) if release.labels is None else (release.labels[at], release.labels[public])
    found = read_by_population(
        release.rows[at], release.encoded[public], labels=labels, public_labels=public_labels, seed=seed
    )
    words = (
        "Who has other rows of the population, as a public sample, reads {mean:.0%} of a column's variance on average."
    )
    shares = column_r2(release, found, release.encoded[at])
    attacker = "analyst with a public sample"
    return _by_columns("public sample", attacker, release=release, shares=shares, words=words, table=table)


def _by_columns(
    attack: str, attacker: str, *, release: Release, shares: FloatArray, words: str, table: Thresholds
) -> Line:
    mean = float(shares.mean())
    verdicts: list[Verdict] = [table["columns"].verdict(mean)]
    verdicts += [table["sensitive"].verdict(float(shares[j])) for j in release.sensitive]
    verdict = worst(verdicts)
    advice = "" if verdict == "pass" else FEWER
    per_column = _by_name(release.schema.names, shares)
    return Line(attack, attacker, "columns", mean, verdict, words.format(mean=mean), advice, per_column)
