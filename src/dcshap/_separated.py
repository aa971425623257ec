"""Tables from text files: which separator, which encoding, and what is wrong with the file."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dcshap._numerals import are_thousands, is_text, with_numbers
from dcshap.exceptions import InputError, TableWarning

__all__ = ["read_separated"]

SEPARATORS = (",", ";", "\t", "|")
SAMPLE = 1 << 16  # bytes that the separator is found from
_LINES = 50
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
# What pandas takes for missing values.
_MISSING = [
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA"),
    *("NULL", "NaN", "None", "n/a", "nan", "null"),
]
_SAID = re.compile(r'"?sep=(.)"?')
_FIELDS = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")


def read_separated(path: Path, *, sep: str | None = None, keep_text: bool = False) -> pd.DataFrame:
    """Read a text file with a header, gzipped or not.

    Parameters
    ----------
    path : path
    sep : str, optional
        Where the first line has it; otherwise one of comma, semicolon, tab or bar, whichever makes the most of the
        first lines.
    keep_text : bool
        Whether NA, None and the like are words in columns that hold text.
    """
    packed = _is_gzip(path)
    encoding = _encoding(path, packed=packed)
    rows = _first_rows(path, encoding, packed=packed)
    if sep is not None and (len(sep) != 1 and sep != "\\t"):
        raise InputError(f"A separator must be one character, or \\t. Got {len(sep)} characters.")
    found = (sep or "").replace("\\t", "\t")
    said = _SAID.fullmatch(rows[0].strip())  # as Excel writes it
    if said is not None:
        found, rows = said[1], rows[1:] or [""]
    if not found or found not in rows[0]:  # of several files not all need be separated alike
        found = _separator(rows)
    header = next(csv.reader(rows, delimiter=found), [])
    _require_header(header, path, rows, found)
    given: dict[str, Any] = {"sep": found, "encoding": encoding, "compression": "gzip" if packed else None}
    given |= {} if said is None else {"skiprows": 1}
    table = _parsed(path, given)
    if keep_text:
        table = _parsed(path, given | _words_of(table))
    else:
        _warn_of_words(path, table, given)
    return _with_numbers(path, table, given)


def _parsed(path: Path, given: dict[str, Any]) -> pd.DataFrame:
    try:
        table: pd.DataFrame = pd.read_csv(path, **given)
    except pd.errors.ParserError as error:
        place = _FIELDS.search(str(error))
        if place is None:
            raise InputError(f"{path} cannot be read as a csv table: a quotation mark is never closed.") from error
        wanted, line, got = place.groups()
        raise InputError(
            f"{path}, line {line}, must have {wanted} fields as the lines before. It has {got}: text with the "
            f"separator in it must stand in quotation marks."
        ) from None  # pandas' own message adds nothing
    return table


# --- encoding and separator ---------------------------------------------------------------------------------------


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _open(path: Path, *, packed: bool) -> Any:
    return gzip.open(path, "rb") if packed else path.open("rb")


def _encoding(path: Path, *, packed: bool) -> str:
    """UTF-8, with or without a mark, UTF-16 with one; Latin-1 where it cannot be UTF-8."""
    with _open(path, packed=packed) as file:
        start = file.read(SAMPLE)
        if not start.strip(b"\xef\xbb\xbf \r\n\t"):
            raise InputError(f"{path} must hold a table. It is empty.")
        marked = next((name for mark, name in _MARKS.items() if start.startswith(mark)), None)
        if marked is None and b"\x00" in start:
            raise InputError(f"{path} cannot be read as a csv table: it holds no text.")
        decoder = codecs.getincrementaldecoder(marked or "utf-8")()
        try:
            part = start
            while part:
                decoder.decode(part)
                part = file.read(1 << 20)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            if marked is not None:
                raise
            return "cp1252" if _is_cp1252(path, packed=packed) else "latin-1"
    return marked or "utf-8"


def _is_cp1252(path: Path, *, packed: bool) -> bool:
    """Whether Windows' own Latin-1 has a character for every byte."""
    with _open(path, packed=packed) as file:
        return not any(set(part) & {0x81, 0x8D, 0x8F, 0x90, 0x9D} for part in iter(lambda: file.read(1 << 20), b""))


def _first_rows(path: Path, encoding: str, *, packed: bool) -> list[str]:
    with _open(path, packed=packed) as file, io.TextIOWrapper(file, encoding=encoding, newline="") as text:
        lines = [line for line in (text.readline(SAMPLE) for _ in range(_LINES)) if line.strip("\r\n")]
    return lines or [""]


