"""What replies are where they are no answers: found where it leaves no doubt, counted, and never guessed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.metrics.replies import calls_tool, empty, refused, refuses, tool_calls
from cortexdsl.metrics.view import view_debate
from cortexdsl.models.transports.failure_kinds import FailureKind
from tests.stats.debates import made


def counted(measure: Any, *turns: dict[str, Any]) -> float:
    """Count over a debate of one round whose turns are these."""
    debate = made([dict.fromkeys("abcdefgh"[: len(turns)], "R")], [])
    changed = tuple(replace(turn, **said) for turn, said in zip(debate.turns, turns, strict=True))
    view = view_debate(replace(debate, turns=changed), lambda question, answer: 0.0)
    return float(measure(view))


@pytest.mark.parametrize(
    "text",
    [
        "I can't help with that.",
        "I’m sorry, but I can’t assist with that request.",
        "I'm sorry, but as a doctor I am not qualified to answer questions on history.",
        "As a historian, I cannot confidently answer this question.",
        "We are unable to comply.",
        "I must respectfully decline to answer.",
        "This falls outside my area of expertise.",
        "I won't provide an answer to that.",
    ],
)
def test_what_refuses(text: str) -> None:
    assert refuses(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x cannot be factored over the integers, so k = 4.",
        "The passage does not help.",
        "Agent 2 cannot answer the question, and Agent 1 can. Answer: B",
        "I can help: the answer is 4.",
        "I can't see why it would be 5, so I say 4.",
        "We cannot subtract 8 from 5 in base 9.",
        "I cannot answer this question. " + "But let me reason on. " * 40,
    ],
)
def test_what_does_not_refuse(text: str) -> None:
    assert not refuses(text)


def test_a_refusal_is_counted_where_it_answers_nothing() -> None:
    said = "I can't help with that."
    filtered = f"no reply: {FailureKind.CONTENT_FILTER.value}: the model refused: no"
    turns: list[dict[str, Any]] = [
        {"text": said, "answer": None, "unparsed": "refuses"},
        {"text": f"{said} But it is 7.", "answer": "7"},
        {"text": "", "answer": None, "unparsed": filtered},
        {"text": "", "answer": None, "unparsed": "no reply: context window exceeded: 9"},
    ]
    assert counted(refused, *turns) == 2


def test_empty_replies_and_tools_are_counted_apart_from_other_failures() -> None:
    turns: list[dict[str, Any]] = [
        {"text": "", "answer": None, "unparsed": f"no reply: {FailureKind.MALFORMED.value}: {why}"}
        for why in (
            "empty reply",
            "reasoning without a reply, cut at its length limit: raise `max_tokens`",
            "the model called a tool in place of answering, and none was offered",
            "the reply is no chat completion",
        )
    ]
    turns += [{"text": '<tool_call>{"name": "add"}</tool_call>', "answer": None, "unparsed": "no number"}]
    assert counted(empty, *turns) == 2
    assert counted(tool_calls, *turns) == 2


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("<|python_tag|>add(1, 2)", True),
        ("  [TOOL_CALLS] [{}]", True),
        ("<function=add>{}</function>", True),
        ("Use <tool_call> to call a tool.", False),
        ('{"answer": 4}', False),
        ("", False),
    ],
)
def test_a_reply_that_calls_a_tool_begins_with_its_mark(text: str, is_one: bool) -> None:
    assert calls_tool(text) == is_one


def test_of_551_real_replies_17_refuse_and_none_calls_a_tool(shared_data: Path) -> None:
    """Read one by one: 16 of the 17 refuse and answer nothing, one refuses and then answers (D) all the same."""

    def rows(name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (shared_data / name).read_text(encoding="utf-8").splitlines()]

    replies = [row["output"] or "" for row in rows("raw_outputs.jsonl")]
    for debate in rows("recorded_debates.jsonl"):
        replies += [text for turns in debate["agents"] for text in turns if text]
    found = [text for text in replies if refuses(text)]
    assert (len(replies), len(found)) == (551, 17)
    assert sum("correct answer should be" in text for text in found) == 1
    assert not [text for text in replies if calls_tool(text)]
