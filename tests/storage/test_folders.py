"""Roles on disk: what is read predicts as what was written, and nothing else is read at all."""

from __future__ import annotations

import builtins
import hashlib
import io
import json
import pickle
import shutil
import stat
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.decomposition import KernelPCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from dcshap import HorizontalCollaboration, VerticalCollaboration
from dcshap.collaboration import Analyst, HorizontalParty, VerticalParty
from dcshap.exceptions import DcshapError, InputError, NotFittedError, RangeWarning, StorageError
from dcshap.storage import State, folders, read_folder, read_model, write_folder, write_model
from tests.collaboration.helpers import parties, table, target
from tests.collaboration.test_models import CLASSIFIERS, REGRESSORS

LOGISTIC = LogisticRegression()
MODELS = {**CLASSIFIERS, **{f"{name} regressor": model for name, model in REGRESSORS.items()}}


class Canary(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # sklearn is untyped
    """Leaves a trace wherever somebody makes one."""

    trace: Path

    def __new__(cls):
        if hasattr(cls, "trace"):
            cls.trace.touch()
        return super().__new__(cls)

    def fit(self, _, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def horizontal(model=LOGISTIC, **settings) -> HorizontalCollaboration:
    data = parties(2, 60)
    return HorizontalCollaboration(model, **({"random_state": 0} | settings)).fit(data)


def vertical(model=LOGISTIC, **settings) -> VerticalCollaboration:
    X = table(60)
    return VerticalCollaboration(model, random_state=0, **settings).fit(split(X), target(X))


def split(X: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return {"bank": X[["n0", "n1", "n2"]], "shop": X[["n3", "n4", "town"]]}


ROWS = parties(2, 60)["party0"][0]


@pytest.fixture
def saved(tmp_path):
    horizontal().parties_["party0"].save(tmp_path / "party")
    return tmp_path / "party"


def change_contents(folder: Path, change) -> None:
    """Write contents that were tampered with, their own hash made to fit."""
    contents = json.loads((folder / "contents.json").read_text())
    contents.pop("sha256")
    change(contents)
    contents["sha256"] = folders._digest(contents)
    (folder / "contents.json").write_text(json.dumps(contents))


# --- what comes back -------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_party_an_analyst_and_a_run_predict_bit_by_bit_as_before(model, tmp_path, monkeypatch):
    run = horizontal(model)

    def never(*_, **__):
        raise AssertionError("no pickle")

    for name in ("load", "loads", "dump", "dumps", "Unpickler"):
        monkeypatch.setattr(pickle, name, never)
    run.save(tmp_path / "run")
    expected = run.predict(ROWS, party="party1")
    party = HorizontalParty.load(tmp_path / "run" / "party-party1")
    np.testing.assert_array_equal(party.predict(ROWS), expected)
    again = HorizontalCollaboration.load(tmp_path / "run")
    np.testing.assert_array_equal(again.predict(ROWS, party="party1"), expected)
    analyst = Analyst.load(tmp_path / "run" / "analyst")
    points = run.parties_["party1"].points(ROWS)
    np.testing.assert_array_equal(analyst.model_.predict(points), expected)
    if hasattr(run.analyst_.model_, "predict_proba"):
        np.testing.assert_array_equal(party.predict_proba(ROWS), run.predict_proba(ROWS, party="party1"))


@pytest.mark.parametrize("model", [LogisticRegression(), RandomForestClassifier(5), KNeighborsClassifier(3)])
def test_a_vertical_run_predicts_as_before(model, tmp_path):
    run = vertical(model, n_components={"bank": 2, "shop": np.int64(1)})
    run.save(tmp_path / "run")
    again = VerticalCollaboration.load(tmp_path / "run")
    X = split(table(60))
    np.testing.assert_array_equal(again.predict_proba(X), run.predict_proba(X))
    assert again.joined_ == run.joined_
    assert again.sent_[: len(run.sent_) - 2] == run.sent_[: len(run.sent_) - 2]
    assert again.n_components == run.n_components
    party = VerticalParty.load(tmp_path / "run" / "party-bank")
    before, after = (each.represent(each.records_of(X["bank"])) for each in (run.parties_["bank"], party))
    np.testing.assert_array_equal(after.rows, before.rows)
    np.testing.assert_array_equal(after.pseudonyms, before.pseudonyms)


def test_a_vertical_party_keeps_the_shared_model(tmp_path):
    run = vertical()
    party = run.parties_["bank"]
    party.receive_model(run.analyst_.share_model())
    party.save(tmp_path / "party")
    again = VerticalParty.load(tmp_path / "party")
    assert again.shared_model_ is not None
    assert again.shared_model_.widths == {"bank": 2, "shop": 2}
    np.testing.assert_array_equal(again.shared_model_.model.coef_, run.analyst_.model_.coef_)


@pytest.mark.parametrize(
    ("span", "kind"),
    [
        *(("private", kind) for kind in ("svd", "pca", "lpp", Nystroem(), KernelPCA(kernel="rbf"))),
        ("supervised", "svd"),
        ("shared", "svd"),
        ("random", "svd"),
    ],
)
def test_every_reduction_and_span_comes_back(span, kind, tmp_path):
    run = horizontal(span=span, reduction=kind, n_components=np.int64(4), alignment="svd")
    run.save(tmp_path / "run")
    again = HorizontalCollaboration.load(tmp_path / "run")
    np.testing.assert_array_equal(again.parties_["party0"].points(ROWS), run.parties_["party0"].points(ROWS))
    assert again.n_components == 4
    assert (again.span, again.alignment) == (span, "svd")
    assert str(again.reduction) == str(kind)


def test_a_public_anchor_and_an_agreed_schema_come_back(tmp_path):
    schema = horizontal(span="private").schema_
    with pytest.warns(RangeWarning):
        run = horizontal(anchor=table(300), schema=schema)
    run.save(tmp_path / "run")
    with pytest.warns(RangeWarning):
        again = HorizontalCollaboration.load(tmp_path / "run")
    assert again.schema == schema
    np.testing.assert_array_equal(again.anchor, run.parties_["party0"].anchor.codes)
    np.testing.assert_array_equal(again.parties_["party0"].points(ROWS), run.parties_["party0"].points(ROWS))


@pytest.mark.parametrize("span", ["supervised", "private", "shared", "random"])
def test_a_loaded_run_that_trains_again_on_the_same_data_sends_the_same(span, tmp_path):
    run = horizontal(random_state=None, span=span)
    run.save(tmp_path / "run")
    again = HorizontalCollaboration.load(tmp_path / "run").fit(parties(2, 60))
    np.testing.assert_array_equal(again.predict_proba(ROWS, party="party0"), run.predict_proba(ROWS, party="party0"))
    for name, party in again.parties_.items():
        np.testing.assert_array_equal(party.reduction.weights, run.parties_[name].reduction.weights)


def test_what_a_party_remembers_of_its_rows_comes_back_and_the_rows_do_not(saved):
    party = HorizontalParty.load(saved)
    before = horizontal().parties_["party0"].own_rows
    for name in ("median", "mean", "medoid", "low", "high"):
        np.testing.assert_array_equal(getattr(party.own_rows, name), getattr(before, name))
    with pytest.raises(NotFittedError, match="has no rows at hand"):
        _ = party.codes


# --- the folder ------------------------------------------------------------------------------------------


def test_a_folder_can_be_read_by_its_owner_only_and_leaves_nothing_beside_it(tmp_path):
    horizontal().save(tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    for path in (tmp_path / "run", *(p for p in (tmp_path / "run").iterdir() if p.is_dir())):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert not [path for path in tmp_path.rglob("*") if path.suffix in (".pkl", ".pickle", ".joblib")]


def test_a_folder_is_replaced_by_a_later_one(tmp_path):
    horizontal().save(tmp_path / "run")
    later = horizontal(KNeighborsClassifier(3))
    later.save(tmp_path / "run")
    again = HorizontalCollaboration.load(tmp_path / "run")
    np.testing.assert_array_equal(again.predict(ROWS, party="party0"), later.predict(ROWS, party="party0"))


def test_an_empty_folder_is_used(tmp_path):
    (tmp_path / "run").mkdir()
    horizontal().save(tmp_path / "run")
    assert HorizontalCollaboration.load(tmp_path / "run")


@pytest.mark.parametrize(
    "where", ["beside nothing", "beside contents", "foreign contents", "in a role's folder", "file"]
)
def test_what_dcshap_did_not_write_is_never_replaced(tmp_path, where):
    run, folder = horizontal(), tmp_path / "run"
    if where == "file":
        folder.write_text("a thesis")
    elif where == "foreign contents":
        folder.mkdir()
        (folder / "contents.json").write_text('{"info": {"author": "xcode", "version": 1}}')
    else:
        if where != "beside nothing":
            run.save(folder)
        target_folder = folder / "analyst" if where == "in a role's folder" else folder
        target_folder.mkdir(exist_ok=True)
        (target_folder / "thesis.txt").write_text("a thesis")
    before = sorted((path, path.read_bytes()) for path in tmp_path.rglob("*") if path.is_file())
    with pytest.raises(StorageError, match="must be empty, new, or a folder that dcshap wrote"):
        run.save(folder)
    assert sorted((path, path.read_bytes()) for path in tmp_path.rglob("*") if path.is_file()) == before


# --- damage ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["contents.json", "arrays.npz", "model.skops"])
@pytest.mark.parametrize("position", np.linspace(0.001, 0.999, 25).round(3).tolist())
def test_a_flipped_byte_in_any_file_is_found(saved, name, position):
    data = bytearray((saved / name).read_bytes())
    where = int(position * len(data))
    if name == "contents.json":  # white space between entries carries nothing
        where = next(i for i in range(where, len(data)) if data[i] not in b" \n")
    data[where] ^= 0x11
    (saved / name).write_bytes(bytes(data))
    with pytest.raises(StorageError):
        HorizontalParty.load(saved)


@pytest.mark.parametrize("name", ["contents.json", "arrays.npz", "model.skops"])
def test_a_missing_or_cut_file_is_found(saved, name):
    data = (saved / name).read_bytes()
    (saved / name).write_bytes(data[: len(data) // 2])
    with pytest.raises(StorageError):
        HorizontalParty.load(saved)
    (saved / name).unlink()
    with pytest.raises(StorageError, match=r"must be a folder that dcshap wrote|cannot be read"):
        HorizontalParty.load(saved)


@pytest.mark.parametrize("where", ["nowhere", "file"])
def test_what_is_no_folder_is_said_so(tmp_path, where):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="must be a folder that dcshap wrote"):
        HorizontalParty.load(tmp_path / where)


@pytest.mark.parametrize(
    "text",
    ["", "null", "[]", "3", '"dcshap"', "{}", '{"format": "dcshap"}', "[" * 100_000, '{"version": 1}', "\xff"],
)
def test_contents_that_nobody_wrote_are_refused(saved, text):
    (saved / "contents.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(StorageError):
        HorizontalParty.load(saved)


def test_another_version_or_format_is_refused(saved):
    change_contents(saved, lambda contents: contents.update(version=99))
    with pytest.raises(StorageError, match="It is of version 99"):
        HorizontalParty.load(saved)
    change_contents(saved, lambda contents: contents.update(version=1, format="other"))
    with pytest.raises(StorageError):
        HorizontalParty.load(saved)


@pytest.mark.parametrize("kind", [VerticalParty, Analyst, HorizontalCollaboration, VerticalCollaboration])
def test_another_kind_is_refused(saved, kind):
    with pytest.raises(StorageError, match="It holds a horizontal party"):
        kind.load(saved)


@pytest.mark.parametrize(
    "key", ["name", "run", "agreement", "private_seed", "anchor_seed", "instance_models", "resolution"]
)
def test_contents_that_lack_something_are_refused(saved, key):
    change_contents(saved, lambda contents: contents["content"].pop(key))
    with pytest.raises(StorageError, match="do not fit together"):
        HorizontalParty.load(saved)


@pytest.mark.parametrize("value", [None, 3, [], "x", {"columns": {}}])
def test_contents_of_another_shape_are_refused(saved, value):
    change_contents(saved, lambda contents: contents["content"].update(agreement=value))
    with pytest.raises(StorageError):
        HorizontalParty.load(saved)
    change_contents(saved, lambda contents: contents.update(content=value))
    with pytest.raises(StorageError):
        HorizontalParty.load(saved)
    change_contents(saved, lambda contents: contents.update(files=value))
    with pytest.raises(StorageError):
        HorizontalParty.load(saved)


@pytest.mark.parametrize("name", ["../secret.skops", "/etc/hostname", "..", "sub/secret.skops", "..\\secret.skops"])
def test_a_file_outside_the_folder_is_never_read(saved, name, monkeypatch):
    model = write_model(LogisticRegression())
    (saved.parent / "secret.skops").write_bytes(model)
    digest = hashlib.sha256(model).hexdigest()
    change_contents(saved, lambda contents: contents.update(files={name: digest}))
    read: list[str] = []
    original = Path.read_bytes

    def noted(path: Path) -> bytes:
        read.append(str(path))
        return original(path)

    monkeypatch.setattr(Path, "read_bytes", noted)
    with pytest.raises(StorageError, match=r"outside of itself|cannot be read"):
        HorizontalParty.load(saved)
    assert not [path for path in read if not path.endswith("..")]


@pytest.mark.parametrize("name", ["../elsewhere", "/tmp", ".."])  # noqa: S108 - never opened
def test_a_run_that_names_a_party_outside_its_folder_is_refused(tmp_path, name):
    horizontal().save(tmp_path / "run")
    shutil.copytree(tmp_path / "run" / "party-party0", tmp_path / "elsewhere")
    change_contents(tmp_path / "run", lambda contents: contents["content"].update(parties=[name]))
    with pytest.raises(StorageError, match="do not fit together"):
        HorizontalCollaboration.load(tmp_path / "run")


# --- what must never run ---------------------------------------------------------------------------------


class Bomb:
    """Runs when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


def test_an_array_of_objects_is_refused_and_not_run(saved, tmp_path):
    trace = tmp_path / "trace"
    buffer = io.BytesIO()
    np.savez(buffer, own_median=np.array([Bomb(trace)], dtype=object), allow_pickle=True)
    assert pickle.dumps(Bomb(trace))  # the bomb is real
    (saved / "arrays.npz").write_bytes(buffer.getvalue())
    digest = hashlib.sha256(buffer.getvalue()).hexdigest()
    change_contents(saved, lambda contents: contents["files"].update({"arrays.npz": digest}))
    with pytest.raises(StorageError, match="contain objects, which are never read"):
        HorizontalParty.load(saved)
    assert not trace.exists()


def test_a_model_of_an_untrusted_type_is_refused_and_not_made(saved, tmp_path):
    data = skops.io.dumps(Canary().fit(np.zeros((2, 1)), [0, 1]))
    (saved / "model.skops").write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    change_contents(saved, lambda contents: contents["files"].update({"model.skops": digest}))
    Canary.trace = tmp_path / "trace"
    try:
        with pytest.raises(StorageError, match=r"trusted types.*test_folders\.Canary.*Nothing was loaded"):
            HorizontalParty.load(saved)
        assert not Canary.trace.exists()
        party = HorizontalParty.load(saved, trusted=[f"{Canary.__module__}.Canary"])
        assert Canary.trace.exists()  # trusted, it is made: the canary sings
        assert type(party.model_) is Canary
    finally:
        del Canary.trace


@pytest.mark.parametrize("function", [builtins.eval, Path.touch])
def test_a_function_in_a_model_is_refused(function):
    model = LogisticRegression()
    model.hidden = function
    data = skops.io.dumps(model)
    with pytest.raises(StorageError):
        read_model(data)


def test_bytes_that_are_no_model_are_refused():
    good = write_model(RandomForestClassifier(2).fit([[0.0], [1.0]], [0, 1]))
    rng = np.random.default_rng(0)
    for data in (b"", b"PK", b"\x80\x04.", pickle.dumps({"a": 1}), good[:-30], good[30:]):
        with pytest.raises(StorageError):
            read_model(data)
    for _ in range(200):
        damaged = bytearray(good)
        for position in rng.integers(len(good), size=4):
            damaged[position] = rng.integers(256)
        try:
            read_model(bytes(damaged))  # some bytes of a zip file matter to nobody
        except StorageError:
            continue


def test_an_empty_archive_is_refused():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("other.json", "{}")
    with pytest.raises(StorageError):
        read_model(buffer.getvalue())


def test_states_of_any_content_come_back(tmp_path):
    state = State(
        "anything",
        {"text": "ü\x85", "number": 0.1 + 0.2, "nothing": None, "list": [1, {"a": True}]},
        {"floats": np.array([[np.pi, np.nan]]), "text": np.array(["a", "ü"]), "empty": np.empty((0, 3))},
        {"model": HistGradientBoostingClassifier(max_iter=2).fit([[0.0], [1.0]] * 20, [0, 1] * 20)},
    )
    write_folder(tmp_path / "state", state)
    again = read_folder(tmp_path / "state", kind="anything")
    assert again.content == state.content
    for name, array in state.arrays.items():
        np.testing.assert_array_equal(again.arrays[name], array)
    np.testing.assert_array_equal(again.models["model"].predict([[0.0], [1.0]]), [0, 1])


def test_the_name_of_a_party_with_a_space_and_a_dot_can_be_saved(tmp_path):
    data = dict(zip(["St. Mary", "käthe@north"], parties(2, 60).values(), strict=True))
    run = HorizontalCollaboration(LogisticRegression(), random_state=0).fit(data)
    run.save(tmp_path / "run")
    assert list(HorizontalCollaboration.load(tmp_path / "run").parties_) == ["St. Mary", "käthe@north"]
    with pytest.raises(InputError):
        run.predict(ROWS, party="party0")


@pytest.mark.parametrize("role", ["party-party1", "analyst"])
def test_a_run_whose_roles_are_of_different_trainings_is_refused_by_name(tmp_path, role):
    """The same seed, so that everything but the training fits: the answer would be some number."""
    horizontal(random_state=0).save(tmp_path / "one")
    horizontal(LogisticRegression(C=0.01), random_state=0).save(tmp_path / "two")
    shutil.rmtree(tmp_path / "one" / role)
    shutil.copytree(tmp_path / "two" / role, tmp_path / "one" / role)
    with pytest.raises(DcshapError, match="different runs"):
        HorizontalCollaboration.load(tmp_path / "one").predict(ROWS, party="party1")


@pytest.mark.parametrize("role", ["party-shop", "analyst"])
def test_a_vertical_run_whose_roles_are_of_different_trainings_is_refused_by_name(tmp_path, role):
    vertical().save(tmp_path / "one")
    vertical(LogisticRegression(C=0.01)).save(tmp_path / "two")
    shutil.rmtree(tmp_path / "one" / role)
    shutil.copytree(tmp_path / "two" / role, tmp_path / "one" / role)
    with pytest.raises(DcshapError, match="different runs"):
        VerticalCollaboration.load(tmp_path / "one").predict(split(table(60)))
