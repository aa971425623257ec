"""A letter as a PDF file of A4 pages, in every script that its texts are in."""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Protocol, cast

import matplotlib
from fontTools.ttLib import TTFont, TTLibError
from fpdf import FPDF

from dcshap.exceptions import InputError
from dcshap.languages import wording

__all__ = ["Letter", "pdf_of"]

# What it warns of are signs of a letter that no font has: a letter's text does not belong into a log.
logging.getLogger("fpdf").setLevel(logging.ERROR)

LATIN, WIDE = "dejavu", "wide"  # DejaVu comes with matplotlib; the other is for the signs that it lacks
# Japanese fonts with an open licence, by the names of their files, and where systems keep fonts.
OPEN_FONTS = (
    *("ipaexg.ttf", "ipag.ttf", "ipagp.ttf", "TakaoGothic.ttf", "TakaoExGothic.ttf", "VL-Gothic-Regular.ttf"),
    *("BIZUDGothic-Regular.ttf", "NotoSansJP-Regular.ttf", "mplus-1p-regular.ttf", "DroidSansFallbackFull.ttf"),
)
FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts", "/Library/Fonts")
MARGIN, FOOT, INDENT = 22.0, 12.0, 7.0  # millimetres, as all lengths
TOGETHER = 3  # so many lines of a paragraph stay on one page
LEADING = 1.4 * 25.4 / 72  # from line to line, in millimetres per point of a font's size
GREY = 0x55
ALWAYS = datetime(2000, 1, 1, tzinfo=UTC)  # when files were made, so that the same letter is the same file
# Signs that a Japanese line must not begin with, and those that it must not end with.
NEVER_FIRST = "、。，．・：；？！ー々ゝゞ）」』】〕〉》｝］ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ％"
NEVER_LAST = "（「『【〔〈《｛［"
MAY_BREAK = "\u200b"  # a space of no width


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
    """A letter as a PDF file. All fonts are embedded, so that it looks the same everywhere.

    Parameters
    ----------
    letter : Letter
    font : path, optional
        A TrueType font for Japanese, and whatever else DejaVu has no signs for. By default one with an open licence
        that this machine has.

    Raises
    ------
    InputError
        If the font cannot be read, or a letter is in Japanese and there is no font for it.
    """
    wide = _found_font() if font is None else _readable(Path(font))
    if wide is None and letter.language == "ja":
        raise InputError(
            "A PDF in Japanese needs a Japanese font, and none is on this machine. Install one, such as IPAexGothic "
            "(Debian: fonts-ipaexfont-gothic), or name one with `font`; the letter as HTML needs none."
        )
    sheets = Sheets(letter, wide)
    _write_addresses(sheets, letter)
    sheets.text_block(letter.title, size=16, bold=True)
    sheets.text_block(letter.about, grey=True)
    for part in letter.parts:
        _write_section(sheets, part)
    return bytes(sheets.output())


def _write_addresses(sheets: Sheets, letter: Letter) -> None:
    """Whom a letter is to, and from: side by side."""
    top, half = sheets.get_y(), 0.55 * sheets.epw
    sheets.text_block(letter.recipient, width=half - 5)
    below = sheets.get_y()
    sheets.set_y(top)
    sheets.text_block(letter.sender, left=half)
    sheets.set_y(max(below, sheets.get_y()) + 8)


def _write_section(sheets: Sheets, part: Section) -> None:
    if sheets.will_page_break(25):  # a heading stays with the lines below it
        sheets.add_page()
    sheets.ln(4)
    sheets.text_block(part.heading, size=12, bold=True)
    for text in part.before:
        sheets.text_block(text)
    for number, text in enumerate(part.items, 1):
        sheets.text_block(text, left=INDENT, mark=f"{number}." if part.numbered else "•")
    for text in part.after:
        sheets.text_block(text)


