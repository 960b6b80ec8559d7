"""Would it hold for the next team, seed, dataset or experiment like these? Groups as draws from a population.

A plain claim is about the groups that were run, and only its questions are drawn. Here the groups are drawn too: what
they differ by counts, and there are as many of them as there are, however many questions each was asked. Teams and
seeds answered the same questions (crossed); datasets and experiments have their own (separate).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy import stats
from statsmodels.stats.meta_analysis import combine_effects

from cortexdsl.analysis.phrasing import real_variation
from cortexdsl.analysis.tests.intervals import LEVEL
from cortexdsl.analysis.tests.outcome import Outcome, untested
from cortexdsl.errors import InputError
from cortexdsl.spec.claims.checks import FEWEST
from cortexdsl.terms import Floats

Over: TypeAlias = Literal["teams", "seeds", "datasets"]
FEW = 6


@dataclass(frozen=True, slots=True)
class Pooled:
    """A mean over a population of groups, and how much groups differ.

    Attributes
    ----------
    estimate, error, freedom : float
        Of the population's mean: judged by Student's t with so many degrees of freedom.
    groups : int
    between : float
        The standard deviation of the groups' true values (tau), in units of the estimate.
    share : float
        What share of the spread of the groups' estimates is not chance of their questions (I squared), in [0, 1].
    """

    estimate: float
    error: float
    freedom: float
    groups: int
    between: float
    share: float

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """The interval of the population's mean."""
        reach = float(stats.t.isf((1 - level) / 2, self.freedom)) * self.error
        return self.estimate - reach, self.estimate + reach

    def prediction(self, level: float = LEVEL) -> tuple[float, float]:
        """Where the true value of one more group lies.

        References
        ----------
        Higgins, Thompson and Spiegelhalter 2009, J R Stat Soc A 172:137, Eq. 12.
        """
        spread = float(np.hypot(self.between, self.error))
        reach = float(stats.t.isf((1 - level) / 2, max(self.groups - 2, 1))) * spread
        return self.estimate - reach, self.estimate + reach


def pool_separate(estimates: Sequence[float] | Floats, errors: Sequence[float] | Floats) -> Pooled:
    """Random-effects meta-analysis of groups that share no questions.

    The variance between groups is Paule and Mandel's, the interval that of Hartung, Knapp, Sidik and Jonkman, never
    narrower than the one that takes all variances as known.

    Parameters
    ----------
    estimates, errors : (groups,) arrays
        With their standard errors; at least `FEWEST`.

    References
    ----------
    DerSimonian and Kacker 2007, Contemp Clin Trials 28:105; Higgins and Thompson 2002, Stat Med 21:1539 (I squared);
    Paule and Mandel 1982, J Res Natl Bur Stand 87:377; Hartung and Knapp 2001, Stat Med 20:3875;
    Roever, Knapp and Friede 2015, BMC Med Res Methodol 15:99 (never narrower).
    """
    values, variances = np.asarray(estimates, dtype=np.float64), np.asarray(errors, dtype=np.float64) ** 2
    _check(len(values))
    if not (variances > 0).all():  # weights would be infinite: every group counts alike
        spread = float(values.std(ddof=1))
        between = float(np.sqrt(max(spread**2 - variances.mean(), 0.0)))
        share = between**2 / spread**2 if spread > 0 else 0.0
        return Pooled(float(values.mean()), spread / len(values) ** 0.5, len(values) - 1.0, len(values), between, share)
    with np.errstate(divide="ignore", invalid="ignore"):  # its I squared of groups that are all alike
        found = combine_effects(values, variances, method_re="iterated", use_t=True)
    error = max(float(found.sd_eff_w_re_hksj), float(found.sd_eff_w_re))
    tau = float(np.sqrt(max(found.tau2, 0.0)))
    spread = float(((values - np.average(values, weights=1 / variances)) ** 2 / variances).sum())  # Cochran's Q
    share = max(0.0, 1 - (len(values) - 1) / spread) if spread > 0 else 0.0
    return Pooled(float(found.mean_effect_re), error, len(values) - 1.0, len(values), tau, share)


