"""Metrics of verdicts on pairs of replies: agreement with people, and preferences for a position or for length.

Each pair is asked in both orders (`cortexdsl.tasks.pairs`), so that two verdicts belong together: those of one
replicate on the two orders. A verdict that stays with the position when the replies change places is not a preference
(Zheng et al. 2023, arXiv 2306.05685, section 3.4).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from cortexdsl.core import Question
from cortexdsl.records import Record
from cortexdsl.tasks.pairs import other_order
from cortexdsl.tasks.reading.pair import FIRST, OTHER, SECOND, SIDES, TIE
from cortexdsl.tasks.task import Task

Columns = dict[str, float | None]
_FIRST: Mapping[str, float] = {FIRST: 1.0, SECOND: 0.0, TIE: 0.5}
"""How far a verdict or label is for the reply that is shown first."""


def pair_columns(records: Sequence[Record], task: Task) -> Iterator[Columns]:
    """Yield the columns of pairs of each record of one cell.

    Notes
    -----
    `first_chosen`, `tie_chosen`: the verdict is for the reply shown first (a tie is half), or a tie. None: unreadable.
    `labels`, `first_labels`, `tie_labels`: how many human labels there are, for the reply shown first, and for a tie.
    `label_agreement`: the share of equal ones of all pairs of these labels; None if there is one label alone.
    `consistency`: both orders name the same reply, or a tie. `position_bias`: both name the same position.
    `pair_score`: the share of the labels that the preference of both orders agrees with; without consistency it is a
    tie, and without two readable verdicts 0. `longer_chosen`: the verdict is for the longer reply, in characters;
    None if they are equally long. `length_bias`: the same less the share of the labels for the longer reply.
    """
    questions = {question.id: question for question in task.questions}
    verdicts = {(record.header.replicate, record.debate.question_id): record.debate.answer for record in records}
    for record in records:
        question, verdict = questions[record.debate.question_id], record.debate.answer
        labels = task.gold(question.id)
        place = record.header.replicate, other_order(question.id)
        yield {
            "first_chosen": None if verdict is None else _FIRST[verdict],
            "tie_chosen": None if verdict is None else float(verdict == TIE),
            "labels": len(labels),
            "first_labels": labels.count(FIRST),
            "tie_labels": labels.count(TIE),
            "label_agreement": _among(labels),
            **(_of_both(verdict, verdicts[place], labels) if place in verdicts else {}),
            **_of_length(question, verdict, labels),
        }


def _among(labels: Sequence[str]) -> float | None:
    pairs = [one == other for one, other in combinations(labels, 2)]
    return sum(pairs) / len(pairs) if pairs else None


def _of_both(verdict: str | None, other: str | None, labels: Sequence[str]) -> Columns:
    is_consistent = verdict is not None and other == OTHER[verdict]
    preference = verdict if is_consistent else TIE
    is_read = verdict is not None and other is not None
    return {
        "consistency": float(is_consistent),
        "position_bias": float(verdict in SIDES and verdict == other),
        "pair_score": labels.count(str(preference)) / len(labels) if is_read else 0.0,
    }


def _of_length(question: Question, verdict: str | None, labels: Sequence[str]) -> Columns:
    first, second = (len(text) for _, text in question.options[:2])
    if first == second:
        return {"longer_chosen": None, "length_bias": None}
    by_people = sum(_longer(label, first > second) for label in labels) / len(labels)
    chosen = None if verdict is None else _longer(verdict, first > second)
    return {"longer_chosen": chosen, "length_bias": None if chosen is None else chosen - by_people}


def _longer(verdict: str, is_first_longer: bool) -> float:
    return _FIRST[verdict] if is_first_longer else 1 - _FIRST[verdict]
