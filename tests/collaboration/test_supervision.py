"""The supervised span as the parties find it: what they agree on, what they refuse, and what stays when they go on."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from dcshap import HorizontalCollaboration, VerticalCollaboration, datasets
from dcshap.collaboration import Agreement, HorizontalParty
from dcshap.collaboration.messages import ANALYST, AnchorSeed, MaskedMoments, Message, PairKey, Representation
from dcshap.exceptions import InputError, PrivacyError, PrivacyWarning, ProtocolError
from dcshap.protocol import Cast, Node
from dcshap.protocol.carrier import Answered
from dcshap.protocol.memory import MemoryCarrier
from dcshap.protocol.steps import Step, training
from dcshap.schema import Number, Schema
from tests.collaboration.helpers import RecordedHorizontal, in_table_order, parties, table

MODELS = {
    "logistic": LogisticRegression(max_iter=3000),
    "7-NN": KNeighborsClassifier(7),
    "forest": RandomForestClassifier(10, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=10, random_state=0),
}
NAMES = ("bank", "post", "shop")


def halves(name: str) -> tuple[dict[str, tuple[Any, Any]], pd.DataFrame]:
    """Two label-skewed halves of a data set, and a few rows that neither has."""
    bunch = getattr(datasets, f"load_{name}")()
    kept, held = datasets.hold_out(bunch.target, 6, random_state=0)
    X, y = bunch.data.iloc[kept], bunch.target.iloc[kept]
    parts = datasets.label_skew(y, random_state=0)
    return {f"half {i}": (X.iloc[rows], y.iloc[rows]) for i, rows in enumerate(parts)}, bunch.data.iloc[held]


def pooled(run: HorizontalCollaboration, model: Any) -> Any:
    """The model on everybody's encoded rows."""
    rows = np.concatenate([party.anchor.encode(party.codes) for party in run.parties_.values()])
    return model.fit(rows, np.concatenate([party.labels for party in run.parties_.values()]))


def apart(run: HorizontalCollaboration, X: Any) -> float:
    """The root mean square difference between the parties' explanations."""
    values = [run.explain(X, party=name, max_evals=256, random_state=0).values for name in run.parties_]
    return max(float(np.sqrt(np.mean((each - values[0]) ** 2))) for each in values)


# --- one model, one explanation -----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", ["iris", "wine", "heart", "breast_cancer"])
def test_all_parties_explain_alike_to_machine_precision(name, model):
    data, X = halves(name)
    assert apart(HorizontalCollaboration(MODELS[model], random_state=0).fit(data), X.head(3)) < 1e-12


def test_all_parties_predict_and_explain_alike_on_pima(published):
    published("pima/pima-indians-diabetes.data.csv")
    data, X = halves("pima")
    run = HorizontalCollaboration(random_state=0).fit(data)
    one, other = (run.predict_proba(X, party=party) for party in data)
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-14)
    assert apart(run, X) < 1e-12


@pytest.mark.filterwarnings("ignore::dcshap.exceptions.PrivacyWarning")
@pytest.mark.parametrize("name", ["iris", "wine", "heart", "breast_cancer"])
def test_without_noise_and_with_enough_rounds_predictions_are_the_pooled_model_s(name):
    data, X = halves(name)
    model = LogisticRegression(tol=1e-12, max_iter=20_000)
    run = HorizontalCollaboration(model, noise=0, span_rounds=40, random_state=0).fit(data)
    encoded = run.parties_["half 0"].encode(X)
    wanted = pooled(run, model).predict_proba(encoded)
    for party in data:
        np.testing.assert_allclose(run.predict_proba(X, party=party), wanted, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ["iris", "wine", "heart", "breast_cancer"])
def test_with_the_defaults_predictions_are_close_to_the_pooled_model_s(name):
    data, X = halves(name)
    run = HorizontalCollaboration(random_state=0).fit(data)
    wanted = pooled(run, LogisticRegression(max_iter=5000)).predict_proba(run.parties_["half 0"].encode(X))
    assert np.abs(run.predict_proba(X, party="half 0") - wanted).mean() < 0.05


@pytest.mark.parametrize("classes", [2, 4])
def test_the_model_may_be_left_out(classes):
    data = parties(2, 80, classes=classes)
    assert isinstance(HorizontalCollaboration(random_state=0).fit(data).analyst_.model_, LogisticRegression)
    numbers = {name: (X, X["n0"] - X["n1"]) for name, (X, _) in data.items()}
    assert isinstance(HorizontalCollaboration(random_state=0).fit(numbers).analyst_.model_, Ridge)


