"""What the HTTP transports share: requests, images, seeds, bodies."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from cortexdsl.core import Call, Image, Model, Reply
from cortexdsl.errors import ModelError
from cortexdsl.models.call_keys import call_key
from cortexdsl.models.client import open_client
from cortexdsl.models.endpoints.retry import Runtime
from cortexdsl.models.shared_state import SharedState
from cortexdsl.models.transports.failure_kinds import FailureKind
from cortexdsl.models.transports.failures import Failure
from cortexdsl.models.transports.interface import Raw, Transport
from tests.models.kit import Time, call_of
from tests.models.stub import Stub, serving
from tests.tasks.test_images import png, uri

STRANGE = "\u00e9\u202e\x00 \U0001f600 \"'</script> \\u0041\n"
MATTER = ("Authorization", "Content-Type", "Accept", "Accept-Encoding")
ANSWER: dict[str, Any] = {
    "id": "x",
    "object": "chat.completion",
    "created": 1,
    "model": "n",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hi"}}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12},
}
LOGPROBS = {"content": [{"token": "hi", "logprob": -0.1, "bytes": [104, 105], "top_logprobs": []}]}


def answer(choice: dict[str, Any] | None = None, message: dict[str, Any] | None = None, **more: Any) -> str:
    said = {**ANSWER["choices"][0]["message"], **(message or {})}
    return json.dumps({**ANSWER, "choices": [{**ANSWER["choices"][0], **(choice or {}), "message": said}], **more})


class Wire:
    """A server that keeps what it was sent, as bytes, and answers as told."""

    def __init__(self, status: int = 200, text: str | bytes = "", headers: Iterable[tuple[str, str]] = ()) -> None:
        text = text or answer()
        self.status, self.body, self.headers = status, text.encode() if isinstance(text, str) else text, dict(headers)
        self.sent: list[tuple[str, bytes, dict[str, str]]] = []

    async def chat(self, request: web.Request) -> web.Response:
        heads = {name: request.headers.get(name, "") for name in MATTER}
        self.sent.append((request.path, await request.read(), heads))
        return web.Response(status=self.status, body=self.body, content_type="application/json", headers=self.headers)


async def _both(wire: Wire, model: dict[str, Any], content: str, seed: int) -> list[Raw | Failure]:
    app = web.Application()
    app.add_routes([web.post("/v1/chat/completions", wire.chat)])
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    base = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    found: list[Raw | Failure] = []
    async with SharedState(runtime=Runtime()) as shared:
        for way in ("openai", "direct"):
            entry = Model("m", f"{way}/n", **model)
            messages = ({"role": "system", "content": "be brief"}, {"role": "user", "content": content})
            transport: Transport = shared.transport(entry)
            try:
                found.append(await transport.send(Call(entry, messages, seed), base, "key"))
            except Failure as failure:
                found.append(failure)
    await runner.cleanup()
    return found


def both(wire: Wire, content: str = "hi", seed: int = 2**40 + 7, **model: Any) -> list[Raw | Failure]:
    """What litellm and the direct way make of one call."""
    return asyncio.run(_both(wire, model, content, seed))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"temperature": 0.7, "top_p": 1.0, "max_tokens": 50, "stop": ["a", "\u00e9"]},
        {"logprobs": True, "top_logprobs": 2, "presence_penalty": 0.1, "frequency_penalty": 1},
        {"response_format": {"type": "json_object"}, "logit_bias": {"50256": -100}},
        {"reasoning_effort": "low", "temperature": 0},
        {"temperature": 0.5, "extra_body": {"top_k": 5, "chat_template_kwargs": {"enable_thinking": False}}},
    ],
)
def test_the_same_bytes_are_sent_with_the_same_headers(options: dict[str, Any]) -> None:
    wire = Wire()
    both(wire, STRANGE, options=options)
    assert len(wire.sent) == 2
    assert wire.sent[0] == wire.sent[1]
    assert json.loads(wire.sent[0][1])["seed"] == 7  # modulo 2**31


def test_an_option_that_openai_does_not_know_is_sent_by_both() -> None:
    """In another place among the others, which means nothing to a server."""
    wire = Wire()
    both(wire, options={"top_k": 3, "min_p": 0.1, "top_p": 0.9})
    assert json.loads(wire.sent[0][1]) == json.loads(wire.sent[1][1])


def test_half_a_character_is_sent_as_the_replacement_character() -> None:
    """A reply may hold one, and be heard by others; UTF-8 has no way to say it."""
    wire = Wire()
    both(wire, "a\ud83db \ud83d\ude00")
    assert wire.sent[0] == wire.sent[1]
    assert json.loads(wire.sent[0][1])["messages"][1]["content"] == "a\ufffdb \U0001f600"


@pytest.mark.parametrize(
    "text",
    [
        answer(),
        answer({"finish_reason": "length"}),
        answer({"logprobs": LOGPROBS}),
        answer(message={"content": STRANGE}),
        answer(message={"content": "", "reasoning_content": "so it is"}),
        answer(message={"content": "<think>so it is</think>\n\n4"}),
        answer(message={"content": None, "refusal": "no"}),
        answer(usage={"prompt_tokens": 9, "completion_tokens": 6, "total_tokens": 15,
                      "completion_tokens_details": {"reasoning_tokens": 4}}),
        answer(usage=None),
        answer(more_than_was_asked={"for": [1, 2]}),
        json.dumps({**ANSWER, "choices": []}),
        "{}",
        "[1]",
        "no JSON at all",
        "",
    ],
    ids=range(15),
)  # fmt: skip
def test_an_answer_is_taken_for_the_same(text: str) -> None:
    litellm, direct = both(Wire(text=text or " "))
    if isinstance(litellm, Raw):
        assert direct == litellm
    else:
        assert isinstance(direct, Failure)
        assert direct.kind is litellm.kind


ODD_USAGE = [
    "many", [7, 5], {"prompt_tokens": "7", "completion_tokens": 5}, {"prompt_tokens": 7.5, "completion_tokens": -1},
    {"prompt_tokens": True, "completion_tokens": 10**400}, {"prompt_tokens": None}, {},
    {"prompt_tokens": 7, "completion_tokens": 5, "prompt_tokens_details": "none"},
    {"prompt_tokens": 7, "completion_tokens": 5, "completion_tokens_details": [1]},
    {"prompt_tokens": 7, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": "6"}},
    {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": "x", "cost": {"of": "a gateway"}},
]  # fmt: skip


@pytest.mark.parametrize("usage", ODD_USAGE, ids=range(len(ODD_USAGE)))
def test_odd_counts_are_unknown_and_their_reply_is_a_reply_by_both_ways(usage: Any) -> None:
    litellm, direct = both(Wire(text=answer(usage=usage)))
    assert isinstance(litellm, Raw)
    assert litellm.text == "hi"
    assert direct == litellm


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (answer(created="NUMBER").replace('"NUMBER"', "NaN").encode(), "hi"),
        (answer({"logprobs": LOGPROBS}).replace("-0.1", "-Infinity").encode(), "hi"),
        (answer(more={"of": "NUMBER"}).replace('"NUMBER"', "[NaN, Infinity]").encode(), "hi"),
        (answer().encode().replace(b'"hi"', b'"h\xffi"'), "h\ufffdi"),
        (b"\xef\xbb\xbf" + answer().encode(), "hi"),
        (answer({"index": "first"}, {"role": None}).encode(), "hi"),
        (answer(id=None, created=None, model=None, object=None).encode(), "hi"),
    ],
    ids=["NaN", "logprobs", "elsewhere", "bad UTF-8", "a mark of its order", "odd choice", "nothing else"],
)
def test_an_odd_body_is_the_same_reply_by_both_ways(text: bytes, said: str) -> None:
    litellm, direct = both(Wire(text=text))
    assert isinstance(litellm, Raw), litellm
    assert litellm.text == said
    assert direct == litellm


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "overloaded"}, FailureKind.TRANSIENT),
        ({"message": "Provider returned error", "code": 502}, FailureKind.TRANSIENT),
        ({"message": "Rate limit exceeded: free-models-per-day"}, FailureKind.RATE_LIMIT),
        ({"message": "slow down", "code": "429"}, FailureKind.RATE_LIMIT),
        ({"message": "temperature is not supported", "code": 400}, FailureKind.BAD_REQUEST),
        ({"message": "Invalid temperature", "type": "invalid_request_error"}, FailureKind.BAD_REQUEST),
        ({"message": "maximum context length is 8 tokens", "code": 400}, FailureKind.CONTEXT_WINDOW),
        ({"message": "No auth credentials found", "code": 401}, FailureKind.AUTHENTICATION),
        ({"message": "Insufficient credits", "code": 402}, FailureKind.QUOTA),
        ("the server is on fire", FailureKind.TRANSIENT),
    ],
)
@pytest.mark.parametrize("is_in_choice", [False, True], ids=["whole", "choice"])
def test_an_error_with_status_200_is_what_its_words_say(error: Any, kind: FailureKind, *, is_in_choice: bool) -> None:
    """The server's own words are kept, and half a reply beside an error is not a reply."""
    whole = json.dumps({"error": error, "user_id": "x"})
    text = answer({"error": error, "finish_reason": "error"}) if is_in_choice else whole
    for found in both(Wire(text=text)):
        assert isinstance(found, Failure)
        assert found.kind is kind
        assert (error if isinstance(error, str) else error["message"]) in found.what