class Sheets(FPDF):
    """Pages with a letter's foot and their number on each."""

    def __init__(self, letter: Letter, wide: Path | None) -> None:
        super().__init__(format="A4")
        self._foot, self._wording = letter.foot, wording(letter.language)
        self.set_creation_date(ALWAYS)
        self.set_title(letter.title)
        self.set_author(letter.sender.partition("\n")[0])
        self.set_lang(letter.language)
        self.c_margin = 0.0
        folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
        self.add_font(LATIN, "", folder / "DejaVuSans.ttf")
        self.add_font(LATIN, "B", folder / "DejaVuSans-Bold.ttf")
        if wide is not None:
            self.add_font(WIDE, "", wide)
            self.set_fallback_fonts([WIDE], exact_match=False)
        self.set_margins(MARGIN, MARGIN)
        self.set_font(LATIN, "", 8)
        self.add_page()  # lines cannot be told without
        lines = sum(len(self._broken(text, self.epw)) for text in (*self._foot, "1"))
        self._foot_height = FOOT + lines * 8 * LEADING
        self.set_auto_page_break(True, margin=self._foot_height + 4)

    def text_block(
        self,
        text: str,
        *,
        size: float = 10,
        bold: bool = False,
        grey: bool = False,
        left: float = 0.0,
        width: float = 0.0,
        mark: str = "",
    ) -> None:
        """A paragraph, `left` of the margin, with a mark before it; its line breaks are kept."""
        self.set_font(LATIN, "B" if bold else "", size)
        self.set_text_color(GREY if grey else 0)
        height, lines = size * LEADING, self._broken(text, width or self.epw - left)
        if self.will_page_break(height * min(len(lines), TOGETHER)):
            self.add_page()
        if mark:
            self.set_x(self.l_margin + left - INDENT)
            self.cell(INDENT, height, mark)
        self._write(lines, height, left=left)
        self.ln(0.15 * size)

    def footer(self) -> None:
        """The letter's foot, and which page of how many it is."""
        self.set_y(-self._foot_height)
        self.set_draw_color(GREY)
        self.line(self.l_margin, self.get_y() - 1, self.w - self.r_margin, self.get_y() - 1)
        self.set_font(LATIN, "", 8)
        self.set_text_color(GREY)
        told = self._wording.say("notice.page", page=str(self.page_no()), pages="{nb}")
        for text in self._foot:
            self._write(self._broken(text, self.epw), 8 * LEADING)
        self._write([told], 8 * LEADING, align="R")

    def _write(self, lines: Sequence[str], height: float, *, left: float = 0.0, align: str = "L") -> None:
        for line in lines:
            self.set_x(self.l_margin + left)
            self.cell(0, height, line, align=align, new_x="LMARGIN", new_y="NEXT")

    def _broken(self, text: str, width: float) -> list[str]:
        """The lines of a text, as wide as there is room."""
        lines = self.multi_cell(width, 1, _breakable(text), align="L", dry_run=True, output="LINES")
        return [line.replace(MAY_BREAK, "").rstrip() for line in cast(list[str], lines)]


def _breakable(text: str) -> str:
    """A text that also says where lines may break in Japanese: beside every wide sign, but for some marks."""
    told = text[:1]
    for before, sign in pairwise(text):
        if (_is_wide(before) or _is_wide(sign)) and sign not in NEVER_FIRST and before not in NEVER_LAST:
            told += MAY_BREAK
        told += sign
    return told


def _is_wide(sign: str) -> bool:
    return unicodedata.east_asian_width(sign) in ("W", "F")


@cache
def _found_font() -> Path | None:
    """A Japanese font of this machine that may be embedded."""
    here = {file.name: file for folder in FOLDERS for file in Path(folder).expanduser().rglob("*.ttf")}
    for name in OPEN_FONTS:
        if name in here and _is_font(here[name]):
            return here[name]
    return None


def _readable(font: Path) -> Path:
    if not _is_font(font):
        raise InputError(f"{font} must be a TrueType font. It cannot be read.")
    return font


def _is_font(file: Path) -> bool:
    try:
        with TTFont(file) as font:
            return "glyf" in font
    except (TTLibError, OSError):
        return False
