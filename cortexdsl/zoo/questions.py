"""The tasks of the small models as datasets: arithmetic with options, and questions about a made-up world.

Plain arithmetic is the project's own dataset `arithmetic`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from cortexdsl.zoo.workings import STEPS, work
from cortexdsl.zoo.world import World

LABELS = "ABCD"
LOW, HIGH = 1, 30  # as the dataset `arithmetic` draws them


def expression(chance: random.Random) -> tuple[tuple[int, ...], str]:
    """Draw six numbers, and return them with the question about them."""
    numbers = tuple(chance.randint(LOW, HIGH) for _ in range(6))
    return numbers, "What is the result of {}+{}*{}+{}-{}*{}?".format(*numbers)


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


def choice_rows(seed: int, size: int) -> Iterator[dict[str, Any]]:
    """Yield arithmetic questions with four options."""
    for number in range(1, size + 1):
        chance = random.Random(f"choice-{seed}-{number}")
        numbers, question = expression(chance)
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
