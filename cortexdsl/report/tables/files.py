"""The files of a table: CSV with the numbers; Markdown and LaTeX with the words."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from cortexdsl.files import write_text
from cortexdsl.report.tables.table import Column, Table, TableEntry

LINES = 30  # rows of a table before it is continued in the next one: titles of groups need room, too
FLOATS = 6  # one after the other, before LaTeX must set them: it holds no more than 18
# The idiom of graphicx for "at most as wide as the line": a narrower table keeps its size.
_SHRINK = r"\footnotesize\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
_TEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': "''", "[": "{[}", "]": "{]}", "\u2212": "$-$", "\u202f": r"\,",
    "\u00a0": "~", "\u2013": "--", "\u2713": r"$\surd$", "\u00d7": r"$\times$", "\u2264": r"$\le$",
    "\u2265": r"$\ge$", "\u221e": r"$\infty$", "\u2026": r"\dots{}", "\u00b7": r"$\cdot$", "*": "{*}",
}  # fmt: skip
_BREAKS = re.compile(r"(?<=[\[\]=,:/_\-(])(?=\S)")


def save_table(table: Table, folder: Path) -> None:
    """Write NAME.csv, NAME.md and NAME.tex."""
    for suffix, form in (("csv", as_csv), ("md", as_markdown), ("tex", as_latex)):
        write_text(folder / f"{table.name}.{suffix}", form(table), durable=False)


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
        _markdown_row(escape_markdown(column.title) for column in table.columns),
        _markdown_row("---:" if column.is_numeric else ":---" for column in table.columns),
    ]
    for row in table.rows:
        texts = ((escape_markdown(entry.whole), entry.is_strong) for entry in row)
        lines.append(_markdown_row(f"**{text}**" if is_strong else text for text, is_strong in texts))
    below = [escape_markdown(text) for text in (table.caption, table.note) if text]
    return "\n".join([*lines, "", *below, ""])


def escape_markdown(text: str) -> str:
    """Return text that Markdown shows as it is written here, on one line: no markup, no HTML, no new column."""
    flat = " ".join(re.split(r"[\r\n]+", text))
    return re.sub(r"([\\`*_{}\[\]<>#|~!&$])", r"\\\1", flat)


def _markdown_row(texts: Iterable[str]) -> str:
    return "| " + " | ".join(texts) + " |"


def as_latex(table: Table) -> str:
    """Return floating tables with booktabs rules; a long one goes on in the next float.

    A `table*` has the width of the page also in a document of two columns, and LaTeX shrinks what is wider.
    """
    columns = [table.columns[place] for place in table.shown]
    rows = [(title, row) for title, rows in table.groups() for row in rows]
    lines = ["% needs \\usepackage{booktabs,graphicx}"]
    for start in range(0, len(rows), LINES):
        caption = f"{table.caption.rstrip('.')} (continued)." if start else table.caption
        label = "" if start else rf"\label{{tab:{re.sub('[^a-z0-9]+', '-', table.name.lower())}}}"
        lines += [r"\clearpage"] if start and start // LINES % FLOATS == 0 else []
        lines += [r"\begin{table*}", r"\centering\setlength{\tabcolsep}{4pt}"]
        lines += [rf"\caption{{{escape_tex(caption)}}}{label}"]
        lines += [_SHRINK, *_tabular(columns, rows[start : start + LINES]), "}"]
        if table.note and start + LINES >= len(rows):
            lines += [r"\par\smallskip", r"\begin{minipage}{\linewidth}\footnotesize\raggedright"]
            lines += [escape_tex(table.note), r"\end{minipage}"]
        lines += [r"\end{table*}"]
    return "\n".join(lines) + "\n"


def escape_tex(text: str) -> str:
    """Return text that LaTeX sets as it is written here, on one line; long names may break after their signs."""
    words = " ".join(re.split(r"[\r\n]+", text)).split(" ")
    broken = ("\x00".join(_BREAKS.split(word) if len(word) > 12 else [word]) for word in words)
    return "".join(_TEX.get(letter, letter) for letter in " ".join(broken)).replace("\x00", r"\allowbreak{}")


def _tabular(columns: Sequence[Column], rows: Sequence[tuple[str, Sequence[TableEntry]]]) -> Iterator[str]:
    """Yield the lines of some rows; the title of a group stands above its first row."""
    kinds = "".join("r" if column.is_numeric and place else "l" for place, column in enumerate(columns))
    yield from (rf"\begin{{tabular}}{{@{{}}{kinds}@{{}}}}", r"\toprule")
    yield from (_latex_row(escape_tex(column.title) for column in columns), r"\midrule")
    above = ""
    for title, row in rows:
        if title != above:
            yield rf"\multicolumn{{{len(columns)}}}{{@{{}}l@{{}}}}{{\itshape {escape_tex(title)}}} \tabularnewline"
        above = title
        yield _latex_row(_strong(escape_tex(entry.whole), entry.is_strong) for entry in row)
    yield from (r"\bottomrule", r"\end{tabular}%")


def _strong(text: str, is_strong: bool) -> str:
    return rf"\textbf{{{text}}}" if is_strong and text else text


def _latex_row(texts: Iterable[str]) -> str:
    return " & ".join(texts) + r" \tabularnewline"
