"""agreement.csv: how far the judge agrees with exact match, by dataset and cell and over all cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cortexdsl.analysis.units.scores import Row
from cortexdsl.tasks.grading.judge import agreement
from cortexdsl.tasks.grading.judgements import Answered

EVERY_CELL = "all"


def agreement_rows(
    dataset: str, by_cell: Mapping[str, Mapping[Answered, bool | None]], exact: Mapping[Answered, bool]
) -> Iterable[Row]:
    """Compare judgements with exact match.

    Each different answer to a question counts once within a cell, and once over all cells (`all`).

    Parameters
    ----------
    dataset : str
    by_cell : mapping of cell to judgements
        (question id, answer) -> correct, incorrect, or None: unreadable, counted and left out of the rest.
    exact : mapping
        (question id, answer) -> exact match; empty where answers are no short texts.

    Returns
    -------
    iterable of dict
        `dataset, cell, answers, unread` (counts of different answers), `correct` (share of the readable ones),
        `exact` (share of them that match exactly), `agree`, `kappa`, `judge_only`, `exact_only`: see
        `cortexdsl.tasks.grading.judge.Agreement`. What cannot be computed is None.
    """
    together = {answered: said for judged in by_cell.values() for answered, said in judged.items()}
    for cell, judged in [*by_cell.items(), (EVERY_CELL, together)]:
        read = {answered: said for answered, said in judged.items() if said is not None}
        row: Row = {
            "dataset": dataset,
            "cell": cell,
            "answers": len(judged),
            "unread": len(judged) - len(read),
            "correct": sum(read.values()) / len(read) if read else None,
        }
        found = agreement(list(read.values()), [exact[answered] for answered in read]) if read and exact else None
        row["exact"] = sum(exact[answered] for answered in read) / len(read) if found else None
        row["agree"] = found.agree if found else None
        row["kappa"] = found.kappa if found else None
        row["judge_only"] = found.judge_only if found else None
        row["exact_only"] = found.exact_only if found else None
        yield row
