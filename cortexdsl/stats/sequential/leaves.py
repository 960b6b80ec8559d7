"""Leaves of a claim: the contrasts that must all hold, and the evidence on each so far.

The tested quantity is the one that the claim names: a mean, a difference of means, or a ratio of means as the mean of
`first - ratio * second`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cortexdsl.claims.designs import Design
from cortexdsl.claims.values import EVERY
from cortexdsl.core import Floats
from cortexdsl.errors import InputError
from cortexdsl.stats.findings import Finding, all_of, conclusion_of, null_of, side_of, value_of
from cortexdsl.stats.inference.unseen import Unseen, moved_by
from cortexdsl.stats.sequential.evidence import Mean, anytime_p, ratio_interval
from cortexdsl.stats.sequential.streams import Stream, stream_of
from cortexdsl.stats.tables.score_table import ScoreTable

LEVEL_EQUIVALENCE = 0.90


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """One of the contrasts that must all hold for a claim.

    Attributes
    ----------
    design : Design
        One contrast, unless the claim is that several are not all 0.
    datasets : tuple of str
        The contrast is of the mean over these.
    """

    design: Design
    datasets: tuple[str, ...]


def leaves_of(design: Design, table: ScoreTable) -> list[Leaf]:
    """Split a claim into its leaves: parts, datasets, contrasts."""
    if design.parts:
        return [leaf for part in design.parts for leaf in leaves_of(part, table)]
    where = design.claim.dataset
    scopes = [(name,) for name in table.datasets] if where == EVERY else [(where,) if where else table.datasets]
    rows = [_row(design, i) for i in range(len(design.weights))]
    return [Leaf(row, scope) for scope in scopes for row in rows]


def finding_of(
    leaf: Leaf,
    table: ScoreTable,
    planned: Mapping[str, int],
    alpha: float,
) -> Finding:
    """Return the finding on one leaf so far."""
    finding = _finding(leaf.design, table, leaf.datasets, planned, alpha)
    return replace(finding, null=null_of(leaf.design))


def _row(design: Design, index: int) -> Design:
    """Return one contrast of a design, with the quantities that it needs."""
    weights = design.weights[index]
    used = np.flatnonzero(weights)
    quantities = tuple(design.quantities[k] for k in used)
    return replace(design, quantities=quantities, weights=weights[None, used], notes=(design.notes[index],))


def _finding(
    design: Design,
    table: ScoreTable,
    datasets: Sequence[str],
    planned: Mapping[str, int],
    alpha: float,
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
    if design.ratio:
        each = [_ratio(stream, means[0], design, alpha)]
    else:
        each = [_one(mean, design, note, alpha) for mean, note in zip(means, design.notes, strict=True)]
    each = [replace(finding, unseen=_unseen(stream, design, i)) for i, finding in enumerate(each)]
    return all_of(each)


def _unseen(stream: Stream, design: Design, row: int) -> Unseen:
    """Return how large values that no question showed would change one contrast."""
    value, side = value_of(design, design.weights[row]), partial(conclusion_of, design)
    return moved_by(stream.extremes, stream.values.mean(axis=1), stream.questions, value, side)


def _contrast(stream: Stream, row: Floats) -> Mean:
    """Return a contrast of means; it has bounds if all its means have."""
    used = row != 0
    ends = np.sort(row[used, None] * stream.bounds[used], axis=1).sum(axis=0)
    bounds = (float(ends[0]), float(ends[1])) if np.isfinite(ends).all() else None
    return Mean(row @ stream.values, bounds)


def _one(mean: Mean, design: Design, note: str, alpha: float) -> Finding:
    if design.margin is not None:
        return _within(mean, design, design.margin, note)
    low, high = mean.interval(1 - alpha)
    side, p = _direction(mean, design.null)
    estimate = float(mean.values.mean())
    return Finding(estimate, low, high, mean.name, design.sign * side > 0, p, note, even=side == 0)


def _direction(mean: Mean, null: float) -> tuple[float, float]:
    """Return the side of a value that a mean is on, and its p; 1 if the mean equals the value."""
    side = side_of(float(mean.values.mean()), null)
    if side == 0:
        return side, 1.0
    return side, anytime_p(mean.above(null) if side > 0 else mean.below(null))


def _ratio(stream: Stream, mean: Mean, design: Design, alpha: float) -> Finding:
    """Test a ratio of means, as the mean of top - null * bottom against 0."""
    top, bottom = stream.values
    if not (top.mean() > 0 and bottom.mean() > 0):
        why = f"a ratio of means that are not above 0 ({top.mean():.4g}, {bottom.mean():.4g})"
        return Finding(np.nan, np.nan, np.nan, f"none: {why}", False, np.nan)
    side, p = _direction(mean, 0.0)
    low, high = ratio_interval(top, bottom, 1 - alpha, _share(stream))
    name = f"{mean.name}, of {design.cells[0]} - {design.null:g} * {design.cells[1]}"
    ratio = float(top.mean() / bottom.mean())
    return Finding(ratio, low, high, name, design.sign * side > 0, p, design.notes[0], even=side == 0)


def _share(stream: Stream) -> tuple[float, float] | None:
    """Return the common bounds of both means of a ratio, if they have any."""
    low, high = stream.bounds[:, 0], stream.bounds[:, 1]
    return (0.0, float(high.max())) if (low >= 0).all() and np.isfinite(high).all() else None


def _within(mean: Mean, design: Design, margin: float, note: str) -> Finding:
    """Run two one-sided tests, inside or outside of the margin."""
    lower, upper = design.null - margin, design.null + margin
    inside = max(anytime_p(mean.above(lower), 1), anytime_p(mean.below(upper), 1))
    outside = min(anytime_p(mean.above(upper)), anytime_p(mean.below(lower)))
    low, high = mean.interval(LEVEL_EQUIVALENCE)
    estimate = float(mean.values.mean())
    supports = abs(estimate - design.null) < margin
    p = inside if supports else outside
    return Finding(estimate, low, high, f"two {mean.name}", supports, p, note)
