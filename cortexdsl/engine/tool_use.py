"""The turn of an agent that may use tools: calls of its model and of its tools, until it answers.

Every call goes through `Ports.ask`, so that it is logged, limited and replayed like any other. What cannot be done
(an unknown tool, malformed arguments, a tool that fails, one use too many) is a sentence that the model is told. What a
tool returns is data: it is the content of a message, and nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from cortexdsl.core import Call, FunctionCall, Message, Model, Offer, OfferedTool, Ports, Reply, ToolRequest, ToolUse
from cortexdsl.engine.concurrency import gather_all

LONGEST_RESULT = 10_000
"""Characters of a result that a model is shown."""
LONGEST_ARGUMENT = 100_000
"""Characters of the arguments of a function call: longer ones are refused, since they are sent back and recorded."""
ABOUT = "about"
"""The option of a tool that says what it does. Only the model that may use it reads this."""
ANSWER_NOW = "No further use of a tool is possible. Answer now, in the form that was asked for."
_QUOTED = 200
_KINDS = {
    "tool/calculator": (
        "Computes arithmetic exactly: + - * / // % **, parentheses, abs, min, max, round, floor, ceil, sqrt.",
        "expression",
        "one expression of numbers, such as 12 * (3 + 4)",
    ),
    "tool/search": ("Searches a collection of texts, and returns the best passages.", "query", "what to search for"),
    "tool/program": (
        "Runs a Python program without network and files, and returns what it prints.",
        "program",
        "the program; print what you want to know",
    ),
    "tool/python": ("", "text", "the text for the function"),
}
"""By kind of tool: what it does, its argument, and what that is."""


def offered(tool: Model) -> OfferedTool:
    """Return a tool as it is described to a model."""
    about, argument, argument_about = _KINDS[tool.model]
    return OfferedTool(tool.name, str(tool.options.get(ABOUT, about)), argument, argument_about)


@dataclass(frozen=True, slots=True)
class Wanted:
    """One use of a tool as a reply asks for it: the text for the tool, or why it cannot be used."""

    name: str
    argument: str
    problem: str = ""


async def ask_with_tools(
    call: Call, tools: Sequence[Model], most: int, explain: Callable[[Sequence[OfferedTool]], str], ports: Ports
) -> tuple[Call, Reply, tuple[ToolRequest, ...]]:
    """Ask a model that may use tools, until it answers.

    Parameters
    ----------
    call : Call
        Without tools.
    tools : sequence of Model
    most : int
        How many uses there may be. Those that fail count, too, so that every turn ends.
    explain : callable
        The text that tells a model without function calls how to use the tools.
    ports : Ports

    Returns
    -------
    Call
        The one that was answered; a further reply to it cannot ask for tools.
    Reply
        The answer.
    tuple of ToolRequest
        The replies before it.
    """
    has_functions = ports.has_functions(call.model)
    offer = Offer(tuple(map(offered, tools)), "functions" if has_functions else "text")
    messages = call.messages if has_functions else _explained(call.messages, explain(offer.tools))
    by_name = {tool.name: tool for tool in tools}
    requests: list[ToolRequest] = []
    left = most
    while True:
        call = replace(call, messages=messages, offer=replace(offer, is_over=left <= 0))
        reply = await ports.ask(call)
        wanted = _wanted(reply, offer) if reply.error is None and left > 0 else []
        if not wanted:
            return replace(call, offer=replace(offer, is_over=True)), reply, tuple(requests)
        uses = tuple(await gather_all([_used(one, by_name, ports, k < left, most) for k, one in enumerate(wanted)]))
        counts = reply.prompt_tokens, reply.completion_tokens, reply.reasoning_tokens
        text = reply.text if has_functions else _BLOCK.sub("", reply.text).strip()
        requests.append(ToolRequest(reply.key, text, uses, *counts))
        left -= len(uses)
        told = [use.told for use in uses]
        if left <= 0:
            told[-1] = f"{told[-1]}\n\n{ANSWER_NOW}"
        messages = (*messages, *(_functions if has_functions else _text)(reply, uses, told))


async def _used(wanted: Wanted, tools: Mapping[str, Model], ports: Ports, is_allowed: bool, most: int) -> ToolUse:
    problem = wanted.problem
    if not is_allowed:
        problem = f"This is one use too many: {most} are allowed."
    if problem:
        return ToolUse(wanted.name, wanted.argument, "", problem)
    tool = tools[wanted.name]
    options = {name: value for name, value in tool.options.items() if name != ABOUT}
    message = {"role": "user", "content": wanted.argument}
    # A tool gets no seed, so the same request is one call for all agents and debates.
    reply = await ports.ask(Call(replace(tool, options=MappingProxyType(options)), (message,), 0))
    if reply.error is not None:
        return ToolUse(wanted.name, wanted.argument, "", _cut(f"{wanted.name}: {reply.error}"), reply.key)
    return ToolUse(wanted.name, wanted.argument, _cut(reply.text), None, reply.key)


def _cut(text: str) -> str:
    rest = len(text) - LONGEST_RESULT
    return text if rest <= 0 else f"{text[:LONGEST_RESULT]}\n(cut: {rest:,} further characters)"


def _wanted(reply: Reply, offer: Offer) -> list[Wanted]:
    tools = {tool.name: tool for tool in offer.tools}
    if offer.form == "functions":
        return [_of_function(request, tools) for request in reply.requests]
    return [_of_block(block, tools) for block in blocks(reply.text)]


def _unknown(name: str, tools: Mapping[str, OfferedTool]) -> str:
    return f"There is no tool {name[:_QUOTED]}. You can use: {', '.join(tools)}."


def _of_block(block: Wanted, tools: Mapping[str, OfferedTool]) -> Wanted:
    """Return what a block asks for, with the problem if it cannot be done."""
    if block.problem:
        return block
    if block.name not in tools:
        return replace(block, problem=_unknown(block.name, tools))
    return block if block.argument else replace(block, problem=f"Nothing is asked of {block.name}.")


# ------------------------------------------------------------ function calls
def _of_function(request: FunctionCall, tools: Mapping[str, OfferedTool]) -> Wanted:
    """Read a function call, whose arguments are an object with one text."""
    name, arguments = request.name[:_QUOTED], request.arguments
    quoted = arguments[:_QUOTED]
    if len(arguments) > LONGEST_ARGUMENT:
        return Wanted(name, quoted, f"The arguments are too long: at most {LONGEST_ARGUMENT:,} characters.")
    if name not in tools:
        return Wanted(name, arguments, _unknown(name, tools))
    key = tools[name].argument
    form = f'{{"{key}": "..."}}'
    try:
        values = json.loads(arguments)
    except (ValueError, RecursionError):
        return Wanted(name, arguments, f"The arguments are not JSON: {quoted} Write {form}.")
    if not isinstance(values, dict) or {*values} != {key} or not isinstance(values[key], str):
        return Wanted(name, arguments, f"The arguments do not fit: {quoted} Write {form}.")
    return Wanted(name, values[key], "" if values[key].strip() else f"Nothing is asked of {name}.")


_NO_NAME = re.compile(r"[^A-Za-z0-9_-]")


def _functions(reply: Reply, uses: Sequence[ToolUse], told: Sequence[str]) -> Iterator[Message]:
    """Yield the messages that answer function calls.

    Servers refuse a conversation with a call that is not well-formed, so names and arguments are sent back in a form
    that they take.
    """
    ids = [request.id for request in reply.requests]
    calls: list[dict[str, Any]] = []
    for k, request in enumerate(reply.requests):
        own = request.id if request.id and ids.count(request.id) == 1 else f"call{k:05}"  # Mistral takes nine letters
        name = _NO_NAME.sub("_", request.name)[:64] or "_"
        function = {"name": name, "arguments": _sendable(request.arguments)}
        calls.append({"id": own, "type": "function", "function": function})
    yield {"role": "assistant", "content": reply.text, "tool_calls": calls, **reply.returned}
    for one, text in zip(calls, told, strict=True):
        yield {"role": "tool", "tool_call_id": one["id"], "content": text}


def _sendable(arguments: str) -> str:
    try:
        is_object = len(arguments) <= LONGEST_ARGUMENT and isinstance(json.loads(arguments), dict)
        return arguments if is_object else "{}"
    except (ValueError, RecursionError):
        return "{}"


# ------------------------------------------------------------ text
_BLOCK = re.compile(
    r"^```tool\b[^\S\n]*([^\n]*)\n(.*?)^```[^\S\n]*$|^```tool\b[^\S\n]*([^\n]*)(.*)", re.MULTILINE | re.DOTALL
)


def blocks(text: str) -> Iterator[Wanted]:
    """Yield the blocks of a reply that ask for tools, with what is wrong with the form of each."""
    for match in _BLOCK.finditer(text):
        name, argument, unclosed, rest = match.groups()
        if unclosed is not None:
            yield Wanted(unclosed.strip(), rest.strip(), "The block is not closed: end it with a line ```.")
        elif not name.strip():
            yield Wanted("", argument.strip(), "The block names no tool: begin it with ```tool and the name.")
        else:
            yield Wanted(name.strip(), argument.strip())


def _explained(messages: Sequence[Message], explanation: str) -> tuple[Message, ...]:
    *before, last = messages
    return (*before, {**last, "content": f"{last['content']}\n\n{explanation}"})


def _text(reply: Reply, uses: Sequence[ToolUse], told: Sequence[str]) -> Iterator[Message]:
    yield {"role": "assistant", "content": reply.text}
    parts = [f"{'Error' if use.error is not None else 'Result'} of {use.tool or 'the block'}:\n{text}"
             for use, text in zip(uses, told, strict=True)]  # fmt: skip
    yield {"role": "user", "content": "\n\n".join(parts)}
