"""One claim on one table: what was estimated, which way it leans, and the p-value of that leaning.

A finding leans for its claim or against it, and its p-value is the probability of so strong a leaning were it
wrong. Directions are judged by two-sided p-values; equivalence by the larger of two one-sided ones (TOST);
a claim that says "all of" by the largest p of its parts, and against it by the smallest times their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cortexdsl.analysis.claims.designs import Design
from cortexdsl.analysis.tests.contrasts import Outcome, contrast_outcomes, gap_of, mean_outcome, ratio_outcome, untested
from cortexdsl.analysis.tests.signflip import DRAWS, joint_sign_flip
from cortexdsl.analysis.units.table import ScoreTable
from cortexdsl.analysis.units.units import Units, bounded, units
from cortexdsl.terms import Floats

LEVEL, LEVEL_EQUIVALENCE = 0.95, 0.90


@dataclass(frozen=True, slots=True)
class Finding:
    """What one claim's test found.

    Attributes
    ----------
    estimate, low, high : float
    test : str
    supports : bool
        Which way the estimate leans.
    p : float
        Of that leaning; NaN where nothing could be tested.
    note : str
    doubtful : (int, int)
        Rows of the claim's cells that are missing, and that could not be read.
    """

    estimate: float
    low: float
    high: float
    test: str
    supports: bool
    p: float
    note: str = ""
    doubtful: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Scene:
    """Where a claim is looked at.

    Attributes
    ----------
    favour : int
        What missing and unreadable rows count as: 0 wrong (the default), 1 as the claim would like it,
        -1 the other way round.
    """

    table: ScoreTable
    datasets: tuple[str, ...]
    seed: int
    draws: int = DRAWS
    favour: int = 0

    def sample(self, metric: str, cells: Sequence[str], liked: Sequence[float] | Floats) -> Units:
        """The units of some cells; `liked` is above 0 where the claim gains from a higher mean."""
        plain = units(self.table, metric, cells, self.datasets)
        if not self.favour:
            return plain
        return bounded(plain, [float(self.favour * sign > 0) for sign in liked])


def find(design: Design, scene: Scene) -> Finding:
    """Test one claim.

    Raises
    ------
    InputError, DataError
        Where the claim needs a metric, cell or dataset that is not there.
    """
    sample = scene.sample(design.claim.metric, design.cells, design.liked)
    if gap := gap_of(sample, range(len(design.cells))):
        return _found(untested(gap), False, sample, "")
    if design.margin is not None:
        return _equivalence(design, sample, scene, design.margin)
    if design.joint:
        return _jointly(design, sample, scene)
    outcomes = _outcomes(design, sample, scene, design.null, LEVEL)
    notes = [_with_means(note, design, sample) for note in design.notes]
    return all_of(
        [
            _found(outcome, design.sign * (outcome.estimate - design.null) > 0, sample, note)
            for outcome, note in zip(outcomes, notes, strict=True)
        ]
    )


def all_of(findings: Sequence[Finding]) -> Finding:
    """The finding that all of several hold (an intersection-union test), or that one does not."""
    if untestable := [found for found in findings if np.isnan(found.p)]:
        return untestable[0]
    if against := [found for found in findings if not found.supports]:
        worst = min(against, key=lambda found: found.p)
        return replace(worst, p=min(1.0, worst.p * len(findings)))
    return max(findings, key=lambda found: found.p)


def _outcomes(design: Design, sample: Units, scene: Scene, null: float, level: float) -> list[Outcome]:
    seed, draws = scene.seed, scene.draws
    if design.ratio:
        return [ratio_outcome(sample, 0, 1, null, seed, draws, level)]
    if len(design.cells) == 1:
        return [mean_outcome(sample, 0, null, seed, draws, level)]
    nulls = [null / design.scale] * len(design.weights)
    found = contrast_outcomes(sample, design.weights, nulls, seed, draws, level)
    return [outcome.scaled(design.scale) for outcome in found]


def _equivalence(design: Design, sample: Units, scene: Scene, margin: float) -> Finding:
    """Two one-sided tests (Schuirmann 1987): inside by the larger p, outside by twice the smaller."""
    ends = (design.null - margin, design.null + margin)
    lower, upper = (_outcomes(design, sample, scene, end, LEVEL_EQUIVALENCE)[0] for end in ends)
    inside = abs(lower.estimate - design.null) < margin
    p = max(lower.above, upper.below) if inside else min(1.0, 2 * min(upper.above, lower.below))
    found = _found(lower, inside, sample, "90 % interval")
    return replace(found, p=p, test=f"two one-sided tests, {lower.test}")


def _jointly(design: Design, sample: Units, scene: Scene) -> Finding:
    """That not all contrasts are 0; the largest is shown."""
    outcomes = _outcomes(design, sample, scene, 0.0, LEVEL)
    largest = int(np.argmax([abs(outcome.estimate) for outcome in outcomes]))
    found = _found(outcomes[largest], True, sample, design.notes[largest])
    if len(outcomes) == 1:
        return found
    flip = joint_sign_flip(sample.parts.T @ design.weights.T, scene.seed, scene.draws)[1]
    precision = "exact" if flip.error is None else f"({scene.draws} draws, se {flip.error:.2g})"
    return replace(found, p=flip.p, test=f"joint sign-flip {precision}", note=f"largest {found.note}")


def _with_means(note: str, design: Design, sample: Units) -> str:
    means = ", ".join(f"{mean:.4g}" for mean in design.levels @ sample.means) if len(design.levels) else ""
    return f"{note}; means {means}" if means else note


def _found(outcome: Outcome, supports: bool, sample: Units, note: str) -> Finding:
    doubtful = (int(sample.missing.sum()), int(sample.unparsed.sum()))
    numbers = (outcome.estimate, outcome.low, outcome.high)
    return Finding(*numbers, outcome.test, supports, outcome.p, note, doubtful)
