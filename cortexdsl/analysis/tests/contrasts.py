"""A contrast of cells, tested: which test and which interval belong to which data is decided here and nowhere else.

| data | difference from 0 | difference from another value | interval |
|---|---|---|---|
| 0/1 rows, one replicate, two means | exact McNemar | Bonett-Price | Bonett-Price |
| 0/1 rows, replicates averaged | exact sign-flip | Bonett-Price, generalised | the same |
| the same, a contrast that is not its own mirror image | Bonett-Price, generalised | the same | the same |
| any numbers | studentised bootstrap | the same | the same |
| products and ratios of means | studentised bootstrap on logs | the same | the same |
| one mean of 0/1 rows | - | exact binomial, or Wilson's score by t | Wilson at the effective number of questions |

Units are questions or clusters throughout. Sign flips are exact where equal methods could change places: a contrast
whose weights are their own mirror image (1 and -1; -1, 0 and 1; 1, -1, -1 and 1). What data a contrast has is
decided by its own cells, never by others in the same table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from cortexdsl.analysis.tests.bootstrap import log_ratio, resample, studentised
from cortexdsl.analysis.tests.intervals import (
    LEVEL,
    adjusted_difference,
    effective_trials,
    few_units,
    quantile,
    tail,
    wilson,
)
from cortexdsl.analysis.tests.signflip import DRAWS, Flip, mcnemar_mid_p, sign_flip
from cortexdsl.analysis.units.units import Units
from cortexdsl.terms import Floats

_NOTHING = 1e-12


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a test found.

    Attributes
    ----------
    estimate, low, high : float
        The contrast (or ratio, or mean) and its interval.
    test : str
        With its Monte Carlo error or mid-p where there is one.
    statistic : float
    above, below : float
        One-sided p-values against "at most the null value" and "at least the null value"; NaN where nothing
        could be tested.
    p : float
        Two-sided.
    discordant : int
        Questions whose contrast is not 0.
    """

    estimate: float
    low: float
    high: float
    test: str
    statistic: float
    above: float
    below: float
    p: float
    discordant: int = 0

    def scaled(self, factor: float) -> Outcome:
        """The outcome of the contrast times a factor above 0."""
        return replace(self, estimate=self.estimate * factor, low=self.low * factor, high=self.high * factor)


def untested(why: str, estimate: float = np.nan) -> Outcome:
    """An outcome that says why there is none."""
    return Outcome(estimate, np.nan, np.nan, f"none: {why}", np.nan, np.nan, np.nan, np.nan)


