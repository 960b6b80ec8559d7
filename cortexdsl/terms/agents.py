"""Who speaks: models and agents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cortexdsl.terms.base import EMPTY


@dataclass(frozen=True, slots=True)
class Price:
    """What the tokens of a model cost, in dollars per token.

    Attributes
    ----------
    input, output : float
        Of a prompt and of a reply.
    cached, cache_write : float or None
        Of the tokens of a prompt that the provider read from its cache, or wrote into it; None: as `input`.
    """

    input: float
    output: float
    cached: float | None = None
    cache_write: float | None = None

    @property
    def is_free(self) -> bool:
        """Whether every token costs nothing."""
        return not any((self.input, self.output, self.cached, self.cache_write))

    def dollars(self, prompt: int, completion: int, cached: int = 0, written: int = 0) -> float:
        """Return what a call costs.

        Parameters
        ----------
        prompt, completion : int
            All tokens of the prompt and of the reply.
        cached, written : int
            Tokens of the prompt that were read from the cache, and written into it.
        """
        # A server that counts more cached tokens than the prompt has contradicts itself: its prompt count holds.
        cached = min(cached, prompt)
        written = min(written, prompt - cached)
        return (
            self.input * (prompt - cached - written)
            + (self.input if self.cached is None else self.cached) * cached
            + (self.input if self.cache_write is None else self.cache_write) * written
            + self.output * completion
        )


FREE = Price(0.0, 0.0)


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
        The address as the spec writes it (`env:NAME` is resolved by the door alone, so that plans and
        records never depend on a port), and the name of the environment variable that holds the key.
    options : mapping
        Everything that is sent or changes the reply: temperature, top_p, max_tokens, skill ...
    parameters, tokens : float or None
        Parameter count and pre-training tokens of the model; CortexDebate's credibility needs them.
    price : Price or None
        As the spec writes it; None if it writes none.
    reasoning_tokens : int
        Tokens that it is expected to think before each reply; for plans alone.
    context : int or None
        Tokens that prompt and reply may have together, where the spec says so; for plans and checks alone.
    transport : str or None
        `direct` or `litellm`: the way to it, where the spec names one. Both say and read the same.
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

    @property
    def is_tool(self) -> bool:
        """Whether what it says is looked up or worked out: `tool/search`, `tool/calculator`, `tool/python`."""
        return self.model.startswith("tool/")

    @property
    def is_program(self) -> bool:
        """Whether it has no weights and is asked in the process: a tool, or the built-in solver."""
        return self.is_tool or self.model.startswith("builtin/")


@dataclass(frozen=True, slots=True)
class Agent:
    """A debater, judge, summarizer, critic ...: a model with a name and, perhaps, a persona."""

    name: str
    model: Model
    persona: str | None = None
