"""How sure agents and debates are: where a confidence comes from, and what a recalibration makes of it.

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


@dataclass(frozen=True, slots=True)
class Bin:
    """A recalibration bin: stated confidences in [low, high) become `value`; None keeps them.

    `low_open` and `high_closed` move a bound to the other bin.
    """

    low: float
    high: float
    value: float | None
    low_open: bool = False
    high_closed: bool = False


NAMED_BINS: dict[str, tuple[Bin, ...]] = {
    "none": (),
    "cortexdebate": (Bin(0.8, 1.0, 0.8, high_closed=True), Bin(0.6, 0.8, 0.6), Bin(0.3, 0.6, None), Bin(0.0, 0.3, 0.3)),
    "reconcile": (
        Bin(1.0, 1.0, 1.0, high_closed=True),
        Bin(0.9, 1.0, 0.8),
        Bin(0.8, 0.9, 0.5),
        Bin(0.6, 0.8, 0.3, low_open=True),
        Bin(0.0, 0.6, 0.1, high_closed=True),
    ),
}
"""Sun et al. 2025 (arXiv 2507.03928), equation 2 and Algorithm 1; Chen et al. 2023 (arXiv 2309.13007), section 3."""
