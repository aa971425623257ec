"""A figure as SVG inside a page: unique identifiers, no outside references, colours that a dark page can exchange."""

from __future__ import annotations

import io
import re
from html import escape

from matplotlib.figure import Figure

from dcshap.report.style import is_themed, themed_colours

__all__ = ["inline_svg"]

# The parts of matplotlib's file that a page must not have twice, or at all.
_PROLOGUE = re.compile(r"\A.*?(?=<svg\b)", re.DOTALL)
_STYLE = re.compile(r"<defs>\s*<style\b.*?</style>\s*</defs>", re.DOTALL)
_OPENING = re.compile(r"<svg\b[^>]*?\bviewBox=\"([^\"]*)\"[^>]*>", re.DOTALL)
_COMMENT = re.compile(r"\s*<!--.*?-->", re.DOTALL)
_ID = re.compile(r'\bid="([^"]*)"')
_REFERENCE = re.compile(r'(?:xlink:)?href="#([^"]*)"|url\(#([^)]*)\)')


def inline_svg(figure: Figure, *, alt: str, prefix: str) -> str:
    """The figure as an `<svg>` element that says in words, `alt`, what it shows.

    Identifiers begin with the `prefix`, which must be unique in the page. The same figure always gives the same text.
    """
    text = _STYLE.sub("", _PROLOGUE.sub("", _drawn(figure)))
    text = _own_identifiers(_COMMENT.sub("", text), prefix)
    if is_themed(figure):
        for role, colour in themed_colours().items():
            text = text.replace(colour, f"var(--figure-{role}, {colour})")
    found = _OPENING.search(text)
    box = found.group(1) if found else ""
    start = found.end() if found else 0
    opening = (
        f'<svg viewBox="{box}" role="img" aria-labelledby="{prefix}-title" style="--width: {_width(box)}">'
        f'<title id="{prefix}-title">{escape(alt)}</title>'
    )
    return opening + text[start:].strip()


def _drawn(figure: Figure) -> str:
    """What matplotlib writes, without the date."""
    buffer = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(buffer, format="svg", metadata=nothing)
    return buffer.getvalue()


def _own_identifiers(text: str, prefix: str) -> str:
    """Identifiers that are referred to get a new name in the order of appearance; the others go."""
    used = {first or second for first, second in _REFERENCE.findall(text)}
    new: dict[str, str] = {}

    def name(old: str) -> str:
        return new.setdefault(old, f"{prefix}-{len(new) + 1}")

    def identifier(found: re.Match[str]) -> str:
        return f'id="{name(found.group(1))}"' if found.group(1) in used else ""

    def reference(found: re.Match[str]) -> str:
        linked, painted = found.groups()
        return f'href="#{name(linked)}"' if linked else f"url(#{name(painted)})"

    return _REFERENCE.sub(reference, _ID.sub(identifier, text))


def _width(box: str) -> str:
    """The width of the picture in its own size, for the style sheet."""
    parts = box.split()
    return f"{float(parts[2]):.0f}pt" if len(parts) == 4 else "100%"
