"""Budgets of a debate in other units than tokens: operations, dollars, seconds and calls one after another.

Operations follow the usual estimate of a forward pass, 2 N a token for N parameters (Kaplan et al. 2020, arXiv
2001.08361, section 2.1): of a mixture of experts the parameters that a token uses. What grows with the square of the
length (attention over long prompts) is not in it, nor are batching, quantisation or speculative decoding, which change
time and not this number.

The longest chain: a step begins when the step before it has ended, because its graph, its conditions and the choice of
its speakers are taken from all replies so far. Within a step, a call waits for those of the same step whose words are
in its prompt. A reply waits for the requests of its turn and for their tools. Calls that measure a confidence follow
the reply that they are about, all at once. If a question is handed on, the other debate begins when the first one has
ended. Durations are those of the call log, so that a replay has the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby

from cortexdsl.core import VERIFIER, AnyCall, Debate, Model, ToolRequest, ToolUse, Turn, in_stage, of_step
from cortexdsl.metrics.replies import debate_calls
from cortexdsl.metrics.view import DebateView, by_column

OPERATIONS = 2.0
"""Operations for each parameter and token: one multiplication and one addition."""


def compute(view: DebateView) -> float | None:
    """Operations of all calls: 2 x parameters x (prompt + completion tokens), as if no prompt had been cached.

    None if the parameters of a model are unknown, or a server did not count tokens. Tools need none.
    """
    return _sum(_operations(parameters, _tokens(call)) for call, parameters in _calls_with_sizes(view))


def cached_compute(view: DebateView) -> float | None:
    """The part of `compute` for prompt tokens that servers read from a cache; None if one does not count them."""
    return _sum(_operations(parameters, _cached(view, call)) for call, parameters in _calls_with_sizes(view))


def dollars(view: DebateView) -> float | None:
    """Price of all calls, by the call log; a call that other cells share counts in each. None if one has no price."""
    costs = view.costs.calls
    return _sum(costs[call.call].dollars if call.call in costs else None for call in debate_calls(view.debate))


def critical_path(view: DebateView) -> float | None:
    """Seconds of the longest chain of calls, by the call log: what a user waits whatever the parallelism."""
    costs = view.costs.calls
    known = [costs[call.call].seconds if call.call in costs else None for call in debate_calls(view.debate)]
    if None in known:
        return None
    return chain_of_stages(view.debate, lambda call: costs[call.call].seconds or 0.0)


def depth(view: DebateView) -> float:
    """Calls in the longest chain of calls that depend on each other."""
    return chain_of_stages(view.debate, lambda call: 1.0)


def chain_of_stages(debate: Debate, length: Callable[[AnyCall], float]) -> float:
    """Return the length of the longest chain of calls of a debate and of those that its question was handed on to."""
    return sum(longest_chain(stage.turns, length) for stage in debate.stages)


def longest_chain(turns: Iterable[Turn], length: Callable[[AnyCall], float]) -> float:
    """Return the length of the longest chain of calls, each as long as a function says."""
    begun = 0.0
    for _, step in groupby(turns, key=lambda turn: turn.execution):
        ends: dict[int, float] = {}
        for turn in step:
            start = max((ends[number] for number in (*turn.heard, *turn.recalled) if number in ends), default=begun)
            before = sum(length(each) + max(map(length, _called(each)), default=0.0) for each in turn.requests)
            ends[turn.turn] = start + before + length(turn) + max(map(length, turn.asides), default=0.0)
        begun = max(ends.values())
    return begun


def _called(request: ToolRequest) -> list[ToolUse]:
    """Return the uses of tools that were called; they run at once."""
    return [use for use in request.uses if use.call]


def _calls_with_sizes(view: DebateView) -> Iterator[tuple[AnyCall, float | None]]:
    """Yield each call with the parameters of its model, 0 of a tool."""
    parameters = view.costs.parameters
    for number, stage in enumerate(view.debate.stages):
        models = stage.models_of_turns()
        sizes = {turn.turn: _size(models.get(turn.turn), turn, parameters, number) for turn in stage.turns}
        for turn in stage.turns:
            own = sizes[turn.turn]
            yield turn, own
            yield from ((request, own) for request in turn.requests)
            is_verified = turn.measured is not None and turn.measured.source == "verifier"
            other = parameters.get(in_stage(number, VERIFIER), own) if is_verified else own
            for aside in turn.asides:
                yield aside, other


def _size(model: Model | None, turn: Turn, parameters: Mapping[str, float | None], number: int) -> float | None:
    """Return the parameters of the model of a turn, 0 of a tool: by the plan, else by the record."""
    if model is None or model.is_tool:
        return None if model is None else 0.0
    keys = (in_stage(number, of_step(turn.step)), in_stage(number, turn.speaker))
    return next((parameters[key] for key in keys if key in parameters), model.parameters)


def _operations(parameters: float | None, tokens: int | None) -> float | None:
    if parameters == 0:
        return 0.0
    return None if parameters is None or tokens is None else OPERATIONS * parameters * tokens


def _tokens(call: AnyCall) -> int | None:
    if call.prompt_tokens is None or call.completion_tokens is None:
        return None
    return call.prompt_tokens + call.completion_tokens


def _cached(view: DebateView, call: AnyCall) -> int | None:
    cost = view.costs.calls.get(call.call)
    return None if cost is None else cost.cached_tokens


def _sum(values: Iterable[float | None]) -> float | None:
    """Add up values; None as soon as one is unknown, because a partial sum would look like a saving."""
    known = list(values)
    return None if None in known else float(sum(value for value in known if value is not None))


MEASURES = by_column(compute, cached_compute, dollars, critical_path, depth)
"""The measures of this module, each of the column that has its name."""
