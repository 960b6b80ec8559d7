"""One claim on one table: the estimate, which way it points, and the p-value of that direction.

The p-value of a finding is the probability of so strong an estimate if its direction were wrong. Differences have
two-sided p-values; equivalence has the larger of two one-sided ones (TOST). A claim that several things hold has the
largest p of its parts; against it counts the smallest p times their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cortexdsl.claims.designs import Design
from cortexdsl.core import Floats
from cortexdsl.stats.inference import phrases
from cortexdsl.stats.inference.areas import near_one
from cortexdsl.stats.inference.bootstrap import DRAWS
from cortexdsl.stats.inference.contrasts import contrast_outcomes, gap_of, mean_outcome, ratio_outcome
from cortexdsl.stats.inference.outcomes import CERTAIN, LEVEL, UNTESTED, Outcome, untested_outcome
from cortexdsl.stats.inference.unseen import NOTHING_UNSEEN, Unseen, Value, unseen_in
from cortexdsl.stats.tables.score_table import ScoreTable
from cortexdsl.stats.tables.units import Units, units_of, with_doubtful_rows

_EFFECTIVE, _UNEQUAL = 12, 2
_DOMINANT = 0.25  # with Zipf's sizes, the largest 30 %, tests of numbers err in 7.6 %
_FEW, _VERY_FEW, _SKEWED = 50, 10, 1.5
"""With 2 wrong answers of 25, tests of a risk against a value err in 10 %; with 4 of 50, of an area in 7 %."""
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of testing one claim.

    Attributes
    ----------
    estimate, low, high : float
    test : str
    supports : bool
        Whether the estimate favours the claim.
    p : float
        Of that direction; NaN if nothing could be tested.
    note : str
    doubtful : (int, int)
        Missing rows of the claim's cells, and rows that could not be read.
    null : str
        The null hypothesis of `p`.
    even : bool
        The estimate equals its null value, so that it favours neither side.
    unseen : Unseen
        Whether large values that no question showed would reverse the finding; it then decides nothing.
    parts : int
        For a claim that several things hold and that seems false: the number of tests that share the error of saying
        so. `p` is the smallest of theirs times this number.
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
    parts: int = 1


@dataclass(frozen=True, slots=True)
class ClaimSetting:
    """The setting in which claims are tested.

    Attributes
    ----------
    favour : int
        What missing and unreadable rows count as: 0 wrong (the default), 1 in favour of the claim, -1 against it.
    level : float
        The level of intervals.
    """

    table: ScoreTable
    datasets: tuple[str, ...]
    seed: int
    draws: int = DRAWS
    favour: int = 0
    level: float = LEVEL

    def sample(self, design: Design) -> Units:
        """Return the units of a design."""
        plain = units_of(self.table, design.quantities, self.datasets)
        if not self.favour:
            return plain
        return with_doubtful_rows(plain, [float(self.favour * sign > 0) for sign in design.favourable])


def evaluate_design(design: Design, setting: ClaimSetting) -> Finding:
    """Test one claim that has no parts.

    Raises
    ------
    InputError, DataError
        The claim needs a metric, cell or dataset that the table lacks.
    """
    sample = setting.sample(design)
    finding = _finding_of_sample(design, setting, sample)
    warning = "" if np.isnan(finding.p) else _thin(design, sample)
    return replace(finding, null=null_of(design), note=phrases.joined(finding.note, warning))


def _finding_of_sample(design: Design, setting: ClaimSetting, sample: Units) -> Finding:
    if gap := gap_of(sample, range(len(design.quantities))):
        return finding_of_outcome(untested_outcome(gap), False, sample, "")
    if design.margin is not None:
        return _equivalence(design, sample, setting, design.margin)
    findings = []
    for outcome, note in zip(_outcomes(design, sample, setting, design.null, setting.level), design.notes, strict=True):
        side = side_of(outcome.estimate, design.null)
        finding = finding_of_outcome(outcome, design.sign * side > 0, sample, _with_means(note, design, sample))
        findings.append(replace(finding, even=side == 0))
    return all_of(_with_unseen(findings, design, setting, sample))


def side_of(estimate: float, null: float) -> float:
    """Return the side of a value that an estimate is on: 1 above, -1 below, 0 if they differ by rounding only."""
    if abs(estimate - null) <= _ROUNDING * max(1.0, abs(null)):
        return 0.0
    return 1.0 if estimate > null else -1.0


def all_of(findings: Sequence[Finding]) -> Finding:
    """Return the finding that all of several hold (an intersection-union test), or that one does not."""
    return deciding(findings)[1]


def deciding(findings: Sequence[Finding]) -> tuple[int, Finding]:
    """Return the index of the finding that decides whether all of several hold, and the finding for all."""
    places = range(len(findings))
    if untestable := [i for i in places if np.isnan(findings[i].p)]:
        return untestable[0], findings[untestable[0]]
    if against := [i for i in places if not findings[i].supports]:
        worst = min(against, key=lambda i: findings[i].p)
        finding, count = findings[worst], len(findings)
        return worst, replace(finding, p=min(1.0, finding.p * count), parts=finding.parts * count)
    weakest = max(places, key=lambda i: findings[i].p)
    unseen = next((finding.unseen for finding in findings if finding.unseen.turns), findings[weakest].unseen)
    return weakest, replace(findings[weakest], unseen=unseen)


def deciding_of_some(findings: Sequence[Finding]) -> tuple[int, Finding]:
    """Return the index of the finding that decides whether one of several holds, and the finding for that.

    This is `deciding` with both sides exchanged: what speaks for it is the strongest finding in favour, whose p counts
    the number of findings; against it is the weakest one. A finding that could not be tested favours nothing.
    """
    places = range(len(findings))
    if favourable := [i for i in places if findings[i].supports and not np.isnan(findings[i].p)]:
        best = min(favourable, key=lambda i: findings[i].p)
        finding, count = findings[best], len(findings)
        return best, replace(finding, p=min(1.0, finding.p * count), parts=finding.parts * count)
    if untestable := [i for i in places if np.isnan(findings[i].p)]:
        return untestable[0], findings[untestable[0]]
    weakest = max(places, key=lambda i: findings[i].p)
    return weakest, findings[weakest]


def value_of(design: Design, row: Floats) -> Value:
    """Return the value of a contrast as a function of its means; NaN for a ratio of means not above 0."""
    if not design.ratio:
        return lambda means: float(row @ means) * design.scale
    return lambda means: float(np.prod(means**row)) if (means > 0).all() else np.nan


def conclusion_of(design: Design, estimate: float) -> object:
    """Return the conclusion from an estimate: its side of the null value, or whether it is within the margin."""
    if design.margin is not None:
        return abs(estimate - design.null) < design.margin
    return side_of(estimate, design.null)


def _with_unseen(findings: Sequence[Finding], design: Design, setting: ClaimSetting, sample: Units) -> list[Finding]:
    """Return findings, one per contrast, with the effect of large values that no question showed.

    Metrics that the plan fixes have no other values.
    """
    return [
        finding
        if finding.test == CERTAIN
        else replace(
            finding,
            unseen=unseen_in(
                sample, setting.table, design.quantities, value_of(design, row), partial(conclusion_of, design)
            ),
        )
        for finding, row in zip(findings, design.weights, strict=True)
    ]


def null_of(design: Design) -> str:
    """Write the null hypothesis of the p-value of a claim."""
    if design.margin is not None:
        low, high = design.null - design.margin, design.null + design.margin
        return phrases.null_range(low, high)
    what = "a ratio of" if design.ratio else "a mean of" if len(design.quantities) == 1 else "a difference of"
    is_margin = design.sign * design.null < 0 and len(design.quantities) > 1 and not design.ratio
    return phrases.null_value(what, design.null, is_margin=is_margin)


def _outcomes(design: Design, sample: Units, setting: ClaimSetting, null: float, level: float) -> list[Outcome]:
    seed, draws = setting.seed, setting.draws
    if design.ratio:
        return [ratio_outcome(sample, row, null, seed, draws, level) for row in design.weights]
    if len(design.quantities) == 1:
        return [mean_outcome(sample, 0, null, seed, draws, level)]
    nulls = [null / design.scale] * len(design.weights)
    outcomes = contrast_outcomes(sample, design.weights, nulls, seed, draws, level)
    return [outcome.scaled(design.scale) for outcome in outcomes]


def _equivalence(design: Design, sample: Units, setting: ClaimSetting, margin: float) -> Finding:
    """Run two one-sided tests (Schuirmann 1987): inside by the larger p, outside by twice the smaller.

    At 5 %, inside means that the 90 % interval lies within the margin, outside that the 95 % interval lies beyond it.
    """
    ends, inner = (design.null - margin, design.null + margin), 1 - 2 * (1 - setting.level)
    pairs = zip(*(_outcomes(design, sample, setting, end, inner) for end in ends), strict=True)
    wide = _outcomes(design, sample, setting, ends[0], setting.level)
    findings = []
    for (lower, upper), outer, note in zip(pairs, wide, design.notes, strict=True):
        inside = abs(lower.estimate - design.null) < margin
        p = max(lower.above, upper.below) if inside else min(1.0, 2 * min(upper.above, lower.below))
        width = f"{100 * inner:.4g} % interval" if inside else ""
        finding = finding_of_outcome(lower if inside else outer, inside, sample, phrases.joined(note, width))
        findings.append(replace(finding, p=p, test=_of_two(lower.test)))
    return all_of(_with_unseen(findings, design, setting, sample))


def _of_two(test: str) -> str:
    return test if test.startswith(UNTESTED) else f"two one-sided tests, {test}"


def _with_means(note: str, design: Design, sample: Units) -> str:
    means = ", ".join(f"{mean:.4g}" for mean in design.levels @ sample.means) if len(design.levels) else ""
    return f"{note}; means {means}" if means else note


def _thin(design: Design, sample: Units) -> str:
    """Return a warning if units are too few or too unequal for the stated error of a test."""
    if warning := near_one(sample) or _dominated(sample):
        return warning
    count, what = len(sample.share), "clusters" if sample.clustered else "questions"
    if (sample.rarer >= 0).any() or sample.binary or sample.gaps.any() or not len(design.weights):
        return ""
    means = np.where(sample.means > 0, sample.means, np.nan) if design.ratio else np.ones(len(sample.cells))
    moved = sample.parts.T @ (design.weights / means).T / sample.share[:, None]
    centred = moved - moved.mean(axis=0)
    size = np.abs(sample.parts.T) @ np.abs(design.weights / means).T / sample.share[:, None]
    centred[:, centred.std(axis=0) <= _ROUNDING * size.max(axis=0)] = 0.0  # a constant ratio has no skewness
    spread = centred.std(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        skew = float(np.nanmax(np.abs((centred**3).mean(axis=0) / spread**3), initial=0))
    if not (spread > 0).any() or (count >= _VERY_FEW and (count >= _FEW or skew < _SKEWED)):
        return ""
    return phrases.few_units(count, what, skew if skew >= _SKEWED else None)


def _dominated(sample: Units) -> str:
    """Return a warning if one cluster holds a large share of the questions, or clusters differ much in size.

    Accuracies have none: their tests hold their level (`benchmarks/statistics/thin.py --only clusters`).
    """
    if not sample.clustered or sample.binary:
        return ""
    errs = ": the test may err in up to 8 %, not 5 %"
    largest = float((sample.share * len(sample.sizes)).max())
    if largest >= _DOMINANT:
        return f"one cluster holds {largest:.0%} of the questions{errs}"
    count, effective = len(sample.share), 1 / float((sample.share**2).sum())
    if effective < _EFFECTIVE and count > _UNEQUAL * effective:
        return f"{count} clusters of such different sizes count like {effective:.0f}{errs}"
    return ""


def finding_of_outcome(outcome: Outcome, supports: bool, sample: Units, note: str) -> Finding:
    """Return the finding of an outcome."""
    doubtful = (int(sample.missing.sum()), int(sample.unparsed.sum()))
    numbers = (outcome.estimate, outcome.low, outcome.high)
    return Finding(*numbers, outcome.test, supports, outcome.p, note, doubtful)
