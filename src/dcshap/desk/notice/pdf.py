"""A letter as a PDF file of A4 pages, in every script that its texts are in."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Protocol

import matplotlib

from dcshap.desk.notice.typefaces import Embedded, File, Named, Typeface, text_string
from dcshap.exceptions import InputError
from dcshap.languages import wording

__all__ = ["Letter", "pdf_of"]

# DejaVu comes with matplotlib, and is embedded. Heisei is named where this machine has no Japanese font that may be.
PLAIN, BOLD, JAPANESE = "DejaVuSans", "DejaVuSans-Bold", Named("HeiseiKakuGo-W5")
# Japanese fonts with an open licence, by the names of their files, and where systems keep fonts.
OPEN_FONTS = (
    *("ipaexg.ttf", "ipag.ttf", "ipagp.ttf", "TakaoGothic.ttf", "TakaoExGothic.ttf", "VL-Gothic-Regular.ttf"),
    *("BIZUDGothic-Regular.ttf", "NotoSansJP-Regular.ttf", "mplus-1p-regular.ttf", "DroidSansFallbackFull.ttf"),
)
FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts", "/Library/Fonts")
MM = 72 / 25.4
WIDE, HIGH = 210 * MM, 297 * MM
MARGIN, FOOT, INDENT = 22 * MM, 16 * MM, 7 * MM
WIDTH = WIDE - 2 * MARGIN
LEADING = 1.4
# Signs that a line must not begin with, and those that it must not end with.
NEVER_FIRST = "、。，．・：；？！ー々ゝゞ）」』】〕〉》｝］ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ％"
NEVER_LAST = "（「『【〔〈《｛［"
PIECES = re.compile(r"\s+|\S+")


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
    wide = _found_font() if font is None else Embedded.of(Path(font).resolve())
    setting = Setting(letter.language, _dejavu(PLAIN), _dejavu(BOLD), wide)
    foot = [line for text in letter.foot for line in setting.lines(text, SMALL)]
    rule = FOOT + _height(foot)  # the line above the foot
    pages = _pages(_addresses(letter, setting), _blocks(letter, setting), bottom=rule + 4 * MM)
    for number, page in enumerate(pages, 1):
        told = wording(letter.language).say("notice.page", page=str(number), pages=str(len(pages)))
        page.extend(_placed([*foot, *setting.lines(told, replace(SMALL, right=True))], rule - 1 * MM))
    return _file(letter, pages, rule)


@dataclass(frozen=True)
class Style:
    """How a paragraph looks; lengths are in points."""

    size: float = 10
    bold: bool = False
    grey: bool = False
    right: bool = False
    left: float = 0.0  # how far it is indented
    width: float = WIDTH
    above: float = 0.0  # space before it
    below: float = 1.5 * MM


SMALL = Style(size=8, grey=True, below=0)
HEADING = Style(size=12, bold=True, above=4 * MM)
ITEM = Style(left=INDENT)


@dataclass(frozen=True)
class Line:
    """One line of a paragraph: runs of signs, each in one typeface."""

    runs: tuple[tuple[Typeface, str], ...]
    style: Style
    above: float = 0.0
    below: float = 0.0
    mark: tuple[tuple[Typeface, str], ...] = ()  # what stands before it in a list

    @property
    def height(self) -> float:
        """From the line above it to the one below."""
        return self.above + LEADING * self.style.size + self.below

    @property
    def width(self) -> float:
        """How far its signs reach."""
        return self.style.size * sum(face.width(sign) for face, text in self.runs for sign in text)


@dataclass(frozen=True)
class Placed:
    """A line, or its mark, on a page."""

    x: float
    y: float
    runs: tuple[tuple[Typeface, str], ...]
    style: Style


@dataclass(frozen=True)
class Setting:
    """How texts of a language are set: in which typefaces, and where their lines break."""

    language: str
    plain: Embedded
    bold: Embedded
    wide: Typeface

    def lines(self, text: str, style: Style, mark: str = "") -> list[Line]:
        """The lines of a paragraph; its own line breaks are kept."""
        broken = [line for part in text.splitlines() for line in self._broken(part, style)]
        found = [Line(self._runs(line, bold=style.bold), style) for line in broken]
        if found:
            found[0] = replace(found[0], above=style.above, mark=self._runs(mark, bold=style.bold))
            found[-1] = replace(found[-1], below=style.below)
        return found

    def _broken(self, text: str, style: Style) -> Iterator[str]:
        """A text in lines that are no wider than there is room."""
        room, line, filled = (style.width - style.left) / style.size, "", 0.0
        for piece in _pieces(text):
            wide = self._width(piece, bold=style.bold)
            if line and not piece.isspace() and filled + wide > room:
                yield line.rstrip()
                line, filled = "", 0.0
            if wide > room:  # a word that is wider than a line is broken where the line ends
                for sign in piece:
                    own = self._width(sign, bold=style.bold)
                    if line and filled + own > room:
                        yield line
                        line, filled = "", 0.0
                    line, filled = line + sign, filled + own
            elif line or not piece.isspace():
                line, filled = line + piece, filled + wide
        yield line.rstrip()

    def _width(self, text: str, *, bold: bool) -> float:
        return sum(self._face(sign, bold=bold).width(sign) for sign in text)

    def _runs(self, text: str, *, bold: bool) -> tuple[tuple[Typeface, str], ...]:
        runs = groupby(text, key=lambda sign: self._face(sign, bold=bold))
        return tuple((face, "".join(signs)) for face, signs in runs)

    def _face(self, sign: str, *, bold: bool) -> Typeface:
        latin = self.bold if bold else self.plain
        if self.language == "ja" and _is_japanese(sign) and self.wide.covers(sign):
            return self.wide
        return latin if latin.covers(sign) else self.wide


def _is_japanese(sign: str) -> bool:
    """Whether a sign is set in the Japanese font: as wide as kana, or plain ASCII between them."""
    return sign.isascii() or _is_wide(sign)


def _is_wide(sign: str) -> bool:
    return unicodedata.east_asian_width(sign) in ("W", "F", "H")


def _pieces(text: str) -> Iterator[str]:
    """What lines break between: words, spaces, and single Japanese signs with the marks that belong to them."""
    for word in PIECES.findall(text):
        piece = ""
        for sign in word:
            apart = piece and (_is_wide(sign) or _is_wide(piece[-1]))
            if apart and sign not in NEVER_FIRST and piece[-1] not in NEVER_LAST:
                yield piece
                piece = ""
            piece += sign
        yield piece


def _addresses(letter: Letter, setting: Setting) -> list[list[Line]]:
    """Whom a letter is to, and from: side by side."""
    half = 0.55 * WIDTH
    return [setting.lines(letter.recipient, Style(width=half - 5 * MM)), setting.lines(letter.sender, Style(left=half))]


def _blocks(letter: Letter, setting: Setting) -> Iterator[list[Line]]:
    """What a letter says, as lines that stay on one page together."""
    yield setting.lines(letter.title, Style(size=16, bold=True, above=8 * MM))
    yield setting.lines(letter.about, Style(grey=True))
    for part in letter.parts:
        texts = [line for text in part.before for line in setting.lines(text, Style())]
        yield [*setting.lines(part.heading, HEADING), *texts[:2]]
        yield from ([line] for line in texts[2:])
        for number, item in enumerate(part.items, 1):
            lines = setting.lines(item, ITEM, f"{number}." if part.numbered else "•")
            yield lines[:2]
            yield from ([line] for line in lines[2:])
        yield from ([line] for text in part.after for line in setting.lines(text, Style()))


def _height(lines: Iterable[Line]) -> float:
    return sum(line.height for line in lines)


def _pages(columns: Sequence[list[Line]], blocks: Iterable[list[Line]], *, bottom: float) -> list[list[Placed]]:
    """Columns side by side and blocks below them, on as many pages as they need."""
    top = HIGH - MARGIN
    pages = [[each for lines in columns for each in _placed(lines, top)]]
    at = top - max(map(_height, columns))
    for block in blocks:
        if at - _height(block) < bottom:
            pages.append([])
            at = top
        pages[-1].extend(_placed(block, at))
        at -= _height(block)
    return pages


def _placed(lines: Iterable[Line], at: float) -> Iterator[Placed]:
    """Lines one below the other, from a height on."""
    for line in lines:
        style = line.style
        y = at - line.above - 1.1 * style.size
        if line.mark:
            yield Placed(MARGIN + style.left - INDENT, y, line.mark, style)
        yield Placed(MARGIN + (style.width - line.width if style.right else style.left), y, line.runs, style)
        at -= line.height


def _file(letter: Letter, pages: Sequence[Sequence[Placed]], rule: float) -> bytes:
    file, used = File(), defaultdict[Typeface, set[str]](set)
    for face, text in (run for page in pages for placed in page for run in placed.runs):
        used[face].update(text)
    faces = {face: (f"F{at}", *face.put(file, sorted(signs))) for at, (face, signs) in enumerate(used.items())}
    codes = {face: (name, signs) for face, (name, _, signs) in faces.items()}
    fonts = " ".join(f"/{name} {number} 0 R" for name, number, _ in faces.values())
    tree = file.reserve()
    about = f"/Type /Page /Parent {tree} 0 R /MediaBox [0 0 {WIDE:.2f} {HIGH:.2f}] /Resources << /Font << {fonts} >> >>"
    drawn = [file.stream(_drawn(page, codes, rule)) for page in pages]
    leaves = [file.add(f"<< {about} /Contents {content} 0 R >>") for content in drawn]
    file.put(tree, f"<< /Type /Pages /Count {len(leaves)} /Kids [{' '.join(f'{leaf} 0 R' for leaf in leaves)}] >>")
    shown = f"/Lang ({letter.language}) /ViewerPreferences << /DisplayDocTitle true >>"
    root = file.add(f"<< /Type /Catalog /Pages {tree} 0 R {shown} >>")
    author = letter.sender.partition("\n")[0]
    info = file.add(f"<< /Title {text_string(letter.title)} /Author {text_string(author)} >>")
    return file.written(root=root, info=info)


def _drawn(page: Sequence[Placed], codes: Mapping[Typeface, tuple[str, Mapping[str, str]]], rule: float) -> bytes:
    """What is on a page, in the language of PDF."""
    told = [f"0.5 w 0.33 G {MARGIN:.2f} {rule:.2f} m {MARGIN + WIDTH:.2f} {rule:.2f} l S"]
    for placed in page:
        told.append(f"BT {0.33 if placed.style.grey else 0} g {placed.x:.2f} {placed.y:.2f} Td")
        for face, text in placed.runs:
            name, signs = codes[face]
            told.append(f"/{name} {placed.style.size:g} Tf <{''.join(signs[sign] for sign in text)}> Tj")
        told.append("ET")
    return "\n".join(told).encode("ascii")


def _dejavu(name: str) -> Embedded:
    return Embedded.of(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / f"{name}.ttf")


@cache
def _found_font() -> Typeface:
    """A font of this machine that may be embedded, or the one that viewers have."""
    here = {file.name: file for folder in FOLDERS for file in Path(folder).expanduser().rglob("*.ttf")}
    for name in OPEN_FONTS:
        if name in here:
            with suppress(InputError):
                return Embedded.of(here[name].resolve())
    return JAPANESE
