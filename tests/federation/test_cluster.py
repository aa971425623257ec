"""Models are trained on a Dask cluster where the analyst has one: a real one, of processes on this machine."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
import yaml
from distributed import Client, LocalCluster
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from dcshap.exceptions import FederationError, InputError, StorageError
from dcshap.federation.site.cluster import require_cluster, training_on
from dcshap.federation.site.configuration import CONFIG, AnalystConfig

PARTIES = ["bank", "shop"]
LOCAL: dict[str, Any] = {"dashboard_address": "127.0.0.1:0", "host": "127.0.0.1"}
start: Any = LocalCluster  # it has no types, as below
Tree: Any = DecisionTreeClassifier
pytestmark = pytest.mark.filterwarnings("ignore")  # the cluster's own, on starting and stopping


@pytest.fixture(scope="module")
def cluster():
    with start(n_workers=2, threads_per_worker=1, processes=True, **LOCAL) as built:
        yield built


class Traced(Tree):  # type: ignore[misc]
    """A tree that says in which process it was grown."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.process_ = os.getpid()
        return self


def test_trees_grow_at_the_workers_and_are_those_of_one_process(cluster):
    X = np.random.default_rng(0).normal(size=(200, 5))
    y = X[:, 0] > 0
    votes = VotingClassifier([(str(at), Traced(max_depth=at)) for at in (1, 2, 3)])
    with training_on(require_cluster(cluster.scheduler_address)):
        votes.fit(X, y)
    with Client(cluster) as client:
        workers = set(client.run(os.getpid).values())
    assert {tree.process_ for tree in votes.estimators_} <= workers
    assert os.getpid() not in workers


def _transitions(dask_scheduler):
    return dask_scheduler.transition_counter


@pytest.mark.parametrize("kind", ["horizontal", pytest.param("vertical", marks=pytest.mark.slow)])
def test_a_training_on_a_cluster_gives_the_same_forest(twin, cluster, kind):
    forest = RandomForestClassifier(8, max_depth=4, random_state=0)
    wanted = twin(kind, PARTIES, folder="alone").trained(forest)
    run = twin(kind, PARTIES, folder="cluster")
    site = run.analyst(forest)
    site._cluster = require_cluster(cluster.scheduler_address)
    with Client(cluster) as client:
        before = client.run_on_scheduler(_transitions)
        site.train()
        assert client.run_on_scheduler(_transitions) > before
    found, other = site._analyst.model_, wanted._analyst.model_
    for tree, same in zip(found.estimators_, other.estimators_, strict=True):
        assert np.array_equal(tree.tree_.threshold, same.tree_.threshold)


def test_a_cluster_that_is_away_or_has_no_workers_is_said_in_words(monkeypatch):
    monkeypatch.setattr("dcshap.federation.site.cluster._PATIENCE", 0.5)
    with (
        pytest.raises(FederationError, match="cannot be reached"),
        training_on({"scheduler": "tcp://127.0.0.1:9"}),
    ):
        pass
    with (
        start(n_workers=0, **LOCAL) as empty,
        pytest.raises(FederationError, match="has no workers"),
        training_on({"scheduler": empty.scheduler_address}),
    ):
        pass


def test_a_training_whose_cluster_is_away_fails_and_is_resumed_without(twin, monkeypatch):
    monkeypatch.setattr("dcshap.federation.site.cluster._PATIENCE", 0.5)
    run = twin("horizontal", PARTIES)
    site = run.analyst(LogisticRegression(max_iter=1000))
    site._cluster = {"scheduler": "tcp://127.0.0.1:9"}
    with pytest.raises(FederationError, match="cannot be reached"):
        site.train()
    again = run.again().analyst(LogisticRegression(max_iter=1000), resume=True)
    again.train()
    assert again.run == site.settings.run


def test_the_analysts_configuration_names_the_cluster(tmp_path):
    assert AnalystConfig.load(tmp_path) == AnalystConfig()
    path = tmp_path / "local" / CONFIG
    path.parent.mkdir()
    tls = {"scheduler": "tls://host:8786", "ca": "ca.pem", "certificate": "c.pem", "key": "k.pem"}
    for given, dask in (("tcp://host:8786", {"scheduler": "tcp://host:8786"}), (tls, tls)):
        path.write_text(yaml.safe_dump({"trusted": ["a.B"], "dask": given}))
        assert AnalystConfig.load(tmp_path) == AnalystConfig(("a.B",), dask)
    for content, error in (
        ({"dask": 5}, InputError),
        ({"dask": {"scheduler": "tls://host:8786", "ca": "x"}}, InputError),
        ({"dask": {"host": "x"}}, InputError),
        ({"rights": {}}, StorageError),
        ([], StorageError),
    ):
        path.write_text(yaml.safe_dump(content))
        with pytest.raises(error):
            AnalystConfig.load(tmp_path)
