"""What all pictures share: colours that colour-blind readers can tell apart, and plain figures without pyplot.

The colours are those of Okabe and Ito. A page may show the pictures on a dark ground: `themed_colours` says which
colour plays which role, so that it can exchange them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from textwrap import wrap
from typing import Any

from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import ScaledTranslation

__all__ = [
    "BAND",
    "HATCH",
    "INK",
    "MUTED",
    "NEGATIVE",
    "POSITIVE",
    "RULE",
    "SERIES",
    "finish_axes",
    "finished",
    "is_themed",
    "label_rows",
    "legend_below",
    "new_figure",
    "rule_above_apart",
    "series_style",
    "sign_colour",
    "text_width",
    "themed_colours",
    "width_for",
]

PAPER = "#ffffff"
INK = "#1b1f24"
MUTED = "#5a636d"
RULE = "#c9cfd6"
BAND = "#fdeeb5"
POSITIVE = "#d55e00"
NEGATIVE = "#0072b2"
# The second is one step from NEGATIVE, so that a page can tell the two roles apart.
SERIES = ("#e69f00", "#0072b3", "#009e73", "#cc79a7", "#56b4e9", "#7f7f7f")
HATCH = "////"

_MARK = "dcshap"
SMALL, NORMAL, LARGE = 8.5, 9.5, 11.0
# Beside matplotlib's own font, which has Latin, Greek and Cyrillic letters: common ones for other scripts.
FURTHER_FAMILIES = (
    *("Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans JP", "Hiragino Sans", "Yu Gothic", "IPAexGothic"),
    *("PingFang SC", "Microsoft YaHei", "WenQuanYi Micro Hei", "Apple SD Gothic Neo", "Malgun Gothic"),
    *("Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Devanagari", "Noto Sans Thai", "Arial Unicode MS"),
)
WIDTH = 7.4  # inches
POINTS = 72  # in an inch


def themed_colours() -> dict[str, str]:
    """The colour of every role, as it is drawn."""
    roles = {"paper": PAPER, "ink": INK, "muted": MUTED, "rule": RULE, "band": BAND}
    roles |= {"positive": POSITIVE, "negative": NEGATIVE}
    return roles | {f"series-{at}": colour for at, colour in enumerate(SERIES, 1)}


def new_figure(height: float, *, title: str, subtitle: str = "", width: float = WIDTH) -> Figure:
    """A figure that no pyplot state knows of: a heading, and below it `height` inches for axes."""
    texts = [(line, LARGE, "bold", INK) for line in wrap(title, int(width * 10))]
    texts += [
        (line, NORMAL, "normal", MUTED) for said in subtitle.split("\n") for line in wrap(said, int(width * 12.5))
    ]
    head = 0.08 + sum(size * 1.45 for _, size, _, _ in texts) / POINTS
    whole = height + head
    figure = Figure(figsize=(width, whole), facecolor=PAPER)
    figure.set_layout_engine(ConstrainedLayoutEngine(rect=(0, 0, 1, height / whole), w_pad=0.07, h_pad=0.05))
    figure.set_gid(_MARK)
    below = 0.06
    for text, size, weight, colour in texts:
        x, y = 0.08 / width, 1 - below / whole
        figure.text(x, y, text, fontsize=size, fontweight=weight, color=colour, va="top", parse_math=False)
        below += size * 1.45 / POINTS
    return figure


def width_for(labels: Sequence[str], *, panels: int, each: float) -> float:
    """The width in inches of so many panels of a size, beside labels."""
    return text_width(labels, size=NORMAL) + panels * each + 0.4


def text_width(texts: Sequence[str], *, size: float) -> float:
    """About how many inches the longest of several texts takes."""
    return max((len(text) for text in texts), default=0) * size * 0.57 / POINTS


def finished(figure: Figure) -> Figure:
    """The figure, with another font for texts that have letters which the usual one lacks, if one is installed."""
    for text in figure.findobj(Text):
        if isinstance(text, Text) and _lacks_letters(text):
            # Few fonts of other scripts have a bold face; matplotlib would complain of each that does not.
            text.set(fontfamily=[*text.get_fontfamily(), *_further_families()], fontweight="normal")
    return figure


def _lacks_letters(text: Text) -> bool:
    if text.get_text().isascii() or not _further_families():
        return False
    font = font_manager.get_font(font_manager.findfont(text.get_fontproperties()))
    return any(font.get_char_index(ord(letter)) == 0 for letter in text.get_text() if letter.isprintable())


@cache
def _further_families() -> list[str]:
    installed = set(font_manager.get_font_names())
    return [family for family in FURTHER_FAMILIES if family in installed]


def is_themed(figure: Figure) -> bool:
    """Whether a figure uses these colours and no others."""
    return figure.get_gid() == _MARK


def finish_axes(axes: Axes, *, xlabel: str, title: str = "", ticks: int = 7) -> None:
    """Quiet frame and grid, readable ticks."""
    axes.set_facecolor("none")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(RULE)
    axes.xaxis.set_major_locator(MaxNLocator(ticks, steps=[1, 2, 2.5, 5, 10]))
    axes.tick_params(axis="x", colors=MUTED, labelsize=SMALL, labelbottom=True)
    axes.tick_params(axis="y", length=0, colors=INK, labelsize=NORMAL)
    axes.grid(axis="x", color=RULE, linewidth=0.5, alpha=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel(xlabel, fontsize=SMALL, color=MUTED, parse_math=False)
    if title:
        axes.set_title(title, loc="left", fontsize=NORMAL, color=INK, parse_math=False)


def label_rows(axes: Axes, positions: Sequence[float], labels: Sequence[str]) -> None:
    """Names on the left, one per row; a `$` in a name is a dollar and no formula."""
    axes.set_yticks(list(positions), list(labels), parse_math=False)


def rule_above_apart(axes: Axes, row: float) -> None:
    """The rule between a party's own features and those of others."""
    axes.axhline(row, color=MUTED, linewidth=0.8, linestyle=(0, (1, 2)))


def legend_below(axes: Axes, handles: Sequence[Patch]) -> None:
    """A legend under the axis' label, as far from it however tall the axes are."""
    down = ScaledTranslation(0, -0.46, axes.figure.dpi_scale_trans)
    legend = axes.legend(
        handles=list(handles),
        loc="upper left",
        bbox_to_anchor=(0, 0),
        bbox_transform=axes.transAxes + down,
        borderaxespad=0,
        borderpad=0,
        frameon=False,
        fontsize=SMALL,
        labelcolor=INK,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def sign_colour(value: float) -> str:
    """The colour of a contribution that raises the output, lowers it, or is none at all."""
    if value == 0:
        return MUTED
    return POSITIVE if value > 0 else NEGATIVE


def series_style(position: int) -> dict[str, Any]:
    """Colour, and beyond the sixth series hatching, of one of several parties or methods."""
    return {
        "facecolor": SERIES[position % len(SERIES)],
        "edgecolor": PAPER,
        "linewidth": 0.4,
        "hatch": ("", "....", "xxxx", "----")[position // len(SERIES) % 4],
    }
