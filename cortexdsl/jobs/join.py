"""The tables of all cells, from each cell's part, which a `score` job has written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from cortexdsl.checksums import write_lines
from cortexdsl.metrics.estimates import round_table
from cortexdsl.metrics.scores import Row, check_complete, read_rows, write_rows
from cortexdsl.plan.job_files import table_parts
from cortexdsl.plan.layout import TABLES
from cortexdsl.plan.persistence.store import AnyPlan, batches_by_cell, batches_run
from cortexdsl.plan.persistence.verification import check_files


def join(plan: AnyPlan) -> list[str]:
    """Join the parts of every table, after checking that none was edited and that each score is there once.

    Returns
    -------
    list of str
        The files that were written; the caller adds them to the manifest.

    Raises
    ------
    DataError
        A part was edited.
    RecordError
        Scores are missing, double or not of the plan.
    """
    check_files(plan.layout, [part for table in TABLES for part in table_parts(plan, table)])
    for table in TABLES:
        parts = [Path(path) for path in table_parts(plan, table)]
        rows = [row for part in parts for row in read_rows(part)]
        target = Path(plan.layout.table(table))
        if table == "rounds":
            round_table(rows, seed=plan.seed).to_csv(target, index=False)
            continue
        if table == "scores":
            check_cells(plan, rows, batches_by_cell(plan, batches_run(plan) or plan.batches))
        if rows:
            write_rows(target, rows)
        else:  # no row, for example no persuasion if no agent hears another: only the header
            write_lines(target, parts[0].read_text(encoding="utf-8").splitlines())
    return [plan.layout.table(table) for table in TABLES]


def check_cells(plan: AnyPlan, rows: Sequence[Row], batches: Mapping[str, int]) -> None:
    """Check that every cell has the rows of its debated batches, and no others.

    Raises
    ------
    RecordError
        Rows are missing, double or not of the plan.
    """
    names = {cell.name: batches[cell.slug] for cell in plan.cells if cell.slug in batches}
    for batch in sorted(set(names.values())):
        cells = [name for name, last in names.items() if last == batch]
        mine = [row for row in rows if row["cell"] in cells or row["cell"] not in names]
        check_complete(mine, cells, plan.replicates, plan.question_ids(batch))
