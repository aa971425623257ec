"""Small self-contained pieces of HTML, as notebooks show objects; readable on light and dark ground."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

_DARK = "--ink:#e6e9ed;--muted:#a3adb8;--rule:#39414b;--up:#f0813a;--down:#4aa8e0"
STYLE = (
    ".dcshap{--ink:#1b1f24;--muted:#5a636d;--rule:#d4d9df;--up:#d55e00;--down:#0072b2;"
    "color:var(--ink);font:0.9rem/1.5 system-ui,sans-serif;max-width:46rem}"
    f"@media (prefers-color-scheme:dark){{.dcshap{{{_DARK}}}}}"
    f"[data-jp-theme-light=false] .dcshap,.vscode-dark .dcshap{{{_DARK}}}"
    # A notebook that is light stays so on a dark desktop.
    "[data-jp-theme-light=true] .dcshap,.vscode-light .dcshap"
    "{--ink:#1b1f24;--muted:#5a636d;--rule:#d4d9df;--up:#d55e00;--down:#0072b2}"
    ".dcshap p{margin:.3rem 0;color:var(--muted)}.dcshap strong{color:var(--ink)}"
    ".dcshap table{border-collapse:collapse;margin:.4rem 0;color:var(--ink);background:none}"
    ".dcshap th,.dcshap td{padding:.15rem 1rem .15rem 0;text-align:left;background:none;"
    "border:0;border-bottom:1px solid var(--rule)}"
    ".dcshap .n{text-align:right;font-variant-numeric:tabular-nums}.dcshap .up{color:var(--up)}"
    ".dcshap .down{color:var(--down)}"
)


def snippet(title: str, *parts: str) -> str:
    """A piece of HTML with its own style, under a title."""
    return f'<div class="dcshap"><style>{STYLE}</style><p><strong>{escape(title)}</strong></p>{"".join(parts)}</div>'


def paragraph(text: str) -> str:
    """A paragraph."""
    return f"<p>{escape(text)}</p>"


def table(headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table; a signed number in the last column has the colour of what raises or lowers an output."""
    head = "".join(f'<th scope="col"{_kind(" ") if at else ""}>{escape(name)}</th>' for at, name in enumerate(headers))
    body = "".join(f"<tr>{_row(list(map(str, cells)))}</tr>" for cells in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _row(cells: Sequence[str]) -> str:
    first, *rest = cells
    kinds = [_kind(" ")] * (len(rest) - 1) + [_kind(cell) for cell in rest[-1:]]
    told = (f"<td{kind}>{escape(cell)}</td>" for kind, cell in zip(kinds, rest, strict=True))
    return f'<th scope="row">{escape(first)}</th>' + "".join(told)


def _kind(cell: str) -> str:
    sign = {"+": " up", "−": " down"}.get(cell[:1], "") if any(map(str.isdigit, cell)) else ""
    return f' class="n{sign}"'
