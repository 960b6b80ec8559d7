"""Stopping early, honestly: verdicts that hold whenever one looks, and where an experiment could have stopped.

Questions enter in the order in which the table has them; a table of an experiment that is under way holds
finished batches only, for a row that is absent counts as missing.

A verdict here and the verdict of the usual test on the same questions may differ in whether they decide, never in what:
evidence for one side comes only with an estimate on that side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from cortexdsl.analysis.claims.findings import Finding, all_of
from cortexdsl.analysis.claims.hypotheses import COLUMNS, row_of, verdict_of
from cortexdsl.analysis.phrasing import ONE_FAILS
from cortexdsl.analysis.phrasing import withdrawn as withdrawn_note
from cortexdsl.analysis.sequential.corrected import Course
from cortexdsl.analysis.sequential.leaves import finding_of, leaves_of
from cortexdsl.analysis.sequential.streams import asked_so_far
from cortexdsl.analysis.tests.corrections import adjust
from cortexdsl.analysis.units.table import ScoreTable, score_table
from cortexdsl.errors import InputError
from cortexdsl.spec.claims.arms import Arm, arms_of
from cortexdsl.spec.claims.checks import unlookable
from cortexdsl.spec.claims.designs import Design, design_of
from cortexdsl.spec.claims.language import Claim, parse_claim
from cortexdsl.terms import in_step


@dataclass(frozen=True, slots=True, eq=False)
class Stopping:
    """Where an experiment stops.

    Attributes
    ----------
    questions, planned : mapping of dataset to int
        How many were needed when it stops (the first look at which every claim is decided, else the last), and how
        many there are.
    verdicts : DataFrame
        As of that look, in the columns of hypotheses.csv; p-values hold however often one looked.
    looks : DataFrame
        `questions` (of all datasets) and how many claims were `decided`, a row per look.
    saved : float
        The share of calls (of questions, where the table counts no calls) that was not spent.
    """

    questions: Mapping[str, int]
    planned: Mapping[str, int]
    verdicts: pd.DataFrame
    looks: pd.DataFrame
    saved: float


def judge_anytime(
    scores: pd.DataFrame | ScoreTable,
    claims: Sequence[str | Claim],
    arms: Sequence[Arm] = (),
    *,
    planned: Mapping[str, int] | None = None,
    alpha: float = 0.05,
    correction: str = "holm",
    withdrawn: int = 0,
    looks: Sequence[int] = (),
) -> pd.DataFrame:
    """Answer claims from what is there so far, validly however often this is done.

    Parameters
    ----------
    planned : mapping of dataset to int, optional
        How many questions each dataset has in the end; by default those that are there.
    correction : str
        `holm` (the default) holds at any time; false discovery rates do not.
    withdrawn : int
        Claims declared before the run and no longer made: they still count in the correction.
    looks : sequence of int
        After how many questions of the largest dataset one looked, as `look_ends` has them; later ones do not count.
        With them the estimates of differences, ratios and means are corrected for the looks.

    Returns
    -------
    DataFrame
        The columns of hypotheses.csv. Intervals are confidence sequences; NaN where there are too few questions for
        one.
    """
    if correction not in ("holm", "none"):
        raise InputError(f"stopping early goes with the correction holm or none, not {correction}")
    table = scores if isinstance(scores, ScoreTable) else score_table(scores)
    sizes = planned or sizes_of(table)
    known = tuple(arms) or arms_of(table.cells)
    parsed = [parse_claim(claim) if isinstance(claim, str) else claim for claim in claims]
    for claim in parsed:
        if why := unlookable(claim):
            raise InputError(f"the claim {claim.text!r} cannot be looked at early: {why}")
    shared = alpha if correction == "none" else alpha / (len(parsed) + withdrawn)
    course = Course(tuple(looks), sizes, shared) if looks else None
    found = [_examine(design_of(claim, known), table, sizes, alpha, course) for claim in parsed]
    p = adjust([one.p for one in found], correction, withdrawn)
    absent = withdrawn_note(withdrawn, correction)
    unseen = [one.unseen.note if q <= alpha else "" for one, q in zip(found, p, strict=True)]
    notes = ["; ".join(filter(None, [large, one.note, absent])) for one, large in zip(found, unseen, strict=True)]
    rows = [
        row_of(claim, replace(one, note=note), q, verdict_of(one, q, alpha), False)
        for claim, one, q, note in zip(parsed, found, p, notes, strict=True)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def stopping_point(
    scores: pd.DataFrame | ScoreTable,
    claims: Sequence[str | Claim],
    arms: Sequence[Arm] = (),
    *,
    batch: int = 50,
    fewest: int = 50,
    alpha: float = 0.05,
    correction: str = "holm",
) -> Stopping:
    """Look after every batch and stop when every claim is decided.

    Parameters
    ----------
    scores : DataFrame or ScoreTable
        Of a finished experiment.
    batch, fewest : int
        Questions of the largest dataset between two looks, and before the first; of others as large a share.
    """
    if not claims:
        raise InputError("stopping needs a claim")
    table = scores if isinstance(scores, ScoreTable) else score_table(scores)
    planned = sizes_of(table)
    total = max(planned.values())
    looks = []
    for end in look_ends(total, batch, fewest):
        asked = {name: in_step(end, size, total) for name, size in planned.items()}
        so_far = asked_so_far(table, dict.fromkeys(table.cells, end), planned)
        verdicts = judge_anytime(so_far, claims, arms, planned=planned, alpha=alpha, correction=correction)
        decided = int((verdicts["verdict"] != "undecided").sum())
        looks.append((sum(asked.values()), decided))
        if decided == len(verdicts):
            break
    ends = look_ends(total, batch, fewest)[: len(looks)]
    verdicts = judge_anytime(so_far, claims, arms, planned=planned, alpha=alpha, correction=correction, looks=ends)
    shown = pd.DataFrame(looks, columns=["questions", "decided"])
    return Stopping(asked, planned, verdicts, shown, _saved(table, so_far))


def look_ends(total: int, batch: int, fewest: int) -> list[int]:
    """After how many questions one looks: the first `fewest`, each `batch` more, and all of them."""
    if batch < 1 or fewest < 1:
        raise InputError("looks need a batch of at least 1 and at least 1 question before the first one")
    return [*range(min(fewest, total), total, batch), total]


def sizes_of(table: ScoreTable) -> dict[str, int]:
    """How many questions of each dataset are there."""
    return {name: len(ids) for name, ids in zip(table.datasets, table.questions, strict=True)}


def _saved(table: ScoreTable, so_far: ScoreTable) -> float:
    if "calls" not in table.frame:
        return 1 - len(so_far.frame) / len(table.frame)
    whole = float(np.nansum(table.column("calls")))
    return 1 - float(np.nansum(so_far.column("calls"))) / whole if whole > 0 else 0.0


def _examine(
    design: Design, table: ScoreTable, planned: Mapping[str, int], alpha: float, course: Course | None
) -> Finding:
    found = [finding_of(leaf, table, planned, alpha, course) for leaf in leaves_of(design, table)]
    shown = all_of(found)
    return shown if len(found) == 1 else replace(shown, null=f"{ONE_FAILS}{shown.null}")
