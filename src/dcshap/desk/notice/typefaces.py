"""Typefaces of a PDF file: subsets of TrueType fonts that are embedded, and a Japanese one that viewers have."""

from __future__ import annotations

import hashlib
import io
import re
import struct
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont, TTLibError

from dcshap.exceptions import InputError

__all__ = ["Embedded", "File", "Named", "Typeface", "text_string"]

# What a viewer needs of an embedded font, beside the two tables that find a sign's glyph.
_TABLES = ("glyf", "head", "hhea", "hmtx", "loca", "maxp")
LACKING = 0x3013  # 〓, which stands for a sign that a typeface cannot have
_MOST_MAPPED = 100  # entries in one block of a map to Unicode


class File:
    """The objects of a PDF file."""

    def __init__(self) -> None:
        self._bodies: list[bytes] = []

    def reserve(self) -> int:
        """The number of an object that is to be put later."""
        self._bodies.append(b"")
        return len(self._bodies)

    def put(self, number: int, body: str | bytes) -> int:
        """Put an object under a number that was reserved."""
        self._bodies[number - 1] = body.encode("ascii") if isinstance(body, str) else body
        return number

    def add(self, body: str | bytes) -> int:
        """Add an object; its number."""
        return self.put(self.reserve(), body)

    def stream(self, content: bytes, about: str = "") -> int:
        """Add a compressed stream; its number."""
        packed = zlib.compress(content, 9)
        head = f"<< /Length {len(packed)} /Filter /FlateDecode {about}>>\nstream\n"
        return self.add(head.encode("ascii") + packed + b"\nendstream")

    def written(self, *, root: int, info: int) -> bytes:
        """The whole file: the same objects are the same bytes."""
        out, places = io.BytesIO(), []
        out.write(b"%PDF-1.5\n%\xe2\xe3\xcf\xd3\n")
        for number, body in enumerate(self._bodies, 1):
            places.append(out.tell())
            out.write(b"%d 0 obj\n" % number + body + b"\nendobj\n")
        table = out.tell()
        out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(places) + 1))
        out.writelines(b"%010d 00000 n \n" % place for place in places)
        named = hashlib.sha256(b"".join(self._bodies)).hexdigest()[:32]
        trailer = f"<< /Size {len(places) + 1} /Root {root} 0 R /Info {info} 0 R /ID [<{named}> <{named}>] >>"
        out.write(f"trailer\n{trailer}\nstartxref\n{table}\n%%EOF\n".encode("ascii"))
        return out.getvalue()


def text_string(text: str) -> str:
    """A text of a PDF file's description."""
    return f"<{(chr(0xFEFF) + text).encode('utf-16-be').hex()}>"


class Typeface(Protocol):
    """What sets texts."""

    def covers(self, sign: str) -> bool:
        """Whether it has a sign."""

    def width(self, sign: str) -> float:
        """How wide a sign is, where the height is 1."""

    def put(self, file: File, signs: Collection[str]) -> tuple[int, Mapping[str, str]]:
        """Put it into a file for some signs; its number there, and the code of each sign in hexadecimal digits."""


