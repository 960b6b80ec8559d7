"""Ranked ballots: what replies rank, and who wins them, by Borda count and by instant runoff."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cortexdsl.core import OTHERS, RANKED, Method, Turn
from cortexdsl.engine.state import (
    NOT_READ,
    TURN,
    choice_options,
    last_of_each_step,
    reading_of,
)


@dataclass(frozen=True, slots=True)
class RankedBallot:
    """A readable ranking.

    Attributes
    ----------
    places : tuple of str
        Candidates, the best first, each once.
    candidates : frozenset of str
        All that could be ranked. Those without a place share the points and places that are left.
    """

    places: tuple[str, ...]
    candidates: frozenset[str]


def rankings(turns: Iterable[Turn]) -> list[Turn]:
    """Return the turns whose step reads a ranking, readable or not."""
    return [turn for turn in turns if reading_of(turn, "ranking") is not NOT_READ]


def ranked_agents(choice: Turn, turns: Sequence[Turn]) -> RankedBallot | None:
    """Return a ranking of agents, or of the agents whose turns it ranks; None if it is unreadable."""
    options = choice_options(choice, turns)
    named = {f"{TURN}{number}": turns[number].speaker for number in options}
    return _ranking(choice, named, {turns[number].speaker for number in options})


def ranked_answers(choice: Turn, turns: Sequence[Turn], method: Method) -> RankedBallot | None:
    """Return a ranking of answers, or of the answers of the agents or turns that it ranks; None if it is unreadable."""
    if method.steps[choice.step].chooses == "answers":
        return _ranking(choice, {}, set())
    options = [turns[number] for number in choice_options(choice, turns)]
    answers = {key: turn.answer for turn in options for key in (turn.speaker, f"{TURN}{turn.turn}")}
    return _ranking(choice, answers, {answer for answer in answers.values() if answer is not None})


def _ranking(choice: Turn, named: Mapping[str, str | None], candidates: set[str]) -> RankedBallot | None:
    written = reading_of(choice, "ranking")
    if written is None:
        return None
    places = [named.get(name, name) for name in str(written).split(RANKED) if name != OTHERS]
    ranked = tuple(dict.fromkeys(place for place in places if place is not None))
    return RankedBallot(ranked, frozenset(candidates.union(ranked)))


def last_ballots(turns: Sequence[Turn], method: Method) -> list[RankedBallot]:
    """Return the readable ballots on answers: those of the last execution of each step that reads rankings."""
    ballots = (ranked_answers(turn, turns, method) for turn in last_of_each_step(rankings(turns)))
    return [ballot for ballot in ballots if ballot is not None]


def among_all(ballots: Sequence[RankedBallot]) -> list[RankedBallot]:
    """Return ballots with the same candidates: all that one of them could rank."""
    candidates = frozenset[str]().union(*(ballot.candidates for ballot in ballots))
    return [RankedBallot(ballot.places, candidates) for ballot in ballots]


def borda(ballots: Sequence[RankedBallot]) -> dict[str, float]:
    """Return the Borda count of each candidate (Borda 1781).

    Of m candidates, the first gets m - 1 points from a ballot, the next m - 2, the last none. Candidates without a
    place get the mean of the points that are left.
    """
    points: dict[str, float] = {}
    for ballot in ballots:
        left = len(ballot.candidates) - len(ballot.places)
        given = dict.fromkeys(ballot.candidates, (left - 1) / 2)
        given |= {name: len(ballot.candidates) - 1.0 - place for place, name in enumerate(ballot.places)}
        points = {name: points.get(name, 0.0) + given.get(name, 0.0) for name in {**points, **given}}
    return points


def runoff(ballots: Sequence[RankedBallot]) -> tuple[list[str], dict[str, float]]:
    """Return the winners of an instant runoff, several if they are tied, and the votes of the last count.

    Each ballot is a vote for its first candidate that is still in. If no candidate has more than half of the votes,
    the one with the fewest is out, of several that with the fewest points by Borda's count, and all of them if these
    are equal, too. A ballot all of whose candidates are out no longer counts.
    """
    points = borda(ballots)
    left = set(points)
    while True:
        firsts = (next((name for name in ballot.places if name in left), None) for ballot in ballots)
        counted = Counter(name for name in firsts if name is not None)
        votes = {name: float(counted[name]) for name in sorted(left)}
        leader = max(votes, key=votes.__getitem__, default="")
        if leader and 2 * votes[leader] > sum(votes.values()):
            return [leader], votes
        fewest = min(((votes[name], points[name]) for name in left), default=None)
        out = {name for name in left if (votes[name], points[name]) == fewest}
        if out == left:
            return sorted(left), votes
        left -= out
