"""The tasks of the small models as datasets: arithmetic, with ranges to choose from, too, and a made-up world.

Numbers are smaller than those of the dataset `arithmetic`, what is taken away is small, and no result is negative, so
that two cores suffice to learn the steps. Every tenth expression is held out: datasets ask it, no lesson has it.
"""

from __future__ import annotations

import random
import zlib
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from cortexdsl.zoo.asked.workings import work
from cortexdsl.zoo.asked.world import World

LABELS = "ABCD"
RANGES = ("under 20", "20 to 39", "40 to 69", "70 or more")
BOUNDS = (20, 40, 70)  # about a quarter of all results lies between each two
LOW, HIGH = 1, 12
MOST_TAKEN = 40  # a difference of two large numbers takes these models longest to learn


def expression(chance: random.Random, *, is_held_out: bool) -> tuple[tuple[int, ...], str]:
    """Draw six numbers among those that lessons may have, or among the others; return them with the question."""
    while True:
        numbers = tuple(chance.randint(LOW, HIGH) for _ in range(6))
        text = "What is the result of {}+{}*{}+{}-{}*{}?".format(*numbers)
        is_easy = numbers[4] * numbers[5] <= MOST_TAKEN and work(numbers).value >= 0
        if is_easy and held_out(text) is is_held_out:
            return numbers, text


def held_out(question: str) -> bool:
    """Return whether a question about an expression belongs to those that no lesson has."""
    return zlib.crc32(question.encode()) % 10 == 0


def label_of(value: int) -> str:
    """Return the label of the range that a result is in."""
    return LABELS[bisect_right(BOUNDS, value)]


def arithmetic_rows(seed: int, size: int) -> Iterator[dict[str, Any]]:
    """Yield arithmetic questions, none of which a lesson has."""
    for number in range(1, size + 1):
        numbers, question = expression(random.Random(f"arithmetic-{seed}-{number}"), is_held_out=True)
        yield {"id": f"sum-{seed}-{number:05d}", "question": question, "answer": str(work(numbers).value)}


def choice_rows(seed: int, size: int) -> Iterator[dict[str, Any]]:
    """Yield arithmetic questions with four ranges to choose from, none of which a lesson has."""
    for number in range(1, size + 1):
        numbers, question = expression(random.Random(f"choice-{seed}-{number}"), is_held_out=True)
        yield {
            "id": f"choice-{seed}-{number:05d}",
            "question": question,
            **dict(zip(LABELS, RANGES, strict=True)),
            "answer": label_of(work(numbers).value),
        }


def world_rows(world: World, seed: int, size: int) -> Iterator[dict[str, Any]]:
    """Yield questions about a world, drawn without repeats until all have been asked, then anew."""
    facts = list(world.facts())
    for number in range(1, size + 1):
        turn, place = divmod(number - 1, len(facts))
        if not place:
            random.Random(f"asked-{seed}-{turn}").shuffle(facts)
        fact = facts[place]
        yield {"id": f"world-{seed}-{number:05d}", "question": fact.question, "answer": fact.answer}
