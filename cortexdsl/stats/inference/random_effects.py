"""Random effects: teams, seeds, datasets or experiments as a sample from a population of them.

A plain claim is about the groups that were run, and only its questions are a sample. Here groups are a sample too:
their variation counts, and their number is the sample size, however many questions each was asked. Teams and seeds
answered the same questions (crossed); datasets and experiments have their own (separate). Several experiments with the
same cells are pooled by a random-effects meta-analysis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats
from statsmodels.stats.meta_analysis import combine_effects

from cortexdsl.claims.meaning import FEWEST
from cortexdsl.claims.values import Over
from cortexdsl.core import Floats
from cortexdsl.errors import InputError
from cortexdsl.stats.inference.outcomes import LEVEL, Outcome, StudentEstimate, untested_outcome
from cortexdsl.stats.inference.phrases import real_variation

FEW = 6


@dataclass(frozen=True, slots=True)
class Pooled(StudentEstimate):
    """The mean over a population of groups, and how much groups differ.

    Attributes
    ----------
    estimate, error, freedom : float
        The population's mean, its standard error, and degrees of freedom of Student's t.
    groups : int
    between : float
        The standard deviation of the groups' true values (tau), in units of the estimate.
    share : float
        The share of the variation of the estimates that is not due to the choice of questions (I squared), in [0, 1].
    """

    groups: int
    between: float
    share: float

    def prediction(self, level: float = LEVEL) -> tuple[float, float]:
        """Return the prediction interval of the true value of one more group.

        References
        ----------
        Higgins, Thompson and Spiegelhalter 2009, J R Stat Soc A 172:137, Eq. 12.
        """
        spread = float(np.hypot(self.between, self.error))
        reach = float(stats.t.isf((1 - level) / 2, max(self.groups - 2, 1))) * spread
        return self.estimate - reach, self.estimate + reach


def pool_separate(estimates: Sequence[float] | Floats, errors: Sequence[float] | Floats) -> Pooled:
    """Pool groups that share no questions: a random-effects meta-analysis.

    The variance between groups is Paule and Mandel's, the interval that of Hartung, Knapp, Sidik and Jonkman, at least
    as wide as the interval for known variances.

    Parameters
    ----------
    estimates, errors : (groups,) arrays
        Estimates and their standard errors, at least `FEWEST`.

    References
    ----------
    DerSimonian and Kacker 2007, Contemp Clin Trials 28:105; Higgins and Thompson 2002, Stat Med 21:1539 (I squared);
    Paule and Mandel 1982, J Res Natl Bur Stand 87:377; Hartung and Knapp 2001, Stat Med 20:3875;
    Roever, Knapp and Friede 2015, BMC Med Res Methodol 15:99 (never narrower).
    """
    values, variances = np.asarray(estimates, dtype=np.float64), np.asarray(errors, dtype=np.float64) ** 2
    _check(len(values))
    if not (variances > 0).all():  # weights would be infinite, so all groups count alike
        spread = float(values.std(ddof=1))
        between = float(np.sqrt(max(spread**2 - variances.mean(), 0.0)))
        share = between**2 / spread**2 if spread > 0 else 0.0
        return Pooled(float(values.mean()), spread / len(values) ** 0.5, len(values) - 1.0, len(values), between, share)
    with np.errstate(divide="ignore", invalid="ignore"):  # I squared is undefined if all groups are alike
        combined = combine_effects(values, variances, method_re="iterated", use_t=True)
    error = max(float(combined.sd_eff_w_re_hksj), float(combined.sd_eff_w_re))
    tau = float(np.sqrt(max(combined.tau2, 0.0)))
    spread = float(((values - np.average(values, weights=1 / variances)) ** 2 / variances).sum())  # Cochran's Q
    share = max(0.0, 1 - (len(values) - 1) / spread) if spread > 0 else 0.0
    return Pooled(float(combined.mean_effect_re), error, len(values) - 1.0, len(values), tau, share)


def pool_crossed(values: Floats) -> Pooled:
    """Pool groups that answered the same questions; groups and questions are both samples.

    Three mean squares estimate the variance of the mean: that of questions, that of groups, and that of their
    interaction, which the other two contain. The variance is questions + groups - interaction: the quasi-F of
    psycholinguistics. No component of variance is below 0, so if questions or groups differ by no more than the
    interaction explains, the variance is the largest of the three, with its own degrees of freedom. Satterthwaite's
    formula gives fewer than those of any mean square where two of them nearly cancel; at least the smaller number of
    groups and questions, less one, are then used. The test then erred in 1.2 to 7.1 % of simulations with 3 or 5
    groups (`benchmarks/statistics/crossed.py`).

    Parameters
    ----------
    values : (groups, units) array
        Each group's contrast on each unit; at least `FEWEST` groups and 2 units.

    References
    ----------
    Clark 1973, J Verbal Learning Verbal Behav 12:335; Satterthwaite 1946, Biometrics 2:110 (degrees of freedom);
    Westfall, Kenny and Judd 2014, J Exp Psychol Gen 143:2020.
    """
    groups, units = values.shape
    _check(groups)
    by_group, by_unit = values.mean(axis=1), values.mean(axis=0)
    left = values - by_group[:, None] - by_unit + values.mean()
    spread = float(by_group.var(ddof=1))
    of_units = float(by_unit.var(ddof=1)) / units
    of_groups = spread / groups
    shared = float((left**2).sum()) / ((groups - 1) * (units - 1)) / (groups * units)
    squares = ((of_units, units - 1), (of_groups, groups - 1), (shared, (groups - 1) * (units - 1)))
    if of_units > shared and of_groups > shared:
        variance = of_units + of_groups - shared
        freedom = variance**2 / sum(square**2 / own for square, own in squares)
    else:
        variance, freedom = max(squares)
    freedom = float(np.clip(freedom, min(groups, units) - 1, units - 1))
    tau_squared = max(spread - groups * shared, 0.0)
    share = tau_squared / spread if spread > 0 else 0.0
    return Pooled(float(values.mean()), variance**0.5, freedom, groups, tau_squared**0.5, share)


def random_effect(groups: Sequence[Floats], over: Over, null: float = 0.0, level: float = LEVEL) -> tuple[Outcome, str]:
    """Test the mean of a population of teams, seeds or datasets.

    Parameters
    ----------
    groups : sequence of (units,) arrays
        The contrast of each group on each of its units (question or cluster); the mean is the group's estimate. Teams
        and seeds have the same units in the same order.
    over : str
        `teams`, `seeds`, `datasets`, `prompts` or `fits`.
    null : float

    Returns
    -------
    Outcome
        Of Student's t; untested, with the reason, for fewer than three groups or two units.
    str
        The note: how much groups differ, the range of a new group, whether they are few.
    """
    count = len(groups)
    estimate = float(np.mean([group.mean() for group in groups])) if count else np.nan
    if count < FEWEST:
        why = (
            f"{count} {over if count != 1 else over[:-1]}: what {over} differ by is not known from fewer than {FEWEST}"
        )
        return untested_outcome(why, estimate), ""
    if min(len(group) for group in groups) < 2:
        return untested_outcome(f"one of the {over} has a single question or cluster", estimate), ""
    if over == "datasets":
        errors = [float(group.std(ddof=1)) / len(group) ** 0.5 for group in groups]
        pooled = pool_separate([float(group.mean()) for group in groups], errors)
    else:
        pooled = pool_crossed(np.stack(groups))
    return _outcome(pooled, over, null, level), heterogeneity(pooled, over)


def heterogeneity(pooled: Pooled, over: str) -> str:
    """Write how much groups differ, the range of a new group, and whether they are few."""
    low, high = pooled.prediction()
    note = (
        f"{real_variation(pooled.share)} of the variation between {over} is real (standard deviation "
        f"{pooled.between:.3g}), and one more would lie in about [{low:.3g}, {high:.3g}]"
    )
    if pooled.groups >= FEW:
        return note
    return f"{note}, a rough guess; with only {pooled.groups} {over} the test may err in 6 to 8 %, not 5 %"


def _outcome(pooled: Pooled, over: str, null: float, level: float) -> Outcome:
    name = f"random effect of {pooled.groups} {over} (t, {pooled.freedom:.3g} degrees of freedom)"
    if not pooled.error > 0:
        if pooled.estimate == null:
            return Outcome(null, null, null, name, 0.0, 0.5, 0.5, 1.0)
        return untested_outcome(f"the {over} do not differ at all, nor do their questions", pooled.estimate)
    return pooled.outcome(name, null, level)


def _check(groups: int) -> None:
    if groups < FEWEST:
        raise InputError(f"{groups} groups: what groups differ by is not known from fewer than {FEWEST}")
