"""Every number leads to the debates that it was counted from: a row says of which cell, dataset and agent it is."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from cortexdsl.records.links import find_link
from cortexdsl.report.tables.written.table import Entry, Table

MANY = 200
"""Rows. In a longer table only the numbers that lead to some of the debates have links, or pages would be megabytes."""


def linked(table: Table, experiment: str, cells: Collection[str], only: Collection[str] = ()) -> Table:
    """Return a table whose numbers lead to debates, where its rows name a cell.

    Parameters
    ----------
    table : Table
    experiment : str
    cells : collection of str
        Of the plan; what else stands in a column of cells (the sum of all) leads nowhere.
    only : collection of str
        The numbers that are meant, by their names in the CSV file; all where there are none.
    """
    if len(table.rows) > MANY:
        return table
    return replace(table, rows=tuple(_row(table, row, experiment, cells, only) for row in table.rows))


def _row(
    table: Table, row: tuple[Entry, ...], experiment: str, cells: Collection[str], only: Collection[str]
) -> tuple[Entry, ...]:
    named = {
        name: value
        for column, entry in zip(table.columns, row, strict=True)
        for name, value in zip(column.names, entry.values, strict=True)
        if isinstance(value, str)
    }
    if named.get("cell") not in cells:
        return row
    link = _link(experiment, named)
    return tuple(
        replace(entry, link=link)
        if column.is_numeric
        and not entry.link
        and any(letter.isdigit() for letter in entry.text)
        and (not only or column.names[0] in only)
        else entry
        for column, entry in zip(table.columns, row, strict=True)
    )


def _link(experiment: str, named: Mapping[str, str]) -> str:
    dataset, cell = named.get("dataset"), named["cell"]
    if named.get("reference"):
        return find_link(experiment, dataset=dataset, apart=(cell, named["reference"]))
    return find_link(experiment, dataset=dataset, cell=cell, agent=named.get("agent"))