def gap_of(sample: Units, cells: Sequence[int]) -> str:
    """Why some cells cannot be tested on this metric, or nothing."""
    # A missing score counts as 0 only where all that it is compared with are scores as well.
    absent = sample.gaps if sample.scored[list(cells)].all() else sample.gaps + sample.missing
    for cell in cells:
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
        The value that each contrast is tested against.
    seed, draws : int
        Of drawn signs and resamples.
    level : float
        Of the intervals.

    Returns
    -------
    list of Outcome
        One a row of `weights`, in order.
    """
    gaps = [gap_of(sample, np.flatnonzero(row).tolist()) for row in weights]
    found: dict[int, Outcome] = {i: untested(gap) for i, gap in enumerate(gaps) if gap}
    yes_no = [bool(sample.yes_no[row != 0].all() and abs(row.sum()) < _NOTHING) for row in weights]
    for kind in (True, False):
        if alike := [i for i, gap in enumerate(gaps) if not gap and yes_no[i] == kind]:
            chosen, values = weights[alike], np.array([null[i] for i in alike], dtype=np.float64)
            tested = _outcomes(sample, chosen, values, kind, seed, draws, level)
            found |= dict(zip(alike, tested, strict=True))
    return [found[i] for i in range(len(weights))]


def _outcomes(
    sample: Units, weights: Floats, null: Floats, yes_no: bool, seed: int, draws: int, level: float
) -> list[Outcome]:
    contributions = _contributions(sample, weights)
    estimate = contributions.sum(axis=0)
    if yes_no:
        shifted = _bonett_price(sample, contributions, np.abs(weights).sum(axis=1) / 2, null, level)
    else:
        shifted = _bootstrapped(sample, contributions, null, seed, draws, level)
    moved = contributions - null * sample.share[:, None]
    mirrored = np.array([yes_no and _is_mirrored(row) for row in weights])
    turned = np.flatnonzero(((null == 0) & mirrored) | np.isnan(shifted.above))
    flips = dict(zip(turned.tolist(), sign_flip(moved[:, turned], sample.step, seed, draws), strict=True))
    found = []
    for i, row in enumerate(weights):
        low, high = float(shifted.low[i]), float(shifted.high[i])
        discordant = int((np.abs(row[row != 0] @ sample.values[row != 0]) > _NOTHING).sum())
        if i in flips:
            name, statistic = _flip_name(sample, row, moved[:, i], flips[i], draws)
            above, below = _sides(flips[i].p, float(estimate[i] - null[i]))
            p = flips[i].p
        else:
            name, statistic = shifted.name, float(shifted.statistic[i])
            above, below = float(shifted.above[i]), float(shifted.below[i])
            p = float(shifted.p[i])
        found.append(Outcome(float(estimate[i]), low, high, name, statistic, above, below, p, discordant))
    return found


def _is_mirrored(row: Floats) -> bool:
    """Whether cells that are exchangeable give the contrast and its opposite equally often."""
    ordered = np.sort(row[row != 0])
    return bool(np.allclose(ordered, -ordered[::-1], atol=_NOTHING))


@dataclass(frozen=True, slots=True, eq=False)
class _Shifted:
    """Intervals, and the test against a null value that is not 0; (tests,) arrays."""

    name: str
    low: Floats
    high: Floats
    statistic: Floats
    above: Floats
    below: Floats
    p: Floats


def _bonett_price(sample: Units, contributions: Floats, reach: Floats, null: Floats, level: float) -> _Shifted:
    centre, error, freedom = adjusted_difference(sample, contributions, reach)
    ends, statistic = quantile(freedom, level) * error, (centre - null) / error
    low, high = np.maximum(centre - ends, -reach), np.minimum(centre + ends, reach)
    above, below = tail(statistic, freedom), tail(-statistic, freedom)
    p = np.minimum(1.0, 2 * np.minimum(above, below))
    return _Shifted(f"Bonett-Price{_over(sample)}", low, high, statistic, above, below, p)


def _bootstrapped(sample: Units, contributions: Floats, null: Floats, seed: int, draws: int, level: float) -> _Shifted:
    drawn = resample(sample, contributions, seed, draws)
    found = studentised(drawn, null, level)
    with np.errstate(invalid="ignore", divide="ignore"):
        statistic = (drawn.estimate - null) / drawn.error
    return _Shifted(
        f"studentised bootstrap{_over(sample)} ({draws} draws)",
        found.low,
        found.high,
        statistic,
        found.above,
        found.below,
        found.p,
    )


def _contributions(sample: Units, weights: Floats) -> Floats:
    """(units, tests); cells of weight 0 do not count, even where they hold NaN."""
    return np.stack([sample.parts[row != 0].T @ row[row != 0] for row in weights], axis=1)


def _sides(p: float, estimate: float) -> tuple[float, float]:
    """One-sided p-values of a symmetric two-sided test."""
    near, far = p / 2, 1 - p / 2
    return (near, far) if estimate > 0 else (far, near) if estimate < 0 else (0.5, 0.5)


def _flip_name(sample: Units, row: Floats, moved: Floats, flip: Flip, draws: int) -> tuple[str, float]:
    """The name of a sign-flip test and its statistic: McNemar's smaller count, else the sum over its null sd."""
    pair = np.flatnonzero(row)
    single = sample.yes_no[pair].all() and len(pair) == 2 and (sample.replicates[pair] == 1).all()
    if single and not sample.clustered and len(sample.sizes) == 1:
        wins, losses = int((moved > 0).sum()), int((moved < 0).sum())
        return f"McNemar exact (mid-p {mcnemar_mid_p(wins, losses):.4g})", float(min(wins, losses))
    spread = float(np.sqrt((moved**2).sum()))
    return f"sign-flip{_over(sample)} {_precision(flip, draws)}", float(moved.sum()) / spread if spread > 0 else 0.0