# --- labels of all kinds --------------------------------------------------------------------------------------------


def test_a_class_that_only_one_party_has_gets_its_direction():
    data = parties(3, 80, classes=3)
    X0, y0 = data["party0"]
    X1, y1 = data["party1"]
    data |= {"party0": (X0[y0 < 2], y0[y0 < 2]), "party1": (X1[y1 < 2], y1[y1 < 2])}
    run = HorizontalCollaboration(random_state=0).fit(data)
    X, y = data["party2"]
    assert run.analyst_.model_.classes_.tolist() == [0, 1, 2]
    assert run.score(X[y == 2], y[y == 2], party="party0") > 0.7
    assert apart(run, X.head(5)) < 1e-12


def test_a_party_with_one_class_only_takes_part():
    data = parties(2, 100)
    X, y = data["party0"]
    data["party0"] = (X[y == 1], y[y == 1])
    run = HorizontalCollaboration(random_state=0).fit(data)
    X, y = data["party1"]
    assert run.score(X, y, party="party0") == run.score(X, y, party="party1") > 0.8


def test_a_target_with_fifty_classes_is_learnt_in_few_dimensions():
    X = table(1000)
    y = np.searchsorted(np.quantile(X["n0"], np.arange(1, 50) / 50), X["n0"])
    data = {"a": (X[:500], y[:500]), "b": (X[500:], y[500:])}
    run = HorizontalCollaboration(LogisticRegression(max_iter=3000), random_state=0).fit(data)
    assert len(run.analyst_.model_.classes_) == 50
    assert run.analyst_.model_.n_features_in_ == 4  # half of the columns, and a random direction
    assert np.mean(np.abs(run.predict(X[500:], party="a") - y[500:])) < 8
    assert apart(run, X.head(2)) < 1e-12


def test_vertically_fifty_classes_are_learnt_in_few_dimensions():
    X = table(1000)
    y = np.searchsorted(np.quantile(X["n0"], np.arange(1, 50) / 50), X["n0"])
    tables = {"a": X[["n0", "n1", "n2"]], "b": X[["n3", "n4", "town"]]}
    run = VerticalCollaboration(LogisticRegression(max_iter=3000), random_state=0).fit(tables, y)
    assert len(run.analyst_.model_.classes_) == 50
    assert sum(run.analyst_.widths_.values()) == 4  # half of each party's columns, and a random direction
    assert np.mean(np.abs(run.predict(tables) - y)) < 8


@pytest.mark.parametrize("n", [8, 11])
def test_more_dimensions_than_raw_columns_are_possible_where_encoding_widens_them(n):
    X = table(200)
    X["region"] = pd.Categorical(np.array(list("vwxyz"))[np.arange(200) % 5])
    y = (X["n0"] > X["n1"]).astype(int)
    run = HorizontalCollaboration(n_components=n, random_state=0).fit(
        {"a": (X[:100], y[:100]), "b": (X[100:], y[100:])}
    )
    assert run.analyst_.model_.n_features_in_ == n
    widths = VerticalCollaboration(n_components={"a": 4, "b": 2}, random_state=0).fit(
        {"a": X[["n0", "town", "region"]], "b": X[["n1", "n2", "n3", "n4"]]}, y
    )
    assert widths.analyst_.widths_ == {"a": 4, "b": 2}


def test_more_classes_than_a_span_can_tell_apart_are_refused_with_their_number():
    data = {name: (X, np.arange(len(X))) for name, (X, _) in parties(2, 120).items()}
    with pytest.raises(InputError, match=r"at most 100 classes. Party 'party0' has 120. Is it a number"):
        HorizontalCollaboration(LogisticRegression(), random_state=0).fit(data)


@pytest.mark.parametrize("model", [Ridge(), KNeighborsRegressor(5)], ids=["ridge", "neighbours"])
def test_a_number_is_predicted_along_one_direction(model):
    data = {name: (X, 3 * X["n0"] - X["n1"]) for name, (X, _) in parties(2, 150).items()}
    run = HorizontalCollaboration(model, random_state=0).fit(data)
    X, y = data["party1"]
    assert not [line for line in run.sent_ if line.recipient == ANALYST and line.kind == "MaskedMoments"]
    assert len([line for line in run.sent_ if line.kind == "MaskedMoments"]) == 2  # no Newton rounds
    assert run.score(X, y, party="party0") > 0.9
    assert apart(run, X.head(5)) < 1e-12


