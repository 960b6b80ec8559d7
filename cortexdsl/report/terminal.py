"""The report in the terminal: the answer, the numbers and the path of the page, as wide as the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from cortexdsl.claims.values import LIKE_THESE
from cortexdsl.numbers import HARD, NOTHING, THIN, estimate, interval
from cortexdsl.report.data import ReportData, read_data
from cortexdsl.report.phrasing import provenance
from cortexdsl.report.phrasing.claims import answer, short_answer
from cortexdsl.report.phrasing.comparisons import (
    TestsOfAllCells,
    differences_tested,
    families_in_words,
    read_tests_of_all_cells,
)
from cortexdsl.report.phrasing.failures import health_line, losses_line, unread_line
from cortexdsl.report.phrasing.ledger import History, read_history
from cortexdsl.report.phrasing.names import group_by_method, wording
from cortexdsl.report.tables.budgets import unmatched_line
from cortexdsl.report.tables.spending import run_cost
from cortexdsl.report.tables.whatif import whatif_lines
from cortexdsl.report.unfinished import left_line, read_unfinished, stopped_run, stopped_text
from cortexdsl.text_layout import aligned, columns, wrapped

_COLOURS = {"supported": "32", "contradicted": "31", "undecided": "33"}


def terminal_report(folder: Path, *, is_coloured: bool = False) -> str:
    """Return a report for the terminal.

    Parameters
    ----------
    folder : Path
        `results/<experiment>`, as for `cortexdsl.report.build.build_report`.
    is_coloured : bool
        Whether verdicts are coloured by escape codes; only for a terminal.

    Raises
    ------
    DataError
        A required table is missing or malformed.
    """
    stopped = stopped_run(folder)
    if stopped is not None:
        text = stopped_text(stopped).replace(THIN, " ").replace(HARD, " ")
        complete = stopped.end.complete if stopped.end else None
        return f"{text}\n{terminal_report(complete, is_coloured=is_coloured)}" if complete else text
    data = read_data(folder)
    history = read_history(folder, data.plan)
    tests = read_tests_of_all_cells(folder, data.alpha, data.primary)
    lines = [provenance.title(data.plan), "=" * min(columns(), len(provenance.title(data.plan)))]
    if left := left_line(read_unfinished(folder, data.plan, data.tallies)):
        lines += [*wrapped(left), ""]
    notices = (history.notice, losses_line(data), unread_line(data), unmatched_line(data))
    for losses in filter(None, notices):
        lines += [*wrapped(losses), ""]
    if short := short_answer([answer(row, history.ledger) for row in data.claims]):
        lines += [*wrapped(short), ""]
    lines += wrapped(" · ".join(provenance.facts(data)))
    if notice := provenance.built_in_line(data.plan):
        lines += ["", notice]
    for part in (
        _answers(data, history, is_coloured),
        _numbers(data),
        _differences(data, tests),
        _rounds(data),
    ):
        if paragraph := list(part):
            lines += ["", *paragraph]
    if branched := list(whatif_lines(folder)):
        lines += ["", "What if:"]
        for line in branched:
            lines += wrapped(line, 2, 4)
    if history.is_known:
        lines += ["", "Declaration, and changes:"]
        for sentence in history.said:
            lines += wrapped(sentence, 2, 4)
    if stopping := provenance.stopping_line(data):
        lines += ["", *wrapped(stopping)]
    if data.health:
        lines += ["", *wrapped(health_line(data.health))]
    if cost := run_cost(folder, data.plan, data.tallies, data.scores):
        lines += ["", *wrapped(" ".join((cost.sentence, *cost.served)))]
    lines += ["", f"The whole report: {folder / 'report.html'}"]
    return "\n".join(lines).replace(THIN, " ").replace(HARD, " ") + "\n"


def _answers(data: ReportData, history: History, is_coloured: bool) -> Iterator[str]:
    for row in data.claims:
        said = answer(row, history.ledger)
        verdict = said.verdict.upper()
        on, off = (f"\x1b[{_COLOURS.get(said.verdict, '0')}m", "\x1b[0m") if is_coloured else ("", "")
        mark = " (exploratory)" if said.is_exploratory else ""
        yield from wrapped(f"{said.mark} {said.words}{mark}", 0, 2)
        headline = " ".join(filter(None, [verdict, said.runs]))
        finding = wrapped(f"{headline}: {said.finding}", 2)
        yield f"  {on}{verdict}{off}{finding[0].strip().removeprefix(verdict)}"
        yield from finding[1:]
        remarks = " ".join(filter(None, [said.evidence, said.note]))
        yield from wrapped(remarks, 4, 4)
    if data.claims:
        yield from wrapped(provenance.claims_tested_line(data), 2, 2)


def _numbers(data: ReportData) -> Iterator[str]:
    """Accuracy and cost of every cell, on the only dataset or in the mean over all."""
    if not data.datasets:
        return
    dataset = data.datasets[-1]
    known = {row.metric for row in data.metrics}
    metrics = [metric for metric in data.plan.get("metrics") or known if metric in known][:3]
    if data.primary and data.primary not in metrics:
        metrics = [data.primary, *metrics[:2]]
    rows = [["cell", *(wording(metric).noun for metric in metrics)]]
    for one in group_by_method(data.cells):
        found = [(data.metric(dataset, one.cell, metric), wording(metric).kind) for metric in metrics]
        texts = [
            f"{estimate(row.estimate, kind)} {interval(row.ci_low, row.ci_high, kind)}".strip() if row else NOTHING
            for row, kind in found
        ]
        rows.append([one.cell, *texts])
    where = "mean over datasets" if dataset == "all" else dataset
    yield f"{where.capitalize()}, with 95 % intervals about {LIKE_THESE}:"
    while len(rows[0]) > 2 and any("…" in line for line in aligned(rows, indent=2)):  # names matter more
        rows = [row[:-1] for row in rows]
    yield from _ruled(rows)


def _differences(data: ReportData, tests: TestsOfAllCells) -> Iterator[str]:
    if data.comparisons:
        yield f"Significant differences{' in the mean over datasets' if data.datasets[-1] == 'all' else ''}:"
    for family in families_in_words(data):
        mark = " (exploratory)" if family.is_exploratory else ""
        yield from wrapped(f"{family.name}{mark}: {family.how}", 2, 4)
        if family.name in tests.together:
            yield from wrapped(tests.together[family.name], 4, 6)
        for noun, found in family.found.items():
            yield from wrapped(f"{noun}: {found}", 4, 6)
        for note in family.notes:
            yield from wrapped(note, 4, 6)
    corrections = {row.correction for row in data.comparisons}
    also = [differences_tested(corrections, after_claims=bool(data.claims))] if data.comparisons else []
    also += [tests.bounds] if data.comparisons and tests.bounds else []
    for sentence in also + [ranks.sentence for ranks in tests.ranks[:1]]:
        yield from wrapped(sentence, 2, 4)


def _rounds(data: ReportData) -> Iterator[str]:
    """Consensus by round, of the base methods, where the numbers of the report come from."""
    base = [one.cell for one in group_by_method(data.cells) if not one.point]
    shown = [row for row in data.rounds if row.dataset in data.datasets[-1:] and row.cell in base]
    agreed = {row.cell for row in shown if row.consensus is not None}  # a single agent has no other to agree with
    shown = [row for row in shown if row.cell in agreed]
    last = max((row.round for row in shown), default=0)
    if not last:
        return
    rows = [["consensus after round", *map(str, range(last + 1))]]
    for cell in base:
        course = {row.round: row.consensus for row in shown if row.cell == cell}
        if course:
            rows.append([cell, *(estimate(course.get(number), "share") for number in range(last + 1))])
    yield from _ruled(rows)


def _ruled(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table, with the head underlined."""
    head, *lines = aligned(rows, indent=2)
    yield from (head, "  " + "-" * (max(map(len, (head, *lines))) - 2), *lines)
