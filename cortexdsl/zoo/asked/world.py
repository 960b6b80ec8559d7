"""A made-up world: people, towns, rivers, trades. Nobody can have read of it, a corpus says all there is to know."""

from __future__ import annotations

import itertools
import random
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

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
    """Who lives where, does what, and which river a town lies on."""

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
        """Return this world with people of whom no lesson tells: who is asked about them has to look them up."""
        chance = random.Random(f"strangers-{seed}")
        return self._with(chance.sample([name for name in self._free() if is_stranger(name)], people), chance)

    def with_somebody(self, chance: random.Random) -> tuple[World, str]:
        """Return this world with one more person, whom lessons may be about, and who that is."""
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
