"""One claim on one table: what was estimated, which way it leans, and the p-value of that leaning.

A finding leans for its claim or against it, and its p-value is the probability of so strong a leaning were it
wrong. Directions are judged by two-sided p-values; equivalence by the larger of two one-sided ones (TOST);
a claim that says "all of" by the largest p of its parts, and against it by the smallest times their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cortexdsl.analysis import phrasing
from cortexdsl.analysis.claims.samples import sample_of
from cortexdsl.analysis.tests.areas import near_one
from cortexdsl.analysis.tests.contrasts import NO_SPREAD, contrast_outcomes, gap_of, mean_outcome, ratio_outcome
from cortexdsl.analysis.tests.intervals import LEVEL
from cortexdsl.analysis.tests.joint import joint_p
from cortexdsl.analysis.tests.outcome import CERTAIN, UNTESTED, Outcome, untested
from cortexdsl.analysis.tests.signflip import DRAWS
from cortexdsl.analysis.tests.unseen import NOTHING_UNSEEN, Unseen, Value, unseen_in
from cortexdsl.analysis.units.table import ScoreTable
from cortexdsl.analysis.units.units import Units, bounded
from cortexdsl.spec.claims.designs import Design
from cortexdsl.terms import Floats

_EFFECTIVE, _UNEQUAL = 12, 2  # six clusters of 15 and 18 of 1 count like 8.5 equal ones, and err in up to 6.8 %
_DOMINANT = 0.25  # tests err in up to 6.4 % with Zipf's sizes, of which the largest holds 30 %
_FEW, _VERY_FEW, _SKEWED = 50, 10, 1.5
_ROUNDING = 1e-12
_FEW_JOINTLY = 200  # interactions of numbers still err in 7 % with 100 questions of which one cell is skewed


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
    null : str
        What p tests.
    even : bool
        The estimate lies on the value that it is held against, so that it leans neither way.
    unseen : Unseen
        Whether large values that no question showed would turn the finding; it then decides nothing.
    corrected : float
        The estimate, corrected for looks that could have stopped the experiment; NaN if there were none.
    parts : int
        Of a claim that several things hold, and that seems not to hold: how many tests share the error of saying so.
        `p` is the smallest of theirs times this number.
    """

    estimate: float
    low: float
    high: float
    test: str
    supports: bool
    p: float
    note: str = ""
    doubtful: tuple[int, int] = (0, 0)
    null: str = ""
    even: bool = False
    unseen: Unseen = NOTHING_UNSEEN
    corrected: float = float("nan")
    parts: int = 1


@dataclass(frozen=True, slots=True)
class Scene:
    """Where a claim is looked at.

    Attributes
    ----------
    favour : int
        What missing and unreadable rows count as: 0 wrong (the default), 1 as the claim would like it,
        -1 the other way round.
    level : float
        Of the intervals.
    """

    table: ScoreTable
    datasets: tuple[str, ...]
    seed: int
    draws: int = DRAWS
    favour: int = 0
    level: float = LEVEL

    def sample(self, design: Design) -> Units:
        """Return the units of a design."""
        plain = sample_of(design, self.table, self.datasets)
        if not self.favour:
            return plain
        return bounded(plain, [float(self.favour * sign > 0) for sign in design.liked])


def find(design: Design, scene: Scene) -> Finding:
    """Test one claim that has no parts.

    Raises
    ------
    InputError, DataError
        Where the claim needs a metric, cell or dataset that is not there.
    """
    sample = scene.sample(design)
    found = _find(design, scene, sample)
    warning = "" if np.isnan(found.p) else _thin(design, sample)
    return replace(found, null=null_of(design), note=phrasing.joined(found.note, warning))


def _find(design: Design, scene: Scene, sample: Units) -> Finding:
    if gap := gap_of(sample, range(len(design.quantities))):
        return found_of(untested(gap), False, sample, "")
    if design.margin is not None:
        return _equivalence(design, sample, scene, design.margin)
    if design.joint:
        return _jointly(design, sample, scene)
    findings = []
    for outcome, note in zip(_outcomes(design, sample, scene, design.null, scene.level), design.notes, strict=True):
        side = side_of(outcome.estimate, design.null)
        found = found_of(outcome, design.sign * side > 0, sample, _with_means(note, design, sample))
        findings.append(replace(found, even=side == 0))
    return all_of(_with_unseen(findings, design, scene, sample))


