"""Chat completions are read without trust: reasoning apart from the reply, tokens that spell the text."""

from __future__ import annotations

import asyncio
import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortexdsl.core import Reply
from cortexdsl.errors import ModelError
from cortexdsl.models.client import open_client
from cortexdsl.models.transports.completions import completion, separated, tokens_of
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
    ],
)
def test_the_field_is_read_by_either_name(message: object, reasoning: str) -> None:
    assert completion({"choices": [{"message": message}]}, seed_refused=False).reasoning == reasoning


def test_a_hundred_thousand_tags_take_no_time_that_grows_with_their_square() -> None:
    said, thought = separated("<think>a</think>" * 100_000)
    assert (said, thought.count("a")) == ("", 100_000)
    assert separated("x</think>" * 20_000)[0] == ""


def reply_from(folder: Path, way: str, *orders: str, **environment: str) -> tuple[list[Reply], list[dict[str, Any]]]:
    """Ask a server once an order, then a client that only replays; return what was heard twice, and the log."""

    async def scene() -> list[Reply]:
        calls = [call_of(f"q{k}", 1, f"{way}/name", api_base="env:BASE") for k in range(len(orders))]
        async with serving(Stub(orders)) as base:
            runtime = Time().runtime(BASE=base, **environment)
            async with open_client(folder / "own.jsonl", runtime=runtime) as client:
                heard = [await client(call) for call in calls]
        async with open_client(None, folder=folder, offline=True, runtime=runtime) as client:
            assert [await client(call) for call in calls] == heard
        return heard

    heard = asyncio.run(scene())
    return heard, [json.loads(line) for line in (folder / "own.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("way", WAYS)
def test_reasoning_is_kept_apart_by_either_way_and_replayed(tmp_path: Path, way: str) -> None:
    (field, tags, none), log = reply_from(tmp_path, way, "thinks", "thinks aloud", "ok")
    assert (field.text, field.reasoning, field.reasoning_tokens) == ("reply to q0 [1]", "2+2 is 4", 3)
    assert (tags.text, tags.reasoning) == ("reply to q1 [1]", "2+2 is 4")
    assert (none.reasoning, "reasoning" in log[2], "reasoning_tokens" in log[2]) == ("", False, False)
    assert [line.get("reasoning") for line in log] == ["2+2 is 4", "2+2 is 4", None]


@pytest.mark.parametrize("way", WAYS)
def test_reasoning_without_a_reply_is_a_failure_that_keeps_what_was_thought(tmp_path: Path, way: str) -> None:
    (reply,), log = reply_from(tmp_path, way, "thinks too long")
    assert reply.text == ""
    assert reply.error == (
        "malformed reply: reasoning without a reply, cut at its length limit: raise `max_tokens`"
    )  # fmt: skip
    assert reply.reasoning == log[0]["reasoning"] == "2+2 is"


@pytest.mark.parametrize("way", WAYS)
def test_a_call_of_a_tool_is_no_reply_and_says_so(tmp_path: Path, way: str) -> None:
    reply = reply_from(tmp_path, way, *["calls a tool"] * 9)[0][0]
    assert reply.error == "malformed reply: the model called a tool in place of answering, and none was offered"


def test_a_key_in_the_reasoning_is_redacted(tmp_path: Path) -> None:
    stub = Stub()
    stub.reply = "<think>my key is sk-verysecret0123456789</think>Answer: 4"

    async def scene() -> Reply:
        async with serving(stub) as base:
            runtime = Time().runtime(BASE=base, KEY="sk-verysecret0123456789")
            async with open_client(tmp_path / "own.jsonl", runtime=runtime) as client:
                return await client(call_of("q", 1, "direct/name", api_base="env:BASE", api_key_env="KEY"))

    reply = asyncio.run(scene())
    assert reply.text == "Answer: 4"
    assert "verysecret" not in reply.reasoning + (tmp_path / "own.jsonl").read_text()


def listed(*pieces: Any) -> dict[str, Any]:
    """The tokens of a chat completion: of text, of bytes (a part of a character), or of both with a number."""
    entries = []
    for k, piece in enumerate(pieces, 1):
        said, logprob = piece if isinstance(piece, tuple) else (piece, -float(k))
        if isinstance(said, bytes):
            entries.append({"token": "�", "bytes": list(said), "logprob": logprob})
        else:
            entries.append({"token": said, "bytes": None, "logprob": logprob})
    return {"content": entries}


@pytest.mark.parametrize(
    ("pieces", "text", "tokens"),
    [
        (("Answer", ":", " 42"), "Answer: 42", ((6, -1.0), (2, -2.0), (2, -3.0))),
        (("Answer", ":", " 42", "<|im_end|>"), "Answer: 42", ((6, -1.0), (2, -2.0), (2, -3.0))),
        (("<think>", "2+2", "</think>", "\n\n", " 4"), "4", ((1, -5.0),)),
        (("2+2 ", "is", " 4", "4"), "4", ((1, -4.0),)),
        (("▁A", "▁B"), "A B", ()),  # what spells something else is no token of it
        (("A", "B"), "A B", ((2, -1.0), (1, -2.0))),  # space that a server leaves out
        (("x", b"\xe2\x89", b"\x88", " 1"), "x≈ 1", ((1, -1.0), (2, -5.0), (1, -4.0))),
        (("x", "�", "�", " 1"), "x≈ 1", ()),  # parts of a character without their bytes
        ((b"\xf0\x9f", b"\x98\x80", " 1"), "😀 1", ((2, -3.0), (1, -3.0))),
        (("  ", "4", "\n"), "4", ((1, -2.0),)),
        (("4",), "5", ()),
        ((), "5", ()),
        (("5", "a", "b", "c", "d"), "5", ((1, -1.0),)),
        (("x", "e", "</s>", "<|im_end|>"), "e", ((1, -2.0),)),  # not the letter in the token that ends the reply
        (("", "5"), "5", ((1, -2.0),)),
    ],
)  # fmt: skip
def test_tokens_are_laid_beside_the_text(pieces: Any, text: str, tokens: Any) -> None:
    assert tokens_of(listed(*pieces), text) == tokens


@pytest.mark.parametrize("logprob", [math.nan, math.inf, -math.inf, 0.7, True, "-1", None, 10**400, -(10**400)])
def test_a_number_that_is_none_leaves_no_tokens(logprob: Any) -> None:
    assert tokens_of(listed("Answer: ", ("4", logprob)), "Answer: 4") == ()


@pytest.mark.parametrize(
    "said",
    [None, [], "tokens", {"content": None}, {"content": "4"}, {"content": [None]}, {"content": [{}]},
     {"content": [{"token": 5, "logprob": -1}]}, {"content": [{"token": "4", "bytes": ["x"], "logprob": []}]},
     {"tokens": ["4"], "token_logprobs": [-0.1]}],
)  # fmt: skip
def test_what_is_no_list_of_tokens_is_none(said: Any) -> None:
    assert tokens_of(said, "4") == ()


def test_a_probability_of_one_may_be_rounded_up_and_none_is_above_it() -> None:
    assert tokens_of(listed(("4", 1e-9)), "4") == ((1, 0.0),)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60), st.integers(0, 2**32))
