"""The report in the terminal: the answer, the numbers and where the page lies, on 80 to 100 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from cortexdsl.numbers import HARD, NOTHING, THIN, estimate, interval
from cortexdsl.report.inputs.beside import Beside, read_beside
from cortexdsl.report.inputs.health import health_line
from cortexdsl.report.inputs.history import History, read_history
from cortexdsl.report.inputs.results import Results, read_results
from cortexdsl.report.inputs.unfinished import left_line, read_unfinished
from cortexdsl.report.stopped import stopped, stopped_text
from cortexdsl.report.tables.findings.whatif import whatif_lines
from cortexdsl.report.tables.work.spending import spent
from cortexdsl.report.words import provenance
from cortexdsl.report.words.evidence import differences_tested
from cortexdsl.report.words.families import families_in_words
from cortexdsl.report.words.losses import losses_line, unread_line
from cortexdsl.report.words.names import grouped
from cortexdsl.report.words.numbers import wording
from cortexdsl.report.words.sentences import answer, short_answer

COLUMNS = 96
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
        Where a needed table is missing or malformed.
    """
    unfinished = stopped(folder)
    if unfinished is not None:
        return stopped_text(folder, unfinished, COLUMNS).replace(THIN, " ").replace(HARD, " ")
    results = read_results(folder)
    history = read_history(folder, results.plan)
    beside = read_beside(folder, results.alpha, results.primary)
    lines = [provenance.title(results.plan), "=" * min(COLUMNS, len(provenance.title(results.plan)))]
    if left := left_line(read_unfinished(folder, results.plan)):
        lines += [*textwrap.wrap(left, COLUMNS), ""]
    for losses in filter(None, (history.notice, losses_line(results), unread_line(folder, results.plan))):
        lines += [*textwrap.wrap(losses, COLUMNS), ""]
    if short := short_answer([answer(row, history.ledger) for row in results.verdicts]):
        lines += [*textwrap.wrap(short, COLUMNS), ""]
    lines += textwrap.wrap(" · ".join(provenance.facts(results)), COLUMNS)
    if notice := provenance.built_in_line(results.plan):
        lines += ["", notice]
    for part in (
        _answers(results, history, is_coloured),
        _numbers(results),
        _differences(results, beside),
        _rounds(results),
    ):
        if paragraph := list(part):
            lines += ["", *paragraph]
    if branched := list(whatif_lines(folder)):
        lines += ["", "What if:"]
        for line in branched:
            lines += textwrap.wrap(line, COLUMNS, initial_indent="  ", subsequent_indent="    ")
    if history.is_known:
        lines += ["", "What was declared, and what changed:"]
        for sentence in history.said:
            lines += textwrap.wrap(sentence, COLUMNS, initial_indent="  ", subsequent_indent="    ")
    if stopping := provenance.stopping_line(results):
        lines += ["", *textwrap.wrap(stopping, COLUMNS)]
    if results.health:
        lines += ["", *textwrap.wrap(health_line(results.health), COLUMNS)]
    if cost := spent(folder, results.plan):
        lines += ["", *textwrap.wrap(" ".join((cost.sentence, *cost.served)), COLUMNS)]
    lines += ["", f"The whole report: {folder / 'report.html'}"]
    return "\n".join(lines).replace(THIN, " ").replace(HARD, " ") + "\n"


def _answers(results: Results, history: History, is_coloured: bool) -> Iterator[str]:
    for row in results.verdicts:
        said = answer(row, history.ledger)
        verdict = said.verdict.upper()
        on, off = (f"\x1b[{_COLOURS.get(said.verdict, '0')}m", "\x1b[0m") if is_coloured else ("", "")
        mark = " (exploratory)" if said.is_exploratory else ""
        yield from textwrap.wrap(f"{said.mark} {said.words}{mark}", COLUMNS, subsequent_indent="  ")
        headline = " ".join(filter(None, [verdict, said.runs]))
        finding = textwrap.wrap(f"{headline}: {said.finding}", COLUMNS - 2)
        yield f"  {on}{verdict}{off}{finding[0].removeprefix(verdict)}"
        yield from (f"  {line}" for line in finding[1:])
        beside = " ".join(filter(None, [said.evidence, said.note]))
        yield from textwrap.wrap(beside, COLUMNS, initial_indent="    ", subsequent_indent="    ")
    if results.verdicts:
        yield from textwrap.wrap(
            provenance.claims_tested_line(results), COLUMNS, initial_indent="  ", subsequent_indent="  "
        )


