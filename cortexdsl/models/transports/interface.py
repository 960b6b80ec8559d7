"""The interface of a transport: sending one call, its reply, and what it declares about itself.

A transport is a module with a `TransportType` named `TRANSPORT`; `registry` finds it by the prefix of a model's name.
In a package of your own it is `cortexdsl_PREFIX/transport.py`, which must be quick to import. This one, for models
`parrot/NAME`, returns the last message:

    class ParrotTransport:
        async def send(self, call, api_base, api_key):
            return Raw(call.messages[-1]["content"], "stop", TokenCounts(prompt_tokens=1, completion_tokens=1))

        async def close(self):
            pass

    TRANSPORT = TransportType(prefix="parrot", create=ParrotTransport, is_in_process=True)

`send` tries once, and raises `failures.Failure` if that fails. Queues, retries, limits, keys and the call log are those
of every transport.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from cortexdsl.core import EMPTY, Call, FunctionCall, Model, Tokens

PLACEHOLDER_KEY = "no-key-needed"
"""Sent to an address for which the spec names no key: a key of another service must never go there."""
LARGEST_SEED = 2**31
MOST_TOKENS = 10**12
"""Larger token counts are taken as unknown."""
TIMEOUT = 300.0
"""Seconds that an attempt may take unless the model entry says otherwise; a longer one is streamed."""
LARGEST_REPLY = 16 * 2**20
"""The most bytes of a reply's body, and characters of its text."""
WEIGHTS_OPTION = "weights"
"""The option of a model that holds the digest of its files."""


class TokenCounts(NamedTuple):
    """The tokens of one attempt as the server counted them; None if it did not report a count.

    Attributes
    ----------
    prompt_tokens, completion_tokens : int or None
        All tokens of the prompt, and of the reply.
    cached_tokens, cache_write_tokens : int or None
        Tokens of the prompt that the provider read from its cache, and that it wrote into it.
    cache_write_1h_tokens : int or None
        Those of the written ones that it keeps for an hour.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    cache_write_1h_tokens: int | None = None


NO_COUNTS = TokenCounts()
"""That of a server that reports none."""


@dataclass(frozen=True, slots=True)
class Raw:
    """A reply as a transport returns it.

    Attributes
    ----------
    text : str
        Without the reasoning.
    finish_reason : str or None
    usage : TokenCounts
    seed_refused : bool
        The provider takes no seed, so the call was sent without one.
    reasoning : str
        The reasoning before the reply; empty if there was none or the provider does not return it.
    reasoning_tokens : int or None
        The part of the completion tokens that is reasoning, if the server reports it.
    tokens : tuple of (int, float)
        Length in characters and log-probability of each token of the text, if the server returned them.
    billed : float or None
        Dollars that the reply says the call cost.
    requests : tuple of FunctionCall
        If the call offers functions: those that the model calls.
    returned : mapping
        Fields of a message with function calls that the provider wants to be sent back.
    """

    text: str
    finish_reason: str | None
    usage: TokenCounts = NO_COUNTS
    seed_refused: bool = False
    reasoning: str = ""
    reasoning_tokens: int | None = None
    tokens: Tokens = ()
    billed: float | None = None
    requests: tuple[FunctionCall, ...] = ()
    returned: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


@runtime_checkable
class Transport(Protocol):
    """Sends calls to models. It tries once: queues, retries and the call log belong to the client."""

    async def send(self, call: Call, api_base: str | None, api_key: str | None) -> Raw:
        """Send a call once.

        Parameters
        ----------
        call : Call
        api_base : str or None
            The resolved address; None for the provider's own.
        api_key : str or None
            The value of the key; None if the provider's own variable is to be used.

        Raises
        ------
        cortexdsl.models.transports.failures.Failure
            With the kind of the failure.
        """
        ...

    async def close(self) -> None:
        """Close connections."""
        ...


class Weights(Protocol):
    """The files of a model on this machine."""

    path: Path

    @property
    def digest(self) -> str:
        """Hexadecimal digest of all files that a reply depends on."""
        ...

    @property
    def card(self) -> Mapping[str, Any]:
        """Facts about the model such as `parameters` and `tokens`; may be empty."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportType:
    """The declaration of a transport: its prefix, its capabilities, how to open it.

    Everything else in the program reads these fields, and never tests the prefix of a model's name itself.

    Attributes
    ----------
    prefix : str
        The names of its models are `PREFIX/NAME`.
    create : callable or None
        Opens the transport; None if each job brings its own, as for tools.
    is_in_process : bool
        This machine computes the replies: free, without address and key, and jobs do not wait for a server.
    is_instant : bool
        A reply is a fast pure function of the call, so that processes need not lock a call while they compute it.
    is_tool : bool
        No language model answers: what a call costs says nothing about the price of models.
    is_listed : bool
        litellm's list has the prices and context windows of its models.
    has_functions : bool
        Its models can call functions; otherwise they ask for tools in their text.
    needs_address : bool
        A call needs an `api_base`.
    also_serves : tuple of str
        Prefixes of other models that an entry may send this way by `transport: PREFIX`.
    weights : callable of a model's name, or None
        Its files on this machine; raises InputError if they cannot be read. None: there are none.
    refused_options : callable of a model, or None
        From a model entry to its options that the transport would refuse before it sends them, each with the reason.
    """

    prefix: str
    create: Callable[[], Transport] | None = None
    is_in_process: bool = False
    is_instant: bool = False
    is_tool: bool = False
    is_listed: bool = False
    has_functions: bool = False
    needs_address: bool = False
    also_serves: tuple[str, ...] = ()
    weights: Callable[[str], Weights] | None = None
    refused_options: Callable[[Model], Mapping[str, str]] | None = None

    def serves(self, model: str) -> bool:
        """Say whether an entry with this model name may be sent by this transport."""
        return model.partition("/")[0] in (self.prefix, *self.also_serves)


def timeout_of(model: Model) -> float:
    """Return the seconds that one attempt to call a model may take."""
    return TIMEOUT if model.timeout is None else model.timeout


def is_streamed(model: Model) -> bool:
    """Say whether replies of a model are streamed: if its timeout is long.

    What lies between client and server (proxies, load balancers) closes connections on which nothing moves for minutes.
    """
    return timeout_of(model) > TIMEOUT


def wire_seed(seed: int) -> int:
    """Return a seed as it is sent: modulo 2**31, because servers take 31 bits."""
    return seed % LARGEST_SEED
