"""What can be read off a drawn figure."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text


def bars(axes: Axes) -> list[Rectangle]:
    return [patch for patch in axes.patches if isinstance(patch, Rectangle)]


def rows(axes: Axes) -> dict[str, float]:
    """Where each label on the left stands."""
    return {label.get_text(): float(label.get_position()[1]) for label in axes.get_yticklabels()}


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(Text) if isinstance(text, Text) and text.get_text()]


def clipped(figure: Figure) -> list[str]:
    """Texts that do not lie inside the figure."""
    figure.canvas.draw()
    figure.draw_without_rendering()
    width, height = figure.bbox.width, figure.bbox.height
    outside, undrawn = [], _undrawn(figure)
    for text in figure.findobj(Text):
        if not isinstance(text, Text) or text in undrawn or not text.get_visible() or not text.get_text():
            continue
        box = text.get_window_extent()
        if box.x0 < -1 or box.y0 < -1 or box.x1 > width + 1 or box.y1 > height + 1:
            outside.append(text.get_text())
    return outside


def _undrawn(figure: Figure) -> set[Text]:
    """Labels of ticks beyond the limits, which matplotlib keeps and does not draw; and those of hidden axes."""
    found: set[Text] = set()
    for axes in figure.axes:
        low, high = sorted(axes.get_xlim())
        found |= {label for label in axes.get_xticklabels() if not low <= label.get_position()[0] <= high}
        if not axes.get_visible():
            found |= {text for text in axes.findobj(Text) if isinstance(text, Text)}
    return found


def overlapping(labels: list[Text]) -> bool:
    boxes = [label.get_window_extent() for label in labels if label.get_text()]
    return any(a.overlaps(b) for at, a in enumerate(boxes) for b in boxes[:at])
