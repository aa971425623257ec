"""What leaves a party: its representation with everything that an attack is scored against.

After training it is what was sent. Before the first training it is what would be sent; a span that is found together
with the others is then the one that the party's own rows alone would give.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from dcshap._typing import Array, FloatArray
from dcshap.collaboration.anchor import Anchor
from dcshap.collaboration.bends import Bends, Held
from dcshap.collaboration.horizontal_party import HorizontalParty
from dcshap.collaboration.labels import target_values
from dcshap.collaboration.messages import AnchorSeed
from dcshap.collaboration.moments import Moments, class_responses, number_responses
from dcshap.collaboration.newton import Logits
from dcshap.collaboration.party import Party
from dcshap.collaboration.randomness import derived_seed, stream
from dcshap.collaboration.reduction import covariance, leading_eigenvectors, moment_matrix, oriented
from dcshap.collaboration.span import CommonSpan, common_span, explained, n_predictive
from dcshap.collaboration.vertical_party import VerticalParty
from dcshap.schema import Schema
from dcshap.schema.encoding import sensitive_coordinates, straight_coordinates

__all__ = ["History", "Release", "release_of"]

N_ROWS = 20_000  # rows that are looked at; more change the figures by less than their chance variation


@dataclass(frozen=True)
class History:
    """What a ledger, or the record of a run, knows of all that a party ever sent.

    Attributes
    ----------
    maps : int
        How many different maps the same rows were ever sent through.
    representations : tuple of arrays of shape (n, d)
        The same rows as they were sent in each training, where they are at hand; they are then counted instead.
    record_vectors : mapping of recipient to int
        How many records' vectors each recipient has, over all requesters.
    algorithm3 : bool
        Whether Algorithm 3 was run, or is allowed.
    consented : bool
        Whether the party agreed to Algorithm 3.
    epsilon : float, optional
        Privacy budget spent on sums in all trainings together; of the agreement by default.
    n_parties : int, optional
        Parties whose sums are added up.
    summed_rows : int, optional
        Rows of the party that brings fewest; this party's by default.
    """

    maps: int = 1
    representations: tuple[FloatArray, ...] = ()
    record_vectors: Mapping[str, int] = field(default_factory=dict)
    algorithm3: bool = False
    consented: bool = False
    epsilon: float | None = None
    n_parties: int | None = None
    summed_rows: int | None = None


@dataclass(frozen=True)
class Release:
    """A party's representation and what stands behind it, of at most `N_ROWS` rows.

    Attributes
    ----------
    party : str
    schema : Schema
    rows : array of shape (n, d)
        As the analyst gets them.
    exact : array of shape (n, d)
        Without their noise.
    reduced_anchor : array of shape (n_anchor, d), optional
        Where the analyst gets it.
    anchor : Anchor
        What the parties share: encoder and anchor rows.
    encoded, codes : arrays of shape (n, p) and (n, M)
    weights, offset : arrays of shape (p, d) and (d,), optional
        The map, where it is linear.
    noise : float
        Standard deviation of the noise on each dimension.
    labels : array of shape (n,), optional
    n_total : int
        Rows that the party holds.
    avoidance : (float, float), optional
        What a supervised span tells of the labels' variance: with sensitive columns avoided, and without.
    notes : tuple of str
    """

    party: str
    schema: Schema
    rows: FloatArray
    exact: FloatArray
    reduced_anchor: FloatArray | None
    anchor: Anchor
    encoded: FloatArray
    codes: FloatArray
    weights: FloatArray | None
    offset: FloatArray | None
    noise: float
    labels: Array | None
    n_total: int
    avoidance: tuple[float, float] | None = None
    notes: tuple[str, ...] = ()

    @property
    def rms(self) -> float:
        """Root mean square of the exact representation about its mean."""
        return float(np.sqrt(np.mean((self.exact - self.exact.mean(axis=0)) ** 2)))

    @property
    def sensitive(self) -> list[int]:
        """Positions of the columns that the schema marks as sensitive."""
        return [j for j, column in enumerate(self.schema.columns) if column.sensitive]


def release_of(party: Party, *, seed: int = 0, n_rows: int = N_ROWS) -> Release:
    """What a party with its rows at hand has sent, or would send; the party itself is left as it is."""
    own, notes = copy.copy(party), []
    n_total = len(party.codes)
    at = np.arange(n_total)
    if n_total > n_rows:
        at = np.sort(stream(seed, "audit rows").choice(n_total, n_rows, replace=False))
        notes.append(f"{n_rows} of {n_total} rows were drawn at random, and attacked.")
    own._codes, own._own_rows = party.codes[at], None
    labels = _labels(party, at)
    if own._anchor is None:
        own.receive_anchor(AnchorSeed(derived_seed(seed, "audit anchor")))
    if own._reduction is None:
        notes.append(_assumed(own, labels))
        reduced_anchor, rows = own._reduce(*_expected_span(own, labels))
    else:
        reduced_anchor = own.reduction.transform(own.anchor.rows)
        rows = own.reduction.transform(own.anchor.encode(own.codes)) + own.noise_of(own.codes)
    linear, encoded = own.linear_reduction, own.anchor.encode(own.codes)
    return Release(
        party=party.name,
        schema=party.agreement.schema,
        rows=rows,
        exact=own.reduction.transform(encoded),
        reduced_anchor=reduced_anchor if isinstance(party, HorizontalParty) else None,
        anchor=own.anchor,
        encoded=encoded,
        codes=np.where(np.isnan(own.codes), own.anchor.reference(), own.codes),
        weights=None if linear is None else linear.weights,
        offset=None if linear is None else linear.offset,
        noise=0.0 if own._noise_scale is None else float(own._noise_scale.max()),
        labels=labels,
        n_total=n_total,
        avoidance=_cost_of_avoiding(own, labels),
        notes=tuple(notes),
    )


def _cost_of_avoiding(party: Party, labels: Array | None) -> tuple[float, float] | None:
    """What the party's map tells of the labels, and what a span that avoids nothing would, over its own rows."""
    linear, sensitive = party.linear_reduction, sensitive_coordinates(party.agreement.schema)
    if linear is None or labels is None or not sensitive or party.agreement.span != "supervised":
        return None
    moments, span = own_span(party, labels, avoiding=False)
    return explained(moments, linear.weights), explained(moments, span.weights)


