"""The shape of who hears whom: density, reciprocity, and how much of the hearing goes to one voice."""

from __future__ import annotations

from collections import Counter

import numpy as np

from cortexdsl.analysis.metrics.view import Graded, Talk


def talk_density(talk: Talk) -> float | None:
    """Kept edges over possible edges of one round, oneself apart; None where no edge is possible."""
    return float(talk.heard.sum() / talk.possible) if talk.possible else None


def talk_reciprocity(talk: Talk) -> float | None:
    """Share of kept edges u -> v for which v -> u is kept too (networkx's overall reciprocity); None without edges."""
    edges = int(talk.heard.sum())
    rows = {name: k for k, name in enumerate(talk.speakers)}
    both = [(rows[name], k) for k, name in enumerate(talk.listeners) if name in rows]
    among = talk.heard[np.ix_([row for row, _ in both], [column for _, column in both])]
    return float((among & among.T).sum() / edges) if edges else None


def density(view: Graded) -> float | None:
    """Mean density of the debate's rounds; None where debaters never heard each other directly."""
    return _mean([talk_density(talk) for talk in view.talks])


def reciprocity(view: Graded) -> float | None:
    """Mean reciprocity of the debate's rounds that have edges."""
    return _mean([talk_reciprocity(talk) for talk in view.talks])


def most_heard(view: Graded) -> float | None:
    """Share of all kept edges that start at the agent heard most: 1/n where all are heard alike, 1 for one voice."""
    times: Counter[str] = Counter()
    for talk in view.talks:
        times.update(dict(zip(talk.speakers, talk.heard.sum(axis=1).tolist(), strict=True)))
    return max(times.values()) / times.total() if times.total() else None


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
