"""Stopping early, honestly: verdicts that hold whenever one looks, and where an experiment could have stopped.

Questions enter in the order in which the table has them; a table of an experiment that is under way holds
finished batches only, for a row that is absent counts as missing.
Claims about scores in [0, 1] are tested by betting on their means; claims about other metrics and ratios by the
sign of each question's contrast, a hypothesis about the typical question rather than the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from cortexdsl.analysis.claims.designs import Design, design_of
from cortexdsl.analysis.claims.findings import Finding, all_of
from cortexdsl.analysis.claims.hypotheses import COLUMNS, WITHDRAWN, verdict_of
from cortexdsl.analysis.sequential.betting import (
    anytime_p,
    confidence_sequence,
    evidence_above,
    evidence_below,
    sign_evidence,
)
from cortexdsl.analysis.tests.contrasts import gap_of
from cortexdsl.analysis.tests.corrections import adjust
from cortexdsl.analysis.units.arms import Arm, arms_of
from cortexdsl.analysis.units.table import ScoreTable, score_table
from cortexdsl.analysis.units.units import units
from cortexdsl.errors import InputError
from cortexdsl.spec.claims import EVERY, Claim, parse_claim
from cortexdsl.terms import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Stopping:
    """Where an experiment stops.

    Attributes
    ----------
    questions : int
        Of each dataset, when it stops: the first look at which every claim is decided, else all.
    total : int
        Of each dataset, had it not stopped.
    verdicts : DataFrame
        As of that look, in the columns of hypotheses.csv; p-values hold however often one looked.
    looks : DataFrame
        `questions` and how many claims were `decided`, a row per look.
    saved : float
        The share of calls (of questions, where the table counts no calls) that was not spent.
    """

    questions: int
    total: int
    verdicts: pd.DataFrame
    looks: pd.DataFrame
    saved: float


def judge_anytime(
    scores: pd.DataFrame | ScoreTable,
    claims: Sequence[str | Claim],
    arms: Sequence[Arm] = (),
    *,
    questions: int | None = None,
    alpha: float = 0.05,
    correction: str = "holm",
    withdrawn: int = 0,
) -> pd.DataFrame:
    """Answer claims from what is there so far, validly however often this is done.

    Parameters
    ----------
    questions : int or None
        Only the first so many of each dataset.
    correction : str
        `holm` (the default) holds at any time; false discovery rates do not.
    withdrawn : int
        Claims declared before the run and no longer made: they still count in the correction.

    Returns
    -------
    DataFrame
        The columns of hypotheses.csv. Intervals are confidence sequences; NaN for tests by sign.
    """
    if correction not in ("holm", "none"):
        raise InputError(f"stopping early goes with the correction holm or none, not {correction}")
    table = scores if isinstance(scores, ScoreTable) else score_table(scores)
    known = tuple(arms) or arms_of(table.cells)
    parsed = [parse_claim(claim) if isinstance(claim, str) else claim for claim in claims]
    found = [_examine(design_of(claim, known), table, questions, alpha) for claim in parsed]
    p = adjust([one.p for one in found], correction, withdrawn)
    absent = WITHDRAWN.format(withdrawn) if withdrawn else ""
    notes = ["; ".join(filter(None, [one.note, absent])) for one in found]
    rows = [
        (claim.text, one.estimate, one.low, one.high, one.p, q, verdict_of(one, q, alpha), one.test, False, note)
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
        What is there so far: of a finished experiment, or of one that is under way.
    batch, fewest : int
        Questions of each dataset between two looks, and before the first.
    """
    if batch < 1 or fewest < 1 or not claims:
        raise InputError("stopping needs a claim, a batch of at least 1 and at least 1 question before the first look")
    table = scores if isinstance(scores, ScoreTable) else score_table(scores)
    total = max(len(ids) for ids in table.questions)
    ends = [*range(min(fewest, total), total, batch), total]
    looks = []
    for end in ends:
        verdicts = judge_anytime(table, claims, arms, questions=end, alpha=alpha, correction=correction)
        decided = int((verdicts["verdict"] != "undecided").sum())
        looks.append((end, decided))
        if decided == len(verdicts):
            break
    return Stopping(end, total, verdicts, pd.DataFrame(looks, columns=["questions", "decided"]), _saved(table, end))


