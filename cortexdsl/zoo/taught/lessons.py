"""Lessons: prompts of this project with the replies that a small model should learn to give.

The project's own engine debates, with its own prompts, protocols and rules of who hears whom; in the place of models a
teacher speaks, right or wrong by chance. Each call becomes a lesson: the prompt, and what would have been right to say.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from cortexdsl.debate.adapt import with_pool
from cortexdsl.debate.engine import debate
from cortexdsl.models.similarity.ngram import ngram_vector
from cortexdsl.plan.experiment import Plan, pool_sources
from cortexdsl.plan.training.guides import guided
from cortexdsl.tasks.task import Task
from cortexdsl.terms import Call, Cell, Floats, Hands, Message, Question, Reply
from cortexdsl.zoo.asked.questions import expression
from cortexdsl.zoo.asked.workings import numbers_of, work
from cortexdsl.zoo.asked.world import World
from cortexdsl.zoo.taught.teacher import Teacher

SKILLS = (0.2, 0.4, 0.6, 0.8, 0.95)
"""How often those who debate in a lesson are right; one draw a debate."""

PASSAGES = 4
GUIDE = "acc/guide.j2"
"""What tells an agent which answer to argue for."""

NEW = 0.7
"""How often lessons with passages are about somebody who is in no other lesson."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A prompt and the reply to it."""

    messages: tuple[Message, ...]
    reply: str


def lessons(
    plan: Plan,
    world: World,
    *,
    cells: Sequence[str],
    size: int,
    seed: int,
    tasks: Sequence[str] = (),
    is_held_out: bool = False,
    is_guided: bool = False,
) -> Iterator[Lesson]:
    """Yield lessons from debates: the cells and the datasets in turn, each debate on another question.

    Parameters
    ----------
    plan : Plan
        Of the spec that says which debates; its datasets hold as many questions as are to be seen.
    world : World
    cells : sequence of str
        Names of the plan's cells.
    size : int
        How many lessons.
    seed : int
        Of all chance.
    tasks : sequence of str
        Datasets of the plan that are debated; all where none is named.
    is_held_out : bool
        Whether expressions are those that no other lesson has: an exam.
    is_guided : bool
        Whether each prompt says which answer to argue for, right or wrong, as where a pair is to learn from debates.
    """
    told = 0
    known = {cell.name: cell for cell in plan.cells}
    turns = [(task, known[name]) for task in plan.tasks.values() for name in cells]
    with asyncio.Runner() as runner:
        for number in itertools.count():
            task, cell = turns[number % len(turns)]
            if tasks and task.label not in tasks:
                continue
            chance = random.Random(f"lesson-{seed}-{number}")
            asked = task.questions[(number // len(turns)) % len(task.questions)]
            # Who has a pool to read from is asked about people whom it can't know, too.
            is_new = bool(pool_sources(cell)) and chance.random() < NEW
            question, there = fresh(asked, world, chance, is_new=is_new, is_held_out=is_held_out)
            found = debated(plan, task, cell, question, there, chance, is_guided=is_guided)
            for lesson in runner.run(found):
                yield lesson
                told += 1
                if told == size:
                    return


def drills(size: int, seed: int) -> Iterator[Lesson]:
    """Yield single steps of expressions: `135+43=`, and what it is."""
    for number in range(size):
        chance = random.Random(f"drill-{seed}-{number}")
        step = chance.choice(work(expression(chance, is_held_out=False)[0]).lines)
        yield Lesson(({"role": "user", "content": step.partition("=")[0] + "="},), step)


def fresh(
    question: Question, world: World, chance: random.Random, *, is_new: bool = False, is_held_out: bool = False
) -> tuple[Question, World]:
    """Return a question of the same task with other numbers (held out or not) or about somebody else, and the world.

    Parameters
    ----------
    question : Question
    world : World
    chance : random.Random
    is_new : bool
        Whether it is about somebody who has just come into the world.
    is_held_out : bool
    """
    if numbers_of(question.text) is None:
        there, somebody = world.with_somebody(chance) if is_new else (world, chance.choice(list(world.homes)))
        return replace(question, text=chance.choice(list(there.facts_of(somebody))).question), there
    return replace(question, text=expression(chance, is_held_out=is_held_out)[1]), world


async def debated(
    plan: Plan, task: Task, cell: Cell, question: Question, world: World, chance: random.Random, *, is_guided: bool
) -> list[Lesson]:
    """Debate a question, and return a lesson for each call."""
    teacher, skill, found = Teacher(world), chance.choice(SKILLS), list[Lesson]()

    async def ask(call: Call) -> Reply:
        # What is said does not depend on the order in which the engine asks.
        own = random.Random(f"{chance_seed}-{call.seed}-{len(call.messages[-1]['content'])}")
        right = teacher.reply(question, call.messages, own, is_right=True)
        if is_guided:
            target, argued = teacher.argument(question, call.messages, own, is_right=own.random() < 0.5)
            found.append(Lesson(guided(call.messages, target, GUIDE, plan.templates), argued))
        else:
            found.append(Lesson(call.messages, right))
        said = right if own.random() < skill else teacher.reply(question, call.messages, own, is_right=False)
        return Reply("", said, "stop", 1, 1)

    async def similarity(embedding: str, texts: Sequence[str]) -> Floats:
        vectors = np.array([ngram_vector(text) for text in texts])
        return np.asarray(vectors @ vectors.T, dtype=np.float64)

    chance_seed = chance.getrandbits(32)
    method = cell.debate
    if pool_sources(cell):
        method = with_pool(method, passages(world, question))
    hands = Hands(ask, _renderer(plan, task, question), task.reader(question), similarity)
    await debate(method, question, hands, seed=chance.getrandbits(31), replicate=1)
    return found


def passages(world: World, question: Question) -> list[dict[str, str]]:
    """Return a pool for a question, as a search finds it: what is most like the question, useful or not, best first."""
    corpus = list(world.passages())
    likeness = np.array([_vector(f"{passage['title']}\n{passage['text']}") for passage in corpus]) @ _vector(
        question.text
    )
    return [corpus[k] for k in np.argsort(-likeness, kind="stable")[:PASSAGES]]


_vector = lru_cache(maxsize=1024)(ngram_vector)


def _renderer(plan: Plan, task: Task, question: Question) -> Callable[..., tuple[Message, ...]]:
    asked: Mapping[str, Any] = {"answer_format": task.format_of(question.id)}
    return lambda prompt, view: plan.templates.render(prompt, {**view, **asked})


def write_lessons(path: Path, found: Iterable[Lesson]) -> int:
    """Write lessons as JSON Lines, and return how many there were."""
    n = 0
    with path.open("w", encoding="utf-8") as file:
        for lesson in found:
            n += 1
            file.write(json.dumps({"messages": lesson.messages, "reply": lesson.reply}, ensure_ascii=False) + "\n")
    return n


def read_lessons(path: Path) -> Iterator[Lesson]:
    """Yield the lessons of a file."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            said = json.loads(line)
            yield Lesson(tuple(said["messages"]), said["reply"])
