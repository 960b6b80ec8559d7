"""What follows from what agents have answered, reviewed and chosen so far, name by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from cortexdsl.debate.talk.judged import mean_score, share_of, standing
from cortexdsl.debate.talk.transcript import NOT_READ, chosen_among, read_of
from cortexdsl.debate.weights.scene import Scene
from cortexdsl.terms import Floats, Turn

Steps: TypeAlias = tuple[str, ...]
"""The steps that a name is made of; none: all that read it."""


def _last(scene: Scene) -> list[Turn | None]:
    last = {turn.speaker: turn for turn in scene.transcript.answers(-1)}
    return [last.get(name) for name in scene.names]


def _confidence(scene: Scene) -> Floats:
    return np.array([turn.confidence or 0.0 if turn else 0.0 for turn in _last(scene)])


def _peer_score(scene: Scene, name: str, steps: Steps) -> float:
    """Return the mean score that the last reviews gave an agent, in [0, 1]; 0 where none could be read."""
    reviews = [t for t in scene.transcript.turns if t.reads == "review" and t.about == name]
    return mean_score(standing(reviews, scene.transcript.said(name), steps))


def _score(scene: Scene, speaker: str, listener: str, steps: Steps) -> float:
    """Return the mean score that a listener's last reviews gave a speaker; 0 where none could be read."""
    reviews = [t for t in scene.transcript.about(listener, speaker) if t.reads == "review"]
    return mean_score(standing(reviews, scene.transcript.said(speaker), steps))


def support(scene: Scene) -> Floats:
    """Return the share of those who debate whose last answer is each one's own; 0 where it is unreadable."""
    answers = [turn.answer if turn else None for turn in _last(scene)]
    counts = Counter(answers)
    return np.array([0.0 if answer is None else counts[answer] / len(answers) for answer in answers])


def constancy(given: Sequence[Turn]) -> float:
    """Return the share of an agent's answers that are its most frequent readable one; 0 where there is none."""
    counts = Counter(turn.answer for turn in given if turn.answer is not None)
    return max(counts.values(), default=0) / len(given) if given else 0.0


def changes(given: Sequence[Turn]) -> int:
    """Return how often an agent's answer was another than the one before."""
    return sum(one.answer != other.answer for one, other in pairwise(given))


def _chosen(scene: Scene, name: str, steps: Steps) -> float:
    """Return the share of the last readable choices that an agent stood in which named it; 1 where there is none.

    It stood in a choice whose maker was shown words of it, also in its own.
    """
    turns = scene.transcript.turns
    stood = [t for t in turns if read_of(t, "choice") is not NOT_READ and name in _shown(t, turns)]
    return share_of(standing(stood, scene.transcript.said(name), steps), name)


def _shown(turn: Turn, turns: Sequence[Turn]) -> set[str]:
    return {turns[number].speaker for number in chosen_among(turn, turns)}


def _each(compute: Callable[[Scene, str], float]) -> Callable[[Scene], Floats]:
    return lambda scene: np.array([float(compute(scene, name)) for name in scene.names])


def _pairs(compute: Callable[[Scene, str, str], float]) -> Callable[[Scene], Floats]:
    def all_of(scene: Scene) -> Floats:
        found = [[float(compute(scene, u, v)) for v in scene.names] for u in scene.names]
        return np.array(found).reshape(len(scene.names), len(scene.names))

    return all_of


def _changed(scene: Scene, name: str) -> float:
    return float(changes(scene.transcript.history(name)[-2:]))


def _differs(scene: Scene) -> Floats:
    answers = [turn.answer if turn else None for turn in _last(scene)]
    return np.array([[float(one != other) for other in answers] for one in answers]).reshape(len(answers), len(answers))


def _same_group(scene: Scene, speaker: str, listener: str) -> float:
    return float(any(speaker in group and listener in group for group in scene.groups))


def _previous(scene: Scene) -> Floats:
    """Return each edge's weight when the step was last spoken in which it had one; 1 before."""
    place = {name: k for k, name in enumerate(scene.names)}
    found = np.ones((len(place), len(place)))
    for graph in scene.transcript.graphs:
        if graph.step == scene.step and graph.weight is not None:
            for row, u in enumerate(graph.speakers):
                for column, v in enumerate(graph.listeners):
                    if u in place and v in place and not np.isnan(graph.weight[row, column]):
                        found[place[u], place[v]] = graph.weight[row, column]
    return found


def _chance(scene: Scene) -> Floats:
    generator = scene.chance()
    drawn = {name: generator.random() for name in scene.transcript.principal}
    return np.array([drawn[name] for name in scene.names])


SAID: Mapping[str, Callable[[Scene], Floats]] = {
    "confidence": _confidence,
    "support": support,
    "constancy": _each(lambda scene, name: constancy(scene.transcript.history(name))),
    "changes": _each(lambda scene, name: changes(scene.transcript.history(name))),
    "changed": _each(_changed),
    "place": lambda scene: np.arange(1.0, len(scene.names) + 1),
    "differs": _differs,
    "same_group": _pairs(_same_group),
    "previous": _previous,
    "chance": _chance,
}
"""How what depends on the debate so far is computed; each only where an expression names it."""

SAID_IN: Mapping[str, Callable[[Scene, Steps], Floats]] = {
    "peer_score": lambda scene, steps: _each(lambda scene, name: _peer_score(scene, name, steps))(scene),
    "chosen": lambda scene, steps: _each(lambda scene, name: _chosen(scene, name, steps))(scene),
    "score": lambda scene, steps: _pairs(lambda scene, u, v: _score(scene, u, v, steps))(scene),
}
"""Likewise what is made of what was read in some steps, or in all."""
