"""The border of the engine: calls and replies, and the functions through which it reaches everything else."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from cortexdsl.core.agents import Model
from cortexdsl.core.protocol import Method
from cortexdsl.core.questions import Image, Question, Reading
from cortexdsl.core.tools import FunctionCall, Offer
from cortexdsl.core.types import EMPTY, Floats

Message: TypeAlias = Mapping[str, Any]
"""`role` and `content`, which are texts. Messages about function calls have further keys, as in the OpenAI protocol."""

Tokens: TypeAlias = "tuple[tuple[int, float], ...]"
"""The tokens of a text: the number of characters and the log probability of each."""

NO_REPLY = "no reply"
"""Prefix of `Turn.unparsed` for a failed call; the reason follows."""
CONTENT_FILTER = "content filter"
EMPTY_REPLY = "empty reply"
REASONING_ONLY = "reasoning without a reply"
TOOL_CALLED = "the model called a tool in place of answering"
"""Reasons of failed calls that health metrics search for in records."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request to a model: everything that can change the reply, and nothing else.

    `images` come before the text of the prompt. `shared` characters of that text begin every prompt about the question:
    a provider may be asked to cache them. They are not part of the identity of a call. `offer` are the tools that the
    reply may ask for.
    """

    model: Model
    messages: tuple[Message, ...]
    seed: int
    images: tuple[Image, ...] = ()
    shared: int = field(default=0, compare=False)
    offer: Offer | None = None

    @property
    def prompt_at(self) -> int:
        """The place of the prompt among the messages: the last one, or the last one before the model first spoke."""
        spoken = (k for k, message in enumerate(self.messages) if message["role"] == "assistant")
        return max(0, next(spoken, len(self.messages)) - 1)


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply of a model, or why there is none.

    Attributes
    ----------
    key : str
        The call's key in the call log.
    text : str
        Empty if `error` is set.
    finish_reason : str or None
    prompt_tokens, completion_tokens : int or None
        As the server counted them; None if it did not report them (never estimated).
    error : str or None
        A failure that belongs into the record (content filter, context window exceeded, malformed reply), never a
        transient one.
    reasoning : str
        The reasoning before the reply, if the server shows it; not part of `text`.
    reasoning_tokens : int or None
        How many of the completion tokens are reasoning, if the server reports it.
    tokens : tuple of (int, float)
        The tokens of the text, if their probabilities were requested and the server returned them; else empty.
    requests : tuple of FunctionCall
        The function calls that the model asks for instead of answering.
    returned : mapping
        Fields of a message with function calls that the provider wants to be sent back, such as signed reasoning.
    """

    key: str
    text: str
    finish_reason: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    error: str | None = None
    reasoning: str = ""
    reasoning_tokens: int | None = None
    tokens: Tokens = ()
    requests: tuple[FunctionCall, ...] = ()
    returned: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


class Ask(Protocol):
    """Send one call to its model; the only way out of the engine."""

    def __call__(self, call: Call) -> Awaitable[Reply]:
        """Return the reply to the call."""
        ...


class Render(Protocol):
    """Render a prompt template over the view of one speaker. Pure."""

    def __call__(self, prompt: str, view: Mapping[str, Any]) -> tuple[Message, ...]:
        """Return the messages of a call."""
        ...


class Reader(Protocol):
    """Read replies to one question; belongs to the task. Pure; never raises because of a reply's content."""

    def read(self, reads: str, text: str) -> Reading:
        """Read one kind of thing from a reply (see `Reads`), or the number with a name."""
        ...

    def without_confidence(self, text: str) -> str:
        """Return a reply as others may hear it: without its confidence line."""
        ...

    def same(self, answer: str, earlier: str) -> bool:
        """Return whether two answers mean the same, by the equality that grades them: `1/2` and `0.5`."""
        ...

    def parts(self, text: str, most: int, *, is_list: bool) -> tuple[str, ...]:
        """Return at most so many items of the list in a text, or parts of the text of about equal length."""
        ...

    def place_of(self, answer: str, text: str) -> tuple[int, int] | None:
        """Return the first character of an answer in its reply and the one after its last; None if it is not found."""
        ...


class Similarity(Protocol):
    """Cosine similarities of texts under one embedding."""

    def __call__(self, embedding: str, texts: Sequence[str]) -> Awaitable[Floats]:
        """Return the (n, n) matrix of cosines, clipped to [-1, 1]."""
        ...


def in_text(model: Model) -> bool:
    """Return that a model has no function calls."""
    return False


def as_it_is(method: Method) -> Method:
    """Return the method."""
    return method


@dataclass(frozen=True, slots=True)
class Ports:
    """The functions that the engine is given; everything it does outside itself goes through them.

    `other` is needed only for methods with `placebo: other_question`. `has_functions` says whether a model asks for
    tools by the function calls of its provider; otherwise it does so in its text.
    """

    ask: Ask
    render: Render
    reader: Reader
    similarity: Similarity
    other: DrawOther | None = None
    has_functions: Callable[[Model], bool] = in_text


@dataclass(frozen=True, slots=True)
class OtherQuestion:
    """Another question of the same dataset, whose debate gives the placebos of a debate.

    Attributes
    ----------
    question : Question
    ports : Ports
        They render and read for this question.
    prepare : callable
        From a method to the method as it is for this question, with its knowledge.
    """

    question: Question
    ports: Ports
    prepare: Callable[[Method], Method] = as_it_is


DrawOther: TypeAlias = Callable[[Question, random.Random], OtherQuestion]
"""From a question and a generator to another question of its dataset."""
