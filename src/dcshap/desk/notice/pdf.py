"""A letter as a PDF file of A4 pages, in every script that its texts are in."""

from __future__ import annotations

import io
import itertools
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, Protocol

import matplotlib
from reportlab.lib.colors import HexColor
from reportlab.lib.enums import TA_RIGHT
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.ttfonts import TTFError, TTFont
from reportlab.platypus import (
    KeepTogether,
    ListFlowable,
    ListItem,
    Paragraph,
    SimpleDocTemplate,
    Spacer,
    Table,
)

from dcshap.exceptions import InputError
from dcshap.languages import wording

__all__ = ["Letter", "pdf_of"]

# DejaVu comes with matplotlib, and is embedded. Heisei is a font that most viewers of PDF have, or replace by one of
# theirs: it is named, not embedded, where this machine has no Japanese font that may be.
PLAIN, BOLD, JAPANESE = "DejaVuSans", "DejaVuSans-Bold", "HeiseiKakuGo-W5"
# Japanese fonts with an open licence, by the names of their files, and where systems keep fonts.
OPEN_FONTS = (
    *("ipaexg.ttf", "ipag.ttf", "ipagp.ttf", "TakaoGothic.ttf", "TakaoExGothic.ttf", "VL-Gothic-Regular.ttf"),
    *("BIZUDGothic-Regular.ttf", "NotoSansJP-Regular.ttf", "mplus-1p-regular.ttf", "DroidSansFallbackFull.ttf"),
)
FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts", "/Library/Fonts")
MARGIN, FOOT = 20 * mm, 16 * mm
WIDTH = A4[0] - 2 * MARGIN - 12  # a frame of reportlab's has a padding of 6 points
GREY = HexColor("#555555")


class Section(Protocol):
    """A section of a letter."""

    @property
    def heading(self) -> str: ...
    @property
    def before(self) -> tuple[str, ...]: ...
    @property
    def items(self) -> tuple[str, ...]: ...
    @property
    def after(self) -> tuple[str, ...]: ...
    @property
    def numbered(self) -> bool: ...


class Letter(Protocol):
    """What a letter says."""

    @property
    def language(self) -> str: ...  # noqa: D102 - as in `Notice`, all of them
    @property
    def title(self) -> str: ...  # noqa: D102
    @property
    def about(self) -> str: ...  # noqa: D102
    @property
    def sender(self) -> str: ...  # noqa: D102
    @property
    def recipient(self) -> str: ...  # noqa: D102
    @property
    def parts(self) -> Sequence[Section]: ...  # noqa: D102
    @property
    def foot(self) -> tuple[str, ...]: ...  # noqa: D102


def pdf_of(letter: Letter, *, font: str | Path | None = None) -> bytes:
    """A letter as a PDF file.

    Parameters
    ----------
    letter : Letter
    font : path, optional
        A TrueType font to embed for Japanese, and whatever else DejaVu has no signs for. By default one with an open
        licence that this machine has; where it has none, nothing is embedded and the viewer's own is used.
    """
    _register_fonts()
    setting = Setting(letter.language, _found_font() if font is None else _given_font(Path(font)))
    pages = _build(letter, setting, pages=0)[1]  # the number of pages is known once they are set
    return _build(letter, setting, pages=pages)[0]


def _build(letter: Letter, setting: Setting, *, pages: int) -> tuple[bytes, int]:
    buffer, foot = io.BytesIO(), [setting.paragraph(text, size=8, color=GREY) for text in letter.foot]
    height = sum(each.wrap(WIDTH, A4[1])[1] + 2 for each in foot)
    document = SimpleDocTemplate(
        buffer,
        pagesize=A4,
        leftMargin=MARGIN,
        rightMargin=MARGIN,
        topMargin=MARGIN,
        bottomMargin=FOOT + height,
        title=letter.title,
        author=letter.sender.partition("\n")[0],
        lang=letter.language,
        invariant=1,  # the same letter is the same file
    )

    def draw_foot(canvas: Any, current: Any) -> None:
        text = wording(letter.language).say("notice.page", page=str(current.page), pages=str(pages))
        at = FOOT + height - 2 * mm
        canvas.setStrokeColor(GREY)
        canvas.setLineWidth(0.5)
        canvas.line(MARGIN + 6, at, MARGIN + 6 + WIDTH, at)
        for line in (*foot, setting.paragraph(text, size=8, align=TA_RIGHT, color=GREY)):
            at -= line.wrapOn(canvas, WIDTH, A4[1])[1] + 2
            line.drawOn(canvas, MARGIN + 6, at)

    document.build(_story(letter, setting), onFirstPage=draw_foot, onLaterPages=draw_foot)
    return buffer.getvalue(), int(document.page)