def _numbers(results: Results) -> Iterator[str]:
    """Accuracy and cost of every cell, on the only dataset or in the mean over all."""
    if not results.datasets:
        return
    dataset = results.datasets[-1]
    known = {row.metric for row in results.metrics}
    metrics = [metric for metric in results.plan.get("metrics") or known if metric in known][:3]
    if results.primary and results.primary not in metrics:
        metrics = [results.primary, *metrics[:2]]
    rows = [["cell", *(wording(metric).noun for metric in metrics)]]
    for one in grouped(results.cells):
        found = [(results.metric(dataset, one.cell, metric), wording(metric).kind) for metric in metrics]
        texts = [
            f"{estimate(row.estimate, kind)} {interval(row.low, row.high, kind)}".strip() if row else NOTHING
            for row, kind in found
        ]
        rows.append([one.cell, *texts])
    where = "mean over datasets" if dataset == "all" else dataset
    yield f"{where.capitalize()}, with 95 % intervals:"
    yield from _aligned(rows)


def _differences(results: Results, beside: Beside) -> Iterator[str]:
    if results.contrasts:
        yield f"Significant differences{' in the mean over datasets' if results.datasets[-1] == 'all' else ''}:"
    for family in families_in_words(results):
        mark = " (exploratory)" if family.is_exploratory else ""
        yield from textwrap.wrap(
            f"{family.name}{mark}: {family.how}", COLUMNS, initial_indent="  ", subsequent_indent="    "
        )
        if family.name in beside.together:
            yield from textwrap.wrap(
                beside.together[family.name], COLUMNS, initial_indent="    ", subsequent_indent="      "
            )
        for noun, found in family.found.items():
            yield from textwrap.wrap(f"{noun}: {found}", COLUMNS, initial_indent="    ", subsequent_indent="      ")
        for note in family.notes:
            yield from textwrap.wrap(note, COLUMNS, initial_indent="    ", subsequent_indent="      ")
    also = [differences_tested({row.correction for row in results.contrasts})] if results.contrasts else []
    also += [beside.bounds] if results.contrasts and beside.bounds else []
    for sentence in also + [ranks.said for ranks in beside.ranks[:1]]:
        yield from textwrap.wrap(sentence, COLUMNS, initial_indent="  ", subsequent_indent="    ")


def _rounds(results: Results) -> Iterator[str]:
    """Consensus by round, of the base methods, where the numbers of the report come from."""
    base = [one.cell for one in grouped(results.cells) if not one.point]
    shown = [row for row in results.rounds if row.dataset in results.datasets[-1:] and row.cell in base]
    agreed = {row.cell for row in shown if row.consensus is not None}  # one voice alone has nobody to agree with
    shown = [row for row in shown if row.cell in agreed]
    last = max((row.round for row in shown), default=0)
    if not last:
        return
    rows = [["consensus after round", *map(str, range(last + 1))]]
    for cell in base:
        course = {row.round: row.consensus for row in shown if row.cell == cell}
        if course:
            rows.append([cell, *(estimate(course.get(number), "share") for number in range(last + 1))])
    yield from _aligned(rows)


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Align a table: names to the left, numbers to the right, the heading underlined."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    room = COLUMNS - sum(widths[1:]) - 2 * len(widths)
    widths[0] = max(12, min(widths[0], room))
    for index, row in enumerate(rows):
        name = row[0] if len(row[0]) <= widths[0] else row[0][: widths[0] - 1] + "…"
        numbers = (text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True))
        yield "  ".join(["  " + name.ljust(widths[0]), *numbers]).rstrip()
        if index == 0:
            yield "  " + "-" * (sum(widths) + 2 * (len(widths) - 1))
