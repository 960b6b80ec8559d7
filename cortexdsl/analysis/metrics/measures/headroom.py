"""Headroom: whether a right answer was never found, or found and lost.

Every debate is exactly one of four things: its decision is right, or the right answer was lost by the decision, lost in
the debate, or never found. Shares of the four sum to 1 (with scores between 0 and 1, right means 0.5 or more).

The oracle is a perfect selector among all answers that were given: no way to decide can do better on the same debate.
Cost of Consensus (arXiv 2605.00914) reports the gap between it and the vote.
"""

from __future__ import annotations

from collections.abc import Iterable

from cortexdsl.analysis.metrics.measures.outcome import score
from cortexdsl.analysis.metrics.view import Graded
from cortexdsl.terms import Turn


def oracle(view: Graded) -> float:
    """Return the worth of the best answer that any agent gave at any time, or of the decision if it is better."""
    answers = (turn for turn in view.debate.turns if turn.reads == "answer")
    return max(_best(view, answers), score(view))


def opening_oracle(view: Graded) -> float:
    """Return the worth of the best opening answer."""
    return _best(view, view.answers[0])


def oracle_gap(view: Graded) -> float:
    """Return what a perfect selector would add to the score, in [0, 1]."""
    return oracle(view) - score(view)


def lost_by_vote(view: Graded) -> float:
    """Return 1 if a debater's last answer is right and the decision is not, else 0."""
    return float(not _is_won(view) and _is_right_at_end(view))


def lost_in_debate(view: Graded) -> float:
    """Return 1 if an answer was right earlier, no debater's last answer is, and the decision is not, else 0."""
    return float(not _is_won(view) and not _is_right_at_end(view) and _was_found(view))


def never_found(view: Graded) -> float:
    """Return 1 if neither an answer of any agent nor the decision is right, else 0."""
    return float(not _is_won(view) and not _was_found(view))


def _best(view: Graded, turns: Iterable[Turn]) -> float:
    return max((view.worth(turn.answer) for turn in turns), default=0.0)


def _is_won(view: Graded) -> bool:
    return view.is_right(view.debate.answer)


def _is_right_at_end(view: Graded) -> bool:
    return any(view.is_right(turn.answer) for turn in view.answers[-1])


def _was_found(view: Graded) -> bool:
    return any(view.is_right(turn.answer) for turn in view.debate.turns if turn.reads == "answer")