def _labels(party: Party, at: Array) -> Array | None:
    if isinstance(party, HorizontalParty):
        return None if party._labels is None else party.labels[at]
    if not isinstance(party, VerticalParty) or party._labels is None:
        return None
    known = dict(zip(*party._labels, strict=True))
    names = (party.held if party._common is None else party.common).identifiers
    found = [known.get(names[row]) for row in at]
    return None if any(label is None for label in found) else np.array(found)


def _assumed(party: Party, labels: Array | None) -> str:
    if party.agreement.span in ("private", "random"):
        return "Nothing was sent yet: this is what would be."
    missing = "" if labels is not None or party.agreement.span != "supervised" else ", without the labels it lacks"
    return (
        f"Nothing was sent yet. The span that all parties find together is not known: the one that {party.name!r} "
        f"would find from its own rows{missing} stands in for it."
    )


def _expected_span(party: Party, labels: Array | None) -> tuple[FloatArray | None, FloatArray | None]:
    """The basis and offset that the party would be told, as its own rows alone give them."""
    if party.agreement.span == "shared":
        moments = moment_matrix(party._encoded())
        return oriented(leading_eigenvectors(covariance(moments), party.agreement.dimensions), moments[0, 1:]), None
    if party.agreement.span != "supervised":
        return None, None
    _, span = own_span(party, labels)
    party._usual_spread = span.rms
    return span.weights, span.offset


def own_span(party: Party, labels: Array | None, *, avoiding: bool = True) -> tuple[Moments, CommonSpan]:
    """The moments and the supervised span of the party's own rows; random directions alone where it has no labels.

    `avoiding` takes out what columns marked as sensitive could be read from.
    """
    agreement = replace(party.agreement, epsilon=None)
    classes = agreement.task == "classes" or labels is None
    n_rows = len(party.codes)
    if labels is None:
        responses = np.ones((n_rows, 1))
    elif classes:
        responses = class_responses(labels, np.unique(labels))
    else:
        low, high = target_values(labels, classes=False)
        responses = number_responses(labels, low=float(low), high=float(high if high > low else low + 1.0))
    moments = Moments.of(party._encoded(), responses, classes=classes)
    logits = bends = None
    rounds = agreement.rounds if isinstance(party, HorizontalParty) else 0
    if rounds and classes and responses.shape[1] > 1:
        newton = Logits.first(moments)
        for _ in range(rounds):
            newton = newton.updated(newton.contribution(party._encoded(), responses))
        logits, bends = newton.weights, _own_bends(party, newton, responses)
    return moments, common_span(
        moments,
        names=party.anchor.encoder.coordinate_names,
        n_components=agreement.components(max(n_predictive(moments), 1)),
        seed=party.anchor_seed or 0,
        logits=logits,
        bends=bends,
        sensitive=sensitive_coordinates(agreement.schema) if avoiding else (),
    )


def _own_bends(party: Party, logits: Logits, responses: FloatArray) -> FloatArray:
    """The directions (p, m) along which the party's own rows bend."""
    schema, predictive = party.agreement.schema, responses.shape[1] - 1
    room = party.agreement.components(predictive) - predictive
    bends = Bends(logits, straight_coordinates(schema), party.anchor.encoder.coordinate_names, room)
    curvature = bends.curvature(Held(party._encoded(), responses))
    return bends.directions(curvature, bends.checks(Held(party._encoded(), responses), curvature))
