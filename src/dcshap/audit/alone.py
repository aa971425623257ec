"""Lines of the audit about the representation in the hands of the analyst alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dcshap._typing import FloatArray
from dcshap.audit.attacks.components import chance_level, components_of, likeness, rows_by_anchor
from dcshap.audit.attacks.lattice import descended, found_columns, integer_basis, integer_rows, lattice_gap
from dcshap.audit.attacks.lll import has_lll
from dcshap.audit.findings import ALONE, Line
from dcshap.audit.release import Release
from dcshap.audit.verdicts import Thresholds

__all__ = ["analyst_lines"]

LATTICE_ROWS = (40, 60)  # as few as it takes; with more columns it takes more rows
DESCENT_ROWS = 300
COMPONENT_ROWS = 4000
MORE_NOISE = "Raise `noise` to 0.2, the default."


def analyst_lines(release: Release, beside: Sequence[Release], table: Thresholds, *, seed: int) -> list[Line]:
    """What the analyst alone makes of the rows, the anchor and the other parties' representations."""
    return [_noise(release, table), _lattice(release, table, seed), _components(release, beside, table, seed)]


def _noise(release: Release, table: Thresholds) -> Line:
    share = release.noise / max(release.rms, 1e-300)
    words = f"The noise on every row is {share:.2g} of the representation's root mean square."
    return Line.judged("noise", ALONE, "noise", share, words, table=table, advice=MORE_NOISE)


def _lattice(release: Release, table: Thresholds, seed: int) -> Line:
    if not has_lll():
        words = "Not run: install dcshap[audit]."
        return Line("hidden lattice", ALONE, "lattice", float("nan"), "warn", words, "Install dcshap[audit].")
    # Rows that are alike are sent alike; that they are is known, and no decoding.
    _, first = np.unique(release.rows, axis=0, return_index=True)
    at = np.random.default_rng(seed).permutation(np.sort(first))
    if len(at) < 2 * release.rows.shape[1] + 8:
        words = f"{len(at)} different rows of {release.rows.shape[1]} dimensions are too few for the attack."
        return Line("hidden lattice", ALONE, "lattice", 0.0, "pass", words)
    sizes = sorted({min(n, len(at)) for n in LATTICE_ROWS})
    gaps = {n: lattice_gap(release.rows[at[:n]], seed=seed) for n in sizes}
    n_rows, gap = max(gaps.items(), key=lambda item: item[1].beyond)
    words = (
        f"Integer relations between {n_rows} rows stand out by {gap.bits:.1f} bits; chance gives {gap.by_chance:.1f}."
    )
    line = Line.judged("hidden lattice", ALONE, "lattice", gap.beyond, words, table=table, advice=MORE_NOISE)
    if line.verdict != "fail":
        return line
    found = _single_columns(release, at, n_rows)
    words += f" The rows are known up to a change of basis, and {len(found)} columns exactly."
    return replace(
        line, words=words, per_column={name: float(j in found) for j, name in enumerate(release.schema.names)}
    )


def _single_columns(release: Release, at: FloatArray, n_rows: int) -> set[int]:
    """Which raw columns are found exactly by lowering the entropy of the hidden integer basis."""
    found: set[int] = set()
    rows, raw = release.rows[at[:DESCENT_ROWS]], release.anchor.encoder.unscale(release.encoded[at[:DESCENT_ROWS]])
    basis = integer_basis(rows[:n_rows])
    if not basis.shape[1]:
        return found
    further = integer_rows(rows, basis)
    for candidates, true in ((basis, raw[:n_rows]), ((further - further[0])[1:], raw)):
        coordinates = set(found_columns(descended(candidates), true))
        for j, block in enumerate(release.anchor.encoder.blocks):
            if coordinates & set(range(block.start, block.stop)):
                found.add(j)
    return found


def _components(release: Release, beside: Sequence[Release], table: Thresholds, seed: int) -> Line:
    at = np.random.default_rng(seed).permutation(len(release.rows))[:COMPONENT_ROWS]
    seen, columns = release.rows[at], release.codes[at]
    if len(seen) < 8:
        words = f"{len(seen)} rows are too few for the attack."
        return Line("components", ALONE, "components", 0.0, "pass", words)
    found = [components_of(seen, seed=seed)]
    anchors = [each.reduced_anchor for each in (release, *beside) if each.reduced_anchor is not None]
    if release.reduced_anchor is not None:
        found.append(components_of(release.reduced_anchor, seen=seen, seed=seed))
        rows = [seen, *(each.rows for each in beside if each.reduced_anchor is not None)]
        guessed = rows_by_anchor(anchors, rows, release.anchor.rows, seed=seed)[0]
        found.append(release.anchor.encoder.decode(guessed))
    together = _aligned(release, beside)
    if together is not None:
        found.append(components_of(together, seen=seen, seed=seed))
    chance = max(chance_level(each, columns, seed=seed) for each in found)
    shares = np.max([likeness(each, columns) for each in found], axis=0)
    return _components_line(release, shares, chance, table)


def _components_line(release: Release, shares: FloatArray, chance: float, table: Thresholds) -> Line:
    names, looked_at = release.schema.names, release.sensitive or list(range(len(shares)))
    best = max(looked_at, key=lambda j: shares[j])
    value = float(shares[best]) if shares[best] > chance else 0.0
    words = (
        f"The direction most like a single column has |correlation| {shares[best]:.2f} with {names[best]!r}; chance "
    )
    words += f"gives {chance:.2f}." + ("" if release.sensitive else " No column is marked `sensitive`.")
    verdict = table["components"].verdict(value) if release.sensitive else "pass"
    per_column = {name: float(share) for name, share in zip(names, shares, strict=True)}
    advice = "" if verdict == "pass" else "Fewer dimensions (`n_components`), or leave the column out."
    return Line("components", ALONE, "components", value, verdict, words, advice, per_column)


def _aligned(release: Release, beside: Sequence[Release]) -> FloatArray | None:
    """Rows of all parties in the coordinates of this one, as the analyst aligns them by their reduced anchors."""
    if release.reduced_anchor is None or not beside:
        return None
    rows = [release.rows]
    for each in beside:
        if each.reduced_anchor is not None:
            centers = each.reduced_anchor.mean(axis=0), release.reduced_anchor.mean(axis=0)
            change, *_ = np.linalg.lstsq(each.reduced_anchor - centers[0], release.reduced_anchor - centers[1])
            rows.append((each.rows - centers[0]) @ change + centers[1])
    together = np.concatenate(rows)
    return together[np.random.default_rng(0).permutation(len(together))]
