"""What went wrong on the way: ties, unreadable replies, calls without a reply. Counted, never hidden."""

from __future__ import annotations

from cortexdsl.analysis.metrics.view import Graded


def unparsed(view: Graded) -> float:
    """Debaters' answers of the last round that could not be read, and so abstained from the vote."""
    return float(sum(turn.answer is None for turn in view.answers[-1]))


def unparsed_turns(view: Graded) -> float:
    """Turns of the whole debate, of any role and kind, from which what was asked for could not be read."""
    return float(sum(turn.unparsed is not None for turn in view.debate.turns))


def unanswered(view: Graded) -> float:
    """Whether the debate has no answer at all (1 or 0); it then scores 0."""
    return float(view.debate.answer is None)


def failures(view: Graded) -> float:
    """Calls that brought no words: refused, filtered, beyond the context window."""
    return float(sum(turn.text == "" and turn.unparsed is not None for turn in view.debate.turns))


def tied(view: Graded) -> float:
    """Whether the final vote was tied before the tie rule (1 or 0)."""
    return float(view.debate.was_tied)