def test_a_reply_that_speaks_of_errors_is_a_reply() -> None:
    said = json.dumps({"error": {"message": "overloaded"}})
    for found in both(Wire(text=answer(message={"content": said}, error=None))):
        assert isinstance(found, Raw)
        assert found.text == said


def test_what_litellm_leaves_out_is_known() -> None:
    """It hands `user` on to models of OpenAI alone; a finish reason that the server leaves out is unknown by both."""
    wire = Wire(text=answer({"finish_reason": None}))
    litellm, direct = both(wire, options={"user": "me"})
    assert isinstance(litellm, Raw)
    assert isinstance(direct, Raw)
    assert (litellm.finish_reason, direct.finish_reason) == (None, None)
    assert [json.loads(body).get("user") for _, body, _ in wire.sent] == [None, "me"]


@pytest.mark.parametrize(
    ("status", "message", "code"),
    [
        (400, "This model's maximum context length is 8 tokens", "context_length_exceeded"),
        (400, "flagged by our content management policy", "content_filter"),
        (400, "temperature must be at most 2", "invalid_request_error"),
        (401, "Incorrect API key provided", "invalid_api_key"),
        (403, "not allowed", "forbidden"),
        (404, "The model n does not exist", "model_not_found"),
        (422, "temperature: Field required", "unprocessable"),
        (429, "slow down", "rate_limit_exceeded"),
        (429, "You exceeded your current quota", "insufficient_quota"),
        (500, "oh", "server_error"),
        (503, "busy", "overloaded"),
    ],
)
def test_an_error_is_taken_for_the_same(status: int, message: str, code: str) -> None:
    said = json.dumps({"error": {"message": message, "type": code, "code": code}})
    litellm, direct = both(Wire(status, said, [("Retry-After", "3")]))
    assert isinstance(litellm, Failure)
    assert isinstance(direct, Failure)
    assert (direct.kind, direct.retry_after) == (litellm.kind, litellm.retry_after)


