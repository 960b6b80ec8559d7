"""The report's table of trainings: which replies made pairs, and how well they were learned."""

from __future__ import annotations

from collections.abc import Sequence

from cortexdsl.numbers import NOTHING, estimate, number
from cortexdsl.report.inputs.learned import Learned, Look
from cortexdsl.report.tables.written.table import Column, Entry, Table, words
from cortexdsl.watch.words import duration

NAME = "learning"


def learning_table(learned: Sequence[Learned]) -> Table | None:
    """Return what each phase kept and came to; None where nothing learns."""
    if not learned:
        return None
    heads = (
        Column("Phase", ("phase",), is_numeric=False),
        Column("Replies", ("replies",)),
        Column("Pairs", ("pairs",)),
        Column("Guided right", ("right", "share_right")),
        Column("Guided wrong", ("wrong", "share_wrong")),
        Column("Learned", ("learned",)),
        Column("Loss before", ("loss_before",)),
        Column("Loss after", ("loss_after",)),
        Column("Preferred", ("preferred",)),
        Column("Processor time", ("processor_seconds",)),
    )
    note = (
        "Of the questions that are learned from. Pairs: replies of which one was worth more than the other by the "
        "threshold; in those guided right that reply was preferred to the natural one, in those guided wrong the "
        "natural one to it. Learned: examples that training has read. Loss and the share of pairs whose better reply "
        "gained more than the worse one are of the questions kept for validation."
    )
    return Table(NAME, "What was learned from debates.", heads, tuple(map(_row, learned)), note)


def _row(phase: Learned) -> tuple[Entry, ...]:
    right, wrong = phase.counts.get("right", 0), phase.counts.get("wrong", 0)
    first, last = (phase.looks[0], phase.looks[-1]) if phase.looks else (None, None)
    preferred = last.preferred if last else None
    return (
        words(phase.name),
        _count(phase.counts.get("moments", 0)),
        _count(right + wrong),
        _kept(right, right + wrong),
        _kept(wrong, right + wrong),
        _count(phase.examples),
        _loss(first),
        _loss(last),
        Entry(estimate(preferred, "share"), (preferred,)),
        Entry(NOTHING if phase.seconds is None else duration(phase.seconds), (phase.seconds,)),
    )


def _count(value: int | None) -> Entry:
    return Entry(NOTHING if value is None else f"{value:,}", (value,))


def _loss(look: Look | None) -> Entry:
    return Entry(number(look.loss), (look.loss,)) if look else Entry(NOTHING, (None,))


def _kept(count: int, pairs: int) -> Entry:
    share = count / pairs if pairs else None
    return Entry(f"{count}", (count, share), more=f"({estimate(share, 'share')})" if pairs else "")