def _separator(rows: Sequence[str]) -> str:
    """The separator that cuts all first lines alike, into the most fields; comma where none does."""

    def fields(sep: str) -> tuple[bool, int]:
        counts = [len(row) for row in csv.reader(rows, delimiter=sep)]
        return (len(set(counts)) == 1 and counts[0] > 1, counts[0] if counts else 0)

    return max(SEPARATORS, key=fields)  # of equals the first


def _require_header(header: Sequence[str], path: Path, rows: Sequence[str], sep: str) -> None:
    if len(header) == 1:
        _require_no_title(path, rows)
        raise InputError(
            f"{path} must have several columns. Read with {sep!r} between them it has one, whose name has "
            f"{len(header[0])} characters. Say what separates them with `sep` (--sep)."
        )
    if all(_is_number(name) for name in header):
        raise InputError(f"{path} must begin with the names of its columns. The first line holds numbers only.")
    second = next(iter(list(csv.reader(rows, delimiter=sep))[1:2]), header)
    if len(second) > len(header) and "".join(second[len(header) :]).strip():
        raise InputError(
            f"{path} must have a name for each column. The first line has {len(header)} names, the second "
            f"{len(second)} fields."
        )
    twice = sorted({name for name in header if name and header.count(name) > 1})
    if twice:
        _warn(f"{path}: the column names {twice} stand there more than once; the later ones are read as NAME.1.")


def _require_no_title(path: Path, rows: Sequence[str]) -> None:
    """Refuse a title or comments above the names of the columns: lines with one field, and a table below them."""
    for sep in SEPARATORS:
        counts = [len(row) for row in csv.reader(rows, delimiter=sep)]
        begin = next((at for at, count in enumerate(counts) if count > 1), 0)
        if begin and len(counts) - begin > 1 and len(set(counts[begin:])) == 1:
            raise InputError(
                f"{path} must begin with the names of its columns. They seem to stand below {begin} other "
                f"line{'s' if begin > 1 else ''}: remove what is above them."
            )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# --- words and decimal commas -------------------------------------------------------------------------------------


def _words_of(table: pd.DataFrame) -> dict[str, Any]:
    """Options of the parser with which NA and the like are words in columns of text, and missing in others."""
    return {
        "keep_default_na": False,
        "na_values": {name: [""] if is_text(table[name]) else _MISSING for name in table.columns},
    }


def _warn_of_words(path: Path, table: pd.DataFrame, given: dict[str, Any]) -> None:
    """Count cells of text that say NA or None, which may be words or missing values."""
    doubtful = [name for name in table.columns if is_text(table[name]) and table[name].isna().any()]
    if not doubtful:
        return
    words = _parsed(path, given | _words_of(table))
    counts = {name: int(words[name].notna().sum() - table[name].notna().sum()) for name in doubtful}
    counts = {name: count for name, count in counts.items() if 0 < count < len(table)}
    if counts:
        said = ", ".join(f"{name} {count}" for name, count in counts.items())
        _warn(
            f"{path}: cells that say NA, None or the like count as missing values, per column: {said}. Where "
            f"they are words, say so with --keep-text (`keep_text`)."
        )


def _with_numbers(path: Path, table: pd.DataFrame, given: dict[str, Any]) -> pd.DataFrame:
    """Columns of numbers that are written for people, as numbers; of more than decimal commas there is a note."""
    fractions = [name for name in table.columns if pd.api.types.is_float_dtype(table[name])]
    text = [name for name in table.columns if is_text(table[name])]
    table, noted = with_numbers(table, "thousands" if given["sep"] == "," else "decimal")
    commas = given["sep"] != "," and any(not is_text(table[name]) for name in text)
    if commas and fractions:  # among decimal commas a point stands between thousands
        written = _parsed(path, given | {"dtype": str, "usecols": fractions})
        thousands = [name for name in fractions if are_thousands(written[name])]
        plain = {name: written[name].str.replace(".", "", regex=False).astype(np.float64) for name in thousands}
        table, noted = table.assign(**plain), noted + thousands
    if noted:
        _warn(
            f"{path}: the columns {noted} are read as numbers, without thousands separators, percent or currency signs."
        )
    return table


def _warn(text: str) -> None:
    warnings.warn(text, TableWarning, stacklevel=3)
