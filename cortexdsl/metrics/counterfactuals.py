"""Score rows of counterfactual debates, paired with those of the debates that they branch from.

Apart from `scores`, because the statistics of counterfactuals load scipy, and the job that scores debates does without.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from cortexdsl.core import EMPTY
from cortexdsl.errors import RecordError
from cortexdsl.metrics.scores import DecidedIn, Row, score_rows
from cortexdsl.metrics.view import Grade
from cortexdsl.records import Record
from cortexdsl.stats.whatif import ANSWER_CHANGED, OWN_CALLS, name_without


def whole_rows(
    records: Sequence[Record],
    grade: Grade,
    clusters: Mapping[str, str | None],
    also: Mapping[str, Grade] = EMPTY,
    decided: DecidedIn | None = None,
) -> list[Row]:
    """Score the original debates of a cell on one dataset; `also` and `decided` as in `score_rows`."""
    return score_rows(records, grade, also=also, labels={"cluster": clusters}, decided=decided)


def branch_rows(
    whole: Sequence[Record],
    branched: Sequence[Record],
    grade: Grade,
    clusters: Mapping[str, str | None],
    also: Mapping[str, Grade] = EMPTY,
    decided: DecidedIn | None = None,
) -> Iterator[Row]:
    """Yield a row for each counterfactual debate of a cell; its cell is the `name_without` what is left out.

    Raises
    ------
    RecordError
        A debate is not a counterfactual of one of these.
    """
    originals = {(one.header.replicate, one.debate.question_id): one.debate for one in whole}
    named = []
    for record in branched:
        header = record.header
        if not header.without or (header.replicate, record.debate.question_id) not in originals:
            raise RecordError(
                f"cell {header.cell!r}, replicate {header.replicate}, question {record.debate.question_id!r}: "
                "this is not a counterfactual of this experiment\n    delete results/NAME/whatif and ask again"
            )
        named.append(
            replace(record, header=replace(header, cell=name_without(header.cell, header.without), without=""))
        )
    rows = score_rows(named, grade, also=also, labels={"cluster": clusters}, decided=decided)
    for record, row in zip(named, rows, strict=True):
        debate = record.debate
        original = originals[record.header.replicate, debate.question_id]
        shared = {turn.call for turn in original.all_turns}
        yield row | {
            ANSWER_CHANGED: float(debate.answer != original.answer),
            OWN_CALLS: len({turn.call for turn in debate.all_turns} - shared),
        }
