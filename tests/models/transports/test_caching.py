"""Asking for caching: what is marked, that nothing else changes, and what a plan says of it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.cli.main import main
from cortexdsl.core import Call, Model, Question
from cortexdsl.engine.messages import length_of_question
from cortexdsl.models.call_keys import call_key
from cortexdsl.models.transports.caching import caches_on_request
from cortexdsl.models.transports.interface import PLACEHOLDER_KEY
from cortexdsl.models.transports.litellm import LitellmTransport
from cortexdsl.plan.compiler import compile_spec
from tests.models.transports.test_provider_replies import AWS, SOLVED, TEXT, chat, claude, converse
from tests.models.transports.wires import WIRES, serving

MARK = {"type": "ephemeral"}
PASSAGE, ASKED = "A passage that all read.", "What is it about?"
PROMPT = f"Passage:\n{PASSAGE}\n\nQuestion: {ASKED}\n(A) birds\n(B) trees\n\nSolve the question."
QUESTION = Question("1", ASKED, (("A", "birds"), ("B", "trees")), PASSAGE)
SHARED = PROMPT.index("(B) trees") + len("(B) trees")


@pytest.mark.parametrize(
    ("prompt", "length"),
    [
        (PROMPT, SHARED),
        (PROMPT.replace("(B) trees", "(B) bushes"), PROMPT.index("birds") + len("birds")),
        ("Other agents said: " + "words " * 50 + PROMPT, 0),
        ("Summarize the debate.", 0),
    ],
    ids=["the question first", "an option left out", "others' words first", "no question"],
)
def test_what_prompts_share_is_the_question_at_their_beginning(prompt: str, length: int) -> None:
    """Headings may stand between its parts; words of a debate may not, because they differ from prompt to prompt."""
    assert length_of_question(QUESTION, prompt) == length


def sent(provider: str, monkeypatch: pytest.MonkeyPatch, body: Any, cache: bool, **entry: Any) -> dict[str, Any]:
    """Send one call, and return the body of its request."""
    for name, value in AWS.items():
        monkeypatch.setenv(name, value)
    wire = WIRES[provider]
    model = Model("m", entry.pop("model", wire.model), cache=cache, options=entry)
    messages = ({"role": "system", "content": "Be careful."}, {"role": "user", "content": PROMPT})
    call = Call(model, messages, 3, shared=SHARED)

    async def send(base: str) -> None:
        transport = LitellmTransport()
        await transport.send(call, base, "" if provider == "bedrock" else PLACEHOLDER_KEY)
        await transport.close()

    with serving(wire) as served:
        served.before = lambda _: (200, body)
        asyncio.run(send(served.base))
    return served.bodies[0]


def test_claude_is_asked_to_cache_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    """The prompt is two parts, which say together what it said as one."""
    body = sent("anthropic", monkeypatch, claude([TEXT]), cache=True, max_tokens=200)
    assert body["system"] == [{"type": "text", "text": "Be careful.", "cache_control": MARK}]
    first, rest = body["messages"][0]["content"]
    assert first == {"type": "text", "text": PROMPT[:SHARED], "cache_control": MARK}
    assert rest == {"type": "text", "text": PROMPT[SHARED:]}


def test_claude_on_bedrock_and_behind_openrouter_is_asked_in_their_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    bedrock = sent("bedrock", monkeypatch, converse([{"text": SOLVED}]), cache=True)
    assert bedrock["messages"][0]["content"] == [
        {"text": PROMPT[:SHARED]}, {"cachePoint": {"type": "default"}}, {"text": PROMPT[SHARED:]},
    ]  # fmt: skip
    claude_there = "openrouter/anthropic/claude-sonnet-4.5"
    body = sent("openrouter", monkeypatch, chat({"content": SOLVED}), cache=True, model=claude_there)
    assert [part.get("cache_control") for part in body["messages"][1]["content"]] == [MARK, None]


@pytest.mark.parametrize(
    ("provider", "cache"), [("deepseek", True), ("openrouter", True), ("mistral", True), ("anthropic", False)]
)
def test_others_are_sent_what_they_were_sent(provider: str, cache: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Providers that cache by themselves take no marks, and nobody is asked without the word in the spec."""
    answer = claude([TEXT]) if provider == "anthropic" else chat({"content": SOLVED})
    more = {"max_tokens": 200} if provider == "anthropic" else {}
    body = sent(provider, monkeypatch, answer, cache=cache, **more)
    assert "cache_control" not in json.dumps(body)
    assert json.dumps(PROMPT) in json.dumps(body)


def test_asking_makes_no_other_call() -> None:
    """Neither the key nor the value of a call knows of the cache."""
    plain = Call(Model("m", "anthropic/x"), ({"role": "user", "content": PROMPT},), 1)
    asking = Call(Model("m", "anthropic/x", cache=True), plain.messages, 1, shared=SHARED)
    assert call_key(plain) == call_key(asking)
    assert plain == Call(plain.model, plain.messages, 1, shared=SHARED)
    assert caches_on_request(Model("m", "bedrock/us.anthropic.claude-sonnet-4-5"))
    assert not caches_on_request(Model("m", "openai/claude-like"))


SPEC = """\
title: Long passages
dataset: {file: long.jsonl}
models: {m: {model: anthropic/claude-sonnet-4-5, max_tokens: 100CACHE}}
agents: [{name: a, model: m}, {name: b, model: m}, {name: c, model: m}]
methods: {debate: {protocol: multi-llm, rounds: 1}}
limits: {dollars: 5}
"""


def planned(folder: Path, cache: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(folder)
    row = {"question": "word " * 2_000 + "What is it about?", "answer": "words"}
    Path("long.jsonl").write_text(json.dumps(row) + "\n")
    Path("x.yaml").write_text(SPEC.replace("CACHE", cache))
    assert main(["plan", "x.yaml", "--out", "plan.json"]) == 0
    estimate: dict[str, Any] = json.loads(Path("plan.json").read_text())["estimate"]
    return estimate


def test_cells_are_the_same_with_and_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A finished experiment goes on when its entry is asked to cache, or to leave out the seed."""
    planned(tmp_path, "", monkeypatch)
    before = [cell.digest for cell in compile_spec("x.yaml").cells]
    planned(tmp_path, ", cache: true, drop: [seed]", monkeypatch)
    assert [cell.digest for cell in compile_spec("x.yaml").cells] == before
