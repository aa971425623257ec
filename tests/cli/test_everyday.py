from __future__ import annotations

import json
import sqlite3
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from typer.main import get_command

from dcshap import HorizontalCollaboration
from dcshap.cli.main import COMMANDS, app
from dcshap.cli.tables import Run
from dcshap.schema import Category, Date, Schema, Time
from tests.cli.awkward import people


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("everyday")
    for seed, name in enumerate(("north", "south", "test")):
        table = people(seed, 120)
        table["ward"] = np.arange(len(table)) % 4 + 1
        table["day"] = pd.date_range("2020-01-01", periods=len(table), freq="5D")
        table["at"] = [f"{8 + i % 12}:{7 * i % 60:02}" for i in range(len(table))]
        table["patient"] = [f"{i:06}" for i in range(len(table))]
        table.to_csv(folder / f"{name}.csv", index=False)
    return folder


FIT = ("fit", "horizontal", "--party", "north=north.csv", "--party", "south=south.csv", "--target", "sick")


@pytest.fixture
def run(folder, told):
    if not (folder / "run").exists():
        code, said = told(*FIT, "--out", "run", "--seed", 0, folder=folder)
        assert code == 0, said
    return "run"


# --- fit ---------------------------------------------------------------------------------------------------------


def test_dates_codes_and_identifiers_are_told_of_and_the_schema_says_so(folder, told):
    code, said = told(*FIT, "--out", "kinds", "--category", "ward", "--drop", "weight", folder=folder)
    assert code == 0
    assert "['patient'], whole numbers that are all different: record numbers" in said
    assert "--category NAME" not in said
    found = Run.load(folder / "kinds").collaboration.parties_["north"].agreement.schema
    assert found.names == ("age", "sex", "town", "ward", "day", "at")
    ward = found["ward"]
    assert isinstance(found["day"], Date)
    assert isinstance(found["at"], Time)
    assert isinstance(ward, Category)
    assert ward.categories == (1, 2, 3, 4)
    assert Schema.load(folder / "kinds" / "schema.yaml") == found


def test_columns_of_few_whole_numbers_are_named(folder, told):
    code, said = told(*FIT, "--out", "codes", folder=folder)
    assert code == 0
    assert "The columns ['ward'] hold few different whole numbers. Say --category NAME" in said


@pytest.mark.parametrize("option", ["--drop", "--category", "--onehot"])
def test_a_column_that_is_not_there_cannot_be_named(folder, told, option):
    code, said = told(*FIT, "--out", "x", option, "height", folder=folder)
    assert code == 1
    assert "must name columns of the" in said
    assert "['height']" in said


def test_a_target_of_many_numbers_asks_what_it_is(folder, told):
    number = (*FIT[:-1], "weight", "--out", "numbers")
    code, said = told(*number, folder=folder)
    assert code == 1
    assert "different numbers. Say --regression to predict a number, or --classes" in said
    assert not (folder / "numbers").exists()
    code, said = told(*number, "--regression", folder=folder)
    assert code == 0, said


def test_numbers_at_one_party_and_the_same_as_text_at_another_are_noticed(folder, told):
    pd.read_csv(folder / "north.csv").replace({"sick": {"yes": "1", "no": "0"}}).to_parquet(folder / "text.parquet")
    pd.read_csv(folder / "south.csv").replace({"sick": {"yes": 1, "no": 0}}).to_csv(folder / "whole.csv", index=False)
    mixed = ("fit", "horizontal", "--party", "north=text.parquet", "--party", "south=whole.csv", "--target", "sick")
    code, said = told(*mixed, "--out", "mixed", folder=folder)
    assert code == 1
    assert "spelled in different ways: 0 (" in said
    assert "and '0' (" in said
    code, said = told(*mixed, "--out", "mixed", "--labels", "0=no", "--labels", "1=yes", folder=folder)
    assert code == 0, said


def test_the_same_fit_twice_works(folder, told):
    scores = []
    for _ in range(2):
        code, said = told(*FIT, "--out", "twice", "--seed", 3, "--test", "test.csv", "--json", folder=folder)
        assert code == 0, said
        scores.append(json.loads(said[said.index("{") : said.rindex("}") + 1])["parties"])
    assert scores[0] == scores[1]


# --- fit vertical ------------------------------------------------------------------------------------------------

JOIN = ("fit", "vertical", "--party", "ward=ward.csv", "--party", "lab=lab.csv", "--id", "patient", "--target", "sick")


