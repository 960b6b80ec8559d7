"""Metrics of a debate's end: score, consensus, and whether a right answer was never given, or given and lost.

Each debate is one of four things: its decision is right, or the right answer was lost by the decision, lost in the
debate, or never found. Shares of the four sum to 1 (with scores between 0 and 1, right means 0.5 or more). A right
decision was right from the start, won in the debate, or won by the decision.

The oracle is a perfect selector among all answers that were given: no decision rule can do better on the same debate.
Cost of Consensus (arXiv 2605.00914) reports the gap between it and the vote.
"""

from __future__ import annotations

from collections.abc import Iterable

from cortexdsl.core import Turn
from cortexdsl.core.metrics import RIGHT
from cortexdsl.engine.decisions import highest, tally
from cortexdsl.metrics.view import DebateView, by_column, last_answers


def score(view: DebateView) -> float:
    """Worth of the debate's answer, in [0, 1]; no answer is worth 0."""
    return view.worth(view.debate.answer)


def score_after(view: DebateView, round_: int) -> float | None:
    """Worth of the answer that the debate would have given, had it ended after a round.

    The last round and all that would have come later are worth what the debate was (CortexDebate Table 8 carries
    final answers forward after an early stop; so do we). An earlier round is decided by the rule of the method, as if
    the method had so many rounds.

    Parameters
    ----------
    view : DebateView
    round_ : int
        From 0, the opening.

    Returns
    -------
    float or None
        None if the rule needs turns that the debate does not have there, such as the verdict of a judge at its end.
    """
    return score(view) if round_ >= view.debate.rounds else _score_by_rule(view, round_)


def _score_by_rule(view: DebateView, round_: int) -> float | None:
    if view.decided is None:
        return _score_of_majority(view, round_)
    decision = view.decided(round_)
    return None if decision is None else view.worth(decision.answer)


def _score_of_majority(view: DebateView, round_: int) -> float:
    """Worth of the majority of a round, for a debate of an unknown method.

    A tie is settled by the highest summed confidence, and what is tied even then is worth its mean, the expectation of
    the draw.
    """
    counts, confidence = tally(view.answers[round_])
    finalists = highest(confidence, highest(counts, counts))
    return sum(map(view.worth, finalists)) / len(finalists) if finalists else 0.0


def consensus_after(view: DebateView, round_: int) -> float | None:
    """Whether all debaters' answers of a round are readable and equal: 1 or 0; the last round is carried forward.

    CortexDebate's consensus proportion (Figure 4b, Table 8) is its mean over questions. None if fewer than two
    answers were given: one voice neither agrees nor disagrees.
    """
    answers = [turn.answer for turn in view.answers[min(round_, view.debate.rounds)]]
    return float(len(set(answers)) == 1 and None not in answers) if len(answers) > 1 else None


def consensus(view: DebateView) -> float | None:
    """Cons (MADKE, section 4): whether the debaters agree at the end, 1 or 0; None with fewer than two answers."""
    return consensus_after(view, view.debate.rounds)


def co2(view: DebateView) -> float | None:
    """Co2 (MADKE, section 4): whether the debaters agree at the end and what they agree on is right, 1 or 0."""
    agreed = consensus(view)
    return None if agreed is None else float(agreed == 1.0 and view.is_right(view.answers[-1][0].answer))


def opening_score(view: DebateView) -> float | None:
    """Worth of the decision over the opening answers: what the debate started from; None as in `score_after`.

    The same holds if no later round was debated, but a later step used the opening (matches, a conclusion).
    """
    opening = {turn.execution for turn in view.answers[0]}
    if view.debate.rounds == 0 and view.debate.turns[-1].execution not in opening:
        return _score_by_rule(view, 0)
    return score_after(view, 0)


def gain(view: DebateView) -> float | None:
    """Score less opening score, in [-1, 1]; None without an opening score."""
    opening = opening_score(view)
    return None if opening is None else score(view) - opening


def agent_score(view: DebateView) -> float | None:
    """Mean worth of the debaters' own answers in the last round; None if none answered."""
    return agent_score_after(view, view.debate.rounds)


