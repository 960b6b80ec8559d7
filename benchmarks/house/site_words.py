"""Count the words that a reader of the built manual may read: the text of each page without code blocks.

    python benchmarks/house/site_words.py                      # build/docs, of `make docs`
    python benchmarks/house/site_words.py --most 60000         # fail if there are more
    python benchmarks/house/site_words.py --pages 20           # also the longest pages

Words within tables count; menus, code blocks and drawings do not.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

BUILT = Path(__file__).resolve().parents[2] / "build" / "docs"
UNREAD = frozenset({"pre", "script", "style", "nav", "svg", "footer"})
BLOCKS = frozenset({"p", "td", "th", "li", "tr", "div", "h1", "h2", "h3", "h4", "dt", "dd"})
WITHOUT_TEXT = frozenset({"genindex.html", "search.html", "py-modindex.html"})


@dataclass(frozen=True, slots=True)
class PageWords:
    """The words of a page, and those of them that are in tables."""

    path: str
    words: int
    in_tables: int


class _Text(HTMLParser):
    """Collects the text of the main part of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.unread = self.tables = 0
        self.is_main = False
        self.plain: list[str] = []
        self.tabular: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.is_main = self.is_main or tag == "article" or ("role", "main") in attrs
        self.unread += tag in UNREAD
        self.tables += tag == "table"
        if tag in BLOCKS:  # two blocks are two words, and `code` within a sentence is part of one
            self.plain.append(" ")
            self.tabular.append(" ")

    def handle_endtag(self, tag: str) -> None:
        self.unread -= tag in UNREAD
        self.tables -= tag == "table"

    def handle_data(self, data: str) -> None:
        if self.is_main and not self.unread:
            (self.tabular if self.tables else self.plain).append(data)


def page_words(folder: Path) -> tuple[PageWords, ...]:
    """Return the words of every page of a built manual, the longest first."""
    found = []
    for page in folder.rglob("*.html"):
        if page.name not in WITHOUT_TEXT:
            text = _Text()
            text.feed(page.read_text())
            tabular = len("".join(text.tabular).split())
            found.append(PageWords(str(page.relative_to(folder)), tabular + len("".join(text.plain).split()), tabular))
    return tuple(sorted(found, key=lambda one: (-one.words, one.path)))


def main() -> int:
    """Print the sums; return 1 if there are more words than allowed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", default=BUILT)
    parser.add_argument("--most", type=int, help="fail if there are more words")
    parser.add_argument("--pages", type=int, default=0, help="how many of the longest pages to list")
    args = parser.parse_args()
    pages = page_words(args.folder)
    words = sum(one.words for one in pages)
    print(f"{words:,} words on {len(pages)} pages, {sum(one.in_tables for one in pages):,} of them in tables")
    for one in pages[: args.pages]:
        print(f"{one.words:6,}  {one.in_tables:6,} in tables  {one.path}")
    if args.most is not None and words > args.most:
        print(f"the manual may have {args.most:,} words: shorten a page", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