def _over(sample: Units) -> str:
    return " over clusters" if sample.clustered else ""


def _precision(flip: Flip, draws: int) -> str:
    return "exact" if flip.error is None else f"({draws} draws, se {flip.error:.2g})"


def ratio_outcome(
    sample: Units, powers: Floats, null: float, seed: int, draws: int = DRAWS, level: float = LEVEL
) -> Outcome:
    """Test a product of powers of means against `null`, on logs.

    Parameters
    ----------
    powers : (cells,) array
        1 and -1 for the ratio of two means; 1, -1, -1 and 1 for a ratio of two ratios.
    """
    if gap := gap_of(sample, range(len(powers))):
        return untested(gap)
    means = sample.means
    if (means <= 0).any():
        return untested(f"a ratio of means that are not above 0 ({', '.join(f'{mean:.4g}' for mean in means)})")
    drawn = log_ratio(sample, powers, seed, draws)
    ratio = float(np.exp(drawn.estimate[0]))
    if not drawn.error[0] > 0:
        moved = sample.parts.T @ (powers / means) + (drawn.estimate[0] - np.log(null)) * sample.share
        moved[np.abs(moved) <= _NOTHING * sample.share] = 0
        flip = sign_flip(moved[:, None], None, seed, draws)[0]
        sides = _sides(flip.p, ratio - null)
        return Outcome(ratio, ratio, ratio, f"sign-flip {_precision(flip, draws)}", np.nan, *sides, flip.p)
    found = studentised(drawn, np.array([np.log(null)]), level)
    with np.errstate(over="ignore"):  # a few questions may say nothing of how large a ratio could be
        low, high = (float(np.exp(x[0])) for x in (found.low, found.high))
    statistic = float((drawn.estimate[0] - np.log(null)) / drawn.error[0])
    name = f"studentised bootstrap of the log ratio ({draws} draws)"
    one = (float(found.above[0]), float(found.below[0]))
    return Outcome(ratio, low, high, name, statistic, *one, float(found.p[0]))


def mean_outcome(sample: Units, cell: int, null: float, seed: int, draws: int = DRAWS, level: float = LEVEL) -> Outcome:
    """Test one cell's mean against a fixed value."""
    if not sample.yes_no[cell] or sample.gaps[cell]:
        alone = np.eye(1, len(sample.cells), cell)
        return contrast_outcomes(sample, alone, [null], seed, draws, level)[0]
    single = sample.replicates[cell] == 1 and not sample.clustered and len(sample.sizes) == 1
    mean, trials = float(sample.means[cell]), float(sample.sizes[0]) if single else effective_trials(sample, cell)
    freedom = np.inf if single else max(float(len(sample.share) - len(sample.sizes)), 1.0)
    counted = few_units(trials, freedom, level)
    low, high = wilson(mean * counted, counted, level)
    statistic = np.asarray((mean - null) / np.sqrt(null * (1 - null) / trials) if 0 < null < 1 else np.nan)
    one = (float(tail(statistic, freedom)), float(tail(-statistic, freedom)))
    name = f"score (Wilson){_over(sample)}"
    if single:
        counts = (round(mean * sample.sizes[0]), int(sample.sizes[0]), min(max(null, 0.0), 1.0))
        one = (float(stats.binomtest(*counts, "greater").pvalue), float(stats.binomtest(*counts, "less").pvalue))
        name = "binomial exact"
    return Outcome(mean, low, high, name, float(statistic), *one, min(1.0, 2 * min(one)))
