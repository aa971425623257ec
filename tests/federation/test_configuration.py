from __future__ import annotations

import pandas as pd
import pytest
import yaml

from dcshap import Schema
from dcshap.exceptions import InputError, PrivacyError, SchemaError, StorageError
from dcshap.federation.site.configuration import CollaborationConfig, Right, SiteConfig
from dcshap.federation.site.holdings import load_data
from dcshap.federation.site.secrets import Secrets

TABLE = pd.DataFrame({"id": ["a", "b", "c"], "x": [1.0, 2.0, 3.0], "y": [5.0, 4.0, 3.0], "label": [0, 1, 0]})


@pytest.fixture
def folder(tmp_path):
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    Schema.from_frames({"a": TABLE[["x", "y"]]}).save(tmp_path / "schema.yaml")
    (tmp_path / "local").mkdir()
    return tmp_path


def config(**changes):
    given = {
        "kind": "horizontal",
        "table": {"csv": "t.csv"},
        "schema": "schema.yaml",
        "partners": ("shop",),
        "target": "label",
    }
    return CollaborationConfig(**(given | changes))


def test_a_table_is_cut_to_what_takes_part(folder):
    data = load_data(config(), base=folder)
    assert list(data.X.columns) == ["x", "y"]
    assert data.y is not None
    assert data.y.tolist() == [0, 1, 0]
    vertical = load_data(config(kind="vertical", id="id", target=None), base=folder)
    assert vertical.X.index.tolist() == ["a", "b", "c"]
    assert vertical.y is None


def test_a_table_that_does_not_fit_the_schema_is_refused(folder):
    TABLE.drop(columns="y").to_csv(folder / "t.csv", index=False)
    with pytest.raises(SchemaError, match="y"):
        load_data(config(), base=folder)
    with pytest.raises(InputError, match="outcome"):
        load_data(config(target="outcome"), base=folder)


@pytest.mark.parametrize(
    "changes",
    [{"kind": "diagonal"}, {"kind": "vertical", "id": None}, {"kind": "horizontal", "target": None}, {"partners": ()}],
)
def test_settings_that_do_not_fit_together_are_refused(changes):
    with pytest.raises(InputError):
        config(**changes)


def test_a_configuration_comes_back_as_it_was_and_only_its_owner_can_read_it(folder):
    settings = config(agreement={"span": "shared"}, trusted=("a.B",), instance_models=True)
    site = SiteConfig("bank", folder, {"study": settings}, {"officer": Right(("bank",), 5)}, budget_days=7)
    path = site.save()
    assert SiteConfig.load(folder) == site
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- a",
        "party: bank",
        "{party: bank, collaborations: {study: {kind: horizontal}}}",
        "{party: bank, collaborations: {}, rights: {x: {views: [a]}}}",
        "{party: bank, collaborations: 3}",
        "a: [",
    ],
)
def test_a_damaged_configuration_is_refused(folder, text):
    (folder / "local" / "dcshap.yaml").write_text(text)
    with pytest.raises(StorageError):
        SiteConfig.load(folder)


def test_a_setting_of_an_unknown_name_is_refused(folder):
    site = SiteConfig("bank", folder, {"study": config()})
    path = site.save()
    content = yaml.safe_load(path.read_text())
    content["collaborations"]["study"]["n_component"] = 3
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(InputError, match="n_component"):
        SiteConfig.load(folder)


def test_rights_are_by_requester_and_view(folder):
    site = SiteConfig("bank", folder, {}, {"officer": Right(("bank",), 5)})
    assert site.right("officer", "bank").budget == 5
    with pytest.raises(PrivacyError, match="no right"):
        site.right("stranger", "bank")
    with pytest.raises(PrivacyError, match="'full'"):
        site.right("officer", "full")
    with pytest.raises(PrivacyError, match="takes no part"):
        site.collaboration("other")


def test_the_private_seed_is_drawn_once_and_kept(tmp_path):
    first = Secrets.load(tmp_path / "state")
    assert Secrets.load(tmp_path / "state") == first
    assert (tmp_path / "state" / "secrets.json").stat().st_mode & 0o077 == 0
    (tmp_path / "state" / "secrets.json").write_text("{}")
    with pytest.raises(StorageError):
        Secrets.load(tmp_path / "state")


@pytest.mark.parametrize("name", ["../up", "", "a/b", ".hidden", 3])
def test_a_collaboration_s_name_cannot_leave_its_folder(tmp_path, name):
    with pytest.raises(InputError):
        SiteConfig("bank", tmp_path, {}).state_folder(name)
