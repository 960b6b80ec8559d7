"""Decide on the one answer of a debate: the last answer of a role, or a vote."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType

import numpy as np

from cortexdsl.core import Decide, Floats, Method, Turn, canonical_value, number_of, trimmed_mean
from cortexdsl.engine.ballots import among_all, borda, last_ballots, runoff
from cortexdsl.engine.methods import debating_agents, opens_round, players
from cortexdsl.engine.name_values import Snapshot, agent_values, answer_codes
from cortexdsl.engine.state import DebateState, names_turns, share_of_turn
from cortexdsl.errors import DebateError
from cortexdsl.expressions.evaluation import earlier_key, evaluate, parse, split_key
from cortexdsl.expressions.names import ANSWER, HAVE_EARLIER

Chance = Callable[[], random.Random]
"""Returns the generator of a draw between tied answers."""


@dataclass(frozen=True, slots=True)
class Decision:
    """An answer (None: there is none), the votes by answer, and whether the vote was tied."""

    answer: str | None
    votes: Mapping[str, float] = field(default_factory=dict)
    was_tied: bool = False


def decide(method: Method, turns: Sequence[Turn], voters: Sequence[str], chance: Chance) -> Decision:
    """Decide a debate by the rule of its method.

    Parameters
    ----------
    method : Method
        With its roles as they are at the end.
    turns : sequence of Turn
        All turns of the debate.
    voters : sequence of str
        The debaters at its end. They vote with their last answers, or with all of them.
    chance : Chance
    """
    rule = method.decide
    if rule.rule == "last" and rule.role is not None:
        answers = [turn for turn in turns if turn.reads == "answer" and method.steps[turn.step].role == rule.role]
        current = players(method, rule.role)  # answers of agents that have left the role do not count
        answer = next((turn.answer for turn in reversed(answers) if turn.speaker in current), None)
        if answer is not None or rule.otherwise == "none":
            return Decision(answer)
        rule = Decide(rule.otherwise, tie=rule.tie)
    answers = answers_of(method, turns, voters)
    return DECISION_RULES[rule.rule].decide(Answers(answers, last_of(answers), rule, method, turns, voters, chance))


@dataclass(frozen=True, slots=True)
class Answers:
    """What a rule decides by.

    Attributes
    ----------
    all, last : sequence of Turn
        The answers of the voters in all rounds, and their last ones.
    rule : Decide
    method, turns, voters, chance
        As in `decide`.
    """

    all: Sequence[Turn]
    last: Sequence[Turn]
    rule: Decide
    method: Method
    turns: Sequence[Turn]
    voters: Sequence[str]
    chance: Chance


@dataclass(frozen=True, slots=True)
class DecisionRule:
    """The declaration of a rule that decides by the voters' answers.

    Attributes
    ----------
    decide : callable
    is_word : bool
        Whether its name is a word of `decide:`; a rule with a value has a form of its own.
    """

    decide: Callable[[Answers], Decision]
    is_word: bool = False


def answers_of(method: Method, turns: Sequence[Turn], voters: Sequence[str]) -> list[Turn]:
    """Return the answers of some debaters in all rounds, in order of speaking."""
    rounds = {name for name, step in method.steps.items() if opens_round(method, step)}
    return [turn for turn in turns if turn.speaker in voters and turn.step in rounds]


def last_of(answers: Sequence[Turn]) -> list[Turn]:
    """Return the last answer of each debater; all of them if it gave several at once."""
    ends = {turn.speaker: turn.execution for turn in answers}
    return [turn for turn in answers if turn.execution == ends[turn.speaker]]


def numeric_decision(answers: Sequence[str | None], share: float) -> Decision:
    """Return the trimmed mean of the answers that are numbers, in the canonical spelling; others abstain.

    Parameters
    ----------
    answers : sequence of str or None
    share : float
        The share that is left out at each end, in [0, 0.5]; 0.5 is the median.
    """
    values = sorted(value for answer in answers if (value := number_of(answer)) is not None)
    return Decision(canonical_value(trimmed_mean(values, share)) if values else None)


def vote(turns: Sequence[Turn], rule: Decide, chance: Chance) -> Decision:
    """Take a majority or confidence-weighted vote.

    Unreadable answers abstain. A tie goes to the highest summed recalibrated confidence (to the most votes if
    confidences are the votes), then to a seeded draw.

    Parameters
    ----------
    turns : sequence of Turn
        The last answers.
    rule : Decide
        `majority` or `weighted`; with `tie` `none` there is no answer if all of several voters differ.
    chance : Chance
        Called only if a draw is needed.
    """
    counts, confidence = tally(turns)
    if not counts:
        return Decision(None)
    votes, other = (confidence, counts) if rule.rule == "weighted" else (counts, confidence)
    return _winner(votes, other, counts, rule, chance)


def weighted_vote(
    turns: Sequence[Turn], weights: Sequence[float], rule: Decide, last: Sequence[Turn], chance: Chance
) -> Decision:
    """Sum the weights of all answers. The highest sum wins, ties as in `vote`, by the confidences of last answers.

    Parameters
    ----------
    turns : sequence of Turn
        Answers of all rounds.
    weights : sequence of float
        One per answer.
    rule : Decide
    last : sequence of Turn
        The last answers among them.
    chance : Chance
    """
    votes: dict[str, float] = {}
    for turn, weight in zip(turns, weights, strict=True):
        if turn.answer is not None:
            votes[turn.answer] = votes.get(turn.answer, 0.0) + weight
    if not votes:
        return Decision(None)
    none = dict.fromkeys(votes, 0.0)  # of answers that are nobody's last
    counts, confidence = tally(last)
    return _winner(votes, none | confidence, none | counts, rule, chance)


def tally(turns: Sequence[Turn]) -> tuple[dict[str, float], dict[str, float]]:
    """Return how many turns gave each readable answer, and the sums of their recalibrated confidences (none: 0)."""
    counts: dict[str, float] = {}
    confidence: dict[str, float] = {}
    for turn in turns:
        if turn.answer is not None:
            counts[turn.answer] = counts.get(turn.answer, 0.0) + 1.0
            confidence[turn.answer] = confidence.get(turn.answer, 0.0) + (turn.confidence or 0.0)
    return counts, confidence


def highest(values: Mapping[str, float], among: Collection[str]) -> list[str]:
    """Return the answers with the highest value, equal up to rounding, in an order that does not depend on agents."""
    most = max((values[answer] for answer in among), default=0.0)
    return sorted(answer for answer in among if values[answer] >= most - 1e-9)


def ballot_decision(given: Answers) -> Decision:
    """Decide by the latest rankings of answers, or of the agents or turns that gave them.

    There is no decision if no ranking is readable, or none of the ranked agents has an answer. A tie is decided as in
    `vote`, by the confidences of last answers.
    """
    ballots = among_all(last_ballots(given.turns, given.method))
    points = borda(ballots)
    if not points:
        return Decision(None)
    tied, votes = (highest(points, points), points) if given.rule.rule == "borda" else runoff(ballots)
    none = dict.fromkeys(votes, 0.0)
    counts, confidence = tally(given.last)
    return _winner(votes, none | confidence, none | counts, given.rule, given.chance, tied)


def _winner(
    votes: Mapping[str, float],
    other: Mapping[str, float],
    counts: Mapping[str, float],
    rule: Decide,
    chance: Chance,
    tied: Sequence[str] = (),
) -> Decision:
    tied = tied or highest(votes, votes)
    if len(tied) == 1:
        return Decision(tied[0], votes)
    if rule.tie == "none" and max(counts.values()) <= 1.0:
        return Decision(None, votes, was_tied=True)
    finalists = highest(other, tied)
    answer = finalists[0] if len(finalists) == 1 else chance().choice(finalists)
    return Decision(answer, votes, was_tied=True)


def vote_weights(method: Method, turns: Sequence[Turn], answers: Sequence[Turn], voters: Sequence[str]) -> list[float]:
    """Compute the weights of answers in a vote by an expression.

    Parameters
    ----------
    method : Method
    turns : sequence of Turn
        All turns of the debate.
    answers : sequence of Turn
        Those of the voters, in order of speaking.
    voters : sequence of str

    Raises
    ------
    DebateError
        A weight is not a number.
    """
    expression = parse(method.decide.weight)
    agents = tuple(agent for agent in debating_agents(method) if agent.name in set(voters))
    values: dict[str, Floats | float] = {**_answer_values(answers, expression.keys), "n_agents": float(len(agents))}
    keys = expression.keys - values.keys()
    if keys:
        state = DebateState.of_turns(turns, {turn.execution for turn in answers}, tuple(agent.name for agent in agents))
        # No name of a vote needs groups, similarity, quotes or draws.
        now = Snapshot(method, agents, state, (), None, None, random.Random)  # type: ignore[arg-type]
        place = {agent.name: k for k, agent in enumerate(agents)}
        rows = [place[turn.speaker] for turn in answers]
        values |= {name: array[rows] for name, array in agent_values(now, keys).items()}
        for key in keys if any(map(names_turns, turns)) else ():
            name, steps = split_key(key)
            if name == "chosen":
                values[key] = np.array([share_of_turn(turn, steps, state) for turn in answers])
    weights = np.array(np.broadcast_to(evaluate(expression, values), (len(answers),)), dtype=float)
    if not np.isfinite(weights).all():
        turn = answers[int(np.argwhere(~np.isfinite(weights))[0][0])]
        where = f"round {turn.round}: the vote of agent {turn.speaker!r} is not a finite number: {expression.text}"
        raise DebateError(f"{where}\nwrite an expression that is a number for every answer")
    return [float(weight) for weight in weights]


def _answer_values(answers: Sequence[Turn], keys: Collection[str]) -> dict[str, Floats]:
    """Compute the names that belong to an answer. Only the last of several draws in a round has neighbours."""
    by_author: dict[str, dict[int, Turn]] = defaultdict(dict)
    for turn in answers:
        by_author[turn.speaker][turn.execution] = turn
    before: dict[int, Turn] = {}
    after: dict[int, Turn] = {}
    for given in by_author.values():
        for one, other in pairwise(given.values()):
            after[one.turn], before[other.turn] = other, one
    ends = {name: max(given) for name, given in by_author.items()}

    def differs(turn: Turn, neighbours: Mapping[int, Turn]) -> bool:
        return turn.turn in neighbours and neighbours[turn.turn].answer != turn.answer

    codes = answer_codes(answers)

    def value(turn: Turn, key: str) -> float:
        if (inner := earlier_key(key)) is not None:
            return value(before.get(turn.turn, turn), inner)
        return codes[turn.answer] if key == ANSWER else turn.confidence or 0.0

    values = {
        **{key: [value(turn, key) for turn in answers] for key in keys if split_key(key)[0] in HAVE_EARLIER["vote"]},
        "round": [turn.round for turn in answers],
        "last": [turn.execution == ends[turn.speaker] for turn in answers],
        "abandoned": [differs(turn, after) for turn in answers],
        "confidence": [turn.confidence or 0.0 for turn in answers],
    }
    return {name: np.array(numbers, dtype=float) for name, numbers in values.items()}


DECISION_RULES: Mapping[str, DecisionRule] = MappingProxyType(
    {
        "majority": DecisionRule(lambda given: vote(given.last, given.rule, given.chance), is_word=True),
        "weighted": DecisionRule(lambda given: vote(given.last, given.rule, given.chance), is_word=True),
        "first": DecisionRule(
            lambda given: Decision(given.last[0].answer if given.last else None),
            is_word=True,
        ),
        "borda": DecisionRule(ballot_decision, is_word=True),
        "runoff": DecisionRule(ballot_decision, is_word=True),
        "last": DecisionRule(lambda given: Decision(given.last[-1].answer if given.last else None)),
        "trimmed": DecisionRule(
            lambda given: numeric_decision([turn.answer for turn in given.last], given.rule.share)
        ),
        "vote": DecisionRule(
            lambda given: weighted_vote(
                given.all, vote_weights(given.method, given.turns, given.all, given.voters), given.rule, given.last,
                given.chance,
            ),
        ),
    }
)  # fmt: skip
"""The rules of `decide:`. A new one is an entry here; if it takes a value, it also needs a form in the language."""
