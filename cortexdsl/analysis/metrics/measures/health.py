"""What went wrong on the way: ties, unreadable replies, calls without a reply. Counted, never hidden."""

from __future__ import annotations

import zlib

from cortexdsl.analysis.metrics.view import Graded
from cortexdsl.terms import NO_REPLY


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
    turns = view.debate.turns
    beside = sum((aside.unread or "").startswith(NO_REPLY) for turn in turns for aside in turn.asides)
    return float(sum(turn.text == "" and turn.unparsed is not None for turn in turns) + beside)


def unmeasured(view: Graded) -> float:
    """Readable answers whose confidence could not be measured, whatever the reason.

    0 where confidences are stated: then there is nothing to measure.
    """
    found = [turn.measured for turn in view.debate.turns if turn.measured is not None and turn.answer is not None]
    return float(sum(measured.confidence is None for measured in found))


def cut(view: Graded) -> float:
    """Turns whose reply was cut at its length limit, whether an answer stood before the cut or not."""
    return float(sum(turn.ended == "length" for turn in view.debate.turns))


def repetitive(view: Graded) -> float:
    """Turns whose reply says the same over and over, until it was cut or gave up: see `repeats_itself`."""
    return float(sum(repeats_itself(turn.text) for turn in view.debate.turns))


REPEATS = 6.0
"""Of 631 real replies of 200 characters or more, five compress to a sixth or less, all of them caught in a loop; the
next ones, at 4.8 and less, go on. (Recorded replies of several models on BBH, MMLU, GSM8K and other benchmarks.)"""

_SHORTEST = 300


def repeats_itself(text: str) -> bool:
    """Say whether a text of some length compresses so well (DEFLATE) that it is a loop and no argument."""
    written = text.encode("utf-8", "replace")
    return len(written) >= _SHORTEST and len(written) >= REPEATS * len(zlib.compress(written))


def tied(view: Graded) -> float:
    """Whether the final vote was tied before the tie rule (1 or 0)."""
    return float(view.debate.was_tied)
