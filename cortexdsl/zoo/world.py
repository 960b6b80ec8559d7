"""A made-up world: people, towns, rivers, trades. Nobody can have read of it, a corpus says all there is to know."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

_OPENINGS = ("Ba", "Da", "Fe", "Ga", "Ke", "Lo", "Mi", "Na", "Or", "Pe", "Ra", "Si", "To", "Ul", "Ve", "Zo")
_ENDS = ("dan", "fim", "gor", "kel", "lin", "mur", "nap", "rit", "sok", "tav", "vel", "zan")
_TRADES = ("baker", "smith", "weaver", "miller", "potter", "tailor", "painter", "carpenter")


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
        names = [first + end for first in _OPENINGS for end in _ENDS]
        chance.shuffle(names)
        if towns + rivers > len(names) // 2:
            raise ValueError(f"there are names for {len(names) // 2} towns and rivers at most")
        places, waters, firsts = names[:towns], names[towns : towns + rivers], names[towns + rivers :]
        pairs = [f"{one} {other}" for one in firsts for other in firsts if one != other]
        somebody = chance.sample(pairs, people)
        return cls(
            homes={person: chance.choice(places) for person in somebody},
            trades={person: chance.choice(_TRADES) for person in somebody},
            rivers={place: chance.choice(waters) for place in places},
        )

    def facts(self) -> Iterator[Fact]:
        """Yield every question that can be asked."""
        for person, town in self.homes.items():
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
