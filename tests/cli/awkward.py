"""Deliberately awkward files: what a table looks like when nobody has prepared it."""

from __future__ import annotations

import gzip
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

Write = Callable[[Path], object]


def people(seed: int = 0, n: int = 90) -> pd.DataFrame:
    """A plain table: numbers, text, and a target that follows from them."""
    rng = np.random.default_rng(seed)
    age, weight = rng.integers(18, 90, n), rng.normal(75, 12, n).round(1)
    sex, town = rng.choice(["female", "male"], n), rng.choice(["Bern", "Zürich", "Basel"], n)
    sick = np.where(age + weight / 4 + rng.normal(0, 8, n) > 73, "yes", "no")
    return pd.DataFrame({"age": age, "weight": weight, "sex": sex, "town": town, "sick": sick})


TABLE = people(1)
TEXT = TABLE.to_csv(index=False)
LINES = TEXT.splitlines(keepends=True)


def text(content: str, encoding: str = "utf-8") -> Write:
    return lambda path: path.write_bytes(content.encode(encoding))


def raw(content: bytes) -> Write:
    return lambda path: path.write_bytes(content)


def csv(table: pd.DataFrame, **how: object) -> Write:
    return lambda path: table.to_csv(path, **({"index": False} | how))  # type: ignore[call-overload]


def with_cell(column: str, row: int, value: object, table: pd.DataFrame = TABLE) -> Write:
    values = table[column].astype(object).tolist()
    values[row] = value
    return csv(table.assign(**{column: values}))


def sheets(**by_name: pd.DataFrame) -> Write:
    def write(path: Path) -> None:
        with pd.ExcelWriter(path, engine="openpyxl") as book:
            for name, table in by_name.items():
                table.to_excel(book, sheet_name=name, index=False)

    return write


def database(path: Path) -> None:
    connection = sqlite3.connect(path)
    TABLE.to_sql("people", connection, index=False)
    connection.close()


# Names, dates in two notations and comments, of as many people as there are rows.
NAMES = [f"Person {i} of Many" for i in range(len(TABLE))]
DAYS = pd.date_range("1999-12-20", periods=len(TABLE), freq="17D")
CLOCK = [f"{8 + i % 12}:{i % 60:02}" for i in range(len(TABLE))]
DECIMALS = TABLE.to_csv(index=False, sep=";", decimal=",")
QUERY = "select * from people"
GRAMS = TABLE["weight"] * 1000
# A point is between thousands where other columns have decimal commas.
POINTS = TABLE.assign(grams=GRAMS.map("{:,.0f}".format).str.replace(",", ".")).to_csv(index=False, sep=";", decimal=",")


def titled(path: Path) -> None:
    above = pd.DataFrame([["Our patients", *[None] * 4], list(TABLE.columns), *TABLE.to_numpy().tolist()])
    above.to_excel(path, index=False, header=False)