@pytest.mark.filterwarnings("ignore::dcshap.exceptions.PrivacyWarning")
def test_without_noise_ridge_regression_is_the_pooled_one():
    data = {name: (X, np.where(X["n0"] > X["n1"], 2.5, 0.5)) for name, (X, _) in parties(2, 150).items()}
    run = HorizontalCollaboration(Ridge(), noise=0, random_state=0).fit(data)
    X = data["party1"][0]
    wanted = pooled(run, Ridge()).predict(run.parties_["party0"].encode(X))
    np.testing.assert_allclose(run.predict(X, party="party0"), wanted, rtol=0, atol=1e-6)


# --- tables of all kinds --------------------------------------------------------------------------------------------


def test_fewer_rows_than_dimensions_are_enough():
    data, X = halves("breast_cancer")
    few = {name: (X.groupby(y, group_keys=False).head(2), y.groupby(y).head(2)) for name, (X, y) in data.items()}
    run = HorizontalCollaboration(random_state=0).fit(few)
    assert run.analyst_.model_.n_features_in_ <= 7  # eight rows vary in seven directions
    assert apart(run, X.head(2)) < 1e-12
    one = {"a": tuple(each.head(1) for each in data["half 0"]), "b": data["half 1"]}
    points = [party.points(X) for party in HorizontalCollaboration(random_state=0).fit(one).parties_.values()]
    np.testing.assert_allclose(points[0], points[1], rtol=0, atol=1e-9)


def test_constant_and_collinear_columns_change_nothing():
    def widened(X: pd.DataFrame) -> pd.DataFrame:
        return X.assign(same=1.0, copy=X["n0"], sum=X["n0"] + X["n1"])

    data = parties(2, 100)
    wide = {name: (widened(X), y) for name, (X, y) in data.items()}
    schema = Schema.from_frames({name: X.drop(columns="same") for name, (X, _) in wide.items()})
    schema = Schema((*schema.columns, Number("same", 0.0, 2.0)))
    run = HorizontalCollaboration(schema=schema, random_state=0).fit(wide)
    X, y = wide["party1"]
    assert run.score(X, y, party="party0") > 0.85
    assert apart(run, X.head(5)) < 1e-12
    assert np.abs(run.explain(X.head(5), party="party0").values[:, schema.names.index("same")]).max() < 1e-12


# --- differential privacy -------------------------------------------------------------------------------------------


def test_an_epsilon_that_leaves_only_noise_is_refused_with_the_rows_it_would_need():
    with pytest.raises(
        PrivacyError, match=r"`epsilon=0.01` leaves nothing but noise .* About \d+ rows would be needed"
    ):
        HorizontalCollaboration(epsilon=0.01, random_state=0).fit(parties(2, 60))


def test_a_large_epsilon_needs_no_newton_round_and_still_agrees():
    data = parties(2, 1500)
    run = HorizontalCollaboration(epsilon=20.0, random_state=0).fit(data)
    assert len([line for line in run.sent_ if line.kind == "MaskedMoments"]) == 2
    X, y = data["party1"]
    assert run.score(X, y, party="party0") > 0.8
    assert apart(run, X.head(3)) < 1e-12


@pytest.mark.parametrize("epsilon", [0, -1.0, "3", True, np.inf])
def test_an_epsilon_that_is_no_number_above_zero_is_refused(epsilon):
    with pytest.raises(InputError, match="`epsilon` must be"):
        HorizontalCollaboration(epsilon=epsilon, random_state=0).fit(parties(2, 60))


# --- nobody's sums are read -----------------------------------------------------------------------------------------


