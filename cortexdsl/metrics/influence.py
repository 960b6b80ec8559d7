"""Metrics of influence between debaters: changed answers, persuasion, the shape of the graphs.

Persuasion is defined here; no paper gives a formula. DVC, CVR and the debating number are those of CortexDebate
(Tables 3 and 4).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from cortexdsl.core import Turn
from cortexdsl.metrics.view import DebateView, Talk, by_column


@dataclass(frozen=True, slots=True)
class Occasion:
    """A revision after hearing others: could it conform, did it; could it hold its answer, did it.

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


@lru_cache(maxsize=1)  # a dozen measures read the same debate in turn
def occasions(view: DebateView) -> tuple[Occasion, ...]:
    """Return an occasion for each revision of a debater that had a readable answer and heard others' answers.

    What was heard is what its prompt contained; of several turns of one speaker the latest counts. Summaries carry
    no answer of one's own and are not counted.
    """
    return tuple(_occasions(view))


def _occasions(view: DebateView) -> Iterator[Occasion]:
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


def majority_faced(view: DebateView) -> float:
    """Occasions on which a debater heard a majority against its own answer: the denominator of conformity."""
    return float(sum(occasion.faced_majority for occasion in occasions(view)))


def conformed(view: DebateView) -> float:
    """Occasions on which it moved to that majority. Conformity = conformed / majority_faced, summed over debates."""
    return float(sum(occasion.conformed for occasion in occasions(view)))


def difference_faced(view: DebateView) -> float:
    """Occasions on which a debater heard an answer other than its own: the denominator of stubbornness."""
    return float(sum(occasion.faced_difference for occasion in occasions(view)))


def held(view: DebateView) -> float:
    """Occasions on which it kept its own. Stubbornness = held / difference_faced, summed over debates."""
    return float(sum(occasion.held for occasion in occasions(view)))


@dataclass(frozen=True, slots=True)
class Exposure:
    """An answer that a debater with another answer heard before it answered again.

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
def exposures(view: DebateView) -> tuple[Exposure, ...]:
    """Return what debaters heard that was not their own answer, edge by edge; of one speaker the latest counts."""
    return tuple(_exposures(view))


def _exposures(view: DebateView) -> Iterator[Exposure]:
    for old, new in view.revisions():
        if old.answer is not None:
            for speaker, answer in _heard_from(view, new).items():
                if answer != old.answer:
                    right = view.is_right(answer), view.is_right(old.answer)
                    yield Exposure(new.turn, speaker, new.speaker, *right, adopted=new.answer == answer)


def adopted(view: DebateView) -> float:
    """Revisions that took over an answer heard which was not their own. Influence = adopted / difference_faced."""
    return _revisions(each for each in exposures(view) if each.adopted)


def right_faced(view: DebateView) -> float:
    """Revisions of a wrong answer that heard a right one: the denominator of influence_right."""
    return _revisions(each for each in exposures(view) if each.said_right and not each.held_right)


def right_adopted(view: DebateView) -> float:
    """Those of them that took over a right answer heard. Influence_right = right_adopted / right_faced."""
    found = (each for each in exposures(view) if each.said_right and not each.held_right)
    return _revisions(each for each in found if each.adopted)


def wrong_faced(view: DebateView) -> float:
    """Revisions of a right answer that heard a wrong one: the denominator of influence_wrong."""
    return _revisions(each for each in exposures(view) if each.held_right and not each.said_right)


def wrong_adopted(view: DebateView) -> float:
    """Those of them that took over a wrong answer heard. Influence_wrong = wrong_adopted / wrong_faced."""
    found = (each for each in exposures(view) if each.held_right and not each.said_right)
    return _revisions(each for each in found if each.adopted)


def flips(view: DebateView) -> float:
    """Answers that differ from the debater's answer before; an answer lost to or found after a failed parse counts."""
    return float(sum(old.answer != new.answer for old, new in view.revisions()))


def wrong_to_right(view: DebateView) -> float:
    """Flips from a wrong answer to a right one."""
    return _flips(view, was_right=False, is_right=True)


def right_to_wrong(view: DebateView) -> float:
    """Flips from a right answer to a wrong one."""
    return _flips(view, was_right=True, is_right=False)


def wrong_to_wrong(view: DebateView) -> float:
    """Flips from a wrong answer to another wrong one."""
    return _flips(view, was_right=False, is_right=False)


