"""One job, wired to the door, the task and the record: the debates of one shard, or the judgements of one cell."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cortexdsl.debate.engine import debate
from cortexdsl.debate.together import all_or_first_failure
from cortexdsl.models.door import Counts, Door
from cortexdsl.models.similarity.embeddings import Embedder
from cortexdsl.protocols.prompts.templates import Templates
from cortexdsl.records import Header, Record, write_debates
from cortexdsl.records.unread import as_lines, unread_by_step
from cortexdsl.tasks.grading.judge import Rendering, judge_call, read_judgement
from cortexdsl.tasks.grading.judgements import Answered, Judgement
from cortexdsl.tasks.task import Task
from cortexdsl.terms import NOTHING, Ask, Debate, Hands, Message, Method, Model, Question, Without

AT_ONCE_PER_CONNECTION = 2  # debates under way for each call that may be in flight: their steps leave gaps


@dataclass(frozen=True, slots=True)
class Shift:
    """What one job does.

    Attributes
    ----------
    header : Header
        What its records belong to.
    task : Task
    questions : sequence of Question
        Those of the shard, in order.
    method_for : callable
        The method for a question: a matched budget and a knowledge pool depend on it.
    seed : int
        Of the experiment.
    connections : int
        The most calls in flight to one endpoint.
    without : Without
        What its debates leave out.
    """

    header: Header
    task: Task
    questions: Sequence[Question]
    method_for: Callable[[Question], Method]
    seed: int
    connections: int
    without: Without = NOTHING


async def debate_shard(shift: Shift, door: Door, embedder: Embedder, templates: Templates, out: Path) -> Counts:
    """Run the debates of a shard and write their records, in the order of the questions.

    A failure ends the job after the calls under way are logged; started again, it goes on where the log ends. Where too
    many calls have brought no reply nothing is written.

    Returns
    -------
    Counts
        What came of the calls.
    """
    gate = asyncio.Semaphore(max(1, shift.connections * AT_ONCE_PER_CONNECTION))
    door.tally.debates(0, len(shift.questions))

    async def one(question: Question) -> Debate:
        async with gate:
            done = await debate(
                shift.method_for(question),
                question,
                Hands(door, renderer(templates, shift.task, question), shift.task.reader(question), embedder),
                seed=shift.seed,
                replicate=shift.header.replicate,
                without=shift.without,
            )
            door.tally.debates(door.tally.debates_done + 1, len(shift.questions))
            return done

    debates = await all_or_first_failure([one(question) for question in shift.questions])
    door.tally.unread = as_lines(unread_by_step(debates))
    door.check_failures()
    write_debates(out, (Record(shift.header, each) for each in debates))
    return door.counts


async def judge_answers(
    answers: Iterable[Answered], task: Task, judge: Model, ask: Ask, render: Rendering, *, seed: int, connections: int
) -> list[Judgement]:
    """Have answers judged, each different one once; the judge is told the golds, and nobody hears it.

    Parameters
    ----------
    answers : iterable of (question id, answer)
    task : Task
    judge : Model
    ask : callable
        The door of the judge's own call log.
    render : callable
    seed : int
        Of the experiment.
    connections : int
        Answers under way at once.

    Returns
    -------
    list of Judgement
        In order of appearance; a reply that failed or cannot be read is no judgement (`is_right` None).
    """
    questions = {question.id: question for question in task.questions}
    gate = asyncio.Semaphore(max(1, connections))

    async def one(question_id: str, answer: str) -> Judgement:
        async with gate:
            call = judge_call(judge, questions[question_id], task.gold(question_id), answer, render, seed=seed)
            reply = await ask(call)
        return Judgement(question_id, answer, read_judgement(reply.text), reply.key)

    return await all_or_first_failure([one(*answered) for answered in dict.fromkeys(answers)])


def renderer(templates: Templates, task: Task, question: Question) -> Callable[..., tuple[Message, ...]]:
    """Return what renders the prompts of debates about a question."""
    asked: Mapping[str, Any] = {"answer_format": task.format_of(question.id)}

    def render(prompt: str, view: Mapping[str, Any]) -> tuple[Message, ...]:
        return templates.render(prompt, {**view, **asked})

    return render
