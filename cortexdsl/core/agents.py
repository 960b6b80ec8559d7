"""Models, their prices, and agents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from cortexdsl.core.types import EMPTY, word


@dataclass(frozen=True, slots=True)
class Price:
    """Prices of a model's tokens, in dollars per token.

    Attributes
    ----------
    input, output : float
        Per token of a prompt and of a reply.
    cached, cache_write : float or None
        Per token of a prompt that the provider reads from its cache, or writes into it; None: as `input`.
    cache_write_1h : float or None
        Per token that it writes to keep for an hour and not for five minutes; None: as `cache_write`.
    """

    input: float
    output: float
    cached: float | None = None
    cache_write: float | None = None
    cache_write_1h: float | None = None

    @property
    def is_free(self) -> bool:
        """Whether all tokens are free."""
        return not any((self.input, self.output, self.cached, self.cache_write, self.cache_write_1h))

    def dollars(self, prompt: int, completion: int, cached: int = 0, written: int = 0, written_1h: int = 0) -> float:
        """Return the cost of a call.

        Parameters
        ----------
        prompt, completion : int
            All tokens of the prompt and of the reply.
        cached, written : int
            Tokens of the prompt that were read from the cache, and written into it.
        written_1h : int
            Those of `written` that are kept for an hour.
        """
        # If a server reports more cached tokens than the prompt has, the prompt count is used.
        cached = min(cached, prompt)
        written = min(written, prompt - cached)
        written_1h = min(written_1h, written)
        write = self.input if self.cache_write is None else self.cache_write
        return (
            self.input * (prompt - cached - written)
            + (self.input if self.cached is None else self.cached) * cached
            + write * (written - written_1h)
            + (write if self.cache_write_1h is None else self.cache_write_1h) * written_1h
            + self.output * completion
        )


FREE = Price(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class RateLimit:
    """At most `amount` (requests or tokens) in any span of `seconds`."""

    amount: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Rate:
    """How fast a model may be called.

    Attributes
    ----------
    requests, tokens : tuple of RateLimit
        Each of them holds; tokens are those of prompts and replies.
    per : str
        `key`: models with the same address and key share it. `model`: the model has it for itself.
    """

    requests: tuple[RateLimit, ...] = ()
    tokens: tuple[RateLimit, ...] = ()
    per: Literal["key", "model"] = "key"

    @property
    def has_limits(self) -> bool:
        """Whether anything is limited."""
        return bool(self.requests or self.tokens)


@dataclass(frozen=True, slots=True)
class BatchSettings:
    """How the calls of a model are collected into batches.

    Attributes
    ----------
    requests : int or None
        The most calls of one wave; None: as many as the provider takes.
    tokens : int or None
        The most estimated tokens of prompts that wait at the provider at once; None: no limit.
    wait : float
        The most seconds that a wave waits for debates that are busy elsewhere.
    """

    requests: int | None = word(None, ge=1, le=100_000)
    """The most calls of one batch. Default: as many as the provider takes."""
    tokens: int | None = word(None, ge=1, le=10**12)
    """The most prompt tokens of a batch, estimated. It also limits the tokens of all batches that wait at the
    provider. Default: no limit."""
    wait: float = word(600.0, ge=0, le=86_400)
    """How long a batch waits for debates that are busy with other models: a number of seconds, or a text such as 10
    min. Then it is sent without them."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model entry of the spec.

    Attributes
    ----------
    name : str
        The entry's name in the spec.
    model : str
        `builtin/solver`, or a litellm model name such as `openai/Qwen2.5-7B-Instruct`.
    api_base, api_key_env : str or None
        The address as the spec writes it (`env:NAME` is resolved when a call is sent, so that plans and records do not
        depend on a port), and the name of the environment variable that holds the key.
    options : mapping
        Everything that is sent or changes the reply: temperature, top_p, max_tokens, skill and so on.
    parameters, tokens : float or None
        Parameter count and pre-training tokens of the model; CortexDebate's credibility needs them.
    active_parameters : float or None
        Of a mixture of experts: the parameters that it uses for a token; None: all. The metric `compute` needs them.
    price : Price or None
        As in the spec; None if the spec has none.
    reasoning_tokens : int
        Expected reasoning tokens per reply; only for plans.
    context : int or None
        The most tokens of prompt and reply together, if the spec says so; only for plans and checks.
    transport : str or None
        `direct`, `litellm` or `batch`, if the spec names one. All send and read the same.
    batch : BatchSettings
        If `transport` is `batch`.
    rate : Rate or None
        How fast it may be called; None if the spec does not say.
    timeout : float or None
        Seconds that one attempt may take; None for five minutes.
    stream : bool or None
        Whether replies are streamed; None: if the timeout is longer than five minutes.
    needs_seeds : bool
        A run does not begin if the server does not keep seeds (`deterministic: required`).
    cache : str or None
        `5min` or `1h`: the provider is asked to keep the shared beginning of prompts for so long.
    refused : tuple of str
        What the provider refuses, by the spec or by an earlier call: `seed`, `max_tokens`, `system` (the role).
    copies : tuple of str
        Addresses of servers with the same model as the one at `api_base`; calls are spread over all.
    """

    name: str
    model: str
    api_base: str | None = None
    api_key_env: str | None = None
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    parameters: float | None = None
    tokens: float | None = None
    price: Price | None = None
    reasoning_tokens: int = 0
    context: int | None = None
    transport: str | None = None
    active_parameters: float | None = None
    rate: Rate | None = None
    timeout: float | None = None
    stream: bool | None = None
    needs_seeds: bool = False
    batch: BatchSettings = BatchSettings()
    cache: str | None = None
    refused: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()

    @property
    def at_each_address(self) -> tuple[Model, ...]:
        """The model at each of its addresses alone."""
        return (self, *(replace(self, api_base=address) for address in self.copies))

    @property
    def is_batched(self) -> bool:
        """Whether its calls are collected into batches."""
        return self.transport == "batch"

    @property
    def is_tool(self) -> bool:
        """Whether it is a tool: `tool/search`, `tool/calculator`, `tool/python`."""
        return self.model.startswith("tool/")

    @property
    def is_program(self) -> bool:
        """Whether it has no weights and runs in the process: a tool, or the built-in solver."""
        return self.is_tool or self.model.startswith("builtin/")


@dataclass(frozen=True, slots=True)
class Agent:
    """A debater, judge, summarizer or critic: a model with a name, perhaps a persona, and numbers for expressions.

    Attributes
    ----------
    name : str
    model : Model
    persona : str or None
    vars : mapping of name to float
        Numbers that the spec gives it: `vars(NAME)` in expressions, `agent.vars` in templates.
    """

    name: str
    model: Model
    persona: str | None = None
    vars: Mapping[str, float] = field(default_factory=lambda: EMPTY)
