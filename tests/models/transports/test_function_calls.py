"""Function calls over the wire: servers of the OpenAI and of the Anthropic protocol, straight and through litellm."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from cortexdsl.core import (
    FREE,
    Agent,
    Call,
    Debate,
    Decide,
    Image,
    Limits,
    Message,
    Method,
    Model,
    Offer,
    OfferedTool,
    Ports,
    Question,
    Reading,
    Step,
)
from cortexdsl.engine.run import run_debate
from cortexdsl.errors import BudgetError, ModelError
from cortexdsl.models.call_keys import call_key
from cortexdsl.models.client import Client, open_client
from cortexdsl.models.transports.caching import with_cache_marks
from cortexdsl.models.transports.registry import has_functions
from cortexdsl.models.transports.request_parts import messages_of
from cortexdsl.models.transports.tool import TOOL, ToolTransport
from tests.models.kit import Time

QUESTION = Question("q1", "What is 3 * 4 + 5?")
SUMS = Model("sums", "tool/calculator", price=FREE)
USED = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}


def said(text: str | None, *calls: tuple[str, str, str], **message: Any) -> dict[str, Any]:
    """Return a chat completion as OpenAI sends it."""
    asked = [{"id": key, "type": "function", "function": {"name": n, "arguments": a}} for key, n, a in calls]
    content = {"role": "assistant", "content": text, **({"tool_calls": asked} if calls else {}), **message}
    choice = {"index": 0, "finish_reason": "tool_calls" if calls else "stop", "message": content}
    return {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": USED}


def claude(*blocks: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message as Anthropic sends it."""
    asks = any(block["type"] == "tool_use" for block in blocks)
    return {
        "id": "m1", "type": "message", "role": "assistant", "model": "claude", "content": list(blocks),
        "stop_reason": "tool_use" if asks else "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 5},
    }  # fmt: skip


class Server:
    """Answers requests by its replies, one after another; a reply that is a list of texts is a stream of them."""

    def __init__(self, *replies: Any) -> None:
        self.replies, self.bodies = list(replies), list[dict[str, Any]]()
        self.headers: Mapping[str, str] = {}

    async def answer(self, request: web.Request) -> web.Response:
        self.bodies.append(await request.json())
        self.headers = request.headers
        reply = self.replies[min(len(self.bodies), len(self.replies)) - 1]
        if isinstance(reply, tuple):
            return web.json_response(reply[1], status=reply[0])
        if isinstance(reply, list):
            events = "".join(f"data: {json.dumps(event)}\n\n" for event in reply) + "data: [DONE]\n\n"
            return web.Response(text=events, content_type="text/event-stream")
        return web.json_response(reply)

    async def __aenter__(self) -> str:
        app = web.Application()
        app.add_routes([web.post("/v1/chat/completions", self.answer), web.post("/v1/messages", self.answer)])
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()


class LastLine:
    """Reads the last line of a reply."""

    def read(self, reads: Any, text: str) -> Reading:
        return Reading(text.splitlines()[-1].partition(": ")[2] or None)

    def without_confidence(self, text: str) -> str:
        return text

    def same(self, answer: str, earlier: str) -> bool:
        return answer == earlier

    def place_of(self, answer: str, text: str) -> None:
        return None


def render(prompt: str, view: Mapping[str, Any]) -> tuple[Message, ...]:
    return ({"role": "user", "content": f"{prompt} {QUESTION.text}"},)


async def nothing(embedding: str, texts: Sequence[str]) -> Any:
    raise AssertionError


async def run_program(program: str) -> str:
    return "42"


async def done() -> None:
    pass


def method_of(model: Model, uses: int = 4) -> Method:
    step = Step("answer", "debater", "answer", tools={"else": (SUMS,)}, uses=uses)
    agents = {"debater": (Agent("ann", model),)}
    return Method("staged", agents, {"answer": step}, ("answer",), Decide("majority"))


def ports_of(client: Client) -> Ports:
    client.use_transport(TOOL, ToolTransport({}, {}, done, run_program))
    return Ports(client, render, LastLine(), nothing, has_functions=has_functions)