# The file's name, what writes it, options, the exit code, and words of what is said.
FILES: list[tuple[str, Write | None, tuple[str, ...], int, str]] = [
    ("plain.csv", text(TEXT), (), 0, "Trained logistic"),
    ("semicolon.csv", csv(TABLE, sep=";"), (), 0, "Trained logistic"),
    ("decimal-comma.csv", text(DECIMALS), (), 0, "Trained logistic"),
    ("tab.tsv", csv(TABLE, sep="\t"), (), 0, "Trained logistic"),
    ("bar.txt", csv(TABLE, sep="|"), (), 0, "Trained logistic"),
    ("tilde.csv", csv(TABLE, sep="~"), (), 1, "it has one, whose name has 24 characters. Say what separates them"),
    ("tilde-said.csv", csv(TABLE, sep="~"), ("--sep", "~"), 0, "Trained logistic"),
    ("bom.csv", text(TEXT, "utf-8-sig"), (), 0, "Trained logistic"),
    ("latin1.csv", text(TEXT, "latin-1"), (), 0, "Trained logistic"),
    ("utf16.csv", text(TEXT, "utf-16"), (), 0, "Trained logistic"),
    ("windows.csv", text(TEXT.replace("\n", "\r\n")), (), 0, "Trained logistic"),
    ("packed.csv.gz", raw(gzip.compress(TEXT.encode())), (), 0, "Trained logistic"),
    ("packed-unsaid.csv", raw(gzip.compress(TEXT.encode())), (), 0, "Trained logistic"),
    ("packed-cut.csv.gz", raw(gzip.compress(TEXT.encode())[:-40]), (), 1, "cannot be read as a csv table"),
    ("book.xlsx", sheets(people=TABLE), (), 0, "Trained logistic"),
    ("two-sheets.xlsx", sheets(people=TABLE, notes=TABLE.head(2)), (), 0, "has 2 sheets: the first one is read"),
    ("empty-sheet.xlsx", sheets(people=TABLE.iloc[:0, :0]), (), 1, "must hold a table. It is empty"),
    ("no-book.xlsx", text("age,weight\n1,2\n"), (), 1, "cannot be read as an Excel table"),
    ("old.xls", raw(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" * 9), (), 1, "save it as .xlsx or csv"),
    ("people.feather", TABLE.to_feather, (), 0, "Trained logistic"),
    ("people.parquet", TABLE.to_parquet, (), 0, "Trained logistic"),
    ("parquet-unsaid.csv", TABLE.to_parquet, (), 0, "Trained logistic"),
    ("durations.parquet", TABLE.assign(age=pd.to_timedelta(TABLE["age"], "h")).to_parquet, (), 0, "are read as hours"),
    ("broken.parquet", raw(b"PAR1 and then nothing"), (), 1, "cannot be read as a parquet table"),
    ("people.db", database, (), 1, "give sqlite:///FILE instead, and a query with --sql"),
    ("sqlite:///url.db", database, ("--sql", QUERY), 0, "Trained logistic"),
    ("sqlite:///asked.db", database, (), 1, "needs a query: give it with --sql"),
    ("sqlite:///wrong.db", database, ("--sql", "select * from nobody"), 1, "query could not be run"),
    ("paper.csv", raw(b"%PDF-1.7 and so on"), (), 1, "It is a PDF document"),
    ("noise.csv", raw(bytes(range(256)) * 4), (), 1, "it holds no text"),
    ("nothing.csv", raw(b""), (), 1, "must hold a table. It is empty"),
    ("blank.csv", raw(b"\n  \r\n\n"), (), 1, "must hold a table. It is empty"),
    ("header.csv", text(LINES[0]), (), 1, "It has a header of 5 columns and no rows"),
    ("missing.csv", None, (), 1, "There is no such file"),
    ("folder.csv", Path.mkdir, (), 1, "It is a folder"),
    ("no-header.csv", text("".join(f"{i},{i + 1},{i + 2}\n" for i in range(9))), (), 1, "names of its columns"),
    ("ragged.csv", text("".join([*LINES[:5], "1,2,3,4,5,6,7\n"])), (), 1, "line 6, must have 5 fields"),
    (
        "unnamed.csv",
        text("".join([LINES[0], *(f"{line.strip()},x\n" for line in LINES[1:])])),
        (),
        1,
        "a name for each",
    ),
    ("quote.csv", text(TEXT + '1,2,"female'), (), 1, "a quotation mark is never closed"),
    ("quoted.csv", csv(TABLE.assign(sex=TABLE["sex"] + ", said\nso")), (), 0, "Trained logistic"),
    ("twice.csv", text(TEXT.replace("age,weight", "age,age", 1)), (), 1, "stand there more than once"),
    ("blanks.csv", text(TEXT.replace("age,weight", " age , weight", 1)), (), 0, "Trained logistic"),
    ("trailing.csv", text(TEXT.replace("\n", ",\n")), (), 0, "Trained logistic"),
    (
        "index.csv",
        csv(TABLE, index=True),
        (),
        0,
        "['Unnamed: 0'], whole numbers that are all different: record numbers",
    ),
    ("names.csv", csv(TABLE.assign(name=NAMES)), (), 0, "['name'], nearly as many values as rows"),
    ("dates.csv", csv(TABLE.assign(day=DAYS)), ("--drop", "day"), 0, "Trained logistic"),
    ("times.csv", csv(TABLE.assign(age=CLOCK)), (), 1, "'age' holds numbers for some and times of day for others"),
    ("dates-unclear.csv", csv(TABLE.assign(day=DAYS.strftime("%d/%m/%Y"))), (), 0, "can be read in two ways"),
    ("more.csv", csv(TABLE.assign(size=TABLE["age"])), (), 1, "'south' lacks ['size'], which 'north' has"),
    ("constant.csv", csv(TABLE.assign(weight=80)), (), 0, "Trained logistic"),
    ("infinite.csv", with_cell("weight", 4, "inf"), (), 1, "Infinite values per column: weight 1 (row 5)"),
    (
        "gap.csv",
        with_cell("weight", 4, None),
        (),
        1,
        "(row 5). Fill or drop them, or say --missing reference",
    ),
    ("gap-absent.csv", with_cell("weight", 4, None), ("--missing", "reference"), 0, "Trained logistic"),
    ("words.csv", with_cell("town", 4, "NA"), (), 1, "town 1. Where they are words, say so with --keep-text"),
    ("words-kept.csv", with_cell("town", 4, "NA"), ("--keep-text",), 0, "Trained logistic"),
    ("kilos.csv", with_cell("weight", 4, "80 kg"), (), 1, "1 of 90 values of 'north' are not numbers (row 5)"),
    ("codes.csv", csv(TABLE.assign(age=TABLE["age"] % 4)), (), 0, "Trained logistic"),
    ("unlabelled.csv", with_cell("sick", 4, None), (), 1, "'north' lacks 1 of 90 (row 5)"),
    ("capitals.csv", csv(TABLE.assign(sick=TABLE["sick"].str.upper())), (), 1, "--labels NO=no"),
    (
        "capitals-said.csv",
        csv(TABLE.assign(sick=TABLE["sick"].str.upper())),
        ("--labels", "NO=no", "--labels", "YES=yes"),
        0,
        "Trained logistic",
    ),
    ("text-target.csv", text(TEXT), ("--regression",), 1, "must hold numbers. It holds text: 90 of 90"),
    ("one-row.csv", csv(TABLE.head(1)), (), 0, "Trained logistic"),
    (
        "title.csv",
        text("People of 2024\n\n" + TEXT),
        (),
        1,
        "They seem to stand below 1 other line: remove what is above",
    ),
    (
        "comments.csv",
        text("# from the clinic\n# on Monday\n" + TEXT),
        (),
        1,
        "below 2 other lines: remove what is above",
    ),
    ("excel-says.csv", text("sep=;\n" + DECIMALS), (), 0, "Trained logistic"),
    ("records.json", text(TABLE.to_json(orient="records")), (), 1, "It is JSON: save it as csv or Parquet"),
    ("page.html", text(TABLE.head(2).to_html()), (), 1, "It is a web page or XML: save the table in it as csv"),
    ("title.xlsx", titled, (), 1, "4 of 5 cells there are empty: remove titles and merged cells above the names"),
    ("thousands.csv", csv(TABLE.assign(weight=GRAMS.map("{:,.0f}".format))), (), 0, "['weight'] are read as numbers"),
    ("dollars.csv", csv(TABLE.assign(weight=GRAMS.map("${:,.2f}".format))), (), 0, "['weight'] are read as numbers"),
    ("percent.csv", csv(TABLE.assign(weight=TABLE["weight"].map("{} %".format))), (), 0, "['weight'] are read as num"),
    ("points.csv", text(POINTS), (), 1, "['grams'] are read as numbers, without thousands separators"),
    (
        "two-units.csv",
        csv(TABLE.assign(weight=[f"{'$€'[i % 2]}{w}" for i, w in enumerate(TABLE["weight"])])),
        (),
        1,
        "90 of 90 values of 'north' are not numbers (rows 1, 2, 3, 4, 5 and 85 more): make them numbers",
    ),
    ("truths.csv", csv(TABLE.assign(age=TABLE["age"] > 50)), (), 1, "'north' holds true and false: write the same at"),
    ("capital-names.csv", csv(TABLE.rename(columns={"age": "Age"})), (), 1, "capitals or blanks: 'age' and 'Age'"),
    ("capital-target.csv", csv(TABLE.rename(columns={"sick": "Sick"})), (), 1, "blanks: 'sick' and 'Sick'"),
    ("hard-blanks.csv", csv(TABLE.rename(columns={"age": "\u00a0age"})), (), 0, "Trained logistic"),
    ("other-words.csv", csv(TABLE.assign(sex=TABLE["sex"].str[:1])), (), 0, "'sex': a table has no category in common"),
    (
        "blank-labels.csv",
        csv(TABLE.assign(sick=" " + TABLE["sick"])),
        (),
        1,
        "for example by --labels ' no=no'",
    ),
    (
        "huge-numbers.csv",
        csv(TABLE.assign(account=[10**17 + 7919 * i for i in range(90)])),
        (),
        0,
        "['account'], whole numbers that are all different: record numbers",
    ),
]
