"""Models, their prices, and agents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from cortexdsl.core.types import EMPTY, word


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs. Specs state dollars per million tokens, which are stored per token."""

    input: float = word()
    """The price of a prompt's tokens."""
    output: float = word()
    """The price of a reply's tokens."""
    cached: float | None = word(None)
    """The price of tokens that the provider reads from its cache. Default: the same as `input`. Tokens that it writes
    into the cache then cost 1.25 times `input`, and twice `input` if they stay for an hour."""
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
        write, write_1h = self._writing
        return (
            self.input * (prompt - cached - written)
            + (self.input if self.cached is None else self.cached) * cached
            + write * (written - written_1h)
            + write_1h * written_1h
            + self.output * completion
        )

    @property
    def _writing(self) -> tuple[float, float]:
        """The prices of tokens that are written into the cache, for minutes and for an hour."""
        write = self.cache_write
        if write is None and self.cached is not None and self.cache_write_1h is None:
            return WRITING * self.input, WRITING_1H * self.input
        write = self.input if write is None else write
        return write, write if self.cache_write_1h is None else self.cache_write_1h


WRITING, WRITING_1H = 1.25, 2.0
"""What Anthropic asks for tokens that it writes into its cache, in prices of other tokens of prompts."""
FREE = Price(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class RateLimit:
    """At most `amount` (requests or tokens) in any span of `seconds`."""

    amount: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Rate:
    """How fast a model may be called: limits of requests, and of tokens of prompts and replies together."""

    requests: tuple[RateLimit, ...] = ()
    tokens: tuple[RateLimit, ...] = ()

    @property
    def has_limits(self) -> bool:
        """Whether anything is limited."""
        return bool(self.requests or self.tokens)


BATCH_PROVIDERS = ("openai", "anthropic")
"""Providers whose batches the command `cortexdsl batch` speaks."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A program that answers the calls of models in files, round by round."""

    command: str = word()
    """The command line that answers a file. {requests} and {replies} become the paths of two files in OpenAI's batch
    format."""
    parts: int = word(1, ge=1, le=1_000)
    """The number of files of a round, which are answered by as many jobs side by side."""
    resources: Mapping[str, int | str] | None = word(None)
    """What such a job takes, in Snakemake's words: {gpu: 1, mem_mb: 40000}."""
    container: str | None = word(None)
    """The image in which such a job runs, with cortexdsl and the engine: docker://REGISTRY/IMAGE."""

    @property
    def provider(self) -> str | None:
        """The provider whose batches answer: the command is `cortexdsl batch`, without an address of its own."""
        words = self.command.split()
        if words[:2] != ["cortexdsl", "batch"] or any(word.startswith("--api-base") for word in words):
            return None
        return next((word for word in words if word in BATCH_PROVIDERS), None)


@dataclass(frozen=True, slots=True)
class Model:
    """A model entry of the spec.

    Attributes
    ----------
    name : str
        The entry's name in the spec.
    model : str
        `builtin/solver`, or a litellm model name such as `openai/Qwen2.5-7B-Instruct`.
    api_base : str or None
        The address as the spec writes it: `env:NAME` is resolved when a call is sent, so that plans and records do not
        depend on a port.
    options : mapping
        Everything that is sent or changes the reply: temperature, top_p, max_tokens, skill and so on.
    refused : tuple of str
        What the provider refuses, by the spec or by an earlier call: `seed`, `max_tokens`, `system` (the role).
    is_billed : bool
        A provider's batches answer it: its engine has a provider.
    copies : tuple of str
        Addresses of servers with the same model as the one at `api_base`; calls are spread over all.
    """

    name: str
    model: str
    api_base: str | None = None
    api_key_env: str | None = word(None)
    """The environment variable that holds the API key."""
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    parameters: float | None = word(None, gt=0, le=1e30)
    """The number of parameters, such as 7.6e9."""
    tokens: float | None = word(None, gt=0, le=1e30)
    """The number of tokens that it was pre-trained on, such as 18e12."""
    price: Price | None = word(None)
    """Dollars per million tokens: {input, output, cached}."""
    reasoning_tokens: int = word(0, ge=0, le=10_000_000)
    """The expected tokens of reasoning per reply, for cost estimates."""
    active_parameters: float | None = word(None, gt=0, le=1e30)
    """For a mixture of experts: the parameters that one token uses. Default: all."""
    rate: Rate | None = word(None)
    """How fast all runs on this machine may call the model: 500/min, or a list such as [10/min, 250/day, 200k
    tokens/min]. Tokens are those of prompts and replies together. Units are s, min, hour and day."""
    timeout: float | None = word(None, ge=1, le=86_400)
    """How long one attempt of a call may take: a number of seconds, or a text such as 20 min. Default: 5 min. Replies
    are streamed if it is longer."""
    cache: bool = word(False)
    """Whether the provider caches the beginning that prompts share, for five minutes. Only Claude needs this key."""
    function_calls: bool | None = word(None)
    """Whether the model asks for tools by function calls. If not, its prompt explains how to ask in text. Default: true
    for a model of a server, false for one that runs in the process."""
    refused: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    engine: str | None = word(None)
    """The name of an entry of engines, which answers the calls of this model in files."""
    is_billed: bool = False

    @property
    def at_each_address(self) -> tuple[Model, ...]:
        """The model at each of its addresses alone."""
        return (self, *(replace(self, api_base=address) for address in self.copies))

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