PROVIDER_ERRORS = [
    # Limits per minute, whose words name billing; the wait is the header's.
    (
        "groq",
        429,
        {
            "message": "Rate limit reached for model `llama-3.1-8b-instant` in organization `org_x` service tier "
            "`on_demand` on tokens per minute (TPM): Limit 6000, Used 5900, Requested 300. Try again in 2s. Need more "
            "tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing",
            "type": "tokens",
            "code": "rate_limit_exceeded",
        },
        {"retry-after": "2"},
        FailureKind.RATE_LIMIT,
        2.0,
    ),
    (
        "openai",
        429,
        {
            "message": "Rate limit reached for gpt-4o in organization org-x on requests per min (RPM): Limit 3, "
            "Used 3, Requested 1. Please try again in 20s. "
            "You can increase your rate limit by adding a payment method to your account at "
            "https://platform.openai.com/account/billing.",
            "type": "requests",
            "code": "rate_limit_exceeded",
        },
        {"retry-after-ms": "1500", "retry-after": "2"},
        FailureKind.RATE_LIMIT,
        1.5,
    ),
    (
        "openai",
        429,
        {
            "message": "You exceeded your current quota, please check your plan and billing details.",
            "type": "insufficient_quota",
            "code": "insufficient_quota",
        },
        {},
        FailureKind.QUOTA,
        None,
    ),
    (
        "gemini",
        429,
        {
            "code": 429,
            "message": "You exceeded your current quota, please check your plan and billing "
            "details. Please retry in 7.5s.",
            "status": "RESOURCE_EXHAUSTED",
        },
        {},
        FailureKind.RATE_LIMIT,
        7.5,
    ),
    (
        "anthropic",
        400,
        {
            "type": "invalid_request_error",
            "message": "Your credit balance is too low to access the "
            "Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
        },
        {},
        FailureKind.QUOTA,
        None,
    ),
    (
        "deepseek",
        402,
        {"message": "Insufficient Balance", "type": "unknown_error", "code": "invalid_request_error"},
        {},
        FailureKind.QUOTA,
        None,
    ),
    (
        "openrouter",
        402,
        {"message": "Insufficient credits. Add more using https://openrouter.ai/settings/credits", "code": 402},
        {},
        FailureKind.QUOTA,
        None,
    ),
    # One question that is too long: that question alone fails.
    (
        "llama.cpp",
        400,
        {
            "code": 400,
            "message": "request (6020 tokens) exceeds the available context size (4096 tokens), try increasing it",
            "type": "exceed_context_size_error",
        },
        {},
        FailureKind.CONTEXT_WINDOW,
        None,
    ),
    (
        "ollama",
        400,
        {"message": "input length exceeds the context length", "type": "api_error"},
        {},
        FailureKind.CONTEXT_WINDOW,
        None,
    ),
    (
        "ollama",
        500,
        {"message": "the input length exceeds maximum context length", "type": "api_error"},
        {},
        FailureKind.CONTEXT_WINDOW,
        None,
    ),
    (
        "tgi",
        422,
        {
            "message": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 6020 "
            "`inputs` tokens and 512 `max_new_tokens`",
            "type": "validation",
        },
        {},
        FailureKind.CONTEXT_WINDOW,
        None,
    ),
    (
        "together",
        422,
        {
            "message": "Input validation error: `inputs` must have less than 4096 tokens. Given: 6020",
            "type": "invalid_request_error",
        },
        {},
        FailureKind.CONTEXT_WINDOW,
        None,
    ),
    (
        "xai",
        400,
        {"message": "This model's maximum prompt length is 131072 but the request contains 140000 tokens."},
        {},
        FailureKind.CONTEXT_WINDOW,
        None,
    ),
    (
        "vllm",
        400,
        {
            "message": "The decoder prompt (length 6020) is longer than the maximum model length of 4096. Make "
            "sure that `max_model_len` is no smaller",
            "type": "BadRequestError",
            "code": 400,
        },
        {},
        FailureKind.CONTEXT_WINDOW,
        None,
    ),
    (
        "vllm",
        400,
        {
            "message": "This model's maximum context length is 4096 tokens. However, you requested 6020 tokens",
            "type": "BadRequestError",
            "code": 400,
        },
        {},
        FailureKind.CONTEXT_WINDOW,
        None,
    ),
    (
        "groq",
        413,
        {
            "message": "Request too large for model `llama-3.1-8b-instant` on tokens per minute (TPM): Limit 6000, "
            "Requested 8000, please reduce your message size and try again. Visit https://console.groq.com/settings/billing",
            "type": "tokens",
            "code": "rate_limit_exceeded",
        },
        {},
        FailureKind.CONTEXT_WINDOW,
        None,
    ),
    (
        "openai",
        429,
        {
            "message": "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 50000.",
            "type": "tokens",
            "code": "rate_limit_exceeded",
        },
        {"retry-after": "1"},
        FailureKind.CONTEXT_WINDOW,
        1.0,
    ),
    # One question that is moderated: that question alone fails.
    (
        "deepseek",
        400,
        {"message": "Content Exists Risk", "type": "invalid_request_error", "code": "invalid_request_error"},
        {},
        FailureKind.CONTENT_FILTER,
        None,
    ),
    (
        "dashscope",
        400,
        {
            "message": "Input data may contain inappropriate content.",
            "type": "data_inspection_failed",
            "code": "data_inspection_failed",
        },
        {},
        FailureKind.CONTENT_FILTER,
        None,
    ),
    (
        "openai",
        400,
        {
            "message": "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
            "type": "invalid_request_error",
            "code": "invalid_prompt",
        },
        {},
        FailureKind.CONTENT_FILTER,
        None,
    ),
    (
        "openrouter",
        403,
        {"message": 'x/y requires moderation on Z. Your input was flagged for "violence".', "code": 403},
        {},
        FailureKind.CONTENT_FILTER,
        None,
    ),
    (
        "xai",
        403,
        {"message": "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO"},
        {},
        FailureKind.CONTENT_FILTER,
        None,
    ),
    # What passes, and what does not.
    (
        "groq",
        498,
        {"message": "Flex tier capacity exceeded", "code": "capacity_exceeded"},
        {},
        FailureKind.TRANSIENT,
        None,
    ),
    (
        "tgi",
        424,
        {"message": "Request failed during generation: Server error", "type": "generation"},
        {},
        FailureKind.TRANSIENT,
        None,
    ),
    ("anthropic", 529, {"type": "overloaded_error", "message": "Overloaded"}, {}, FailureKind.TRANSIENT, None),
    (
        "openai",
        403,
        {"message": "You are not allowed to sample from this model", "type": "invalid_request_error"},
        {},
        FailureKind.AUTHENTICATION,
        None,
    ),
    (
        "openai",
        400,
        {
            "message": "Unsupported parameter: 'max_tokens' is not supported with this model.",
            "code": "unsupported_parameter",
        },
        {},
        FailureKind.BAD_REQUEST,
        None,
    ),
]
"""Errors in the formats of providers and servers, from their documentation and source."""


