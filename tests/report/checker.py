"""What a page must be: well formed, reachable by everybody, and complete in itself."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "img", "input", "link"}
LOADING = {"script", "link", "iframe", "object", "embed", "image", "video", "audio", "source", "form"}


class Page(HTMLParser):
    """Reads a page and notes everything that is wrong with it."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.problems: list[str] = []
        self.open: list[str] = []
        self.ids: Counter[str] = Counter()
        self.references: list[str] = []
        self.headings: list[int] = []
        self.text: list[str] = []
        self.expected: dict[str, str] = {}  # what must be the first element inside another
        self.feed(text)
        self.close()
        self._finish(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if self.expected and tag not in self.expected.values():
            self.problems.append(f"{self.expected} expected, got {tag}")
        self.expected = {"svg": {"svg": "title"}, "table": {"table": "caption"}}.get(tag, {})
        if tag not in VOID:
            self.open.append(tag)
        self._attributes(tag, given)
        if tag == "svg" and (given.get("role") != "img" or "aria-labelledby" not in given):
            self.problems.append("a picture without a text in its place")
        if tag == "img" and not given.get("alt"):
            self.problems.append("an image without alt")
        if tag == "th" and given.get("scope") not in ("row", "col"):
            self.problems.append("a heading cell without scope")
        if tag == "html" and not given.get("lang"):
            self.problems.append("no language")
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> closes something else")

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text.append(data)

    def _attributes(self, tag: str, given: dict[str, str]) -> None:
        if tag in LOADING:
            self.problems.append(f"<{tag}> may load or send something")
        if "id" in given:
            self.ids[given["id"]] += 1
        for name, value in given.items():
            if name.startswith("on"):
                self.problems.append(f"{name} runs something")
            if name in ("href", "src", "xlink:href") and not value.startswith("#"):
                self.problems.append(f"{name} leads out of the page")
            if name == "href":
                self.references.append(value[1:])
            if name.startswith("aria-") and name.endswith("by"):
                self.references += value.split()
            self.references += re.findall(r"url\(#([^)]*)\)", value)

    def _finish(self, text: str) -> None:
        if self.open:
            self.problems.append(f"left open: {self.open}")
        self.problems += [f"two elements are {name!r}" for name, times in self.ids.items() if times > 1]
        self.problems += [f"{name!r} is nowhere" for name in self.references if name not in self.ids]
        if self.headings[:1] != [1] or self.headings.count(1) != 1:
            self.problems.append("there must be one h1, and it must come first")
        steps = zip(self.headings, self.headings[1:], strict=False)
        self.problems += [f"h{a} is followed by h{b}" for a, b in steps if b > a + 1]
        if re.search(r"https?:|@import|url\((?!#)", text):
            self.problems.append("the page names an outside resource")
