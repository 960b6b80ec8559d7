"""What agents say of each other, as values of the names of expressions: reviews, choices, rankings and verdicts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

import numpy as np

from cortexdsl.core import Method
from cortexdsl.engine.ballots import RankedBallot, borda, ranked_agents, rankings, runoff
from cortexdsl.engine.state import (
    NOT_READ,
    DebateState,
    choice_options,
    current_remarks,
    last_of_each_step,
    mean_number,
    mean_score,
    reading_of,
    share_naming,
)

AgentRemarks: TypeAlias = Callable[[DebateState, Method, str, Collection[str]], float]
PairRemarks: TypeAlias = Callable[[DebateState, str, str, Collection[str]], float]


def _mean_score(state: DebateState, method: Method, name: str, steps: Collection[str]) -> float:
    reviews = [turn for turn in state.turns if turn.reads == "review" and turn.about == name]
    return mean_score(current_remarks(reviews, state.turns_of(name), steps))


def _chosen(state: DebateState, method: Method, name: str, steps: Collection[str]) -> float:
    """Return the share of an agent in the choices whose options it was among, its own choices included."""
    turns = state.turns
    choices = [
        turn
        for turn in turns
        if reading_of(turn, "choice") is not NOT_READ
        and name in {turns[number].speaker for number in choice_options(turn, turns)}
    ]
    return share_naming(current_remarks(choices, state.turns_of(name), steps), turns, name)


def _borda_share(state: DebateState, method: Method, name: str, steps: Collection[str]) -> float:
    """Return the mean share of the points that an agent got in rankings in which it was a candidate; 1 without any."""
    ballots = [ballot for ballot in _of_agent(state, method, name, steps) if name in ballot.candidates]
    shares = [borda([ballot])[name] / max(1, len(ballot.candidates) - 1) for ballot in ballots]
    return float(np.mean(shares)) if shares else 1.0


def _wins_runoff(state: DebateState, method: Method, name: str, steps: Collection[str]) -> float:
    """Return whether an agent wins an instant runoff of the latest rankings, or ties for it; 1 without any."""
    ballots = _of_agent(state, method, name, steps)
    return float(not ballots or name in runoff(ballots)[0])


def _of_agent(state: DebateState, method: Method, name: str, steps: Collection[str]) -> list[RankedBallot]:
    """Return the readable rankings of agents that still hold for an agent: those after the answer that they rank."""
    asked = [turn for turn in rankings(state.turns) if method.steps[turn.step].chooses != "answers"]
    current = current_remarks(asked, state.turns_of(name), steps)
    return [ballot for turn in current if (ballot := ranked_agents(turn, state.turns)) is not None]


def _stated(state: DebateState, method: Method, name: str, steps: Collection[str]) -> float:
    """Return the mean of the latest numbers with a name about an agent; else its own; else those of no debater."""
    (number,) = steps
    given = [turn for turn in state.turns if number in turn.beside]
    about = current_remarks([turn for turn in given if turn.about == name], state.turns_of(name))
    own = [turn for turn in given if turn.speaker == name]
    others = [turn for turn in given if turn.speaker not in state.debaters and turn.about is None]
    return mean_number(about or last_of_each_step(own or others), number)


def _score(state: DebateState, speaker: str, listener: str, steps: Collection[str]) -> float:
    reviews = [turn for turn in state.turns_about(listener, speaker) if turn.reads == "review"]
    return mean_score(current_remarks(reviews, state.turns_of(speaker), steps))


def _accepts(state: DebateState, speaker: str, listener: str, steps: Collection[str]) -> float:
    verdicts = [turn for turn in state.turns_about(listener, speaker) if reading_of(turn, "verdict") is not NOT_READ]
    current = current_remarks(verdicts, state.turns_of(speaker), steps)
    return float(all(reading_of(turn, "verdict") == "agree" for turn in current))


AGENT_REMARKS: Mapping[str, AgentRemarks] = {
    "mean_score": _mean_score, "chosen": _chosen, "borda": _borda_share, "runoff": _wins_runoff, "stated": _stated,
}  # fmt: skip
PAIR_REMARKS: Mapping[str, PairRemarks] = {"score": _score, "accepts": _accepts}
"""Functions of names with a value for each agent, or for each pair of a speaker and a listener; only of some steps if
given."""
