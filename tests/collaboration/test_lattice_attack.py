"""What a party sends is decoded row by row where it is exact, and not at all under the default noise."""

from __future__ import annotations

import numpy as np
import pytest

from dcshap import datasets
from dcshap.collaboration.moments import Moments, class_responses
from dcshap.collaboration.newton import Logits
from dcshap.collaboration.noise import NOISE, frozen_noise, noise_scale, record_digests
from dcshap.collaboration.reduction import fit_reduction, random_basis
from dcshap.collaboration.span import auto_components, common_span
from dcshap.schema import Schema
from dcshap.schema.encoding import Encoder

pytest.importorskip("fpylll")
from tests.collaboration.lattice import decoded_rows

SPANS = ("private", "shared", "random", "supervised")
N_ROWS = 60


def sent(name: str, span: str, noise: float):
    """What a party sends for some of its rows, and the integers behind them."""
    data = getattr(datasets, f"load_{name}")()
    rows = np.random.default_rng(0).permutation(len(data.target))[:2000]
    schema = Schema.from_frames([data.data])
    codes, y = schema.codes(data.data.iloc[rows]), data.target.to_numpy()[rows]
    encoder = Encoder.from_schema(schema)
    encoded, names = encoder.encode(codes), encoder.coordinate_names
    if span == "supervised":
        classes = np.unique(y)
        d = auto_components(len(schema), len(classes) - 1)
        responses = class_responses(y, classes)
        moments = Moments.of([encoded], responses, classes=True)
        logits = Logits.first(moments)
        for _ in range(3):
            logits = logits.updated(logits.contribution([encoded], responses))
        basis = common_span(moments, names=names, n_components=d, seed=1, logits=logits.weights).weights
    else:
        d = round(0.75 * len(schema))
        basis = {
            "private": np.linalg.svd(encoded, full_matrices=False)[2][:d].T,
            "shared": np.linalg.svd(encoded - encoded.mean(axis=0), full_matrices=False)[2][:d].T,
            "random": random_basis(names, d, seed=1),
        }[span]
    F = fit_reduction("svd", list, names=names, n_components=basis.shape[1], private_seed=5, basis=basis)
    represented = F.transform(encoded)
    scale = noise_scale(represented, fraction=noise)
    digests = record_digests(codes, private_seed=5)
    represented += frozen_noise(digests, scale, private_seed=5, map_name=span)
    return represented[:N_ROWS], codes[:N_ROWS]


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("name", ["heart", "adult", "iris"])
def test_exact_representations_are_decoded(name, span):
    representation, codes = sent(name, span, 0.0)
    assert decoded_rows(representation, codes) == 1


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("name", ["heart", "adult", "iris", "wine", "breast_cancer"])
def test_the_default_noise_keeps_every_row(name, span):
    representation, codes = sent(name, span, NOISE)
    # The attacker may look at fewer digits, where the noise has not reached.
    assert [decoded_rows(representation, codes, bits=bits) for bits in (3, 6, 10, 20, 44)] == [0] * 5


def test_noise_that_is_too_small_does_not_help():
    representation, codes = sent("iris", "private", 1e-6)
    assert decoded_rows(representation, codes, bits=16) == 1


def test_the_breast_cancer_table_is_decoded_from_three_quarters_of_the_dimensions():
    representation, codes = sent("breast_cancer", "private", 0.0)
    assert decoded_rows(representation, codes) == 1
