"""One job of a phase: the debates of one shard of its questions, what branches from them, and what that is worth."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from cortexdsl.debate.together import all_or_first_failure
from cortexdsl.debate.trajectory import WAYS, Moment, Way, trajectory
from cortexdsl.models.door import Counts, Door
from cortexdsl.plan.training.guides import guides_for
from cortexdsl.plan.training.phases import Phase, Training
from cortexdsl.plan.training.weights import with_trained
from cortexdsl.protocols.prompts.templates import Templates
from cortexdsl.tasks.task import Task
from cortexdsl.terms import Hands, Question
from cortexdsl.train.moments import moment_line, write_moments


async def collect(
    training: Training,
    phase: Phase,
    questions: Sequence[Question],
    hands: Callable[[Question], Hands],
    door: Door,
    templates: Templates,
    out: Path,
    *,
    seed: int,
    at_once: int,
) -> Counts:
    """Run the debates of a shard and write their moments, in the order of the questions.

    A failure ends the job after the calls under way are logged; started again, it goes on where the log ends.

    Parameters
    ----------
    training : Training
    phase : Phase
    questions : sequence of Question
    hands : callable
        The hands for a question; they ask through the door.
    door : Door
    templates : Templates
    out : Path
    seed : int
        Of the experiment.
    at_once : int
        Questions under way at once.
    """
    gate = asyncio.Semaphore(max(1, at_once))
    method = with_trained(phase.method)
    door.tally.debates(0, len(questions))

    async def one(question: Question) -> tuple[Moment, ...]:
        async with gate:
            found = await trajectory(
                method,
                question,
                hands(question),
                guides_for(training.task, question, training.said.guide, templates, seed),
                role=phase.role,
                samples=training.said.samples,
                seed=seed,
                opening=training.said.opening,
            )
            door.tally.debates(door.tally.debates_done + 1, len(questions))
            return found

    found = await all_or_first_failure([one(question) for question in questions])
    door.check_failures()
    write_moments(out, _lines(training.task, phase.digest, questions, found))
    return door.counts


def _lines(task: Task, digest: str, questions: Sequence[Question], found: Sequence[Sequence[Moment]]) -> list[str]:
    """Grade the answers of all roll-outs at once, which is quicker for mathematics."""
    endings = [
        (question.id, end.answer)
        for question, moments in zip(questions, found, strict=True)
        for moment in moments
        for way in WAYS
        for end in moment.responses[way].endings
    ]
    scores = iter(task.grade_all(endings))
    lines = []
    for question, moments in zip(questions, found, strict=True):
        for moment in moments:
            by_way: Mapping[Way, list[float]] = {
                way: [next(scores) for _ in moment.responses[way].endings] for way in WAYS
            }
            lines.append(moment_line(moment, question.id, digest, by_way))
    return lines