def side_of(estimate: float, null: float) -> float:
    """On which side of a value an estimate lies: 1 above, -1 below, 0 where only rounding parts the two."""
    if abs(estimate - null) <= _ROUNDING * max(1.0, abs(null)):
        return 0.0
    return 1.0 if estimate > null else -1.0


def all_of(findings: Sequence[Finding]) -> Finding:
    """The finding that all of several hold (an intersection-union test), or that one does not."""
    return deciding(findings)[1]


def deciding(findings: Sequence[Finding]) -> tuple[int, Finding]:
    """Return which of several findings decides whether all hold, and what it then says of all of them."""
    places = range(len(findings))
    if untestable := [i for i in places if np.isnan(findings[i].p)]:
        return untestable[0], findings[untestable[0]]
    if against := [i for i in places if not findings[i].supports]:
        worst = min(against, key=lambda i: findings[i].p)
        found, count = findings[worst], len(findings)
        return worst, replace(found, p=min(1.0, found.p * count), parts=found.parts * count)
    weakest = max(places, key=lambda i: findings[i].p)
    unseen = next((found.unseen for found in findings if found.unseen.turns), findings[weakest].unseen)
    return weakest, replace(findings[weakest], unseen=unseen)


def value_of(design: Design, row: Floats) -> Value:
    """Return what a contrast of a design is, as a function of its means; NaN for a ratio of means not above 0."""
    if not design.ratio:
        return lambda means: float(row @ means) * design.scale
    return lambda means: float(np.prod(means**row)) if (means > 0).all() else np.nan


def conclusion_of(design: Design, estimate: float) -> object:
    """Return what an estimate says of a contrast: its side of the null value, or whether it is within the margin."""
    if design.margin is not None:
        return abs(estimate - design.null) < design.margin
    return side_of(estimate, design.null)


def _with_unseen(findings: Sequence[Finding], design: Design, scene: Scene, sample: Units) -> list[Finding]:
    """Return findings, one a contrast, with what large values that were not seen would do to each.

    What the plan makes certain has no other values.
    """
    return [
        found
        if found.test == CERTAIN
        else replace(
            found,
            unseen=unseen_in(
                sample, scene.table, design.quantities, value_of(design, row), partial(conclusion_of, design)
            ),
        )
        for found, row in zip(findings, design.weights, strict=True)
    ]


def null_of(design: Design) -> str:
    """What the p-value of a claim tests, in words."""
    if design.joint:
        return phrasing.NO_INTERACTION
    if design.margin is not None:
        low, high = design.null - design.margin, design.null + design.margin
        return phrasing.null_range(low, high)
    what = "a ratio of" if design.ratio else "a mean of" if len(design.quantities) == 1 else "a difference of"
    is_margin = design.sign * design.null < 0 and len(design.quantities) > 1 and not design.ratio
    return phrasing.null_value(what, design.null, is_margin=is_margin)


def _outcomes(design: Design, sample: Units, scene: Scene, null: float, level: float) -> list[Outcome]:
    seed, draws = scene.seed, scene.draws
    if design.ratio:
        return [ratio_outcome(sample, row, null, seed, draws, level) for row in design.weights]
    if len(design.quantities) == 1:
        return [mean_outcome(sample, 0, null, seed, draws, level)]
    nulls = [null / design.scale] * len(design.weights)
    found = contrast_outcomes(sample, design.weights, nulls, seed, draws, level)
    return [outcome.scaled(design.scale) for outcome in found]


