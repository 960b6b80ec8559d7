"""Debates that met a different view, and what came of them (CortexDebate, Tables 3 and 4)."""

from __future__ import annotations

from cortexdsl.analysis.metrics.view import Graded


def dvc(view: Graded) -> float:
    """DVC: kept edges, over all rounds, whose two agents disagreed before the round.

    DVC = sum over rounds d >= 1 and kept edges u -> v of [a_u != a_v], a the latest answers before round d. A pair
    with an unreadable answer holds no two views and is not counted. CortexDebate (Table 3) only names the figure;
    protocols have to decide, and ours count so.
    """
    count = 0
    for graph in view.graphs():
        before = {name: turn.answer for name, turn in view.before(graph.round).items()}
        for speaker, listener in view.edges(graph):
            said, held = before.get(speaker), before.get(listener)
            count += said is not None and held is not None and said != held
    return float(count)


def cvr(view: Graded) -> float:
    """CVR: turns in which an agent that was wrong became right (an unreadable answer is wrong).

    CVR = sum over rounds d >= 1 and agents of [wrong in its answer before d][right in d]. CortexDebate (Table 3)
    only names the figure.
    """
    return float(sum(not view.is_right(old.answer) and view.is_right(new.answer) for old, new in view.revisions()))


def debates(view: Graded) -> float | None:
    """Average debating number: kept incoming edges over all rounds, averaged over debaters (CortexDebate, Table 4).

    With everyone hearing everyone it is rounds x (n - 1).
    """
    if not view.debaters:
        return None
    return sum(len(view.edges(graph)) for graph in view.graphs()) / len(view.debaters)
