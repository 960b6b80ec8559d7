"""The files of a table: CSV with the numbers; Markdown and LaTeX with the words."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from pathlib import Path

from cortexdsl.report.tables.written.latex import COLUMN, PAGE, latex
from cortexdsl.report.tables.written.table import Table


def save_table(table: Table, folder: Path) -> None:
    """Write NAME.csv, NAME.md, and NAME.tex and NAME-wide.tex, for one column and for the width of a page."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        f"{table.name}.csv": as_csv(table),
        f"{table.name}.md": as_markdown(table),
        f"{table.name}.tex": latex(table, COLUMN),
        f"{table.name}-wide.tex": latex(table, PAGE),
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")


def as_csv(table: Table) -> str:
    """Return the numbers, unrounded, one column for each."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow([name for column in table.columns for name in column.names])
    for row in table.rows:
        writer.writerow(["" if value is None else value for entry in row for value in entry.values])
    return lines.getvalue()


def as_markdown(table: Table) -> str:
    """Return the table in the Markdown of GitHub and Pandoc."""
    lines = [
        _row(escape_markdown(column.title) for column in table.columns),
        _row("---:" if column.is_numeric else ":---" for column in table.columns),
    ]
    for row in table.rows:
        texts = [escape_markdown(entry.whole) for entry in row]
        lines.append(_row(f"**{text}**" if entry.is_strong else text for text, entry in zip(texts, row, strict=True)))
    below = [escape_markdown(text) for text in (table.caption, table.note) if text]
    return "\n".join([*lines, "", *below, ""])


def escape_markdown(text: str) -> str:
    """Return text that Markdown shows as it is written here, on one line: no markup, no HTML, no new column."""
    flat = " ".join(re.split(r"[\r\n]+", text))
    return re.sub(r"([\\`*_{}\[\]<>#|~!&$])", r"\\\1", flat)


def _row(texts: Iterable[str]) -> str:
    return "| " + " | ".join(texts) + " |"
