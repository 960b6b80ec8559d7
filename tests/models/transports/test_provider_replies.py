"""What each provider's replies and errors are taken for: sent by litellm to a server that speaks its wire format."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from cortexdsl.core import Call, Model
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure
from cortexdsl.models.transports.interface import PLACEHOLDER_KEY, Raw, TokenCounts
from cortexdsl.models.transports.litellm import LitellmTransport
from tests.models.transports.wires import WIRES, Served, serving

AWS = {"AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION_NAME": "us-east-1"}
NEEDED: Mapping[str, dict[str, Any]] = {"anthropic": {"max_tokens": 200}, "azure": {"api_version": "2024-10-21"}}
"""Options without which a provider or litellm refuses a call."""
FILTER, QUOTA, RATE, PASSING, BAD = (
    FailureKind.CONTENT_FILTER, FailureKind.QUOTA, FailureKind.RATE_LIMIT, FailureKind.TRANSIENT,
    FailureKind.BAD_REQUEST,
)  # fmt: skip
SOLVED = "Answer: 4"


def chat(message: Mapping[str, Any], finish: str = "stop", **usage: Any) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", **message}}
    counted = {"prompt_tokens": 100, "completion_tokens": 20, **usage}
    return {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": counted}


def claude(content: list[dict[str, Any]], stop: str = "end_turn", **usage: Any) -> dict[str, Any]:
    counted = {"input_tokens": 10, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 30,
               "output_tokens": 20, **usage}  # fmt: skip
    return {"id": "x", "type": "message", "role": "assistant", "model": "m", "stop_reason": stop,
            "stop_sequence": None, "content": content, "usage": counted}  # fmt: skip


def gemini(parts: list[dict[str, Any]], finish: str = "STOP", **usage: Any) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": finish, "index": 0}
    counted = {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120, **usage}
    return {"candidates": [candidate], "usageMetadata": counted, "modelVersion": "m"}


def converse(content: list[dict[str, Any]], stop: str = "end_turn", **usage: Any) -> dict[str, Any]:
    counted = {"inputTokens": 10, "outputTokens": 20, "totalTokens": 120, "cacheReadInputTokens": 60,
               "cacheWriteInputTokens": 30, **usage}  # fmt: skip
    message = {"role": "assistant", "content": content}
    return {"output": {"message": message}, "stopReason": stop, "usage": counted, "metrics": {"latencyMs": 1}}


def ollama(message: Mapping[str, Any], reason: str = "stop") -> dict[str, Any]:
    return {"model": "m", "created_at": "2026-01-01T00:00:00Z", "done": True, "done_reason": reason,
            "message": {"role": "assistant", **message}, "prompt_eval_count": 100, "eval_count": 20}  # fmt: skip


TEXT = {"type": "text", "text": SOLVED}
HOUR = {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20}
THOUGHT = {"reasoning_tokens": 8}
REPLIES: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("reasoning", "a reasoning model", chat({"content": SOLVED}, completion_tokens_details=THOUGHT),
     {"reasoning_tokens": 8}),
    ("reasoning", "cut", chat({"content": SOLVED}, "length"), {"finish_reason": "length"}),
    ("azure", "cached", chat({"content": SOLVED}, prompt_tokens_details={"cached_tokens": 60}), {"cached_tokens": 60}),
    ("anthropic", "thinking", claude([{"type": "thinking", "thinking": "hm", "signature": "s"}, TEXT]),
     {"reasoning": "hm", "reasoning_tokens": None, "cached_tokens": 60, "cache_write_tokens": 30}),
    ("anthropic", "kept for an hour", claude([TEXT], cache_creation=HOUR),
     {"cache_write_tokens": 30, "cache_write_1h_tokens": 20}),
    ("anthropic", "cut", claude([TEXT], "max_tokens"), {"finish_reason": "length"}),
    ("gemini", "thoughts", gemini([{"text": "hm", "thought": True}, {"text": SOLVED}], thoughtsTokenCount=30,
                                  totalTokenCount=150, cachedContentTokenCount=60),
     {"reasoning": "hm", "reasoning_tokens": 30, "completion_tokens": 50, "cached_tokens": 60}),
    ("gemini", "cut", gemini([{"text": SOLVED}], "MAX_TOKENS"), {"finish_reason": "length"}),
    ("openrouter", "its own bill", chat({"content": SOLVED, "reasoning": "hm"}, cost=0.0123,
                                        completion_tokens_details=THOUGHT),
     {"reasoning": "hm", "reasoning_tokens": 8, "billed": 0.0123}),
    ("openrouter", "a key of one's own", chat({"content": SOLVED}, cost=0.001, is_byok=True,
                                              cost_details={"upstream_inference_cost": 0.02}), {"billed": 0.021}),
    ("deepseek", "hits and misses", chat({"content": SOLVED, "reasoning_content": "hm"}, prompt_cache_hit_tokens=60,
                                         prompt_cache_miss_tokens=40), {"reasoning": "hm", "cached_tokens": 60}),
    ("mistral", "thinking", chat({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                                              TEXT]}), {"reasoning": "hm"}),
    ("mistral", "the context is full", chat({"content": SOLVED}, "model_length"), {"finish_reason": "length"}),
    ("ollama", "thinking", ollama({"content": SOLVED, "thinking": "hm"}), {"reasoning": "hm"}),
    ("ollama", "cut", ollama({"content": SOLVED}, "length"), {"finish_reason": "length"}),
    ("bedrock", "thinking", converse([{"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}},
                                      {"text": SOLVED}]),
     {"reasoning": "hm", "reasoning_tokens": None, "cached_tokens": 60, "cache_write_tokens": 30}),
    ("bedrock", "kept for an hour", converse([{"text": SOLVED}], cacheDetails=[
        {"ttl": "5m", "inputTokens": 10}, {"ttl": "1h", "inputTokens": 20}]), {"cache_write_1h_tokens": 20}),
    ("bedrock", "cut", converse([{"text": SOLVED}], "max_tokens"), {"finish_reason": "length"}),
]  # fmt: skip

FAILURES: list[tuple[str, int, Any, FailureKind, str]] = [
    ("reasoning", 200, chat({"content": None, "refusal": "I can't help"}), FILTER, "the model refused: I can't help"),
    ("reasoning", 400, {"error": {"message": "Invalid type for 'top_logprobs'", "type": "invalid_request_error"}}, BAD,
     "Invalid type for 'top_logprobs'"),
    ("azure", 400, {"error": {"message": "Azure OpenAI's content management policy", "code": "content_filter"}}, FILTER,
     "Azure OpenAI's content management policy"),
    ("anthropic", 529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, PASSING,
     "Overloaded"),
    ("anthropic", 200, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, PASSING,
     "HTTP 200 with an error: Overloaded"),
    ("anthropic", 400, {"type": "error", "error": {"type": "invalid_request_error", "message":
     "`temperature` and `top_p` cannot both be specified for this model."}}, BAD,
     "`temperature` and `top_p` cannot both be specified for this model."),
    ("anthropic", 400, {"type": "error", "error": {"type": "invalid_request_error", "message":
     "Your credit balance is too low to access the Anthropic API."}}, QUOTA,
     "Your credit balance is too low to access the Anthropic API."),
    ("gemini", 503, {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}, PASSING,
     "The model is overloaded."),
    ("gemini", 400, {"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}},
     FailureKind.AUTHENTICATION, "API key not valid."),
    ("gemini", 429, {"error": {"code": 429, "message": "You exceeded your current quota. Please retry in 34.5s.",
                               "status": "RESOURCE_EXHAUSTED"}}, RATE,
     "You exceeded your current quota. Please retry in 34.5s."),
    ("gemini", 429, {"error": {"code": 429, "message": "You exceeded your current quota", "details": [
        {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}, {"retryDelay": "34s"}]}},
     QUOTA, "You exceeded your current quota"),
    ("openrouter", 200, {"error": {"code": 502, "message": "Provider returned error",
                                   "metadata": {"raw": "upstream is busy", "provider_name": "Acme"}}}, PASSING,
     "HTTP 200 with an error: Provider returned error (Acme: upstream is busy)"),
    ("openrouter", 402, {"error": {"code": 402, "message": "Insufficient credits"}}, QUOTA, "Insufficient credits"),
    ("openrouter", 200, chat({"content": "Ans"}, "error"), PASSING, "the server broke the reply off (error)"),
    ("deepseek", 402, {"error": {"message": "Insufficient Balance", "type": "unknown_error"}}, QUOTA,
     "Insufficient Balance"),
    ("deepseek", 200, chat({"content": "Ans"}, "insufficient_system_resource"), PASSING,
     "the server broke the reply off (insufficient_system_resource)"),
    ("mistral", 422, {"object": "error", "message": {"detail": [{"msg": "Extra inputs are not permitted"}]}}, BAD,
     '[{"msg": "Extra inputs are not permitted"}]'),
    ("ollama", 404, {"error": "model 'llama3.1' not found"}, FailureKind.NOT_FOUND, "model 'llama3.1' not found"),
    ("bedrock", 429, {"message": "Too many requests, please wait before trying again."}, RATE,
     "Too many requests, please wait before trying again."),
]  # fmt: skip


def told(provider: str, status: int, body: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[Raw | Failure, Served]:
    """Send one call to a provider's server, and return what it is taken for."""
    for name, value in AWS.items():
        monkeypatch.setenv(name, value)
    wire = WIRES[provider]
    messages = ({"role": "system", "content": "You are careful."}, {"role": "user", "content": "2 + 2?"})
    model = Model("m", wire.model, options=NEEDED.get(provider, {}))

    async def send(base: str) -> Raw | Failure:
        transport = LitellmTransport()
        try:
            return await transport.send(
                Call(model, messages, 3), base, "" if provider == "bedrock" else PLACEHOLDER_KEY
            )
        except Failure as failure:
            return failure
        finally:
            await transport.close()

    with serving(wire) as served:
        served.before = lambda _: (status, body)
        return asyncio.run(send(served.base)), served