@pytest.fixture
def split(folder):
    table = pd.read_csv(folder / "north.csv", dtype={"patient": str})
    table[["patient", "age", "sex", "sick"]].to_csv(folder / "ward.csv", index=False)
    table[["patient", "weight", "town", "ward"]].to_csv(folder / "lab.csv", index=False)
    return table


def test_a_vertical_fit_is_tested_and_encodes_as_it_is_told(folder, told, split):
    options = ("--test", "test.csv", "--onehot", "town", "--category", "ward", "--drop", "sex", "--drop", "weight")
    split[["patient", "weight", "age"]].rename(columns={"age": "size"}).to_csv(folder / "more.csv", index=False)
    code, said = told(*JOIN[:4], "--party", "more=more.csv", *JOIN[4:], "--out", "joined", *options[:-4], folder=folder)
    assert code == 1
    assert "Held by several: ['weight']" in said
    code, said = told(*JOIN, "--out", "joined", *options[:-4], "--json", folder=folder)
    assert code == 0, said
    parties = json.loads(said[said.index("{") : said.rindex("}") + 1])["parties"]
    assert all(0.5 < party["score"] <= 1 and 0.4 < party["pooled"] <= 1 for party in parties)
    assert Schema.load(folder / "joined" / "schema.yaml").names == ("age", "sex", "weight", "town", "ward")
    schema = Run.load(folder / "joined").collaboration.parties_["lab"].agreement.schema
    town, ward = schema["town"], schema["ward"]
    assert isinstance(town, Category)
    assert isinstance(ward, Category)
    assert (town.encoding, ward.encoding) == ("onehot", "ordinal")


def test_held_out_records_may_stand_in_one_file_per_party(folder, told, split):
    code, said = told(*JOIN, "--out", "j", "--test", "ward=ward.csv", "--test", "lab=lab.csv", folder=folder)
    assert code == 0, said
    code, said = told(*JOIN, "--out", "j", "--test", "ward=ward.csv", folder=folder)
    assert code == 1
    assert "one for each of ['ward', 'lab']" in said


def test_identifiers_that_look_alike_are_hinted_at(folder, told, split):
    split[["patient", "weight", "town"]].to_parquet(folder / "zeros.parquet")
    code, said = told(
        "fit", "vertical", "--party", "ward=ward.csv", "--party", "lab=zeros.parquet", "--id", "patient",
        "--target", "sick", "--out", "zeros", folder=folder,
    )  # fmt: skip
    assert code == 1
    assert "120 record identifiers of 'ward' and 'lab' look alike but differ in leading zeros" in said


# --- predict and explain --------------------------------------------------------------------------------------------


def test_unknown_categories_and_missing_values_count_as_absent_where_that_is_said(folder, told, run):
    rows = pd.read_csv(folder / "test.csv").head(4).assign(town=["Bern", "Genf", "Chur", "Basel"])
    rows.loc[3, "weight"] = np.nan
    rows.to_csv(folder / "odd.csv", index=False)
    asked = ("predict", run, "odd.csv", "--party", "north")
    code, said = told(*asked, folder=folder)
    assert code == 1
    assert "'town' has 2 values that are none of its 3 categories (rows 2, 3)" in said
    assert said.count("not in the schema: ['Chur', 'Genf']") == 1
    assert "take such values for absent with --unknown reference" in said
    code, said = told(*asked, "--unknown", "reference", folder=folder)
    assert code == 1
    assert "Missing values per column: weight 1 (row 4)" in said
    code, said = told(*asked, "--unknown", "reference", "--missing", "reference", folder=folder)
    assert code == 0, said
    code, said = told("explain", *asked[1:], "--unknown", "reference", "--missing", "reference", folder=folder)
    assert code == 0, said
    code, said = told(*asked, "--unknown", "ignore", folder=folder)
    assert code == 2


def test_an_unknown_category_predicts_as_the_reference_s(folder, run):
    collaboration = Run.load(folder / run).collaboration
    assert isinstance(collaboration, HorizontalCollaboration)
    party = collaboration.parties_["north"]
    rows = pd.read_csv(folder / "test.csv").drop(columns=["sick", "patient"]).head(5)
    typical = party.agreement.schema["town"].typical
    absent = party.predict_proba(rows.assign(town="Genf"), unknown="reference")
    np.testing.assert_array_equal(absent, party.predict_proba(rows.assign(town=typical)))
    explained = collaboration.explain(rows.assign(town="Genf"), party="north", unknown="reference")
    assert not explained.values[:, explained.feature_names.index("town")].any()


