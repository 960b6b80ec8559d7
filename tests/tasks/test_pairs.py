"""Pairs: rows of each public format, both orders, several labels, and rows that are refused by row and column."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.core import Dataset
from cortexdsl.errors import DataError
from cortexdsl.tasks.load import load
from cortexdsl.tasks.pairs import other_order
from cortexdsl.tasks.reading.kinds import kind_named
from cortexdsl.tasks.reading.reader import AnswerReader
from cortexdsl.tasks.task import Task

HEAD = "\n\nHuman: Hello.\n\nAssistant: Hello, what can I do?\n\nHuman: Name a\nfish."
HH = {"chosen": f"{HEAD}\n\nAssistant: A trout.", "rejected": f"{HEAD}\n\nAssistant: No."}
HH_ONE = {
    "chosen": "\n\nHuman: Name a fish.\n\nAssistant: A trout.",
    "rejected": "\n\nHuman: Name a fish.\n\nAssistant: No.",
}
ULTRA = {
    "prompt": "Name a fish.", "prompt_id": "p1", "score_chosen": 8.0, "score_rejected": 4.0,
    **{side: [{"content": "Name a fish.", "role": "user"}, {"content": reply, "role": "assistant"}]
       for side, reply in (("chosen", "A trout."), ("rejected", "No."))},
}  # fmt: skip


def talk(*replies: str) -> list[dict[str, str]]:
    turns = zip(("Name a fish.", "And a bird."), replies, strict=False)
    return [part for ask, said in turns
            for part in ({"content": ask, "role": "user"}, {"content": said, "role": "assistant"})]  # fmt: skip


def mt(model_a: str, model_b: str, winner: str, judge: str, turn: int = 1) -> dict[str, Any]:
    said = {"one": talk("A trout.", "A crow."), "two": talk("No.", "A hen.")}
    return {"question_id": 81, "model_a": model_a, "model_b": model_b, "winner": winner, "judge": judge,
            "conversation_a": said[model_a], "conversation_b": said[model_b], "turn": turn}  # fmt: skip


def named(name: str, file: Path, rows: list[dict[str, Any]]) -> Task:
    file.parent.mkdir(parents=True, exist_ok=True)
    is_json = file.suffix == ".json"
    file.write_text(json.dumps(rows) if is_json else "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return load(Dataset(name, name=name, path=str(file)))


def own(path: Path, rows: list[dict[str, Any]], **more: Any) -> Task:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    fields = {"question": "ask", "answer": "better", "choices": ["one", "two"], **more.pop("fields", {})}
    return load(Dataset("own", path=str(path), kind="pair", fields=fields, **more))


def row(**more: Any) -> dict[str, Any]:
    return {"ask": "Name a fish.", "one": "A trout.", "two": "No.", "better": "A"} | more


def test_hh_rlhf_asks_for_the_last_reply_of_a_dialogue(tmp_path: Path) -> None:
    task = named("hh-rlhf", tmp_path / "test.jsonl", [HH, HH_ONE])
    by_text = {question.text: question for question in task.questions if not question.id.endswith("-swapped")}
    request = "Human: Hello.\n\nAssistant: Hello, what can I do?\n\nHuman: Name a\nfish."
    long = by_text[f"Which of the two replies to this request is better?\nRequest: {request}"]
    assert long.options == (("A", "A trout."), ("B", "No."))
    assert task.gold(long.id) == ("A",)
    assert "Which of the two replies to this request is better?\nRequest: Name a fish." in by_text


def test_ultrafeedback_and_llmbar(tmp_path: Path) -> None:
    task = named("ultrafeedback", tmp_path / "test_prefs.jsonl", [ULTRA])
    assert [question.id for question in task.questions] == ["p1", "p1-swapped"]
    assert [task.gold(question.id) for question in task.questions] == [("A",), ("B",)]
    bar = {"input": "Name a fish.", "output_1": "No.", "output_2": "A trout.", "label": 2}
    task = named("llmbar", tmp_path / "Natural" / "dataset.json", [bar])
    assert [task.gold(question.id) for question in task.questions] == [("B",), ("A",)]
    assert task.questions[0].options == (("A", "No."), ("B", "A trout."))


def test_judgements_of_one_pair_in_mt_bench_are_its_labels(tmp_path: Path) -> None:
    rows = [
        mt("one", "two", "model_a", "expert_0"),
        mt("two", "one", "model_b", "expert_1"),  # the other order, the same preference
        mt("one", "two", "tie", "expert_2"),
        mt("one", "two", "model_b", "expert_0", turn=2),
    ]
    task = named("mt-bench-human", tmp_path / "human.jsonl", rows)
    assert len(task.questions) == 4
    first = next(question for question in task.questions if task.gold(question.id) == ("A", "A", "tie"))
    assert dict(first.options) == {"A": "A trout.", "B": "No.", "tie": "Both are equally good."}
    assert first.text.endswith("\nRequest: Name a fish.")
    second = next(question for question in task.questions if task.gold(question.id) == ("B",))
    assert second.options[1][1] == "Assistant: No.\n\nUser: And a bird.\n\nAssistant: A hen."
    assert {question.cluster for question in task.questions} == {"81"}
    assert task.grade(first.id, "A") == pytest.approx(2 / 3)
    assert task.grade(other_order(first.id), "B") == pytest.approx(2 / 3)
    assert task.grade(first.id, "tie") == pytest.approx(1 / 3)


def test_each_pair_is_asked_in_both_orders_and_is_one_cluster(tmp_path: Path) -> None:
    rows = [row(id=f"p{k}", ask=f"Name fish {k}.", better="AB"[k % 2]) for k in range(6)]
    task = own(tmp_path / "own.jsonl", rows, size=4)
    ids = [question.id for question in task.questions]
    assert len(ids) == 8
    for one, other in zip(task.questions[::2], task.questions[1::2], strict=True):
        assert other.id == other_order(one.id)
        assert one.cluster == other.cluster == one.id
        assert [text for _, text in one.options] == [text for _, text in reversed(other.options)]
        assert {*task.gold(one.id), *task.gold(other.id)} == {"A", "B"}
    assert ids == [question.id for question in own(tmp_path / "own.jsonl", rows, size=6).questions][:8]
    assert [question.id for question in own(tmp_path / "own.jsonl", rows, ids=("p3",)).questions] == [
        "p3",
        "p3-swapped",
    ]


def test_pairs_with_one_request_are_one_cluster(tmp_path: Path) -> None:
    rows = [row(id=str(k), ask=text, one=f"one {k}", two=f"two {k}") for k, text in enumerate("aab")]
    clusters = {question.id: question.cluster for question in own(tmp_path / "own.jsonl", rows).questions}
    assert clusters["0"] == clusters["1"] == clusters["1-swapped"] != clusters["2"] == "2"


def test_a_cell_may_hold_several_labels_and_a_tie_is_offered_if_the_set_has_one(tmp_path: Path) -> None:
    without = own(tmp_path / "own.jsonl", [row()])
    assert len(without.questions[0].options) == 2
    assert "<A or B>" in without.format_of(without.questions[0].id)
    some = own(tmp_path / "own.jsonl", [row(better=["A", "tie", "A"]), row(ask="Name a bird.")])
    assert all(question.options[2][0] == "tie" for question in some.questions)
    assert "<A, B, or tie>" in some.answer_format


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([row(), row(ask="x", better="C")], ["row 2", "'C'", "write which reply is better: A, B or tie"]),
        ([row(), row(ask="x", better=0)], ["row 2", "'0'", "A, B or tie"]),
        ([row(), row(ask="x", two="A trout.")], ["row 2: both replies are the same text", "'one' or 'two'"]),
        ([row(), row(ask="x", two="")], ["row 2", "columns 'one' and 'two': 1 of two replies"]),
        ([row(), row(ask="")], ["row 2", "no question (column 'ask')"]),
        ([row(), row(ask="x", better=None)], ["row 2", "no answer (column 'better')"]),
    ],
)
def test_a_bad_row_is_named_with_its_columns(tmp_path: Path, rows: list[dict[str, Any]], says: list[str]) -> None:
    with pytest.raises(DataError) as error:
        own(tmp_path / "own.jsonl", rows)
    for part in says:
        assert part in str(error.value)


def test_a_missing_column_and_other_settings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no column 'three'"):
        own(tmp_path / "own.jsonl", [row()], fields={"choices": ["one", "three"]})
    with pytest.raises(DataError, match="in both orders"):
        own(tmp_path / "own.jsonl", [row()], shuffle_options=True)


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("Answer: A", "A"),
        ("Reply B is short.\nAnswer: Reply B", "B"),
        ("Answer: tie", "tie"),
        ("**Answer:** (b)", "B"),
        ("Both are fine. [[C]]", "tie"),
        ("My verdict is [[A]]", "A"),
        ("A is vague, and so reply B is better.", "B"),
        ("I would choose Response A.", "A"),
        ("The answer is B, because A is wrong.", "B"),
        ("The answer is that both are equally good.", "tie"),
        ("It is a tie.", "tie"),
        ("Answer: B\nAgent 2 argues that the answer is A.", "B"),
        ("A is better in style and B is better in facts.", None),
        ("Answer: C", None),
        ("A reply should be short.", None),
        ("", None),
    ],
)
def test_verdicts_are_read_and_never_guessed(reply: str, verdict: str | None) -> None:
    assert AnswerReader(kind_named("pair")).lenient(reply).value == verdict


def test_a_tie_is_unreadable_if_the_dataset_has_none() -> None:
    reader = AnswerReader(kind_named("pair", (("A", "x"), ("B", "y"))))
    reading = reader.lenient("Answer: tie")
    assert reading.value is None
    assert "where one must be better" in str(reading.unparsed)
