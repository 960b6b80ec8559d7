"""Tests on these questions: the questions are fixed, and the draws of each one (its replicates) are the sample.

Each question has an expected value of a contrast, and the estimand is their mean. Questions do not have to be alike, so
nothing is learnt from how they differ: the variance of the estimate is the sum over questions of

    weight^2 s^2 / R,

where s^2 is the sample variance of the contrast over the R replicates of the question. Cells are subtracted within a
replicate first, because cells that begin alike share calls there. This is the variance of a stratified sample with a
stratum for each question (Cochran 1977, Sampling Techniques, chapter 5), and of Miller's model the part that is not the
choice of questions (Miller 2024, arXiv 2411.00640). Degrees of freedom are Satterthwaite's.

If all replicates of all questions agree, s^2 is 0 although other draws might differ. So scores of 0 and 1 are joined by
two pseudo-draws, one in favour of each side and each as large as one replicate of one question can be: Bonett and
Price's pseudo-questions, counted in draws. The centre is the estimate itself.

Clusters do not matter here: what questions share does not change how draws of one question differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cortexdsl.claims.values import FEWEST_DRAWS, LIKE_THESE
from cortexdsl.core import Floats
from cortexdsl.errors import DataError
from cortexdsl.stats.inference.accuracies import ratio_by_difference
from cortexdsl.stats.inference.outcomes import (
    LEVEL,
    Outcome,
    StudentEstimate,
    outcome_without_spread,
    untested_outcome,
)
from cortexdsl.stats.tables.draws import Draws
from cortexdsl.stats.tables.units import Units

_NOTHING = 1e-12
SAME_DRAWS = "no replicate of any question differs, so nothing is known of the noise of sampling"
TOO_FEW = f"a claim on these questions needs the noise of sampling, so at least {FEWEST_DRAWS} replicates"
MORE_DRAWS = f"write replicates: {FEWEST_DRAWS} or more, or claim it of {LIKE_THESE}"


def gap_of_draws(draws: Draws) -> str:
    """Return why draws cannot be tested, or nothing.

    Raises
    ------
    DataError
        There are fewer than two replicates.
    """
    if draws.replicates < FEWEST_DRAWS:
        raise DataError(f"{TOO_FEW}, and there is one\n    {MORE_DRAWS}")
    if min(map(len, draws.groups), default=FEWEST_DRAWS) < FEWEST_DRAWS:
        raise DataError(f"{TOO_FEW} of each wording of the prompts\n    {MORE_DRAWS}, or over prompts")
    return "; ".join(draws.lacking)


def drawn_contrast(draws: Draws, row: Floats, reach: float) -> StudentEstimate:
    """Return a contrast of means with its sampling error.

    Parameters
    ----------
    draws : Draws
        With at least two replicates.
    row : (cells,) array
        The weight of each cell.
    reach : float
        How far one replicate of one question can move the contrast: for scores of 0 and 1; 0 for other numbers, which
        get no pseudo-draws.
    """
    used = row != 0
    each = np.tensordot(row[used], draws.values[used], axes=1)
    replicates = draws.replicates
    groups = draws.groups or (np.arange(replicates),)
    sizes = np.array([len(group) for group in groups])
    within = np.stack([each[:, group].var(axis=1, ddof=1) for group in groups], axis=1)
    parts = draws.weight[:, None] ** 2 * within * sizes / replicates**2
    pseudo = (reach * draws.weight.max() / replicates) ** 2 if reach else 0.0
    variance = float(parts.sum() + 2 * pseudo)
    # E s^4 = sigma^4 (R + 1) / (R - 1): the squares of estimates are too large by that much.
    spread = float((parts**2 / (sizes + 1)).sum() + 2 * pseudo**2 / (sizes.min() + 1))
    freedom = variance**2 / spread if spread > 0 else np.inf
    most = len(parts) * int((sizes - 1).sum()) + 2 * bool(reach)
    return StudentEstimate(float(draws.weight @ each.mean(axis=1)), variance**0.5, min(freedom, float(most)))


def drawn_outcomes(sample: Units, weights: Floats, null: Sequence[float], level: float = LEVEL) -> list[Outcome]:
    """Test contrasts of cells on fixed questions.

    Parameters
    ----------
    sample : Units
        With draws.
    weights : (tests, cells) array
    null : sequence of float
        The null value of each contrast.

    Returns
    -------
    list of Outcome
        One a row of `weights`, in order.
    """
    return [_outcome(sample, row, value, level) for row, value in zip(weights, null, strict=True)]


def _outcome(sample: Units, row: Floats, null: float, level: float) -> Outcome:
    used = row != 0
    binary = bool(sample.yes_no[used].all())
    reach = float(np.abs(row).sum()) / 2 if len(np.flatnonzero(row)) > 1 else float(np.abs(row).sum())
    drawn = drawn_contrast(_draws(sample), row, reach if binary else 0.0)
    if not drawn.error > _NOTHING * max(1.0, abs(drawn.estimate)):
        return outcome_without_spread(sample.fixed[used], drawn.estimate, null, SAME_DRAWS)
    outcome = drawn.outcome(name_of_test(drawn), null, level)
    if not binary:
        return outcome
    least, most = float(row[row < 0].sum()), float(row[row > 0].sum())
    return replace(outcome, low=max(outcome.low, least), high=min(outcome.high, most))


def _draws(sample: Units) -> Draws:
    assert sample.draws is not None, "the units lack draws"
    return sample.draws


def name_of_test(drawn: StudentEstimate) -> str:
    """Return the name of the test."""
    return f"t on these questions ({drawn.freedom:.3g} degrees of freedom of sampling)"


def drawn_ratio(sample: Units, powers: Floats, null: float, level: float = LEVEL) -> Outcome:
    """Test a product of powers of means on fixed questions.

    A ratio of two means is tested as `a - r b` against 0 (Fieller); a ratio of two ratios by its logarithm, linear in
    the draws.

    Parameters
    ----------
    powers : (cells,) array
        1 and -1 for a ratio of two means; 1, -1, -1 and 1 for a ratio of two ratios.
    """
    means, draws = sample.means, _draws(sample)
    if (means[powers < 0] <= 0).any() or (len(powers) != 2 and (means <= 0).any()):
        return untested_outcome(f"a ratio of means that are not above 0 ({', '.join(f'{mean:.4g}' for mean in means)})")
    ratio = float(np.prod(means**powers))
    binary = bool(sample.yes_no.all())
    if tuple(powers) == (1.0, -1.0):

        def contrast(value: float) -> StudentEstimate:
            reach = float(np.sqrt((1 + value**2) / 2)) if binary else 0.0
            return drawn_contrast(draws, np.array([1.0, -value]), reach)

        here = contrast(ratio)
        if not here.error > _NOTHING * max(1.0, means[0]):
            return outcome_without_spread(sample.fixed, ratio, null, SAME_DRAWS)
        return ratio_by_difference(
            ratio, lambda value: contrast(value).sides(0.0), null, f"{name_of_test(here)} of a - r b", level
        )
    drawn = drawn_contrast(draws, powers / means, 0.0)
    if not drawn.error > _NOTHING:
        return outcome_without_spread(sample.fixed, ratio, null, SAME_DRAWS)
    centred = StudentEstimate(float(np.log(ratio)), drawn.error, drawn.freedom)
    outcome = centred.outcome(f"{name_of_test(centred)} of the log ratio", float(np.log(null)), level)
    return replace(outcome, estimate=ratio, low=float(np.exp(outcome.low)), high=float(np.exp(outcome.high)))
