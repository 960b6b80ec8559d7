"""Tables for LaTeX: set by LaTeX itself, in one column and in two; its log says whether anything sticks out."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from cortexdsl.report.tables.files import as_csv, as_latex, save_table
from cortexdsl.report.tables.table import Column, Table, TableEntry, words

LONG = "sparse[keep=drop_bottom-1, recalibration=cortexdebate, weight=credibility]"
ARTICLE = r"\documentclass[10pt]{article}"
# What acl.sty (github.com/acl-org/acl-style-files) sets of the page: A4, margins of 2.5 cm, 0.6 cm between columns; its
# template asks for 11 points and Times. So a column is (16 cm - 0.6 cm) / 2 = 219.08614 pt wide.
ACL = r"\documentclass[11pt,twocolumn]{article}\usepackage[a4paper,margin=2.5cm]{geometry}\setlength{\columnsep}{0.6cm}"
TIMES = ACL + r"\usepackage{times}"
STYLE = r"\documentclass[11pt]{article}\usepackage[review]{acl}\usepackage{times}"
NEEDS = {TIMES: ("ptmr7t.tfm",), STYLE: ("ptmr7t.tfm", "phvb.tfm", "acl.sty")}


def table(columns: int, rows: int, *, name: str = "made") -> Table:
    heads = [Column("Cell", ("cell",), is_numeric=False), Column("Metric", ("metric",), False, is_group=True)]
    heads += [Column(f"Input tokens {n}", (f"n{n}", f"n{n}_low", f"n{n}_high")) for n in range(columns)]
    one = TableEntry(
        "\u22121\u202f026", (-1026.0, -1037.0, -1015.0), is_strong=True, more="[\u22121\u202f037, \u22121\u202f015]"
    )
    body = [(words(LONG), words(f"metric_{n % 2}"), *[one] * columns) for n in range(rows)]
    return Table(name, f"A caption that names {LONG} & more.", tuple(heads), tuple(body), "A note, 95\u202f% of it.")


def headed(columns: int) -> Table:
    """The same table, in groups whose heading is longer than a line."""
    made = table(columns, 4)
    heading = f"{LONG} \u00b7 arithmetic \u00b7 Total tokens \u00b7 Somebody et al. 2024, arXiv 2409.14051, Table 1"
    rows = tuple((row[0], words(f"{heading} {n % 2}"), *row[2:]) for n, row in enumerate(made.rows))
    return replace(made, rows=rows)


def log_of(source: str, folder: Path) -> str:
    """What LaTeX says of a document, which must compile."""
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not on this machine (Debian: texlive-latex-base, texlive-latex-recommended)")
    missing = [name for head, needed in NEEDS.items() if source.startswith(head) for name in needed if not has(name)]
    if missing:
        pytest.skip(f"LaTeX has no {', '.join(missing)} here (fonts: texlive-fonts-recommended; acl.sty: TEXINPUTS)")
    (folder / "paper.tex").write_text(source, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
    return (folder / "paper.log").read_text(errors="replace")


def overfull(source: str, folder: Path) -> list[str]:
    """What LaTeX says of a document that is too wide or too high."""
    return re.findall(r"^(?:Overfull .*|.*Float too large.*)$", log_of(source, folder), re.M)


def has(name: str) -> bool:
    """Say whether LaTeX finds a file."""
    return subprocess.run(["kpsewhich", name], capture_output=True, check=False, timeout=60).returncode == 0


def paper(head: str, tables: list[str]) -> str:
    body = "\n\\clearpage\n".join(tables)
    return f"{head}\\usepackage{{booktabs,graphicx}}\\begin{{document}}\n{body}\n\\end{{document}}\n"


@pytest.mark.latex
@pytest.mark.parametrize("head", [ARTICLE, ACL, TIMES, STYLE], ids=["article", "acl", "acl-times", "acl.sty"])
def test_no_table_sticks_out(head: str, tmp_path: Path) -> None:
    """One to seven columns of intervals, long names and headings, many rows; in `table`, and as they choose."""
    shapes = [(1, 3), (3, 4), (7, 5), (2, 60)]
    chosen = [as_latex(one) for one in (*(table(*shape) for shape in shapes), headed(1), headed(3))]
    made = [*chosen, *(one.replace("table*", "table") for one in chosen)]
    assert overfull(paper(head, made), tmp_path) == []


@pytest.mark.latex
def test_the_log_would_say_so(tmp_path: Path) -> None:
    """The check can fail: the same table without what shrinks it is reported."""
    wide = re.sub(r"\\resizebox.*", "{%", as_latex(table(7, 2)))
    assert overfull(paper(ACL, [wide]), tmp_path)


def test_a_table_has_the_width_of_the_page() -> None:
    """In a document of two columns `table*` spans both; no column is left out."""
    text = as_latex(table(7, 2))
    assert "\\begin{table*}" in text
    assert all(f"tokens {n}" in text for n in range(7))


def test_a_long_table_goes_on_in_the_next_float() -> None:
    """60 rows are more than a page holds; each piece has its caption, and one label is enough."""
    text = as_latex(table(2, 60))
    assert text.count("\\begin{table*}") == text.count("(continued).") + 1 > 1
    assert text.count("\\label") == 1
    assert text.count("sparse") >= 60


def test_groups_are_headings_in_print_and_columns_in_the_numbers(tmp_path: Path) -> None:
    """The CSV keeps the metric of each row; in LaTeX it stands once above its rows."""
    made = table(1, 4)
    assert as_csv(made).splitlines()[0] == "cell,metric,n0,n0_low,n0_high"
    assert as_latex(made).count("\\itshape metric") == 2
    save_table(made, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"made.csv", "made.md", "made.tex"}
