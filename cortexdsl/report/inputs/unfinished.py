"""What a run that stopped has left undone: a report must begin with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cortexdsl.numbers import counted
from cortexdsl.plan.parts.layout import Layout
from cortexdsl.records.tallies import Tallies
from cortexdsl.watch.expected import expected_from
from cortexdsl.watch.progress import Progress, Row
from cortexdsl.watch.watched import Watched
from cortexdsl.watch.words import has_many_datasets, name_of

ENDED = ("failed", "stopped", "silent")
MOST = 5  # cells named in a sentence


@dataclass(frozen=True, slots=True)
class Unfinished:
    """An experiment whose debates are not all done, and none of whose jobs runs.

    Attributes
    ----------
    sentence : str
        How much is done, why it stopped, and what was not done, in one line.
    cells : tuple of (name, done, total)
        Those that lack debates.
    """

    sentence: str
    cells: tuple[tuple[str, int, int], ...]


def read_unfinished(folder: Path, plan: Mapping[str, Any]) -> Unfinished | None:
    """Return what is left undone; None where all is done, or no job has said anything.

    Parameters
    ----------
    folder : Path
        `results/<experiment>`.
    plan : mapping
        Of plan.json.
    """
    if not Tallies(Path(Layout(folder.as_posix()).ledgers)).read() or "shards" not in plan:
        return None
    shown = Watched(expected_from(plan, folder.as_posix())).look()
    if shown.running or shown.all.done >= shown.all.total:
        return None
    many = has_many_datasets(shown)
    left = tuple((name_of(row, many_datasets=many), row.done, row.total) for row in shown.rows if row.done < row.total)
    return Unfinished(_sentence(shown, left), left)


def left_line(unfinished: Unfinished | None) -> str:
    """Return how a report of older tables must begin, or nothing where all is done."""
    return f"{unfinished.sentence} What follows is of the tables of an earlier run." if unfinished else ""


def _sentence(shown: Progress, left: tuple[tuple[str, int, int], ...]) -> str:
    done = f"Not finished: {shown.all.done:,} of {counted(shown.all.total, 'debate')} are done."
    why = [_in_sentences(message) for message in shown.messages] or [_state(shown.rows)]
    named = ", ".join(f"{name} {total - done:,} of {total:,}" for name, done, total in left[:MOST])
    more = f" and {len(left) - MOST} more cells" if len(left) > MOST else ""
    return f"{done} {why[0]}{_others(len(why) - 1, shown.experiment)}. Not done: {named}{more}."


def _in_sentences(message: str) -> str:
    """Return what is wrong, and the remedy below it, as sentences of one line; the last has no full stop."""
    parts = (" ".join(part.split()).rstrip(".") for part in message.partition("\n")[::2])
    return ". ".join(part[:1].upper() + part[1:] for part in parts if part)


def _state(rows: tuple[Row, ...]) -> str:
    return "Jobs ended without a word" if any(row.state in ENDED for row in rows) else "The rest was not begun"


def _others(number: int, experiment: str) -> str:
    return f" (and {counted(number, 'other message')}: cortexdsl status {experiment})" if number else ""
