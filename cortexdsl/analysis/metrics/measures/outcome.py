"""How a debate ended: its score, and whether its debaters agree."""

from __future__ import annotations

from collections.abc import Sequence

from cortexdsl.analysis.metrics.view import Graded
from cortexdsl.debate.decide import highest, tally
from cortexdsl.terms import Turn


def score(view: Graded) -> float:
    """Worth of the debate's answer, in [0, 1]; no answer is worth 0."""
    return view.worth(view.debate.answer)


def score_after(view: Graded, round_: int) -> float:
    """Worth of the answer that the debate would have given, had it ended after a round.

    The last round and all that would have come later are worth what the debate was (CortexDebate Table 8 carries
    final answers forward after an early stop; so do we). An earlier round is voted on as the last one was: one
    vote an answer, or its recalibrated confidence where the recorded votes are confidences (where an expression
    weighs all rounds, answers are counted). A tie is settled by the highest summed confidence, and what is tied even
    then is worth its mean, the expectation of the draw.

    Parameters
    ----------
    view : Graded
    round_ : int
        From 0, the opening.
    """
    if round_ >= view.debate.rounds:
        return score(view)
    finalists = _finalists(view.answers[round_], _is_weighted(view))
    return sum(map(view.worth, finalists)) / len(finalists) if finalists else 0.0


def consensus_after(view: Graded, round_: int) -> float | None:
    """Whether all debaters' answers of a round are readable and equal: 1 or 0; the last round is carried forward.

    CortexDebate's consensus proportion (Figure 4b, Table 8) is its mean over questions. None where fewer than two
    answers were given: one voice neither agrees nor disagrees.
    """
    answers = [turn.answer for turn in view.answers[min(round_, view.debate.rounds)]]
    return float(len(set(answers)) == 1 and None not in answers) if len(answers) > 1 else None


def consensus(view: Graded) -> float | None:
    """Cons (MADKE, section 4): whether the debaters agree at the end, 1 or 0; None with fewer than two answers."""
    return consensus_after(view, view.debate.rounds)


def co2(view: Graded) -> float | None:
    """Co2 (MADKE, section 4): whether the debaters agree at the end and what they agree on is right, 1 or 0."""
    agreed = consensus(view)
    return None if agreed is None else float(agreed == 1.0 and view.is_right(view.answers[-1][0].answer))


def opening_score(view: Graded) -> float:
    """Worth of the vote over the opening answers: what the debate started from.

    Also where no later round was debated, but something was said of the opening (matches, a conclusion).
    """
    opening = {turn.execution for turn in view.answers[0]}
    if view.debate.rounds == 0 and view.debate.turns[-1].execution not in opening:
        finalists = _finalists(view.answers[0], _is_weighted(view))
        return sum(map(view.worth, finalists)) / len(finalists) if finalists else 0.0
    return score_after(view, 0)


def gain(view: Graded) -> float:
    """What the debate added to its opening: score less opening score, in [-1, 1]."""
    return score(view) - opening_score(view)


def agent_score(view: Graded) -> float | None:
    """Mean worth of the debaters' own answers in the last round; None where none answered."""
    return agent_score_after(view, view.debate.rounds)


def agent_score_after(view: Graded, round_: int) -> float | None:
    """Mean worth of the debaters' own answers in a round; None where none answered."""
    answers = view.answers[round_]
    return sum(view.worth(turn.answer) for turn in answers) / len(answers) if answers else None


def rounds(view: Graded) -> float:
    """Rounds used after the opening (MADKE's Figure 7 also counts the opening)."""
    return float(view.debate.rounds)


def _is_weighted(view: Graded) -> bool:
    """Say whether the recorded votes are confidences rather than counts, or an expression's weights."""
    counts, trust = tally(view.answers[-1])
    votes = view.debate.votes
    is_trust = votes.keys() == trust.keys() and all(abs(votes[a] - trust[a]) <= 1e-9 for a in trust)
    return bool(votes) and is_trust and dict(votes) != counts


def _finalists(turns: Sequence[Turn], is_weighted: bool) -> list[str]:
    """Return the answers that win a vote, several where even the summed confidences are tied."""
    counts, trust = tally(turns)
    votes, other = (trust, counts) if is_weighted else (counts, trust)
    return highest(other, highest(votes, votes))
