"""Datasets whose questions are generated."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

# Numbers of GroupDebate's arithmetic task (arXiv 2409.14051) are drawn uniformly from this range; the paper says
# "natural numbers" and no more.
LOW, HIGH = 1, 30


def arithmetic_rows(seed: int) -> Iterator[dict[str, str]]:
    """Yield questions without end, one expression of six natural numbers each; the k-th depends on seed and k alone.

    `a+b*c+d-e*f` by the usual precedence: the gold is `a + (b*c) + d - (e*f)`.
    """
    number = 0
    while True:
        number += 1
        draw = random.Random(f"arithmetic-{seed}-{number}")
        a, b, c, d, e, f = (draw.randint(LOW, HIGH) for _ in range(6))
        yield {
            "id": f"arithmetic-{seed}-{number:05d}",
            "question": f"What is the result of {a}+{b}*{c}+{d}-{e}*{f}?",
            "answer": str(a + b * c + d - e * f),
        }


GENERATORS: Mapping[str, Callable[[int], Iterator[Mapping[str, Any]]]] = {"arithmetic": arithmetic_rows}
"""Rows without end, from a seed, of each dataset of the registry that is `generated`."""
