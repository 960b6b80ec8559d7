"""Where a confidence comes from: what the reply says of itself, or what is measured beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from cortexdsl.terms.agents import Model

Source: TypeAlias = Literal["stated", "logprob", "consistency", "verifier"]


@dataclass(frozen=True, slots=True)
class Measure:
    """How the confidence of an answer is found.

    Attributes
    ----------
    source : str
        `stated`: the reply says it. `logprob`: the probability that the model gave to the tokens of its answer.
        `consistency`: the share of `samples` further replies to the same prompt that give the same answer.
        `verifier`: the score of a model that is asked whether the answer is right.
    samples : int
        With `consistency`.
    verifier : Model or None
        With `verifier`: who is asked; None: each agent's own model.
    prompt : str
        With `verifier`: the template that it is asked with.
    """

    source: Source = "stated"
    samples: int = 0
    verifier: Model | None = None
    prompt: str = ""

    @property
    def calls(self) -> int:
        """How many calls it takes to measure one answer."""
        return {"consistency": self.samples, "verifier": 1}.get(self.source, 0)


STATED = Measure()
"""The reply says how sure it is, and nothing is asked beside it."""


@dataclass(frozen=True, slots=True)
class Aside:
    """A call that was made to measure a confidence; nobody in the debate hears it.

    Attributes
    ----------
    call : str
        Key in the call log.
    said : str or None
        What was read of it: the answer of a sample, the score of a verifier.
    unread : str or None
        Why nothing was read.
    prompt_tokens, completion_tokens, reasoning_tokens : int or None
        As a turn's.
    """

    call: str
    said: str | None
    unread: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """A confidence that was measured, or why it could not be.

    Attributes
    ----------
    source : str
    confidence : float or None
        In [0, 1], before recalibration.
    unmeasured : str or None
        Why there is none.
    asides : tuple of Aside
        The calls that it took.
    """

    source: Source
    confidence: float | None
    unmeasured: str | None = None
    asides: tuple[Aside, ...] = ()
