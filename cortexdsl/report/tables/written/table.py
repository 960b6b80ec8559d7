"""A table of the report as a value: what is read, and the numbers behind it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

Value: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    title : str
        Its heading.
    names : tuple of str
        Of its numbers in the CSV file.
    is_numeric : bool
        Whether it is read as numbers.
    is_group : bool
        Rows that share its entry stand together under it, and it has no column of its own where people read.
    """

    title: str
    names: tuple[str, ...]
    is_numeric: bool = True
    is_group: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """A cell of a table.

    Attributes
    ----------
    text : str
        What is read.
    values : tuple
        Behind it, one for each name of its column.
    is_strong : bool
    more : str
        What stands beside it, or under it where room is short: an interval.
    link : str
        Where the debates behind it are: a fragment of the explorer's page; may be empty.
    """

    text: str
    values: tuple[Value, ...]
    is_strong: bool = False
    more: str = ""
    link: str = ""

    @property
    def whole(self) -> str:
        """Text and what stands beside it, on one line."""
        return f"{self.text} {self.more}".strip()


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

    @property
    def shown(self) -> tuple[int, ...]:
        """The places of the columns that people see as columns; rows stand under the entry of the other one."""
        return tuple(place for place, column in enumerate(self.columns) if not column.is_group)

    def groups(self) -> Iterator[tuple[str, tuple[tuple[Entry, ...], ...]]]:
        """Yield each group's heading and its rows, without the columns that group; no heading where all are alike."""
        grouping = [place for place, column in enumerate(self.columns) if column.is_group]
        places = [place for place in grouping if len({row[place].text for row in self.rows}) > 1]
        titles = [" \u00b7 ".join(row[place].text for place in places) for row in self.rows]
        for title in dict.fromkeys(titles):
            rows = (row for row, its in zip(self.rows, titles, strict=True) if its == title)
            yield title, tuple(tuple(row[place] for place in self.shown) for row in rows)


def words(text: str) -> Entry:
    """Return an entry that is text in every file."""
    return Entry(text, (text,))
