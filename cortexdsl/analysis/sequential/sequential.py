"""Stopping early, honestly: verdicts that hold whenever one looks, and where an experiment could have stopped.

Questions enter in the order in which the table has them; a table of an experiment that is under way holds
finished batches only, for a row that is absent counts as missing. What is tested is what the claim names: a mean, a
difference of means, or a ratio of means as the mean of `first - ratio * second`.

A verdict here and the verdict of the usual test on the same questions may differ in whether they decide, never in what:
evidence for one side comes only with an estimate on that side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd

from cortexdsl.analysis.claims.findings import (
    ONE_FAILS,
    Finding,
    all_of,
    conclusion_of,
    null_of,
    side_of,
    value_of,
)
from cortexdsl.analysis.claims.hypotheses import COLUMNS, row_of, verdict_of, withdrawn_note
from cortexdsl.analysis.sequential.evidence import Mean, anytime_p, ratio_interval
from cortexdsl.analysis.sequential.streams import Stream, asked_so_far, stream_of
from cortexdsl.analysis.tests.corrections import adjust
from cortexdsl.analysis.tests.unseen import Unseen, moved_by
from cortexdsl.analysis.units.table import ScoreTable, score_table
from cortexdsl.errors import InputError
from cortexdsl.spec.claims.arms import Arm, arms_of
from cortexdsl.spec.claims.checks import unlookable
from cortexdsl.spec.claims.designs import Design, design_of
from cortexdsl.spec.claims.language import EVERY, NONE, Claim, parse_claim
from cortexdsl.terms import Floats, in_step

LEVEL_EQUIVALENCE = 0.90
NO_INTERVAL = (np.nan, np.nan)


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
    found = [_examine(design_of(claim, known), table, sizes, alpha) for claim in parsed]
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


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """One of the contrasts that must all be as a claim says.

    Attributes
    ----------
    design : Design
        Of one contrast, unless the claim is that several are not all 0.
    datasets : tuple of str
        On whose mean it is looked at.
    denied : bool
        The claim is that it does not hold here.
    """

    design: Design
    datasets: tuple[str, ...]
    denied: bool = False


def leaves_of(design: Design, table: ScoreTable) -> list[Leaf]:
    """Take a claim apart into what must hold: parts, datasets, contrasts.

    Each is looked at on the questions that its own cells were asked.
    """
    if design.parts:
        return [leaf for part in design.parts for leaf in leaves_of(part, table)]
    where = design.claim.dataset
    if where == NONE:
        return [Leaf(design, (name,), denied=True) for name in table.datasets]
    scopes = [(name,) for name in table.datasets] if where == EVERY else [(where,) if where else table.datasets]
    rows = [design] if design.joint else [_row(design, i) for i in range(len(design.weights))]
    return [Leaf(row, scope) for scope in scopes for row in rows]


def finding_of(leaf: Leaf, table: ScoreTable, planned: Mapping[str, int], alpha: float | None = None) -> Finding:
    """What the table says of one leaf so far; without `alpha` no interval is looked for."""
    found = _find(leaf.design, table, leaf.datasets, planned, alpha)
    found = replace(found, null=null_of(leaf.design))
    return replace(found, supports=not found.supports) if leaf.denied else found


def _row(design: Design, index: int) -> Design:
    """One contrast of a design, with the quantities that it needs."""
    weights = design.weights[index]
    used = np.flatnonzero(weights)
    quantities = tuple(design.quantities[k] for k in used)
    return replace(design, quantities=quantities, weights=weights[None, used], notes=(design.notes[index],))


def _examine(design: Design, table: ScoreTable, planned: Mapping[str, int], alpha: float) -> Finding:
    found = [finding_of(leaf, table, planned, alpha) for leaf in leaves_of(design, table)]
    shown = all_of(found)
    return shown if len(found) == 1 else replace(shown, null=f"{ONE_FAILS}{shown.null}")


def _find(
    design: Design, table: ScoreTable, datasets: Sequence[str], planned: Mapping[str, int], alpha: float | None
) -> Finding:
    stream = stream_of(table, design, datasets, planned)
    if stream.gap:
        return Finding(np.nan, np.nan, np.nan, f"none: {stream.gap}", False, np.nan)
    if design.ratio and design.weights.tolist() != [[1.0, -1.0]]:
        raise InputError(f"the claim {design.claim.text!r} is a ratio of ratios, which is tested once, at the end")
    weights = np.array([[1.0, -design.null]]) if design.ratio else design.weights * design.scale
    means = [_contrast(stream, row) for row in weights]
    if not stream.values.shape[1]:
        return Finding(np.nan, np.nan, np.nan, means[0].name, False, 1.0, "no question of every dataset so far")
    if design.joint:
        found = _joint(means, design)
        return replace(found, unseen=_unseen(stream, design, _largest(means)))
    if design.ratio:
        return replace(_ratio(stream, means[0], design, alpha), unseen=_unseen(stream, design, 0))
    each = [_one(mean, design, note, alpha) for mean, note in zip(means, design.notes, strict=True)]
    return all_of([replace(found, unseen=_unseen(stream, design, i)) for i, found in enumerate(each)])


def _unseen(stream: Stream, design: Design, row: int) -> Unseen:
    """Return what large values that were not seen would do to one contrast."""
    value, side = value_of(design, design.weights[row]), partial(conclusion_of, design)
    return moved_by(stream.extremes, stream.values.mean(axis=1), stream.questions, value, side)


def _largest(means: Sequence[Mean]) -> int:
    return int(np.argmax([abs(mean.values.mean()) for mean in means]))


def _contrast(stream: Stream, row: Floats) -> Mean:
    """A contrast of means; it has bounds where all that it is made of have."""
    used = row != 0
    ends = np.sort(row[used, None] * stream.bounds[used], axis=1).sum(axis=0)
    bounds = (float(ends[0]), float(ends[1])) if np.isfinite(ends).all() else None
    return Mean(row @ stream.values, bounds)


def _one(mean: Mean, design: Design, note: str, alpha: float | None) -> Finding:
    if design.margin is not None:
        return _within(mean, design, design.margin, note)
    low, high = NO_INTERVAL if alpha is None else mean.interval(1 - alpha)
    side, p = _leaning(mean, design.null)
    estimate = float(mean.values.mean())
    return Finding(estimate, low, high, mean.name, design.sign * side > 0, p, note, even=side == 0)


def _leaning(mean: Mean, null: float) -> tuple[float, float]:
    """On which side of a value a mean lies, and the p of that; 1 where it lies on it."""
    side = side_of(float(mean.values.mean()), null)
    if side == 0:
        return side, 1.0
    return side, anytime_p(mean.above(null) if side > 0 else mean.below(null))


def _ratio(stream: Stream, mean: Mean, design: Design, alpha: float | None) -> Finding:
    """A ratio of means, as the mean of top - null * bottom against 0."""
    top, bottom = stream.values
    if not (top.mean() > 0 and bottom.mean() > 0):
        why = f"a ratio of means that are not above 0 ({top.mean():.4g}, {bottom.mean():.4g})"
        return Finding(np.nan, np.nan, np.nan, f"none: {why}", False, np.nan)
    side, p = _leaning(mean, 0.0)
    low, high = NO_INTERVAL if alpha is None else ratio_interval(top, bottom, 1 - alpha, _share(stream))
    name = f"{mean.name}, of {design.cells[0]} - {design.null:g} * {design.cells[1]}"
    ratio = float(top.mean() / bottom.mean())
    return Finding(ratio, low, high, name, design.sign * side > 0, p, design.notes[0], even=side == 0)


def _share(stream: Stream) -> tuple[float, float] | None:
    """The bounds of both means of a ratio, where they are bounded shares or the like."""
    low, high = stream.bounds[:, 0], stream.bounds[:, 1]
    return (0.0, float(high.max())) if (low >= 0).all() and np.isfinite(high).all() else None


def _within(mean: Mean, design: Design, margin: float, note: str) -> Finding:
    """Two one-sided tests, inside or outside of the margin."""
    lower, upper = design.null - margin, design.null + margin
    inside = max(anytime_p(mean.above(lower), 1), anytime_p(mean.below(upper), 1))
    outside = min(anytime_p(mean.above(upper)), anytime_p(mean.below(lower)))
    low, high = mean.interval(LEVEL_EQUIVALENCE)
    estimate = float(mean.values.mean())
    supports = abs(estimate - design.null) < margin
    p = inside if supports else outside
    return Finding(estimate, low, high, f"two {mean.name}", supports, p, note)


def _joint(means: Sequence[Mean], design: Design) -> Finding:
    """Evidence that not all contrasts are 0: the mean of all e-values, of both sides."""
    sides = [side for mean in means for side in (mean.above(0.0), mean.below(0.0))]
    largest = _largest(means)
    p = anytime_p(float(np.logaddexp.reduce(sides) - np.log(len(sides))), 1)
    return Finding(
        float(means[largest].values.mean()), np.nan, np.nan, means[largest].name, True, p, design.notes[largest]
    )
