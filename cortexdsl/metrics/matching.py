"""Matched budgets: a debate that costs what another debate of the same question did, in any unit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from cortexdsl.core import FREE, Cell, Debate, DebateCosts, Match, Method, Model
from cortexdsl.core.metrics import METRICS
from cortexdsl.engine.growth import Growth, grow_to
from cortexdsl.engine.methods import match_budget, with_each_model, with_samples
from cortexdsl.errors import InputError
from cortexdsl.metrics.budgets import OPERATIONS
from cortexdsl.metrics.registry import find_measures
from cortexdsl.metrics.view import view_debate
from cortexdsl.models.known_models import parameters_per_token
from cortexdsl.models.transports.prices import known_price

MOST_SAMPLES = 1_000
"""The most samples that a matched budget may buy."""


@dataclass(frozen=True, slots=True)
class DebateBudget:
    """What a debate spent, which another one may spend, too.

    Attributes
    ----------
    debate : Debate
    spent : float
        In the unit of the match.
    """

    debate: Debate
    spent: float

    @property
    def prompt_tokens(self) -> float:
        """Mean prompt of its opening: about what the prompt of a single answer takes."""
        opening = [turn.prompt_tokens or 0 for turn in self.debate.turns if turn.round == 0]
        return sum(opening) / max(1, len(opening))


@dataclass(frozen=True, slots=True)
class MatchedDebate:
    """A debate at the size that a budget buys.

    Attributes
    ----------
    debate : Debate
    method : Method
    size : str
        The setting that grew, and its value: `samples 12`.
    """

    debate: Debate
    method: Method
    size: str


def spent_in(debate: Debate, unit: str, costs: DebateCosts) -> float | None:
    """Return what a debate cost in a unit, which is the name of a metric; None if that is not known."""
    (measure,) = find_measures([METRICS[unit]]).values()
    return measure(view_debate(debate, lambda question, answer: 0.0, costs))


def budget_in(debate: Debate, match: Match, costs: DebateCosts) -> DebateBudget:
    """Return the budget of a debate for a match.

    Raises
    ------
    InputError
        What it cost in this unit is not known.
    """
    spent = spent_in(debate, match.metric, costs)
    if spent is None:
        raise InputError(
            f"match: {{{match.unit}: {match.cell}}}: what question {debate.question_id!r} cost there is not known\n"
            f"    {_LACKING.get(match.metric, 'its server counts no tokens: match calls instead')}"
        )
    return DebateBudget(debate, spent)


_LACKING = {
    "dollars": "give every model a price: {input: DOLLARS, output: DOLLARS}",
    "compute": "give every model its parameters:, and of a mixture of experts active_parameters:",
    "critical_path": "the call log of its debates is missing",
}


async def run_within(
    cell: Cell,
    method: Method,
    budget: DebateBudget,
    run: Callable[[Method], Awaitable[Debate]],
    costs_of: Callable[[Debate], DebateCosts],
    chance: float = 0.5,
) -> MatchedDebate:
    """Run the debate of a matched cell that costs what another debate did.

    Parameters
    ----------
    cell : Cell
        With a match.
    method : Method
        Of the cell, as it runs.
    budget : DebateBudget
    run : callable
        Runs a debate of a method.
    costs_of : callable
        What is known of the calls of a debate.
    chance : float
        A uniform draw from [0, 1), by which a budget between two sizes is rounded; 0.5: to the nearer one.
    """
    match = cell.match
    assert match is not None
    if not match.grow:
        sampled = match_budget(method, budget.debate, "calls" if match.unit == "calls" else "tokens")
        draws = max(step.samples for step in sampled.steps.values())
        return MatchedDebate(await run(sampled), sampled, f"samples {draws}")
    if match.is_thought:
        thinking, tokens = with_thought(method, match, budget)
        return MatchedDebate(await run(thinking), thinking, f"{match.grow} {tokens:,}")
    growth = growth_of(cell, method)
    grown = await grow_to(
        budget.spent, growth, run, lambda debate: budget_in(debate, match, costs_of(debate)).spent, chance
    )
    value = cell.steps[grown.step - 1].value if cell.steps else grown.step
    return MatchedDebate(grown.debate, growth.step(grown.step) or method, f"{match.grow} {value}")


def growth_of(cell: Cell, method: Method) -> Growth:
    """Return the sizes of a matched cell: its steps, or any number of samples."""
    if cell.steps:
        return Growth(lambda step: cell.steps[step - 1].method if step <= len(cell.steps) else None)
    return Growth(lambda step: with_samples(method, step) if step <= MOST_SAMPLES else None, is_linear=True)


# ---------------------------------------------------------------- one long thought
def with_thought(method: Method, match: Match, budget: DebateBudget) -> tuple[Method, int]:
    """Return a method whose model may write as many tokens as a budget buys, and their number."""
    _, entry, *route = match.grow.split(".")
    route = route[1:] if route[0] == "options" else route
    models = [model for model in method.models if model.name == entry]
    tokens = affordable_tokens(models[0], match.metric, budget)
    return with_option(method, entry, route, tokens), tokens


def affordable_tokens(model: Model, unit: str, budget: DebateBudget) -> int:
    """Return how many tokens of a reply a budget buys after its prompt, at least 1."""
    prompt, spent = budget.prompt_tokens, budget.spent
    tokens = spent
    if unit == "total_tokens":
        tokens = spent - prompt
    elif unit == "compute":
        tokens = spent / (OPERATIONS * (parameters_per_token(model) or 1.0)) - prompt
    elif unit == "dollars":
        price = known_price(model) or FREE
        tokens = (spent - price.input * prompt) / price.output if price.output else 0.0
    return max(1, round(tokens))


def with_option(method: Method, entry: str, route: list[str], value: object) -> Method:
    """Return a method in which an option of the requests to a model has another value."""

    def changed(model: Model) -> Model:
        return replace(model, options=_put(model.options, route, value)) if model.name == entry else model

    return with_each_model(method, changed)


def _put(options: Mapping[str, Any], route: list[str], value: object) -> Mapping[str, Any]:
    key, *below = route
    inner = options.get(key)
    new = _put(inner if isinstance(inner, Mapping) else {}, below, value) if below else value
    return MappingProxyType({**options, key: new})
