"""The most that a plan allows one question: rounds, calls, and tokens that models write."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from cortexdsl.debate.adapt import with_draws, with_pool
from cortexdsl.debate.engine import debate
from cortexdsl.models.keys import call_key
from cortexdsl.plan.cost.passages import passages_for
from cortexdsl.plan.cost.rehearse import renderer
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.rehearsal.estimate import Rehearsal, longest
from cortexdsl.plan.rehearsal.lengths import Lengths
from cortexdsl.spec.claims.language import parse_claim
from cortexdsl.spec.claims.metric_names import bound_of
from cortexdsl.terms import Call, Cell, Reply

_REHEARSED = 500_000  # tokens: longer replies are not made up to see how long the prompts become that show them


@dataclass(slots=True)
class _Counted(Rehearsal):
    """Made-up hands that keep every call, also those that are the same as another."""

    asked: list[Call] = field(default_factory=list)

    async def ask(self, call: Call) -> Reply:
        """Keep the call and make up a reply."""
        self.asked.append(call)
        return await Rehearsal.ask(self, call)


def most_of_question(plan: Plan) -> dict[str, Mapping[str, float]]:
    """Return, for each cell, the most that one question can take, found by rehearsing a debate that never ends early.

    Returns
    -------
    mapping of cell name to mapping
        `rounds` and `calls`, as the metrics of these names count them; `output_tokens`, the sum of `max_tokens` over
        the calls, if every model has it; `input_tokens` and `total_tokens`, by the prompts that show replies as long
        as that, at four characters a token. Empty if no claim and no metric of the plan is about any of these.
    """
    named = {*plan.metrics, *(metric for claim in plan.hypotheses for metric in parse_claim(claim).metrics)}
    if not any(map(bound_of, named)):
        return {}
    return {cell.name: _most(plan, cell) for cell in plan.cells}


def _most(plan: Plan, cell: Cell) -> dict[str, float]:
    found = [asyncio.run(_rehearsed(plan, cell, label)) for label in plan.tasks]
    kinds = set(found[0]).intersection(*found[1:])
    return {kind: max(one[kind] for one in found) for kind in sorted(kinds)}


async def _rehearsed(plan: Plan, cell: Cell, dataset: str) -> dict[str, float]:
    task, method = plan.tasks[dataset], with_pool(cell.debate, passages_for(plan, cell))
    question = max(task.questions, key=lambda question: len(question.text) + len(question.context))
    if budget := plan.budget_of(cell):
        method = with_draws(method, int((await _rehearsed(plan, budget, dataset))["calls"]))
    hands = _Counted(renderer(plan.templates, task))
    made = await debate(longest(method), question, hands.hands(), seed=plan.seed, replicate=1)
    calls = sum(1 + len(turn.asides) for turn in made.turns)
    written = [call.model for call in hands.asked if not call.model.is_tool]
    limits = [int(model.options.get("max_tokens", 0)) for model in written]
    found = {"rounds": float(made.rounds), "calls": float(calls)}
    if 0 in limits:  # a model may write as much as it likes
        return found
    output = float(sum(limits))
    found["output_tokens"] = output
    if output > _REHEARSED:
        return found
    hands = _Counted(renderer(plan.templates, task), Lengths(_REHEARSED))
    await debate(longest(method), question, hands.hands(), seed=plan.seed, replicate=1)
    found["input_tokens"] = float(sum(hands.calls[call_key(call)].input_tokens for call in hands.asked))
    return found | {"total_tokens": found["input_tokens"] + output}
