"""Rule `score`: grade the debates of one cell on one dataset; its part of every table.

Reads the debates, the looks if questions are asked in batches, and the judgements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from cortexdsl.checksums import write_lines
from cortexdsl.core import EMPTY, Method
from cortexdsl.core.metrics import GRADED, OF_KINDS
from cortexdsl.engine.interim import decide_after
from cortexdsl.engine.readings import with_own_answers
from cortexdsl.jobs.arguments import JobVerb
from cortexdsl.jobs.costs import debate_costs
from cortexdsl.metrics.labels import label_columns, read_labels
from cortexdsl.metrics.pairs import pair_columns
from cortexdsl.metrics.registry import asked_measures
from cortexdsl.metrics.scores import (
    DecidedIn,
    Row,
    answer_rows,
    check_complete,
    read_rows,
    round_rows,
    score_rows,
    write_rows,
    write_scores,
)
from cortexdsl.metrics.tables import debate_tables
from cortexdsl.metrics.view import DecidedAfter, Grade, grade_together, view_debate
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.job_files import debate_files, table_parts
from cortexdsl.plan.layout import PARTS, TABLES
from cortexdsl.plan.parts import JUDGED
from cortexdsl.plan.persistence.fits import fitted_methods
from cortexdsl.plan.persistence.recording import record_files
from cortexdsl.plan.persistence.store import AnyPlan, batches_run
from cortexdsl.plan.persistence.verification import check_files
from cortexdsl.records import Record, read_all
from cortexdsl.stats.tables.score_table import AFTER
from cortexdsl.tasks.grading.instructions import instruction_columns
from cortexdsl.tasks.grading.tolerance import errors
from cortexdsl.tasks.judging import Judgements, text_grades
from cortexdsl.tasks.reading.kinds import OPEN
from cortexdsl.tasks.task import Task


def score_cell(plan: Plan, dataset: str, slug: str) -> None:
    """Grade the debates of a cell and write its part of every table."""
    task = plan.task(dataset)
    paths = debate_files(plan, dataset, slug, batches_run(plan))
    records = read_all(paths)
    grade = grade_together(records, task.grade_all)

    def part(table: str) -> Path:
        path = Path(plan.layout.part(table, dataset, slug))
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    judgements = Path(plan.layout.judgements(dataset, slug))
    judged = {JUDGED: Judgements(judgements)} if plan.is_judged(dataset) else {}
    rows = cell_scores(plan, dataset, slug, records, grade, judged)
    if plan.labelling is not None:
        labelled = read_labels(Path(plan.layout.part("labels", dataset, slug)))
        for row, more in zip(rows, label_columns(records, labelled, plan.labelling.labels), strict=True):
            row.update(more)
    write_scores(part("scores"), rows)
    write_rows(
        part("rounds"),
        round_rows(records, grade, task.clusters, decided_by(fitted_methods(plan, plan.cell(slug).debate), plan.seed)),
    )
    write_rows(part("answers"), answer_rows(records, grade))
    for table, frame in debate_tables(records, grade).items():
        frame.to_csv(part(table), index=False)
    record_files(plan.layout, map(part, PARTS))


JOB = JobVerb("--dataset --cell", lambda plan, args: score_cell(plan, args.dataset, args.cell))


_OF_ANSWERS: Mapping[str, Callable[[str | None, Sequence[str]], Mapping[str, float | None]]] = {
    "number": errors,
    "instructions": instruction_columns,
}
"""Further columns of an answer, by the kind of answers."""


def cell_scores(
    plan: Plan, dataset: str, slug: str, records: Sequence[Record], grade: Grade, judged: Mapping[str, Grade] = EMPTY
) -> list[Row]:
    """Return the rows of some debates of a cell in the table of scores, with `em` and `f1` for short texts."""
    cell, task = plan.cell(slug), plan.task(dataset)
    labels = {"cluster": task.clusters, "group": {question.id: task.group(question.id) for question in task.questions}}
    rows = score_rows(
        records, grade, methods={cell.name: cell.method}, also={**text_grades(task), **judged}, labels=labels,
        asked=plan.named_metrics, costs=debate_costs(plan, dataset, cell, records, plan.named_metrics),
        decided=decided_by(fitted_methods(plan, plan.cell(slug).debate), plan.seed),
    )  # fmt: skip
    if task.kind in _OF_ANSWERS and any(OF_KINDS.get(name) == task.kind for name in plan.named_metrics):
        for row, record in zip(rows, records, strict=True):
            row.update(_OF_ANSWERS[task.kind](record.debate.answer, task.gold(record.debate.question_id)))
    if task.kind == "pair":
        for row, columns in zip(rows, pair_columns(records, task), strict=True):
            row.update(columns)
    if task.kind == "code":
        grade_samples(plan, task, records, rows, grade)
    if task.kind == OPEN:
        return [{column: None if _is_graded(column) else value for column, value in row.items()} for row in rows]
    return rows


def _is_graded(column: str) -> bool:
    return column.partition(AFTER)[0] in GRADED or column.startswith(("pass_", "majority_at"))


def grade_samples(plan: Plan, task: Task, records: Sequence[Record], rows: Sequence[Row], grade: Grade) -> None:
    """Compute pass@k and pass^k of programs by the tests of each sample, as the authors of the metrics do."""
    measures = {name: each for name, each in asked_measures(plan.named_metrics).items() if name.startswith("pass_")}
    for row, record in zip(rows, records, strict=True):
        reader = task.reader(task.item(record.debate.question_id).question)
        view = view_debate(with_own_answers(record.debate, reader), grade)
        row.update({name: measure(view) for name, measure in measures.items()})


def decided_by(method_of: Callable[[int], Method], seed: int) -> DecidedIn:
    """Return a function from a record and a round to the decision that its replicate's method would have made."""

    def decided(record: Record) -> DecidedAfter:
        replicate = record.header.replicate
        return lambda round_: decide_after(method_of(replicate), record.debate, round_, seed=seed, replicate=replicate)

    return decided


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
    from cortexdsl.metrics.estimates import round_table  # late: the scores of a cell need no statistics

    check_files(plan.layout, [part for table in TABLES for part in table_parts(plan, table)])
    for table in TABLES:
        parts = [Path(path) for path in table_parts(plan, table)]
        rows = [row for part in parts for row in read_rows(part)]
        target = Path(plan.layout.table(table))
        if table == "rounds":
            round_table(rows).to_csv(target, index=False)
            continue
        if table == "scores":
            check_cells(plan, rows, batches_run(plan))
        if rows:
            write_rows(target, rows)
        else:  # no row, for example no persuasion if no agent hears another: only the header
            write_lines(target, parts[0].read_text(encoding="utf-8").splitlines())
    return [plan.layout.table(table) for table in TABLES]


def check_cells(plan: AnyPlan, rows: Sequence[Row], batches: int | None) -> None:
    """Check that every cell has the rows of the first batches, or of all if None, and no others.

    Raises
    ------
    RecordError
        Rows are missing, double or not of the plan.
    """
    check_complete(rows, [cell.name for cell in plan.cells], plan.replicates, plan.question_ids(batches))