def agent_score_after(view: DebateView, round_: int) -> float | None:
    """Mean worth of the debaters' own answers in a round; None if none answered."""
    answers = view.answers[round_]
    return sum(view.worth(turn.answer) for turn in answers) / len(answers) if answers else None


def rounds(view: DebateView) -> float:
    """Rounds used after the opening (MADKE's Figure 7 also counts the opening)."""
    return float(view.debate.rounds)


def oracle(view: DebateView) -> float:
    """Return the worth of the best answer that any agent gave at any time, or of the decision if it is better."""
    answers = (turn for turn in view.debate.all_turns if turn.reads == "answer")
    return max(_best(view, answers), score(view))


def opening_oracle(view: DebateView) -> float:
    """Return the worth of the best opening answer."""
    return _best(view, view.answers[0])


def oracle_gap(view: DebateView) -> float:
    """Return what a perfect selector would add to the score, in [0, 1]."""
    return oracle(view) - score(view)


def lost_by_vote(view: DebateView) -> float:
    """Return 1 if a debater's last answer is right and the decision is not, else 0."""
    return float(not _is_won(view) and _is_right_at_end(view))


def lost_in_debate(view: DebateView) -> float:
    """Return 1 if an answer was right earlier, no debater's last answer is, and the decision is not, else 0."""
    return float(not _is_won(view) and not _is_right_at_end(view) and _was_found(view))


def never_found(view: DebateView) -> float:
    """Return 1 if neither an answer of any agent nor the decision is right, else 0."""
    return float(not _is_won(view) and not _was_found(view))


def kept_right(view: DebateView) -> float:
    """Return 1 if the openings' vote is right and so is the decision, else 0."""
    return float(_course(view) == "kept_right")


def won_in_debate(view: DebateView) -> float:
    """Return 1 if the openings' vote is wrong, the decision right, and at least half of the last answers, too."""
    return float(_course(view) == "won_in_debate")


def won_by_vote(view: DebateView) -> float:
    """Return 1 if the openings' vote is wrong, the decision right, and fewer than half of the last answers, else 0."""
    return float(_course(view) == "won_by_vote")


COURSES = ("kept_right", "won_in_debate", "won_by_vote", "lost_by_vote", "lost_in_debate", "never_found")
"""The six ways in which the answer of a debate is won or lost; each debate is one of them."""


def course_of(
    score: float, opening: float | None, agents: float | None, lost_by_vote: float, lost_in_debate: float
) -> str:
    """Return which of `COURSES` a debate took, from the columns of its row in scores.csv.

    Parameters
    ----------
    score, opening, agents : float
        Worth of the decision, of the openings' vote, and mean worth of the debaters' last answers.
    lost_by_vote, lost_in_debate : float
    """
    if score < RIGHT:
        return "lost_by_vote" if lost_by_vote else "lost_in_debate" if lost_in_debate else "never_found"
    if (opening or 0.0) >= RIGHT:
        return "kept_right"
    return "won_in_debate" if (agents or 0.0) >= RIGHT else "won_by_vote"


def _course(view: DebateView) -> str:
    lost = lost_by_vote(view), lost_in_debate(view)
    return course_of(score(view), opening_score(view), agent_score(view), *lost)


def _best(view: DebateView, turns: Iterable[Turn]) -> float:
    return max((view.worth(turn.answer) for turn in turns), default=0.0)


def _is_won(view: DebateView) -> bool:
    return view.is_right(view.debate.answer)


def _is_right_at_end(view: DebateView) -> bool:
    stages = (view.answers[-1], *map(last_answers, view.debate.stages[1:]))
    return any(view.is_right(turn.answer) for answers in stages for turn in answers)


def _was_found(view: DebateView) -> bool:
    return any(view.is_right(turn.answer) for turn in view.debate.all_turns if turn.reads == "answer")


MEASURES = by_column(
    score, rounds, opening_score, gain, agent_score, consensus, co2, oracle, opening_oracle, oracle_gap,
    lost_by_vote, lost_in_debate, never_found, kept_right, won_in_debate, won_by_vote,
)  # fmt: skip
"""The measures of this module, each of the column that has its name."""
