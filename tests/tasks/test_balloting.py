"""Ballots: both orders are asked, contradictions tie, nothing is guessed, and files are read back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.core import Message, Model, Question
from cortexdsl.errors import RecordError
from cortexdsl.tasks.balloting import (
    Ballot,
    ballot_calls,
    ballot_lines,
    by_answers,
    compared_answers,
    outcome_of,
    read_ballot,
    read_ballots,
    unread_ballots,
)
from cortexdsl.templates.templates import Templates

JUDGE = Model("judge", "builtin/solver")
PATH = Path("ballots.jsonl")


def test_each_two_different_answers_to_a_question_are_compared_once() -> None:
    given = [("q1", "b"), ("q1", "a"), ("q1", "b"), ("q1", None), ("q2", "a"), ("q2", "c"), ("q3", "a")]
    assert compared_answers(given) == [("q1", "a", "b"), ("q2", "a", "c")]


def test_a_judge_reads_the_request_and_both_answers_in_both_orders() -> None:
    seen: list[str] = []

    def render(name: str, variables: Mapping[str, Any]) -> tuple[Message, ...]:
        messages = Templates([Path("prompts")]).render(name, variables)
        seen.append(messages[-1]["content"])
        return messages

    calls = ballot_calls(JUDGE, Question("q", "Name a fish."), "A trout.", "No.", render, seed=1)
    assert len(calls) == 2
    assert "Request: Name a fish." in seen[0]
    assert seen[0].index("(A) A trout.") < seen[0].index("(B) No.")
    assert seen[1].index("(A) No.") < seen[1].index("(B) A trout.")
    assert all("Answer: <A, B, or tie>" in text for text in seen)


@pytest.mark.parametrize(
    ("verdicts", "preference", "is_split"),
    [
        (("A", "B"), "A", False),
        (("B", "A"), "B", False),
        (("tie", "tie"), "tie", False),
        (("A", "A"), "tie", True),
        (("B", "B"), "tie", True),
        (("A", "tie"), "tie", False),
        (("A", None), None, False),
        ((None, None), None, False),
    ],
)
def test_only_a_verdict_that_follows_the_answer_is_a_preference(
    verdicts: tuple[str | None, str | None], preference: str | None, is_split: bool
) -> None:
    ballot = Ballot("q", "a", "b", verdicts, ("k1", "k2"))
    assert (ballot.preference, ballot.is_split) == (preference, is_split)


def test_outcomes_of_cells() -> None:
    ballots = by_answers(
        [Ballot("q", "a", "b", ("A", "B"), ("k1", "k2")), Ballot("q", "a", "c", ("A", None), ("", ""))]
    )
    found = [outcome_of("q", one, other, ballots, PATH) for one, other in (("a", "b"), ("b", "a"), ("a", "c"))]
    assert [outcome.preference for outcome in found] == ["A", "B", None]
    assert all(outcome.is_asked for outcome in found)
    unasked = [
        outcome_of("q", *answers, ballots, PATH) for answers in (("a", "a"), ("a", None), (None, "a"), (None,) * 2)
    ]
    assert [outcome.preference for outcome in unasked] == ["tie", "A", "B", "tie"]
    assert not any(outcome.is_asked for outcome in unasked)
    with pytest.raises(RecordError, match="no ballot on two answers to question q"):
        outcome_of("q", "a", "x", ballots, PATH)


def test_ballots_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "ballots.jsonl"
    ballots = [Ballot("q", "a\nb", "c", ("A", None), ("k1", "k2")), Ballot("p", "", "ü", ("tie", "tie"), ("k3", "k4"))]
    path.write_text("".join(f"{line}\n" for line in ballot_lines(ballots)), encoding="utf-8")
    assert read_ballots(path) == ballots
    assert unread_ballots(path) == ("k2",)


@pytest.mark.parametrize(
    "line",
    [
        "{}",
        "[]",
        "x",
        '{"schema_version": 2, "verdicts": [], "calls": []}',
        '{"schema_version": 1, "question_id": "", "first": "a", "second": "b", "verdicts": ["C", "A"], "calls": []}',
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "ballots.jsonl"
    path.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(RecordError, match=r"ballots\.jsonl:1: not a line of ballots"):
        read_ballots(path)
    with pytest.raises(RecordError, match="cannot be read"):
        read_ballots(tmp_path / "none.jsonl")


def test_a_ballot_that_cannot_be_read_is_none() -> None:
    assert read_ballot("Both have merits. Answer: A or B") is None
    assert read_ballot("B is right.\nAnswer: B") == "B"
