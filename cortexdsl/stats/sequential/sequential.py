"""Early stopping and racing: verdicts that stay valid however often one looks.

Questions enter in the order of the table. The table of an experiment under way holds finished batches only, because an
absent row counts as missing. A verdict here and that of the usual test on the same questions may differ in whether they
decide, but never in direction: evidence for one side needs an estimate on that side.

Racing drops cells. A claim is split into the contrasts that must all hold, and a cell continues while one of its
contrasts is open in an open claim. So `accuracy(sparse) > accuracy(every other)` drops each rival as soon as it is
beaten, and ends as soon as one rival wins. Each claim has an equal share of alpha (Bonferroni; a contrast against which
a claim loses shares it again with the claim's other contrasts), and evidence stays valid whenever one stops. So the
probability that any cell is dropped on a wrong verdict is at most alpha, whatever the number of cells, looks and orders
of dropping. The evidence on a dropped cell is frozen, because both cells of a contrast are compared on the questions
that both were asked; and whatever Bonferroni's share has decided, Holm's correction of the verdicts decides as well.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from cortexdsl.claims.cells import CellNames, cells_of
from cortexdsl.claims.designs import Design, design_of
from cortexdsl.claims.meaning import why_not_early
from cortexdsl.claims.parser import parse_claim
from cortexdsl.claims.values import Claim
from cortexdsl.errors import InputError
from cortexdsl.stats.findings import Finding, all_of
from cortexdsl.stats.inference.families import adjust
from cortexdsl.stats.inference.phrases import ONE_FAILS
from cortexdsl.stats.inference.phrases import withdrawn as withdrawn_note
from cortexdsl.stats.sequential.leaves import finding_of, leaves_of
from cortexdsl.stats.tables.rows import ClaimRow, columns_of_tests
from cortexdsl.stats.tables.score_table import ScoreTable, score_table
from cortexdsl.stats.verdicts import row_of, verdict_of


def evaluate_anytime(
    scores: pd.DataFrame | ScoreTable,
    claims: Sequence[str | Claim],
    arms: Sequence[CellNames] = (),
    *,
    planned: Mapping[str, int] | None = None,
    alpha: float = 0.05,
    correction: str = "holm",
    withdrawn: int = 0,
) -> pd.DataFrame:
    """Return the verdicts on claims so far, valid however often one looks.

    Parameters
    ----------
    planned : mapping of dataset to int, optional
        The final number of questions of each dataset; by default those of the table.
    correction : str
        `holm` (the default) or `none`; false discovery rates are not valid at any time.
    withdrawn : int
        The number of claims declared before the run and no longer made; the correction counts them.

    Returns
    -------
    DataFrame
        The columns of hypotheses.csv. Intervals are confidence sequences; NaN if there are too few questions for one.
    """
    table = scores if isinstance(scores, ScoreTable) else score_table(scores)
    sizes, designs = planned or sizes_of(table), _designs(claims, arms or cells_of(table.cells), correction)
    findings = [_examine(design, table, sizes, alpha) for design in designs]
    p = adjust([one.p for one in findings], correction, withdrawn)
    absent = withdrawn_note(withdrawn, correction)
    unseen = [one.unseen.note if q <= alpha else "" for one, q in zip(findings, p, strict=True)]
    notes = ["; ".join(filter(None, [large, one.note, absent])) for one, large in zip(findings, unseen, strict=True)]
    rows = [
        row_of(design.claim, replace(one, note=note), q, verdict_of(one, q, alpha), False)
        for design, one, q, note in zip(designs, findings, p, notes, strict=True)
    ]
    return pd.DataFrame(rows, columns=columns_of_tests(ClaimRow))


def sizes_of(table: ScoreTable) -> dict[str, int]:
    """Return the number of questions of each dataset."""
    return {name: len(ids) for name, ids in zip(table.datasets, table.questions, strict=True)}


def _designs(claims: Sequence[str | Claim], arms: Sequence[CellNames], correction: str) -> list[Design]:
    """Return the designs of claims that can be tested at any time, under a correction that holds at any time."""
    if correction not in ("holm", "none"):
        raise InputError(f"early stopping works with the correction holm or none, not {correction}")
    parsed = [parse_claim(claim) if isinstance(claim, str) else claim for claim in claims]
    for claim in parsed:
        if why := why_not_early(claim):
            raise InputError(f"the claim {claim.text!r} cannot be looked at early: {why}")
    return [design_of(claim, arms) for claim in parsed]


def _examine(
    design: Design,
    table: ScoreTable,
    planned: Mapping[str, int],
    alpha: float | None = None,
) -> Finding:
    """Return the finding on a claim so far; without `alpha` it has no interval."""
    findings = [finding_of(leaf, table, planned, alpha) for leaf in leaves_of(design, table)]
    shown = all_of(findings)
    return shown if len(findings) == 1 else replace(shown, null=f"{ONE_FAILS}{shown.null}")


def live_cells(
    table: ScoreTable,
    claims: Sequence[str | Claim],
    arms: Sequence[CellNames] = (),
    *,
    planned: Mapping[str, int] | None = None,
    alpha: float = 0.05,
    correction: str = "holm",
    withdrawn: int = 0,
    among: Collection[str] | None = None,
) -> tuple[str, ...]:
    """Return the cells that must continue, in the order of the table; none if every claim is decided.

    Parameters
    ----------
    table : ScoreTable
        The table so far; dropped cells have fewer questions (its column `asked`).
    claims, arms, planned, alpha, correction, withdrawn
        As for `evaluate_anytime`. With the correction `none` each claim has all of alpha.
    among : collection of str or None
        The cells that continued so far, by default all. Dropped cells do not come back, and their contrasts get no more
        evidence.
    """
    parsed = [parse_claim(claim) if isinstance(claim, str) else claim for claim in claims]
    known, sizes = tuple(arms) or cells_of(table.cells), planned or sizes_of(table)
    level = alpha if correction == "none" else alpha / (len(parsed) + withdrawn)
    running = set(table.cells if among is None else among)
    wanted = [cells for claim in parsed for cells in _open(design_of(claim, known), table, sizes, level)]
    live = {cell for cells in wanted if cells <= running for cell in cells}
    return tuple(cell for cell in table.cells if cell in live)


def _open(design: Design, table: ScoreTable, planned: Mapping[str, int], level: float) -> list[set[str]]:
    """Return the cells of each open contrast of a claim; none if the claim is contradicted."""
    leaves, wanted = leaves_of(design, table), []
    for leaf in leaves:
        finding = finding_of(leaf, table, planned)
        is_open = finding.unseen.turns
        if not (finding.supports or is_open) and finding.p * len(leaves) <= level:
            return []
        if is_open or not (finding.supports and finding.p <= level):
            wanted.append(set(leaf.design.cells))
    return wanted
