"""The works behind the methods that a run used."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from sklearn.base import is_classifier

from dcshap.collaborations import HorizontalCollaboration, VerticalCollaboration
from dcshap.shapley import Explanation

__all__ = ["Citation", "all_citations", "citations_of"]


@dataclass(frozen=True)
class Citation:
    """One work.

    Attributes
    ----------
    key : str
    used_for : str
        What of a run rests on it.
    author, title, where : str
    year : int
    """

    key: str
    used_for: str
    author: str
    title: str
    where: str
    year: int

    def __str__(self) -> str:
        people = [name.split(",")[0] for name in self.author.split(" and ")]
        said = f"{people[0]} et al." if len(people) > 2 else " and ".join(people)
        return f"{said} ({self.year}). {self.title}. {self.where}."

    def bibtex(self) -> str:
        """The entry for a bibliography."""
        return (
            f"@misc{{{self.key},\n  author = {{{self.author}}},\n  title = {{{self.title}}},\n"
            f"  howpublished = {{{self.where}}},\n  year = {{{self.year}}}\n}}"
        )


@cache
def _works() -> dict[str, Citation]:
    text = files("dcshap.tracking").joinpath("references.toml").read_text(encoding="utf-8")
    return {key: Citation(key=key, used_for=work.pop("for"), **work) for key, work in tomllib.loads(text).items()}


def all_citations() -> tuple[Citation, ...]:
    """The works behind all methods."""
    return tuple(_works().values())


def citations_of(
    collaboration: HorizontalCollaboration | VerticalCollaboration | None = None,
    explanation: Explanation | None = None,
) -> tuple[Citation, ...]:
    """The works behind what a training, an explanation, or both used."""
    used: set[str] = set()
    if collaboration is not None:
        used |= {"dcshap", "collaboration", *_of_training(collaboration)}
    if explanation is not None:
        used |= {"dcshap", "shapley", "shap", *_of_values(explanation)}
    return tuple(work for key, work in _works().items() if key in used)


def _of_training(collaboration: Any) -> Iterable[str]:
    vertical = isinstance(collaboration, VerticalCollaboration)
    if collaboration.span == "supervised":
        yield "triples" if vertical else "summation"
        if vertical or not getattr(collaboration, "span_rounds", 0):
            yield "fisher"
        elif is_classifier(collaboration.analyst_.model_) and collaboration.epsilon is None:
            yield from ("hessian", "residuals")
    if collaboration.span == "shared":
        yield "summation"
    if getattr(collaboration, "epsilon", None) is not None:
        yield from ("gaussian", "fisher")
    if type(collaboration.analyst_.model_).__module__.startswith("sklearn."):
        yield "sklearn"


def _of_values(explanation: Explanation) -> Iterable[str]:
    if explanation.index == "owen":
        yield "owen"
    if not explanation.exact:
        yield "sampling"
