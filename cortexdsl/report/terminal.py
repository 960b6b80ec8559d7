"""The report in the terminal: the answer, the numbers and the path of the page, as wide as the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from cortexdsl.claims.values import LIKE_THESE
from cortexdsl.numbers import HARD, NOTHING, THIN, estimate, interval
from cortexdsl.report.data import ReportData, read_data
from cortexdsl.report.phrasing import provenance
from cortexdsl.report.phrasing.citations import data_in_words
from cortexdsl.report.phrasing.claims import Answer, answer, with_shared_notes
from cortexdsl.report.phrasing.comparisons import (
    comparison_notes,
    families_in_words,
)
from cortexdsl.report.phrasing.failures import health_line, losses_line, unread_line
from cortexdsl.report.phrasing.ledger import read_history
from cortexdsl.report.phrasing.names import group_by_method, wording
from cortexdsl.report.tables.budgets import unmatched_line
from cortexdsl.report.tables.fits import fit_lines
from cortexdsl.report.tables.spending import run_cost
from cortexdsl.report.tables.tournament import main_judge, strengths
from cortexdsl.report.tables.whatif import whatif_lines
from cortexdsl.report.unfinished import left_line, read_unfinished, stopped_run, stopped_text
from cortexdsl.text_layout import aligned, columns, wrapped

_PERCENT = f"{THIN}%"
_COLOURS = {"supported": "32", "contradicted": "31", "undecided": "33"}


def terminal_report(folder: Path, *, is_coloured: bool = False, has_how: bool = False) -> str:
    """Return a report for the terminal.

    Parameters
    ----------
    folder : Path
        `results/<experiment>`, as for `cortexdsl.report.build.build_report`.
    is_coloured : bool
        Whether verdicts are coloured by escape codes; only for a terminal.
    has_how : bool
        Whether it ends with the tests, the meaning of intervals and p, and everything that was declared.

    Raises
    ------
    DataError
        A required table is missing or malformed.
    """
    stopped = stopped_run(folder)
    if stopped is not None:
        text = stopped_text(stopped).replace(THIN, " ").replace(HARD, " ")
        complete = stopped.end.complete if stopped.end else None
        more = terminal_report(complete, is_coloured=is_coloured, has_how=has_how) if complete else ""
        return f"{text}\n{more}" if more else text
    data = read_data(folder)
    history = read_history(folder, data.plan)
    answers = [answer(row, history.journal) for row in data.claims]
    cost = run_cost(folder, data.plan, data.tallies, data.scores)
    left = left_line(read_unfinished(folder, data.plan, data.tallies))
    lines = [provenance.title(data.plan), "=" * min(columns(), len(provenance.title(data.plan)))]
    for paragraph in (
        *(
            wrapped(notice)
            for notice in (left, history.notice, losses_line(data), unread_line(data), unmatched_line(data))
        ),
        claim_lines(answers, is_coloured=is_coloured),
        wrapped(provenance.stopping_line(data)),
        wrapped(" · ".join(fact.replace(" ", "\xa0") for fact in provenance.facts(data))),
        wrapped(provenance.built_in_line(data.plan)),
        _tournament(folder),
        _numbers(data),
        _differences(data),
        _list("Fitted on other questions, at a cost that no cell counts:", fit_lines(data.plan)),
        _list("What if, and what each part that is left out adds:", whatif_lines(folder)),
        wrapped(history.unchanged) if history.unchanged and not has_how else _list("Declared:", history.said),
        _list("How this was tested:", provenance.how_tested(data, answers)) if has_how else (),
        _list("Data:", (f"{label}: {text}" for label, text in data_in_words(data.plan))) if has_how else (),
        wrapped(health_line(data.health) if data.health else ""),
        wrapped(" ".join((cost.sentence, *cost.seeds)) if cost else ""),
        [f"{'' if has_how else 'How this was tested: --how. '}The whole report: {folder / 'report.html'}"],
    ):
        if some := list(paragraph):
            lines += [*some, ""]
    return "\n".join(lines[:-1]).replace(THIN, " ").replace(HARD, " ") + "\n"


def _list(title: str, sentences: Iterable[str]) -> Iterator[str]:
    """Yield the lines of some sentences below their title; nothing if there are none."""
    for number, sentence in enumerate(sentences):
        yield from [] if number else [title]
        yield from wrapped(sentence, 2, 4)


def claim_lines(answers: Sequence[Answer], *, is_coloured: bool = False) -> Iterator[str]:
    """Yield the lines of all claims, numbered if there are several, and below them the notes that some share."""
    own, shared = with_shared_notes(answers)
    for number, said in enumerate(own, 1):
        yield from answer_lines(said, f"{number}. " if len(own) > 1 else "", is_coloured=is_coloured)
    for note in shared:
        yield from wrapped(note.replace(THIN, " ").replace(HARD, " "), 0, 2)


def answer_lines(said: Answer, number: str = "", *, is_coloured: bool = False) -> Iterator[str]:
    """Yield the lines of a claim: its sentence, verdict, estimate and remarks."""
    verdict = said.verdict.upper()
    on, off = (f"\x1b[{_COLOURS.get(said.verdict, '0')}m", "\x1b[0m") if is_coloured else ("", "")
    mark = " (exploratory)" if said.is_exploratory else ""
    yield from wrapped(f"{said.mark} {number}{said.words}{mark}", 0, 2)
    headline = " ".join(filter(None, [verdict, said.runs]))
    first, *rest = wrapped(f"{headline}: {said.finding}", 2)
    lines = (f"  {on}{verdict}{off}{first.strip().removeprefix(verdict)}", *rest, *wrapped(said.remarks, 4, 4))
    yield from (line.replace(THIN, " ").replace(HARD, " ") for line in lines)


def _numbers(data: ReportData) -> Iterator[str]:
    """Accuracy and cost of every cell, on the only dataset or in the mean over all."""
    if not data.datasets:
        return
    dataset = data.datasets[-1]
    known = {row.metric for row in data.metrics}
    metrics = [metric for metric in data.plan.metrics or known if metric in known][:3]
    if data.primary and data.primary not in metrics:
        metrics = [data.primary, *metrics[:2]]
    units = {metric: " (%)" if wording(metric).kind == "share" else "" for metric in metrics}
    rows = [["cell", *(f"{wording(metric).noun}{unit}" for metric, unit in units.items())]]
    for one in group_by_method(data.cells):
        found = [(data.metric(dataset, one.cell, metric), wording(metric).kind) for metric in metrics]
        texts = [
            f"{estimate(row.estimate, kind).removesuffix(_PERCENT)} {interval(row.ci_low, row.ci_high, kind)}".strip()
            if row
            else NOTHING
            for row, kind in found
        ]
        rows.append([one.cell, *texts])
    where = "mean over datasets" if dataset == "all" else dataset
    yield f"{where.capitalize()}, with 95 % intervals about {LIKE_THESE}:"
    while len(rows[0]) > 2 and any("…" in line or len(line) > columns() for line in aligned(rows, indent=2)):
        rows = [row[:-1] for row in rows]  # names matter more
    yield from _ruled(rows)


def _differences(data: ReportData) -> Iterator[str]:
    if data.comparisons:
        yield f"Significant differences{' in the mean over datasets' if data.datasets[-1] == 'all' else ''}:"
    for family in families_in_words(data):
        mark = " (exploratory)" if family.is_exploratory else ""
        yield from wrapped(f"{family.name}{mark}: {family.how}", 2, 4)
        for noun, found in family.found.items():
            yield from wrapped(f"{noun}: {found}", 4, 6)
    for sentence in comparison_notes(data.comparisons):
        yield from wrapped(sentence, 2, 4)


def _tournament(folder: Path) -> Iterator[str]:
    """Yield the ranking of the cells by all ballots of a tournament."""
    rows = strengths(folder)
    for dataset in dict.fromkeys(row.dataset for row in rows):
        own = [row for row in rows if row.dataset == dataset and row.judge == main_judge(rows)]
        yield f"Tournament on {dataset} (cells with a letter in common cannot be told apart):"
        strong = (f"{estimate(row.strength, 'number')} {interval(row.ci_low, row.ci_high, 'number')}" for row in own)
        yield from _ruled([
            ["cell", "strength (log-odds)", "group"],
            *([row.cell, text, row.groups] for row, text in zip(own, strong, strict=True)),
        ])  # fmt: skip


def _ruled(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table, with the head underlined."""
    head, *lines = aligned(rows, indent=2)
    yield from (head, "  " + "-" * (max(map(len, (head, *lines))) - 2), *lines)
