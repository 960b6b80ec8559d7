"""Count the words of a finished experiment's report, in a browser and in a terminal.

    python benchmarks/house/report_words.py results/quickstart full
    python benchmarks/house/report_words.py results/quickstart full --source ../version-0.2.0

The second argument is the cell with which `compare` compares the others. `--source` is the checkout whose program
prints the reports, so that two versions can be compared. Drawings are not counted.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

SILENT = frozenset({"style", "svg", "title", "script"})


class _Text(HTMLParser):
    """The text of a page, what is folded away apart from the rest."""

    def __init__(self) -> None:
        super().__init__()
        self.silent = self.folds = 0
        self.is_summary = False
        self.open: list[str] = []
        self.folded: list[str] = []

    def handle_starttag(self, tag: str, _attrs: list[tuple[str, str | None]]) -> None:
        self.silent += tag in SILENT
        self.folds += tag == "details"
        self.is_summary = self.is_summary or tag == "summary"

    def handle_endtag(self, tag: str) -> None:
        self.silent -= tag in SILENT
        self.folds -= tag == "details"
        self.is_summary = self.is_summary and tag != "summary"

    def handle_data(self, data: str) -> None:
        if not self.silent:
            (self.folded if self.folds and not self.is_summary else self.open).append(data)


def page_words(page: Path) -> dict[str, int]:
    """Return the words that a page shows at first, and those that are folded away."""
    text = _Text()
    text.feed(page.read_text(encoding="utf-8"))
    return {
        "report.html, open": words(" ".join(text.open)),
        "report.html, folded": words(" ".join(text.folded)),
    }


def words(text: str) -> int:
    """Return how many words a text has; a number is one, a sign or a rule of a table is none."""
    return sum(any(map(str.isalnum, word)) for word in text.split())


def printed(source: Path, *arguments: str) -> str:
    """Return what the program of a checkout prints for some arguments."""
    path = {**os.environ, "PYTHONPATH": str(source.resolve()), "COLUMNS": "80"}
    program = [sys.executable, "-m", "cortexdsl", *arguments]
    return subprocess.run(program, env=path, check=True, capture_output=True, text=True).stdout


def main() -> None:
    """Print a line for each kind of report."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="the results of an experiment, with its report.html")
    parser.add_argument("cell", help="the cell that `compare` compares the others with")
    parser.add_argument("--source", type=Path, default=Path(__file__).resolve().parents[2])
    args = parser.parse_args()
    counts = page_words(args.folder / "report.html")
    texts = {
        "report --text": ("report", str(args.folder), "--text"),
        "compare": ("compare", str(args.folder / "scores.csv"), "--to", args.cell),
    }
    for name, arguments in texts.items():
        counts[name] = words(printed(args.source, *arguments))
    for name, count in counts.items():
        print(f"{name:20} {count:6,}")


if __name__ == "__main__":
    main()
