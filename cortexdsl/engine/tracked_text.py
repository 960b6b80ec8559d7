"""Texts of turns in a template, which note when they are written into a prompt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Note = Callable[[], None]


class TrackedText(str):
    """Text of a turn in a template, which notes when it is written into a prompt.

    Comparing, counting and searching do not count; writing it does, and so does writing what was cut or made from it.
    The note is lost by a separator's own `join`, but not by the filter `join`.

    Parameters
    ----------
    text : str
    note : callable
        Called, without arguments, whenever the text is written.
    """

    __slots__ = ("_note",)
    _note: Note

    def __new__(cls, text: str, note: Note) -> TrackedText:
        """Make it from a text."""
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

    def __radd__(self, other: str) -> TrackedText:
        return TrackedText(other + str.__str__(self), self._note)


def _tracked(name: str) -> Callable[..., Any]:
    plain = getattr(str, name)

    def method(self: TrackedText, *args: Any, **keywords: Any) -> Any:
        result = plain(self, *args, **keywords)
        if isinstance(result, str):
            return TrackedText(result, self._note)
        return [TrackedText(part, self._note) for part in result] if isinstance(result, list) else result

    return method


for _name in (
    "__add__", "__getitem__", "__mod__", "__mul__", "__rmul__", "capitalize", "casefold", "center", "expandtabs",
    "format", "ljust", "lower", "lstrip", "removeprefix", "removesuffix", "replace", "rjust", "rsplit", "rstrip",
    "split", "splitlines", "strip", "swapcase", "title", "translate", "upper", "zfill",
):  # fmt: skip
    setattr(TrackedText, _name, _tracked(_name))
