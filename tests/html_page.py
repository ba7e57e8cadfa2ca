"""An HTML page as a test sees it."""

from __future__ import annotations

from html.parser import HTMLParser

_EMPTY = {"meta"}  # others that are empty are closed at once


class Page(HTMLParser):
    """Sections with their text and tables, all tags with their attributes; unbalanced tags are an error."""

    def __init__(self, content: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.sections: dict[str, str] = {}
        self.tables: dict[str, list[list[str]]] = {}  # by the label of the region they scroll in
        self.facts: dict[str, dict[str, str]] = {}
        self.text = ""
        self._open: list[str] = []
        self._section = self._region = self._list = self._term = ""
        self.feed(content)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        found = {name: value or "" for name, value in attrs}
        self.tags.append((tag, found))
        if tag == "section":
            self._section = found["id"]
            self.sections[self._section] = ""
        if found.get("role") == "region":
            self._region = found["aria-label"]
        if tag == "table":
            assert self._region, "a table that does not scroll by itself"
            self.tables[self._region] = []
        if tag == "tr":
            self.tables[self._region].append([])
        if tag in ("td", "th"):
            self.tables[self._region][-1].append("")
        if tag == "dl":
            self._list = found["aria-label"]
            self.facts[self._list] = {}
        if tag == "dt":
            self._term = ""
        if tag == "dd":
            self.facts[self._list][self._term] = ""
        if tag not in _EMPTY:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag):
        assert self._open.pop() == tag
        if tag == "section":
            self._section = ""
        if tag == "table":
            self._region = ""

    def handle_data(self, data):
        self.text += data
        if self._section:
            self.sections[self._section] += data
        if {"td", "th"} & set(self._open) and "svg" not in self._open:
            self.tables[self._region][-1][-1] += data
        if "dt" in self._open:
            self._term += data
        if "dd" in self._open:
            self.facts[self._list][self._term] += data

    def count(self, tag: str, kind: str = "") -> int:
        return sum(name == tag and kind in ("", *found.get("class", "").split()) for name, found in self.tags)
