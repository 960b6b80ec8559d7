"""A table of the report as a value, and its three files: CSV with the numbers, Markdown and LaTeX with the words."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

Value: TypeAlias = str | int | float | bool | None
_TEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "[": "{[}", "]": "{]}", "\u2212": "$-$", "\u202f": r"\,",
    "\u00a0": "~", "\u2013": "--", "\u2713": r"$\checkmark$", "\u00d7": r"$\times$",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its heading, the names of its numbers in the CSV file, and whether it is read as numbers."""

    title: str
    names: tuple[str, ...]
    is_numeric: bool = True


@dataclass(frozen=True, slots=True)
class Entry:
    """A cell of a table: what is read, the values behind it (one for each name of its column), and its weight."""

    text: str
    values: tuple[Value, ...]
    is_strong: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the report.

    Attributes
    ----------
    name : str
        Of its files, and its anchor in the page.
    caption : str
    columns : tuple of Column
        The first heads the rows.
    rows : tuple of rows of Entry
    note : str
        What the reader must know to read it; may be empty.
    """

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Entry, ...], ...]
    note: str = ""

    def save(self, folder: Path) -> None:
        """Write NAME.csv, NAME.md and NAME.tex."""
        folder.mkdir(parents=True, exist_ok=True)
        for ending, text in (("csv", self.csv()), ("md", self.markdown()), ("tex", self.latex())):
            (folder / f"{self.name}.{ending}").write_text(text, encoding="utf-8", newline="")

    def csv(self) -> str:
        """Return the numbers, unrounded, one column for each."""
        lines = io.StringIO()
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow([name for column in self.columns for name in column.names])
        for row in self.rows:
            writer.writerow(["" if value is None else value for entry in row for value in entry.values])
        return lines.getvalue()

    def markdown(self) -> str:
        """Return the table in the Markdown of GitHub and Pandoc."""
        lines = [
            _markdown_row(escape_markdown(column.title) for column in self.columns),
            _markdown_row("---:" if column.is_numeric else ":---" for column in self.columns),
        ]
        for row in self.rows:
            texts = (escape_markdown(entry.text) for entry in row)
            lines.append(
                _markdown_row(
                    f"**{text}**" if entry.is_strong else text for text, entry in zip(texts, row, strict=True)
                )
            )
        below = [escape_markdown(text) for text in (self.caption, self.note) if text]
        return "\n".join([*lines, "", *below, ""])

    def latex(self) -> str:
        """Return a floating table with booktabs rules."""
        shape = "".join("r" if column.is_numeric else "l" for column in self.columns)
        head = _tex_row(escape_tex(column.title) for column in self.columns)
        body = [_tex_row(_tex_entry(entry) for entry in row) for row in self.rows]
        note = rf"\par\smallskip\footnotesize {escape_tex(self.note)}" if self.note else ""
        lines = [
            "% needs \\usepackage{booktabs}",
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{escape_tex(self.caption)}}}",
            rf"\label{{tab:{re.sub('[^a-z0-9]+', '-', self.name)}}}",
            rf"\begin{{tabular}}{{{shape}}}",
            r"\toprule",
            head,
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            note,
            r"\end{table}",
        ]
        return "\n".join(line for line in lines if line) + "\n"


def words(text: str) -> Entry:
    """Return an entry that is text in every file."""
    return Entry(text, (text,))


def escape_tex(text: str) -> str:
    """Return text that LaTeX sets as it is written here, on one line."""
    return "".join(_TEX.get(letter, letter) for letter in " ".join(re.split(r"[\r\n]+", text)))


def escape_markdown(text: str) -> str:
    """Return text that Markdown shows as it is written here, on one line: no markup, no HTML, no new column."""
    flat = " ".join(re.split(r"[\r\n]+", text))
    return re.sub(r"([\\`*_{}\[\]<>#|~!&$])", r"\\\1", flat)


def _markdown_entry(entry: Entry) -> str:
    text = escape_markdown(entry.text)
    return f"**{text}**" if entry.is_strong else text


def _markdown_row(texts: Iterable[str]) -> str:
    return "| " + " | ".join(texts) + " |"


def _tex_row(texts: Iterable[str]) -> str:
    return " & ".join(texts) + r" \\"


def _tex_entry(entry: Entry) -> str:
    text = escape_tex(entry.text)
    return rf"\textbf{{{text}}}" if entry.is_strong else text
