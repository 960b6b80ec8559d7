"""Debates that met a different view, and what came of them (CortexDebate, Tables 3 and 4)."""

from __future__ import annotations

import numpy as np

from cortexdsl.analysis.metrics.view import Graded


def dvc(view: Graded) -> float:
    """DVC: kept edges, over all rounds, whose two agents disagreed before the round.

    DVC = sum over rounds d >= 1 and kept edges u -> v of [a_u != a_v], a the latest answers before round d. A pair
    with an unreadable answer holds no two views and is not counted. CortexDebate (Table 3) only names the figure;
    protocols have to decide, and ours count so.
    """
    count = 0
    for talk in view.talks:
        start = next(turn.turn for turn in view.answers[talk.round] if turn.round == talk.round)
        before = {turn.speaker: turn.answer for turn in view.debate.turns[:start] if turn.reads == "answer"}
        code: dict[str | None, int] = {None: -1}  # views as numbers: hundreds of agents make a hundred thousand edges
        said = np.array([code.setdefault(before.get(name), len(code)) for name in talk.speakers])[:, None]
        held = np.array([code.setdefault(before.get(name), len(code)) for name in talk.listeners])[None, :]
        count += int((talk.heard & (said != held) & (said >= 0) & (held >= 0)).sum())
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
    return sum(int(talk.heard.sum()) for talk in view.talks) / len(view.debaters)