class Losing(MemoryCarrier):
    """Brings what the one who carries wants brought."""

    def __init__(self, *args: Any, lost: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lost = lost

    def bring(self, step: Step, messages: Mapping[str, Message | None]) -> list[Answered]:
        kept = {to: message for to, message in messages.items() if not self._lost(step.name, self._me, to)}
        return super().bring(step, kept)


def calls_refused(lost: Any) -> tuple[dict[str, list[str]], list[tuple[str, str, Message]]]:
    """An analyst calls for every step whatever happens; which steps each party refuses, and what has travelled."""
    protocol, cast = training("horizontal", span="supervised", rounds=3), Cast(NAMES)
    data = dict(zip(NAMES, parties(3, 40).values(), strict=True))
    agreement = Agreement(Schema.for_supervision([X for X, _ in data.values()]), n_anchor=200)
    nodes: dict[str, Node] = {}
    travelled: list[tuple[str, str, Message]] = []
    for name, (X, y) in data.items():
        party = HorizontalParty(name, agreement)
        party.take(X, y)
        carrier = Losing(name, nodes, lambda *line: travelled.append(line), lost=lost)
        nodes[name] = Node(name, protocol, cast, [party], carrier)
    refused: dict[str, list[str]] = {name: [] for name in NAMES}
    for step in protocol:
        for name in dict.fromkeys(sender for sender, _ in cast.pairs(step) if step.on == "call"):
            try:
                nodes[name].handle(step.name, ANALYST, None)
            except (ProtocolError, KeyError):
                refused[name].append(step.name)
    return refused, travelled


def kinds(travelled: list[tuple[str, str, Message]]) -> set[type[Message]]:
    return {type(message) for *_, message in travelled}


def test_an_analyst_that_loses_nothing_gets_representations():
    refused, travelled = calls_refused(lambda *_: False)
    assert not any(
        step.startswith(("targets", "sums", "newton", "bend")) for steps in refused.values() for step in steps
    )
    assert len([message for *_, message in travelled if isinstance(message, MaskedMoments)]) == 6 * 6


@pytest.mark.parametrize("out", NAMES)
def test_no_party_sends_sums_that_lack_somebody(out):
    refused, travelled = calls_refused(lambda _, sender, to: out in (sender, to))
    assert not kinds(travelled) & {MaskedMoments, Representation}
    for name in NAMES:
        assert {"sums", "newton_1", "representation"} <= set(refused[name])


@pytest.mark.parametrize("out", NAMES)
def test_no_party_sends_sums_while_somebody_s_keys_are_left_out(out):
    refused, travelled = calls_refused(lambda step, sender, to: step == "pair_key" and out in (sender, to))
    assert not kinds(travelled) & {MaskedMoments, Representation}
    for name in NAMES:
        assert {"sums", "newton_1", "representation"} <= set(refused[name])


@pytest.mark.parametrize("step", ["sums", "newton_2", "bends"])
def test_no_party_goes_on_from_a_sum_that_lacks_one_party(step):
    refused, travelled = calls_refused(lambda name, sender, to: name == step and (sender, to) == ("post", "bank"))
    assert Representation not in kinds(travelled)
    for name in NAMES:
        assert "representation" in refused[name]


@pytest.fixture
def three():
    """Parties that share keys and know each other's classes."""
    data = dict(zip(NAMES, parties(3, 40).values(), strict=True))
    agreement = Agreement(Schema.for_supervision([X for X, _ in data.values()]), n_anchor=200)
    found = {name: HorizontalParty(name, agreement) for name in NAMES}
    for name, party in found.items():
        party.take(*data[name])
        party.receive_anchor(AnchorSeed(5))
    for one, two in [("bank", "post"), ("bank", "shop"), ("post", "shop")]:
        found[two].receive_pair_key(found[one].send_pair_key(two))
    return found


def exchanged(three, what, *, but=()):
    for sender, one in three.items():
        for to, two in three.items():
            if sender != to and (sender, to) not in but:
                getattr(two, f"receive_{what}")(getattr(one, f"send_{what}")(to))


@pytest.mark.parametrize("name", NAMES)
def test_every_party_itself_counts_who_is_in_a_sum(three, name):
    exchanged(three, "targets")
    other = next(each for each in NAMES if each != name)
    exchanged(three, "sums", but=[(other, name)])
    with pytest.raises(ProtocolError, match=r"A sum needs every party of \['bank', 'post', 'shop'\]"):
        _ = three[name].supervision.moments


def test_a_party_whose_key_is_lacking_is_in_no_sum(three):
    del three["bank"]._keys["shop"]
    exchanged(three, "targets")
    with pytest.raises(ProtocolError, match=r"A sum needs every party of \['bank', 'post'\]. Got .*'shop'"):
        three["bank"].send_sums("post")


def test_all_parties_compute_the_same_total_and_masks_are_new_in_every_round(three):
    exchanged(three, "targets")
    exchanged(three, "sums")
    totals = [party.supervision.moments.flat() for party in three.values()]
    for total in totals[1:]:
        np.testing.assert_array_equal(total, totals[0])
    words = {step: three["bank"].send_newton("post", step).words for step in ("newton_1", "newton_2")}
    assert not np.array_equal(words["newton_1"], words["newton_2"])
    assert isinstance(three["bank"].send_pair_key("post"), PairKey)


# --- what stays -----------------------------------------------------------------------------------------------------


def grown(data: dict[str, tuple[Any, Any]]) -> dict[str, tuple[Any, Any]]:
    """One party has one more row, far from all others."""
    X, y = data["party0"]
    more = X.iloc[:1].assign(n0=X["n0"].max() + 9, n1=X["n1"].min() - 9)
    return data | {"party0": (pd.concat([X, more], ignore_index=True), np.append(y, 1 - y[0]))}


def representations(run: RecordedHorizontal, party: str = "party0") -> list[Representation]:
    received = run.received_by(ANALYST)
    return [message for message in received if isinstance(message, Representation) and message.party == party]


def dimensions_seen(run: RecordedHorizontal) -> int:
    """The rank of all that the analyst ever received of a party's first rows, noise aside."""
    seen = np.concatenate([message.anchor for message in representations(run)], axis=1)
    return int(np.linalg.matrix_rank(seen - seen.mean(axis=0), tol=1e-8 * np.abs(seen).max()))


@pytest.mark.parametrize("span", ["supervised", "private", "shared", "random"])
@pytest.mark.parametrize("random_state", [None, "generator"])
def test_trained_again_with_one_more_row_the_analyst_has_seen_no_further_dimension(span, random_state):
    state = None if random_state is None else np.random.default_rng(0)
    run = RecordedHorizontal(LogisticRegression(), span=span, random_state=state).fit(parties(2, 60))
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyWarning)
        if span != "supervised":  # ranges are those of the first training, and nothing is clipped
            warnings.simplefilter("ignore", UserWarning)
        run.fit(grown(parties(2, 60)))
    first, second = representations(run)
    assert dimensions_seen(run) == first.rows.shape[1] == second.rows.shape[1]
    np.testing.assert_array_equal(second.anchor, first.anchor)
    party = run.parties_[first.party]
    np.testing.assert_array_equal(in_table_order(party, second)[:60], in_table_order(party, first))
    assert len(second.rows) == 61


