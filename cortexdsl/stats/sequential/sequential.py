"""Early stopping: verdicts that stay valid however often one looks.

Questions enter in the order of the table. The table of an experiment under way holds finished batches only, because an
absent row counts as missing. A verdict here and that of the usual test on the same questions may differ in whether they
decide, but never in direction: evidence for one side needs an estimate on that side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def _examine(design: Design, table: ScoreTable, planned: Mapping[str, int], alpha: float) -> Finding:
    """Return the finding on a claim so far."""
    findings = [finding_of(leaf, table, planned, alpha) for leaf in leaves_of(design, table)]
    shown = all_of(findings)
    return shown if len(findings) == 1 else replace(shown, null=f"{ONE_FAILS}{shown.null}")
