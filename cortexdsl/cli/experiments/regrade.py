"""`cortexdsl regrade`: read and score finished debates again after a reader or a grader changed.

Nothing is asked, but for `--errors-again`: calls that failed are then asked again first.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from cortexdsl.cli.arguments import add_errors_again, add_spec
from cortexdsl.cli.counting import counting
from cortexdsl.cli.experiments.regraded import is_regraded, note_regraded
from cortexdsl.cli.jobs.debate import add_trust, ask_failures_again
from cortexdsl.cli.jobs.join import join
from cortexdsl.cli.jobs.judge import ask_failures_again as judge_failures_again
from cortexdsl.cli.jobs.score import score_cell
from cortexdsl.debate.rereading import read_again
from cortexdsl.debate.roles import numbered
from cortexdsl.errors import InputError
from cortexdsl.plan import Plan, compile_spec
from cortexdsl.plan.jobs.again import failed_jobs, failed_judgements
from cortexdsl.records import Record, read_debates, write_debates


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_spec(parser, "the spec, whose debates are finished")
    add_trust(parser)
    add_errors_again(parser, "ask calls again that failed, before reading")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    plan = compile_spec(args.spec, experiment=args.experiment)
    if args.errors_again:
        _ask_failures_again(plan, args.trust)
    answers = decisions = waiting = done = 0
    cells = [(dataset, cell.slug) for dataset in plan.tasks for cell in plan.cells]
    for dataset, slug in counting(cells, "reading cells again"):
        if is_regraded(plan, dataset, slug):
            continue
        done += 1
        turns, others = _read_again(plan, dataset, slug)
        answers, decisions = answers + turns, decisions + others
        if plan.is_judged(dataset) and others:
            waiting += 1  # its new answers may never have been judged, and nothing is asked here
        else:
            score_cell(plan, dataset, slug)
            note_regraded(plan, dataset, slug)
    if done:
        join(plan)
    kept = len(cells) - done
    anew = "; scores are written anew" if done else ""
    print(
        f"{answers} answers and {decisions} decisions are read otherwise than before{anew}\n"
        + (f"{kept} of {len(cells)} cells are as they were when they were last read again\n" if kept else "")
        + (f"{waiting} cells with new answers are scored once the judge was asked about these\n" if waiting else "")
        + f"next: cortexdsl run {args.spec}, which tests them again"
    )
    return 0


def _read_again(plan: Plan, dataset: str, slug: str) -> tuple[int, int]:
    """Read the debates of a cell again; return how many answers and decisions are others than before."""
    answers = decisions = 0
    for path in plan.debates_of(dataset, slug):
        if plan.stopping and not Path(path).exists():
            continue  # a batch that was not needed
        before = list(read_debates(Path(path)))
        _check_speakers(plan, slug, before)
        after = [_again(plan, dataset, slug, record) for record in before]
        changed = [_differences(old, new) for old, new in zip(before, after, strict=True)]
        answers += sum(turns for turns, _ in changed)
        decisions += sum(is_other for _, is_other in changed)
        if before != after:
            write_debates(Path(path), after)
    return answers, decisions


def _check_speakers(plan: Plan, slug: str, records: Sequence[Record]) -> None:
    """Refuse to decide debates anew that others held than the spec now says: they would lose their votes."""
    known = numbered(plan.cell(slug).debate)
    spoke = dict.fromkeys(turn.speaker for record in records for turn in record.debate.turns)
    gone = [name for name in spoke if name not in known]
    if gone:
        raise InputError(
            f"{plan.spec_path}: {', '.join(gone)} spoke in the debates of {plan.cell(slug).name}, and is not among its"
            f" agents now\n    run the experiment again first: cortexdsl run {plan.spec_path}"
        )


def _ask_failures_again(plan: Plan, trusted: Collection[str]) -> None:
    asked = failed = 0
    for job in failed_jobs(plan):
        counts = ask_failures_again(plan, *job, trusted)
        asked, failed = asked + counts.asked, failed + counts.failed
    for cell in failed_judgements(plan):
        counts = judge_failures_again(plan, *cell)
        asked, failed = asked + counts.asked, failed + counts.failed
    print(f"{asked} calls sent, {failed} of them failed again")


def _again(plan: Plan, dataset: str, slug: str, record: Record) -> Record:
    task = plan.task(dataset)
    reader = task.reader(task.item(record.debate.question_id).question)
    method = plan.cell(slug).debate
    debate = read_again(record.debate, method, reader, seed=plan.seed, replicate=record.header.replicate)
    return replace(record, debate=debate)


def _differences(old: Record, new: Record) -> tuple[int, bool]:
    pairs = zip(old.debate.turns, new.debate.turns, strict=True)
    return sum(a.answer != b.answer for a, b in pairs), old.debate.answer != new.debate.answer
