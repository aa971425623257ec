"""The sentences of one language, read from its file, and how it writes numbers and lists."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from dcshap._tables import is_missing, plain_value
from dcshap.exceptions import InputError

__all__ = ["LANGUAGES", "Wording", "wording"]

_FOLDER = files("dcshap.languages")
LANGUAGES = tuple(sorted(file.name.removesuffix(".toml") for file in _FOLDER.iterdir() if file.name.endswith(".toml")))


@dataclass(frozen=True, eq=False)
class Wording:
    """The texts of one language."""

    language: str  # its code, as in HTML
    texts: dict[str, Any]  # nested, as in the language's file

    def say(self, key: str, **given: str) -> str:
        """The text at a dotted key, its gaps filled."""
        found: Any = self.texts
        for part in key.split("."):
            found = found[part]
        return str(found).format(**given)

    def cell(self, value: Any) -> str:
        """One cell of a table as the language writes it."""
        if is_missing(value):
            return self.say("missing")
        text = plain_value(value)
        return text if isinstance(value, str) else self.number(text)

    def number(self, text: str) -> str:
        """A number that was written as in English, as the language writes it."""
        return text.translate({ord(","): self.say("thousands"), ord("."): self.say("decimal")})

    def listed(self, items: Sequence[str]) -> str:
        """Items as a sentence lists them: `a, b and c`."""
        if len(items) < 2:
            return "".join(items)
        return self.say("comma").join(items[:-1]) + self.say("and") + items[-1]


@cache
def wording(language: str) -> Wording:
    """The texts of a language, by its code."""
    if language not in LANGUAGES:
        raise InputError(f"`language` must be one of {list(LANGUAGES)}. Got {language!r}.")
    return Wording(language, tomllib.loads((_FOLDER / f"{language}.toml").read_text(encoding="utf-8")))