def debate(server: Server, folder: Path, way: str, uses: int = 4, **entry: Any) -> Debate:
    """Run a debate of one agent against a server; `way` is the model's name, or `anthropic`."""
    folder.mkdir(parents=True, exist_ok=True)

    async def scene() -> Debate:
        async with server as base:
            address = base if way.startswith("anthropic") else f"{base}/v1"
            environment = {"BASE": address, "ANTHROPIC_API_KEY": "x"}
            client = open_client(folder / "own.jsonl", runtime=Time().runtime(**environment))
            async with client:
                model = Model("m", way, api_base="env:BASE", **entry)
                return await run_debate(method_of(model, uses), QUESTION, ports_of(client), seed=7, replicate=1)

    return asyncio.run(scene())


WAYS = ("openai/m", "direct/m")
CLAUDE = pytest.mark.parametrize("way", ["anthropic/claude-3-7-sonnet-20250219", "direct/anthropic/claude-x"])
LONG: Mapping[str, Any] = {"options": {"max_tokens": 900}}
ASKS = said(None, ("call_1", "sums", '{"expression": "3*4+5"}'))
ANSWERS = said("It is 17.\nAnswer: 17")


@pytest.mark.parametrize("way", WAYS)
def test_openai(way: str, tmp_path: Path) -> None:
    server = Server(ASKS, ANSWERS)
    (turn,) = debate(server, tmp_path, way).turns
    assert turn.answer == "17"
    assert [(use.argument, use.result) for use in turn.uses] == [("3*4+5", "3*4+5 = 17")]
    first, last = server.bodies
    (tool,) = first["tools"]
    assert tool["function"]["name"] == "sums"
    assert tool["function"]["parameters"]["required"] == ["expression"]
    assert "tool_choice" not in first
    assert last["tools"] == first["tools"]
    assert last["messages"] == [
        *first["messages"],
        {"role": "assistant", "content": "", "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "sums", "arguments": '{"expression": "3*4+5"}'}}
        ]},
        {"role": "tool", "tool_call_id": "call_1", "content": "3*4+5 = 17"},
    ]  # fmt: skip


def test_both_ways_send_and_read_the_same(tmp_path: Path) -> None:
    straight, through = Server(ASKS, ANSWERS), Server(ASKS, ANSWERS)
    one = debate(straight, tmp_path / "a", "direct/m")
    other = debate(through, tmp_path / "b", "openai/m")
    assert [turn.answer for turn in one.turns] == [turn.answer for turn in other.turns] == ["17"]
    assert straight.bodies == through.bodies


@CLAUDE
def test_anthropic(way: str, tmp_path: Path) -> None:
    thought = {"type": "thinking", "thinking": "I calculate.", "signature": "signed"}
    asks = claude(thought, {"type": "tool_use", "id": "toolu_1", "name": "sums", "input": {"expression": "3*4+5"}})
    server = Server(asks, claude({"type": "text", "text": "Answer: 17"}))
    (turn,) = debate(server, tmp_path, way, **LONG).turns
    assert turn.answer == "17"
    assert [(use.argument, use.result) for use in turn.uses] == [("3*4+5", "3*4+5 = 17")]
    first, last = server.bodies
    assert first["tools"][0]["name"] == "sums"
    assert first["tools"][0]["input_schema"]["required"] == ["expression"]
    assistant, user = last["messages"][-2:]
    assert assistant["content"][0] == thought  # signed reasoning goes back as it came
    assert assistant["content"][-1] == {
        "type": "tool_use", "id": "toolu_1", "name": "sums", "input": {"expression": "3*4+5"}
    }  # fmt: skip
    assert user["content"][0]["type"] == "tool_result"
    assert user["content"][0]["tool_use_id"] == "toolu_1"
    assert "3*4+5 = 17" in json.dumps(user["content"][0]["content"])


@CLAUDE
def test_anthropic_is_told_to_answer(way: str, tmp_path: Path) -> None:
    asks = claude({"type": "tool_use", "id": "toolu_1", "name": "sums", "input": {"expression": "1+1"}})
    server = Server(asks, claude({"type": "text", "text": "Answer: 2"}))
    debate(server, tmp_path, way, uses=1, **LONG)
    assert server.bodies[-1]["tool_choice"] == {"type": "none"}
    assert server.bodies[-1]["tools"]


