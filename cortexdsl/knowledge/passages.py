"""What retrieval gives, and the one interface of everything that retrieves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cortexdsl.terms import Floats


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of text that may help to answer a question.

    Attributes
    ----------
    id : str
        Unique within its corpus; the address of a search result.
    title, text : str
        The title may be empty, the text never is.
    source : str
        The knowledge entry of the spec that it was retrieved from; empty within a corpus.
    score : float or None
        As the source ranked it, higher is better; None where it tells no score (a web search).
    """

    id: str
    title: str
    text: str
    source: str = ""
    score: float | None = None


class Source(Protocol):
    """Retrieves passages for questions."""

    @property
    def name(self) -> str:
        """The knowledge entry's name in the spec."""
        ...

    @property
    def identity(self) -> str:
        """Everything but question and `top` that can change what is retrieved; never a key."""
        ...

    async def retrieve(self, question: str, top: int) -> tuple[Passage, ...]:
        """Return at most `top` passages, best first; ties keep the order of the corpus.

        Raises
        ------
        KnowledgeError
            If the source fails for good.
        """
        ...


def best(scores: Floats, top: int) -> list[int]:
    """Return the positions of the `top` highest of (n,) scores, highest first, equal ones in their order."""
    return [int(position) for position in np.argsort(-scores, kind="stable")[:top]]
