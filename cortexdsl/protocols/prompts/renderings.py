"""What was rendered, kept for whoever renders the same: a system prompt, or the question that all agents are asked."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from cortexdsl.terms import Question

MOST_CHARACTERS = 1 << 24
"""Kept at once, over all texts."""

_ABSENT = ("absent",)


class Renderings:
    """Texts by template and by the values that it uses; forgotten all at once when they come to be too many."""

    def __init__(self) -> None:
        self._texts: dict[Hashable, str] = {}
        self._length = 0

    def get(self, key: Hashable) -> str | None:
        """Return the text of a key."""
        return self._texts.get(key)

    def keep(self, key: Hashable, text: str) -> None:
        """Keep a text."""
        self._length += len(text)
        if self._length > MOST_CHARACTERS:
            self._texts.clear()
            self._length = len(text)
        self._texts[key] = text


def key_of(template: str, names: Sequence[str], variables: Mapping[str, Any]) -> Hashable | None:
    """Return what the text of a template depends on, or None where that is more than plain values.

    What others have said is never plain: it has to be written out for each who hears it, so that it is noted who was
    shown what.
    """
    values: list[Hashable] = [template]
    for name in names:
        value = _plain(variables[name]) if name in variables else _ABSENT
        if value is None:
            return None
        values.append(value)
    return tuple(values)


def _plain(value: Any) -> Hashable | None:
    """Return a plain value with its type, since 1, 1.0 and True are equal and written differently; None for others."""
    kind = type(value)
    if kind in (str, int, float, bool, Question) or value is None:
        return kind, value
    if kind is dict:
        items = [(name, _plain(inner)) for name, inner in value.items()]
        return None if any(inner is None for _, inner in items) else (kind, *items)
    return None
