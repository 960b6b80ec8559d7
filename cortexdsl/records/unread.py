"""Steps most of whose replies could not be read: counted by jobs, said to users."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from cortexdsl.core import NO_REPLY, Debate, by_key

UnreadCounts: TypeAlias = Mapping[tuple[str, str], tuple[int, int]]
"""For each (step, what it reads): the number of unreadable replies, and of all replies."""
_ANYTHING = ("summary", "comment")
SHOWN = 5


def unread_by_step(debates: Iterable[Debate]) -> dict[tuple[str, str], tuple[int, int]]:
    """Count the replies of debates. Failed calls are counted elsewhere, and any text is a readable comment."""
    unread: Counter[tuple[str, str]] = Counter()
    replies: Counter[tuple[str, str]] = Counter()
    for turn in (turn for debate in debates for turn in debate.all_turns):
        if (turn.unparsed or "").startswith(NO_REPLY):
            continue
        read = {} if turn.reads in _ANYTHING else {turn.reads: turn.unparsed is None}
        for what, is_read in (read | {what: value is not None for what, value in turn.beside.items()}).items():
            replies[turn.step, what] += 1
            unread[turn.step, what] += not is_read
    return {key: (unread[key], number) for key, number in replies.items()}


def unread_to_json(unread: UnreadCounts) -> list[list[Any]]:
    """Return counts as JSON values: `[step, reads, unread, replies]` each."""
    return [[*key, *counts] for key, counts in unread.items()]


def unread_from_json(lines: Iterable[Iterable[Any]]) -> dict[tuple[str, str], tuple[int, int]]:
    """Return the counts that `unread_to_json` wrote."""
    return {(str(step), str(reads)): (int(unread), int(replies)) for step, reads, unread, replies in lines}


@dataclass(frozen=True, slots=True)
class UnreadStep:
    """A step of a cell with more unreadable replies than readable ones."""

    cell: str
    step: str
    reads: str
    unread: int
    replies: int


def mostly_unread_steps(counted: Iterable[tuple[str, UnreadCounts]]) -> tuple[UnreadStep, ...]:
    """Return the steps with more unreadable replies than readable ones, from counts by cell."""
    sums: dict[tuple[str, str, str], tuple[int, int]] = {}
    for cell, counts in counted:
        for (step, reads), (unread, replies) in counts.items():
            before = sums.get((cell, step, reads), (0, 0))
            sums[cell, step, reads] = before[0] + unread, before[1] + replies
    return tuple(UnreadStep(*key, *both) for key, both in sums.items() if 2 * both[0] > both[1])


def unread_sentences(unread: Iterable[UnreadStep]) -> list[str]:
    """Return a sentence for each step and what it reads."""
    steps = by_key(((one.step, one.reads), one) for one in unread)
    return [_sentence(*key, cells) for key, cells in steps.items()]


def _sentence(step: str, reads: str, cells: list[UnreadStep]) -> str:
    worst = sorted(cells, key=lambda one: -one.unread / one.replies)
    named = [f"{one.cell} ({one.unread:,} of {one.replies:,})" for one in worst[:SHOWN]]
    named += [f"{len(worst) - SHOWN} more"] if len(worst) > SHOWN else []
    return (
        f"Most replies of step {step} could not be read as {'an' if reads == 'answer' else 'a'} {reads}: "
        f"{', '.join(named)}. See what was asked and said: cortexdsl view"
    )
