"""Lessons: prompts of this project with the replies that a small model should learn to give.

The engine runs debates with the prompts, protocols and topologies of this project. A teacher replies instead of the
models. It reads the rendered prompt, as a model does, and knows the answer to the question, so that it can be right, or
wrong in the way of a slip. Each call becomes a lesson: the prompt, and the reply that would have been right.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from cortexdsl.core import Call, Cell, Floats, Message, Ports, Question, Reply
from cortexdsl.engine.methods import names_in, pool_sources, with_pool
from cortexdsl.engine.run import run_debate
from cortexdsl.models.similarity.embeddings import ngram_vector
from cortexdsl.models.solver.prompts import Prompt, read_prompt
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.training import guided
from cortexdsl.tasks.task import Task
from cortexdsl_tiny.zoo.questions import (
    STEPS,
    Fact,
    Lesson,
    Working,
    World,
    equations,
    expression,
    label_of,
    numbers_of,
    work,
    wrong_lines,
)

SLIPS = (1, 1, 1, 2, 4)
"""Numbers of steps of a wrong working that have a mistake of their own, all equally likely."""

NEAR = 10
"""Maximum distance between the right result and a wrong one that an agent argues for."""


class Teacher:
    """Writes replies.

    Parameters
    ----------
    world : World
        The world that questions without numbers are about.

    Notes
    -----
    An answer is computed from the question, whatever others say. Models that were taught to begin with the wrong
    steps of others invented such steps, and continued from them; reviews and comments still name wrong steps.
    """

    def __init__(self, world: World) -> None:
        self._facts = {fact.question: fact for fact in world.facts()}
        self._answers: dict[str, list[str]] = {}
        for fact in self._facts.values():
            known = self._answers.setdefault(fact.kind, [])
            if fact.answer not in known:
                known.append(fact.answer)

    def reply(self, question: Question, messages: Sequence[Message], chance: random.Random, *, is_right: bool) -> str:
        """Return a reply to a prompt.

        Parameters
        ----------
        question : Question
        messages : sequence of Message
        chance : random.Random
            Draws the mistakes, and the confidence, which means nothing yet.
        is_right : bool
            Whether it makes no mistake.
        """
        prompt, text = read_prompt(messages), messages[-1]["content"]
        said = text[text.find(question.text) + len(question.text) :]
        return _KINDS[prompt.wanted](self, question, prompt, said, chance, is_right)

    def argument(
        self, question: Question, messages: Sequence[Message], chance: random.Random, *, is_right: bool
    ) -> tuple[str, str]:
        """Return an answer to argue for, and a reply that does so: it comes to that answer in its last step.

        Parameters
        ----------
        question, messages, chance
            As of `reply`.
        is_right : bool
            Whether that is the right answer, or one near it.
        """
        lines, answer = self._argued(question, chance, is_right)
        if read_prompt(messages).wanted == "comment":
            return answer, f"{lines[-1]}\nI think that the result should be {answer}."
        return answer, _answered(lines, answer, chance)

    def _argued(self, question: Question, chance: random.Random, is_right: bool) -> tuple[list[str], str]:
        is_sum = numbers_of(question.text) is not None
        lines, answer = self._solution(question, chance, is_right or is_sum)
        if is_right or not is_sum:
            return lines, answer
        last, _, value = lines[-1].partition("=")
        if question.options:  # any result in one of the other ranges
            wrong = chance.choice([other for other in range(100) if label_of(other) != answer])
        else:
            wrong = chance.choice(
                [other for other in range(max(0, int(value) - NEAR), int(value) + NEAR + 1) if other != int(value)]
            )
        return [*lines[:-1], f"{last}={wrong}"], label_of(wrong) if question.options else str(wrong)

    def _solution(self, question: Question, chance: random.Random, is_right: bool) -> tuple[list[str], str]:
        """Return the steps to an answer, and the answer."""
        numbers = numbers_of(question.text)
        if numbers is None:
            return self._recalled(self._facts.get(question.text), chance, is_right)
        slips = frozenset() if is_right else frozenset(chance.sample(range(STEPS), chance.choice(SLIPS)))
        worked: Working = work(numbers, slips, chance)
        return list(worked.lines), label_of(worked.value) if question.options else str(worked.value)

    def _recalled(self, fact: Fact | None, chance: random.Random, is_right: bool) -> tuple[list[str], str]:
        if fact is None:
            return ["I do not know."], "unknown"
        if is_right:
            return list(fact.reasons), fact.answer
        wrong = chance.choice([answer for answer in self._answers[fact.kind] if answer != fact.answer])
        return [reason.replace(fact.answer, wrong) for reason in fact.reasons], wrong

    def _answer(self, question: Question, prompt: Prompt, said: str, chance: random.Random, is_right: bool) -> str:
        lines, answer = self._solution(question, chance, is_right)
        return _answered(lines, answer, chance)

    def _review(self, question: Question, prompt: Prompt, said: str, chance: random.Random, is_right: bool) -> str:
        _, answer = self._solution(question, chance, is_right=True)
        theirs = prompt.heard[-1].answer if prompt.heard else None
        wrong = wrong_lines(said)
        found = [f"{line} is wrong: it is {right}." for line, right in wrong[:1]]
        agrees = theirs == answer
        if not is_right:
            found, agrees = [], not agrees
        if not found:
            found = ["The steps are right." if agrees else "The answer is wrong."]
        end = [f"Answer: {answer if is_right or theirs is None else theirs}"] if prompt.wants_answer else []
        score = 9 if agrees else 2
        return "\n".join([*found, *end, f"Score: {9 if prompt.wants_answer else score}"])

    def _comment(self, question: Question, prompt: Prompt, said: str, chance: random.Random, is_right: bool) -> str:
        wrong = wrong_lines(said)
        if wrong and is_right:
            return f"{wrong[0][0]} is wrong: it is {wrong[0][1]}."
        lines, answer = self._solution(question, chance, is_right)
        if any(heard.answer == answer for heard in prompt.heard):
            return "The steps are right."
        return f"{lines[0]}\nI think that the result should be {answer}."

    def _verdict(self, question: Question, prompt: Prompt, said: str, chance: random.Random, is_right: bool) -> str:
        answers = list(dict.fromkeys(heard.answer for heard in prompt.heard))
        agrees = (len(answers) == 1 and not prompt.silent) is is_right
        return f"They say {', '.join(answers) or 'nothing'}.\nVerdict: {'agree' if agrees else 'disagree'}"

    def _summary(self, question: Question, prompt: Prompt, said: str, chance: random.Random, is_right: bool) -> str:
        counts: dict[str, int] = {}
        for heard in prompt.heard:
            counts[heard.answer] = counts.get(heard.answer, 0) + 1
        reasons = equations(said)
        lines = [
            f"Answer: {answer} ({n} agent{'s' if n > 1 else ''}): {_last(reasons, answer)}"
            for answer, n in counts.items()
        ]
        return "\n".join(["Summary:", *(lines or ["No answer was given."])])

    def _selection(self, question: Question, prompt: Prompt, said: str, chance: random.Random, is_right: bool) -> str:
        fact = self._facts.get(question.text)
        useful = [
            str(number)
            for number, passage in prompt.passages
            if fact is not None and any(reason in passage for reason in fact.reasons)
        ]
        if not is_right and prompt.passages:
            useful = [str(chance.choice(prompt.passages)[0])]
        return f"Selected: {', '.join(useful) or 'none'}"

    def _similarity(self, question: Question, prompt: Prompt, said: str, chance: random.Random, is_right: bool) -> str:
        found = equations(said)
        shared = (len(found) - len(set(found))) / max(1, len(set(found)))
        same = len({heard.answer for heard in prompt.heard}) == 1
        alike = round((shared + same) / 2, 1) if is_right else chance.randint(0, 10) / 10
        return f"{'The same answer.' if same else 'Different answers.'}\nSimilarity: {alike:.1f}"

    def _judgement(self, question: Question, prompt: Prompt, said: str, chance: random.Random, is_right: bool) -> str:
        is_known = prompt.to_judge in prompt.references
        says_so = is_known is is_right
        found = "the same" if says_so else "not the same"
        return f"The answer is {found}.\nJudgement: {'correct' if says_so else 'incorrect'}"


def _answered(lines: Sequence[str], answer: str, chance: random.Random) -> str:
    confidence = chance.randint(1, 19) / 20
    return "\n".join([*lines, f"Answer: {answer}", f"Confidence: {confidence:.2f}"])


def _last(reasons: Sequence[str], answer: str) -> str:
    """Return the last step that ends in an answer; if there is none, a reference to the others."""
    return next((line for line in reversed(reasons) if line.endswith(f"={answer}")), "as they say")


_KINDS: Mapping[str, Callable[[Teacher, Question, Prompt, str, random.Random, bool], str]] = {
    "answer": Teacher._answer,
    "review": Teacher._review,
    "comment": Teacher._comment,
    "verdict": Teacher._verdict,
    "summary": Teacher._summary,
    "selection": Teacher._selection,
    "similarity": Teacher._similarity,
    "judgement": Teacher._judgement,
}


SKILLS = (0.2, 0.4, 0.6, 0.8, 0.95)
"""Probabilities that the debaters of a lesson are right; one is drawn for each debate."""

PASSAGES = 4
GUIDE = "acc/guide.j2"
"""The template that tells an agent which answer to argue for."""

NEW = 0.7
"""Share of lessons with passages that are about a person who is in no other lesson."""


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
        The seed of all draws.
    tasks : sequence of str
        Datasets of the plan that are debated; all if none is named.
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
            # Agents with a pool of passages also get questions about people whom the model cannot know.
            is_new = bool(pool_sources(cell.debate)) and chance.random() < NEW
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
        Whether it is about a person who was just added to the world.
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
        # A seed per call keeps replies independent of the order of the engine's calls.
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
    if pool_sources(cell.debate):
        method = with_pool(method, passages(world, question))
    ports = Ports(ask, _renderer(plan, task, question), task.reader(question, names_in(method)), similarity)
    await run_debate(method, question, ports, seed=chance.getrandbits(31), replicate=1)
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
