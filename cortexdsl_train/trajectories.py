"""Run one job of a phase: the debates of one shard, their guided branches, and the branches' values.

Replies are guided towards the right answer and towards a wrong one, which is drawn from the question or its dataset.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from cortexdsl.core import Method, Ports, Question, Reader
from cortexdsl.engine.concurrency import gather_or_cancel
from cortexdsl.engine.seeds import seeded_random
from cortexdsl.engine.trajectories import BranchKind, BranchPoint, Guide, trajectory, unguided
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


def majority(answers: Iterable[str | None], reader: Reader) -> str | None:
    """Return the answer that most debates of a question decided, as the first of them spells it; None if none has most.

    So it is the training label of MACA (arXiv 2509.15172) and DTE (arXiv 2505.15734), which know no right answers.
    """
    counts: Counter[str] = Counter()
    for answer in answers:
        if answer is not None:
            counts[next((one for one in counts if reader.same(answer, one)), answer)] += 1
    (first, most), (_, next_most) = [*counts.most_common(2), ("", 0), ("", 0)][:2]
    return first if most > next_most else None


def is_label(answer: str | None, label: str | None, reader: Reader) -> bool:
    """Return whether an answer is the one that the debates decided."""
    return answer is not None and label is not None and (answer == label or reader.same(answer, label))


@dataclass(frozen=True, slots=True)
class _Branched:
    """The moments of a question, and what its debates decided, if that counts as right."""

    moments: tuple[BranchPoint, ...]
    decided: tuple[str | None, ...] | None = None


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

    async def one(question: Question) -> _Branched:
        async with gate:
            found = await branched(training, phase, method, question, ports(question), templates, seed)
            client.tally.debates(client.tally.debates_done + 1, len(questions))
            return found

    found = await gather_or_cancel([one(question) for question in questions])
    client.check_failures()
    await client.sync()
    write_moments(out, _lines(training.task, phase.digest, questions, found))
    return client.counts


async def branched(
    training: Training, phase: Phase, method: Method, question: Question, ports: Ports, templates: Templates, seed: int
) -> _Branched:
    """Run the debates of a question and, if replies are guided, its branches; parameters as in `collect`."""
    said = training.said
    settings: dict[str, Any] = {"role": phase.role, "samples": said.samples, "seed": seed}
    if said.is_guided:
        guides = target_guides(training.task, question, GUIDE, templates, seed)
        return _Branched(await trajectory(method, question, ports, guides, **settings))
    moments, decided = await unguided(method, question, ports, **settings)
    return _Branched(moments, decided if said.by_majority else None)


def _lines(task: Task, digest: str, questions: Sequence[Question], found: Sequence[_Branched]) -> list[str]:
    """Score the answers of all roll-outs by the golds, at once, which is quicker for mathematics; or by majorities."""
    endings = [
        (question.id, end.answer)
        for question, each in zip(questions, found, strict=True)
        for moment in each.moments
        for branch in moment.responses.values()
        for end in branch.endings
        if each.decided is None
    ]
    graded = iter(task.grade_all(endings))
    lines = []
    for question, each in zip(questions, found, strict=True):
        reader = task.reader(question)
        label = None if each.decided is None else majority(each.decided, reader)
        for moment in each.moments:
            scores: Mapping[BranchKind, list[float]] = {
                way: [
                    next(graded) if each.decided is None else float(is_label(end.answer, label, reader))
                    for end in branch.endings
                ]
                for way, branch in moment.responses.items()
            }
            is_undecided = label is None and each.decided is not None
            lines.append(moment_line(moment, question.id, digest, scores, label, is_undecided=is_undecided))
    return lines