def _flips(view: DebateView, was_right: bool, is_right: bool) -> float:
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


def _heard_answers(view: DebateView, turn: Turn) -> list[str]:
    return list(_heard_from(view, turn).values())


def _heard_from(view: DebateView, turn: Turn) -> dict[str, str]:
    heard = [view.debate.turns[number] for number in turn.heard if number not in turn.replaced]
    latest = {t.speaker: t.answer for t in heard if t.reads == "answer" and t.speaker != turn.speaker}
    return {speaker: answer for speaker, answer in latest.items() if answer is not None}


def talk_density(talk: Talk) -> float | None:
    """Kept edges over possible edges of one round, without self-edges; None if no edge is possible."""
    return float(talk.heard.sum() / talk.possible) if talk.possible else None


def talk_reciprocity(talk: Talk) -> float | None:
    """Share of kept edges that go both ways; None without edges.

    Reciprocity = |{u -> v kept : v -> u kept}| / |{u -> v kept}|, networkx's overall reciprocity.
    """
    edges = int(talk.heard.sum())
    # Only agents that speak and listen have edges in both directions: their part of the matrix, in one order.
    rows = {name: row for row, name in enumerate(talk.speakers)}
    columns = {name: column for column, name in enumerate(talk.listeners) if name in rows}
    among = talk.heard[np.ix_([rows[name] for name in columns], list(columns.values()))]
    return float((among & among.T).sum() / edges) if edges else None


def density(view: DebateView) -> float | None:
    """Mean density of the debate's rounds; None if debaters never heard each other directly."""
    return _mean([talk_density(talk) for talk in view.talks])


def reciprocity(view: DebateView) -> float | None:
    """Mean reciprocity of the debate's rounds that have edges."""
    return _mean([talk_reciprocity(talk) for talk in view.talks])


def most_heard(view: DebateView) -> float | None:
    """Share of all kept edges that start at the agent heard most: 1/n where all are heard alike, 1 for one voice."""
    times: Counter[str] = Counter()
    for talk in view.talks:
        times.update(dict(zip(talk.speakers, talk.heard.sum(axis=1).tolist(), strict=True)))
    return max(times.values()) / times.total() if times.total() else None


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def dvc(view: DebateView) -> float:
    """DVC: kept edges, over all rounds, whose two agents disagreed before the round.

    DVC = sum over rounds d >= 1 and kept edges u -> v of [a_u != a_v], a the latest answers before round d. A pair
    with an unreadable answer holds no two views and is not counted. CortexDebate (Table 3) only names the figure;
    protocols have to decide, and ours count so.
    """
    count = 0
    for talk in view.talks:
        start = next(turn.turn for turn in view.answers[talk.round] if turn.round == talk.round)
        before = {turn.speaker: turn.answer for turn in view.debate.turns[:start] if turn.reads == "answer"}
        code: dict[str | None, int] = {None: -1}  # views as numbers: hundreds of agents make a hundred thousand edges
        said = np.array([code.setdefault(before.get(name), len(code)) for name in talk.speakers])[:, None]
        held = np.array([code.setdefault(before.get(name), len(code)) for name in talk.listeners])[None, :]
        count += int((talk.heard & (said != held) & (said >= 0) & (held >= 0)).sum())
    return float(count)


def cvr(view: DebateView) -> float:
    """CVR: turns in which an agent that was wrong became right (an unreadable answer is wrong): `wrong_to_right`.

    CVR = sum over rounds d >= 1 and agents of [wrong in its answer before d][right in d]. CortexDebate (Table 3)
    only names the figure.
    """
    return wrong_to_right(view)


def debates(view: DebateView) -> float | None:
    """Average debating number: kept incoming edges over all rounds, averaged over debaters (CortexDebate, Table 4).

    With everyone hearing everyone it is rounds x (n - 1).
    """
    if not view.debaters:
        return None
    return sum(int(talk.heard.sum()) for talk in view.talks) / len(view.debaters)


MEASURES = by_column(
    dvc, cvr, debates, flips, wrong_to_right, right_to_wrong, wrong_to_wrong, majority_faced, conformed,
    difference_faced, held, adopted, right_faced, right_adopted, wrong_faced, wrong_adopted, density, reciprocity,
    most_heard,
)  # fmt: skip
"""The measures of this module, each of the column that has its name."""
