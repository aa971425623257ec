from __future__ import annotations

import string
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dcshap.exceptions import InputError
from dcshap.languages import LANGUAGES, wording


def texts_of(content: dict[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    for key, value in content.items():
        if isinstance(value, dict):
            yield from texts_of(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def gaps(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_there_are_three_languages():
    assert LANGUAGES == ("de", "en", "ja")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_says_everything_and_fills_the_same_gaps(language):
    english, other = (dict(texts_of(wording(each).texts)) for each in ("en", language))
    assert set(english) == set(other)
    differing = {key for key in english if gaps(english[key]) != gaps(other[key])}
    # One percentage point is written out, or not: it has no gap to fill anywhere.
    assert differing == set()
    assert all(isinstance(text, str) and text for text in other.values())


@pytest.mark.parametrize(
    ("language", "value", "text"),
    [
        ("en", 1234567.0, "1,234,567"),
        ("de", 1234567.0, "1.234.567"),
        ("ja", 1234567.0, "1,234,567"),
        ("en", -0.25, "−0.25"),
        ("de", -0.25, "−0,25"),
        ("de", "St. Pauli, Hafen", "St. Pauli, Hafen"),
        ("de", np.nan, "keine Angabe"),
        ("ja", None, "記載なし"),
    ],
)
def test_a_cell_is_written_as_in_the_language(language, value, text):
    assert wording(language).cell(value) == text


def test_items_are_listed_as_in_the_language():
    assert wording("en").listed(["a", "b", "c"]) == "a, b and c"
    assert wording("de").listed(["a", "b"]) == "a und b"
    assert wording("ja").listed(["a"]) == "a"
    assert wording("en").listed([]) == ""


def test_an_unknown_language_is_refused_with_those_there_are():
    with pytest.raises(InputError, match="'de', 'en', 'ja'"):
        wording("fr")
