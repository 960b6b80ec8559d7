"""What the engine is handed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from cortexdsl.terms.base import Bools, Floats
from cortexdsl.terms.calls import Call, Message, Reply
from cortexdsl.terms.protocol import Choose, Reads, Repeat
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


SiteWord: TypeAlias = Literal["until", "unless", "choose", "hears", "tells", "own"]
SitePlace: TypeAlias = tuple[SiteWord, Repeat | Choose | str]
"""A word of a loop, of a choice, or of a step (by its name)."""


@dataclass(frozen=True, slots=True)
class Site:
    """A place of a method where an expression stands.

    Attributes
    ----------
    word : str
        `until` or `unless` of a loop, `choose`, or `hears`, `tells` or `own` of a step.
    part : Repeat, Choose or str
        The loop, the choice, or the name of the step.
    expression : str
    """

    word: SiteWord
    part: Repeat | Choose | str
    expression: str

    @property
    def place(self) -> SitePlace:
        """The word, and what it is of."""
        return self.word, self.part


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """One evaluation of an expression in a debate.

    Attributes
    ----------
    site : Site
    weight : (S, L) array
        The values: of each edge (speaker, listener), of each candidate or turn (S, 1), or of the debate (1, 1). NaN
        where there is no edge.
    kept : (S, L) bool array
        Which of them were kept, or held.
    values : mapping
        What each name of the expression was worth.
    rounds : int
        Rounds of answers so far; 0: no debater had answered.
    """

    site: Site
    weight: Floats
    kept: Bools
    values: Mapping[str, Any]
    rounds: int


Observe: TypeAlias = Callable[[Evaluation], None]
"""Is told of every evaluation of a debate, and changes nothing."""


def ignore(evaluation: Evaluation) -> None:
    """Take no notice of an evaluation."""


@dataclass(frozen=True, slots=True)
class Hands:
    """Everything that the engine reaches the world with, injected."""

    ask: Ask
    render: Render
    reader: Reader
    similarity: Similarity
    observe: Observe = ignore
