"""What stands behind the door: the one interface that every way to a model has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from cortexdsl.models.reach.failures import Failure, Kind
from cortexdsl.models.transports.prices import Usage
from cortexdsl.terms import Call, Model, Tokens

PLACEHOLDER_KEY = "no-key-needed"
"""Sent to an address for which the spec names no key: a key of another service must never go there."""

LARGEST_SEED = 2**31

MOST_TOKENS = 10**12
"""No call has more: a larger count is none, and is taken for unknown."""

LARGEST_REPLY = 16 * 2**20
"""Bytes of a reply's body, and characters of its text, at most: what is longer is no reply."""


@dataclass(frozen=True, slots=True)
class Raw:
    """What came back from a model.

    Attributes
    ----------
    text : str
        Without what it thought.
    finish_reason : str or None
    prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens : int or None
        As the server counted them (see `Usage`); None if it said nothing.
    seed_refused : bool
        The provider takes no seed, so that none was sent.
    reasoning : str
        What the model thought before it spoke; empty where it did not, or kept it to itself.
    reasoning_tokens : int or None
        How many of the completion tokens were thought, where the server says so.
    tokens : tuple of (int, float)
        The text in its tokens, with the logarithms of their probabilities, where the server gave them.
    """

    text: str
    finish_reason: str | None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seed_refused: bool = False
    reasoning: str = ""
    reasoning_tokens: int | None = None
    tokens: Tokens = ()
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None

    @property
    def usage(self) -> Usage:
        """The tokens of the call."""
        return Usage(self.prompt_tokens, self.completion_tokens, self.cached_tokens, self.cache_write_tokens)


@runtime_checkable
class Transport(Protocol):
    """A way to a model. It tries once: waiting, retrying and keeping belong to the door."""

    async def send(self, call: Call, api_base: str | None, api_key: str | None) -> Raw:
        """Send a call once.

        Parameters
        ----------
        call : Call
        api_base : str or None
            The address, resolved; None for the provider's own.
        api_key : str or None
            The key's value, resolved; None where the provider's own variable is to be used.

        Raises
        ------
        Failure
            With the kind of the failure.
        """
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


def way_of(model: Model) -> str:
    """Return the way to a model: the one that its entry names, else what its name begins with."""
    return model.transport or model.model.partition("/")[0]


def wire_seed(seed: int) -> int:
    """Return the seed as it is sent: servers take 31 bits, and larger seeds are taken modulo 2**31."""
    return seed % LARGEST_SEED


class SeedsRefused:
    """Remembers which models refuse a seed, so that each is asked with one only until it has refused it."""

    def __init__(self) -> None:
        self._models: set[tuple[str, str | None]] = set()

    async def send(self, call: Call, api_base: str | None, post: Callable[[int | None], Awaitable[Raw]]) -> Raw:
        """Send through `post(seed)`, without a seed if the model refuses one.

        Raises
        ------
        Failure
            As `post` does; mended if the seed is refused: each request is one that is counted.
        """
        model = (call.model.model, api_base)
        if model in self._models:
            return await post(None)
        try:
            return await post(wire_seed(call.seed))
        except Failure as failure:
            if failure.kind is Kind.BAD_REQUEST and "seed" in failure.what.lower():
                self._models.add(model)
                failure.is_mended = True
            raise
