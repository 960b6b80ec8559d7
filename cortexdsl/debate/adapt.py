"""A method for one question or job: with the budget it is matched to, the passages of its pool, its tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from cortexdsl.terms import Agent, Aside, Debate, Method, Turn


def matched(method: Method, budget: Debate, unit: Literal["calls", "tokens"]) -> Method:
    """Return a sampling method with as many draws as another debate of the same question spent.

    In calls the match is exact. In tokens the draws are as many as the debate's tokens hold of its opening answers
    (mean prompt and completion tokens of a turn in round 0), at least one: what a sample will cost is not known
    before it is drawn. Calls that measure a confidence are spent, too, by either.
    """
    turns = budget.turns
    draws = max(1, sum(1 + len(turn.asides) for turn in turns) // (1 + method.confidence.calls))
    if unit == "tokens":
        spent = [_tokens(turn) + sum(map(_tokens, turn.asides)) for turn in turns]
        opening = [tokens for turn, tokens in zip(turns, spent, strict=True) if turn.round == 0]
        one = sum(opening) / max(1, len(opening))
        draws = round(sum(spent) / one) if one else draws
    return with_draws(method, draws)


def _tokens(call: Turn | Aside) -> int:
    return (call.prompt_tokens or 0) + (call.completion_tokens or 0)


def with_draws(method: Method, draws: int) -> Method:
    """Return a sampling method with `draws` replies to a call in the steps that sample.

    Those are the steps that draw several replies; where none does, because it was set to one, all that answer.
    """
    sampling = {name for name, step in method.steps.items() if step.draws > 1}
    sampling = sampling or {name for name, step in method.steps.items() if step.reads == "answer"}
    steps = {name: replace(step, draws=draws) if name in sampling else step for name, step in method.steps.items()}
    return replace(method, steps=steps)


def with_pool(method: Method, passages: Sequence[Any]) -> Method:
    """Return a method whose steps are handed passages in place of the names of their sources."""
    steps = {
        name: replace(step, material={**step.material, "pool": tuple(passages)}) if "pool" in step.material else step
        for name, step in method.steps.items()
    }
    return replace(method, steps=steps)


def with_identities(method: Method, identities: Mapping[str, str]) -> Method:
    """Return a method whose tools say what their replies depend on, so that no other reply is taken for theirs.

    Parameters
    ----------
    method : Method
    identities : mapping of a tool's name to str
    """

    def told(agent: Agent) -> Agent:
        identity = identities.get(agent.model.name) if agent.model.is_tool else None
        if identity is None:
            return agent
        return replace(agent, model=replace(agent.model, options={**agent.model.options, "identity": identity}))

    cast = {role: tuple(map(told, agents)) for role, agents in method.cast.items()}
    return replace(method, cast=cast)
