"""A self-contained page made of sections and blocks.

>>> page = Report("Two hospitals", [Section("Accuracy", [Paragraph("Together 0.83, alone 0.76.")])])
>>> "<h2" in page.html()
True

A page holds its pictures and its style sheet, loads nothing and runs nothing. Every text is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dcshap.exceptions import InputError
from dcshap.report.svg import inline_svg
from dcshap.report.texts import MISSING, column_texts

__all__ = ["Block", "KeyFigures", "Listing", "Note", "Paragraph", "Picture", "Place", "Report", "Section", "Table"]

# Nothing is loaded and nothing runs, whatever a text that came into the page might ask for.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_LOWEST_HEADING = 6
_NUMBER = re.compile(r"[+−]?[\d.,]+(e[+−]?\d+)?%?\Z|–\Z")


@dataclass
class Place:
    """Where in a page a block is written: how deep, and which identifiers are taken."""

    level: int = 2
    taken: dict[str, int] = field(default_factory=dict)

    def identifier(self, kind: str) -> str:
        """An identifier that the page does not have yet: `section-1`, `section-2`, …"""
        self.taken[kind] = self.taken.get(kind, 0) + 1
        return f"{kind}-{self.taken[kind]}"

    def deeper(self) -> Place:
        """The same page, one heading further down."""
        return Place(min(self.level + 1, _LOWEST_HEADING), self.taken)


@runtime_checkable
class Block(Protocol):
    """Anything that can be part of a section."""

    def html(self, place: Place) -> str:
        """The block as HTML."""


@dataclass(frozen=True)
class Paragraph:
    """Running text."""

    text: str

    def html(self, place: Place) -> str:  # noqa: ARG002 - blocks have one interface
        """The block as HTML."""
        return f"<p>{escape(self.text)}</p>"


@dataclass(frozen=True)
class Note:
    """Text that must not be overlooked."""

    text: str

    def html(self, place: Place) -> str:  # noqa: ARG002 - blocks have one interface
        """The block as HTML."""
        return f'<div class="note" role="note"><p>{escape(self.text)}</p></div>'


@dataclass(frozen=True)
class KeyFigures:
    """A few numbers that the reader should remember, by name."""

    figures: Mapping[str, Any]

    def html(self, place: Place) -> str:  # noqa: ARG002 - blocks have one interface
        """The block as HTML."""
        pairs = (
            f"<div><dt>{escape(name)}</dt><dd>{escape(_texts([value])[0])}</dd></div>"
            for name, value in self.figures.items()
        )
        return f'<dl class="figures">{"".join(pairs)}</dl>'


@dataclass(frozen=True)
class Listing:
    """A numbered list of sentences under a caption, the most important first."""

    items: Sequence[str]
    caption: str

    def html(self, place: Place) -> str:
        """The block as HTML."""
        name = place.identifier("list")
        items = "".join(f"<li>{escape(item)}</li>" for item in self.items)
        return f'<p id="{name}"><strong>{escape(self.caption)}</strong></p><ol aria-labelledby="{name}">{items}</ol>'


@dataclass(frozen=True)
class Table:
    """A table with its caption; the first column, or an index that says something, heads the rows."""

    frame: pd.DataFrame
    caption: str

    def html(self, place: Place) -> str:
        """The block as HTML."""
        frame = self.frame if _is_plain(self.frame.index) else self.frame.reset_index()
        name = place.identifier("table")
        columns = [_texts(frame.iloc[:, j].tolist()) for j in range(frame.shape[1])]
        kinds = [' class="number"' if column and all(map(_NUMBER.match, column)) else "" for column in columns]
        head = "".join(
            f'<th scope="col"{kind}>{escape(_header(column))}</th>'
            for kind, column in zip(kinds, frame.columns, strict=True)
        )
        rows = "".join(_row(cells, kinds) for cells in zip(*columns, strict=True))
        return (
            f'<div class="scroll" role="region" tabindex="0" aria-labelledby="{name}"><table>'
            f'<caption id="{name}">{escape(self.caption)}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        )


@dataclass(frozen=True)
class Picture:
    """A figure; `alt` says in words what it shows, for those who do not see it."""

    figure: Figure
    alt: str
    caption: str = ""

    def __post_init__(self) -> None:
        if not self.alt.strip():
            raise InputError("A picture needs an `alt` that says what it shows. Got an empty one.")

    def html(self, place: Place) -> str:
        """The block as HTML."""
        name = place.identifier("picture")
        drawn = inline_svg(self.figure, alt=self.alt, prefix=name)
        caption = f"<figcaption>{escape(self.caption)}</figcaption>" if self.caption else ""
        return (
            f'<figure><div class="scroll" role="group" tabindex="0" aria-labelledby="{name}-title">{drawn}</div>'
            f"{caption}</figure>"
        )


@dataclass(frozen=True)
class Section:
    """A heading and what belongs under it; sections may hold sections."""

    heading: str
    blocks: Sequence[Block]

    def html(self, place: Place) -> str:
        """The block as HTML."""
        name = place.identifier("section")
        inside = "\n".join(block.html(place.deeper()) for block in self.blocks)
        level = f"h{place.level}"
        heading = f'<{level} id="{name}">{escape(self.heading)}</{level}>'
        return f'<section aria-labelledby="{name}">{heading}\n{inside}</section>'


@dataclass(frozen=True)
class Report:
    """One page.

    Parameters
    ----------
    title : str
    sections : sequence of Section
    lead : str
        What the page is, in a sentence below its title.
    language : str
        Of the texts, as browsers and screen readers want to know it.
    """

    title: str
    sections: Sequence[Section]
    lead: str = ""
    language: str = "en"

    def html(self) -> str:
        """The whole page."""
        place = Place()
        bodies = [section.html(place) for section in self.sections]
        style = files("dcshap.report").joinpath("page.css").read_text(encoding="utf-8")
        lead = f'<p class="lead">{escape(self.lead)}</p>' if self.lead else ""
        return "\n".join(
            [
                "<!DOCTYPE html>",
                f'<html lang="{escape(self.language)}">',
                '<head><meta charset="utf-8">',
                f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">',
                '<meta name="viewport" content="width=device-width, initial-scale=1">',
                '<meta name="referrer" content="no-referrer">',
                f"<title>{escape(self.title)}</title>",
                f"<style>\n{style}</style></head>",
                '<body><a class="skip" href="#content">Skip to the content</a>',
                f"<header><h1>{escape(self.title)}</h1>{lead}</header>",
                self._contents(bodies),
                '<main id="content">',
                *bodies,
                "</main>",
                "<footer>Made by dcshap. This page holds everything it shows; it loads nothing.</footer>",
                "</body></html>\n",
            ]
        )

    def write(self, path: str | Path) -> None:
        """Write the page to one file."""
        Path(path).write_text(self.html(), encoding="utf-8")

    def _contents(self, bodies: Sequence[str]) -> str:
        """Links to the sections, where there are enough to get lost in."""
        if len(bodies) < 3:
            return ""
        marker = 'aria-labelledby="'
        names = [body.split(marker, 1)[1].split('"', 1)[0] for body in bodies]
        links = "".join(
            f'<li><a href="#{name}">{escape(section.heading)}</a></li>'
            for name, section in zip(names, self.sections, strict=True)
        )
        return f'<nav aria-labelledby="contents"><h2 id="contents">Contents</h2><ol>{links}</ol></nav>'


# --- tables ---------------------------------------------------------------------------------------------------


def _is_plain(index: pd.Index[Any]) -> bool:
    return isinstance(index, pd.RangeIndex) and index.name is None


def _header(column: Any) -> str:
    return " · ".join(str(part) for part in column) if isinstance(column, tuple) else str(column)


def _row(cells: Sequence[str], kinds: Sequence[str]) -> str:
    first, *rest = (escape(cell) for cell in cells)
    tags = [f'<th scope="row"{kinds[0]}>{first}</th>']
    tags += [f"<td{kind}>{cell}</td>" for cell, kind in zip(rest, kinds[1:], strict=True)]
    return f"<tr>{''.join(tags)}</tr>"


def _texts(values: Sequence[Any]) -> list[str]:
    """A column's cells; what is missing is a dash, and truth is yes or no."""
    told = [("yes" if value else "no") if isinstance(value, bool | np.bool_) else value for value in values]
    texts = column_texts(told)
    return ["–" if text == MISSING and value != MISSING else text for text, value in zip(texts, told, strict=True)]
