"""Counts that a method leaves no choice: every debate has the same number of rounds and calls."""

from __future__ import annotations

from cortexdsl.plan.rehearsal.explain import calls_of, fewer, rehearsed
from cortexdsl.terms import Cell


def fixed_counts(cell: Cell) -> dict[str, float]:
    """Return the rounds and calls of every debate of a cell, if the plan fixes them.

    It does if no loop ends early and no choice silences anybody. Nothing is returned for a cell whose number of draws
    follows from another cell's records, or that uses tools or measures confidences: the number of calls then depends on
    the replies.
    """
    method = cell.debate
    if cell.match or fewer(method) or any(agent.model.is_tool for cast in method.cast.values() for agent in cast):
        return {}
    example = rehearsed(method)
    if any(turn.asides for turn in example.turns):
        return {}
    return {"rounds": float(example.rounds), "calls": float(calls_of(example))}
