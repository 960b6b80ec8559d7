"""How sure agents and debates are: where the confidence of an answer and of a whole debate comes from.

Digests of cells contain the names of these classes and of their fields: renaming one makes finished debates run again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from cortexdsl.core.agents import Model

ConfidenceSource: TypeAlias = Literal["stated", "logprob", "consistency", "verifier"]


@dataclass(frozen=True, slots=True)
class Measure:
    """Method that determines the confidence of an answer.

    Attributes
    ----------
    source : str
        `stated`: the reply states it. `logprob`: the probability of the tokens of the answer. `consistency`: the share
        of `samples` further replies to the same prompt that give the same answer. `verifier`: the score of a model
        that is asked whether the answer is right.
    samples : int
        With `consistency`.
    verifier : Model or None
        With `verifier`: the model that is asked; None: each agent's own model.
    prompt : str
        With `verifier`: the template of its prompt.
    """

    source: ConfidenceSource = "stated"
    samples: int = 0
    verifier: Model | None = None
    prompt: str = ""

    @property
    def calls(self) -> int:
        """The calls that measuring one answer takes."""
        return {"consistency": self.samples, "verifier": 1}.get(self.source, 0)


STATED = Measure()
"""The reply states its confidence; no further calls."""


DebateSource: TypeAlias = Literal["votes", "weighted"]
FORMER_SOURCES = ("linear", "log_odds", "verifier")
"""Sources of the confidence of a debate in records of version 0.2.0."""


@dataclass(frozen=True, slots=True)
class DebateConfidence:
    """Method that determines the confidence of a debate as a whole.

    Attributes
    ----------
    source : str
        `votes`: the share of the debaters' last answers that are the debate's. `weighted`: the same share of their
        recalibrated confidences.
    """

    source: DebateSource = "votes"


BY_VOTES = DebateConfidence()
"""The share of votes, which needs nothing in the record."""
