"""The values of the names of the expression language at one moment of a debate.

`cortexdsl.expressions.names` declares the names. A new one needs an entry there and its computation here.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any, TypeAlias

import numpy as np

from cortexdsl.core import (
    SIMILARITY_FROM_REPLIES,
    Agent,
    Bools,
    Floats,
    Graph,
    Method,
    OfRole,
    Similarity,
    Turn,
)
from cortexdsl.engine import formulas
from cortexdsl.engine.messages import QuotedTurns
from cortexdsl.engine.methods import opens_round
from cortexdsl.engine.remarks import AGENT_REMARKS, PAIR_REMARKS, AgentRemarks, PairRemarks
from cortexdsl.engine.spending import spent_so_far
from cortexdsl.engine.state import DebateState
from cortexdsl.errors import DebateError
from cortexdsl.expressions.evaluation import LAST_PASS, earlier_key, split_key
from cortexdsl.expressions.names import OF_AGENT, OF_DEBATE, VARS

Steps: TypeAlias = tuple[str, ...]
"""The steps whose readings a name is computed from; empty: all."""


@dataclass(frozen=True)
class Snapshot:
    """State from which the names of an expression are computed; shared computations are done once.

    Attributes
    ----------
    method : Method
    agents : tuple of Agent
        The n remaining debaters, in order.
    state : DebateState
    groups : sequence of sequence of str
    similarity : Similarity
        Called only if an expression uses similarity or intimacy.
    quotes : QuotedTurns
    chance : callable
        Returns the generator of this moment's draws.
    step : str
        The step whose edges get weights; may be empty.
    passes : tuple of int
        The first execution of each pass of the loop that is running.
    """

    method: Method
    agents: tuple[Agent, ...]
    state: DebateState
    groups: Sequence[Sequence[str]]
    similarity: Similarity
    quotes: QuotedTurns
    chance: Callable[[], random.Random]
    step: str = ""
    passes: tuple[int, ...] = ()
    _earlier: dict[int, Snapshot] = field(default_factory=dict)

    def before(self, execution: int) -> Snapshot:
        """Return the state before an execution of a step, of the agents that debate now."""
        if execution not in self._earlier:
            turns = [turn for turn in self.state.turns if turn.execution < execution]
            rounds = [number for number in self.state.rounds if number < execution]
            state = DebateState.of_turns(turns, rounds, self.state.debaters, self.state.remaining)
            state.cosines.extend(self.state.cosines[: len(rounds)])
            self._earlier[execution] = replace(self, state=state, _earlier={})
        return self._earlier[execution]

    def last_pass(self) -> Snapshot:
        """Return the state at the end of the pass before this one; before the loop in its first, of now outside."""
        return replace(self.before(self.passes[-1]), passes=self.passes[:-1]) if self.passes else self

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the agents."""
        return tuple([agent.name for agent in self.agents])

    @cached_property
    def rounds(self) -> tuple[dict[str, Turn], ...]:
        """The current answers after each round, by debater; the last of several draws."""
        answers = map(self.state.answers, range(self.state.round))
        return tuple([{turn.speaker: turn for turn in turns} for turns in answers])

    @cached_property
    def has_words(self) -> Bools:
        """Whether each agent's current answer after each round has words that others can hear, (rounds, n)."""
        has_words, names = self.quotes.has_words, self.names
        rows = [[name in turns and has_words(turns[name]) for name in names] for turns in self.rounds]
        return np.array(rows, dtype=bool).reshape(len(rows), len(names))

    @cached_property
    def last_answers(self) -> tuple[Turn | None, ...]:
        """Each agent's last answer."""
        last = {turn.speaker: turn for turn in self.state.answers(-1)}
        return tuple(last.get(name) for name in self.names)


async def name_values(now: Snapshot, keys: frozenset[str], *, as_rows: bool = False) -> dict[str, Any]:
    """Return the values of the names of an expression, in the shapes that expressions compute with.

    A name of an agent gives a column, one value per speaker; with `as_rows`, a row, which is the shape of values that
    are reduced over speakers. A name of the debate gives a number.
    """
    if {split_key(key)[0] for key in keys} <= OF_DEBATE.keys():
        return dict(debate_values(now, keys))
    return as_columns(await edge_factors(now, keys), as_rows=as_rows) | debate_values(now, keys)


