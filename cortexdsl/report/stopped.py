"""The report of a run that stopped before its end: what is done, why it stopped, what was not done, what it cost."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cortexdsl.errors import CortexError
from cortexdsl.plan.kept.store import read_plan
from cortexdsl.plan.parts.layout import Layout
from cortexdsl.report.inputs.unfinished import Unfinished, read_unfinished
from cortexdsl.report.page.templates import style, template
from cortexdsl.report.tables.work.spending import spent
from cortexdsl.report.tables.written.table import Column, Entry, Table, words
from cortexdsl.report.words import provenance


def last_words(experiment: str) -> str:
    """Return what a run that did not finish says of an experiment at its end; nothing if all its debates are done.

    Writes `stopped.html` if there is no report of an earlier run that says the same.
    """
    folder = Path(Layout(f"results/{experiment}").root)
    try:
        unfinished = stopped(folder)
        page = stopped_page(folder, unfinished) if unfinished else None
    except (CortexError, OSError):  # a full disk, a plan of a later version: the failed jobs have said so
        return ""
    return f"{experiment}: {unfinished.sentence}\nwhat is there so far: {page}" if unfinished else ""


def stopped(folder: Path) -> Unfinished | None:
    """Return what a run has left undone where its tables were never made; None where a whole report can be.

    Raises
    ------
    RecordError
        The plan cannot be read.
    """
    layout = Layout(folder.as_posix())
    if Path(layout.metrics).exists() or not Path(layout.plan).exists():
        return None
    return read_unfinished(folder, read_plan(Path(layout.plan)))


def stopped_page(folder: Path, unfinished: Unfinished) -> Path:
    """Write stopped.html, which is removed when the report is made; the report's own path belongs to its rule."""
    plan = read_plan(Path(Layout(folder.as_posix()).plan))
    cost = spent(folder, plan)
    tables = [_left(unfinished), *([cost.table, cost.attempts] if cost else [])]
    text = template("stopped.html.j2").render(
        title=provenance.title(plan),
        experiment=plan["experiment"],
        unfinished=unfinished,
        tables=[table for table in tables if table is not None],
        spent=cost,
        style=style(),
    )
    target = Path(Layout(folder.as_posix()).stopped)
    target.write_text(text, encoding="utf-8")
    return target


def stopped_text(folder: Path, unfinished: Unfinished, columns: int) -> str:
    """Return the report for the terminal."""
    plan: Mapping[str, Any] = read_plan(Path(Layout(folder.as_posix()).plan))
    lines = [provenance.title(plan), "", *textwrap.wrap(unfinished.sentence, columns)]
    if cost := spent(folder, plan):
        lines += ["", *textwrap.wrap(cost.sentence, columns)]
    return "\n".join(lines) + "\n"


def _left(unfinished: Unfinished) -> Table:
    heads = (
        Column("Cell", ("cell",), is_numeric=False),
        Column("Debates done", ("done",)),
        Column("Not done", ("left",)),
    )
    rows = tuple(
        (words(name), Entry(f"{done:,}", (done,)), Entry(f"{total - done:,}", (total - done,)))
        for name, done, total in unfinished.cells
    )
    return Table("unfinished", "What was not done.", heads, rows)
