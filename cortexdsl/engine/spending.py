"""What a debate has spent so far, for conditions and weights: calls, tokens and dollars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cortexdsl.core import Agent, AnyCall, Method, ProbeCall, ToolUse, Turn
from cortexdsl.errors import DebateError


def spent_so_far(method: Method, turns: Sequence[Turn], *, is_priced: bool) -> dict[str, float]:
    """Return the calls and tokens of some turns, also of requests for tools and of calls that measure confidences.

    Parameters
    ----------
    method : Method
    turns : sequence of Turn
    is_priced : bool
        Whether to add dollars, at the prices that the method names.

    Raises
    ------
    DebateError
        A model has no price.
    """
    calls = [call for turn in turns for call in turn.calls]
    spent = {"calls": float(len(calls)), "tokens": float(tokens_of(calls))}
    if is_priced:
        players = {agent.name: agent for role_agents in method.role_agents.values() for agent in role_agents}
        spent["dollars"] = sum(_dollars(method, players[turn.speaker], turn) for turn in turns)
    return spent


def tokens_of(calls: Iterable[AnyCall]) -> int:
    """Return the tokens of the prompts and replies of some calls; those that no server counted are 0."""
    return sum((call.prompt_tokens or 0) + (call.completion_tokens or 0) for call in calls)


def _dollars(method: Method, speaker: Agent, turn: Turn) -> float:
    """Return what the calls of a turn cost; tools are free."""
    own, verifier = method.steps[turn.step].model_of(speaker), method.confidence.verifier
    spent = 0.0
    for call in turn.calls:
        model = verifier or own if isinstance(call, ProbeCall) else own
        if model.is_tool or isinstance(call, ToolUse):
            continue
        if model.name not in method.charged:
            raise DebateError(f"an expression uses dollars, which needs a price in the entry of model {model.name}")
        spent += method.charged[model.name].dollars(call.prompt_tokens or 0, call.completion_tokens or 0)
    return spent