@pytest.mark.parametrize(("provider", "status", "error", "headers", "kind", "wait"), PROVIDER_ERRORS)
def test_providers_errors_mean_the_same_by_both_ways(
    provider: str, status: int, error: dict[str, Any], headers: dict[str, str], kind: FailureKind, wait: float | None
) -> None:
    """One question that is too long or moderated is no end of the run, and a limit per minute is waited for."""
    litellm, direct = both(Wire(status, json.dumps({"error": error}), list(headers.items())))
    assert isinstance(direct, Failure)
    assert isinstance(litellm, Failure)
    assert (direct.kind, direct.retry_after) == (kind, wait)
    assert (litellm.kind, litellm.retry_after) == (kind, wait)


WAYS = ("direct", "openai")


def shown(content: bytes, source: str) -> Image:
    return Image(hashlib.sha256(content).hexdigest(), "image/png", source)


def with_images(way: str, *images: Image) -> Call:
    call = call_of("What colour?", 1, f"{way}/name", api_base="env:BASE")
    return Call(call.model, call.messages, call.seed, images)


def ask(stub: Stub, folder: Path, call: Call) -> Reply:
    async def scene() -> Reply:
        async with (
            serving(stub) as base,
            open_client(folder / "own.jsonl", runtime=Time().runtime(BASE=base)) as client,
        ):
            return await client(call)

    return asyncio.run(scene())


