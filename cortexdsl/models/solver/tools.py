"""How the built-in solver uses tools: it has the arithmetic of a question computed once, and takes the result.

It reads the text of `prompts/common/tools.j2` and the messages after it, as a model without function calls would.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from cortexdsl.core import Message
from cortexdsl.models.solver.arithmetic import ArithmeticTask

_SECTION = "\n\nBefore you answer, you may use tools:\n"
_TOOL = re.compile(r"^- ([A-Za-z0-9_-]+): (Computes arithmetic|Runs a Python program)", re.MULTILINE)
_RESULT = re.compile(r"Result of [A-Za-z0-9_-]+:\n(.*)")
_WHOLE = re.compile(r"-?\d{1,30}(?:\.0+)?\Z")


@dataclass(frozen=True, slots=True)
class ToolTalk:
    """What the messages of a call say of tools.

    Attributes
    ----------
    messages : sequence of Message
        Without that.
    tool, is_program : str and bool
        The tool that can compute, and whether it takes a program; empty if there is none, or one was used.
    result : int or None
        What it computed.
    """

    messages: Sequence[Message]
    tool: str = ""
    is_program: bool = False
    result: int | None = None

    def request(self, expression: ArithmeticTask) -> str:
        """Return the reply that asks for a result."""
        argument = f"print({expression.text})" if self.is_program else expression.text
        return f"```tool {self.tool}\n{argument}\n```"


def read_tools(messages: Sequence[Message]) -> ToolTalk:
    """Part what messages say of tools from the rest."""
    spoken = next((k for k, message in enumerate(messages) if message["role"] == "assistant"), len(messages))
    prompt, later = messages[:spoken], messages[spoken:]
    content = prompt[-1]["content"] if prompt else ""
    rest, _, section = content.rpartition(_SECTION)
    if not rest:
        return ToolTalk(messages)
    before = (*prompt[:-1], {**prompt[-1], "content": rest})
    if later:
        return ToolTalk(before, result=_number(later[-1]["content"]))
    tool = _TOOL.search(section)
    return ToolTalk(before) if tool is None else ToolTalk(before, tool[1], tool[2].startswith("Runs"))


def _number(told: str) -> int | None:
    line = _RESULT.match(told)
    number = _WHOLE.match(line[1].rpartition("= ")[2].strip()) if line else None
    return int(float(number[0])) if number and "." in number[0] else int(number[0]) if number else None
