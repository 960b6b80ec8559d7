"""Confidence of a debate as a whole: how sure it is that its answer is right, from the debaters' last answers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from cortexdsl.core import DebateSource, Measured, Turn

NO_CONFIDENCE = "no debater's last answer states a confidence"


def debate_confidence(source: DebateSource, answer: str | None, last: Sequence[Turn]) -> Measured:
    """Return the confidence of a debate.

    Parameters
    ----------
    source : str
        `votes`: the share of the last answers that are the debate's; an unreadable one counts as another answer.
        `weighted`: the same share of their recalibrated confidences.
    answer : str or None
        The debate's; without one its confidence is 0.
    last : sequence of Turn
        The last answers of the debaters.
    """
    if answer is None or source == "votes":
        return Measured(source, share_of_votes(answer, last))
    weights = [(turn.answer, turn.confidence or 0.0) for turn in last if turn.answer is not None]
    total = math.fsum(weight for _, weight in weights)
    if total <= 0:
        return Measured(source, None, NO_CONFIDENCE)
    return Measured(source, math.fsum(weight for given, weight in weights if given == answer) / total)


def share_of_votes(answer: str | None, last: Sequence[Turn]) -> float:
    """Return the share of the last answers that are an answer; 0 for no answer."""
    if answer is None or not last:
        return 0.0
    return sum(turn.answer == answer for turn in last) / len(last)
