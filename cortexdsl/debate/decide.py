"""How a debate becomes one answer."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from cortexdsl.terms import Decide, Method, Turn


@dataclass(frozen=True, slots=True)
class Decision:
    """An answer (None: there is none), the votes by answer, and whether the vote was tied."""

    answer: str | None
    votes: Mapping[str, float] = field(default_factory=dict)
    was_tied: bool = False


def decide(method: Method, principal: str, turns: Sequence[Turn], chance: Callable[[], random.Random]) -> Decision:
    """Decide a debate as its method says.

    Parameters
    ----------
    method : Method
    principal : str
        The role whose last answers vote.
    turns : sequence of Turn
        All of the debate.
    chance : callable
        Gives the generator of a draw between tied answers.
    """
    rule = method.decide
    role = (rule.role or principal) if rule.rule == "last" else principal
    said = [turn for turn in turns if turn.reads == "answer" and method.steps[turn.step].role == role]
    if rule.rule == "last":
        return Decision(said[-1].answer if said else None)
    last = [turn for turn in said if turn.execution == said[-1].execution]
    if rule.rule == "first":
        return Decision(last[0].answer if last else None)
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
    counts: dict[str, float] = {}
    trust: dict[str, float] = {}
    for turn in turns:
        if turn.answer is not None:
            counts[turn.answer] = counts.get(turn.answer, 0.0) + 1.0
            trust[turn.answer] = trust.get(turn.answer, 0.0) + (turn.confidence or 0.0)
    if not counts:
        return Decision(None)
    votes, other = (trust, counts) if rule.rule == "weighted" else (counts, trust)
    tied = _highest(votes, votes)
    if len(tied) == 1:
        return Decision(tied[0], votes)
    if rule.fallback == "none" and max(counts.values()) == 1.0:
        return Decision(None, votes, was_tied=True)
    finalists = _highest(other, tied)
    answer = finalists[0] if len(finalists) == 1 else chance().choice(finalists)
    return Decision(answer, votes, was_tied=True)


def _highest(values: Mapping[str, float], among: Sequence[str] | Mapping[str, float]) -> list[str]:
    """Return the answers with the highest value, sorted, so that no order of agents shows; equal up to rounding."""
    most = max(values[answer] for answer in among)
    return sorted(answer for answer in among if values[answer] >= most - 1e-9)