async def _earlier_values(now: Snapshot, key: str, function: str) -> Floats:
    """Return the earlier value of a name: of an agent before its last answer, of a pair before the last round.

    An agent with one answer, or none, has the value of now, and so have pairs in a debate without two rounds.
    """
    name, _ = split_key(key)
    if function == LAST_PASS:
        return (await edge_factors(now.last_pass(), frozenset({key})))[key]
    if name not in OF_AGENT:
        past = now.before(now.state.rounds[-1]) if now.state.round > 1 else now
        return (await edge_factors(past, frozenset({key})))[key]
    values = np.zeros(len(now.names))
    histories = [now.state.answer_history(agent) for agent in now.names]
    for execution in {given[-1].execution if len(given) > 1 else None for given in histories}:
        past = now if execution is None else now.before(execution)
        of_all = (await edge_factors(past, frozenset({key})))[key]
        rows = [(given[-1].execution if len(given) > 1 else None) == execution for given in histories]
        values[rows] = of_all[rows]
    return values


def as_columns(factors: Mapping[str, Floats], *, as_rows: bool = False) -> dict[str, Any]:
    """Return factors as columns (or rows) and matrices."""
    place = (None, slice(None)) if as_rows else (slice(None), None)
    return {name: array if array.ndim == 2 else array[place] for name, array in factors.items()}


async def edge_factors(now: Snapshot, keys: frozenset[str]) -> dict[str, Floats]:
    """Compute the names of an expression that belong to agents (n,) and pairs (n, n), and further ones for the record.

    Raises
    ------
    DebateError
        A model entry lacks what credibility needs.
    """
    graphs = [heard for graph in now.state.graphs if (heard := _debate_edges(now, graph)) is not None]
    none = np.zeros(len(now.names))
    participation, hearing = formulas.participation(graphs) if graphs else (none, none)
    factors = agent_values(now, keys)
    if keys & {"similarity", "intimacy"}:
        factors["similarity"] = await _similarity(now)
        factors["intimacy"] = formulas.intimacy(factors["similarity"])
    factors["participation"] = participation
    factors["self_orientation"] = formulas.self_orientation(participation, max(0, now.state.round - 1))
    if "times_hearing" in keys:
        factors["times_hearing"] = hearing
    for key in sorted(keys):
        inner = earlier_key(key)
        if inner == "weight":
            factors[key] = _earlier_weights(now)
        elif inner is not None and split_key(key)[0] not in OF_DEBATE:
            factors[key] = await _earlier_values(now, inner, key.partition("(")[0])
    return factors


def agent_values(now: Snapshot, keys: frozenset[str]) -> dict[str, Floats]:
    """Compute the names of an expression that follow from agents and from readings of turns, not from graphs or texts.

    Raises
    ------
    DebateError
        A model entry lacks what credibility needs.
    """
    factors: dict[str, Floats] = {}
    sizes = [(agent.model.parameters, agent.model.tokens) for agent in now.agents]
    known = [(parameters, tokens) for parameters, tokens in sizes if parameters and tokens]
    if len(known) == len(sizes):
        factors["credibility"] = _credibility(tuple(known))
    elif "credibility" in keys:
        raise DebateError("the weight uses credibility, which needs parameters and tokens of every model entry")
    factors["reliability"] = formulas.reliability(_confidences(now))
    factors |= {name: compute(now) for name, compute in _VALUES.items() if name in keys}
    for key in sorted(keys):
        name, steps = split_key(key)
        if name in _STEP_VALUES and earlier_key(key) is None:
            factors[key] = _STEP_VALUES[name](now, steps)
        elif name == VARS:
            factors[key] = np.array([agent.vars[steps[0]] for agent in now.agents])
    return factors


