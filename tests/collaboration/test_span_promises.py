"""The supervised span from end to end on Heart, as the benchmark plays it: what it promises, on a few divisions."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.pipeline import exposure
from benchmarks.span import MODELS, Division, _true
from benchmarks.tables import load


@pytest.fixture(scope="module")
def runs():
    divisions = [Division(load("heart"), seed) for seed in range(4)]
    return [(division, division.together(division.halves())) for division in divisions]


def test_the_parties_points_are_the_same(runs):
    for division, pipeline in runs:
        held = division.codes[division.held]
        np.testing.assert_array_equal(pipeline.transform(held, 0), pipeline.transform(held, 1))


def test_logistic_regression_predicts_as_on_pooled_rows(runs):
    differences = []
    for division, pipeline in runs:
        points, y = pipeline.transform(division.codes[division.held]), division.y[division.held]
        pooled = division.plain("logistic", division.kept).score(division.encoded["logistic"][division.held], y)
        differences.append(pipeline.train(MODELS["logistic"]).score(points, y) - pooled)
    assert abs(np.mean(differences)) < 0.02


def test_explanations_are_nearer_to_the_pooled_model_than_those_of_half_the_rows(runs):
    for seed, (division, pipeline) in enumerate(runs):
        half = np.random.default_rng(seed).permutation(division.kept)[: len(division.kept) // 2]
        found = _true(division, pipeline, "logistic", division.codes[division.held[:15]], half)
        assert found["error"] < found["floor error"]
        assert found["error"] < 0.15
        assert found["rank"] > 0.95
        assert found["signs"] < 0.02


def test_whoever_knows_the_map_reads_a_part_of_the_columns_only(runs):
    read = [
        exposure(division.schema, division.codes[division.kept], pipeline.sent(0, division.codes[division.kept]))
        for division, pipeline in runs
    ]
    assert np.mean(read) < 0.45
    assert np.mean(np.max(read, axis=1)) < 0.75
