"""Progress as a table: one row a cell, as many as there is room for, and their sum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from cortexdsl.watch.progress import Progress, Row
from cortexdsl.watch.words import duration, has_many_datasets, money, name_of, pace, short, trouble

ORDER = ("running", "failed", "stopped", "silent", "waiting", "done")
STYLES = {"running": "", "failed": "red", "stopped": "yellow", "silent": "yellow", "waiting": "dim", "done": "green"}
BAR = 12


def table(shown: Progress, room: int | None = None) -> Table:
    """Draw the rows of an experiment; where they are more than there is room for, those that run or failed first.

    Parameters
    ----------
    shown : Progress
    room : int or None
        Rows at most.
    """
    drawn = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 1))
    for head, justify in (
        (shown.experiment, "left"), ("", "left"), ("debates", "right"), ("calls", "right"), ("tokens in", "right"),
        ("out", "right"), ("cost", "right"), ("rate", "right"), ("left", "right"), ("", "left"),
    ):  # fmt: skip
        drawn.add_column(head, justify=justify, no_wrap=True, overflow="ellipsis")  # type: ignore[arg-type]
    rows = _chosen(shown.rows, room)
    many = has_many_datasets(shown)
    for row in rows:
        drawn.add_row(*_cells(row, name_of(row, many_datasets=many)), style=STYLES[row.state])
    hidden = Counter(row.state for row in shown.rows) - Counter(row.state for row in rows)
    if hidden:
        more = ", ".join(f"{hidden[state]} {state}" for state in ORDER if hidden[state])
        drawn.add_row(Text(f"and {hidden.total()} more: {more}", style="dim"))
    if len(shown.rows) > 1:
        drawn.add_row(*_cells(shown.all, "all"), style="bold")
    return drawn


def _chosen(rows: Sequence[Row], room: int | None) -> list[Row]:
    if room is None or len(rows) <= room:
        return list(rows)
    first = sorted(range(len(rows)), key=lambda k: (ORDER.index(rows[k].state), k))[: max(1, room)]
    return [rows[k] for k in sorted(first)]


def _cells(row: Row, name: str) -> list[Text | ProgressBar]:
    spent = row.spent
    wrong = trouble(spent)
    state = row.state if row.state in ("failed", "stopped", "silent") else ""
    return [
        Text(name),
        ProgressBar(total=max(1, row.total), completed=row.done, width=BAR),
        Text(f"{row.done:,}/{row.total:,}"),
        Text(short(spent.calls.get("asked", 0))),
        Text(short(spent.input_tokens)),
        Text(short(spent.output_tokens)),
        Text(money(spent)),
        Text(pace(row) if row.state == "running" else "-"),
        Text(duration(row.seconds_left) if row.state == "running" else row.state if row.state == "waiting" else "-"),
        Text(" ".join(part for part in (state, wrong) if part), style="red" if wrong or state == "failed" else ""),
    ]
