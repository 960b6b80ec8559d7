"""What the names of the expression language are worth at one moment of a debate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from cortexdsl.debate.roles import opens_round
from cortexdsl.debate.talk.transcript import Transcript
from cortexdsl.debate.weights import mdm
from cortexdsl.debate.weights.expressions import named
from cortexdsl.debate.weights.names import OF_DEBATE
from cortexdsl.debate.weights.said import SAID, SAID_IN, support
from cortexdsl.debate.weights.scene import Scene
from cortexdsl.errors import DebateError
from cortexdsl.terms import Bools, Floats, Graph, OfRole

ASKED = "asked"
"""The similarity that is read from a step's replies, in place of one that is computed from the texts."""


async def factors(scene: Scene, used: frozenset[str]) -> dict[str, Floats]:
    """Compute what an expression uses of agents (n,) and pairs (n, n), and what costs nothing besides.

    A record shows all of it.

    Raises
    ------
    DebateError
        A model entry lacks what credibility needs.
    """
    method, names, transcript = scene.method, scene.names, scene.transcript
    heard = [square for graph in transcript.graphs if (square := _debated(scene, graph)) is not None]
    took_part = mdm.participation(heard, method.participation) if heard else np.zeros(len(names))
    found = of_agents(scene, used)
    if used & {"similarity", "intimacy"}:
        found["similarity"] = await _similarity(scene)
        found["intimacy"] = mdm.intimacy(found["similarity"])
    found["participation"] = took_part
    earlier = max(0, transcript.round - 1)
    found["self_orientation"] = mdm.self_orientation(took_part, earlier, method.participation)
    return found


def of_agents(scene: Scene, used: frozenset[str]) -> dict[str, Floats]:
    """Compute what follows from the agents and from what was read of their turns; no graph and no text is looked at.

    Raises
    ------
    DebateError
        A model entry lacks what credibility needs.
    """
    names, rounds = scene.names, scene.rounds
    confidences = np.array(
        [[_number(turns[name].confidence) if name in turns else np.nan for name in names] for turns in rounds],
        dtype=float,
    ).reshape(len(rounds), len(names))
    found: dict[str, Floats] = {}
    models = [agent.model for agent in scene.agents]
    trained = [(model.parameters, model.tokens) for model in models if model.parameters and model.tokens]
    if len(trained) == len(models):
        found["credibility"] = _credibility(tuple(trained))
    elif "credibility" in used:
        raise DebateError("the weight uses credibility, which needs parameters and tokens of every model entry")
    found["reliability"] = mdm.reliability(confidences)
    found |= {name: compute(scene) for name, compute in SAID.items() if name in used}
    asked = {key: named(key) for key in sorted(used)}
    return found | {key: SAID_IN[name](scene, steps) for key, (name, steps) in asked.items() if name in SAID_IN}


@lru_cache
def _credibility(trained: tuple[tuple[float, float], ...]) -> Floats:
    found = mdm.credibility([n for n, _ in trained], [m for _, m in trained])
    found.setflags(write=False)  # debates of the same agents share it
    return found


def of_debate(scene: Scene, used: frozenset[str]) -> dict[str, float]:
    """Compute what an expression uses of the debate as a whole."""
    transcript, count = scene.transcript, len(scene.agents)
    found = {"round": float(transcript.round), "n_agents": float(count)}
    if "agreement" in used:
        found["agreement"] = max(support(scene), default=0.0)
    if "consensus" in used:
        found["consensus"] = float(transcript.is_consensus())
    asked = {key: named(key) for key in used}
    return found | {key: float(transcript.is_agreed(steps)) for key, (name, steps) in asked.items() if name == "agreed"}


async def values(scene: Scene, used: frozenset[str], *, listening: bool = False) -> dict[str, Any]:
    """Return the values of names in the shapes that expressions compute with.

    What belongs to an agent is a column, one a speaker; `listening`: a row, so that what is reduced over speakers
    stands beside it. What belongs to the debate is a number.
    """
    if {named(key)[0] for key in used} <= OF_DEBATE.keys():
        return dict(of_debate(scene, used))
    return shaped(await factors(scene, used), listening=listening) | of_debate(scene, used)


def shaped(found: Mapping[str, Floats], *, listening: bool = False) -> dict[str, Any]:
    """Return factors as columns (or rows) and matrices."""

    def one(array: Floats) -> Floats:
        return array if array.ndim == 2 else array[None, :] if listening else array[:, None]

    return {name: one(array) for name, array in found.items()}


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _debated(scene: Scene, graph: Graph) -> Bools | None:
    """Return who heard whom of those who debate now in a graph of their answers; None for any other graph.

    Reviews are no debate, nor is an opening by turns; where roles are heard, outsiders may be among them.
    """
    step, names = scene.method.steps[graph.step], scene.names
    if graph.round == 0 or step.reads != "answer":
        return None
    if graph.speakers == graph.listeners == names:
        return graph.heard
    if isinstance(step.hears, OfRole) or not opens_round(scene.method, step):
        return None
    place = {name: k for k, name in enumerate(names)}
    square = np.zeros((len(names), len(names)), dtype=bool)
    for row, speaker in enumerate(graph.speakers):
        for column, listener in enumerate(graph.listeners):
            if speaker in place and listener in place:
                square[place[speaker], place[listener]] = graph.heard[row, column]
    return square


async def _similarity(scene: Scene) -> Floats:
    transcript, names = scene.transcript, scene.names
    if scene.method.similarity == ASKED:
        return _asked_similarity(transcript, names)
    everybody = transcript.principal
    for round_ in range(len(transcript.cosines), transcript.round):
        texts = transcript.texts(round_)
        matrix = np.zeros((len(everybody), len(everybody)))  # who had not answered is left out of every mean
        rows = [everybody.index(name) for name in texts]
        matrix[np.ix_(rows, rows)] = await scene.similarity(scene.method.similarity, list(texts.values()))
        transcript.cosines.append(matrix)
    cosines: Sequence[Floats] = transcript.cosines
    if names != everybody:
        here = np.ix_(*[[everybody.index(name) for name in names]] * 2)
        cosines = [matrix[here] for matrix in cosines]
    return mdm.similarity(cosines, scene.spoke)


def _asked_similarity(transcript: Transcript, names: Sequence[str]) -> Floats:
    """Return each pair's mean over the similarities that were read so far, in [0, 1].

    What could not be read is left out of the mean; a pair of which nothing could be has the mean of all others.
    """
    place = {name: k for k, name in enumerate(names)}
    total, read = np.zeros((len(names), len(names))), np.zeros((len(names), len(names)))
    for turn in transcript.turns:
        heard = [transcript.turns[number].speaker for number in turn.heard] if turn.reads == "similarity" else []
        pair = [place[name] for name in heard if name in place]
        if turn.confidence is not None and len(pair) == len(heard) == 2:
            for one, other in (pair, pair[::-1]):
                total[one, other] += turn.confidence
                read[one, other] += 1
    return mdm.mean_of_pairs(total, read)