@dataclass(frozen=True, eq=False)
class Embedded:
    """A TrueType font, of which a file gets the signs that it uses."""

    path: Path
    name: str
    widths: Mapping[int, float]  # by code point; 0 is what stands for all that it lacks
    metrics: str  # as a PDF file tells them

    @classmethod
    @cache
    def of(cls, path: Path) -> Embedded:
        """The font of a file."""
        try:
            with path.open("rb") as content, TTFont(content, lazy=True) as font:
                em, head, line = font["head"].unitsPerEm, font["head"], font["hhea"]
                advances, glyphs = font["hmtx"].metrics, font.getBestCmap() or {}
                missing = [tag for tag in _TABLES if tag not in font]
                widths = {code: advances[glyph][0] / em for code, glyph in glyphs.items()}
                widths[0] = advances[".notdef" if ".notdef" in advances else font.getGlyphOrder()[0]][0] / em
                name = re.sub(r"[^A-Za-z0-9-]", "", font["name"].getDebugName(6) or "") or "Font"
        except (TTLibError, OSError, KeyError, ValueError, AssertionError, struct.error) as error:
            raise InputError(f"{path} must be a TrueType font. It cannot be read.") from error
        if missing:
            raise InputError(f"{path} must be a TrueType font. It has other outlines.")
        box = " ".join(f"{1000 * each / em:.0f}" for each in (head.xMin, head.yMin, head.xMax, head.yMax))
        rise, fall = (f"{1000 * each / em:.0f}" for each in (line.ascent, line.descent))
        metrics = f"/FontBBox [{box}] /Ascent {rise} /Descent {fall} /CapHeight {rise} /ItalicAngle 0 /StemV 80"
        return cls(path, name, widths, metrics)

    def covers(self, sign: str) -> bool:
        """Whether the font has a sign."""
        return ord(sign) in self.widths

    def width(self, sign: str) -> float:
        """How wide a sign is, where the height is 1."""
        return self.widths.get(ord(sign), self.widths[0])

    def put(self, file: File, signs: Collection[str]) -> tuple[int, Mapping[str, str]]:
        """Embed the glyphs of some signs."""
        glyphs, content = self._subset(signs)
        chosen = hashlib.sha256("".join(signs).encode()).digest()[:6]
        name = f"/{''.join(chr(ord('A') + byte % 26) for byte in chosen)}+{self.name}"
        outlines = file.stream(content, f"/Length1 {len(content)} ")
        about = file.add(
            f"<< /Type /FontDescriptor /FontName {name} /Flags 4 {self.metrics} /FontFile2 {outlines} 0 R >>"
        )
        widths = {glyph: self.width(sign) for sign, glyph in glyphs.items()}
        told = " ".join(f"{glyph} [{1000 * width:.0f}]" for glyph, width in sorted(widths.items()))
        cid = file.add(
            f"<< /Type /Font /Subtype /CIDFontType2 /BaseFont {name} {_system('Identity', 0)} "
            f"/FontDescriptor {about} 0 R /CIDToGIDMap /Identity /DW {1000 * self.widths[0]:.0f} /W [{told}] >>"
        )
        unicode = file.stream(_to_unicode(glyphs))
        font = f"/Encoding /Identity-H /DescendantFonts [{cid} 0 R] /ToUnicode {unicode} 0 R"
        number = file.add(f"<< /Type /Font /Subtype /Type0 /BaseFont {name} {font} >>")
        return number, {sign: f"{glyphs.get(sign, 0):04x}" for sign in signs}

    def _subset(self, signs: Collection[str]) -> tuple[dict[str, int], bytes]:
        """Which glyph each sign has in a font that has no others, and that font."""
        with TTFont(self.path, lazy=True, recalcTimestamp=False) as font:
            for tag in set(font.keys()) - {*_TABLES, "GlyphOrder", "cmap"}:
                del font[tag]
            found = Subsetter(Options(hinting=False, notdef_outline=True, recalc_timestamp=False))
            found.populate(unicodes=[ord(sign) for sign in signs])
            found.subset(font)
            known = font.getBestCmap() or {}
            glyphs = {sign: font.getGlyphID(known[ord(sign)]) for sign in signs if ord(sign) in known}
            if "cmap" in font:
                del font["cmap"]
            buffer = io.BytesIO()
            font.save(buffer)
        return glyphs, buffer.getvalue()


@dataclass(frozen=True)
class Named:
    """A Japanese font that most viewers have, or replace by one of theirs: it is named, not embedded.

    Nobody knows how wide its Latin signs are in a viewer, so it sets none.
    """

    name: str

    def covers(self, sign: str) -> bool:
        """Whether its encoding can have a sign."""
        return not sign.isascii() and ord(sign) < 0x10000

    def width(self, sign: str) -> float:
        """How wide a sign is, where the height is 1."""
        return 0.5 if "\uff61" <= sign <= "\uff9f" else 1.0  # half-width katakana

    def put(self, file: File, signs: Collection[str]) -> tuple[int, Mapping[str, str]]:
        """Name it in a file."""
        about = file.add(
            f"<< /Type /FontDescriptor /FontName /{self.name} /Flags 4 /FontBBox [-92 -250 1010 922] /Ascent 752 "
            f"/Descent -221 /CapHeight 737 /ItalicAngle 0 /StemV 114 >>"
        )
        cid = file.add(
            f"<< /Type /Font /Subtype /CIDFontType0 /BaseFont /{self.name} {_system('Japan1', 2)} "
            f"/FontDescriptor {about} 0 R /DW 1000 /W [231 632 500] >>"
        )
        coding = "UniJIS-UCS2-H"
        number = file.add(
            f"<< /Type /Font /Subtype /Type0 /BaseFont /{self.name}-{coding} /Encoding /{coding} "
            f"/DescendantFonts [{cid} 0 R] >>"
        )
        return number, {sign: f"{ord(sign) if self.covers(sign) else LACKING:04x}" for sign in signs}


def _system(ordering: str, supplement: int) -> str:
    return f"/CIDSystemInfo << /Registry (Adobe) /Ordering ({ordering}) /Supplement {supplement} >>"


def _to_unicode(glyphs: Mapping[str, int]) -> bytes:
    """What lets a reader copy, search and read aloud: the sign of each glyph."""
    lines = [f"<{glyph:04x}> <{sign.encode('utf-16-be').hex()}>" for sign, glyph in sorted(glyphs.items())]
    blocks = [lines[at : at + _MOST_MAPPED] for at in range(0, len(lines), _MOST_MAPPED)]
    mapped = "\n".join(f"{len(block)} beginbfchar\n" + "\n".join(block) + "\nendbfchar" for block in blocks)
    return (
        "/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n"
        "/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def\n"
        "/CMapName /Adobe-Identity-UCS def\n/CMapType 2 def\n"
        f"1 begincodespacerange\n<0000> <ffff>\nendcodespacerange\n{mapped}\n"
        "endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend\n"
    ).encode("ascii")
