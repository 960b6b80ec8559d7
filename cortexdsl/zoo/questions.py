"""The tasks of the small models as datasets: arithmetic, the same with options, and questions about a made-up world.

Numbers are smaller than those of the dataset `arithmetic`, what is taken away is small, and no result is negative, so
that two cores suffice to learn the steps. Every tenth expression is held out: datasets ask it, no lesson has it.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator
from typing import Any

from cortexdsl.zoo.workings import STEPS, work
from cortexdsl.zoo.world import World

LABELS = "ABCD"
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


def options(numbers: tuple[int, ...], chance: random.Random) -> list[str]:
    """Draw four options: the result, and what slips lead to."""
    found = [work(numbers).value]
    while len(found) < len(LABELS):
        slips = frozenset(chance.sample(range(STEPS), chance.choice((1, 1, 2))))
        wrong = work(numbers, slips, chance).value
        if wrong not in found:
            found.append(wrong)
    chance.shuffle(found)
    return list(map(str, found))


def arithmetic_rows(seed: int, size: int) -> Iterator[dict[str, Any]]:
    """Yield arithmetic questions, none of which a lesson has."""
    for number in range(1, size + 1):
        numbers, question = expression(random.Random(f"arithmetic-{seed}-{number}"), is_held_out=True)
        yield {"id": f"sum-{seed}-{number:05d}", "question": question, "answer": str(work(numbers).value)}


def choice_rows(seed: int, size: int) -> Iterator[dict[str, Any]]:
    """Yield arithmetic questions with four options, none of which a lesson has."""
    for number in range(1, size + 1):
        chance = random.Random(f"choice-{seed}-{number}")
        numbers, question = expression(chance, is_held_out=True)
        found = options(numbers, chance)
        yield {
            "id": f"choice-{seed}-{number:05d}",
            "question": question,
            **dict(zip(LABELS, found, strict=True)),
            "answer": LABELS[found.index(str(work(numbers).value))],
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
