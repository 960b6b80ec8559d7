"""What becomes of a call in the situations that providers answer with an error or an odd reply.

Each row has the status, headers and body of the first response, as the provider's pages on errors or the server's
source have them; all later responses are replies. The outcomes are those of `docs/failures.md`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from cortexdsl.core import Call
from cortexdsl.errors import ModelError
from cortexdsl.models.client import open_client
from tests.models.kit import Time, call_of
from tests.models.stub import Stub, serving

WAYS = ("direct/m", "openai/m")
PERSONA = {"role": "system", "content": "You are careful."}
COUNTS = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}


@dataclass(frozen=True)
class Alone:
    """The question fails with this message, after one request."""

    message: str


@dataclass(frozen=True)
class After:
    """The call is sent again after so many seconds, and answered."""

    seconds: float
    kind: str = "rate_limit"


@dataclass(frozen=True)
class Stops:
    """The run stops, with these words in its remedy."""

    remedy: str


@dataclass(frozen=True)
class Replies:
    """There is a reply, with these fields in its line of the call log."""

    fields: Mapping[str, Any] = field(default_factory=dict)


Outcome = Alone | After | Stops | Replies


def error(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


def flat(message: str, **more: Any) -> dict[str, Any]:
    """Return an error as vLLM, SGLang and Mistral send it."""
    return {"object": "error", "message": message, "type": "BadRequestError", "param": None, "code": 400, **more}


def reply(finish_reason: str = "stop", usage: Mapping[str, Any] = COUNTS, **message: Any) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", **message}}
    return {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


CREDIT, KEY, ENTRY = Stops("add credit at the provider"), Stops("write `api_key_env: NAME`"), Stops("correct the model")
LONG, FILTERED = Alone("context window exceeded"), Alone("content filter")
PASSES = After(0.5, "transient")
CODED = {"type": "tokens", "code": "rate_limit_exceeded"}
GROQ = (
    "Rate limit reached for model `m` on tokens per minute (TPM): Limit 6000, Used 5900, Requested 400. Please try "
    "again in 3s. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing"
)
OPENAI = (
    "Rate limit reached for gpt-4o on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 20s. "
    "You can increase your rate limit by adding a payment method at https://platform.openai.com/settings/organization/billing"
)
QUOTA = "You exceeded your current quota, please check your plan and billing details."
DENIED = "The caller does not have permission to execute the specified operation"
WINDOW = "This model's maximum context length is 4096 tokens. However, you requested 6020 tokens."
PARTS = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "o"},
         {"type": "text", "text": "k"}]  # fmt: skip
PER_DAY = {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}
PER_MINUTE = {"violations": [{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}]}
DELAY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}

SITUATIONS: Mapping[str, tuple[int, dict[str, str], Any, Outcome]] = {
    # limits that pass
    "Groq, a minute": (429, {"Retry-After": "2"}, error(GROQ, **CODED), After(2)),
    "Groq, no header": (429, {}, error(GROQ, **CODED), After(3)),
    "OpenAI, low tier": (429, {"retry-after": "20", "retry-after-ms": "19512"},
        error(OPENAI, type="requests", code="rate_limit_exceeded"), After(19.512)),
    "OpenAI, a day": (429, {}, error("on requests per day (RPD). Please try again in 7m12s.", **CODED), After(432)),
    "Azure": (429, {"retry-after-ms": "1500"}, error("Requests have exceeded call rate limit of your current pricing "
        "tier. Please retry after 2 seconds.", code="429"), After(1.5)),
    "Anthropic, a minute": (429, {"retry-after": "7"}, {"type": "error", "error": {"type": "rate_limit_error",
        "message": "This request would exceed your organization's rate limit"}}, After(7)),
    "Gemini, a minute": (429, {}, error(QUOTA, code=429, status="RESOURCE_EXHAUSTED", details=[PER_MINUTE, DELAY]),
        After(34)),
    "Mistral": (429, {}, flat("Requests rate limit exceeded", type="rate_limited", code="1300"), After(0.5)),
    "DashScope": (429, {}, error("Requests rate limit exceeded, please try again later.", code="limit_requests"),
        After(0.5)),
    "Moonshot": (429, {}, error("Your account reached max request limit, please try again after 1 seconds",
        type="rate_limit_reached_error"), After(1)),
    "OpenRouter, status 200": (200, {}, error("Rate limit exceeded: free-models-per-min", code=429), After(0.5)),
    "Groq, flex": (498, {}, error("Flex tier capacity exceeded", code="capacity_exceeded"), PASSES),
    # money
    "OpenAI, spent": (429, {}, error(QUOTA, type="insufficient_quota", code="insufficient_quota"), CREDIT),
    "Anthropic, spent": (400, {}, {"type": "error", "error": {"type": "invalid_request_error",
        "message": "Your credit balance is too low to access the Anthropic API."}}, CREDIT),
    "DeepSeek, spent": (402, {}, error("Insufficient Balance", code="invalid_request_error"), CREDIT),
    "Moonshot, spent": (429, {}, error("Your account is suspended, please check your plan and billing details",
        type="exceeded_current_quota_error"), CREDIT),
    "DashScope, spent": (400, {}, error("please make sure your account is in good standing.", code="Arrearage"),
        CREDIT),
    "xAI, spent": (403, {}, {"code": DENIED, "error": "Your team has either used all available credits or reached its "
        "monthly spending limit."}, CREDIT),
    "Gemini, a day": (429, {}, error(QUOTA, code=429, details=[PER_DAY, DELAY]), CREDIT),
    # one question is too long
    "OpenAI, long": (400, {}, error(WINDOW, type="invalid_request_error", code="context_length_exceeded"), LONG),
    "OpenAI, more than a minute": (429, {}, error("Request too large for gpt-4o on tokens per min (TPM): Limit "
        "30000, Requested 40123.", **CODED), LONG),
    "Groq, more than a minute": (413, {}, error("Request too large for model `m` on tokens per minute (TPM): Limit "
        "6000, Requested 9018, please reduce your message size and try again. https://console.groq.com/settings/billing",
        **CODED), LONG),
    "Groq, long": (400, {}, error("Please reduce the length of the messages or completion.",
        code="context_length_exceeded"), LONG),
    "llama.cpp": (400, {}, error("request (6020 tokens) exceeds the available context size (4096 tokens), try "
        "increasing it", code=400, type="exceed_context_size_error"), LONG),
    "llama.cpp, older": (500, {}, error("Context size has been exceeded.", code=500, type="server_error"), LONG),
    "Ollama": (400, {}, error("prompt too long; exceeded max context length by 1924 tokens"), LONG),
    "TGI": (422, {}, {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: "
        "6020 `inputs` tokens and 100 `max_new_tokens`", "error_type": "validation"}, LONG),
    "TGI, inputs": (422, {}, {"error": "Input validation error: `inputs` must have less than 4095 tokens. Given: 6020",
        "error_type": "validation"}, LONG),
    "Together": (422, {}, error("Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193.",
        type="invalid_request_error"), LONG),
    "xAI": (400, {}, {"code": "Client specified an invalid argument", "error": "This model's maximum prompt length is "
        "131072 but the request contains 200014 tokens."}, LONG),
    "vLLM": (400, {}, flat(WINDOW), LONG),
    "vLLM, decoder": (400, {}, flat("The decoder prompt (length 6020) is longer than the maximum model length of "
        "4096."), LONG),
    "vLLM, fit": (400, {}, error("The prompt (total length 6020) is too long to fit into the model (context length "
        "4096).", type="BadRequestError", code=400), LONG),
    "SGLang": (400, {}, flat("The input (6020 tokens) is longer than the model's context length (4096 tokens)."), LONG),
    "Mistral, long": (400, {}, flat("Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 "
        "maximum context length", code="3051"), LONG),
    "Gemini, long": (400, {}, error("The input token count (1200000) exceeds the maximum number of tokens allowed "
        "(1048576).", code=400, status="INVALID_ARGUMENT"), LONG),
    "DashScope, long": (400, {}, error("Range of input length should be [1, 30720]", code="invalid_parameter_error"),
        LONG),
    "nginx": (413, {}, "<html><head><title>413 Request Entity Too Large</title></head></html>", LONG),
    # one question is moderated
    "DeepSeek, moderated": (400, {}, error("Content Exists Risk", code="invalid_request_error"), FILTERED),
    "DashScope, moderated": (400, {}, error("Input data may contain inappropriate content.",
        code="data_inspection_failed"), FILTERED),
    "OpenAI, moderated": (400, {}, error("Invalid prompt: your prompt was flagged as potentially violating our usage "
        "policy.", type="invalid_request_error", code="invalid_prompt"), FILTERED),
    "Azure, moderated": (400, {}, error("The response was filtered due to the prompt triggering Azure OpenAI's content "
        "management policy.", code="content_filter", innererror={"code": "ResponsibleAIPolicyViolation"}), FILTERED),
    "OpenRouter, moderated": (403, {}, error("Your chosen model requires moderation and your input was flagged",
        code=403, metadata={"reasons": ["violence"]}), FILTERED),
    "xAI, moderated": (403, {}, {"code": DENIED, "error": "Content violates usage guidelines. Failed check: "
        "SAFETY_CHECK_TYPE_BIO"}, FILTERED),
    "Moonshot, moderated": (400, {}, error("The request was rejected because it was considered high risk",
        type="content_filter"), FILTERED),
    "a refusal": (200, {}, reply(content=None, refusal="I can't help with that."), FILTERED),
    "a refusal and an empty text": (200, {}, reply(content="", refusal="I can't help with that."), FILTERED),
    # what every call would be refused for
    "wrong key": (401, {}, error("Incorrect API key provided", code="invalid_api_key"), KEY),
    "xAI, blocked key": (403, {}, {"code": DENIED, "error": "Your API key is blocked"}, KEY),
    "Gemini, wrong key": (400, {}, error("API key not valid. Please pass a valid API key.", code=400,
        details=[{"reason": "API_KEY_INVALID"}]), KEY),
    "a parameter": (400, {}, error("temperature must be <= 2", type="invalid_request_error"), ENTRY),
    "no such model": (404, {}, error("The model `m` does not exist", code="model_not_found"), Stops("correct `model`")),
    # failures of a server, and odd replies
    "TGI, generation": (424, {}, {"error": "Request failed during generation", "error_type": "generation"}, PASSES),
    "overloaded": (529, {}, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, PASSES),
    "OpenRouter, upstream": (200, {}, error("Provider returned error", code=502), PASSES),
    "vLLM, aborted": (200, {}, reply("abort", content="The sum"), PASSES),
    "Mistral, parts": (200, {}, reply(content=PARTS), Replies({"reply": "ok", "reasoning": "hm"})),
    "SGLang, reasoning": (200, {}, reply(content="ok", reasoning_content="hm", usage={**COUNTS, "reasoning_tokens": 3}),
        Replies({"reply": "ok", "reasoning_tokens": 3})),
    "vLLM, Gemma": (400, {}, flat("System role not supported"), Replies({"reply": "ok"})),
    "llama.cpp, Gemma": (500, {}, error("Jinja Exception: System role not supported", code=500),
        Replies({"reply": "ok"})),
    "vLLM, Mistral 7B": (400, {}, flat("Conversation roles must alternate user/assistant/user/assistant/..."),
        Replies({"reply": "ok"})),
}  # fmt: skip


class Server(Stub):
    """Answers the first request as a situation says, and all others by `ok`."""

    def __init__(self, status: int, headers: Mapping[str, str], body: Any) -> None:
        super().__init__()
        self.first: tuple[int, Mapping[str, str], Any] | None = status, headers, body

    async def chat(self, request: web.Request) -> web.Response:
        self.bodies.append(await request.json())
        status, headers, body = self.first or (200, {}, reply(content="ok"))
        self.first = None
        is_page = isinstance(body, str)
        text, kind = (body, "text/html") if is_page else (json.dumps(body), "application/json")
        return web.Response(text=text, status=status, headers=headers, content_type=kind)


def answered(server: Server, folder: Path, *calls: Call) -> tuple[list[Any], Time]:
    """Send calls with a persona one after another; return the replies, or the error that ends the run, and the time."""
    time = Time()

    async def scene() -> list[Any]:
        async with (
            serving(server) as base,
            open_client(folder / "own.jsonl", runtime=time.runtime(BASE=base)) as client,
        ):
            try:
                return [await client(replace(call, messages=(PERSONA, *call.messages))) for call in calls]
            except ModelError as stopped:
                return [str(stopped)]

    return asyncio.run(scene()), time


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SITUATIONS)
def test_a_situation(name: str, way: str, tmp_path: Path) -> None:
    status, headers, body, expected = SITUATIONS[name]
    server = Server(status, headers, body)
    (told,), time = answered(server, tmp_path, call_of(model=way, api_base="env:BASE"))
    if isinstance(expected, Stops):
        assert isinstance(told, str)
        assert expected.remedy in told
        assert len(server.bodies) == 1
        return
    assert not isinstance(told, str), told
    record = json.loads((tmp_path / "own.jsonl").read_text())
    if isinstance(expected, Alone):
        assert record["error"].startswith(expected.message)
        assert len(server.bodies) == 1
        assert status != 200 or record["usage"]["prompt_tokens"] == 7  # the model has worked, and is paid for it
    elif isinstance(expected, After):
        assert (record["reply"], record["retries"]) == ("ok", {expected.kind: 1})
        assert time.now == pytest.approx(expected.seconds, abs=0.3)
    else:
        assert {name: record.get(name) for name in expected.fields} == expected.fields


@pytest.mark.parametrize("way", WAYS)
def test_a_persona_without_a_system_role_begins_the_message_of_the_user(way: str, tmp_path: Path) -> None:
    """The second request has one message; the key is that of the messages as the debate has them."""
    server = Server(400, {}, flat("System role not supported"))
    call = call_of("2 + 2?", model=way, api_base="env:BASE")
    known = replace(call, model=replace(call.model, refused=("system",)))  # system_role: false in the spec
    (one, other), _ = answered(server, tmp_path, call, known)
    assert one.key == other.key
    assert [body["messages"] for body in server.bodies] == [
        [PERSONA, {"role": "user", "content": "2 + 2?"}],
        [{"role": "user", "content": "You are careful.\n\n2 + 2?"}],
    ]


@pytest.mark.parametrize("way", WAYS)
def test_tokens_of_attempts_that_brought_nothing_are_counted(way: str, tmp_path: Path) -> None:
    """An aborted reply and the reply after it have 7 + 7 tokens of prompt and 5 + 5 of replies."""
    server = Server(200, {}, reply("abort", content="The sum"))
    (told,), _ = answered(server, tmp_path, call_of(model=way, api_base="env:BASE"))
    assert (told.prompt_tokens, told.completion_tokens) == (14, 10)
    lost = json.loads((tmp_path / "own.jsonl").read_text())["lost"]
    assert lost == {"attempts": 1, "prompt_tokens": 7, "completion_tokens": 5, "dollars": 0.0}
