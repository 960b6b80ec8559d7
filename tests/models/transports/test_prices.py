"""Prices and bills: litellm's list read from its file, cached tokens, and bills worked out by hand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.cli.main import main
from cortexdsl.core import FREE, Model, Price
from cortexdsl.models.transports.completions import completion
from cortexdsl.models.transports.interface import TokenCounts
from cortexdsl.models.transports.litellm import load
from cortexdsl.models.transports.prices import dollars_of, has_price, known_price, listed_batch_price, listed_price

CHOICE = {"message": {"content": "hi"}, "finish_reason": "stop"}


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"prompt_tokens": 100, "completion_tokens": 20}, TokenCounts(100, 20)),
        ({"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 60}}, TokenCounts(100, None, 60)),
        ({"prompt_tokens": 100, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 30},
         TokenCounts(100, None, 60, 30)),
        ({"prompt_tokens": 100, "prompt_cache_hit_tokens": 60, "prompt_cache_miss_tokens": 40},
         TokenCounts(100, None, 60)),
        ({"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 30}},
         TokenCounts(100, None, 0, 30)),
        ({"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": None}, "prompt_cache_hit_tokens": 60},
         TokenCounts(100, None, 60)),
    ],
    ids=["none", "OpenAI", "Anthropic", "DeepSeek", "OpenRouter", "two"],
)  # fmt: skip
def test_tokens_of_a_cache_are_read_by_whatever_name(usage: Mapping[str, Any], counted: TokenCounts) -> None:
    assert completion({"choices": [CHOICE], "usage": usage}, seed_refused=False).usage == counted


@pytest.mark.parametrize(
    ("price", "usage", "millionths"),
    [
        (Price(3e-6, 15e-6, 0.3e-6, 3.75e-6), TokenCounts(100, 20, 60, 30), 10 * 3 + 60 * 0.3 + 30 * 3.75 + 20 * 15),
        (Price(3e-6, 15e-6), TokenCounts(100, 20, 60, 30), 100 * 3 + 20 * 15),
        (Price(3e-6, 15e-6, 0.0), TokenCounts(100, 20, 60), 40 * 3 + 20 * 15),
        (Price(3e-6, 15e-6, 0.3e-6), TokenCounts(100, None, 600), 100 * 0.3),
        (Price(3e-6, 15e-6), TokenCounts(None, 20), None),
        (Price(0.0, 0.0), TokenCounts(), 0),
    ],
    ids=["all", "no price of cached", "cached for nothing", "more cached than sent", "uncounted", "free"],
)
def test_a_bill_by_hand(price: Price, usage: TokenCounts, millionths: float | None) -> None:
    dollars = dollars_of(Model("m", "openai/unknown", price=price), usage)
    assert dollars == (None if millionths is None else pytest.approx(millionths / 1e6, rel=1e-12))


@pytest.mark.parametrize(
    ("model", "millionths"),
    [
        ("openai/gpt-4o-mini", 40 * 0.15 + 60 * 0.075 + 20 * 0.6),
        ("anthropic/claude-sonnet-4-5", 40 * 3 + 60 * 0.3 + 20 * 15),
        ("deepseek/deepseek-chat", 40 * 0.28 + 60 * 0.028 + 20 * 0.42),
        ("gemini/gemini-2.5-flash", 40 * 0.3 + 60 * 0.03 + 20 * 2.5),
        ("mistral/no-such-model", None),
        ("direct/gpt-4o-mini", None),
        ("tiny/wren", None),
    ],
)
def test_a_listed_model_costs_what_its_provider_says(model: str, millionths: float | None) -> None:
    """100 tokens of a prompt, 60 of them cached, and 20 of a reply, at the prices of the providers' pages."""
    dollars = dollars_of(Model("m", model), TokenCounts(100, 20, 60))
    assert dollars == (None if millionths is None else pytest.approx(millionths / 1e6, rel=1e-9))


def test_the_price_of_the_spec_comes_before_the_list() -> None:
    own = Price(1e-6, 2e-6)
    assert known_price(Model("m", "openai/gpt-4o-mini", price=own)) == own
    assert has_price(Model("m", "tiny/wren"))
    assert not has_price(Model("m", "openai/unknown"))


LISTED = (
    "openai/gpt-4o-mini", "gpt-4o", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-pro", "mistral/mistral-small",
    "deepseek/deepseek-chat", "openrouter/openai/gpt-4o", "groq/llama-3.3-70b-versatile", "azure/gpt-4o", "xai/grok-3",
    "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "openai/o3-mini", "openai/text-embedding-3-small",
    "openai/Qwen2.5-7B-Instruct", "nosuch/gpt-4o",
)  # fmt: skip


