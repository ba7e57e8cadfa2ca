"""Whether every internal link and image of the built site leads somewhere: ``check_links.py FOLDER``."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_TARGETS_ONLY = ("reproduction/index.html", "search.html", "_static/")  # written by others


class Page(HTMLParser):
    """What a page refers to, and what can be referred to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("href", "src") and value is not None:
                self.links.append(value)
            elif name in ("id", "name") and value is not None:
                self.anchors.add(value)


def broken_links(root: Path) -> list[str]:
    """One line for each link that leads nowhere."""
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in sorted(root.rglob("*.html"))}
    complaints = []
    for path, page in pages.items():
        name = path.relative_to(root.resolve()).as_posix()
        if not name.startswith(_TARGETS_ONLY):
            complaints += [f"{name}: {link}" for link in page.links if not _leads_somewhere(link, path, pages)]
    return complaints


def _leads_somewhere(link: str, path: Path, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target = target / "index.html"
    if not target.exists():
        return False
    return target not in pages or unquote(parts.fragment) in pages[target].anchors


if __name__ == "__main__":
    found = broken_links(Path(sys.argv[1]))
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(f"{len(found)} broken links" if found else 0)
