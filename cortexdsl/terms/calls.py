"""A call to a model and its reply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from cortexdsl.terms.agents import Model
from cortexdsl.terms.questions import Image

Message: TypeAlias = Mapping[str, str]

Tokens: TypeAlias = "tuple[tuple[int, float], ...]"
"""A text in its tokens: of each, how many characters it has and the logarithm of its probability."""


NO_REPLY = "no reply"
"""What a turn says of a call that failed begins so, before why."""
CONTENT_FILTER = "content filter"
EMPTY_REPLY = "empty reply"
THOUGHT_ALONE = "reasoning without a reply"
TOOL_CALLED = "the model called a tool in place of answering"
"""Of why a call may fail, what records are looked through for."""


@dataclass(frozen=True, slots=True)
class Call:
    """A question to a model: all that can change the reply, and nothing else.

    `images` stand before the text of the last message.
    """

    model: Model
    messages: tuple[Message, ...]
    seed: int
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said, or why it said nothing.

    Attributes
    ----------
    key : str
        The call's key in the call log.
    text : str
        Empty where `error` is set.
    finish_reason : str or None
    prompt_tokens, completion_tokens : int or None
        As the server counted them; None where it said nothing (never estimated).
    error : str or None
        A failure that is data (content filter, context window exceeded, malformed reply), never a transient one.
    reasoning : str
        What the model thought before it spoke, where the server shows it; no part of `text`.
    reasoning_tokens : int or None
        How many of the completion tokens were thought, where the server counted them.
    tokens : tuple of (int, float)
        The text in its tokens, where it was asked for their probabilities and the server gave them; else empty.
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
