"""What a model thinks is told apart from what it says, and kept, whichever way it comes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cortexdsl.models.door import open_door
from cortexdsl.models.transports.reasoning import reasoning_field, separated
from cortexdsl.terms import Reply
from tests.models.kit import Time, call_of
from tests.models.stub import Stub, serving

WAYS = ("direct", "openai")


@pytest.mark.parametrize(
    ("reply", "text", "reasoning"),
    [
        ("Answer: 4", "Answer: 4", ""),
        ("  spaces stay \n", "  spaces stay \n", ""),
        ("<think>2+2</think>\n\nAnswer: 4", "Answer: 4", "2+2"),
        ("<think>\n\n</think>\n\nAnswer: 4", "Answer: 4", ""),
        ("<THINK>2+2</THINK>Answer: 4", "Answer: 4", "2+2"),
        ("[THINK]2+2[/THINK]Answer: 4", "Answer: 4", "2+2"),
        ("◁think▷2+2◁/think▷Answer: 4", "Answer: 4", "2+2"),
        ("<seed:think>2+2</seed:think>Answer: 4", "Answer: 4", "2+2"),
        ("<thought>2+2</thought>Answer: 4", "Answer: 4", "2+2"),
        ("<think>one</think>first <thinking>two</thinking>Answer: 4", "first Answer: 4", "one\n\ntwo"),
        ("<think>2+2 is, let me see", "", "2+2 is, let me see"),
        ("Answer: 4 <think>or is it", "Answer: 4", "or is it"),
        ("2+2</think>Answer: 4", "Answer: 4", "2+2"),
        ("<think>a <think> b</think>Answer: 4", "Answer: 4", "a\n\nb"),
        ("<think>a</think>b</think>Answer: 4", "Answer: 4", "a\n\nb"),
        ("I think <b>4</b>, thinking hard", "I think <b>4</b>, thinking hard", ""),
        ("<think", "<think", ""),
        ("", "", ""),
    ],
)  # fmt: skip
def test_tags_tell_thinking_from_saying(reply: str, text: str, reasoning: str) -> None:
    assert separated(reply) == (text, reasoning)


@pytest.mark.parametrize(
    ("message", "reasoning"),
    [
        ({"content": "4", "reasoning_content": "2+2"}, "2+2"),
        ({"content": "4", "reasoning": "2+2"}, "2+2"),
        ({"content": "4", "reasoning_content": None, "reasoning": "2+2"}, "2+2"),
        ({"content": "4", "reasoning": {"effort": "high"}}, ""),
        ({"content": "4"}, ""),
        (SimpleNamespace(content="4", reasoning_content="2+2"), "2+2"),
        (SimpleNamespace(content="4"), ""),
    ],
)
def test_the_field_is_read_by_either_name(message: object, reasoning: str) -> None:
    assert reasoning_field(message) == reasoning


def test_a_hundred_thousand_tags_take_no_time_that_grows_with_their_square() -> None:
    said, thought = separated("<think>a</think>" * 100_000)
    assert (said, thought.count("a")) == ("", 100_000)
    assert separated("x</think>" * 20_000)[0] == ""


def asked(folder: Path, way: str, *orders: str, **environment: str) -> tuple[list[Reply], list[dict[str, Any]]]:
    """Ask a server once a order, then a door that only replays; return what was heard twice, and the log."""

    async def scene() -> list[Reply]:
        calls = [call_of(f"q{k}", 1, f"{way}/name", api_base="env:BASE") for k in range(len(orders))]
        async with serving(Stub(orders)) as base:
            hooks = Time().hooks(BASE=base, **environment)
            async with open_door(folder / "own.jsonl", hooks=hooks) as door:
                heard = [await door(call) for call in calls]
        async with open_door(None, folder=folder, offline=True, hooks=hooks) as door:
            assert [await door(call) for call in calls] == heard
        return heard

    heard = asyncio.run(scene())
    return heard, [json.loads(line) for line in (folder / "own.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("way", WAYS)
def test_reasoning_is_kept_apart_by_either_way_and_replayed(tmp_path: Path, way: str) -> None:
    (field, tags, none), log = asked(tmp_path, way, "thinks", "thinks aloud", "ok")
    assert (field.text, field.reasoning, field.reasoning_tokens) == ("reply to q0 [1]", "2+2 is 4", 3)
    assert (tags.text, tags.reasoning) == ("reply to q1 [1]", "2+2 is 4")
    assert (none.reasoning, "reasoning" in log[2], "reasoning_tokens" in log[2]) == ("", False, False)
    assert [line.get("reasoning") for line in log] == ["2+2 is 4", "2+2 is 4", None]


@pytest.mark.parametrize("way", WAYS)
def test_reasoning_without_a_reply_is_a_failure_that_keeps_what_was_thought(tmp_path: Path, way: str) -> None:
    (reply,), log = asked(tmp_path, way, "thinks too long")
    assert reply.text == ""
    assert reply.error == (
        "malformed reply: reasoning without a reply, cut at its length limit: raise `max_tokens`"
    )  # fmt: skip
    assert reply.reasoning == log[0]["reasoning"] == "2+2 is"


@pytest.mark.parametrize("way", WAYS)
def test_a_call_of_a_tool_is_no_reply_and_says_so(tmp_path: Path, way: str) -> None:
    reply = asked(tmp_path, way, *["calls a tool"] * 9)[0][0]
    assert reply.error == "malformed reply: the model called a tool in place of answering, and none was offered"


def test_a_key_in_the_reasoning_is_redacted(tmp_path: Path) -> None:
    stub = Stub()
    stub.reply = "<think>my key is sk-verysecret0123456789</think>Answer: 4"

    async def scene() -> Reply:
        async with serving(stub) as base:
            hooks = Time().hooks(BASE=base, KEY="sk-verysecret0123456789")
            async with open_door(tmp_path / "own.jsonl", hooks=hooks) as door:
                return await door(call_of("q", 1, "direct/name", api_base="env:BASE", api_key_env="KEY"))

    reply = asyncio.run(scene())
    assert reply.text == "Answer: 4"
    assert "verysecret" not in reply.reasoning + (tmp_path / "own.jsonl").read_text()
