"""What calls cost besides tokens, and the parameters that their models compute with: from call log and plan."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from cortexdsl.core.types import EMPTY

VERIFIER = "(verifier)"
"""Key of the model of a verifier in `DebateCosts.parameters`; not a valid name of an agent."""


def of_step(name: str) -> str:
    """Return the key in `DebateCosts.parameters` of the model of a step; not a valid name of an agent."""
    return f"(step {name})"


def in_stage(number: int, name: str) -> str:
    """Return the key in `DebateCosts.parameters` of an agent in a stage of a debate; the first stage is 0."""
    return name if number == 0 else f"{name}@{number}"


@dataclass(frozen=True)
class Usage:
    """What calls used: counts, tokens, dollars and seconds, which are added and multiplied field by field.

    Attributes
    ----------
    calls : int
        Calls that ended, with a reply or as a failure.
    input_tokens, output_tokens : int
    dollars : float
        Of the calls with a known price.
    seconds : float
        That jobs ran, summed over jobs.
    attempts : int
        Requests that were sent, also those that failed and were sent again.
    failed : int
        Calls that ended as a failure.
    cached_tokens : int
        Input tokens that providers read from their caches.
    saved : float
        Dollars that these caches saved; below 0 if writing into them cost more than reading saved.
    unpriced : int
        Calls without a known price.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float = 0.0
    seconds: float = 0.0
    attempts: int = 0
    failed: int = 0
    cached_tokens: int = 0
    saved: float = 0.0
    unpriced: int = 0

    @property
    def tokens(self) -> int:
        """Input and output."""
        return self.input_tokens + self.output_tokens

    @property
    def is_priced(self) -> bool:
        """Whether the dollars of all calls are known."""
        return not self.unpriced

    @property
    def total_dollars(self) -> float | None:
        """The dollars of all calls; None if some have no known price."""
        return self.dollars if self.is_priced else None

    def __add__(self, other: Self) -> Self:
        return self._each(operator.add, other)

    def __sub__(self, other: Self) -> Self:
        return self._each(operator.sub, other)

    def __mul__(self, factor: float) -> Self:
        """Multiply all fields; counts are rounded."""
        return self._each(lambda value: round(value * factor) if isinstance(value, int) else value * factor)

    def at_least(self, other: Self) -> Self:
        """Return the larger value of each field."""
        return self._each(max, other)

    def _each(self, compute: Callable[..., Any], *others: Self) -> Self:
        # Each call is booked several times, and the constructor of a frozen class takes three times as long.
        made = object.__new__(type(self))
        values = map(compute, vars(self).values(), *(vars(other).values() for other in others))
        vars(made).update(zip(vars(self), values, strict=True))
        return made


NO_USAGE = Usage()


@dataclass(frozen=True, slots=True)
class CallCost:
    """The cost of one call, as its line of the call log has it.

    Attributes
    ----------
    seconds : float or None
        From the moment the request was sent to the reply.
    dollars : float or None
        None: no price is known.
    cached_tokens : int or None
        Tokens of the prompt that the server read from its cache; None: it does not count them.
    """

    seconds: float | None
    dollars: float | None
    cached_tokens: int | None


@dataclass(frozen=True, slots=True)
class DebateCosts:
    """What the metrics of budgets need besides the record of a debate.

    Attributes
    ----------
    calls : mapping of key to CallCost
        Calls that are missing are unknown.
    parameters : mapping of agent (or step, verifier, `in_stage`) to float or None
        Parameters that the model uses for a token. An agent that is missing has those of its record.
    """

    calls: Mapping[str, CallCost] = field(default_factory=lambda: EMPTY)
    parameters: Mapping[str, float | None] = field(default_factory=lambda: EMPTY)


NO_COSTS = DebateCosts()
