"""Bills: for each provider the ledger, the call log and the tally hold the dollars of a bill made by hand.

The prices are those of the providers' pages as litellm's list has them, in dollars per million tokens.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.core import Call, Limits, Model, Price
from cortexdsl.models.client import open_client
from cortexdsl.models.endpoints.retry import Runtime
from cortexdsl.models.job_tally import JobInfo
from cortexdsl.models.spending import spent_so_far
from tests.models.transports.test_provider_replies import (
    AWS,
    NEEDED,
    SOLVED,
    TEXT,
    chat,
    claude,
    converse,
    gemini,
    ollama,
)
from tests.models.transports.wires import WIRES, Wire, serving

CALLS = 3
M = 1e6
BIG: Mapping[str, Any] = {"prompt_tokens": 100_000, "completion_tokens": 20_000}
WRITES = {"ephemeral_5m_input_tokens": 10_000, "ephemeral_1h_input_tokens": 20_000}

BILLS: list[tuple[str, str, dict[str, Any], float]] = [
    # 40,000 of the prompt new, 60,000 cached; o3-mini bills its reasoning as output
    ("OpenAI", "reasoning", chat({"content": SOLVED}, **BIG, prompt_tokens_details={"cached_tokens": 60_000},
                                 completion_tokens_details={"reasoning_tokens": 8_000}),
     40_000 * 1.1 + 60_000 * 0.55 + 20_000 * 4.4),
    ("Azure", "azure", chat({"content": SOLVED}, **BIG, prompt_tokens_details={"cached_tokens": 60_000}),
     40_000 * 2.5 + 60_000 * 1.25 + 20_000 * 10),
    # 10,000 new, 60,000 read, 10,000 written for five minutes and 20,000 for an hour
    ("Anthropic", "anthropic", claude([TEXT], input_tokens=10_000, output_tokens=20_000, cache_creation=WRITES,
                                      cache_read_input_tokens=60_000, cache_creation_input_tokens=30_000),
     10_000 * 3 + 60_000 * 0.3 + 10_000 * 3.75 + 20_000 * 6 + 20_000 * 15),
    ("Bedrock", "bedrock", converse([{"text": SOLVED}], inputTokens=10_000, outputTokens=20_000, totalTokens=120_000,
                                    cacheReadInputTokens=60_000, cacheWriteInputTokens=30_000, cacheDetails=[
        {"ttl": "5m", "inputTokens": 10_000}, {"ttl": "1h", "inputTokens": 20_000}]),
     10_000 * 3.3 + 60_000 * 0.33 + 10_000 * 4.125 + 20_000 * 6.6 + 20_000 * 16.5),
    # thoughts are billed as output
    ("Gemini", "gemini", gemini([{"text": SOLVED}], promptTokenCount=100_000, candidatesTokenCount=20_000,
                                thoughtsTokenCount=30_000, totalTokenCount=150_000, cachedContentTokenCount=60_000),
     40_000 * 0.3 + 60_000 * 0.03 + 50_000 * 2.5),
    ("DeepSeek", "deepseek", chat({"content": SOLVED}, **BIG, prompt_cache_hit_tokens=60_000,
                                  prompt_cache_miss_tokens=40_000), 40_000 * 0.28 + 60_000 * 0.028 + 20_000 * 0.42),
    ("Mistral", "mistral", chat({"content": SOLVED}, **BIG), 100_000 * 0.5 + 20_000 * 1.5),
    # OpenRouter's own bill, whatever its tokens would cost elsewhere
    ("OpenRouter", "openrouter", chat({"content": SOLVED}, **BIG, cost=0.1234), 0.1234 * M),
    ("Ollama", "ollama", ollama({"content": SOLVED}), 0.0),
]  # fmt: skip


def billed(wire: Wire, body: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, model: Model) -> dict[str, Any]:
    """Make three calls that are all answered by a body, and return the dollars by where they are kept."""

    async def scene(base: str) -> None:
        monkeypatch.setenv("BASE", base)
        async with open_client(
            folder / "calls" / "own.jsonl", limits=Limits(connections=1), ledgers=folder / "spent", job=JobInfo("bill"),
            runtime=Runtime(),
        ) as client:  # fmt: skip
            for seed in range(CALLS):
                await client(Call(model, ({"role": "user", "content": "2 + 2?"},), seed))

    with serving(wire) as served:
        served.before = lambda _: (200, body)
        asyncio.run(scene(served.base))
    lines = [json.loads(line) for line in (folder / "calls" / "own.jsonl").read_text().splitlines()]
    tally = json.loads((folder / "spent" / "bill.json").read_text())
    return {
        "log": sum(line["dollars"] or 0.0 for line in lines),
        "ledger": spent_so_far(folder / "spent").dollars,
        "tally": tally["dollars"] or 0.0,
        "saved": tally.get("saved"),
        "usage": lines[0]["usage"],
    }


@pytest.mark.parametrize(("provider", "body", "millionths"), [row[1:] for row in BILLS], ids=[row[0] for row in BILLS])
def test_the_ledger_holds_the_bill_made_by_hand(
    provider: str, body: Any, millionths: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in AWS.items():
        monkeypatch.setenv(name, value)
    wire = WIRES[provider]
    model = Model("m", wire.model, api_base="env:BASE", options=NEEDED.get(provider, {}))
    if provider == "ollama":
        model = replace(model, price=Price(0.0, 0.0))
    found = billed(wire, body, tmp_path, monkeypatch, model)
    by_hand = CALLS * millionths / M
    assert (found["log"], found["ledger"], found["tally"]) == pytest.approx((by_hand,) * 3, abs=1e-9)


def test_the_log_and_the_tally_say_what_the_cache_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a call 60,000 tokens cost 2.70 dollars a million less; 10,000 cost 0.75 more, and 20,000 cost 3 more."""
    body = next(row[2] for row in BILLS if row[0] == "Anthropic")
    model = Model("m", WIRES["anthropic"].model, api_base="env:BASE", options={"max_tokens": 200})
    found = billed(WIRES["anthropic"], body, tmp_path, monkeypatch, model)
    assert found["usage"] == {
        "prompt_tokens": 100_000, "completion_tokens": 20_000, "cached_tokens": 60_000, "cache_write_tokens": 30_000,
        "cache_write_1h_tokens": 20_000,
    }  # fmt: skip
    assert found["saved"] == pytest.approx(CALLS * (60_000 * 2.7 - 10_000 * 0.75 - 20_000 * 3) / M)


def test_a_price_of_the_spec_has_all_kinds_of_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = next(row[2] for row in BILLS if row[0] == "Anthropic")
    price = Price(1 / M, 2 / M, 0.1 / M, 1.5 / M, 4 / M)
    model = Model("m", WIRES["anthropic"].model, api_base="env:BASE", options={"max_tokens": 200}, price=price)
    found = billed(WIRES["anthropic"], body, tmp_path, monkeypatch, model)
    by_hand = 10_000 * 1 + 60_000 * 0.1 + 10_000 * 1.5 + 20_000 * 4 + 20_000 * 2
    assert found["ledger"] == pytest.approx(CALLS * by_hand / M)
