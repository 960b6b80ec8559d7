"""Drawing the next token: the settings of a call, and one draw for each sequence of a batch."""

from __future__ import annotations

import difflib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cortexdsl.core import Floats
from cortexdsl.errors import InputError
from cortexdsl.models.transports.interface import WEIGHTS_OPTION

_GRAIN = 2.0**30  # probabilities are whole multiples of 1/_GRAIN, so that their sums are exact


@dataclass(frozen=True, slots=True)
class Sampling:
    """Settings of the sampling of a reply.

    Attributes
    ----------
    temperature : float
        0 takes the likeliest token.
    top_p : float
        Only the likeliest tokens that together have this probability are drawn.
    max_tokens : int or None
        None: what the window has room for.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    max_tokens: int | None = None


_NAMES = ("temperature", "top_p", "max_tokens")
LOGPROBS = "logprobs"
"""The option that asks for the probabilities of the tokens; like the option `weights`, not a setting of a draw."""


def sampling_of(options: Mapping[str, Any]) -> Sampling:
    """Return what the options of a model entry mean.

    Raises
    ------
    InputError
        An option is unknown (with the nearest spelling), or out of range.
    """
    said = {name: value for name, value in options.items() if name not in (WEIGHTS_OPTION, LOGPROBS)}
    if not isinstance(options.get(LOGPROBS, False), bool):
        raise InputError(f"{LOGPROBS} must be true or false, not {options[LOGPROBS]!r}")
    for name, value in said.items():
        if name not in _NAMES:
            near = difflib.get_close_matches(name, _NAMES, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise InputError(f"tiny models have no option {name!r}{hint} (they have {', '.join(_NAMES)})")
        least, most = {"temperature": (0.0, 10.0), "top_p": (0.0, 1.0), "max_tokens": (1, 10_000_000)}[name]
        kinds = int if name == "max_tokens" else (int, float)
        if isinstance(value, bool) or not isinstance(value, kinds) or not least <= value <= most:
            raise InputError(f"{name} must be a number from {least:g} to {most:g}, not {value!r}")
    return Sampling(**said)


def draw(logits: Floats, settings: Sequence[Sampling], chances: Sequence[random.Random]) -> tuple[list[int], Floats]:
    """Draw a token for each sequence.

    Parameters
    ----------
    logits : array (n, vocabulary)
    settings : sequence of n Sampling
    chances : sequence of n random.Random
        One number is taken of each, whatever the settings: what is drawn later does not depend on them.

    Returns
    -------
    (n tokens, array (n,))
        And the logarithm of each one's probability at temperature 1.
    """
    shifted = logits - logits.max(axis=1, keepdims=True)
    numbers = np.array([chance.random() for chance in chances])
    heats = np.array([each.temperature for each in settings])
    weights = np.rint(np.exp(shifted / np.where(heats > 0, heats, 1.0)[:, None]) * _GRAIN)
    for row, each in enumerate(settings):
        if each.top_p < 1.0:
            weights[row] = _nucleus(weights[row], each.top_p)
    sums = np.cumsum(weights, axis=1)
    drawn = (sums <= (numbers * sums[:, -1])[:, None]).sum(axis=1)
    tokens = np.where(heats > 0, drawn, logits.argmax(axis=1))
    masses = np.rint(np.exp(shifted) * _GRAIN).sum(axis=1) / _GRAIN
    return tokens.tolist(), shifted[np.arange(len(tokens)), tokens] - np.log(masses)


def _nucleus(weights: Floats, share: float) -> Floats:
    """Keep the likeliest tokens that together have a share, the first of equals first."""
    order = np.argsort(-weights, kind="stable")
    before = np.cumsum(weights[order]) - weights[order]
    kept = np.zeros_like(weights)
    best = order[before < share * weights.sum()]
    kept[best if best.size else order[:1]] = weights[best if best.size else order[:1]]
    return kept
