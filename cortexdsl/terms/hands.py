"""What the engine is handed."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from cortexdsl.terms.base import Floats
from cortexdsl.terms.calls import Call, Message, Reply
from cortexdsl.terms.protocol import Reads
from cortexdsl.terms.questions import Reading


class Ask(Protocol):
    """Sends one call to its model; the only way out of the engine."""

    def __call__(self, call: Call) -> Awaitable[Reply]:
        """Answer the call."""
        ...


class Render(Protocol):
    """Renders a prompt template over the view of one speaker. Pure."""

    def __call__(self, prompt: str, view: Mapping[str, Any]) -> tuple[Message, ...]:
        """Return the messages of a call."""
        ...


class Reader(Protocol):
    """Reads replies to one question; belongs to the task. Pure, and never raises on a reply's content."""

    def read(self, reads: Reads, text: str) -> Reading:
        """Read a reply by kind."""
        ...

    def without_confidence(self, text: str) -> str:
        """Return a reply as others may hear it: whole but for its confidence line."""
        ...

    def place_of(self, answer: str, text: str) -> tuple[int, int] | None:
        """Return where in a reply its answer stands, from and to which character; None where it cannot be found."""
        ...


class Similarity(Protocol):
    """Cosine similarities of texts under one embedding."""

    def __call__(self, embedding: str, texts: Sequence[str]) -> Awaitable[Floats]:
        """Return the (n, n) matrix of cosines, clipped to [-1, 1]."""
        ...


@dataclass(frozen=True, slots=True)
class Hands:
    """Everything that the engine reaches the world with, injected."""

    ask: Ask
    render: Render
    reader: Reader
    similarity: Similarity
