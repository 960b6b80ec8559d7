"""How a model learns from pairs: the optimiser's settings, and what TRL calls the losses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

SFT = "sft"
"""Learns replies by heart and knows no worse ones: the baseline of the paper."""

LOSSES: Mapping[str, str] = MappingProxyType(
    {
        "dpo": "sigmoid",
        "dpo_norm": "sigmoid_norm",
        "ipo": "ipo",
        "hinge": "hinge",
        "nca": "nca_pair",
        "bco": "bco_pair",
        "sppo": "sppo_hard",
        "apo_zero": "apo_zero",
        "apo_down": "apo_down",
    }
)
"""Losses over pairs, by their names in a spec; those of TRL that ask for no further number."""

NLL = "sft"
"""What TRL calls the negative log-likelihood of the chosen replies, the mean over a batch's tokens."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What is optimised, and how.

    Attributes
    ----------
    loss : str
        One of `LOSSES`, or `sft`.
    nll : float
        Weight of the negative log-likelihood of chosen replies beside a loss over pairs (1 in ACC-Debate, appendix A).
    beta : float
        How dear it is to move away from the model that training begins with.
    rank : int
        Of the adapter: a matrix (n, m) learns the product of two, (n, rank) and (rank, m).
    alpha : float or None
        The product counts alpha / rank times; None: once.
    rate : float
        Learning rate of AdamW at the first step; it falls linearly to nothing.
    epochs : float
        How often each example is read.
    batch : int
        Examples a step.
    at_once : int or None
        How many of them go through the model together, which bounds memory; None: all.
    seed : int
        Of the adapter's first weights and of the examples' order.
    """

    loss: str = "dpo"
    nll: float = 1.0
    beta: float = 0.1
    rank: int = 256
    alpha: float | None = None
    rate: float = 5e-6
    epochs: float = 1.0
    batch: int = 8
    at_once: int | None = None
    seed: int = 0

    @property
    def has_pairs(self) -> bool:
        """Whether a loss over pairs is optimised, or single replies are learned."""
        return self.loss != SFT

    def losses(self) -> tuple[list[str], list[float]]:
        """Return the terms of a loss over pairs by TRL's names, and their weights."""
        terms, weights = [LOSSES[self.loss]], [1.0]
        return ([*terms, NLL], [*weights, self.nll]) if self.nll else (terms, weights)
