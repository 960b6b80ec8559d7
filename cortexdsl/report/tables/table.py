"""A table of the report as a value, and the columns that it is declared by.

A table is declared as a list of fields over typed rows. A field has a heading, the names of its numbers in the CSV
file, and a function from a row to an entry: the text, the numbers behind it, and a link to the debates behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Generic, TypeAlias, TypeVar

from cortexdsl.numbers import Kind, estimate, interval, number

Value: TypeAlias = str | int | float | bool | None
RowType = TypeVar("RowType")


@dataclass(frozen=True, slots=True)
class Column:
    """The head of a column: its heading, and the names of its numbers in the CSV file.

    Rows that share the entry of a group column stand together under it; people see no column of its own.
    """

    title: str
    names: tuple[str, ...]
    is_numeric: bool = True
    is_group: bool = False


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A cell of a table: its text, and the number behind it for each name of its column.

    `more` is an interval, written after the text, or under it if there is little room. `link` is a fragment of the
    explorer's page with the debates behind the entry; it may be empty.
    """

    text: str
    values: tuple[Value, ...]
    is_strong: bool = False
    more: str = ""
    link: str = ""

    @property
    def whole(self) -> str:
        """The text and `more`, on one line."""
        return f"{self.text} {self.more}".strip()


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the report; `name` is that of its files and its anchor in the page; the first column heads rows."""

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[TableEntry, ...], ...]
    note: str = ""

    @property
    def shown(self) -> tuple[int, ...]:
        """The places of the columns that people see as columns; rows stand under the entries of the others."""
        return tuple(place for place, column in enumerate(self.columns) if not column.is_group)

    def groups(self) -> Iterator[tuple[str, tuple[tuple[TableEntry, ...], ...]]]:
        """Yield each group's heading and its rows, without the columns that group; no heading where all are alike."""
        grouping = [place for place, column in enumerate(self.columns) if column.is_group]
        places = [place for place in grouping if len({row[place].text for row in self.rows}) > 1]
        titles = [" \u00b7 ".join(row[place].text for place in places) for row in self.rows]
        for title in dict.fromkeys(titles):
            rows = (row for row, its in zip(self.rows, titles, strict=True) if its == title)
            yield title, tuple(tuple(row[place] for place in self.shown) for row in rows)


@dataclass(frozen=True, slots=True)
class Field(Generic[RowType]):
    """A declared column: its head, and the entry of a row."""

    column: Column
    entry: Callable[[RowType], TableEntry]


def tabulate(
    name: str, caption: str, fields: Sequence[Field[RowType]], rows: Iterable[RowType], note: str = ""
) -> Table:
    """Return the table of some rows; name, caption and note as in `Table`."""
    body = tuple(tuple(field.entry(row) for field in fields) for row in rows)
    return Table(name, caption, tuple(field.column for field in fields), body, note)


def column(
    title: str, names: str | tuple[str, ...], entry: Callable[[RowType], TableEntry], *, is_group: bool = False
) -> Field[RowType]:
    """Declare a column whose entries a function makes."""
    return Field(Column(title, (names,) if isinstance(names, str) else names, not is_group, is_group), entry)


def text(title: str, name: str, of: Callable[[Any], str] | None = None) -> Field[Any]:
    """Declare a column of text: an attribute of the row, or what a function returns."""
    get = of or attrgetter(name)
    return Field(Column(title, (name,), is_numeric=False), lambda row: words(get(row)))


def group(title: str, name: str, of: Callable[[Any], str] | None = None) -> Field[Any]:
    """Declare a column of text under whose entries rows stand together."""
    field = text(title, name, of)
    return replace(field, column=replace(field.column, is_group=True))


def numbers(
    title: str,
    names: str | tuple[str, ...],
    write: Callable[[Any], str],
    *,
    of: Callable[[Any], Any] | None = None,
    more: Callable[[Any], str] | None = None,
    link: Callable[[Any], str] | None = None,
    is_strong: Callable[[Any], bool] | None = None,
    is_numeric: bool = True,
) -> Field[Any]:
    """Declare a column of one or several numbers of a row.

    Parameters
    ----------
    title : str
    names : str or tuple of str
        Of the numbers in the CSV file.
    write : callable
        Returns the text of a row.
    of : callable, optional
        Returns the number of a row, or the tuple of its numbers; by default the attributes with these names.
    more, link, is_strong : callable, optional
        Return what else an entry has, see `TableEntry`.
    is_numeric : bool
    """
    several = (names,) if isinstance(names, str) else names
    get = of or attrgetter(*several)

    def entry(row: Any) -> TableEntry:
        values = get(row)
        return TableEntry(
            write(row),
            values if isinstance(values, tuple) else (values,),
            is_strong(row) if is_strong else False,
            more(row) if more else "",
            link(row) if link else "",
        )

    return Field(Column(title, several, is_numeric), entry)


def value(
    title: str, name: str, write: Callable[[Any], str], *, of: Callable[[Any], Value] | None = None
) -> Field[Any]:
    """Declare a column of one number: an attribute of the row, or what a function returns, and how it is written."""
    get = of or attrgetter(name)
    return numbers(title, name, lambda row: write(get(row)), of=get)


def count(title: str, name: str, of: Callable[[Any], Value] | None = None) -> Field[Any]:
    """Declare a column of whole numbers."""
    return value(title, name, whole, of=of)


def share(title: str, name: str) -> Field[Any]:
    """Declare a column of shares, written in percent."""
    return value(title, name, lambda number: estimate(number, "share"))


def measure(title: str, names: tuple[str, str, str], kind: Kind) -> Field[Any]:
    """Declare a column of an estimate with its interval."""
    get = attrgetter(*names)
    return column(title, names, lambda row: with_interval(get(row), kind))


def whole(value: float | None) -> str:
    """Write a whole number, with commas between thousands."""
    return number(value, 1)


def words(text: str) -> TableEntry:
    """Return an entry that is text in every file."""
    return TableEntry(text, (text,))


def with_interval(values: tuple[float | None, float | None, float | None], kind: Kind, link: str = "") -> TableEntry:
    """Return an entry of (estimate, low, high)."""
    point, low, high = values
    return TableEntry(estimate(point, kind), values, more=interval(low, high, kind), link=link)