def test_new_maps_are_found_on_request_with_a_warning_that_says_what_they_show():
    run = RecordedHorizontal(random_state=None).fit(parties(2, 60))
    with pytest.warns(PrivacyWarning, match="same rows through two maps"):
        run.fit(grown(parties(2, 60)), refit_span=True)
    first, second = representations(run)
    assert not np.allclose(second.rows[:60], first.rows)
    assert dimensions_seen(run) > first.rows.shape[1]
    X = parties(2, 60)["party1"][0]
    assert apart(run, X.head(3)) < 1e-12


def test_other_settings_mean_new_maps_and_that_is_said():
    run = RecordedHorizontal(random_state=None).fit(parties(2, 60))
    with pytest.warns(PrivacyWarning, match="same rows through two maps"):
        run.set_params(n_components=3).fit(parties(2, 60))
    assert [message.rows.shape[1] for message in representations(run)] == [2, 3]


def test_a_party_that_is_new_needs_new_maps_for_all():
    run = RecordedHorizontal(random_state=None).fit(parties(2, 60))
    with pytest.raises(InputError, match="Pass refit_span=True"):
        run.fit(parties(3, 60))
    with pytest.warns(PrivacyWarning, match="two maps"):
        run.fit(parties(3, 60), refit_span=True)
    assert len(run.parties_) == 3


def test_another_table_altogether_is_no_retraining_of_the_old_one():
    run = HorizontalCollaboration(random_state=None).fit(parties(2, 60))
    other = {name: (X.rename(columns={"n0": "zero"}), y) for name, (X, y) in parties(2, 60).items()}
    with pytest.warns(PrivacyWarning, match="two maps"):
        run.fit(other)
    assert "zero" in run.schema_.names


@pytest.mark.parametrize("span", ["supervised", "private", "shared", "random"])
def test_a_record_has_the_same_noise_whenever_and_wherever_it_stands(span):
    data = parties(2, 60)
    X, y = data["party0"]
    data["party0"] = (pd.concat([X, X.iloc[:5]], ignore_index=True), np.append(y, y[:5]))
    run = RecordedHorizontal(LogisticRegression(), span=span, random_state=None).fit(data)
    turned = data | {"party0": (data["party0"][0].iloc[::-1].reset_index(drop=True), data["party0"][1][::-1])}
    run.fit(turned)
    first, second = representations(run)
    np.testing.assert_allclose(second.rows, first.rows, rtol=0, atol=1e-12)
    party = run.parties_["party0"]
    rows = in_table_order(party, second)[::-1]
    np.testing.assert_array_equal(rows[60:], rows[:5])
    exact = party.reduction.transform(party.encode(X))
    assert 0.1 < np.sqrt(np.mean((rows[:60] - exact) ** 2) / np.mean(exact**2)) < 0.3


def test_no_noise_is_warned_of_by_the_name_of_the_attack():
    with pytest.warns(PrivacyWarning, match=r"lattice reduction \(LLL\)"):
        HorizontalCollaboration(noise=0, random_state=0).fit(parties(2, 60))
