"""Counterfactual debates as rows beside the rows of the debates that they branch from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from cortexdsl.analysis.metrics.view import Grade
from cortexdsl.analysis.units.scores import Row, score_rows
from cortexdsl.errors import RecordError
from cortexdsl.records import Record
from cortexdsl.terms import EMPTY

CHANGED, ASKED_BESIDE = "changed", "asked_beside"
"""Whether the answer is another one; calls that the debate does not share with the one that it branches from."""


def called(cell: str, without: str) -> str:
    """Return what a cell without something is called in tables, where no cell of a plan can be called so."""
    return f"{cell} without {without}"


def whole_rows(
    records: Sequence[Record],
    grade: Grade,
    clusters: Mapping[str, str | None],
    also: Mapping[str, Grade] = EMPTY,
) -> list[Row]:
    """Score the debates of a cell on one dataset, as they are; `also` as in `score_rows`."""
    return score_rows(records, grade, also=also, labels={"cluster": clusters})


def branch_rows(
    whole: Sequence[Record],
    branched: Sequence[Record],
    grade: Grade,
    clusters: Mapping[str, str | None],
    also: Mapping[str, Grade] = EMPTY,
) -> Iterator[Row]:
    """Yield a row for each debate that branches from one of a cell; its cell is `called` after what is left out.

    Raises
    ------
    RecordError
        A debate branches from none, or is no counterfactual.
    """
    originals = {(one.header.replicate, one.debate.question_id): one.debate for one in whole}
    named = []
    for record in branched:
        header = record.header
        if not header.without or (header.replicate, record.debate.question_id) not in originals:
            raise RecordError(
                f"cell {header.cell!r}, replicate {header.replicate}, question {record.debate.question_id!r}: "
                "this is no counterfactual of the debates beside it\n    delete results/NAME/whatif and ask again"
            )
        named.append(replace(record, header=replace(header, cell=called(header.cell, header.without), without="")))
    for record, row in zip(named, score_rows(named, grade, also=also, labels={"cluster": clusters}), strict=True):
        debate = record.debate
        original = originals[record.header.replicate, debate.question_id]
        shared = {turn.call for turn in original.turns}
        yield row | {
            CHANGED: float(debate.answer != original.answer),
            ASKED_BESIDE: len({turn.call for turn in debate.turns} - shared),
        }
