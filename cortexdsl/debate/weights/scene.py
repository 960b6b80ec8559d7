"""One moment of a debate, as expressions see it."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cortexdsl.debate.talk.transcript import Transcript
from cortexdsl.debate.talk.views import Quotes
from cortexdsl.terms import Agent, Bools, Method, Similarity, Turn


@dataclass(frozen=True, slots=True)
class Scene:
    """What an expression looks at.

    Attributes
    ----------
    method : Method
    agents : tuple of Agent
        The n who debate now, in order.
    transcript : Transcript
    groups : sequence of sequence of str
    similarity : Similarity
        Asked only where an expression uses similarity or intimacy.
    quotes : Quotes
        What of each turn there is to hear.
    chance : callable
        Gives the generator of what is drawn here.
    step : str
        Whose edges are weighed; may be empty.
    """

    method: Method
    agents: tuple[Agent, ...]
    transcript: Transcript
    groups: Sequence[Sequence[str]]
    similarity: Similarity
    quotes: Quotes
    chance: Callable[[], random.Random]
    step: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of those who debate."""
        return tuple(agent.name for agent in self.agents)

    def rounds(self) -> list[dict[str, Turn]]:
        """Return the answers that stood after each round, by debater; the last of several draws."""
        return [{turn.speaker: turn for turn in self.transcript.answers(r)} for r in range(self.transcript.round)]

    def spoke(self, rounds: Sequence[Mapping[str, Turn]]) -> Bools:
        """Return whether there was anything to hear, (rounds, n)."""
        said = [[name in turns and self.quotes.has_words(turns[name]) for name in self.names] for turns in rounds]
        return np.array(said, dtype=bool).reshape(len(rounds), len(self.names))
