"""Tests of contrasts of cells. Which test and interval belong to which data is decided here alone.

| data | test of every null value, and interval by its inversion |
|---|---|
| 0/1 rows: a difference of two cells, one replicate, at most 200 questions, no clusters | exact (`paired`) |
| 0/1 rows: other differences and contrasts | Tango's score and Student's t, the larger p of the two |
| 0/1 rows: the ratio of two means | the same of `a - r b` against 0 (Fieller) |
| 0/1 rows: one mean, one replicate, no clusters | exact binomial (Clopper-Pearson) |
| 0/1 rows: one mean, replicates or clusters | Wilson's score by t, at the effective number of questions |
| areas under the ROC curve: single, contrasts, ratios | log odds by t, combined |
| any other numbers | studentised bootstrap |
| other products and ratios of means | studentised bootstrap on logs |
| numbers that are the same for every question | none, or certain if the plan fixes them |

Units are questions or clusters throughout; clusters of different sizes get the jackknife's standard errors and
Satterthwaite's degrees of freedom. The interval is the set of null values that the same test does not reject. The kind
of data is that of the cells of a contrast, whatever other cells the table has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import stats

from cortexdsl.core import Floats
from cortexdsl.stats.inference.accuracies import contributions_of, ratio_by_difference, score_tests
from cortexdsl.stats.inference.areas import NAME, area_outcome, areas_of, is_area, too_few
from cortexdsl.stats.inference.bootstrap import DRAWS, log_ratio, resample, studentised
from cortexdsl.stats.inference.outcomes import (
    LEVEL,
    Outcome,
    clopper_pearson,
    effective_trials,
    few_units,
    freedom_of,
    outcome_without_spread,
    tail,
    two_sided,
    untested_outcome,
    wilson,
)
from cortexdsl.stats.inference.paired import MOST_QUESTIONS, Paired, score
from cortexdsl.stats.tables.units import Units

_NOTHING = 1e-12
NO_SPREAD = "all questions have the same value, so nothing is known of the spread"


def gap_of(sample: Units, cells: Sequence[int]) -> str:
    """Return why some cells cannot be tested on this metric, or nothing."""
    if sample.clustered and (np.bincount(sample.stratum) < 2).any():
        return "all questions of a dataset are one cluster"
    # A missing score counts as 0 only if all cells of the contrast hold scores.
    absent = sample.gaps if sample.scored[list(cells)].all() else sample.gaps + sample.missing
    for cell in cells:
        if few := too_few(sample, cell):
            return few
        if absent[cell]:
            total = int(sample.sizes.sum() * sample.replicates[cell])
            return f"{sample.cells[cell]} lacks {absent[cell]} of {total} values of {sample.metric}"
    return ""


def contrast_outcomes(
    sample: Units, weights: Floats, null: Sequence[float], seed: int, draws: int = DRAWS, level: float = LEVEL
) -> list[Outcome]:
    """Test contrasts of cells, many at a time.

    Parameters
    ----------
    sample : Units
    weights : (tests, cells) array
        A row that sums to 0 is a difference of means; any other sum of means is tested as numbers are.
    null : sequence of float
        The null value of each contrast.
    seed, draws : int
        Of bootstrap resamples.
    level : float
        Of the intervals.

    Returns
    -------
    list of Outcome
        One a row of `weights`, in order.
    """
    done: dict[int, Outcome] = {}
    alike: dict[bool, list[int]] = {True: [], False: []}
    for i, row in enumerate(weights):
        if gap := gap_of(sample, np.flatnonzero(row).tolist()):
            done[i] = untested_outcome(gap)
        elif is_area(sample, row):
            done[i] = area_outcome(sample, row, null[i], level) or untested_outcome(NO_SPREAD)
        else:
            alike[bool(sample.yes_no[row != 0].all() and abs(row.sum()) < _NOTHING)].append(i)
    if places := alike[True]:
        own, against = weights[places], np.array([null[i] for i in places], dtype=np.float64)
        done |= dict(zip(places, _of_answers(sample, own, against, level), strict=True))
    if places := alike[False]:
        own, against = weights[places], np.array([null[i] for i in places], dtype=np.float64)
        done |= dict(zip(places, _of_numbers(sample, own, against, seed, draws, level), strict=True))
    return [done[i] for i in range(len(weights))]


def _of_answers(sample: Units, weights: Floats, null: Floats, level: float) -> list[Outcome]:
    """Test contrasts of 0/1 rows."""
    reach = np.abs(weights).sum(axis=1) / 2
    tests = score_tests(sample, weights, reach)
    low, high = tests.interval(level)
    above, below = tests.sides(null)
    outcomes = []
    for i, row in enumerate(weights):
        discordant = _discordant(sample, row)
        if pair := _pair_of(sample, row):
            outcomes.append(replace(_of_pair(pair, null[i] / reach[i], level).scaled(reach[i]), discordant=discordant))
            continue
        ends = float(max(low[i], -reach[i])), float(min(high[i], reach[i]))
        statistic = float((tests.estimate[i] - null[i]) / tests.error[i])
        sides = float(above[i]), float(below[i])
        name = f"score (Tango){_over(sample)}"
        outcomes.append(
            Outcome(float(tests.estimate[i]), *ends, name, statistic, *sides, two_sided(*sides), discordant)
        )
    return outcomes


def _pair_of(sample: Units, row: Floats) -> Paired | None:
    """Return the results of two cells that have one replicate on one dataset of few questions; else None."""
    pair = np.flatnonzero(row)
    if len(pair) != 2 or (sample.replicates[pair] > 1).any() or sample.clustered or len(sample.sizes) > 1:
        return None
    moved = row[pair] @ sample.values[pair]
    if len(moved) > MOST_QUESTIONS:
        return None
    return Paired(int((moved > 0).sum()), int((moved < 0).sum()), len(moved))


def _of_pair(pair: Paired, null: float, level: float) -> Outcome:
    """Test the difference of two accuracies exactly."""
    sides = pair.sides(null)
    estimate = (pair.wins - pair.losses) / pair.questions
    statistic = float(score(np.array(pair.wins), np.array(pair.losses), pair.questions, null))
    return Outcome(estimate, *pair.interval(level), "score (Tango), exact", statistic, *sides, two_sided(*sides))


def _of_numbers(sample: Units, weights: Floats, null: Floats, seed: int, draws: int, level: float) -> list[Outcome]:
    """Test contrasts of numbers."""
    drawn = resample(sample, contributions_of(sample, weights), seed, draws)
    tested = studentised(drawn, null, level, f"studentised bootstrap{_over(sample)} ({draws} draws)")
    return [
        replace(outcome, discordant=_discordant(sample, row))
        if error > 0
        else outcome_without_spread(sample.fixed[row != 0], outcome.estimate, float(value), NO_SPREAD)
        for outcome, error, row, value in zip(tested, drawn.error, weights, null, strict=True)
    ]


def _discordant(sample: Units, row: Floats) -> int:
    return int((np.abs(row[row != 0] @ sample.values[row != 0]) > _NOTHING).sum())


def _over(sample: Units) -> str:
    return " over clusters" if sample.clustered else ""


def ratio_outcome(
    sample: Units, powers: Floats, null: float, seed: int, draws: int = DRAWS, level: float = LEVEL
) -> Outcome:
    """Test a product of powers of means against `null`.

    Parameters
    ----------
    powers : (cells,) array
        1 and -1 for the ratio of two means; 1, -1, -1 and 1 for a ratio of two ratios.
    """
    if gap := gap_of(sample, range(len(powers))):
        return untested_outcome(gap)
    means, pair = sample.means, tuple(powers) == (1.0, -1.0)
    as_difference = pair and (sample.yes_no.all() or is_area(sample, powers))
    if (means[powers < 0] <= 0).any() or ((means <= 0).any() and not as_difference):
        return untested_outcome(f"a ratio of means that are not above 0 ({', '.join(f'{mean:.4g}' for mean in means)})")
    if as_difference:
        return _ratio_of_answers(sample, null, level) if sample.yes_no.all() else _ratio_of_areas(sample, null, level)
    drawn = log_ratio(sample, powers, seed, draws)
    ratio = float(np.exp(drawn.estimate[0]))
    if not drawn.error[0] > 0:
        return outcome_without_spread(sample.fixed, ratio, null, NO_SPREAD)
    name = f"studentised bootstrap of the log ratio{_over(sample)} ({draws} draws)"
    (tested,) = studentised(drawn, np.array([np.log(null)]), level, name)
    with np.errstate(over="ignore"):  # with few questions a ratio may have no upper limit
        low, high = (float(np.exp(end)) for end in (tested.low, tested.high))
    return replace(tested, estimate=ratio, low=low, high=high)


def _ratio_of_answers(sample: Units, null: float, level: float) -> Outcome:
    """Test the ratio of two accuracies; the pseudo-questions of `a - r b` have the mean square of 1 and -r."""

    plain = score_tests(sample, np.array([[1.0, -1.0]]), np.ones(1))

    def sides(ratio: float) -> tuple[float, float]:
        own = score_tests(sample, np.array([[1.0, -ratio]]), np.array([np.sqrt((1 + ratio**2) / 2)]))
        t, z = own.estimate / own.error, plain.score(np.array([(ratio - 1) * sample.means[1]]))
        above, below = (max(tail(side * t, own.freedom)[0], tail(side * z, np.inf)[0]) for side in (1, -1))
        return float(above), float(below)

    ratio = float(sample.means[0] / sample.means[1])
    return ratio_by_difference(ratio, sides, null, f"score (Tango) of a - r b{_over(sample)}", level)


def _ratio_of_areas(sample: Units, null: float, level: float) -> Outcome:
    """Test the ratio of two areas."""
    if areas_of(sample, np.array([1.0, -1.0])) is None:
        return untested_outcome(NO_SPREAD)

    def sides(ratio: float) -> tuple[float, float]:
        weighed = areas_of(sample, np.array([1.0, -ratio]))
        assert weighed is not None
        return weighed.sides(0.0)

    return ratio_by_difference(float(sample.means[0] / sample.means[1]), sides, null, NAME, level)


def mean_outcome(sample: Units, cell: int, null: float, seed: int, draws: int = DRAWS, level: float = LEVEL) -> Outcome:
    """Test the mean of one cell against a fixed value."""
    if not sample.yes_no[cell] or gap_of(sample, [cell]):
        alone = np.eye(1, len(sample.cells), cell)
        return contrast_outcomes(sample, alone, [null], seed, draws, level)[0]
    mean = float(sample.means[cell])
    if sample.replicates[cell] == 1 and not sample.clustered and len(sample.sizes) == 1:
        right, trials = round(mean * sample.sizes[0]), int(sample.sizes[0])
        within = min(max(null, 0.0), 1.0)
        one = tuple(float(stats.binomtest(right, trials, within, side).pvalue) for side in ("greater", "less"))
        ends, name, freedom, effective = clopper_pearson(right, trials, level), "binomial exact", np.inf, float(trials)
    else:
        freedom = freedom_of(sample)
        effective = effective_trials(sample, cell)
        counted = few_units(effective, freedom, level)
        ends, name = wilson(mean * counted, counted, level), f"score (Wilson){_over(sample)}"
    statistic = (mean - null) / np.sqrt(null * (1 - null) / effective) if 0 < null < 1 else np.nan
    if name != "binomial exact":
        one = (float(tail(np.asarray(statistic), freedom)), float(tail(np.asarray(-statistic), freedom)))
    return Outcome(mean, *ends, name, float(statistic), one[0], one[1], two_sided(one[0], one[1]))
