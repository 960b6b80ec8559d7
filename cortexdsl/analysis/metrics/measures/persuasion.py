"""Who changes its mind, towards what, and who does not. Defined here; no paper gives a formula."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from cortexdsl.analysis.metrics.view import Graded
from cortexdsl.terms import Turn


@dataclass(frozen=True, slots=True)
class Occasion:
    """One answer anew after hearing others: could it have conformed, did it; could it have held, did it.

    Attributes
    ----------
    speaker : str
    faced_majority : bool
        More than half of the readable answers heard were one answer, and it was not the agent's own.
    conformed : bool
        It then gave the majority's answer.
    faced_difference : bool
        At least one readable answer heard was not the agent's own.
    held : bool
        It then gave its own answer again.
    """

    speaker: str
    faced_majority: bool
    conformed: bool
    faced_difference: bool
    held: bool


@lru_cache(maxsize=1)  # of the debate looked at last: a dozen measures ask
def occasions(view: Graded) -> tuple[Occasion, ...]:
    """Return an occasion for every debater that had a readable answer and heard others' before answering anew.

    What was heard is what its prompt contained; of several turns of one speaker the latest counts. Summaries carry
    no answer of one's own and are not counted.
    """
    return tuple(_occasions(view))


def _occasions(view: Graded) -> Iterator[Occasion]:
    for old, new in view.revisions():
        heard = _heard_answers(view, new)
        if old.answer is None or not heard:
            continue
        answer, count = Counter(heard).most_common(1)[0]
        faced_majority = 2 * count > len(heard) and answer != old.answer
        faced_difference = any(other != old.answer for other in heard)
        yield Occasion(
            speaker=new.speaker,
            faced_majority=faced_majority,
            conformed=faced_majority and new.answer == answer,
            faced_difference=faced_difference,
            held=faced_difference and new.answer == old.answer,
        )


def majority_faced(view: Graded) -> float:
    """Occasions on which a debater heard a majority against its own answer: the denominator of conformity."""
    return float(sum(occasion.faced_majority for occasion in occasions(view)))


def conformed(view: Graded) -> float:
    """Occasions on which it moved to that majority. Conformity = conformed / majority_faced, summed over debates."""
    return float(sum(occasion.conformed for occasion in occasions(view)))


def difference_faced(view: Graded) -> float:
    """Occasions on which a debater heard an answer other than its own: the denominator of stubbornness."""
    return float(sum(occasion.faced_difference for occasion in occasions(view)))


def held(view: Graded) -> float:
    """Occasions on which it kept its own. Stubbornness = held / difference_faced, summed over debates."""
    return float(sum(occasion.held for occasion in occasions(view)))


@dataclass(frozen=True, slots=True)
class Exposure:
    """One answer that was heard by a debater of another mind, before it answered anew.

    Attributes
    ----------
    turn : int
        The revision: its turn.
    speaker, listener : str
        The speaker may be an outsider; the listener is a debater with a readable answer that was not the speaker's.
    said_right, held_right : bool
        Whether the answer heard, and the listener's own, were right.
    adopted : bool
        The listener then gave the answer heard.
    """

    turn: int
    speaker: str
    listener: str
    said_right: bool
    held_right: bool
    adopted: bool


@lru_cache(maxsize=1)
def exposures(view: Graded) -> tuple[Exposure, ...]:
    """Return what debaters heard that was not their own answer, edge by edge; of one speaker the latest counts."""
    return tuple(_exposures(view))


def _exposures(view: Graded) -> Iterator[Exposure]:
    for old, new in view.revisions():
        if old.answer is not None:
            for speaker, answer in _heard_from(view, new).items():
                if answer != old.answer:
                    right = view.is_right(answer), view.is_right(old.answer)
                    yield Exposure(new.turn, speaker, new.speaker, *right, adopted=new.answer == answer)


def adopted(view: Graded) -> float:
    """Revisions that took over an answer heard which was not their own. Influence = adopted / difference_faced."""
    return _revisions(each for each in exposures(view) if each.adopted)


def right_faced(view: Graded) -> float:
    """Revisions of a wrong answer that heard a right one: the denominator of influence_right."""
    return _revisions(each for each in exposures(view) if each.said_right and not each.held_right)


def right_adopted(view: Graded) -> float:
    """Those of them that took over a right answer heard. Influence_right = right_adopted / right_faced."""
    found = (each for each in exposures(view) if each.said_right and not each.held_right)
    return _revisions(each for each in found if each.adopted)


def wrong_faced(view: Graded) -> float:
    """Revisions of a right answer that heard a wrong one: the denominator of influence_wrong."""
    return _revisions(each for each in exposures(view) if each.held_right and not each.said_right)


def wrong_adopted(view: Graded) -> float:
    """Those of them that took over a wrong answer heard. Influence_wrong = wrong_adopted / wrong_faced."""
    found = (each for each in exposures(view) if each.held_right and not each.said_right)
    return _revisions(each for each in found if each.adopted)


def flips(view: Graded) -> float:
    """Answers that differ from the debater's answer before; an answer lost to or found after a failed parse counts."""
    return float(sum(old.answer != new.answer for old, new in view.revisions()))


def wrong_to_right(view: Graded) -> float:
    """Flips from a wrong answer to a right one."""
    return _flips(view, was_right=False, is_right=True)


def right_to_wrong(view: Graded) -> float:
    """Flips from a right answer to a wrong one."""
    return _flips(view, was_right=True, is_right=False)


def wrong_to_wrong(view: Graded) -> float:
    """Flips from a wrong answer to another wrong one."""
    return _flips(view, was_right=False, is_right=False)


def _flips(view: Graded, was_right: bool, is_right: bool) -> float:
    return float(
        sum(
            old.answer != new.answer
            and view.is_right(old.answer) == was_right
            and view.is_right(new.answer) == is_right
            for old, new in view.revisions()
        )
    )


def _revisions(found: Iterable[Exposure]) -> float:
    return float(len({each.turn for each in found}))


def _heard_answers(view: Graded, turn: Turn) -> list[str]:
    return list(_heard_from(view, turn).values())


def _heard_from(view: Graded, turn: Turn) -> dict[str, str]:
    heard = [view.debate.turns[number] for number in turn.heard]
    latest = {t.speaker: t.answer for t in heard if t.reads == "answer" and t.speaker != turn.speaker}
    return {speaker: answer for speaker, answer in latest.items() if answer is not None}
