"""The generated task of GroupDebate (arXiv 2409.14051): one expression of six natural numbers a question."""

from __future__ import annotations

import random
from collections.abc import Iterator

# Numbers are drawn uniformly from this range; the paper says "natural numbers" and no more.
LOW, HIGH = 1, 30


def arithmetic_rows(seed: int) -> Iterator[dict[str, str]]:
    """Yield questions without end; the k-th one depends on the seed and k alone.

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