@pytest.mark.parametrize(("provider", "what", "body", "fields"), REPLIES, ids=[f"{p}: {w}" for p, w, *_ in REPLIES])
def test_a_reply(
    provider: str, what: str, body: Any, fields: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tokens, reasoning and endings are those that the server says; what it does not count is unknown."""
    raw, _ = told(provider, 200, body, monkeypatch)
    assert isinstance(raw, Raw), raw
    assert (raw.text, raw.usage.prompt_tokens) == (SOLVED, 100)
    said = {name: getattr(raw.usage if name in TokenCounts._fields else raw, name) for name in fields}
    assert said == fields
    assert raw.finish_reason == fields.get("finish_reason", "stop")


@pytest.mark.parametrize(
    ("provider", "status", "body", "kind", "words"), FAILURES, ids=[f"{p}: {w[:40]}" for p, *_, w in FAILURES]
)
def test_a_failure_is_of_its_kind_and_in_the_servers_words(
    provider: str, status: int, body: Any, kind: FailureKind, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through litellm and straight to the server, a refusal begins with its status."""
    failure, _ = told(provider, status, body, monkeypatch)
    assert isinstance(failure, Failure), failure
    assert (failure.kind, failure.what) == (kind, f"HTTP {status}: {words}" if status >= 400 else words)


@pytest.mark.parametrize(
    ("provider", "body"),
    [
        ("anthropic", claude([], "refusal")),
        ("azure", chat({"content": ""}, "content_filter")),
        ("gemini", {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 100}}),
        ("gemini", {"candidates": [{"finishReason": "SAFETY", "index": 0}], "usageMetadata": {"promptTokenCount": 9}}),
        ("bedrock", converse([{"text": "Sorry"}], "guardrail_intervened")),
    ],
    ids=["refusal", "filter", "prompt blocked", "reply blocked", "guardrail"],
)
def test_a_withheld_reply_says_so(provider: str, body: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sender makes a content filter of this finish reason, whatever text came with it."""
    raw, _ = told(provider, 200, body, monkeypatch)
    assert isinstance(raw, Raw)
    assert raw.finish_reason == "content_filter"


def test_google_says_how_long_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    body = {"error": {"code": 429, "message": "You exceeded your current quota", "details": [{"retryDelay": "34s"}]}}
    failure, _ = told("gemini", 429, body, monkeypatch)
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.retry_after) == (RATE, 34.0)


SEEDS = {"azure": "seed", "openrouter": "seed", "deepseek": "seed", "mistral": "random_seed", "reasoning": "seed"}


@pytest.mark.parametrize("provider", WIRES)
def test_a_seed_is_sent_by_the_name_that_the_provider_has_for_it(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claude takes none, which the reply says; Gemini and Ollama have it among their options."""
    body = {"anthropic": claude([TEXT]), "gemini": gemini([{"text": SOLVED}]), "ollama": ollama({"content": SOLVED}),
            "bedrock": converse([{"text": SOLVED}])}.get(provider, chat({"content": SOLVED}))  # fmt: skip
    raw, served = told(provider, 200, body, monkeypatch)
    assert isinstance(raw, Raw)
    sent = served.bodies[0]
    if provider in ("anthropic", "bedrock"):
        assert raw.seed_refused
        assert "seed" not in str(sent)
        return
    assert not raw.seed_refused
    places = {"gemini": sent.get("generationConfig"), "ollama": sent.get("options")}
    assert (places.get(provider) or sent)[SEEDS.get(provider, "seed")] == 3


USUAL = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_API_BASE"), "azure": ("AZURE_API_KEY", "AZURE_API_BASE"),
    "openrouter": ("OPENROUTER_API_KEY", "OPENROUTER_API_BASE"), "deepseek": ("DEEPSEEK_API_KEY", "DEEPSEEK_API_BASE"),
    "mistral": ("MISTRAL_API_KEY", "MISTRAL_AZURE_API_BASE"), "reasoning": ("OPENAI_API_KEY", "OPENAI_API_BASE"),
    "gemini": ("GEMINI_API_KEY", "GEMINI_API_BASE"),
}  # fmt: skip


@pytest.mark.parametrize("provider", USUAL)
def test_the_key_is_read_from_the_usual_variable(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry without address and key: litellm finds both in the environment."""
    wire = WIRES[provider]
    call = Call(Model("m", wire.model, options=NEEDED.get(provider, {})), ({"role": "user", "content": "hi"},), 1)

    async def send() -> None:
        transport = LitellmTransport()
        try:
            await transport.send(call, None, None)
        finally:
            await transport.close()

    with serving(wire) as served:
        served.before = lambda _: (400, {"error": {"message": "that is enough"}})
        key, base = USUAL[provider]
        monkeypatch.setenv(key, "the-key-of-the-environment")
        monkeypatch.setenv(base, served.base)
        with pytest.raises(Failure, match="that is enough"):
            asyncio.run(send())
    assert served.keys == ["the-key-of-the-environment"]
