"""persuasion.csv: who took over whose answers, and were they right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pandas as pd

from cortexdsl.analysis.metrics.measures.persuasion import exposures
from cortexdsl.analysis.metrics.view import Grade, graded
from cortexdsl.records import Record

COUNTS = ("faced", "adopted", "right_faced", "right_adopted", "wrong_faced", "wrong_adopted")
COLUMNS = ("dataset", "cell", "speaker", "listener", *COUNTS)


def persuasion_table(records: Iterable[Record], grade: Grade) -> pd.DataFrame:
    """Count, edge by edge, what the debaters of one dataset's records heard that was not their own answer.

    Returns
    -------
    DataFrame
        One row for each cell, speaker and listener between whom that ever happened, in order of appearance; the
        speaker may be no debater (an adversary from outside). `faced`: revisions before which the listener heard an
        answer of the speaker that was not its own; `adopted`: those that took it over; `right_faced`: those in which
        the answer heard was right and the listener's own was wrong; `wrong_faced`: the other way round. Where both
        were wrong, or both right in other words, a revision counts in the first two alone. An answer that two
        speakers gave counts for both.
    """
    counts: dict[tuple[str, str, str, str], Counter[str]] = {}
    for record in records:
        for each in exposures(graded(record.debate, grade)):
            pair = record.header.dataset, record.header.cell, each.speaker, each.listener
            kinds = ["faced"]
            if each.said_right != each.held_right:
                kinds.append("right_faced" if each.said_right else "wrong_faced")
            adopted = [kind.replace("faced", "adopted") for kind in kinds] if each.adopted else []
            counts.setdefault(pair, Counter()).update([*kinds, *adopted])
    rows = [[*pair, *(found[name] for name in COUNTS)] for pair, found in counts.items()]
    return pd.DataFrame(rows, columns=list(COLUMNS))
