"""Lines of the audit about all that was ever sent: trainings, record vectors, Algorithm 3, sums and the schema."""

from __future__ import annotations

import numpy as np

from dcshap.audit.attacks.extremes import FEW, bounds_of_one_row, small_classes
from dcshap.audit.attacks.membership import found_by_moments
from dcshap.audit.attacks.retraining import dimensions_seen
from dcshap.audit.findings import ALONE, Line
from dcshap.audit.release import History, Release
from dcshap.audit.verdicts import Thresholds, Verdict
from dcshap.collaboration.party import Party
from dcshap.collaboration.vertical_party import VerticalParty

__all__ = ["ledger_lines"]

PARTY = "another party"


def ledger_lines(party: Party, release: Release, history: History, table: Thresholds, *, seed: int) -> list[Line]:
    """What the record of everything sent so far gives away."""
    return [
        _retraining(release, history, table),
        _record_vectors(release, history, table),
        _algorithm3(history),
        _sums(party, release, history, table, seed),
        _extremes(party, release, table),
    ]


def _retraining(release: Release, history: History, table: Thresholds) -> Line:
    d = release.rows.shape[1]
    seen = dimensions_seen(history.representations) if history.representations else d * max(history.maps, 1)
    words = f"Over all trainings the analyst has seen {seen} dimensions of these rows; one training shows {d}."
    advice = "Keep the maps of the first training; do not ask for new ones (`refit_span`)."
    return Line.judged("retraining", ALONE, "rank", float(seen - d), words, table=table, advice=advice)


def _record_vectors(release: Release, history: History, table: Thresholds) -> Line:
    columns = len(release.schema)
    most, who = max(((n, name) for name, n in history.record_vectors.items()), default=(0, "nobody"))
    verdict = table["records"].verdict(most - columns)
    if verdict == "fail" and table["noise"].verdict(release.noise / max(release.rms, 1e-300)) != "fail":
        verdict = "warn"  # noise keeps the vectors from being solved for the columns
    words = (
        f"{who!r} has the vectors of {most} records, more than any other; {columns} columns could be solved for."
        if most
        else "No recipient has vectors of single records."
    )
    advice = "" if verdict == "pass" else "Lower the budget per recipient, or answer fewer requests for party views."
    return Line("record vectors", PARTY, "records", float(most - columns), verdict, words, advice)


def _algorithm3(history: History) -> Line:
    verdict: Verdict = "pass" if not history.algorithm3 else "warn" if history.consented else "fail"
    words = {
        "pass": "Algorithm 3 is off.",
        "warn": "Algorithm 3 is on, as this party agreed to: it shows the analyst what each column of a record adds.",
        "fail": "Algorithm 3 is on without this party's consent: it shows the analyst what decodes training rows.",
    }[verdict]
    advice = "" if verdict == "pass" else "Ask for party views instead (`index='owen'`)."
    return Line("algorithm 3", ALONE, "algorithm3", float(history.algorithm3), verdict, words, advice)


def _sums(party: Party, release: Release, history: History, table: Thresholds, seed: int) -> Line:
    span = party.agreement.span
    if span not in ("supervised", "shared"):
        words = f"With span={span!r} no sums are released."
        return Line("sums", PARTY, "epsilon", 0.0, "pass", words)
    if isinstance(party, VerticalParty):
        return _label_sums(party, release, table)
    epsilon = party.agreement.epsilon if history.epsilon is None else history.epsilon
    if epsilon is not None and table["epsilon"].verdict(epsilon) == "pass":
        words = f"The sums have noise: ε = {epsilon:g} in all."
        return Line("sums", PARTY, "epsilon", float(epsilon), "pass", words)
    n_parties = 2 if history.n_parties is None else history.n_parties
    fewest = release.n_total if history.summed_rows is None else history.summed_rows
    enough = n_parties >= 3 or table["summed rows"].verdict(fewest) != "fail"
    rate = found_by_moments(release.encoded, seed=seed)
    words = (
        f"Exact sums of {n_parties} parties, of {fewest} rows at the least. Of two, each knows the other's. From the "
        f"sums of half the rows, {rate:.0%} of their records are told from others at 1% of false alarms."
    )
    advice = "Set `epsilon` to 3 or less, or use span='private' or 'random'."
    return Line("sums", PARTY, "summed rows", float(fewest), "warn" if enough else "fail", words, advice)


def _label_sums(party: VerticalParty, release: Release, table: Thresholds) -> Line:
    if party._labels is None:
        words = (
            "The columns leave under a mask that the analyst dealt: the analyst and the party with the labels "
            "together take it off, and read the encoded rows."
        )
        return Line("sums", "analyst and label holder", "summed rows", float("nan"), "warn", words, "span='private'")
    verdict: Verdict = "fail" if table["summed rows"].verdict(release.n_total) == "fail" else "warn"
    words = f"Guests learn noisy sums of their columns with the labels, over {release.n_total} records."
    return Line("sums", PARTY, "summed rows", float(release.n_total), verdict, words, "span='private' sends none.")


def _extremes(party: Party, release: Release, table: Thresholds) -> Line:
    bounds = bounds_of_one_row(np.asarray(party.codes), release.schema)
    classes = 0
    if release.labels is not None and party.agreement.task == "classes":
        classes = small_classes(release.labels) if release.n_total == len(release.labels) else 0
    value = float(sum(bounds.values()) + classes)
    verdict = table["extremes"].verdict(value)
    words = f"{sum(bounds.values())} bounds of the schema are attained by one row alone"
    words += f" (columns {', '.join(sorted(bounds))})" if bounds else ""
    words += f"; {classes} classes have fewer than {FEW} rows."
    advice = "" if verdict == "pass" else "Agree on coarser ranges, and join rare classes."
    return Line("labels and schema", PARTY, "extremes", value, verdict, words, advice)
