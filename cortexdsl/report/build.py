"""Writes a report: the page, its figures as SVG, PDF and PNG, its tables as CSV, Markdown and LaTeX."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from cortexdsl.files import write_text
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.recording import record_pages
from cortexdsl.plan.persistence.run_record import keep_complete
from cortexdsl.report.data import ReportData, read_data
from cortexdsl.report.figures.budgets import cost_figure
from cortexdsl.report.figures.curves import rounds_figure
from cortexdsl.report.figures.dots import accuracy_figure, differences_figure
from cortexdsl.report.figures.drawing import Drawing
from cortexdsl.report.figures.headroom import course_figure
from cortexdsl.report.figures.reliability import confidence_figure
from cortexdsl.report.page import VIEW, report_page, view_page
from cortexdsl.report.phrasing.failures import unread_line
from cortexdsl.report.phrasing.ledger import read_history
from cortexdsl.report.phrasing.provenance import versions
from cortexdsl.report.published import published_table
from cortexdsl.report.tables.budgets import match_table
from cortexdsl.report.tables.debates import agent_table, health_table, round_table
from cortexdsl.report.tables.files import save_table
from cortexdsl.report.tables.fits import fit_table
from cortexdsl.report.tables.labels import label_table
from cortexdsl.report.tables.results import (
    claim_table,
    family_tables,
    metric_tables,
)
from cortexdsl.report.tables.spending import run_cost
from cortexdsl.report.tables.table import Table
from cortexdsl.report.tables.tournament import tournament_tables
from cortexdsl.report.tables.training import learning_table
from cortexdsl.report.tables.whatif import whatif_tables
from cortexdsl.report.unfinished import read_unfinished, stopped_page, stopped_run
from cortexdsl.symlinks import refuse_symlinks
from cortexdsl.worker.process import end_with_parent

T = TypeVar("T")


def build_report(
    folder: Path, provenance: Mapping[str, str] | None = None, *, has_figures: bool = True, threads: int = 1
) -> Path:
    """Write report.html, view.html, figures/ and tables/ of an experiment; of a run that stopped, stopped.html alone.

    The same tables and provenance give the same bytes.

    Parameters
    ----------
    folder : Path
        `results/<experiment>`, with plan.json and the tables of the analysis.
    provenance : mapping of name to version, optional
        What the page names as having produced the results; the installed versions by default.
    has_figures : bool
        Drawing takes most of the time that a report takes.
    threads : int
        Figures that are drawn at once.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    DataError
        A required table is missing or malformed.
    RecordError
        A link in the folder leads out of it.
    """
    refuse_symlinks(folder)
    stopped = stopped_run(folder)
    if stopped is not None and not stopped.lacks_only_report:
        return stopped_page(stopped)
    data = read_data(folder)
    figures = _figures(data, threads) if has_figures else []
    cost = run_cost(folder, data.plan, data.tallies, data.scores)
    tables = _tables(folder, data)
    for drawing in figures:
        drawing.save(folder / "figures")
    for table in (*tables, *([cost.table] if cost else ())):
        save_table(table, folder / "tables")
    target = folder / "report.html"
    text = report_page(
        data,
        figures,
        tables,
        versions() if provenance is None else provenance,
        read_history(folder, data.plan),
        cost,
        None if stopped else read_unfinished(folder, data.plan, data.tallies),
        unread_line(data),
    )
    write_text(folder / VIEW, view_page(data.plan), durable=False)
    write_text(target, text)
    layout = Layout(folder.as_posix())
    Path(layout.stopped).unlink(missing_ok=True)
    record_pages(layout)
    keep_complete(layout)
    return target


def _tables(folder: Path, data: ReportData) -> list[Table]:
    """Return every table for which there is something to show."""
    makers = (metric_tables, family_tables, claim_table, round_table, agent_table, health_table)
    some = [table for make in makers for table in make(data)]
    maybe = (
        published_table(data), learning_table(folder, data.plan), match_table(data), fit_table(data.plan),
        label_table(folder),
    )  # fmt: skip
    return [*some, *filter(None, maybe), *whatif_tables(folder), *tournament_tables(folder)]


def _figures(data: ReportData, threads: int) -> list[Drawing]:
    of_data = (accuracy_figure, cost_figure, course_figure, differences_figure, rounds_figure, confidence_figure)
    makers: list[Callable[[], Drawing | None]] = [partial(draw, data) for draw in of_data]
    return [drawing for drawing in in_forks(makers, threads) if drawing is not None]


def in_forks(makers: Sequence[Callable[[], T]], threads: int) -> list[T]:
    """Return what each of some functions returns, in order, with up to `threads` of them at work at once.

    Each works in a fork of this process, which has the data and the drawing library already. Results are sent back
    pickled; arguments are not. The forks end with this process, also if it is killed, and at Ctrl-C without a word.

    Raises
    ------
    Exception
        Of the first function that fails.
    """
    if threads < 2 or len(makers) < 2 or "fork" not in multiprocessing.get_all_start_methods():
        return [make() for make in makers]
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(min(threads, len(makers)), context, _begin, (makers, os.getpid())) as pool:
        return list(pool.map(_made, range(len(makers))))


_makers: Sequence[Callable[[], object]] = ()


def _begin(makers: Sequence[Callable[[], object]], parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    end_with_parent(parent)
    global _makers  # noqa: PLW0603 (each fork has its own: it gets them when it begins, and numbers after that)
    _makers = makers


def _made(number: int) -> Any:
    return _makers[number]()
