"""Seeded chance. Every draw names what it belongs to, so that no draw depends on the order of the work.

The seed of a call comes from (experiment seed, replicate, question, agent, how often this agent has sent exactly
these messages in this debate), and never from the method or the cell: arms of a grid that begin the same way
share their openings and the luck of the draw (common random numbers), so that comparisons are paired down to
the sample.
"""

from __future__ import annotations

import hashlib
import random

SEED_BITS = 31  # every provider that takes a seed takes a positive 32-bit integer


def _digest(*parts: str | int) -> int:
    # Lengths keep ("ab", "c") apart from ("a", "bc").
    text = "".join([f"{len(part)}:{part}" for part in map(str, parts)])
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")


def call_seed(seed: int, replicate: int, question: str, agent: str, repeat: int) -> int:
    """Return the seed of a model call, in [0, 2**31)."""
    return _digest("call", seed, replicate, question, agent, repeat) >> (64 - SEED_BITS)


def sample_seed(seed: int, sample: int) -> int:
    """Return the seed of a further reply to a call, in [0, 2**31): another draw than any that the debate makes."""
    return _digest("sample", seed, sample) >> (64 - SEED_BITS)


def generator(purpose: str, seed: int, replicate: int, question: str, *parts: str | int) -> random.Random:
    """Return a random generator for one purpose (`groups`, `tie`, `edges` ...) within one debate."""
    return random.Random(_digest(purpose, seed, replicate, question, *parts))
