"""Replies that were read or written lately, kept in memory: cells that begin alike hear the same ones."""

from __future__ import annotations

from cortexdsl.terms import Reply

MOST_CHARACTERS = 1 << 25
SIZE = 500
"""What a reply takes besides its text, about."""


class Heard:
    """Replies by their places in the logs; the oldest are forgotten when they come to be too many."""

    def __init__(self) -> None:
        self._replies: dict[int, Reply] = {}
        self._length = 0

    def get(self, place: int) -> Reply | None:
        """Return the reply of a place."""
        return self._replies.get(place)

    def keep(self, place: int, reply: Reply) -> None:
        """Keep a reply."""
        if place in self._replies:
            return
        self._replies[place] = reply
        self._length += SIZE + len(reply.text)
        while self._length > MOST_CHARACTERS:
            oldest = next(iter(self._replies))
            self._length -= SIZE + len(self._replies.pop(oldest).text)
