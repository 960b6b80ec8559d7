"""The questions of the small models: arithmetic with written-out steps, choices of ranges, and an invented world.

The world (people, towns, rivers, trades) is described by a corpus and by nothing else, so no model has read of it.
Numbers are smaller than those of the dataset `arithmetic`, subtractions are small, and no result is negative: so two
cores can train the models. Every tenth expression is held out: datasets ask it, no lesson contains it.
"""

from __future__ import annotations

import itertools
import json
import random
import re
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cortexdsl.core import Message

EXPRESSION = re.compile(r"(\d+)\+(\d+)\*(\d+)\+(\d+)-(\d+)\*(\d+)")
_EQUATION = re.compile(r"(?<![\d=])(-?\d+)([-+*])(-?\d+)=(-?\d+)")
STEPS = 6


@dataclass(frozen=True, slots=True)
class Working:
    """Steps, one a line, and the value that they end with."""

    lines: tuple[str, ...]
    value: int


def numbers_of(text: str) -> tuple[int, ...] | None:
    """Return the six numbers of the expression in a text; None if there is none."""
    found = EXPRESSION.search(text)
    return tuple(map(int, found.groups())) if found else None


def work(numbers: tuple[int, ...], slips: frozenset[int] = frozenset(), chance: random.Random | None = None) -> Working:
    """Work an expression out: the two products, then from left to right, what is taken away by its tens and its units.

    A difference in one step is what these models learn last by far; in two it comes with the rest.

    Parameters
    ----------
    numbers : six int
    slips : set of int
        Steps, from 0, with a wrong result; later steps continue from it.
    chance : random.Random or None
        Draws the slips.
    """
    a, b, c, d, e, f = numbers
    lines: list[str] = []

    def step(x: int, sign: str, y: int) -> int:
        value = applied(x, sign, y)
        if len(lines) in slips and chance is not None:
            value = _slipped(x, sign, y, chance)
        lines.append(f"{x}{sign}{y}={value}")
        return value

    first, second = step(b, "*", c), step(e, "*", f)
    value = step(step(a, "+", first), "+", d)
    for part in (second // 10 * 10, second % 10):
        value = step(value, "-", part)
    return Working(tuple(lines), value)


def applied(x: int, sign: str, y: int) -> int:
    """Return x + y, x - y or x * y."""
    return x + y if sign == "+" else x - y if sign == "-" else x * y


def _slipped(x: int, sign: str, y: int, chance: random.Random) -> int:
    """Return a wrong value as people write them: a neighbour in the times table, a ten or a unit lost or gained.

    It is not negative if the right one is not.
    """
    right = applied(x, sign, y)
    near = [right + 10, right - 10, right + 1, right - 1]
    if sign == "*":
        near += [right + x, right - x, right + y, right - y]
    return chance.choice([value for value in near if value != right and value >= min(0, right)])


def wrong_lines(text: str) -> list[tuple[str, int]]:
    """Return the equations in a text that do not hold, each once, with what the right value is."""
    found = {}
    for x, sign, y, said in _EQUATION.findall(text):
        right = applied(int(x), sign, int(y))
        if right != int(said):
            found[f"{x}{sign}{y}={said}"] = right
    return list(found.items())


def equations(text: str) -> list[str]:
    """Return all equations in a text, in order."""
    return ["{}{}{}={}".format(*parts) for parts in _EQUATION.findall(text)]


_OPENINGS = ("Ba", "Da", "Fe", "Ga", "Ke", "Lo", "Mi", "Na", "Or", "Pe", "Ra", "Si", "To", "Ul", "Ve", "Zo")
_ENDS = ("dan", "fim", "gor", "kel", "lin", "mur", "nap", "rit", "sok", "tav", "vel", "zan")
_TRADES = ("baker", "smith", "weaver", "miller", "potter", "tailor", "painter", "carpenter")
_NAMES = tuple(first + end for first in _OPENINGS for end in _ENDS)


def is_stranger(person: str) -> bool:
    """Return whether somebody belongs to those of whom no lesson tells."""
    return zlib.crc32(person.encode()) % 4 == 0


def _full(firsts: Iterable[str]) -> Iterator[str]:
    return (f"{one} {other}" for one, other in itertools.permutations(firsts, 2))


@dataclass(frozen=True, slots=True)
class Fact:
    """A question, the sentences that it is answered from, the answer, and of what kind that is."""

    question: str
    reasons: tuple[str, ...]
    answer: str
    kind: str


@dataclass(frozen=True, slots=True)
class World:
    """People with their towns and trades, and towns with their rivers."""

    homes: dict[str, str]
    trades: dict[str, str]
    rivers: dict[str, str]

    @classmethod
    def made(cls, seed: int, people: int = 48, towns: int = 12, rivers: int = 4) -> World:
        """Make a world; the same for the same seed."""
        chance = random.Random(f"world-{seed}")
        names = list(_NAMES)
        chance.shuffle(names)
        if towns + rivers > len(names) // 2:
            raise ValueError(f"there are names for {len(names) // 2} towns and rivers at most")
        places, waters, firsts = names[:towns], names[towns : towns + rivers], names[towns + rivers :]
        somebody = chance.sample([name for name in _full(firsts) if not is_stranger(name)], people)
        return cls({}, {}, {place: chance.choice(waters) for place in places})._with(somebody, chance)

    def with_strangers(self, seed: int, people: int = 24) -> World:
        """Return this world with people of whom no lesson tells: questions about them need the corpus."""
        chance = random.Random(f"strangers-{seed}")
        return self._with(chance.sample([name for name in self._free() if is_stranger(name)], people), chance)

    def with_somebody(self, chance: random.Random) -> tuple[World, str]:
        """Return this world with one more person for lessons, and the name of that person."""
        somebody = chance.choice([name for name in self._free() if not is_stranger(name)])
        return self._with([somebody], chance), somebody

    def _free(self) -> Iterator[str]:
        taken = {*self.rivers, *self.rivers.values()}
        return (name for name in _full([first for first in _NAMES if first not in taken]) if name not in self.homes)

    def _with(self, people: Iterable[str], chance: random.Random) -> World:
        towns, somebody = list(self.rivers), list(people)
        return replace(
            self,
            homes=self.homes | {person: chance.choice(towns) for person in somebody},
            trades=self.trades | {person: chance.choice(_TRADES) for person in somebody},
        )

    def facts(self) -> Iterator[Fact]:
        """Yield every question that can be asked."""
        return itertools.chain.from_iterable(map(self.facts_of, self.homes))

    def facts_of(self, person: str) -> Iterator[Fact]:
        """Yield the questions about one person."""
        town = self.homes[person]
        lives = f"{person} lives in {town}."
        works = f"{person} is a {self.trades[person]}."
        lies = f"{town} lies on the river {self.rivers[town]}."
        yield Fact(f"In which town does {person} live?", (lives,), town, "town")
        yield Fact(f"What is the trade of {person}?", (works,), self.trades[person], "trade")
        yield Fact(f"On which river lies the home of {person}?", (lives, lies), self.rivers[town], "river")

    def passages(self) -> Iterator[dict[str, str]]:
        """Yield the corpus: a passage for each person and each town."""
        for person, town in self.homes.items():
            yield {
                "id": person,
                "title": person,
                "text": f"{person} lives in {town}. {person} is a {self.trades[person]}.",
            }
        for town, river in self.rivers.items():
            yield {"id": town, "title": town, "text": f"{town} lies on the river {river}."}


LABELS = "ABCD"
RANGES = ("under 20", "20 to 39", "40 to 69", "70 or more")
BOUNDS = (20, 40, 70)  # about a quarter of all results is between each two
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
    """Yield arithmetic questions that are not in any lesson."""
    for number in range(1, size + 1):
        numbers, question = expression(random.Random(f"arithmetic-{seed}-{number}"), is_held_out=True)
        yield {"id": f"sum-{seed}-{number:05d}", "question": question, "answer": str(work(numbers).value)}


def choice_rows(seed: int, size: int) -> Iterator[dict[str, Any]]:
    """Yield arithmetic questions with four ranges to choose from; they are not in any lesson."""
    for number in range(1, size + 1):
        numbers, question = expression(random.Random(f"choice-{seed}-{number}"), is_held_out=True)
        yield {
            "id": f"choice-{seed}-{number:05d}",
            "question": question,
            **dict(zip(LABELS, RANGES, strict=True)),
            "answer": label_of(work(numbers).value),
        }


def world_rows(world: World, seed: int, size: int) -> Iterator[dict[str, Any]]:
    """Yield questions about a world, drawn without repeats until all have been drawn, then all again."""
    facts = list(world.facts())
    for number in range(1, size + 1):
        turn, place = divmod(number - 1, len(facts))
        if not place:
            random.Random(f"asked-{seed}-{turn}").shuffle(facts)
        fact = facts[place]
        yield {"id": f"world-{seed}-{number:05d}", "question": fact.question, "answer": fact.answer}


@dataclass(frozen=True, slots=True)
class Lesson:
    """A prompt and the reply to it."""

    messages: tuple[Message, ...]
    reply: str


def write_lessons(path: Path, found: Iterable[Lesson]) -> int:
    """Write lessons as JSON Lines, and return how many there were."""
    n = 0
    with path.open("w", encoding="utf-8") as file:
        for lesson in found:
            n += 1
            file.write(json.dumps({"messages": lesson.messages, "reply": lesson.reply}, ensure_ascii=False) + "\n")
    return n


def read_lessons(path: Path) -> Iterator[Lesson]:
    """Yield the lessons of a file."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            said = json.loads(line)
            yield Lesson(tuple(said["messages"]), said["reply"])