@pytest.mark.parametrize("way", WAYS)
def test_a_streamed_function_call_arrives_in_pieces(way: str, tmp_path: Path) -> None:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}

    def piece(index: int, **function: str) -> dict[str, Any]:
        return {"index": index, "function": function}

    stream = [
        chunk({"role": "assistant", "content": None}),
        chunk({"tool_calls": [{**piece(0, name="sums", arguments=""), "id": "a", "type": "function"}]}),
        chunk({"tool_calls": [piece(0, arguments='{"expre')]}),
        chunk({"tool_calls": [piece(0, arguments='ssion": "3*4+5"}')]}),
        chunk({"tool_calls": [{**piece(1, name="sums", arguments='{"expression": "2+2"}'), "id": "b"}]}),
        chunk({}, "tool_calls"),
    ]
    answer = [chunk({"role": "assistant", "content": "Answer: "}), chunk({"content": "17"}), chunk({}, "stop")]
    (turn,) = debate(Server(stream, answer), tmp_path, way, timeout=900.0).turns
    assert [use.result for use in turn.uses] == ["3*4+5 = 17", "2+2 = 4"]
    assert turn.answer == "17"


@pytest.mark.parametrize("way", WAYS)
def test_the_last_call_may_use_no_tool(way: str, tmp_path: Path) -> None:
    server = Server(ASKS, ANSWERS)
    debate(server, tmp_path, way, uses=1)
    assert server.bodies[-1]["tool_choice"] == "none"


@pytest.mark.parametrize("way", WAYS)
def test_a_model_that_calls_although_it_was_told_to_answer_gives_no_reply(way: str, tmp_path: Path) -> None:
    (turn,) = debate(Server(ASKS), tmp_path, way, uses=1).turns
    assert turn.unparsed is not None
    assert "the model called a tool in place of answering, although it was told to answer" in turn.unparsed
    assert len(turn.uses) == 1


def test_a_server_without_tool_choice_is_asked_without_it(tmp_path: Path) -> None:
    refuses = (400, {"error": {"message": "Unsupported parameter: 'tool_choice'", "code": "invalid_request_error"}})
    server = Server(ASKS, refuses, ANSWERS)
    (turn,) = debate(server, tmp_path, "direct/m", uses=1).turns
    assert turn.answer == "17"
    assert ["tool_choice" in body for body in server.bodies] == [False, True, False]


def test_a_server_without_function_calls_ends_the_run_with_the_remedy(tmp_path: Path) -> None:
    refuses = (400, {"error": {"message": '"auto" tool choice requires --enable-auto-tool-choice', "code": 400}})
    with pytest.raises(ModelError, match="write function_calls: false in the entry of the model"):
        debate(Server(refuses), tmp_path, "direct/m")


def test_a_model_that_asks_in_its_text(tmp_path: Path) -> None:
    server = Server(said("```tool sums\n3*4+5\n```"), ANSWERS)
    (turn,) = debate(server, tmp_path, "direct/m", function_calls=False).turns
    assert turn.answer == "17"
    assert "tools" not in server.bodies[0]
    assert server.bodies[0]["messages"][-1]["content"].endswith("common/tools.j2 What is 3 * 4 + 5?")
    assert server.bodies[1]["messages"][-1] == {"role": "user", "content": "Result of sums:\n3*4+5 = 17"}


def test_every_call_is_logged_and_a_second_run_asks_nothing(tmp_path: Path) -> None:
    first = debate(Server(ASKS, ANSWERS), tmp_path, "direct/m")
    lines = [json.loads(line) for line in (tmp_path / "own.jsonl").read_text().splitlines()]
    assert [line["model"] for line in lines] == ["direct/m", "tool/calculator", "direct/m"]
    assert [line["key"] for line in lines] == [call.call for call in first.turns[0].calls]
    assert lines[0]["requests"] == [["call_1", "sums", '{"expression": "3*4+5"}']]
    assert lines[0]["tools"][0]["function"]["name"] == "sums"
    silent = Server()
    assert debate(silent, tmp_path, "direct/m") == first
    assert silent.bodies == []


