"""Run one job of a phase: the debates of one shard, their guided branches, and the branches' values.

Replies are guided towards the right answer and towards a wrong one, which is drawn from the question or its dataset.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from cortexdsl.core import Ports, Question
from cortexdsl.engine.concurrency import gather_or_cancel
from cortexdsl.engine.seeds import seeded_random
from cortexdsl.engine.trajectories import BRANCH_KINDS, BranchKind, BranchPoint, Guide, trajectory
from cortexdsl.errors import DataError
from cortexdsl.models.client import Client
from cortexdsl.models.job_tally import CallCounts
from cortexdsl.plan.training import GUIDE, Phase, Training, guided, with_trained
from cortexdsl.tasks.reading.kinds import KINDS
from cortexdsl.tasks.task import Item, Task
from cortexdsl.templates.templates import Templates
from cortexdsl_train.pairs import moment_line, write_moments

NEAR = 10
"""Maximum distance of a wrong number from the right one."""
TRIED = 20
"""Candidates that are graded before a question is given up: a set of alike questions has few wrong answers."""
NO_ANSWER = "there is no answer"


@dataclass(frozen=True, slots=True)
class Targets:
    """Answers that the guided replies to one question argue for, in the words of the prompt."""

    right: str
    wrong: str


def targets_of(task: Task, question_id: str, seed: int) -> Targets:
    """Return what guided replies to a question argue for.

    The wrong answer is drawn from what the question itself allows (other options, other labels), for a number from
    those near the right one, and else from the answers to other questions. It is one that is graded as wrong.

    Raises
    ------
    DataError
        No wrong answer can be found: every candidate would be graded as right.
    """
    item = task.item(question_id)
    chance = seeded_random("wrong answer", seed, 0, question_id)
    for candidate in islice(_candidates(task, item, chance), TRIED):
        if task.grade(question_id, candidate) == 0:
            right = next((gold for gold in item.gold if gold), "")
            return Targets(_spoken(item, right), _spoken(item, candidate))
    raise DataError(
        f"dataset {task.label}: there is no wrong answer to question {question_id!r} to argue for\n"
        "    learn from more questions, whose answers it can be taken from"
    )


def _candidates(task: Task, item: Item, chance: random.Random) -> Iterator[str]:
    options = [label for label, _ in item.question.options]
    closed = list(KINDS[item.kind].values) or options or list(item.labels)
    if closed:
        chance.shuffle(closed)
        yield from closed
        return
    if item.kind == "number":
        yield from _numbers_near(item.gold, chance)
    others = [gold for other in task.items for gold in other.gold if other is not item and gold]
    chance.shuffle(others)
    yield from dict.fromkeys(others)


def _numbers_near(gold: tuple[str, ...], chance: random.Random) -> Iterator[str]:
    """Yield numbers near the first gold, with as many places."""
    try:
        number = float(gold[0])
    except (ValueError, IndexError):
        return
    places = len(gold[0].partition(".")[2])
    offsets = [sign * offset for offset in range(1, NEAR + 1) for sign in (1, -1)]
    chance.shuffle(offsets)
    for offset in offsets:
        yield f"{number + offset / 10**places:.{places}f}"


def _spoken(item: Item, answer: str) -> str:
    """Return an answer on one line, an option with its words."""
    words = dict(item.question.options).get(answer)
    return " ".join((f"({answer}) {words}" if words else answer or NO_ANSWER).split())


def target_guides(
    task: Task, question: Question, guide: str, templates: Templates, seed: int
) -> dict[BranchKind, Guide]:
    """Return what guides replies to a question; parameters as in `cortexdsl.plan.training.guides_for`."""
    targets = targets_of(task, question.id, seed)

    def towards(target: str) -> Guide:
        return lambda messages: guided(messages, target, guide, templates)

    return {"right": towards(targets.right), "wrong": towards(targets.wrong)}


async def collect(
    training: Training,
    phase: Phase,
    questions: Sequence[Question],
    ports: Callable[[Question], Ports],
    client: Client,
    templates: Templates,
    out: Path,
    *,
    seed: int,
    at_once: int,
) -> CallCounts:
    """Run the debates of a shard and write their moments, in the order of the questions.

    A failure ends the job after the calls under way are logged; started again, it continues where the log ends.

    Parameters
    ----------
    training : Training
    phase : Phase
    questions : sequence of Question
    ports : callable
        The ports of a question's debates; they send calls through the client.
    client : Client
    templates : Templates
    out : Path
    seed : int
        The seed of the experiment.
    at_once : int
        Questions under way at once.
    """
    gate = asyncio.Semaphore(max(1, at_once))
    method = with_trained(phase.method)
    client.tally.debates(0, len(questions))

    async def one(question: Question) -> tuple[BranchPoint, ...]:
        async with gate:
            found = await trajectory(
                method,
                question,
                ports(question),
                target_guides(training.task, question, GUIDE, templates, seed),
                role=phase.role,
                samples=training.said.samples,
                seed=seed,
                opening=training.said.opening,
            )
            client.tally.debates(client.tally.debates_done + 1, len(questions))
            return found

    found = await gather_or_cancel([one(question) for question in questions])
    client.check_failures()
    await client.sync()
    write_moments(out, _lines(training.task, phase.digest, questions, found))
    return client.counts


def _lines(task: Task, digest: str, questions: Sequence[Question], found: Sequence[Sequence[BranchPoint]]) -> list[str]:
    """Grade the answers of all roll-outs at once, which is quicker for mathematics."""
    endings = [
        (question.id, end.answer)
        for question, moments in zip(questions, found, strict=True)
        for moment in moments
        for way in BRANCH_KINDS
        for end in moment.responses[way].endings
    ]
    scores = iter(task.grade_all(endings))
    lines = []
    for question, moments in zip(questions, found, strict=True):
        for moment in moments:
            by_way: Mapping[BranchKind, list[float]] = {
                way: [next(scores) for _ in moment.responses[way].endings] for way in BRANCH_KINDS
            }
            lines.append(moment_line(moment, question.id, digest, by_way))
    return lines