@pytest.mark.parametrize("model", LISTED)
def test_the_list_says_what_litellm_says(model: str) -> None:
    """Of 1,000 tokens: litellm's own function takes another rate for very long prompts."""
    try:
        dollars = sum(load().cost_per_token(model, prompt_tokens=1000, completion_tokens=1000))
    except Exception:  # litellm raises a bare Exception for a model that it does not know
        dollars = 0.0
    price = listed_price(model)
    assert (0.0 if price is None else price.dollars(1000, 1000)) == pytest.approx(dollars, rel=1e-9)


SPEC = """\
title: Hosted
dataset: {name: arithmetic, size: 3}
models: {m: {model: MODEL}}
agents: [{name: a, model: m}, {name: b, model: m}, {name: c, model: m}]
methods: {vote: {protocol: voting}}
limits: {calls: 100}
"""


def planned(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.chdir(folder)
    (folder / "specs").mkdir()
    (folder / "specs" / "x.yaml").write_text(text)
    assert main(["plan", "x"]) == 0
    return " ".join(capsys.readouterr().out.split())


def test_a_plan_knows_the_prices_of_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says which prices it took, and plan.json has the dollars: 9 calls of 200 tokens at 0.60 and their prompts."""
    said = planned(tmp_path, SPEC.replace("MODEL", "openai/gpt-4o-mini"), monkeypatch, capsys)
    assert "unknown" not in said
    assert "m (openai/gpt-4o-mini): $0.15 in and $0.6 out per million tokens, by the price list of litellm" in said
    assert main(["plan", "x", "--json"]) == 0
    estimate = json.loads(capsys.readouterr().out)["estimate"]
    assert estimate["output_tokens"] == 9 * 200
    by_hand = (estimate["input_tokens"] * 0.15 + estimate["output_tokens"] * 0.6) / 1e6
    assert estimate["dollars"] == pytest.approx(by_hand)


def test_an_unknown_price_is_asked_for_without_figures_to_paste(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = SPEC.replace("MODEL", "openai/unheard-of")
    said = planned(tmp_path, text, monkeypatch, capsys)
    assert "no price is known for m (openai/unheard-of)" in said
    assert "price: {input: DOLLARS, output: DOLLARS} # per million tokens, from the provider's page" in said
    Path("specs/x.yaml").write_text(text.replace("calls: 100", "dollars: 1"))
    assert main(["check", "x"]) == 2
    refused = capsys.readouterr().err
    assert "price: {input: DOLLARS, output: DOLLARS}" in refused
    assert "0.15" not in said + refused
    priced = text.replace("calls: 100", "dollars: 1").replace(
        "unheard-of}", "unheard-of, price: {input: 3, output: 15, cached: 0.3}}"
    )
    Path("specs/x.yaml").write_text(priced)
    assert main(["check", "x"]) == 0


def test_a_plan_with_listed_prices_does_not_import_litellm(tmp_path: Path) -> None:
    """Its import takes two seconds; the list alone takes 30 ms."""
    (tmp_path / "x.yaml").write_text(SPEC.replace("MODEL", "openai/gpt-4o-mini").replace("calls: 100", "dollars: 1"))
    code = (
        "import sys; from cortexdsl.cli.main import main; "
        "status = main(['plan', 'x.yaml']); sys.exit(status or 'litellm' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=os.environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_batches_cost_what_the_list_says_else_half() -> None:
    """By hand from the list of litellm: gpt-4o-mini has prices for batches, deepseek-chat has none."""
    ordinary = listed_price("openai/gpt-4o-mini")
    assert ordinary is not None
    listed = listed_batch_price("openai/gpt-4o-mini")
    assert listed is not None
    assert (listed.input, listed.output) == pytest.approx((0.075e-6, 0.3e-6))
    unlisted, half = listed_price("deepseek/deepseek-chat"), listed_batch_price("deepseek/deepseek-chat")
    assert unlisted is not None
    assert half is not None
    assert (half.input, half.output) == pytest.approx((unlisted.input / 2, unlisted.output / 2))
    assert half.cached == (None if unlisted.cached is None else pytest.approx(unlisted.cached / 2))
    assert listed_batch_price("openai/unheard-of") is None
    billed = Model("one", "openai/gpt-4o-mini", engine="batches", is_billed=True)
    assert known_price(billed) == listed
    assert known_price(replace(billed, price=Price(1.0, 2.0))) == Price(1.0, 2.0)
    assert known_price(replace(billed, model="openai/unheard-of")) is None
    assert known_price(replace(billed, is_billed=False)) == FREE
