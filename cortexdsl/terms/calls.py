"""A call to a model and its reply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from cortexdsl.terms.agents import Model
from cortexdsl.terms.questions import Image

Message: TypeAlias = Mapping[str, str]


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
    """

    key: str
    text: str
    finish_reason: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    error: str | None = None
    reasoning: str = ""
    reasoning_tokens: int | None = None
