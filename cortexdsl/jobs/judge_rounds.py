"""The calls of judges that engines answer, about debates that have ended in a round of files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from cortexdsl.core import Call
from cortexdsl.jobs.ballots import ballot_job, pair_calls
from cortexdsl.jobs.judge import answer_calls, judge_job
from cortexdsl.jobs.label import graded_views, label_job, turn_calls
from cortexdsl.models.job_tally import JobInfo
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.job_files import judge_logs
from cortexdsl.records import Record
from cortexdsl.tasks.balloting import compared_answers

JudgeCalls: TypeAlias = tuple[str, JobInfo, Sequence[Call]]
"""A call log, the job that has it, and what it asks."""


def judge_calls(plan: Plan, dataset: str, ended: Mapping[str, Sequence[Record]]) -> Iterator[JudgeCalls]:
    """Yield what judges are asked about the answers and turns of debates, by the slugs of their cells."""
    logs, layout = judge_logs(plan, dataset), plan.layout
    for slug, records in ended.items():
        if (log := layout.judge_log(dataset, slug)) in logs:
            yield log, judge_job(plan, dataset, slug, slug), [*answer_calls(plan, dataset, records).values()]
        if (log := layout.label_log(dataset, slug)) in logs:
            asked = turn_calls(plan, dataset, graded_views(plan, dataset, records))
            yield log, label_job(plan, dataset, slug), [call for *_, call in asked]


def vote_calls(plan: Plan, dataset: str, answers: Iterable[tuple[str, str | None]]) -> Iterator[JudgeCalls]:
    """Yield what the judges of a tournament are asked about the answers to a dataset, (question id, answer)."""
    logs, pairs = judge_logs(plan, dataset), compared_answers(answers)
    for judge in plan.tournament.judges if plan.tournament else ():
        if (log := plan.layout.ballot_log(dataset, judge.name)) in logs:
            yield log, ballot_job(plan, dataset, judge.name), pair_calls(plan, dataset, judge, pairs)
