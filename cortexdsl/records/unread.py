"""Replies that could not be read, step by step: a step of which most are unread did not do what it is there for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from cortexdsl.terms import NO_REPLY, Debate

Unread: TypeAlias = Mapping[tuple[str, str], tuple[int, int]]
"""By step and what it reads: how many replies could not be read, of how many."""
_ANYTHING = ("summary", "comment")
SHOWN = 5


def unread_by_step(debates: Iterable[Debate]) -> dict[tuple[str, str], tuple[int, int]]:
    """Count the replies of some debates; calls that brought none are counted elsewhere, and any text is a comment."""
    unread: Counter[tuple[str, str]] = Counter()
    replies: Counter[tuple[str, str]] = Counter()
    for turn in (turn for debate in debates for turn in debate.turns):
        if (turn.unparsed or "").startswith(NO_REPLY):
            continue
        read = {} if turn.reads in _ANYTHING else {turn.reads: turn.unparsed is None}
        for what, is_read in (read | {what: value is not None for what, value in turn.beside.items()}).items():
            replies[turn.step, what] += 1
            unread[turn.step, what] += not is_read
    return {key: (unread[key], number) for key, number in replies.items()}


def as_lines(unread: Unread) -> list[list[Any]]:
    """Return counts as values that JSON knows: `[step, reads, unread, replies]` each."""
    return [[*key, *counts] for key, counts in unread.items()]


def from_lines(lines: Iterable[Iterable[Any]]) -> dict[tuple[str, str], tuple[int, int]]:
    """Return the counts that `as_lines` wrote."""
    return {(str(step), str(reads)): (int(unread), int(replies)) for step, reads, unread, replies in lines}


@dataclass(frozen=True, slots=True)
class MostlyUnread:
    """A step of a cell of which more than half of the replies could not be read."""

    cell: str
    step: str
    reads: str
    unread: int
    replies: int


def mostly_unread(counted: Iterable[tuple[str, Unread]]) -> tuple[MostlyUnread, ...]:
    """Return the steps of which more than half of the replies could not be read, from counts by cell."""
    sums: dict[tuple[str, str, str], tuple[int, int]] = {}
    for cell, counts in counted:
        for (step, reads), (unread, replies) in counts.items():
            before = sums.get((cell, step, reads), (0, 0))
            sums[cell, step, reads] = before[0] + unread, before[1] + replies
    return tuple(MostlyUnread(*key, *both) for key, both in sums.items() if 2 * both[0] > both[1])


def unread_sentences(found: Iterable[MostlyUnread]) -> list[str]:
    """Say it, in a sentence for each step and what it reads."""
    steps: dict[tuple[str, str], list[MostlyUnread]] = {}
    for one in found:
        steps.setdefault((one.step, one.reads), []).append(one)
    return [_sentence(*key, cells) for key, cells in steps.items()]


def _sentence(step: str, reads: str, cells: list[MostlyUnread]) -> str:
    worst = sorted(cells, key=lambda one: -one.unread / one.replies)
    named = [f"{one.cell} ({one.unread:,} of {one.replies:,})" for one in worst[:SHOWN]]
    named += [f"{len(worst) - SHOWN} more"] if len(worst) > SHOWN else []
    return (
        f"Most replies of step {step} could not be read as {'an' if reads == 'answer' else 'a'} {reads}: "
        f"{', '.join(named)}. See what was asked and said: cortexdsl view"
    )
