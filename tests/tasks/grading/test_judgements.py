"""The judge: what it is asked, and what becomes of what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.core import Model, Question
from cortexdsl.errors import RecordError
from cortexdsl.tasks.judging import Judgement, Judgements, judge_call, judgement_lines
from cortexdsl.templates.templates import Templates

JUDGE = Model("judge", "builtin/solver")


def test_the_call_holds_question_golds_and_answer_and_is_the_same_whoever_answered() -> None:
    question = Question("q", "Who wrote it?", context="A passage.")
    calls = [
        judge_call(JUDGE, question, ("Ada Lovelace", ""), said, Templates().render, seed=7)
        for said in ("ada", "ada", "bob")
    ]
    text = calls[0].messages[-1]["content"]
    assert all(part in text for part in ("Who wrote it?", "A passage.", "- Ada Lovelace", "holds no answer", "\nada\n"))
    assert calls[0] == calls[1]
    assert calls[0].seed == calls[2].seed
    assert calls[0] != calls[2]


def test_what_is_not_called_correct_scores_nothing_and_what_was_never_judged_is_an_error(tmp_path: Path) -> None:
    said = [
        Judgement("q1", "\ud83d odd \x00", True, "a"),
        Judgement("q1", "no", False, "b"),
        Judgement("q2", "x", None, "c"),
    ]
    path = tmp_path / "cell.jsonl"
    path.write_text("\n".join(judgement_lines(said)) + "\n", encoding="utf-8")
    judged = Judgements(path)
    assert [judged("q1", "\ud83d odd \x00"), judged("q1", "no"), judged("q2", "x"), judged("q2", None)] == [1, 0, 0, 0]
    assert judged.by_answer["q2", "x"] is None
    with pytest.raises(RecordError, match="no judgement of an answer to question q2"):
        judged("q2", "y")


@pytest.mark.parametrize("line", ["{", '{"schema_version": 9}', '{"schema_version": 1, "question_id": "q"}'])
def test_a_broken_file_of_judgements_is_named_with_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "cell.jsonl"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(RecordError, match=r"cell\.jsonl:1: not a line of judgements"):
        Judgements(path)