def debate_values(now: Snapshot, keys: frozenset[str]) -> dict[str, float]:
    """Compute the names of an expression that belong to the debate."""
    values = {"round": float(now.state.round), "n_agents": float(len(now.agents))}
    if "agreement" in keys:
        values["agreement"] = max(_support(now), default=0.0)
    if keys & {"calls", "tokens", "dollars"}:
        values |= spent_so_far(now.method, now.state.turns, is_priced="dollars" in keys)
    if "entropy" in keys:
        values["entropy"] = formulas.entropy([turn.answer if turn else None for turn in now.last_answers])
    if "consensus" in keys:
        values["consensus"] = float(now.state.is_consensus())
    for key in keys:
        name, steps = split_key(key)
        inner = earlier_key(key)
        if name == "approved" and inner is None:
            values[key] = float(now.state.is_agreed(steps))
        elif name in OF_DEBATE and inner is not None:
            past = now.before(now.state.rounds[-1]) if now.state.round > 1 else now
            past = now.last_pass() if key.startswith(LAST_PASS) else past
            values[key] = debate_values(past, frozenset({inner}))[inner]
    return values


# ------------------------------------------------------------ names that follow from answers, reviews and choices
def _per_agent(compute: Callable[[Snapshot, str], float]) -> Callable[[Snapshot], Floats]:
    return lambda now: np.array([float(compute(now, name)) for name in now.names])


def _per_pair(compute: Callable[[Snapshot, str, str], float]) -> Callable[[Snapshot], Floats]:
    def pairs(now: Snapshot) -> Floats:
        rows = [[float(compute(now, speaker, listener)) for listener in now.names] for speaker in now.names]
        return np.array(rows).reshape(len(now.names), len(now.names))

    return pairs


def _confidences(now: Snapshot) -> Floats:
    """Return the (rounds, n) confidences of current answers, NaN if there is none."""

    def confidence(turn: Turn | None) -> float:
        return np.nan if turn is None or turn.confidence is None else turn.confidence

    rows = [[confidence(turns.get(name)) for name in now.names] for turns in now.rounds]
    return np.array(rows, dtype=float).reshape(len(rows), len(now.names))


def _confidence(now: Snapshot) -> Floats:
    return np.array([turn.confidence or 0.0 if turn else 0.0 for turn in now.last_answers])


def _support(now: Snapshot) -> Floats:
    answers = [turn.answer if turn else None for turn in now.last_answers]
    counts = Counter(answers)
    return np.array([0.0 if answer is None else counts[answer] / len(answers) for answer in answers])


def _stability(now: Snapshot, name: str) -> float:
    answers = now.state.answer_history(name)
    counts = Counter(turn.answer for turn in answers if turn.answer is not None)
    return max(counts.values(), default=0) / len(answers) if answers else 0.0


def _differs(now: Snapshot) -> Floats:
    answers = [turn.answer if turn else None for turn in now.last_answers]
    return np.array([[float(one != other) for other in answers] for one in answers]).reshape(len(answers), len(answers))


def answer_codes(turns: Sequence[Turn]) -> dict[str | None, float]:
    """Return a number for each answer, in the order of speaking: later answers do not change it."""
    given = dict.fromkeys(turn.answer for turn in turns if turn.reads == "answer" and turn.answer is not None)
    return {None: 0.0, **{answer: float(k) for k, answer in enumerate(given, 1)}}


def _answer(now: Snapshot) -> Floats:
    codes = answer_codes(now.state.turns)
    return np.array([codes[turn.answer] if turn else codes[None] for turn in now.last_answers])


def _belief(now: Snapshot) -> Floats:
    def given(speaker: Turn | None, listener: Turn | None) -> float:
        if speaker is None or listener is None or speaker.answer is None:
            return 0.0
        return listener.belief.get(speaker.answer, 0.0)

    turns = now.last_answers
    rows = [[given(speaker, listener) for listener in turns] for speaker in turns]
    return np.array(rows, dtype=float).reshape(len(turns), len(turns))


def _same_group(now: Snapshot, speaker: str, listener: str) -> float:
    return float(any(speaker in group and listener in group for group in now.groups))


def _earlier_weights(now: Snapshot) -> Floats:
    """Return each edge's weight in the last execution of the step in which it had one; 1 before."""
    place = {name: k for k, name in enumerate(now.names)}
    weights = np.ones((len(place), len(place)))
    for graph in now.state.graphs:
        if graph.step == now.step and graph.weight is not None:
            for row, u in enumerate(graph.speakers):
                for column, v in enumerate(graph.listeners):
                    if u in place and v in place and not np.isnan(graph.weight[row, column]):
                        weights[place[u], place[v]] = graph.weight[row, column]
    return weights


