"""What predictions, columns and organisations are called on the desk's pages and letters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import yaml

from dcshap.exceptions import InputError

__all__ = ["Organisation", "Vocabulary", "percent_text"]

MOST_DIGITS = 8  # after the point of a chance in percent

Spoken = str | Mapping[str, str]  # a text, or one for each language


@dataclass(frozen=True)
class Organisation:
    """Another organisation that a prediction depends on."""

    name: str
    category: Spoken = "data of its own"  # what kind of data it holds, in words: "purchases and payments"
    contact: str = ""
    key: str = ""  # the fingerprint of its desk's key, where it was told by another way


@dataclass(frozen=True)
class Vocabulary:
    """What the desk calls things."""

    organisation: str = ""  # whose desk it is
    category: Spoken = ""  # what kind of data it holds, in words
    subject: Spoken = ""  # what is predicted: "income above 50K"
    # The model's output that the decision is about; by default the second of two classes, and of more the one that is
    # predicted.
    output: str = ""
    threshold: float = 0.5  # from which on the decision is `above`
    above: Spoken = ""  # what is decided from the threshold on
    below: Spoken = ""  # and below it
    contact: str = ""  # where a person concerned can ask for a review
    authority: str = ""  # where else to complain
    days: int | None = None  # within how many days a decision can be contested
    labels: Mapping[str, Spoken] = field(default_factory=dict)  # by column: its name for people
    changeable: tuple[str, ...] = ()  # columns that a person can change: the smallest change is looked for among them
    # Columns of which letters and other organisations are told nothing, beside those that the schema marks. A desk
    # that has no schema tells nothing beyond itself until they are named; an empty list says that there are none.
    sensitive: tuple[str, ...] | None = None
    organisations: Mapping[str, Organisation] = field(default_factory=dict)  # by party

    @classmethod
    def load(cls, path: str | Path) -> Vocabulary:
        """Read a YAML file with any of the attributes."""
        try:
            content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise InputError(f"{path} must be a YAML file in UTF-8. It is not.") from error
        return cls.of(content, where=str(path))

    @classmethod
    def of(cls, content: Any, *, where: str = "The vocabulary") -> Vocabulary:
        """The vocabulary that a mapping describes."""
        known = {each.name for each in fields(cls)}
        if not isinstance(content, Mapping) or not set(content) <= known:
            extra = sorted(map(str, set(content) - known)) if isinstance(content, Mapping) else []
            raise InputError(f"{where} must have no other keys than {sorted(known)}. Got {extra or 'no mapping'}.")
        given = dict(content)
        try:
            given["organisations"] = {
                str(party): Organisation(**({"name": str(party)} | _categorised(dict(about), where)))
                for party, about in dict(given.get("organisations", {})).items()
            }
            given["changeable"] = tuple(map(str, given.get("changeable", ())))
            given["sensitive"] = _columns(given.get("sensitive"))
            given["labels"] = {str(k): _spoken(v, where) for k, v in dict(given.get("labels", {})).items()}
            given["threshold"] = float(given.get("threshold", 0.5))
            given["days"] = None if given.get("days") is None else int(given["days"])
        except (TypeError, ValueError) as error:
            raise InputError(f"{where} must have the form that docs/desk.md shows.") from error
        texts = ("organisation", "output", "contact", "authority")
        spoken = {name: _spoken(given.get(name, ""), where) for name in ("category", "subject", "above", "below")}
        return cls(**given | {name: str(given.get(name, "")) for name in texts} | spoken)

    def output_among(self, names: Sequence[str]) -> str | None:
        """The output that the decision is about; None where a model has none of that name, or none was agreed."""
        return self.output if self.output in names else None

    def label(self, column: str, language: str = "en") -> str:
        """A column's name for people."""
        return _in(self.labels.get(column, column.replace("_", " ").replace("-", " ")), language)

    def about(self, party: str, language: str = "en") -> Organisation:
        """Another organisation, with what it holds in a language."""
        found = self.organisations.get(party, Organisation(party))
        return replace(found, category=_in(found.category, language))

    def category_in(self, language: str = "en") -> str:
        """What kind of data the own organisation holds, in words."""
        return _in(self.category, language)

    def decision(self, value: float, language: str = "en") -> str:
        """What is decided of a prediction, in words."""
        return _in(self.above if value >= self.threshold else self.below, language)

    def percent(self, value: float) -> str:
        """A chance in percent, with as many digits as it takes not to read as the line that it misses."""
        return percent_text(value, self.threshold)

    def subject_in(self, language: str = "en") -> str:
        """What is predicted, in words."""
        return _in(self.subject, language)


def percent_text(value: float, line: float | None) -> str:
    """A chance in percent with a digit after the point, or more where it would read as a line that it misses."""
    texts = [f"{100 * value:.{digits}f}" for digits in range(1, MOST_DIGITS + 1)]
    if line is None or value == line:
        return texts[0]
    return next((text for text in texts if float(text) != float(f"{100 * line:.9g}")), texts[-1])


def _in(text: Spoken, language: str) -> str:
    """A text in a language; in the first it is given in, where it is not given in that one."""
    return text if isinstance(text, str) else text.get(language) or next(iter(text.values()), "")


def _categorised(about: dict[str, Any], where: str) -> dict[str, Any]:
    return about | ({"category": _spoken(about["category"], where)} if "category" in about else {})


def _columns(given: Any) -> tuple[str, ...] | None:
    """Names of columns; None where none are given, which is not an empty list."""
    if given is None:
        return None
    if not isinstance(given, list | tuple):
        raise TypeError("a list is needed")
    return tuple(map(str, given))


def _spoken(given: Any, where: str) -> Spoken:
    if isinstance(given, Mapping):
        return {str(language): str(text) for language, text in given.items()}
    if isinstance(given, str | int | float):
        return str(given)
    raise InputError(f"{where} must have the form that docs/desk.md shows.")
