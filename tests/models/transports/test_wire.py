"""The direct way and litellm's, byte for byte: what a server is sent, and what its answers are taken for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

import pytest
from aiohttp import web

from cortexdsl.models.commons import Commons
from cortexdsl.models.door import Hooks
from cortexdsl.models.reach.failures import Failure, Kind
from cortexdsl.models.transports.transport import Raw, Transport
from cortexdsl.terms import Call, Model

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
    async with Commons(hooks=Hooks()) as commons:
        for way in ("litellm", "direct"):
            entry = Model("m", **{"model": "openai/n", **model}, transport=way)
            messages = ({"role": "system", "content": "be brief"}, {"role": "user", "content": content})
            transport: Transport = commons.transport(entry)
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
        ({"message": "overloaded"}, Kind.TRANSIENT),
        ({"message": "Provider returned error", "code": 502}, Kind.TRANSIENT),
        ({"message": "Rate limit exceeded: free-models-per-day"}, Kind.RATE_LIMIT),
        ({"message": "slow down", "code": "429"}, Kind.RATE_LIMIT),
        ({"message": "temperature is not supported", "code": 400}, Kind.BAD_REQUEST),
        ({"message": "Invalid temperature", "type": "invalid_request_error"}, Kind.BAD_REQUEST),
        ({"message": "maximum context length is 8 tokens", "code": 400}, Kind.CONTEXT_WINDOW),
        ({"message": "No auth credentials found", "code": 401}, Kind.AUTHENTICATION),
        ({"message": "Insufficient credits", "code": 402}, Kind.QUOTA),
        ("the server is on fire", Kind.TRANSIENT),
    ],
)
@pytest.mark.parametrize("is_in_choice", [False, True], ids=["whole", "choice"])
def test_an_error_with_status_200_is_what_its_words_say(error: Any, kind: Kind, *, is_in_choice: bool) -> None:
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
