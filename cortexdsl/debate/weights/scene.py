"""One moment of a debate, as expressions see it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cortexdsl.debate.talk.transcript import Transcript
from cortexdsl.debate.talk.views import Quotes
from cortexdsl.terms import Agent, Bools, Method, Similarity, Turn


@dataclass(frozen=True)
class Scene:
    """What an expression looks at: many names of it look at the same, which is worked out once.

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

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of those who debate."""
        return tuple([agent.name for agent in self.agents])

    @cached_property
    def rounds(self) -> tuple[dict[str, Turn], ...]:
        """The answers that stood after each round, by debater; the last of several draws."""
        spoken = map(self.transcript.answers, range(self.transcript.round))
        return tuple([{turn.speaker: turn for turn in turns} for turns in spoken])

    @cached_property
    def spoke(self) -> Bools:
        """Whether there was anything to hear of each of those who debate, (rounds, n)."""
        has_words, names = self.quotes.has_words, self.names
        said = [[name in turns and has_words(turns[name]) for name in names] for turns in self.rounds]
        return np.array(said, dtype=bool).reshape(len(said), len(names))
