"""Words that know when they are put into a prompt, so that a record can say who was shown what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Note = Callable[[], None]


class Words(str):
    """What was said, as a prompt sees it: text like any other, which notes that it was written out.

    Comparing, counting and looking for something in it is no showing; printing it is, and so is printing what was cut
    or made from it. A separator's own `join` goes around the note; the filter `join` does not.

    Parameters
    ----------
    text : str
    note : callable
        Called, without arguments, whenever the words are written out.
    """

    __slots__ = ("_note",)
    _note: Note

    def __new__(cls, text: str, note: Note) -> Words:
        """Make words of a text."""
        self = super().__new__(cls, text)
        self._note = note
        return self

    def __str__(self) -> str:
        self._note()
        return str.__str__(self)

    def __repr__(self) -> str:
        self._note()
        return str.__repr__(self)

    def __format__(self, form: str) -> str:
        self._note()
        return str.__format__(self, form)

    def __radd__(self, other: str) -> Words:
        return Words(other + str.__str__(self), self._note)


def _carrying(name: str) -> Callable[..., Any]:
    made_by = getattr(str, name)

    def method(self: Words, *args: Any, **named: Any) -> Any:
        made = made_by(self, *args, **named)
        if isinstance(made, str):
            return Words(made, self._note)
        return [Words(part, self._note) for part in made] if isinstance(made, list) else made

    return method


for _name in (
    "__add__", "__getitem__", "__mod__", "__mul__", "__rmul__", "capitalize", "casefold", "center", "expandtabs",
    "format", "ljust", "lower", "lstrip", "removeprefix", "removesuffix", "replace", "rjust", "rsplit", "rstrip",
    "split", "splitlines", "strip", "swapcase", "title", "translate", "upper", "zfill",
):  # fmt: skip
    setattr(Words, _name, _carrying(_name))