@pytest.mark.parametrize("kind", ["semicolon.csv", "rows.xlsx", "sqlite:///rows.db"])
@pytest.mark.parametrize("command", ["predict", "explain", "compare"])
def test_every_command_reads_every_kind_of_table(folder, told, run, command, kind):
    rows = pd.read_csv(folder / "test.csv").head(3)
    rows.to_csv(folder / "semicolon.csv", index=False, sep=";")
    rows.to_excel(folder / "rows.xlsx", index=False)
    connection = sqlite3.connect(folder / "rows.db")
    rows.to_sql("rows", connection, index=False, if_exists="replace")
    connection.close()
    party = () if command == "compare" else ("--party", "north")
    code, said = told(command, run, kind, *party, "--sql", "select * from rows", folder=folder)
    assert code == 0, said
    assert "['patient'] are no part of the run and are ignored" in said


# --- schema --------------------------------------------------------------------------------------------------------


def test_parties_make_merge_check_and_use_a_schema(folder, told):
    for name in ("north", "south"):
        code, said = told("schema", "make", f"{name}.csv", "--drop", "sick", "--out", f"{name}.yaml", folder=folder)
        assert code == 0, said
        assert "patient" not in Schema.load(folder / f"{name}.yaml").names
    code, said = told("schema", "merge", "north.yaml", "south.yaml", "--out", "agreed.yaml", folder=folder)
    assert code == 0, said
    code, said = told("schema", "merge", "north.yaml", "south.yaml", "--vertical", "--out", "no.yaml", folder=folder)
    assert code == 1
    assert "Each column must be one party's" in said
    code, said = told("schema", "show", "agreed.yaml", folder=folder)
    assert code == 0
    assert "date: days since 1970-01-01" in said
    assert "time: minutes since midnight" in said
    assert "beyond counts as the nearer end" in said
    for name in ("north", "south"):
        code, said = told("schema", "check", "agreed.yaml", f"{name}.csv", folder=folder)
        assert code == 0, said
    code, said = told(*FIT, "--schema", "agreed.yaml", "--out", "agreed", folder=folder)
    assert code == 0, said
    assert "'north': the columns ['patient'] are not in the schema and are ignored" in said


def test_a_table_that_does_not_fit_is_told_column_by_column(folder, told):
    told("schema", "make", "north.csv", "--drop", "sick", "--exact", "--out", "exact.yaml", folder=folder)
    wrong = pd.read_csv(folder / "south.csv").drop(columns="age").assign(town="Genf", weight=1000)
    wrong.to_csv(folder / "wrong.csv", index=False)
    code, said = told("schema", "check", "exact.yaml", "wrong.csv", "--json", folder=folder)
    assert code == 1
    rows = {row["column"]: row for row in json.loads(said[said.index("[ {") : said.rindex("} ]") + 3])}
    assert rows["age"]["problem"] == "lacking"
    assert "120 values that are none of its 3 categories" in rows["town"]["problem"]
    assert rows["weight"] == rows["weight"] | {"fits": True, "outside": 120}
    assert "2 of 7 columns do not fit" in said


# --- help ----------------------------------------------------------------------------------------------------------


def test_the_list_of_commands_says_what_each_command_says_of_itself():
    commands = get_command(app)
    for name, said in COMMANDS.items():
        found = commands.get_command(None, name)  # type: ignore[attr-defined]
        assert found is not None
        assert " ".join((found.help or "").split()).startswith(said)


def test_help_is_shown_without_importing_what_trains_and_draws():
    show = (
        "import sys; from dcshap.cli.main import app; app(['--help'], standalone_mode=False); "
        "print([name for name in ('numpy', 'pandas', 'sklearn', 'matplotlib') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]"
    assert all(name in done.stdout for name in COMMANDS)


def test_what_nobody_foresaw_is_one_line_without_data_and_a_code_of_its_own(folder, told, run, monkeypatch):
    def fails(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a value of somebody's row")

    monkeypatch.setattr(Run, "rows", fails)
    code, said = told("predict", run, "test.csv", "--party", "north", folder=folder)
    assert code == 3
    assert "dcshap did not foresee this: ZeroDivisionError in test_everyday.py, line" in said
    assert "somebody" not in said
    with pytest.raises(ZeroDivisionError):
        told("predict", run, "test.csv", "--party", "north", "--debug", folder=folder)


def test_a_title_that_is_wider_than_its_table_stays_on_one_line(folder, told, run):
    code, said = told(*FIT, "--out", "title", folder=folder)
    assert code == 0
    assert "Trained logistic, written to title ┏" in said


def test_a_schema_that_is_not_there_is_said_in_words(folder, told):
    code, said = told("schema", "show", "nothing.yaml", folder=folder)
    assert code == 1
    assert "nothing.yaml must be a schema's YAML file. There is no such file." in said