@pytest.mark.parametrize("way", WAYS)
def test_a_file_and_a_data_uri_arrive_before_the_text(tmp_path: Path, way: str) -> None:
    (tmp_path / "a.png").write_bytes(png(1))
    stub = Stub()
    stub.reply = "black"
    call = with_images(way, shown(png(1), str(tmp_path / "a.png")), shown(png(2), uri(png(2))))
    assert ask(stub, tmp_path / "calls", call).text == "black"
    first, second, text = stub.bodies[0]["messages"][-1]["content"]
    assert [first["image_url"]["url"], second["image_url"]["url"]] == [uri(png(1)), uri(png(2))]
    assert text == {"type": "text", "text": "What colour?"}
    log = (tmp_path / "calls" / "own.jsonl").read_text()
    assert json.loads(log)["images"] == [image.digest for image in call.images]
    assert "base64" not in log
    assert ask(stub, tmp_path / "calls", call).text == "black"
    assert stub.calls == 1


def test_the_key_is_of_what_an_image_shows_and_not_of_where_it_lies(tmp_path: Path) -> None:
    here, there = shown(png(1), "/here/a.png"), shown(png(1), uri(png(1)))
    assert call_key(with_images("direct", here)) == call_key(with_images("direct", there))
    keys = {call_key(with_images("direct", *images)) for images in ((), (here,), (here, here), (shown(png(2), "b"),))}
    assert len(keys) == 4


@pytest.mark.parametrize(("content", "said"), [(None, "cannot be read"), (png(2), "has changed since the run began")])
def test_an_image_that_is_gone_or_another_ends_the_job_before_anything_is_sent(
    tmp_path: Path, content: bytes | None, said: str
) -> None:
    file, stub = tmp_path / "a.png", Stub()
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ModelError, match=said):
        ask(stub, tmp_path / "calls", with_images("direct", shown(png(1), str(file))))
    assert stub.calls == 0
