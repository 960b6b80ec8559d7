"""Racing: which cells must still be debated, because a comparison of theirs is open.

A claim is taken apart into the contrasts that must all hold. A cell goes on while a contrast of its own is open in a
claim that is open. A claim such as `accuracy(sparse) > accuracy(every other)` thereby drops each rival as soon as it is
beaten, and is over as soon as one rival beats it.

Each claim has an equal share of alpha (Bonferroni; a contrast against which a claim loses shares it again with the
claim's other contrasts), and every contrast is judged by evidence that holds whenever one stops: so the chance that
any cell is dropped on a wrong verdict is at most alpha, whatever the number of cells, looks and orders of dropping.
That of a dropped cell is frozen, since both cells of a contrast are compared on the questions that both were asked; and
what Bonferroni's share has decided, Holm's correction of the verdicts decides as well.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from cortexdsl.analysis.sequential.leaves import finding_of, leaves_of
from cortexdsl.analysis.sequential.sequential import judge_anytime, look_ends, sizes_of
from cortexdsl.analysis.sequential.streams import asked_so_far
from cortexdsl.analysis.units.table import ScoreTable, score_table
from cortexdsl.spec.claims.arms import Arm, arms_of
from cortexdsl.spec.claims.designs import Design, design_of
from cortexdsl.spec.claims.language import Claim, parse_claim


def live_cells(
    table: ScoreTable,
    claims: Sequence[str | Claim],
    arms: Sequence[Arm] = (),
    *,
    planned: Mapping[str, int] | None = None,
    alpha: float = 0.05,
    correction: str = "holm",
    withdrawn: int = 0,
    among: Collection[str] | None = None,
) -> tuple[str, ...]:
    """Return the cells that must be debated on, in the order of the table; none where every claim is decided.

    Parameters
    ----------
    table : ScoreTable
        What is there so far; cells that were dropped have fewer questions (its column `asked`).
    claims, arms, planned, alpha, correction, withdrawn
        As for `judge_anytime`. With the correction `none` each claim has all of alpha.
    among : collection of str or None
        The cells that were live so far, by default all. Who was dropped does not come back, and a contrast with them
        can learn nothing more.
    """
    parsed = [parse_claim(claim) if isinstance(claim, str) else claim for claim in claims]
    known, sizes = tuple(arms) or arms_of(table.cells), planned or sizes_of(table)
    level = alpha if correction == "none" else alpha / (len(parsed) + withdrawn)
    running = set(table.cells if among is None else among)
    wanted = [cells for claim in parsed for cells in _open(design_of(claim, known), table, sizes, level)]
    live = {cell for cells in wanted if cells <= running for cell in cells}
    return tuple(cell for cell in table.cells if cell in live)


def _open(design: Design, table: ScoreTable, planned: Mapping[str, int], level: float) -> list[set[str]]:
    """The cells of each open contrast of a claim; none where the claim is lost."""
    leaves, wanted = leaves_of(design, table), []
    for leaf in leaves:
        found = finding_of(leaf, table, planned)
        is_open = found.unseen.turns
        if not (found.supports or is_open) and found.p * len(leaves) <= level:
            return []
        if is_open or not (found.supports and found.p <= level):
            wanted.append(set(leaf.design.cells))
    return wanted


@dataclass(frozen=True, slots=True, eq=False)
class Race:
    """How a race went.

    Attributes
    ----------
    verdicts : DataFrame
        At its end, in the columns of hypotheses.csv.
    asked : mapping of cell to int
        Questions that it was asked, of all datasets.
    saved : float
        The share of all questions of all cells that was not asked.
    """

    verdicts: pd.DataFrame
    asked: Mapping[str, int]
    saved: float


def race(
    scores: pd.DataFrame | ScoreTable,
    claims: Sequence[str | Claim],
    arms: Sequence[Arm] = (),
    *,
    batch: int = 50,
    fewest: int = 50,
    alpha: float = 0.05,
    correction: str = "holm",
) -> Race:
    """Run a race over a finished table: what would have been asked, and the verdicts then."""
    table = scores if isinstance(scores, ScoreTable) else score_table(scores)
    planned = sizes_of(table)
    total = max(planned.values())
    live, ends = table.cells, dict.fromkeys(table.cells, 0)
    for end in look_ends(total, batch, fewest):
        ends |= dict.fromkeys(live, end)
        so_far = asked_so_far(table, ends, planned)
        live = live_cells(so_far, claims, arms, planned=planned, alpha=alpha, correction=correction, among=live)
        if not live:
            break
    verdicts = judge_anytime(so_far, claims, arms, planned=planned, alpha=alpha, correction=correction)
    counts = pd.Series(so_far.frame["cell"]).value_counts()
    replicates = np.maximum(pd.Series(table.frame["cell"]).value_counts() // sum(planned.values()), 1)
    asked = {cell: int(counts[cell] // replicates[cell]) for cell in table.cells}
    return Race(verdicts, asked, 1 - len(so_far.frame) / len(table.frame))
