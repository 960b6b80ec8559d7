"""What each answer of a debate weighs in a vote that is an expression."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from cortexdsl.debate.roles import members
from cortexdsl.debate.talk.transcript import Transcript
from cortexdsl.debate.weights.expressions import evaluate, parse
from cortexdsl.debate.weights.factors import of_agents
from cortexdsl.debate.weights.scene import Scene
from cortexdsl.errors import DebateError
from cortexdsl.terms import Floats, Method, Turn


def weights_of(method: Method, turns: Sequence[Turn], answers: Sequence[Turn], voters: Sequence[str]) -> list[float]:
    """Weigh answers by the expression of a method's vote.

    Parameters
    ----------
    method : Method
    turns : sequence of Turn
        All of the debate.
    answers : sequence of Turn
        Those of the voters, in the order of speaking.
    voters : sequence of str
        Who debates at its end.

    Raises
    ------
    DebateError
        A weight is not a number.
    """
    expression = parse(method.decide.weight)
    authors = tuple(agent for agent in members(method) if agent.name in set(voters))
    values: dict[str, Floats | float] = {**_of_answers(answers), "n_agents": float(len(authors))}
    used = expression.keys - values.keys()
    if used:
        transcript = Transcript.read(turns, {turn.execution for turn in answers}, tuple(a.name for a in authors))
        # Nothing that a vote may name is drawn, compared as text or laid out.
        scene = Scene(method, authors, transcript, (), None, None, random.Random)  # type: ignore[arg-type]
        place = {agent.name: k for k, agent in enumerate(authors)}
        rows = [place[turn.speaker] for turn in answers]
        values |= {name: array[rows] for name, array in of_agents(scene, used).items()}
    found = np.array(np.broadcast_to(evaluate(expression, values), (len(answers),)), dtype=float)
    if not np.isfinite(found).all():
        turn = answers[int(np.argwhere(~np.isfinite(found))[0][0])]
        what = f"round {turn.round}: the vote of agent {turn.speaker!r} is not a finite number: {expression.text}"
        raise DebateError(f"{what}\nlet it be one for every answer")
    return [float(value) for value in found]


def _of_answers(answers: Sequence[Turn]) -> dict[str, Floats]:
    """Return what belongs to each answer: of several draws in one round the last is followed by the next round's."""
    by_author: dict[str, dict[int, Turn]] = defaultdict(dict)
    for turn in answers:
        by_author[turn.speaker][turn.execution] = turn
    authors: dict[str | None, set[str]] = defaultdict(set)
    for turn in answers:
        authors[turn.answer].add(turn.speaker)
    before: dict[int, Turn] = {}
    after: dict[int, Turn] = {}
    for given in by_author.values():
        said = list(given.values())
        for one, other in pairwise(said):
            after[one.turn], before[other.turn] = other, one
    ends = {name: max(given) for name, given in by_author.items()}

    def another(turn: Turn, beside: dict[int, Turn]) -> bool:
        return turn.turn in beside and beside[turn.turn].answer != turn.answer

    found = {
        "round": [turn.round for turn in answers],
        "last": [turn.execution == ends[turn.speaker] for turn in answers],
        "changed": [another(turn, before) for turn in answers],
        "dropped": [another(turn, after) for turn in answers],
        "confidence": [turn.confidence or 0.0 for turn in answers],
        "authors": [len(authors[turn.answer]) for turn in answers],
    }
    return {name: np.array(values, dtype=float) for name, values in found.items()}
