"""Every number of a table leads to the debates that it was counted from."""

from __future__ import annotations

import re
from pathlib import Path

from cortexdsl.report.tables.table import MANY, Column, Table, TableEntry, link_numbers, words

HEADS = (
    Column("Cell", ("cell",), is_numeric=False),
    Column("Agent", ("agent",), is_numeric=False),
    Column("A", ("a",)),
    Column("B", ("b",)),
)


def table(*cells: str) -> Table:
    rows = tuple((words(cell), words("ann"), TableEntry("1", (1,)), TableEntry("\u2013", (None,))) for cell in cells)
    return Table("made", "", HEADS, rows)


def links(table: Table) -> list[list[str]]:
    return [[entry.link for entry in row[2:]] for row in table.rows]


def test_a_row_says_whose_debates_they_are_and_what_is_no_cell_leads_nowhere() -> None:
    assert links(link_numbers(table("sparse", "all"), "x", {"sparse"})) == [
        ["#/x/x/find?cell=sparse&agent=ann", ""], ["", ""],
    ]  # fmt: skip
    assert links(link_numbers(table("sparse"), "x", {"sparse"}, only=("b",))) == [["", ""]]
    assert links(link_numbers(table(*["sparse"] * (MANY + 1)), "x", {"sparse"}))[0] == ["", ""]


def test_every_number_of_the_page_that_a_cell_has_is_a_link(reported: Path) -> None:
    """Metrics, rounds, agents, comparisons, who persuaded whom, confidences: no digit beside a link."""
    page = (reported / "report.html").read_text()
    for name in ("metrics", "rounds", "agents", "comparisons-main", "persuasion", "calibration", "health"):
        [body] = re.findall(rf'<table id="table-{name}">(.*?)</table>', page, re.DOTALL)
        entries = re.findall(r'<td [^>]*class="number[^>]*><span>(.*?)</span></td>', body, re.DOTALL)
        bare = [one for one in entries if "<a " not in one and re.search(r"\d", re.sub("<.*?>", "", one))]
        assert bare == [], name
        assert entries, name