def test_whatever_the_pieces_they_are_the_text_or_nothing(text: str, seed: int) -> None:
    """Cut anywhere, also within characters, and with other words before."""
    chance, written = random.Random(seed), text.encode()
    cuts = sorted(chance.randrange(len(written) + 1) for _ in range(6))
    pieces = [written[a:b] for a, b in zip([0, *cuts], [*cuts, len(written)], strict=True)]
    tokens = tokens_of(listed("before ", *pieces), text.strip())
    assert sum(characters for characters, _ in tokens) in (0, len(text.strip()))
    assert all(characters > 0 and logprob <= 0 for characters, logprob in tokens)


def test_a_hundred_thousand_tokens_take_no_time_that_grows_with_their_square() -> None:
    assert len(tokens_of(listed(*["ab "] * 100_000), "ab " * 100_000)) == 100_000


def asked(folder: Path, way: str, *orders: str, **options: Any) -> tuple[list[Reply], list[dict[str, Any]], Stub]:
    """Ask a server once an order, then a client that only replays; return what was heard, the log, and the server."""
    stub = Stub(orders)

    async def scene() -> list[Reply]:
        options_ = {"logprobs": True, **options}
        calls = [call_of(f"q{k}", 1, f"{way}/name", api_base="env:BASE", options=options_) for k in range(len(orders))]
        async with serving(stub) as base:
            runtime = Time().runtime(BASE=base)
            async with open_client(folder / "own.jsonl", runtime=runtime) as client:
                heard = [await client(call) for call in calls]
        async with open_client(None, folder=folder, offline=True, runtime=runtime) as client:
            assert [await client(call) for call in calls] == heard
        return heard

    heard = asyncio.run(scene())
    return heard, [json.loads(line) for line in (folder / "own.jsonl").read_text().splitlines()], stub


@pytest.mark.parametrize("way", ["direct", "openai"])
def test_either_way_asks_for_tokens_keeps_them_small_and_replays_them(tmp_path: Path, way: str) -> None:
    (reply,), (line,), stub = asked(tmp_path, way, "ok")
    assert stub.bodies[0]["logprobs"] is True
    assert sum(characters for characters, _ in reply.tokens) == len(reply.text)
    assert {logprob for _, logprob in reply.tokens} == {-0.5}
    assert line["tokens"] == [list(token) for token in reply.tokens]
    assert len(json.dumps(line["tokens"])) < 12 * len(reply.tokens)


@pytest.mark.parametrize("way", ["direct", "openai"])
@pytest.mark.parametrize("order", ["silent tokens", "not a number", "other tokens"])
def test_a_server_that_gives_no_tokens_gives_a_reply_without(tmp_path: Path, way: str, order: str) -> None:
    (reply,), (line,), _ = asked(tmp_path, way, order)
    assert reply.text.startswith("reply to q0")
    assert reply.tokens == ()
    assert "tokens" not in line


@pytest.mark.parametrize("way", ["direct", "openai"])
def test_a_server_that_refuses_them_ends_the_job_and_says_so(tmp_path: Path, way: str) -> None:
    with pytest.raises(ModelError, match=r"logprobs are not supported by this model"):
        asked(tmp_path, way, "no tokens")


def test_a_key_that_is_taken_out_of_a_reply_takes_the_tokens_along(tmp_path: Path) -> None:
    async def scene() -> Reply:
        stub = Stub()
        stub.reply = "the key is sk-abcdefghijklmnop"
        async with serving(stub) as base:
            runtime = Time().runtime(BASE=base, KEY="sk-abcdefghijklmnop")
            call = call_of("q", 1, "direct/m", api_base="env:BASE", api_key_env="KEY", options={"logprobs": True})
            async with open_client(tmp_path / "own.jsonl", runtime=runtime) as client:
                return await client(call)

    reply = asyncio.run(scene())
    assert "abcdefghijklmnop" not in reply.text
    assert reply.tokens == ()


def test_a_failure_keeps_no_tokens(tmp_path: Path) -> None:
    (reply,), (line,), _ = asked(tmp_path, "direct", "cut to nothing")
    assert reply.error is not None
    assert reply.tokens == ()
    assert "tokens" not in line
