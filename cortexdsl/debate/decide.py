"""How a debate becomes one answer."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from cortexdsl.debate.roles import opens_round, players
from cortexdsl.debate.weights.ballots import weights_of
from cortexdsl.terms import Decide, Method, Turn


@dataclass(frozen=True, slots=True)
class Decision:
    """An answer (None: there is none), the votes by answer, and whether the vote was tied."""

    answer: str | None
    votes: Mapping[str, float] = field(default_factory=dict)
    was_tied: bool = False


def decide(
    method: Method, turns: Sequence[Turn], members: Sequence[str], chance: Callable[[], random.Random]
) -> Decision:
    """Decide a debate as its method says.

    Parameters
    ----------
    method : Method
        With its roles filled as they are at the end.
    turns : sequence of Turn
        All of the debate.
    members : sequence of str
        Those who debate at its end, and vote: with their last answers, or with all of them.
    chance : callable
        Gives the generator of a draw between tied answers.
    """
    rule = method.decide
    if rule.rule == "last" and rule.role is not None:
        said = [turn for turn in turns if turn.reads == "answer" and method.steps[turn.step].role == rule.role]
        still = players(method, rule.role)  # of whom a choice has put out of the role, nothing stands
        answer = next((turn.answer for turn in reversed(said) if turn.speaker in still), None)
        if answer is not None or rule.otherwise == "none":
            return Decision(answer)
        rule = Decide(rule.otherwise, fallback=rule.fallback)
    rounds = {name for name, step in method.steps.items() if opens_round(method, step)}
    answers = [turn for turn in turns if turn.speaker in members and turn.step in rounds]
    ends = {turn.speaker: turn.execution for turn in answers}
    last = [turn for turn in answers if turn.execution == ends[turn.speaker]]
    if rule.rule in ("first", "last"):
        return Decision(last[0 if rule.rule == "first" else -1].answer if last else None)
    if rule.rule == "vote":
        return weigh(answers, weights_of(method, turns, answers, members), rule, last, chance)
    return vote(last, rule, chance)


def vote(turns: Sequence[Turn], rule: Decide, chance: Callable[[], random.Random]) -> Decision:
    """Take a majority or confidence-weighted vote.

    Unreadable answers abstain. A tie goes to the highest summed recalibrated confidence (to the most votes where
    confidences are the votes), then to a seeded draw.

    Parameters
    ----------
    turns : sequence of Turn
        The last answers.
    rule : Decide
        `majority` or `weighted`; with `fallback` `none` there is no answer where all of several voters differ.
    chance : callable
        Gives the generator of the draw; called only when it is needed.
    """
    counts, trust = tally(turns)
    if not counts:
        return Decision(None)
    votes, other = (trust, counts) if rule.rule == "weighted" else (counts, trust)
    return _elected(votes, other, counts, rule, chance)


def weigh(
    turns: Sequence[Turn],
    weights: Sequence[float],
    rule: Decide,
    last: Sequence[Turn],
    chance: Callable[[], random.Random],
) -> Decision:
    """Sum the weights of all answers; the highest sum wins, ties as in every vote, by the confidence of last answers.

    Parameters
    ----------
    turns : sequence of Turn
        Answers of all rounds.
    weights : sequence of float
        One each.
    rule : Decide
    last : sequence of Turn
        The last answers among them.
    chance : callable
    """
    votes: dict[str, float] = {}
    for turn, weight in zip(turns, weights, strict=True):
        if turn.answer is not None:
            votes[turn.answer] = votes.get(turn.answer, 0.0) + weight
    if not votes:
        return Decision(None)
    none = dict.fromkeys(votes, 0.0)  # of an answer that nobody gave last
    counts, trust = tally(last)
    return _elected(votes, none | trust, none | counts, rule, chance)


def tally(turns: Sequence[Turn]) -> tuple[dict[str, float], dict[str, float]]:
    """Count who gave each readable answer, and sum up their recalibrated confidences; who stated none has 0."""
    counts: dict[str, float] = {}
    trust: dict[str, float] = {}
    for turn in turns:
        if turn.answer is not None:
            counts[turn.answer] = counts.get(turn.answer, 0.0) + 1.0
            trust[turn.answer] = trust.get(turn.answer, 0.0) + (turn.confidence or 0.0)
    return counts, trust


def highest(values: Mapping[str, float], among: Collection[str]) -> list[str]:
    """Return the answers with the highest value, sorted, so that no order of agents shows; equal up to rounding."""
    most = max((values[answer] for answer in among), default=0.0)
    return sorted(answer for answer in among if values[answer] >= most - 1e-9)


def _elected(
    votes: Mapping[str, float],
    other: Mapping[str, float],
    counts: Mapping[str, float],
    rule: Decide,
    chance: Callable[[], random.Random],
) -> Decision:
    tied = highest(votes, votes)
    if len(tied) == 1:
        return Decision(tied[0], votes)
    if rule.fallback == "none" and max(counts.values()) <= 1.0:
        return Decision(None, votes, was_tied=True)
    finalists = highest(other, tied)
    answer = finalists[0] if len(finalists) == 1 else chance().choice(finalists)
    return Decision(answer, votes, was_tied=True)
