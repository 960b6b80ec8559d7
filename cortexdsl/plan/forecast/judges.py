"""Calls of judges about rehearsed debates: about answers, about turns, and about two answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from itertools import compress

from cortexdsl.core import Method, Question, Render
from cortexdsl.expressions.evaluation import parse
from cortexdsl.metrics.view import view_debate
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.rehearsal.estimate import CallLengths, Lengths, Rehearsal
from cortexdsl.tasks.balloting import ballot_calls
from cortexdsl.tasks.judging import judge_call
from cortexdsl.tasks.labelling import label_call, label_variables
from cortexdsl.tasks.reading.kinds import KINDS
from cortexdsl.tasks.task import Task


def judge_calls(plan: Plan, task: Task, sample: Sequence[Question], lengths: Lengths) -> list[CallLengths]:
    """Return the judge's calls about one answer to each question: the first gold, which is of typical length."""
    if plan.judging is None or not plan.is_judged(task.label):
        return []
    judge, render = plan.judging.model, plan.templates.render
    golds = [task.gold(question.id) for question in sample]
    calls = [
        judge_call(judge, question, gold, next(iter(gold), ""), render, seed=plan.seed)
        for question, gold in zip(sample, golds, strict=True)
    ]
    return [lengths.of_call(call) for call in calls]


def label_calls(
    plan: Plan, task: Task, sample: Sequence[Question], methods: Iterable[Method], lengths: Lengths, render: Render
) -> list[CallLengths]:
    """Return the judge's calls about the turns of rehearsed debates: of all turns, but those of other rounds."""
    if plan.labelling is None or (judge := plan.labelling.judge) is None:
        return []
    from cortexdsl.metrics.turn_rules import labelled_turns  # late: it loads the client, which few checks need

    rehearsal, calls = Rehearsal(render, lengths), []
    for method in methods:
        for question in sample:
            golds = task.gold(question.id)
            view = view_debate(asyncio.run(rehearsal.debate(method, question, seed=plan.seed)), lambda *_: 0.0)
            for label in plan.labelling.judged:
                is_known = parse(label.where).keys <= {"round"}  # made-up answers say nothing about other names
                chosen = labelled_turns(view, label.where if is_known else "1")
                for turn in compress(view.debate.turns, chosen):
                    variables = label_variables(question, golds, view.debate, turn)
                    calls.append(label_call(label, judge, variables, plan.templates.render, seed=plan.seed))
    return [lengths.of_call(call) for call in calls]


def sample_ballots(plan: Plan, task: Task, sample: Sequence[Question], lengths: Lengths) -> list[CallLengths]:
    """Return the calls of a tournament's judges about two answers of typical length to each question."""
    if plan.tournament is None:
        return []
    render, calls = plan.templates.render, []
    for question in sample:
        gold = next(iter(task.gold(question.id)), None)
        if gold is None or KINDS[task.item(question.id).kind].is_whole:
            gold = lengths.filler_text(question.id, plan.cells[0].debate.models[0])
        for judge in plan.tournament.judges:
            calls += ballot_calls(judge, question, gold, gold, render, seed=plan.seed)
    return [lengths.of_call(call) for call in calls]
