"""The table of how sure agents were, and how often they were right, by where their confidence came from."""

from __future__ import annotations

from pathlib import Path

from cortexdsl.numbers import estimate, number
from cortexdsl.plan.parts.layout import Layout
from cortexdsl.records.links import find_link
from cortexdsl.report.inputs.results import Results
from cortexdsl.report.inputs.rows import Row, read_rows
from cortexdsl.report.tables.talk.debates import rank
from cortexdsl.report.tables.written.table import Column, Entry, Table, words

NAME = "calibration"


def calibration_table(folder: Path, results: Results) -> Table | None:
    """Return the calibration of each cell's confidences, by source; None where nobody said or measured any."""
    rows = [row for row in read_rows(Path(Layout(str(folder)).table(NAME))) if row.whole("stated")]
    if not rows:
        return None
    heads = (
        Column("Cell", ("cell",), is_numeric=False),
        Column("Dataset", ("dataset",), is_numeric=False, is_group=True),
        Column("Confidence", ("confidence",), is_numeric=False),
        Column("Answers with one", ("stated", "answers")),
        Column("Mean", ("mean_confidence",)),
        Column("Right", ("accuracy",)),
        Column("Brier score", ("brier",)),
        Column("ECE", ("ece",)),
    )
    rows.sort(key=lambda row: rank(results.cells, row["cell"]))
    body = tuple(
        (
            *(words(row[name]) for name in ("cell", "dataset", "confidence")),
            Entry(
                f"{number(row.whole('stated'), 1)} of {number(row.whole('answers'), 1)}",
                _counts(row),
                link=find_link(results.experiment, dataset=row["dataset"], cell=row["cell"]),
            ),
            *(
                Entry(estimate(row.number(name), "share"), (row.number(name),))
                for name in ("mean_confidence", "accuracy")
            ),
            *(Entry(number(row.number(name)), (row.number(name),)) for name in ("brier", "ece")),
        )
        for row in rows
    )
    caption = "How sure agents were and how often they were right, over all answers: by where the confidence came from."
    note = (
        "Stated: what the reply says. Logprob, consistency, verifier: what the method measured in its place, before "
        "recalibration. Recalibrated: what the debate used. Brier score and ECE (calibration error): lower is better."
    )
    return Table(NAME, caption, heads, body, note)


def _counts(row: Row) -> tuple[int | None, int | None]:
    return row.whole("stated"), row.whole("answers")