def test_what_was_asked_before_an_end_is_not_asked_again(tmp_path: Path) -> None:
    refuses = (401, {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}})
    with pytest.raises(ModelError):
        debate(Server(ASKS, refuses), tmp_path, "direct/m")
    rest = Server(ANSWERS)
    (turn,) = debate(rest, tmp_path, "direct/m").turns
    assert turn.answer == "17"
    assert len(rest.bodies) == 1
    assert rest.bodies[0]["messages"][-1]["content"] == "3*4+5 = 17"


def test_tools_and_requests_count_in_limits(tmp_path: Path) -> None:
    async def scene(calls: int) -> int:
        server = Server(ASKS, ANSWERS)
        (tmp_path / f"{calls}").mkdir()
        async with server as base:
            client = open_client(
                tmp_path / f"{calls}" / "own.jsonl",
                limits=Limits(calls=calls),
                runtime=Time().runtime(BASE=f"{base}/v1"),
            )
            async with client:
                model = Model("m", "direct/m", api_base="env:BASE")
                await run_debate(method_of(model), QUESTION, ports_of(client), seed=7, replicate=1)
                return client.counts.asked

    assert asyncio.run(scene(3)) == 3
    with pytest.raises(BudgetError):
        asyncio.run(scene(2))


def talk(**entry: Any) -> Call:
    """Return a call after a use of a tool, with an image and a shared beginning."""
    function = {"id": "c", "type": "function", "function": {"name": "sums", "arguments": "{}"}}
    messages: tuple[Message, ...] = (
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "A question. Answer it."},
        {"role": "assistant", "content": "", "tool_calls": [function]},
        {"role": "tool", "tool_call_id": "c", "content": "17 \ud800"},
    )
    image = Image("0a", "image/png", "data:image/png;base64,AAAA")
    return Call(Model("m", **{"model": "anthropic/claude-x", **entry}), messages, 1, (image,), shared=12)


def test_images_stay_with_the_prompt_and_texts_are_sendable() -> None:
    system, prompt, assistant, tool = messages_of(talk())
    assert [part["type"] for part in prompt["content"]] == ["image_url", "text"]
    assert (system["content"], tool["content"]) == ("Be brief.", "17 \ufffd")
    assert assistant["tool_calls"][0]["function"]["name"] == "sums"


def test_a_model_without_a_system_role_has_it_in_the_prompt_and_results_stay_apart() -> None:
    prompt, assistant, tool = messages_of(talk(refused=("system",)))
    assert prompt["content"][-1]["text"] == "Be brief.\n\nA question. Answer it."
    assert (assistant["role"], tool["role"], tool["tool_call_id"]) == ("assistant", "tool", "c")


def test_the_mark_of_a_cache_stands_behind_the_question() -> None:
    call = talk(cache=True)
    marked = with_cache_marks(messages_of(call), call)
    assert [part.get("text") for part in marked[1]["content"]] == [None, "A question. ", "Answer it."]
    assert "cache_control" in marked[1]["content"][1]
    assert marked[3]["content"] == "17 \ufffd"


@pytest.mark.parametrize(
    ("entry", "has"),
    [
        ({"model": "openai/m"}, True),
        ({"model": "direct/m"}, True),
        ({"model": "anthropic/m"}, True),
        ({"model": "openai/m", "function_calls": False}, False),
        ({"model": "openai/m", "engine": "vllm"}, False),
        ({"model": "builtin/solver"}, False),
        ({"model": "tiny/lark"}, False),
    ],
)
def test_the_rule_by_which_a_model_asks_for_tools(entry: dict[str, Any], has: bool) -> None:
    assert has_functions(Model("m", **entry)) == has


def test_definitions_of_tools_are_in_the_key() -> None:
    def key(offer: Offer | None) -> str:
        return call_key(Call(Model("m", "direct/m"), ({"role": "user", "content": "hello"},), 1, offer=offer))

    tool = OfferedTool("sums", "Adds.", "expression", "a sum")
    other = OfferedTool("sums", "Multiplies.", "expression", "a sum")
    keys = [key(None), key(Offer((tool,), "functions")), key(Offer((other,), "functions")),
            key(Offer((tool,), "functions", is_over=True))]  # fmt: skip
    assert len({*keys}) == 4
    assert key(Offer((tool,), "text")) == keys[0]  # then the prompt says it