def _story(letter: Letter, setting: Setting) -> list[Any]:
    addresses = [setting.paragraph(letter.recipient), setting.paragraph(letter.sender)]
    top = [("VALIGN", (0, 0), (-1, -1), "TOP"), ("LEFTPADDING", (0, 0), (-1, -1), 0)]
    head = Table([addresses], colWidths=[0.55 * WIDTH, 0.45 * WIDTH], style=top)
    story = [head, Spacer(0, 8 * mm), setting.paragraph(letter.title, size=16, bold=True)]
    story += [setting.paragraph(letter.about, color=GREY)]
    for part in letter.parts:
        story += _section(part, setting)
    return story


def _section(part: Section, setting: Setting) -> list[Any]:
    heading = setting.paragraph(part.heading, size=12, bold=True, space=4 * mm)
    story = [KeepTogether([heading, *(setting.paragraph(text) for text in part.before)])]
    if part.items:
        kind = {"bulletType": "1", "bulletFormat": "%s."} if part.numbered else {"bulletType": "bullet", "start": "•"}
        items = [ListItem(setting.paragraph(text), spaceAfter=1.5 * mm) for text in part.items]
        story.append(ListFlowable(items, bulletFontName=PLAIN, bulletFontSize=10, leftIndent=7 * mm, **kind))
    return story + [setting.paragraph(text) for text in part.after]


@dataclass(frozen=True)
class Setting:
    """How texts of a language are set: in which fonts, and where their lines break."""

    language: str
    wide: str

    def paragraph(
        self, text: str, *, size: float = 10, bold: bool = False, align: int = 0, color: Any = None, space: float = 0
    ) -> Any:
        """A paragraph; its line breaks are kept."""
        style = ParagraphStyle(
            "letter",
            fontName=self._font("あ" if self.language == "ja" else "a", bold=bold),
            fontSize=size,
            leading=1.4 * size,
            alignment=align,
            spaceBefore=space,
            spaceAfter=1.5 * mm,
            wordWrap="CJK" if self.language == "ja" else None,
            **({} if color is None else {"textColor": color}),
        )
        return Paragraph("<br/>".join(self._runs(line, bold=bold) for line in text.splitlines()), style)

    def _runs(self, line: str, *, bold: bool) -> str:
        """A line with the font of every run of signs."""
        runs = itertools.groupby(line, key=lambda sign: self._font(sign, bold=bold))
        return "".join(f'<font name="{font}">{escape("".join(signs), quote=False)}</font>' for font, signs in runs)

    def _font(self, sign: str, *, bold: bool) -> str:
        latin = BOLD if bold else PLAIN
        if self.language == "ja":
            return latin if not _is_japanese(sign) and ord(sign) in _covered() else self.wide
        return latin if ord(sign) in _covered() else self.wide


def _is_japanese(sign: str) -> bool:
    """Whether a sign is set in the Japanese font: as wide as kana, or plain ASCII between them."""
    return sign.isascii() or unicodedata.east_asian_width(sign) in ("W", "F", "H")


@cache
def _covered() -> frozenset[int]:
    """The signs that DejaVu has."""
    return frozenset(pdfmetrics.getFont(PLAIN).face.charToGlyph)


@cache
def _register_fonts() -> None:
    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    for name in (PLAIN, BOLD):
        pdfmetrics.registerFont(TTFont(name, folder / f"{name}.ttf"))
    pdfmetrics.registerFont(UnicodeCIDFont(JAPANESE))


@cache
def _found_font() -> str:
    """A font of this machine that may be embedded, or the one that viewers have."""
    here = {file.name: file for folder in FOLDERS for file in Path(folder).expanduser().rglob("*.ttf")}
    for name in OPEN_FONTS:
        if name in here:
            with suppress(InputError):
                return _given_font(here[name])
    return JAPANESE


@cache
def _given_font(path: Path) -> str:
    name = f"given {path.resolve()}"
    try:
        pdfmetrics.registerFont(TTFont(name, path))
    except (TTFError, OSError) as error:
        raise InputError(f"{path} must be a TrueType font. It cannot be read.") from error
    return name
