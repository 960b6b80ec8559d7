"""A sparse graph for one step: factors, weights and the edges that are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cortexdsl.debate import mdm
from cortexdsl.debate.expressions import Expression, evaluate, parse
from cortexdsl.debate.keep import kept
from cortexdsl.debate.transcript import Transcript
from cortexdsl.debate.views import Quotes
from cortexdsl.errors import DebateError
from cortexdsl.terms import Agent, Bools, Floats, Graph, Method, Similarity, Sparse, Step, Turn

ASKED = "asked"
"""The similarity that is read from a step's replies, in place of one that is computed from the texts."""

COLUMN = frozenset({"credibility", "reliability", "self_orientation", "participation", "confidence", "peer_score"})


async def sparse_graph(
    method: Method,
    step: Step,
    topology: Sparse,
    agents: Sequence[Agent],
    transcript: Transcript,
    cosines: Similarity,
    quotes: Quotes,
) -> Graph:
    """Weigh every edge between the principal agents and keep some (CortexDebate, steps 1 and 2 of a round).

    Only who has something to say is a candidate: an agent whose last reply was empty has no weight, and a listener's
    threshold is worked out over the others.

    Parameters
    ----------
    method, step, topology
        Whose weight and keep rule apply.
    agents : sequence of Agent
        The n principal agents, in order.
    transcript : Transcript
        With at least the opening.
    cosines : Similarity
        Asked only where the weight uses similarity or intimacy.
    quotes : Quotes
        What of each turn there is to hear.

    Raises
    ------
    DebateError
        A weight is not a number: names the round, the speaker and the factors that made it so.
    """
    if not transcript.round:
        raise DebateError(f"step {step.name!r} weighs what agents have answered before anybody has")
    expression = parse(topology.weight)
    names = tuple(agent.name for agent in agents)
    rounds = [{turn.speaker: turn for turn in transcript.answers(r)} for r in range(transcript.round)]
    spoke = np.array([[quotes.has_words(turns[name]) for name in names] for turns in rounds], dtype=bool)
    factors = await _factors(method, agents, transcript, cosines, expression.names, rounds, spoke)
    count = len(agents)
    values: dict[str, Floats | float] = {
        name: array[:, None] if name in COLUMN else array for name, array in factors.items()
    }
    values |= {"round": float(transcript.round), "n_agents": float(count)}
    weight = np.array(np.broadcast_to(evaluate(expression, values), (count, count)), dtype=float)
    possible = ~np.eye(count, dtype=bool) & spoke[-1][:, None]
    if not np.isfinite(weight[possible]).all():
        speaker = names[int(np.argwhere(~np.isfinite(weight) & possible)[0][0])]
        row = {name: array[names.index(speaker)] for name, array in factors.items() if array.ndim == 1}
        raise DebateError(_not_a_number(expression, transcript.round, speaker, row))
    weight[~possible] = np.nan
    return Graph(transcript.round, step.name, names, names, weight, kept(weight, topology.keep), factors)


def _not_a_number(expression: Expression, round_: int, speaker: str, factors: Mapping[str, float]) -> str:
    made_of = ", ".join(f"{name} {value:g}" for name, value in factors.items() if name in expression.names)
    what = f"round {round_}: the weight of agent {speaker!r} is not a finite number: {expression.text}"
    what += f" with {made_of}" if made_of else ""
    if "self_orientation" not in expression.names:
        return what
    return (
        f"{what}; self_orientation is 0 for everybody in round 1 and for an agent that all others have heard: "
        "divide by (self_orientation + 1), as the built-in protocol does"
    )


async def _factors(
    method: Method,
    agents: Sequence[Agent],
    transcript: Transcript,
    cosines: Similarity,
    used: frozenset[str],
    rounds: Sequence[Mapping[str, Turn]],
    spoke: Bools,
) -> dict[str, Floats]:
    """Compute what the weight uses, and what costs nothing besides: the record shows it.

    `rounds` holds the answers of each round so far by agent, `spoke` (rounds, n) whether there was anything to hear.
    """
    names = tuple(agent.name for agent in agents)
    confidences = np.array(
        [[_number(turns[name].confidence) for name in names] for turns in rounds], dtype=float
    ).reshape(len(rounds), len(names))
    heard = [g.heard for g in transcript.graphs if g.speakers == g.listeners == names and _is_debate(method, g)]
    took_part = mdm.participation(heard, method.participation) if heard else np.zeros(len(names))
    factors: dict[str, Floats] = {}
    if all(agent.model.parameters and agent.model.tokens for agent in agents):
        factors["credibility"] = mdm.credibility(
            [agent.model.parameters or 0.0 for agent in agents], [agent.model.tokens or 0.0 for agent in agents]
        )
    factors["reliability"] = mdm.reliability(confidences)
    if used & {"similarity", "intimacy"}:
        if method.similarity == ASKED:
            factors["similarity"] = _asked_similarity(transcript, names)
        else:
            for turns in rounds[len(transcript.cosines) :]:
                transcript.cosines.append(await cosines(method.similarity, [turns[name].text for name in names]))
            factors["similarity"] = mdm.similarity(transcript.cosines, spoke)
        factors["intimacy"] = mdm.intimacy(factors["similarity"])
    factors["participation"] = took_part
    factors["self_orientation"] = mdm.self_orientation(took_part, len(rounds) - 1, method.participation)
    if "confidence" in used:
        factors["confidence"] = np.nan_to_num(confidences[-1], nan=0.0)
    if "peer_score" in used:
        factors["peer_score"] = np.array([_peer_score(transcript, name) for name in names])
    missing = used - factors.keys() - {"round", "n_agents"}
    if missing:
        raise DebateError(
            f"the weight uses {', '.join(sorted(missing))}, which needs parameters and tokens of every model entry"
        )
    return factors


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _is_debate(method: Method, graph: Graph) -> bool:
    """Say whether a graph is one of answers after the opening: reviews are no debate, nor is an opening by turns."""
    return graph.round > 0 and method.steps[graph.step].reads == "answer"


def _asked_similarity(transcript: Transcript, names: Sequence[str]) -> Floats:
    """Return each pair's mean over the similarities that were read so far, in [0, 1].

    What could not be read is left out of the mean; a pair of which nothing could be has the mean of all others.
    """
    place = {name: k for k, name in enumerate(names)}
    total, read = np.zeros((len(names), len(names))), np.zeros((len(names), len(names)))
    for turn in transcript.turns:
        pair = [place[transcript.turns[number].speaker] for number in turn.heard] if turn.reads == "similarity" else []
        if turn.confidence is not None and len(pair) == 2:
            for one, other in (pair, pair[::-1]):
                total[one, other] += turn.confidence
                read[one, other] += 1
    return mdm.mean_of_pairs(total, read)


def _peer_score(transcript: Transcript, name: str) -> float:
    """Return the mean score that the last reviews gave an agent, in [0, 1]; 0 where none could be read."""
    reviews = [t for t in transcript.turns if t.reads == "review" and t.about == name]
    scores = [t.confidence for t in reviews if t.execution == reviews[-1].execution and t.confidence is not None]
    return float(np.mean(scores)) if scores else 0.0
