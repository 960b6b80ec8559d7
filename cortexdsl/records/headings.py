"""How the steps of a debate are headed, so that no two are headed alike, and the graph that belongs to each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cortexdsl.terms import Debate, Graph, Turn


def headings(turns: Sequence[Turn]) -> Mapping[int, str]:
    """Return the heading of each execution of a step: `round 1, review`; where that was before, `(time 2)` after it.

    A round is what debaters answer: between two of their answers other steps, or one step again, share a round.
    """
    said: dict[int, str] = {}
    times: dict[tuple[int, str], int] = {}
    for turn in turns:
        if turn.execution not in said:
            times[turn.round, turn.step] = time = times.get((turn.round, turn.step), 0) + 1
            said[turn.execution] = f"round {turn.round}, {turn.step}{f' (time {time})' if time > 1 else ''}"
    return said


def graphs_by_execution(debate: Debate) -> Mapping[int, Graph]:
    """Return the graph of each execution that has one: those of one step in one round are in the order of speaking."""
    waiting: dict[tuple[int, str], list[Graph]] = {}
    for graph in reversed(debate.graphs):
        waiting.setdefault((graph.round, graph.step), []).append(graph)
    found: dict[int, Graph] = {}
    for turn in debate.turns:
        if turn.execution not in found and (graphs := waiting.get((turn.round, turn.step))):
            found[turn.execution] = graphs.pop()
    return found