def _random(now: Snapshot) -> Floats:
    generator = now.chance()
    draws = {name: generator.random() for name in now.state.debaters}  # of all, so that none depends on who has left
    return np.array([draws[name] for name in now.names])


def _of_agents(compute: AgentRemarks, now: Snapshot, steps: Steps) -> Floats:
    return _per_agent(lambda now, name: compute(now.state, now.method, name, steps))(now)


def _of_pairs(compute: PairRemarks, now: Snapshot, steps: Steps) -> Floats:
    return _per_pair(lambda now, speaker, listener: compute(now.state, speaker, listener, steps))(now)


_VALUES: Mapping[str, Callable[[Snapshot], Floats]] = {
    "confidence": _confidence,
    "support": _support,
    "stability": _per_agent(_stability),
    "length": lambda now: np.array([float(len(turn.text.split())) if turn else 0.0 for turn in now.last_answers]),
    "answer": _answer,
    "position": lambda now: np.arange(1.0, len(now.names) + 1),
    "differs": _differs,
    "belief": _belief,
    "same_group": _per_pair(_same_group),
    "random": _random,
}
"""Each is computed only if an expression names it."""

_STEP_VALUES: Mapping[str, Callable[[Snapshot, Steps], Floats]] = {
    **{name: partial(_of_agents, compute) for name, compute in AGENT_REMARKS.items()},
    **{name: partial(_of_pairs, compute) for name, compute in PAIR_REMARKS.items()},
}
"""Functions of the names that are computed from the readings of some steps."""


# ------------------------------------------------------------ factors of CortexDebate
@lru_cache
def _credibility(sizes: tuple[tuple[float, float], ...]) -> Floats:
    values = formulas.credibility([parameters for parameters, _ in sizes], [tokens for _, tokens in sizes])
    values.setflags(write=False)  # debates of the same agents share it
    return values


def _debate_edges(now: Snapshot, graph: Graph) -> Bools | None:
    """Return the (n, n) edges between agents of a graph of a round of debate; None for other graphs.

    Reviews are not debate, nor is an opening in turns; graphs of named roles count only between debaters.
    """
    step, names = now.method.steps[graph.step], now.names
    if graph.round == 0 or step.reads != "answer":
        return None
    if graph.speakers == graph.listeners == names:
        return graph.heard
    if isinstance(step.hears, OfRole) or not opens_round(now.method, step):
        return None
    place = {name: k for k, name in enumerate(names)}
    square = np.zeros((len(names), len(names)), dtype=bool)
    for row, speaker in enumerate(graph.speakers):
        for column, listener in enumerate(graph.listeners):
            if speaker in place and listener in place:
                square[place[speaker], place[listener]] = graph.heard[row, column]
    return square


async def _similarity(now: Snapshot) -> Floats:
    state, names = now.state, now.names
    if now.method.similarity == SIMILARITY_FROM_REPLIES:
        return _read_similarity(state, names)
    everybody = state.debaters
    for round_ in range(len(state.cosines), state.round):
        texts = state.answer_texts(round_)
        matrix = np.zeros((len(everybody), len(everybody)))  # `has_words` excludes agents without an answer
        rows = [everybody.index(name) for name in texts]
        matrix[np.ix_(rows, rows)] = await now.similarity(now.method.similarity, list(texts.values()))
        state.cosines.append(matrix)
    cosines: Sequence[Floats] = state.cosines
    if names != everybody:
        remaining = np.ix_(*[[everybody.index(name) for name in names]] * 2)
        cosines = [matrix[remaining] for matrix in cosines]
    return formulas.similarity(cosines, now.has_words)


def _read_similarity(state: DebateState, names: Sequence[str]) -> Floats:
    """Return each pair's mean over the similarities that were read from replies so far, in [0, 1].

    A pair without a readable similarity gets the mean of all others.
    """
    place = {name: k for k, name in enumerate(names)}
    total, count = np.zeros((len(names), len(names))), np.zeros((len(names), len(names)))
    for turn in state.turns:
        heard = [state.turns[number].speaker for number in turn.heard] if turn.reads == "similarity" else []
        pair = [place[name] for name in heard if name in place]
        if turn.confidence is not None and len(pair) == len(heard) == 2:
            for one, other in (pair, pair[::-1]):
                total[one, other] += turn.confidence
                count[one, other] += 1
    return formulas.mean_of_pairs(total, count)
