"""Check the built pages: every internal link leads somewhere, and no page fetches anything.

python docs/check_links.py docs/_build/html
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: Elements whose address is fetched when the page is read, and the attribute that has it.
FETCHED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
KEPT_LINKS = {"canonical", "alternate", "author", "license", "search", "index", "next", "prev"}


@dataclass
class LinkedPage(HTMLParser):
    """The anchors of a page and the addresses it names."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag in FETCHED and FETCHED[tag] in values and values.get("rel") not in KEPT_LINKS:
            self.fetched.append(values[FETCHED[tag]])


def read(folder: Path) -> dict[Path, LinkedPage]:
    """All pages of a folder, except the live book, which has tests of its own."""
    found = {}
    for path in sorted(folder.rglob("*.html")):
        if path.relative_to(folder).parts[0] not in ("live", "_static"):
            parsed = LinkedPage()
            parsed.feed(path.read_text("utf-8"))
            found[path] = parsed
    return found


def problems(folder: Path) -> list[str]:
    """What is wrong, one line each."""
    pages = read(folder.resolve())
    found = []
    for path, page in pages.items():
        where = path.relative_to(folder.resolve())
        for address in page.fetched:
            if urlsplit(address).scheme in ("http", "https") or address.startswith("//"):
                found.append(f"{where}: fetches {address}")
        for address in [*page.links, *page.fetched]:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc or address.startswith(("#!", "javascript:")):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                found.append(f"{where}: {address} leads nowhere")
            elif (
                parts.fragment
                and target in pages
                and unquote(parts.fragment) not in pages[target].anchors
            ):
                found.append(f"{where}: {address} has no such heading")
    return found


def main() -> None:
    """Print what is wrong and fail, or say that nothing is."""
    folder = Path(sys.argv[1])
    found = problems(folder)
    print("\n".join(found) or f"{len(read(folder.resolve()))} pages: every internal link works.")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
