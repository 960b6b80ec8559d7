"""Which replies make a preference pair (ACC-Debate, arXiv 2411.00053, Eq. 5), and why the others make none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from cortexdsl.debate.trajectory import Way
from cortexdsl.train.moments import Judged, Tried

Outcome: TypeAlias = Literal["right", "wrong", "below", "same", "cut", "no_reply"]
OUTCOMES: tuple[Outcome, ...] = ("right", "wrong", "below", "same", "cut", "no_reply")
"""A pair with the reply that was guided to the right answer, one with that guided to a wrong one; or none: no
difference reaches the threshold, both say the same, the better reply was cut short, a reply or roll-out failed."""
HAIR = 1e-9
"""Means of a few scores that differ by the threshold may differ by less in the last place."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two replies to one prompt, the better one first; `guided` is the one of them that was."""

    chosen: Tried
    rejected: Tried
    guided: Literal["right", "wrong"]


def selected(moment: Judged, threshold: float) -> tuple[Pair | None, Outcome]:
    """Return the pair that a moment makes, and what came of it.

    The reply guided to the right answer is preferred to the natural one where it is worth `threshold` more; else the
    natural one to that guided to a wrong answer, where that is worth as much less. A pair that reaches the threshold
    and cannot be learned from gives way to the other, and else says why.

    Parameters
    ----------
    moment : Judged
    threshold : float
        In [0, 1]; at 0 every two replies make a pair unless the guided one did harm, at 1 only a certainly wrong and a
        certainly right one.
    """
    natural, right, wrong = (moment.tried[way] for way in ("natural", "right", "wrong"))
    asked: tuple[tuple[Literal["right", "wrong"], Tried, Tried], ...]
    asked = (("right", right, natural), ("wrong", natural, wrong))
    why: Outcome = "below"
    for way, better, worse in asked:
        if better.has_failed or worse.has_failed:
            why = "no_reply" if why == "below" else why
        elif better.value - worse.value >= threshold - HAIR:
            if better.text == worse.text:
                why = "same"
            elif better.is_cut:
                why = "cut"
            else:
                return Pair(better, worse, way), way
    return None, why


def is_exemplary(moment: Judged, way: Way = "natural") -> bool:
    """Say whether a reply may be imitated: every roll-out from it ended right, and it was not cut short."""
    tried = moment.tried[way]
    return not tried.has_failed and not tried.is_cut and tried.value >= 1 - HAIR
