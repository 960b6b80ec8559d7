"""A debate tried with the built-in solver, before anything is run: can its replies be read as each step reads them?"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from cortexdsl.debate.adapt import with_pool
from cortexdsl.debate.engine import debate
from cortexdsl.errors import DebateError, Problem
from cortexdsl.models.solver.solver import NAME, solve
from cortexdsl.plan.cost.passages import passages_for
from cortexdsl.plan.cost.rehearse import renderer, shown_of
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.rehearsal.estimate import Rehearsal, longest
from cortexdsl.tasks.task import Task
from cortexdsl.terms import AS_WRITTEN, Call, Cell, Debate, Hands, Reply

_FORMS: Mapping[str, str] = {
    "answer": "{{ answer_format }}", "review": "Score: <1 to 10>", "verdict": "Verdict: <agree or disagree>",
    "selection": "Selected: <numbers, or none>", "choice": "Choice: <a number>", "similarity": "Similarity: <0 to 1>",
}  # fmt: skip
"""How a template may ask for what a step reads, so that the solver knows what is meant."""


@dataclass(slots=True)
class _Trial(Rehearsal):
    """Hands of a rehearsal in which the solver replies for every model: the others must say something, too."""

    async def ask(self, call: Call) -> Reply:
        """Reply as the solver would with no reply spoiled; what is said as it is written is that."""
        reply = await Rehearsal.ask(self, call)
        if call.model == AS_WRITTEN:
            return replace(reply, text=call.messages[-1]["content"])
        if call.model.is_tool:
            return reply
        options = call.model.options if call.model.model == NAME else {}
        said = solve(call.messages, call.seed, {**options, "malformed": 0.0})
        return replace(reply, text=said.text, finish_reason=said.finish_reason)


def unreadable(plan: Plan) -> list[Problem]:
    """Warn of steps in which no reply of the built-in solver can be read, tried on one question of each dataset.

    Models other than the solver are not judged: the solver stands in for them, so that those after them hear something.
    """
    found: dict[Problem, None] = {}
    for task in plan.tasks.values():
        cells = {(shown_of(cell.debate), _solvers(cell)): cell for cell in reversed(plan.cells) if _solvers(cell)}
        for cell in reversed(cells.values()):
            try:
                tried = asyncio.run(_tried(plan, cell, task))
            except DebateError:  # of replies that it would not give again; a real debate says so
                continue
            found.update(dict.fromkeys(_unreadable(plan, cell, tried)))
    return list(found)


def _solvers(cell: Cell) -> frozenset[str]:
    agents = (agent for cast in cell.debate.cast.values() for agent in cast)
    return frozenset(agent.name for agent in agents if agent.model.model == NAME)


async def _tried(plan: Plan, cell: Cell, task: Task) -> Debate:
    question = task.questions[0]
    hands = _Trial(renderer(plan.templates, task))
    method = longest(with_pool(cell.debate, passages_for(plan, cell)))
    world = Hands(hands.ask, hands.render, task.reader(question), hands.similarity)
    return await debate(method, question, world, seed=plan.seed, replicate=1)


def _unreadable(plan: Plan, cell: Cell, tried: Debate) -> Iterator[Problem]:
    solvers = _solvers(cell)
    for step in cell.debate.steps.values():
        turns = [turn for turn in tried.turns if turn.step == step.name and turn.speaker in solvers]
        asked = [turn for turn in turns if step.prompt_of(turn.speaker) not in step.said]
        for what in (step.reads, *step.beside):
            unread = [t for t in asked if (t.unparsed if what == step.reads else t.beside.get(what) is None)]
            if not asked or len(unread) < len(asked):
                continue
            prompt = step.prompt_of(unread[0].speaker)
            reason = unread[0].unparsed if what == step.reads else f"no {what}"
            article = "an" if what == "answer" else "a"
            yield Problem(
                plan.templates.path(prompt),
                f"step {step.name} reads {article} {what}, and the built-in solver's replies to this template hold none"
                f" that can be read ({reason}); one ends {_end(unread[0].text)!r}",
                f"ask for a line that it knows: {_FORMS.get(what, 'see docs/solver.md')} (docs/solver.md)",
            )


def _end(text: str) -> str:
    """Return the last line of a reply, cut to what fits a message."""
    said = text.strip().rpartition("\n")[2]
    return said if len(said) <= 60 else f"{said[:59]}…"
