"""Verb `regrade`: read and score finished debates again after a reader or a grader has changed. No model is called."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cortexdsl.display.console import counting
from cortexdsl.engine.methods import agent_numbers, names_in
from cortexdsl.engine.readings import reread_debate
from cortexdsl.errors import InputError
from cortexdsl.jobs.arguments import add_spec, plan_of_results
from cortexdsl.jobs.score import join, score_cell
from cortexdsl.numbers import counted
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.job_files import debate_files
from cortexdsl.plan.persistence.fits import with_fits
from cortexdsl.plan.persistence.recording import record_files
from cortexdsl.records import Record, read_debates, write_debates


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_spec(parser, "a spec with finished debates")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    plan = plan_of_results(args)
    answers = decisions = waiting = 0
    cells = [(dataset, cell.slug) for dataset in plan.tasks for cell in plan.cells]
    for dataset, slug in counting(cells, "reading cells again"):
        turns, others = _read_again(plan, dataset, slug)
        answers, decisions = answers + turns, decisions + others
        if (plan.is_judged(dataset) and others) or (plan.labelling is not None and (turns or others)):
            waiting += 1  # new answers need the judge and new labels, and no model is called here
        else:
            score_cell(plan, dataset, slug)
    record_files(plan.layout, join(plan))
    print(f"{counted(answers, 'answer')} and {counted(decisions, 'decision')} changed; scores are written again")
    if waiting:
        are = "is" if waiting == 1 else "are"
        print(f"{counted(waiting, 'cell')} with new answers {are} scored after these are judged and labelled")
    print(f"next: cortexdsl run {args.spec}, which tests them again")
    return 0


def _read_again(plan: Plan, dataset: str, slug: str) -> tuple[int, int]:
    """Read the debates of a cell again; return how many answers and decisions changed."""
    answers = decisions = 0
    for path in debate_files(plan, dataset, slug):
        if plan.stopping and not Path(path).exists():
            continue  # its batch was not needed
        before = list(read_debates(Path(path)))
        _check_speakers(plan, slug, before)
        after = [_again(plan, dataset, slug, record) for record in before]
        changed = [_differences(old, new) for old, new in zip(before, after, strict=True)]
        answers += sum(turns for turns, _ in changed)
        decisions += sum(is_other for _, is_other in changed)
        if before != after:
            write_debates(Path(path), after)
            record_files(plan.layout, [path])
    return answers, decisions


def _check_speakers(plan: Plan, slug: str, records: Sequence[Record]) -> None:
    """Refuse to decide debates whose speakers are not agents of the spec any more: they would lose their votes."""
    known = agent_numbers(plan.cell(slug).debate)
    spoke = dict.fromkeys(turn.speaker for record in records for turn in record.debate.turns)
    gone = [name for name in spoke if name not in known]
    if gone:
        raise InputError(
            f"{plan.spec_path}: {', '.join(gone)} spoke in the debates of {plan.cell(slug).name}, and is not among its"
            f" agents now\n    run the experiment again first: cortexdsl run {plan.spec_path}"
        )


def _again(plan: Plan, dataset: str, slug: str, record: Record) -> Record:
    task = plan.task(dataset)
    method = with_fits(plan, plan.cell(slug).debate, record.header.replicate)
    reader = task.reader(task.item(record.debate.question_id).question, names_in(method))
    debate = reread_debate(record.debate, method, reader, seed=plan.seed, replicate=record.header.replicate)
    return replace(record, debate=debate)


def _differences(old: Record, new: Record) -> tuple[int, bool]:
    pairs = zip(old.debate.all_turns, new.debate.all_turns, strict=True)
    return sum(a.answer != b.answer for a, b in pairs), old.debate.answer != new.debate.answer
