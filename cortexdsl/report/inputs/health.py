"""What went wrong in the debates of each cell, read from scores.csv and said in one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cortexdsl.analysis.units.replicates import absent_replicates, said_absent
from cortexdsl.numbers import counted, number
from cortexdsl.report.inputs.rows import read_rows

OUTCOMES = {
    "cut": "cut at their length limit",
    "repetitive": "that say the same over and over",
    "refused": "that refuse",
    "empty": "without a word",
    "tool_calls": "that call a tool",
    "other_language": "in another script than their question",
    "unmeasured": "whose confidence could not be measured",
}
"""What kinds of replies are counted apart, as a sentence lists them."""
TROUBLES = ("failures", "unparsed_turns", "unparsed", "unanswered", "was_tied", *OUTCOMES)


@dataclass(frozen=True, slots=True)
class Health:
    """What went wrong in the debates of one cell, summed over the rows of scores.csv.

    Attributes
    ----------
    debates, calls : int
        Out of how many.
    counts : mapping of column to int
        `failures` (calls without words), `unparsed_turns` (turns of which nothing could be read), `unparsed`
        (debaters whose last answer could not be read), `unanswered` and `was_tied` (debates).
    stops : mapping of reason to int
        Why debates ended.
    absent : mapping of dataset to replicates
        That it has no row of, though another cell has.
    """

    cell: str
    debates: int
    calls: int
    counts: Mapping[str, int]
    stops: Mapping[str, int]
    absent: Mapping[str, tuple[str, ...]]


def read_health(folder: Path) -> tuple[Health, ...]:
    """Read what went wrong from scores.csv, where it is there."""
    sums: dict[str, Counter[str]] = {}
    stops: dict[str, Counter[str]] = {}
    places: dict[tuple[str, str, str], None] = {}
    for row in read_rows(folder / "scores.csv"):
        cell = row["cell"]
        places[row["dataset"], cell, row["replicate"]] = None
        sums.setdefault(cell, Counter()).update(debates=1, calls=row.whole("calls") or 0)
        sums[cell].update({column: row.whole(column) or 0 for column in TROUBLES})
        stops.setdefault(cell, Counter())[row.get("stop") or "unknown"] += 1
    absent = absent_replicates(places)
    return tuple(
        Health(
            cell, total["debates"], total["calls"], {column: total[column] for column in TROUBLES},
            dict(sorted(stops[cell].items())), {place[0]: which for place, which in absent.items() if place[1] == cell},
        )
        for cell, total in sums.items()
    )  # fmt: skip


def health_line(rows: Sequence[Health]) -> str:
    """Return all troubles of the experiment in one sentence."""
    debates, calls = sum(row.debates for row in rows), sum(row.calls for row in rows)
    total = {key: sum(row.counts[key] for row in rows) for key in rows[0].counts} if rows else {}
    absent = said_absent({(dataset, row.cell): which for row in rows for dataset, which in row.absent.items()})
    if not any(total.get(key) for key in ("failures", "unparsed_turns", "unanswered")):
        said = f"All {counted(calls, 'reply', 'replies')} of {counted(debates, 'debate')} arrived and could be read."
        return f"{said}{_outcomes(total)} {absent}".strip()
    said = (
        f"Of {counted(calls, 'call')} in {counted(debates, 'debate')}, {counted(total['failures'], 'call')} brought no "
        f"reply, {counted(total['unparsed_turns'], 'turn')} could not be read, and "
        f"{counted(total['unanswered'], 'debate')} ended without an answer."
    )
    return f"{said}{_outcomes(total)} {absent}".strip()


def _outcomes(total: Mapping[str, int]) -> str:
    """List the kinds of replies that were counted; nothing where there was none of any."""
    found = [f"{number(total[kind], 1)} {what}" for kind, what in OUTCOMES.items() if total.get(kind)]
    return f" Among the replies: {', '.join(found)}." if found else ""
