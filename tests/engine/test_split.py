"""One call for each item of a reply, or for each part of the passage."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cortexdsl.core import ItemSplit, OfRole, Question, Reply, equal_parts, list_items
from cortexdsl.records import Header, debate_to_json, record_from_json
from cortexdsl.tasks.reading.number import NumberKind
from cortexdsl.tasks.reading.reader import AnswerReader
from tests.engine.stage import Stage, method, name_of, run

QUESTION = Question("q1", "How many?", context="One ship left. Two came back. Three sank. Four never sailed.")


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("Plan:\n1. add\n2. multiply\n3. check", ("add", "multiply", "check")),
        ("1) add\n   the first two\n2) stop\n\nThat is all.", ("add\n   the first two", "stop")),
        ("- add\n* multiply", ("add", "multiply")),
        ("1. add\n - with care\n2. stop", ("add\n - with care", "stop")),
        ("- add\n  1. with care\n  2. twice\n- stop", ("add\n  1. with care\n  2. twice", "stop")),
        (" 9. add\n10. stop", ("add", "stop")),
        ("- goal\n\n1. add\n2. stop", ("add", "stop")),
        ("**1.** add\n**2.** stop", ("add", "stop")),
        ("Just add.", ("Just add.",)),
        ("", ()),
        ("1. a\n2. b\n3. c\n4. d\n5. e", ("a", "b", "c", "d")),
        ("It is 1. and not 2. here", ("It is 1. and not 2. here",)),
    ],
)
def test_items_of_a_list(text: str, items: tuple[str, ...]) -> None:
    assert list_items(text, 4) == items


@pytest.mark.parametrize(
    ("text", "most", "parts"),
    [
        (QUESTION.context, 2, ("One ship left. Two came back.", "Three sank. Four never sailed.")),
        (QUESTION.context, 9, ("One ship left.", "Two came back.", "Three sank.", "Four never sailed.")),
        ("no sentence at all", 3, ("no sentence at all",)),
        ("", 3, ()),
        ("One. Two.", 1, ("One. Two.",)),
    ],
)
def test_equal_parts_of_a_passage(text: str, most: int, parts: tuple[str, ...]) -> None:
    assert equal_parts(text, most) == parts


class Real(Stage):
    """A stage that reads replies as a task does, and writes the item into the prompt."""

    def render(self, prompt: str, view: Any) -> Any:
        (message,) = super().render(prompt, view)
        return ({**message, "content": f"{message['content']}\nitem {view['item']}"},) if view["item"] else (message,)

    def ports(self) -> Any:
        return replace(super().ports(), reader=AnswerReader(NumberKind()))


def said(text: str) -> Any:
    return lambda call: Reply(f"{call.seed}", text, "stop", 1, 1)


ROLES = {"debater": "a b", "planner": "p"}
WORK: dict[str, Any] = {
    "plan": {"role": "planner", "reads": "comment"},
    "work": {"hears": OfRole(("planner",)), "each": "item", "split": ItemSplit(3, "plan")},
}


def test_items_are_dealt_to_the_workers() -> None:
    """Three of four items, dealt to a, b and a; the words of the plan are recorded as heard."""
    script = {f"work:{who}0>item{k}": said(f"Answer: {k}") for k, who in ((1, "a"), (2, "b"), (3, "a"))}
    stage = Real({"plan:p0": said("1. one\n2. two\n3. three\n4. four"), **script})
    debate = run(method(WORK, ["plan", "work"], ROLES), stage)
    assert [(name_of(turn), turn.answer) for turn in debate.turns[1:]] == [
        ("work:a0>item1", "1"), ("work:b0>item2", "2"), ("work:a0>item3", "3"),
    ]  # fmt: skip
    assert [stage.views[f"work:{who}0>item{k}"]["item"] for k, who in ((1, "a"), (2, "b"), (3, "a"))] == [
        "one", "two", "three",
    ]  # fmt: skip
    assert all(turn.heard == (0,) for turn in debate.turns[1:])
    assert dict(debate.votes) == {"1": 1.0, "2": 1.0, "3": 1.0}
    line = debate_to_json(debate, Header("tried", "sums", "cell", 1))
    assert debate_to_json(record_from_json(line).debate, Header("tried", "sums", "cell", 1)) == line


def test_an_empty_plan_gives_no_work() -> None:
    debate = run(method(WORK, ["plan", "work"], ROLES), Real({"plan:p0": said("")}))
    assert (len(debate.turns), debate.answer) == (1, None)


def test_a_worker_after_the_other_reads_a_part_of_the_passage() -> None:
    steps: dict[str, Any] = {
        "read": {"role": "worker", "each": "item", "split": ItemSplit(2), "order": "sequential", "memory": "last",
                 "reads": "comment", "context": False},
        "answer": {"hears": OfRole(("worker",))},
    }  # fmt: skip
    script = {f"read:w0>item{k}": said(f"note {k}") for k in (1, 2)} | {"answer:m0": said("Answer: 4")}
    stage = Real(script)
    debate = run(method(steps, ["read", "answer"], {"worker": "w", "debater": "m"}), stage, question=QUESTION)
    assert [stage.views[f"read:w0>item{k}"]["item"] for k in (1, 2)] == [
        "One ship left. Two came back.", "Three sank. Four never sailed.",
    ]  # fmt: skip
    assert [turn["text"] for turn in stage.views["read:w0>item2"]["own"]] == ["note 1"]
    assert debate.answer == "4"
