"""Tools within a turn: the loop of calls, both forms of asking, what cannot be done, and what a turn keeps of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from cortexdsl.checksums import with_checksum
from cortexdsl.core import (
    FREE,
    NO_REPLY,
    Call,
    Debate,
    FunctionCall,
    Measure,
    Message,
    Method,
    Model,
    Ports,
    Reply,
    Turn,
)
from cortexdsl.engine.run import run_debate
from cortexdsl.engine.tool_use import ANSWER_NOW, LONGEST_RESULT, blocks
from cortexdsl.errors import RecordError
from cortexdsl.records import Header, debate_to_json, record_from_json
from tests.engine.stage import QUESTION, Stage, StagedReader, method

SUMS = Model("sums", "tool/calculator", price=FREE)
FACTS = Model("facts", "tool/search", options={"source": "notes", "top": 2, "about": "Searches notes."}, price=FREE)
ANSWER = "done|17|0.9"

Said = str | Sequence[tuple[str, str]] | Callable[[Call], Reply]


@dataclass
class Desk(Stage):
    """A model that says what it is told to, one text or list of function calls after another, and its tools."""

    says: Sequence[Said] = ()
    tools: Mapping[str, Any] = field(default_factory=dict)
    functions: bool = True

    def ports(self) -> Ports:
        return replace(
            Ports(self.ask, self.render, StagedReader(), self.similarity), has_functions=lambda model: self.functions
        )

    def render(self, prompt: str, view: Mapping[str, Any]) -> tuple[Message, ...]:
        if prompt == "common/tools.j2":
            return ({"role": "user", "content": f"tools: {', '.join(tool.name for tool in view['tools'])}"},)
        return super().render(prompt, view)

    async def ask(self, call: Call) -> Reply:
        self.calls.append(call)
        if call.model.is_tool:
            said = self.tools.get(call.model.name, f"result of {call.messages[0]['content']}")
            return Reply(f"tool-{len(self.calls)}", "" if isinstance(said, Exception) else said, "stop", 0, 0,
                         error=str(said) if isinstance(said, Exception) else None)  # fmt: skip
        said = self.says[len(self.asked()) - 1]
        if callable(said):
            return said(call)
        key = f"call-{len(self.calls)}"
        if isinstance(said, str):
            return Reply(key, said, "stop", 10, 2)
        calls = [FunctionCall(f"id{k}", *each) for k, each in enumerate(said)]
        return Reply(key, "I look.", "tool_calls", 10, 2, requests=tuple(calls))

    def asked(self) -> list[Call]:
        return [call for call in self.calls if not call.model.is_tool]


def of(uses: int = 4, **words: Any) -> Method:
    return method({"answer": {"tools": {"else": (SUMS, FACTS)}, "uses": uses, **words}}, ["answer"], "a")


def debate(desk: Desk, uses: int = 4, **words: Any) -> Debate:
    return asyncio.run(run_debate(of(uses, **words), QUESTION, desk.ports(), seed=7, replicate=1))


def turn_of(desk: Desk, uses: int = 4, **words: Any) -> Turn:
    (turn,) = debate(desk, uses, **words).turns
    return turn


def sums(expression: Any) -> tuple[str, str]:
    return "sums", json.dumps({"expression": expression})


def test_a_model_calls_a_function_and_answers_with_its_result() -> None:
    desk = Desk(says=[[sums("3*4+5")], ANSWER], tools={"sums": "3*4+5 = 17"})
    turn = turn_of(desk)
    (request,) = turn.requests
    (use,) = request.uses
    assert turn.answer == "17"
    assert (use.tool, use.argument, use.result, use.error, use.call) == ("sums", "3*4+5", "3*4+5 = 17", None, "tool-2")
    assert (request.call, request.text, request.prompt_tokens) == ("call-1", "I look.", 10)
    assert [call.call for call in turn.calls] == ["call-1", "tool-2", "call-3"]
    first, tool, last = desk.calls
    assert tool.messages == ({"role": "user", "content": "3*4+5"},)
    assert first.offer is not None
    assert [offered.name for offered in first.offer.tools] == ["sums", "facts"]
    assert first.offer.tools[1].about == "Searches notes."
    assert last.messages == (
        *first.messages,
        {"role": "assistant", "content": "I look.", "tool_calls": [
            {"id": "id0", "type": "function", "function": {"name": "sums", "arguments": '{"expression": "3*4+5"}'}}
        ]},
        {"role": "tool", "tool_call_id": "id0", "content": "3*4+5 = 17"},
    )  # fmt: skip
    assert last.seed == first.seed


def test_a_model_without_function_calls_asks_in_a_block() -> None:
    asks = "Let me see.\n```tool sums\n3*4+5\n```"
    desk = Desk(says=[asks, ANSWER], tools={"sums": "3*4+5 = 17"}, functions=False)
    turn = turn_of(desk)
    first, _, last = desk.calls
    assert first.messages[-1]["content"].endswith("\n\ntools: sums, facts")
    assert last.messages[1:] == (
        {"role": "assistant", "content": asks},
        {"role": "user", "content": "Result of sums:\n3*4+5 = 17"},
    )
    assert turn.uses[0].result == "3*4+5 = 17"
    assert turn.answer == "17"


def test_a_model_may_answer_without_a_tool() -> None:
    desk = Desk(says=[ANSWER])
    turn = turn_of(desk)
    assert turn.requests == ()
    assert turn.calls == (turn,)
    assert len(desk.calls) == 1


def test_several_calls_of_one_reply_are_all_answered_in_their_order() -> None:
    desk = Desk(says=[[sums("1+1"), ("facts", '{"query": "seas"}')], ANSWER])
    turn = turn_of(desk)
    assert [use.result for use in turn.uses] == ["result of 1+1", "result of seas"]
    assert [m["tool_call_id"] for m in desk.calls[-1].messages if m["role"] == "tool"] == ["id0", "id1"]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("stars", "{}"), "There is no tool stars. You can use: sums, facts."),
        (("sums", "3*4"), "The arguments are not JSON: 3*4 Write"),
        (("sums", "[1]"), "The arguments do not fit: [1] Write"),
        (sums(12), 'The arguments do not fit: {"expression": 12} Write {"expression": "..."}.'),
        (("sums", '{"sum": "1"}'), "The arguments do not fit"),
        (("sums", '{"expression": "1", "more": "2"}'), "The arguments do not fit"),
        (sums("  "), "Nothing is asked of sums."),
        (("", ""), "There is no tool . You can use: sums, facts."),
        (("sums", "[" * 100_000), "The arguments are not JSON"),
    ],
)
def test_what_cannot_be_done_is_a_sentence_to_the_model_and_counted(asked: tuple[str, str], told: str) -> None:
    desk = Desk(says=[[asked], ANSWER])
    turn = turn_of(desk)
    (use,) = turn.uses
    assert use.error is not None
    assert use.error.startswith(told)
    assert (use.result, use.call) == ("", "")
    assert desk.calls[-1].messages[-1]["content"] == use.error
    assert turn.answer == "17"
    sent = desk.calls[-1].messages[-2]["tool_calls"][0]["function"]
    assert isinstance(json.loads(sent["arguments"]), dict)  # servers parse what they are sent back
    assert sent["name"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("```tool stars\nx\n```", "There is no tool stars"),
        ("```tool sums\n3*4", "The block is not closed"),
        ("```tool\n3*4\n```", "The block names no tool"),
        ("```tool sums\n\n```", "Nothing is asked of sums."),
    ],
)
def test_a_malformed_block_is_a_sentence_to_the_model(text: str, told: str) -> None:
    desk = Desk(says=[text, ANSWER], functions=False)
    (use,) = turn_of(desk).uses
    assert use.error is not None
    assert use.error.startswith(told)
    assert desk.calls[-1].messages[-1]["content"].endswith(use.error)


def test_blocks_are_read_strictly() -> None:
    assert [(one.name, one.argument) for one in blocks("a\n```tool one\nx\ny\n```\n```tool two\nz\n```")] == [
        ("one", "x\ny"),
        ("two", "z"),
    ]
    assert list(blocks("```python\nprint(1)\n```\nUse a tool: sums.\n  ```tool sums\n1\n```")) == []
    assert list(blocks("```toolbox\n1\n```")) == []


def test_the_limit_ends_the_loop_and_the_model_is_told_to_answer() -> None:
    desk = Desk(says=[[sums("1+1")], [sums("2+2")], ANSWER])
    turn = turn_of(desk, uses=2)
    last = desk.calls[-1]
    assert len(turn.uses) == 2
    assert last.messages[-1]["content"].endswith(f"\n\n{ANSWER_NOW}")
    assert last.offer is not None
    assert last.offer.is_over
    assert [call.offer.is_over for call in desk.asked() if call.offer] == [False, False, True]


def test_calls_beyond_the_limit_are_refused_one_by_one() -> None:
    desk = Desk(says=[[sums("1+1"), sums("2+2"), sums("3+3")], ANSWER])
    turn = turn_of(desk, uses=2)
    assert [use.error for use in turn.uses] == [None, None, "This is one use too many: 2 are allowed."]
    assert len(desk.asked()) == 2


def test_a_model_that_never_answers_ends_after_the_limit() -> None:
    desk = Desk(says=["```tool sums\n1+1\n```"] * 9 + ["never"], functions=False, script={})
    reader = StagedReader.read
    try:
        StagedReader.read = lambda self, reads, text: reader(self, reads, "x|-|-")  # type: ignore[method-assign]
        turn = turn_of(desk, uses=3)
    finally:
        StagedReader.read = reader  # type: ignore[method-assign]
    assert (len(turn.uses), len(desk.asked())) == (3, 4)
    assert turn.text == "```tool sums\n1+1\n```"
    assert turn.unparsed == "nothing to read"


def test_a_tool_that_fails_is_a_sentence_to_the_model() -> None:
    desk = Desk(says=[[sums("1+1")], ANSWER], tools={"sums": RuntimeError("the tool failed: it broke")})
    (use,) = turn_of(desk).uses
    assert use.error == "sums: the tool failed: it broke"
    assert use.call == "tool-2"
    assert desk.calls[-1].messages[-1]["content"] == use.error


def test_a_huge_result_is_cut() -> None:
    desk = Desk(says=[[sums("1+1")], ANSWER], tools={"sums": "x" * (LONGEST_RESULT + 1_234)})
    (use,) = turn_of(desk).uses
    assert use.result == "x" * LONGEST_RESULT + "\n(cut: 1,234 further characters)"
    assert desk.calls[-1].messages[-1]["content"] == use.result


def test_a_failed_call_in_the_loop_ends_the_turn() -> None:
    failed = Reply("gone", "", None, None, None, error="context window exceeded: too long")
    turn = turn_of(Desk(says=[[sums("1+1")], lambda call: failed]))
    assert turn.unparsed == f"{NO_REPLY}: context window exceeded: too long"
    assert len(turn.requests) == 1


def test_results_are_data() -> None:
    hostile = "{{ 7*7 }} <script>\x00 ```tool sums\n1\n``` {% include 'x' %}"
    desk = Desk(says=["```tool sums\n1+1\n```", ANSWER], tools={"sums": hostile}, functions=False)
    turn = turn_of(desk)
    assert turn.uses[0].result == hostile
    assert desk.calls[-1].messages[-1]["content"] == f"Result of sums:\n{hostile}"
    assert len(turn.uses) == 1  # a block in a result asks for nothing


def test_tools_are_those_of_the_agent() -> None:
    desk = Desk(says=[ANSWER, ANSWER])
    words = {"answer": {"tools": {"a": (SUMS,)}}}
    asyncio.run(run_debate(method(words, ["answer"], "a b"), QUESTION, desk.ports(), seed=7, replicate=1))
    offers = {len(call.offer.tools) if call.offer else 0 for call in desk.calls}
    assert offers == {0, 1}


def test_ids_that_a_server_repeats_or_forgets_are_replaced() -> None:
    requests = tuple(FunctionCall(name, *sums("1+1")) for name in ("", "x", "x"))
    asks = Reply("k", "", "tool_calls", 1, 1, requests=requests, returned={"thinking_blocks": [{"signature": "s"}]})
    desk = Desk(says=[lambda call: asks, ANSWER])
    turn_of(desk)
    message = next(m for m in desk.calls[-1].messages if m["role"] == "assistant")
    ids = [call["id"] for call in message["tool_calls"]]
    assert len({*ids}) == 3
    assert all(len(name) == 9 for name in ids)
    assert message["thinking_blocks"] == [{"signature": "s"}]


def test_further_samples_for_a_confidence_cannot_ask_for_tools() -> None:
    desk = Desk(says=[[sums("1+1")], ANSWER, ANSWER, ANSWER])
    measured = replace(of(), confidence=Measure("consistency", 2))
    done = asyncio.run(run_debate(measured, QUESTION, desk.ports(), seed=7, replicate=1))
    assert done.turns[0].confidence == 1.0
    assert [call.offer.is_over for call in desk.asked() if call.offer] == [False, False, True, True]
    assert len({call.messages for call in map(_hashed, desk.asked()[1:])}) == 1


def _hashed(call: Call) -> Call:
    return replace(call, messages=tuple(json.dumps(m) for m in call.messages))  # type: ignore[misc]


def test_records_without_tools_have_no_word_of_them() -> None:
    header = Header("x", "sums", "p", 1)
    plain = debate_to_json(debate(Desk(says=[ANSWER])), header)
    assert "requests" not in plain
    assert '"schema_version":3' in plain
    used = debate_to_json(debate(Desk(says=[[sums("1+1")], ANSWER])), header)
    assert '"schema_version":7' in used
    read = record_from_json(used)
    assert read.debate.turns[0].uses[0].argument == "1+1"
    assert debate_to_json(read.debate, header) == used


@pytest.mark.parametrize(
    "wrong", ['"uses":[{"tool":1}]', '"uses":[{"tool":"a","argument":"b","result":"c","error":"d"}]']
)
def test_a_record_with_a_wrong_use_is_refused(wrong: str) -> None:
    line = debate_to_json(debate(Desk(says=[[sums("1+1")], ANSWER])), Header("x", "sums", "p", 1))
    values = json.loads(line)
    del values["checksum"]
    values["turns"][0]["requests"][0] |= json.loads(f"{{{wrong}}}")
    with pytest.raises(RecordError, match="requests"):
        record_from_json(with_checksum(json.dumps(values, separators=(",", ":"))))


def test_blocks_that_a_looping_model_leaves_open_are_one_block() -> None:
    """If each had the rest of the text as its argument, a reply would be stored many times over."""
    first, *rest = blocks("Well.\n```tool sums\n1\n```\n" + "```tool sums\n1+1\n" * 1000)
    assert (first.name, first.argument, first.problem) == ("sums", "1", "")
    (opened,) = rest
    assert opened.problem.startswith("The block is not closed")
    assert opened.argument.startswith("1+1\n```tool sums")
