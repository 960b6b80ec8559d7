"""How many rounds of files the debates of a plan may need: the longest chain of calls that wait for each other."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from cortexdsl.core import Call, Reply
from cortexdsl.engine.methods import with_pool, with_samples
from cortexdsl.models.endpoints.retry import ATTEMPTS
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.forecast.cost import renderer
from cortexdsl.plan.forecast.matches import passages_for
from cortexdsl.plan.rehearsal.estimate import Rehearsal
from cortexdsl.tasks.task import Task

MORE = ATTEMPTS[FailureKind.MALFORMED] - 1
"""Rounds after the longest chain, in which calls without a reply are asked again."""


@dataclass(slots=True)
class ChainRehearsal(Rehearsal):
    """Counts the calls to engines that wait for each other.

    Attributes
    ----------
    longest : int
    """

    longest: int = 0

    async def ask(self, call: Call) -> Reply:
        """Make up a reply after all calls that are made at the same time."""
        level = self.longest
        reply = await Rehearsal.ask(self, call)
        await asyncio.sleep(0)
        if call.model.engine is not None:
            self.longest = max(self.longest, level + 1)
        return reply


def rounds_of(plan: Plan) -> int:
    """Return the rounds of files of a plan: its longest chain, judges after it, and those that ask again.

    0 without engines.
    """
    if not plan.engines:
        return 0
    more = MORE + any(judge.engine is not None for judge in plan.judges)
    with ThreadPoolExecutor(1) as thread:  # a plan may be compiled inside a running event loop
        return more + max(
            chain for task in plan.tasks.values() for chain in thread.submit(asyncio.run, _chains(plan, task)).result()
        )


async def _chains(plan: Plan, task: Task) -> list[int]:
    """Return the longest chain of each cell, in a debate of full length about the first question."""
    render, question = renderer(plan.templates, task), task.questions[0]
    chains: dict[str, tuple[int, int]] = {}
    for cell in sorted(plan.cells, key=lambda cell: cell.match is not None):
        method, before = with_pool(cell.debate, passages_for(plan, cell)), 0
        other = plan.budget_of(cell)
        if other is not None:
            before, calls = chains[other.slug]
            method = with_samples(method, max(1, calls))
        rehearsal = ChainRehearsal(render, questions=task.questions)
        await rehearsal.debate(method, question, seed=plan.seed)
        chains[cell.slug] = before + rehearsal.longest, len(rehearsal.calls)
    return [chain for chain, _ in chains.values()]