def pool_crossed(values: Floats) -> Pooled:
    """The mean over groups that answered the same questions, groups and questions both drawn.

    The variance of the mean is that over questions (of the means over groups) plus tau^2 / groups, where tau^2 is what
    the groups' means differ by beyond the interaction of groups and questions: the quasi-F of psycholinguistics.

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
    chance = float((left**2).sum()) / ((groups - 1) * (units - 1)) / units  # of a group's mean, given the questions
    spread = float(by_group.var(ddof=1))
    tau_squared = max(spread - chance, 0.0)
    asked = float(by_unit.var(ddof=1)) / units
    variance = asked + tau_squared / groups
    parts = ((asked, units - 1), (spread / groups, groups - 1), (chance / groups, (groups - 1) * (units - 1)))
    counted = parts if tau_squared else parts[:1]
    loose = sum(part**2 / freedom for part, freedom in counted)
    freedom = variance**2 / loose if loose > 0 else units - 1.0
    share = tau_squared / spread if spread > 0 else 0.0
    freedom = float(np.clip(freedom, 1, units - 1))
    return Pooled(float(values.mean()), variance**0.5, freedom, groups, tau_squared**0.5, share)


def random_effect(groups: Sequence[Floats], over: Over, null: float = 0.0, level: float = LEVEL) -> tuple[Outcome, str]:
    """Test the mean of a population of teams, seeds or datasets.

    Parameters
    ----------
    groups : sequence of (units,) arrays
        Each group's contrast on each of its units (question or cluster); their mean is the group's estimate. Teams
        and seeds have the same units in the same order.
    over : str
        `teams`, `seeds` or `datasets`.
    null : float

    Returns
    -------
    Outcome
        Of Student's t; untested, with the reason, below three groups or two units.
    str
        What the reader should know: how much groups differ, where one more would lie, how few they are.
    """
    count = len(groups)
    estimate = float(np.mean([group.mean() for group in groups])) if count else np.nan
    if count < FEWEST:
        why = (
            f"{count} {over if count != 1 else over[:-1]}: what {over} differ by is not known from fewer than {FEWEST}"
        )
        return untested(why, estimate), ""
    if min(len(group) for group in groups) < 2:
        return untested(f"one of the {over} has a single question or cluster", estimate), ""
    if over == "datasets":
        errors = [float(group.std(ddof=1)) / len(group) ** 0.5 for group in groups]
        found = pool_separate([float(group.mean()) for group in groups], errors)
    else:
        found = pool_crossed(np.stack(groups))
    return _outcome(found, over, null, level), heterogeneity(found, over)


def heterogeneity(found: Pooled, over: str) -> str:
    """How much groups differ, where one more would lie, and whether they are few, in words."""
    low, high = found.prediction()
    said = (
        f"{real_variation(found.share)} of the variation between {over} is real (standard deviation "
        f"{found.between:.3g}), and one more would lie in about [{low:.3g}, {high:.3g}]"
    )
    if found.groups >= FEW:
        return said
    return f"{said}; with only {found.groups} {over} this is a rough guess, and the test may err in 6 to 8 %, not 5 %"


def _outcome(found: Pooled, over: str, null: float, level: float) -> Outcome:
    name = f"random effect of {found.groups} {over} (t, {found.freedom:.3g} degrees of freedom)"
    low, high = found.interval(level)
    if not found.error > 0:
        if found.estimate == null:
            return Outcome(found.estimate, low, high, name, 0.0, 0.5, 0.5, 1.0)
        return untested(f"the {over} do not differ at all, nor do their questions", found.estimate)
    statistic = (found.estimate - null) / found.error
    above, below = (float(stats.t.sf(side, found.freedom)) for side in (statistic, -statistic))
    return Outcome(found.estimate, low, high, name, statistic, above, below, min(1.0, 2 * min(above, below)))


def _check(groups: int) -> None:
    if groups < FEWEST:
        raise InputError(f"{groups} groups: what groups differ by is not known from fewer than {FEWEST}")
