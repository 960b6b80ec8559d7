"""What the names of the expression language are worth at one moment of a debate."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from cortexdsl.debate import mdm
from cortexdsl.debate.roles import opens_round
from cortexdsl.debate.transcript import NOT_READ, Transcript, last_execution, read_of
from cortexdsl.debate.views import Quotes
from cortexdsl.errors import DebateError
from cortexdsl.terms import Agent, Bools, Floats, Graph, Method, OfRole, Similarity, Turn

ASKED = "asked"
"""The similarity that is read from a step's replies, in place of one that is computed from the texts."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What an expression looks at.

    Attributes
    ----------
    method : Method
    agents : tuple of Agent
        The n who debate now, in order.
    transcript : Transcript
    groups : sequence of sequence of str
    similarity : Similarity
        Asked only where an expression uses similarity or intimacy.
    quotes : Quotes
        What of each turn there is to hear.
    chance : callable
        Gives the generator of what is drawn here.
    step : str
        Whose edges are weighed; may be empty.
    """

    method: Method
    agents: tuple[Agent, ...]
    transcript: Transcript
    groups: Sequence[Sequence[str]]
    similarity: Similarity
    quotes: Quotes
    chance: Callable[[], random.Random]
    step: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of those who debate."""
        return tuple(agent.name for agent in self.agents)

    def rounds(self) -> list[dict[str, Turn]]:
        """Return the answers that stood after each round, by debater; the last of several draws."""
        return [{turn.speaker: turn for turn in self.transcript.answers(r)} for r in range(self.transcript.round)]

    def spoke(self, rounds: Sequence[Mapping[str, Turn]]) -> Bools:
        """Return whether there was anything to hear, (rounds, n)."""
        said = [[name in turns and self.quotes.has_words(turns[name]) for name in self.names] for turns in rounds]
        return np.array(said, dtype=bool).reshape(len(rounds), len(self.names))


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
        found["similarity"] = await _similarity(scene, scene.rounds())
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
    names, rounds = scene.names, scene.rounds()
    confidences = np.array(
        [[_number(turns[name].confidence) if name in turns else np.nan for name in names] for turns in rounds],
        dtype=float,
    ).reshape(len(rounds), len(names))
    found: dict[str, Floats] = {}
    if all(agent.model.parameters and agent.model.tokens for agent in scene.agents):
        found["credibility"] = mdm.credibility(
            [agent.model.parameters or 0.0 for agent in scene.agents],
            [agent.model.tokens or 0.0 for agent in scene.agents],
        )
    elif "credibility" in used:
        raise DebateError("the weight uses credibility, which needs parameters and tokens of every model entry")
    found["reliability"] = mdm.reliability(confidences) if rounds else np.zeros(len(names))
    return found | {name: compute(scene) for name, compute in _SAID.items() if name in used}


def of_debate(scene: Scene, used: frozenset[str]) -> dict[str, float]:
    """Compute what an expression uses of the debate as a whole."""
    transcript, count = scene.transcript, len(scene.agents)
    found = {"round": float(transcript.round), "n_agents": float(count)}
    if "agreement" in used:
        found["agreement"] = max(_support(scene), default=0.0)
    if "consensus" in used:
        found["consensus"] = float(transcript.is_consensus())
    if "agreed" in used:
        found["agreed"] = float(transcript.is_agreed())
    return found


async def values(scene: Scene, used: frozenset[str], *, listening: bool = False) -> dict[str, Any]:
    """Return the values of names in the shapes that expressions compute with.

    What belongs to an agent is a column, one a speaker; `listening`: a row, so that what is reduced over speakers
    stands beside it. What belongs to the debate is a number.
    """
    if not used - {"round", "n_agents", "agreement", "consensus", "agreed"}:
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


async def _similarity(scene: Scene, rounds: Sequence[Mapping[str, Turn]]) -> Floats:
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
    rows = [everybody.index(name) for name in names]
    cosines = [matrix[np.ix_(rows, rows)] for matrix in transcript.cosines]
    return mdm.similarity(cosines, scene.spoke(rounds))


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


# ---------------------------------------------------------------- what was said
def _last(scene: Scene) -> list[Turn | None]:
    last = {turn.speaker: turn for turn in scene.transcript.answers(-1)}
    return [last.get(name) for name in scene.names]


def _confidence(scene: Scene) -> Floats:
    return np.array([turn.confidence or 0.0 if turn else 0.0 for turn in _last(scene)])


def _peer_score(scene: Scene) -> Floats:
    """Return the mean score that the last reviews gave each agent, in [0, 1]; 0 where none could be read."""

    def one(name: str) -> float:
        reviews = last_execution([t for t in scene.transcript.turns if t.reads == "review" and t.about == name])
        scores = [turn.confidence for turn in reviews if turn.confidence is not None]
        return float(np.mean(scores)) if scores else 0.0

    return np.array([one(name) for name in scene.names])


def _support(scene: Scene) -> Floats:
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


def chosen(turns: Sequence[Turn], name: str) -> float:
    """Return the share of the last readable choices that an agent stood in which named it; 1 where there is none.

    It stood in a choice whose maker was shown words of it.
    """
    stood = [t for t in turns if read_of(t, "choice") is not NOT_READ and name in _shown(t, turns)]
    last = [read_of(turn, "choice") for turn in last_execution(stood)]
    read = [str(choice).split(", ") for choice in last if choice is not None]
    return sum(name in names for names in read) / len(read) if read else 1.0


def _shown(turn: Turn, turns: Sequence[Turn]) -> set[str]:
    return {turns[number].speaker for number in turn.heard}


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


def _score(scene: Scene, speaker: str, listener: str) -> float:
    reviews = [t for t in scene.transcript.about(listener, speaker) if t.reads == "review"]
    return (reviews[-1].confidence or 0.0) if reviews else 0.0


def _same_group(scene: Scene, speaker: str, listener: str) -> float:
    return float(any(speaker in group and listener in group for group in scene.groups))


def _previous(scene: Scene) -> Floats:
    """Return each edge's weight when the step was last spoken in which it had one; 1 before."""
    names = scene.names
    found = np.ones((len(names), len(names)))
    for graph in scene.transcript.graphs:
        if graph.step == scene.step and graph.weight is not None:
            for row, u in enumerate(graph.speakers):
                for column, v in enumerate(graph.listeners):
                    if u in names and v in names and not np.isnan(graph.weight[row, column]):
                        found[names.index(u), names.index(v)] = graph.weight[row, column]
    return found


def _chance(scene: Scene) -> Floats:
    generator = scene.chance()
    drawn = {name: generator.random() for name in scene.transcript.principal}
    return np.array([drawn[name] for name in scene.names])


_SAID: Mapping[str, Callable[[Scene], Floats]] = {
    "confidence": _confidence,
    "peer_score": _peer_score,
    "support": _support,
    "constancy": _each(lambda scene, name: constancy(scene.transcript.history(name))),
    "changes": _each(lambda scene, name: changes(scene.transcript.history(name))),
    "changed": _each(_changed),
    "chosen": _each(lambda scene, name: chosen(scene.transcript.turns, name)),
    "place": _each(lambda scene, name: scene.transcript.numbers[name]),
    "differs": _differs,
    "score": _pairs(_score),
    "same_group": _pairs(_same_group),
    "previous": _previous,
    "chance": _chance,
}
"""How what depends on the debate so far is computed; each only where an expression names it."""
