"""Progress as a table: one row per cell, as many as fit, and their sum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from cortexdsl.watch.progress import Progress, Row
from cortexdsl.watch.words import (
    duration,
    failed_calls,
    has_many_datasets,
    money,
    name_of,
    pace,
    retried_calls,
    short,
)

ORDER = ("running", "failed", "stopped", "silent", "waiting", "done")
STYLES = {"running": "", "failed": "red", "stopped": "yellow", "silent": "yellow", "waiting": "dim", "done": "green"}
BAR = 12
GAP = 2  # between two columns


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of figures: its head, its text in a row, and when it goes if a terminal is narrow (0: never)."""

    head: str
    text: Callable[[Row], str]
    dropped: int = 0


def _time_left(row: Row) -> str:
    if row.state == "running":
        return duration(row.seconds_left)
    return "-" if row.state == "done" else row.state


COLUMNS = (
    _Column("debates", lambda row: f"{row.done:,}/{row.total:,}"),
    _Column("calls", lambda row: short(row.spent.calls.get("asked", 0))),
    _Column("tokens in", lambda row: short(row.spent.input_tokens), dropped=2),
    _Column("out", lambda row: short(row.spent.output_tokens), dropped=1),
    _Column("cost", lambda row: money(row.spent)),
    _Column("rate", lambda row: pace(row) if row.state == "running" else "-", dropped=3),
    _Column("left", _time_left),
)
BAR_DROPPED = 4  # after all optional figures


def draw(shown: Progress, width: int, room: int | None = None) -> RenderableType:
    """Draw an experiment: a table of its cells, and below it what was retried and what failed.

    Debates, calls, cost, and time left (or the state of a cell that does not run) are always shown whole. If the
    terminal is too narrow for whole names, the other columns are left out one by one; names are cut only after that.

    Parameters
    ----------
    shown : Progress
    width : int
        Columns of the terminal.
    room : int or None
        The most rows to show; cells that run or failed come first.
    """
    rows = _chosen(shown.rows, room)
    many = has_many_datasets(shown)
    named = [(name_of(row, many_datasets=many), row, STYLES[row.state]) for row in rows]
    if len(shown.rows) > 1:
        named.append(("all", shown.all, "bold"))
    texts = [[column.text(row) for column in COLUMNS] for _, row, _ in named]
    widths = [max(len(column.head), *(cell_len(line[i]) for line in texts)) + GAP for i, column in enumerate(COLUMNS)]
    names = [name for name, _, _ in named]
    columns, has_bar = _fitting(widths, width - max(map(cell_len, names), default=0))
    space = width - sum(widths[i] for i in columns) - (BAR + GAP if has_bar else 0)

    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, GAP, 0, 0), collapse_padding=True)
    table.add_column(_cut(shown.experiment, space), overflow="fold", max_width=max(space, 1))
    if has_bar:
        table.add_column("", no_wrap=True)
    for i in columns:
        table.add_column(COLUMNS[i].head, justify="right", no_wrap=True)
    for name, (_, row, style), line in zip(_distinct(names, space), named, texts, strict=True):
        bar = [_bar(row)] if has_bar else []
        table.add_row(Text(name), *bar, *(Text(line[i]) for i in columns), style=style)
    return Group(table, *_notes(shown, rows))


def _fitting(widths: Sequence[int], width: int) -> tuple[list[int], bool]:
    """Return the columns that fit beside the name, and whether the bar does."""
    columns, has_bar = list(range(len(COLUMNS))), True
    for step in range(1, BAR_DROPPED + 1):
        if sum(widths[i] for i in columns) + (BAR + GAP) * has_bar <= width:
            break
        has_bar = step != BAR_DROPPED
        columns = [i for i in columns if COLUMNS[i].dropped != step]
    return columns, has_bar


def _distinct(names: Sequence[str], width: int) -> Sequence[str]:
    """Cut names to a width; if two of them would become the same, leave all whole, to be folded into several lines."""
    cut = [_cut(name, width) for name in names]
    return cut if len(set(cut)) == len(set(names)) else names


def _cut(name: str, width: int) -> str:
    """Cut a name in its middle: cells of a grid differ at its end."""
    if cell_len(name) <= width:
        return name
    kept = max(width - 1, 2)
    return f"{name[: kept - kept // 2]}…{name[-(kept // 2) :]}"


def _bar(row: Row) -> ProgressBar:
    return ProgressBar(
        total=max(1, row.total), completed=row.done, width=BAR, complete_style="blue", finished_style="green"
    )


def _notes(shown: Progress, rows: Sequence[Row]) -> list[Text]:
    """What stands below the table: the cells without a row, retries, failed calls."""
    notes = []
    hidden = Counter(row.state for row in shown.rows) - Counter(row.state for row in rows)
    if hidden:
        more = ", ".join(f"{hidden[state]} {state}" for state in ORDER if hidden[state])
        notes.append(Text(f"and {hidden.total()} more cells: {more}", style="dim"))
    if retried := retried_calls(shown.all.spent):
        notes.append(Text(retried, style="dim"))
    if failed := failed_calls(shown):
        notes.append(Text(failed, style="red"))
    return notes


def _chosen(rows: Sequence[Row], room: int | None) -> list[Row]:
    if room is None or len(rows) <= room:
        return list(rows)
    first = sorted(range(len(rows)), key=lambda k: (ORDER.index(rows[k].state), k))[: max(1, room)]
    return [rows[k] for k in sorted(first)]
