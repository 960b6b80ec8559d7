"""A reply laid beside its tokens, whatever a server makes of them; kept in the log, and the same when replayed."""

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

from cortexdsl.errors import ModelError
from cortexdsl.models.door import open_door
from cortexdsl.models.transports.tokens import tokens_of
from cortexdsl.terms import Reply
from tests.models.kit import Time, call_of
from tests.models.stub import Stub, serving


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
        (("x", "�", "�", " 1"), "x≈ 1", ((1, -1.0), (2, -5.0), (1, -4.0))),
        ((b"\xf0\x9f", b"\x98\x80", " 1"), "😀 1", ((2, -3.0), (1, -3.0))),
        (("  ", "4", "\n"), "4", ((1, -2.0),)),
        (("4",), "5", ()),
        ((), "5", ()),
        (("5", "a", "b", "c", "d"), "5", ((1, -1.0),)),
        (("5", "a", "b", "c", "d", "e"), "5", ()),  # so much after the end is another reply
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
    assert sum(n for n, _ in tokens_of(listed(*["�"] * 2_000, "y"), "x" * 20 + "y")) == 21


def asked(folder: Path, way: str, *orders: str, **options: Any) -> tuple[list[Reply], list[dict[str, Any]], Stub]:
    """Ask a server once an order, then a door that only replays; return what was heard, the log, and the server."""
    stub = Stub(orders)

    async def scene() -> list[Reply]:
        options_ = {"logprobs": True, **options}
        calls = [call_of(f"q{k}", 1, f"{way}/name", api_base="env:BASE", options=options_) for k in range(len(orders))]
        async with serving(stub) as base:
            hooks = Time().hooks(BASE=base)
            async with open_door(folder / "own.jsonl", hooks=hooks) as door:
                heard = [await door(call) for call in calls]
        async with open_door(None, folder=folder, offline=True, hooks=hooks) as door:
            assert [await door(call) for call in calls] == heard
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
            hooks = Time().hooks(BASE=base, KEY="sk-abcdefghijklmnop")
            call = call_of("q", 1, "direct/m", api_base="env:BASE", api_key_env="KEY", options={"logprobs": True})
            async with open_door(tmp_path / "own.jsonl", hooks=hooks) as door:
                return await door(call)

    reply = asyncio.run(scene())
    assert "abcdefghijklmnop" not in reply.text
    assert reply.tokens == ()


def test_a_failure_keeps_no_tokens(tmp_path: Path) -> None:
    (reply,), (line,), _ = asked(tmp_path, "direct", "cut to nothing")
    assert reply.error is not None
    assert reply.tokens == ()
    assert "tokens" not in line
