"""The answer kinds by name."""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol

from cortexdsl.errors import DataError
from cortexdsl.tasks.reading.choice import Choice
from cortexdsl.tasks.reading.expression import Expression
from cortexdsl.tasks.reading.labels import Labels
from cortexdsl.tasks.reading.number import Number
from cortexdsl.tasks.reading.text import Unparsed
from cortexdsl.tasks.reading.words import Free, Text
from cortexdsl.tasks.reading.yesno import YesNo

KINDS = ("number", "choice", "yesno", "expression", "text", "labels", "free")
MIXED_WANT = "the answer alone, in the form that the question asks for"


class Kind(Protocol):
    """How answers of one kind are spelled and found in replies. Never raises on a reply's content."""

    @property
    def name(self) -> str:
        """The kind's name."""
        ...

    @property
    def want(self) -> str:
        """What an answer line should hold, in words for a prompt."""
        ...

    def canonical(self, gold: str) -> str | None:
        """Spell a gold in canonical form; None if it is none of this kind."""
        ...

    def exact(self, fragment: str) -> str | Unparsed:
        """Read the rest of an answer line, which should be an answer and nothing else."""
        ...

    def within(self, fragment: str) -> str | Unparsed | None:
        """Read what a statement says; None where it says nothing, so that others are looked at."""
        ...

    def search(self, text: str) -> str | Unparsed:
        """Read a reply that states no answer outright."""
        ...


@lru_cache(maxsize=4096)
def kind_named(name: str, options: tuple[tuple[str, str], ...] = (), labels: tuple[str, ...] = ()) -> Kind:
    """Return the kind of that name, for a question's options or a label set.

    Raises
    ------
    DataError
        If there is no such kind, or `labels` has no label set.
    """
    if name == "choice":
        return Choice(options)
    if name == "labels":
        if not labels:
            raise DataError("answer kind labels: no label set\n    give the possible labels")
        return Labels(labels)
    simple: dict[str, Kind] = {
        "number": Number(),
        "yesno": YesNo(),
        "expression": Expression(),
        "text": Text(),
        "free": Free(),
    }
    try:
        return simple[name]
    except KeyError:
        raise DataError(f"no answer kind {name!r}\n    answer kinds: {', '.join(KINDS)}") from None
