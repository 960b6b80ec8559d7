"""Ballots of a tournament: a judge compares two answers to a question, in both orders.

A file of ballots has one line for each two different answers of any cells, as JSON Lines `{schema_version, question_id,
first, second, verdicts, calls}`: two answers in the order of their spelling, the verdicts on them in this order and in
the other one (`A`, `B`, `tie`, or null if the reply was empty or could not be read), and the keys of the two calls.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from cortexdsl.core import Agent, Call, Model, Question
from cortexdsl.engine.seeds import call_seed
from cortexdsl.errors import RecordError
from cortexdsl.tasks.judging import Rendering
from cortexdsl.tasks.line_files import read_lines
from cortexdsl.tasks.pairs import EQUAL
from cortexdsl.tasks.reading.pair import ASK, OTHER, SIDES, TIE, PairKind
from cortexdsl.tasks.reading.reader import AnswerReader

PROMPT = "common/pair.j2"
NAME = "judge"
SCHEMA_VERSION = 1
KIND = PairKind()
_READER = AnswerReader(KIND)
_VERDICTS = (*OTHER, None)
_REMEDY = "run the workflow again: it asks the judge about what is missing, and nothing twice"

Compared = tuple[str, str, str]
"""(question id, an answer, an answer that is spelled later)"""


@dataclass(frozen=True, slots=True)
class Ballot:
    """The verdicts of one judge on two answers, in the order of their spelling and in the other order.

    Attributes
    ----------
    question_id, first, second : str
    verdicts : (str or None, str or None)
        None: the reply could not be read.
    calls : (str, str)
        Keys of the calls.
    """

    question_id: str
    first: str
    second: str
    verdicts: tuple[str | None, str | None]
    calls: tuple[str, str]

    @property
    def is_read(self) -> bool:
        """Whether both verdicts could be read."""
        return None not in self.verdicts

    @property
    def is_split(self) -> bool:
        """Whether both verdicts name the same position, and so different answers."""
        return self.verdicts[0] in SIDES and self.verdicts[0] == self.verdicts[1]

    @property
    def preference(self) -> str | None:
        """`A` for the first answer, `B` for the second; a tie if the two orders contradict each other."""
        one, other = self.verdicts
        if one is None or other is None:
            return None
        return one if other == OTHER[one] else TIE


def compared_answers(answers: Iterable[tuple[str, str | None]]) -> list[Compared]:
    """Return each two different answers to a question, from (question id, answer) of all debates."""
    by_question: dict[str, set[str]] = {}
    for question_id, answer in answers:
        if answer is not None:
            by_question.setdefault(question_id, set()).add(answer)
    return [(one, *pair) for one, given in by_question.items() for pair in combinations(sorted(given), 2)]


def ballot_calls(
    judge: Model, question: Question, first: str, second: str, render: Rendering, *, seed: int
) -> list[Call]:
    """Return the two calls about two answers, one for each order.

    Their seed knows neither cell nor replicate, so that equal answers are compared once.

    Parameters
    ----------
    judge : Model
    question : Question
    first, second : str
    render : callable
    seed : int
        The seed of the experiment.
    """
    asked = f"{ASK}\nRequest: {question.text}"
    if question.options:
        asked += "\n" + "\n".join(f"- {label}: {text}" for label, text in question.options)
    calls = []
    for replies in ((first, second), (second, first)):
        options = (*zip(SIDES, replies, strict=True), (TIE, EQUAL))
        shown = replace(question, text=asked, options=options)
        variables = {"agent": Agent(NAME, judge), "question": shown, "want": KIND.want}
        calls.append(Call(judge, render(PROMPT, variables), call_seed(seed, 0, question.id, NAME, 0)))
    return calls


def read_ballot(text: str) -> str | None:
    """Read a judge's reply: `A`, `B` or `tie`; None if it cannot be read."""
    return _READER.lenient(text).value


def ballot_lines(ballots: Iterable[Ballot]) -> Iterator[str]:
    """Return the lines of a file of ballots."""
    for one in ballots:
        yield json.dumps({
            "schema_version": SCHEMA_VERSION, "question_id": one.question_id, "first": one.first, "second": one.second,
            "verdicts": one.verdicts, "calls": one.calls,
        })  # fmt: skip


def read_ballots(path: Path) -> list[Ballot]:
    """Read a file of ballots.

    Raises
    ------
    RecordError
        The file is missing, of another version, or a line cannot be read.
    """
    return read_lines(path, "ballots", SCHEMA_VERSION, _REMEDY, _ballot)


def _ballot(row: Mapping[str, Any]) -> Ballot:
    verdicts, calls = row["verdicts"], row["calls"]
    if len(verdicts) != 2 or len(calls) != 2 or any(one not in _VERDICTS for one in verdicts):
        raise ValueError(f"verdicts are {verdicts!r}")
    question, first, second = (str(row[name]) for name in ("question_id", "first", "second"))
    return Ballot(question, first, second, (verdicts[0], verdicts[1]), (str(calls[0]), str(calls[1])))


def unread_ballots(path: Path) -> tuple[str, ...]:
    """Return the keys of the calls whose verdict is null: the reply was empty, or could not be read."""
    return tuple(
        call
        for ballot in read_ballots(path)
        for verdict, call in zip(ballot.verdicts, ballot.calls, strict=True)
        if verdict is None
    )


@dataclass(frozen=True, slots=True)
class DuelOutcome:
    """How a judge decided between the answers of two cells to a question.

    Attributes
    ----------
    preference : str or None
        `A` for the first cell's answer, `B` for the other one, or a tie; None if the ballot cannot be read.
    is_split : bool
        Whether the verdicts name the same position in both orders.
    is_asked : bool
        Whether a judge was asked: not if the answers are equal, or one is missing.
    """

    preference: str | None
    is_split: bool = False
    is_asked: bool = False


def outcome_of(
    question_id: str, one: str | None, other: str | None, ballots: Mapping[Compared, Ballot], path: Path
) -> DuelOutcome:
    """Decide between two answers: equal ones tie, and an answer wins against none.

    Raises
    ------
    RecordError
        The judge was not asked about these answers.
    """
    if one == other:
        return DuelOutcome(TIE)
    if one is None or other is None:
        return DuelOutcome(SIDES[one is None])
    ballot = ballots.get((question_id, min(one, other), max(one, other)))
    if ballot is None:
        raise RecordError(f"{path}: no ballot on two answers to question {question_id}\n    {_REMEDY}")
    preference = ballot.preference
    if preference is not None and one > other:
        preference = OTHER[preference]
    return DuelOutcome(preference, ballot.is_split, is_asked=True)


def by_answers(ballots: Sequence[Ballot]) -> dict[Compared, Ballot]:
    """Return ballots by what they compare."""
    return {(ballot.question_id, ballot.first, ballot.second): ballot for ballot in ballots}
