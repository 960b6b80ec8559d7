"""Tools that an agent uses within its turn: what a model is offered, what it asks for, and what it is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

ToolForm: TypeAlias = Literal["functions", "text"]
"""How a model asks for a tool: by the function calls of its provider, or by a block in its reply."""


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool as it is described to a model. Every tool takes one text.

    Attributes
    ----------
    name : str
        Its name in the spec.
    about : str
        What it does.
    argument, argument_about : str
        The name of its argument, and what that is.
    """

    name: str
    about: str
    argument: str
    argument_about: str


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools that the reply to a call may ask for.

    Attributes
    ----------
    tools : tuple of OfferedTool
    form : str
    is_over : bool
        No use is left: the reply has to be the answer.
    """

    tools: tuple[OfferedTool, ...]
    form: ToolForm
    is_over: bool = False


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function call of a model, as its provider sent it; nothing in it is checked.

    Attributes
    ----------
    id, name : str
    arguments : str
        JSON, if the model wrote it well.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One use of a tool, or a request for one that could not be met.

    Attributes
    ----------
    tool : str
        The name that the model wrote.
    argument : str
        The text for the tool; as the model wrote it if it could not be read.
    result : str
        What the tool returned, as the model was shown it.
    error : str or None
        Why there is no result, as the model was told.
    call : str
        Key of the tool's call in the call log; empty if the tool was not called.
    """

    tool: str
    argument: str
    result: str
    error: str | None = None
    call: str = ""

    @property
    def told(self) -> str:
        """What the model was told: the result, or the error."""
        return self.result if self.error is None else self.error

    @property
    def prompt_tokens(self) -> int:
        """Tools use no tokens."""
        return 0

    @property
    def completion_tokens(self) -> int:
        """Tools use no tokens."""
        return 0

    @property
    def reasoning_tokens(self) -> int:
        """Tools use no tokens."""
        return 0


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A reply that asks for tools instead of answering.

    Attributes
    ----------
    call : str
        Key in the call log.
    text : str
        What the reply says besides, without the blocks that ask for tools.
    uses : tuple of ToolUse
    prompt_tokens, completion_tokens, reasoning_tokens : int or None
        As of a turn.
    """

    call: str
    text: str
    uses: tuple[ToolUse, ...]
    prompt_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None = None
