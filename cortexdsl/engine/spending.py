"""What a debate has spent so far, for conditions and weights: calls, tokens and dollars."""

from __future__ import annotations

from collections.abc import Sequence

from cortexdsl.core import AnyCall, Method, ProbeCall, ToolUse, Turn
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
    spent = {"calls": float(len(calls)), "tokens": float(sum(sum(_tokens(call)) for call in calls))}
    return spent | {"dollars": sum(_dollars(method, turn) for turn in turns)} if is_priced else spent


def _tokens(call: AnyCall) -> tuple[int, int]:
    """Return the tokens of a prompt and of its reply, 0 for those that the server did not count."""
    return call.prompt_tokens or 0, call.completion_tokens or 0


def _dollars(method: Method, turn: Turn) -> float:
    """Return what the calls of a turn cost; tools are free."""
    step, verifier = method.steps[turn.step], method.confidence.verifier
    players = [agent for role_agents in method.role_agents.values() for agent in role_agents]
    own = step.model_of(next(agent for agent in players if agent.name == turn.speaker))
    spent = 0.0
    for call in turn.calls:
        model = verifier or own if isinstance(call, ProbeCall) else own
        if model.is_tool or isinstance(call, ToolUse):
            continue
        if model.name not in method.charged:
            raise DebateError(f"an expression uses dollars, which needs a price in the entry of model {model.name}")
        spent += method.charged[model.name].dollars(*_tokens(call))
    return spent
