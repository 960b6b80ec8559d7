"""Writes a report: the page, its figures as SVG, PDF and PNG, its tables as CSV, Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from cortexdsl.analysis.metrics.tables.levels import Level
from cortexdsl.plan.parts.layout import Layout
from cortexdsl.report.figures.curves import cost_figure, rounds_figure
from cortexdsl.report.figures.dotplots import accuracy_figure, differences_figure
from cortexdsl.report.figures.drawing import Drawing
from cortexdsl.report.figures.forks import in_forks
from cortexdsl.report.figures.grids import grid_figure
from cortexdsl.report.figures.learning import learning_figure
from cortexdsl.report.figures.rankings import ranks_figure
from cortexdsl.report.figures.reliability import confidence_figure
from cortexdsl.report.inputs.beside import Beside, read_beside
from cortexdsl.report.inputs.grid import read_levels
from cortexdsl.report.inputs.history import read_history
from cortexdsl.report.inputs.learned import Learned, read_learned
from cortexdsl.report.inputs.results import Results, read_results
from cortexdsl.report.inputs.unfinished import read_unfinished
from cortexdsl.report.page.page import VIEW, page, view_page
from cortexdsl.report.stopped import stopped, stopped_page
from cortexdsl.report.tables.findings.agreement import agreement_table
from cortexdsl.report.tables.findings.beside import published_table
from cortexdsl.report.tables.findings.grid import grid_table
from cortexdsl.report.tables.findings.whatif import whatif_tables
from cortexdsl.report.tables.summaries import tables
from cortexdsl.report.tables.talk.calibration import calibration_table
from cortexdsl.report.tables.talk.persuasion import persuasion_table
from cortexdsl.report.tables.work.kept import kept_table
from cortexdsl.report.tables.work.learning import learning_table
from cortexdsl.report.tables.work.spending import spent
from cortexdsl.report.tables.written.files import save_table
from cortexdsl.report.tables.written.linked import linked
from cortexdsl.report.words.losses import unread_line
from cortexdsl.report.words.provenance import versions


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
        What is named as having produced the results; the installed versions by default.
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
        Where a needed table is missing or malformed.
    """
    unfinished = stopped(folder)
    if unfinished is not None:
        return stopped_page(folder, unfinished)
    results = read_results(folder)
    beside = read_beside(folder, results.alpha, results.primary)
    levels = read_levels(folder, results)
    learned = read_learned(folder, results.plan)
    figures = _figures(results, beside, levels, learned, threads) if has_figures else []
    judged = agreement_table(folder)
    cost = spent(folder, results.plan)
    axes = grid_table(results, levels)
    persuaded = persuasion_table(folder, results)
    others = (
        judged, axes, published_table(results), persuaded, calibration_table(folder, results), learning_table(learned),
    )  # fmt: skip
    apart = (table for table in others if table is not None)
    name, cells = results.experiment, frozenset(results.cells)
    shown = [linked(table, name, cells) for table in (*tables(results), *apart)]
    shown += [linked(table, name, cells, only=("whole",)) for table in whatif_tables(folder)]
    shown += [table for table in [kept_table(folder, results.plan)] if table is not None]
    for drawing in figures:
        drawing.save(folder / "figures")
    for table in (*shown, *(cost.tables if cost else ())):
        save_table(table, folder / "tables")
    target = folder / "report.html"
    made_by = versions() if provenance is None else provenance
    text = page(
        results,
        beside,
        figures,
        shown,
        made_by,
        read_history(folder, results.plan),
        cost,
        read_unfinished(folder, results.plan),
        unread_line(folder, results.plan),
    )
    target.write_text(text, encoding="utf-8")
    (folder / VIEW).write_text(view_page(results.plan), encoding="utf-8")
    Path(Layout(folder.as_posix()).stopped).unlink(missing_ok=True)
    return target


def _figures(
    results: Results, beside: Beside, levels: Sequence[Level], learned: Sequence[Learned], threads: int
) -> list[Drawing]:
    of_results = (accuracy_figure, cost_figure, differences_figure, rounds_figure, confidence_figure)
    makers: list[Callable[[], Drawing | None]] = [
        *(partial(draw, results) for draw in of_results), partial(grid_figure, results, levels),
        partial(ranks_figure, beside.ranks), partial(learning_figure, learned),
    ]  # fmt: skip
    return [drawing for drawing in in_forks(makers, threads) if drawing is not None]