def _equivalence(design: Design, sample: Units, scene: Scene, margin: float) -> Finding:
    """Run two one-sided tests (Schuirmann 1987): inside by the larger p, outside by twice the smaller.

    Inside at 5 % is that the 90 % interval lies within the margin, outside that the 95 % interval lies beyond it.
    """
    ends, inner = (design.null - margin, design.null + margin), 1 - 2 * (1 - scene.level)
    pairs = zip(*(_outcomes(design, sample, scene, end, inner) for end in ends), strict=True)
    wide = _outcomes(design, sample, scene, ends[0], scene.level)
    findings = []
    for (lower, upper), outer, note in zip(pairs, wide, design.notes, strict=True):
        inside = abs(lower.estimate - design.null) < margin
        p = max(lower.above, upper.below) if inside else min(1.0, 2 * min(upper.above, lower.below))
        width = f"{100 * inner:.4g} % interval" if inside else ""
        found = found_of(lower if inside else outer, inside, sample, phrasing.joined(note, width))
        findings.append(replace(found, p=p, test=_of_two(lower.test)))
    return all_of(_with_unseen(findings, design, scene, sample))


def _of_two(test: str) -> str:
    return test if test.startswith(UNTESTED) else f"two one-sided tests, {test}"


def _jointly(design: Design, sample: Units, scene: Scene) -> Finding:
    """Test that not all contrasts are 0; the largest is shown."""
    outcomes = _outcomes(design, sample, scene, 0.0, scene.level)
    largest = int(np.argmax([abs(outcome.estimate) for outcome in outcomes]))
    row = replace(design, weights=design.weights[[largest]])
    found = found_of(outcomes[largest], True, sample, design.notes[largest])
    (found,) = _with_unseen([found], row, scene, sample)
    if len(outcomes) == 1:
        return found
    joint = joint_p(sample, sample.parts.T @ design.weights.T, scene.seed, scene.draws)
    if joint is None:
        return found_of(untested(NO_SPREAD, found.estimate), False, sample, "")
    p, test = joint
    return replace(found, p=p, test=test, note=f"largest {found.note}; its interval is of this contrast alone")


def _with_means(note: str, design: Design, sample: Units) -> str:
    means = ", ".join(f"{mean:.4g}" for mean in design.levels @ sample.means) if len(design.levels) else ""
    return f"{note}; means {means}" if means else note


def _thin(design: Design, sample: Units) -> str:
    """Return a warning if the units are too few, or too unequal, for a test to err as rarely as it says."""
    if warning := near_one(sample) or _dominated(sample):
        return warning
    count, what = len(sample.share), "clusters" if sample.clustered else "questions"
    is_joint = design.joint and len(design.weights) > 1
    if is_joint and count < _FEW:
        return phrasing.few_units(count, what, None)
    if (sample.rarer >= 0).any() or sample.binary or sample.gaps.any() or not len(design.weights):
        return ""
    means = np.where(sample.means > 0, sample.means, np.nan) if design.ratio else np.ones(len(sample.cells))
    moved = sample.parts.T @ (design.weights / means).T / sample.share[:, None]
    centred = moved - moved.mean(axis=0)
    spread = centred.std(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        skew = float(np.nanmax(np.abs((centred**3).mean(axis=0) / spread**3), initial=0))
    few = _FEW_JOINTLY if is_joint else _FEW
    if not (spread > 0).any() or (count >= _VERY_FEW and (count >= few or skew < _SKEWED)):
        return ""
    return phrasing.few_units(count, what, skew if skew >= _SKEWED else None)


def _dominated(sample: Units) -> str:
    """Return a warning if one cluster holds a large share of the questions, or clusters differ much in size."""
    if not sample.clustered:
        return ""
    errs = ": the test may err in 6 to 7 %, not 5 %"
    largest = float((sample.share * len(sample.sizes)).max())
    if largest >= _DOMINANT:
        return f"one cluster holds {largest:.0%} of the questions{errs}"
    count, effective = len(sample.share), 1 / float((sample.share**2).sum())
    if effective < _EFFECTIVE and count > _UNEQUAL * effective:
        return f"{count} clusters of such different sizes count like {effective:.0f}{errs}"
    return ""


def found_of(outcome: Outcome, supports: bool, sample: Units, note: str) -> Finding:
    """The finding of an outcome."""
    doubtful = (int(sample.missing.sum()), int(sample.unparsed.sum()))
    numbers = (outcome.estimate, outcome.low, outcome.high)
    return Finding(*numbers, outcome.test, supports, outcome.p, note, doubtful)