def _saved(table: ScoreTable, questions: int) -> float:
    spent = table.column("calls") if "calls" in table.frame else np.ones(len(table.frame))
    whole = float(np.nansum(spent))
    return float(np.nansum(spent[table.question >= questions])) / whole if whole > 0 else 0.0


def _examine(design: Design, table: ScoreTable, questions: int | None, alpha: float) -> Finding:
    if design.claim.dataset == EVERY:
        return all_of([_find(design, table, (name,), questions, alpha) for name in table.datasets])
    return _find(design, table, (design.claim.dataset,) if design.claim.dataset else table.datasets, questions, alpha)


def _find(design: Design, table: ScoreTable, datasets: Sequence[str], questions: int | None, alpha: float) -> Finding:
    weights = design.weights * design.scale
    if design.ratio:
        weights = np.array([[1.0, -design.null]])
    layers, scored, gap = [], True, ""
    for name in datasets:
        sample = units(table, design.claim.metric, design.cells, (name,))
        gap = gap or gap_of(sample, range(len(design.cells)))
        if sample.clustered:
            raise InputError("stopping early needs questions without declared clusters")
        scored = scored and bool(((sample.values >= 0) & (sample.values <= 1)).all())
        layers.append(weights @ sample.values[:, :questions])
    if gap:
        return Finding(np.nan, np.nan, np.nan, f"none: {gap}", False, np.nan)
    common = min(layer.shape[1] for layer in layers)
    values = np.mean([layer[:, :common] for layer in layers], axis=0)
    ends = [(float(row[row < 0].sum()), float(row[row > 0].sum())) for row in weights]
    bounded = scored and table.metric(design.claim.metric).unit == "share"
    if design.joint:
        return _joint(values, ends, bounded, design)
    found = [
        _one(row, end, bounded, design, note, alpha) for row, end, note in zip(values, ends, design.notes, strict=True)
    ]
    return all_of(found)


def _one(values: Floats, ends: tuple[float, float], bounded: bool, design: Design, note: str, alpha: float) -> Finding:
    null = 0.0 if design.ratio else design.null
    if design.margin is not None:
        return _within(values, ends, bounded, design, design.margin, note)
    above, below = _evidence(values, null, ends, bounded)
    p_above, p_below = anytime_p(above), anytime_p(below)
    upward = p_above < p_below if p_above != p_below else values.mean() > null
    supports = bool(upward == (design.sign > 0))
    low, high = confidence_sequence(values, *ends, 1 - alpha) if bounded else (np.nan, np.nan)
    return Finding(float(values.mean()), low, high, _name(bounded), supports, min(p_above, p_below), note)


def _within(
    values: Floats, ends: tuple[float, float], bounded: bool, design: Design, margin: float, note: str
) -> Finding:
    """Two one-sided tests, inside or outside of the margin."""
    lower = _evidence(values, design.null - margin, ends, bounded)
    upper = _evidence(values, design.null + margin, ends, bounded)
    inside = max(anytime_p(lower[0], 1), anytime_p(upper[1], 1))
    outside = min(anytime_p(upper[0]), anytime_p(lower[1]))
    low, high = confidence_sequence(values, *ends, 0.9) if bounded else (np.nan, np.nan)
    p, supports = (inside, True) if inside <= outside else (outside, False)
    return Finding(float(values.mean()), low, high, f"two {_name(bounded)}", supports, p, note)


def _joint(values: Floats, ends: Sequence[tuple[float, float]], bounded: bool, design: Design) -> Finding:
    """Evidence that not all contrasts are 0: the mean of all e-values, of both sides."""
    sides = [side for row, end in zip(values, ends, strict=True) for side in _evidence(row, 0.0, end, bounded)]
    largest = int(np.argmax(np.abs(values.mean(axis=1))))
    p = anytime_p(np.logaddexp.reduce(sides, axis=0) - np.log(len(sides)), 1)
    estimate = float(values[largest].mean())
    return Finding(estimate, np.nan, np.nan, _name(bounded), True, p, design.notes[largest])


def _evidence(values: Floats, null: float, ends: tuple[float, float], bounded: bool) -> tuple[Floats, Floats]:
    if not bounded:
        return sign_evidence(values - null), sign_evidence(null - values)
    nothing = np.zeros(len(values))
    above = evidence_above(values, null, ends[0]) if null > ends[0] else nothing
    return above, evidence_below(values, null, ends[1]) if null < ends[1] else nothing


def _name(bounded: bool) -> str:
    return "e-process of the mean" if bounded else "e-process of signs"
