"""Rank methods by ballots: which of two answers to the same question is better, or neither.

Davidson's extension of the Bradley-Terry model (Davidson 1970, JASA 65:317) has a strength s for each method and one
parameter nu for ties:

    P(i beats j) = e^s_i / z,   P(tie) = nu e^((s_i + s_j) / 2) / z,   z = e^s_i + e^s_j + nu e^((s_i + s_j) / 2).

A question is the unit. Its ballots (of all pairs of methods, judges and replicates) depend on each other, so variances
are those of the jackknife over questions, or their clusters: each is left out once, by one step of Newton's method
from the estimate (MacKinnon, Nielsen and Webb 2023, J Appl Econometrics 38:671). One invented ballot for each two
methods, a third of it for either side and for a tie, keeps strengths finite if a method never wins.

Differences are tested by Student's t, corrected by Holm for all pairs of methods. If nearly all ballots tie, t finds
differences where there are none (in up to a quarter of simulated tournaments of equal methods). If two methods are
equal, each question is as probable with both exchanged; so p is at least that of the exact test that exchanges them,
of wins minus losses. Intervals are widened to agree with it; if no ballot tells anything about a strength, it has none.
Methods share a group if no test tells any two of its members apart; groups are the largest such sets and may overlap,
as in a compact letter display (Piepho 2004, J Comput Graph Stat 13:456). `benchmarks/statistics/tournaments.py` has
the error rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from cortexdsl.core import Floats
from cortexdsl.stats.inference.families import holm
from cortexdsl.stats.inference.outcomes import LEVEL
from cortexdsl.stats.tables.agreement import interval_by_unit, krippendorff_alpha
from cortexdsl.stats.tables.score_table import Ints

WIN, TIE, LOSS = 0, 1, 2
"""Outcomes for the first method of a ballot."""
UNREAD = -1
"""The outcome of a ballot that cannot be read in both orders."""
SAME = 1e-6
"""Strengths that differ by less are equal: the fit is not more exact."""
PRIOR = 1 / 3
"""Invented ballots of each outcome, for each two methods."""


@dataclass(frozen=True, slots=True, eq=False)
class Ballots:
    """Ballots on one dataset.

    Attributes
    ----------
    first, second : (ballots,) int arrays
        Methods, by their place; first < second.
    outcome : (ballots,) int array
        `WIN`, `TIE`, `LOSS` or `UNREAD`.
    unit : (ballots,) int array
        The question, or the cluster of questions, of each ballot.
    judge : (ballots,) int array
    item : (ballots,) int array
        What several judges were asked about: a question, two methods and a replicate.
    is_split : (ballots,) bool array
        Whether the verdicts on the two orders name the same position.
    """

    first: Ints
    second: Ints
    outcome: Ints
    unit: Ints
    judge: Ints
    item: Ints
    is_split: NDArray[np.bool_]

    def where(self, kept: NDArray[np.bool_]) -> Ballots:
        """Return some of the ballots."""
        return Ballots(*(getattr(self, name)[kept] for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class Duel:
    """A comparison of two methods.

    Attributes
    ----------
    first, second : int
        Methods, by their place.
    difference, low, high : float
        Of their strengths, in log-odds, with the interval of this comparison alone; NaN if all tell the same of both.
    p, adjusted : float
        Two-sided, alone and corrected for all pairs of methods.
    """

    first: int
    second: int
    difference: float
    low: float
    high: float
    p: float
    adjusted: float


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The strengths of methods.

    Attributes
    ----------
    strength, low, high : (methods,) arrays
        Log-odds against a method of average strength, with intervals; NaN if all ballots tie.
    rank : (methods,) int array
        1 for the strongest.
    duels : tuple of Duel
        Of each two methods.
    groups : tuple of str
        The letters of the groups of each method, `a` for the one with the strongest.
    units : int
        Questions, or clusters of them.
    """

    strength: Floats
    low: Floats
    high: Floats
    rank: Ints
    duels: tuple[Duel, ...]
    groups: tuple[str, ...]
    units: int


def rank_methods(ballots: Ballots, methods: int, *, alpha: float = 1 - LEVEL) -> Ranking | None:
    """Fit Davidson's model and compare all methods; None with fewer than two questions or without a ballot.

    Parameters
    ----------
    ballots : Ballots
        Those that cannot be read are left out.
    methods : int
    alpha : float
        The level of all comparisons together, and of each interval.
    """
    read = ballots.where(ballots.outcome != UNREAD)
    units, unit = np.unique(read.unit, return_inverse=True)
    if len(units) < 2:
        return None
    basis = np.linalg.svd(np.ones((1, methods)))[2][1:].T  # strengths that sum to 0
    pairs = list(combinations(range(methods), 2))
    design = _design(np.array([i for i, _ in pairs]), np.array([j for _, j in pairs]), basis)
    place = {pair: k for k, pair in enumerate(pairs)}
    pair = np.array([place[i, j] for i, j in zip(read.first.tolist(), read.second.tolist(), strict=True)])
    counts = np.full((len(pairs), 3), PRIOR)
    np.add.at(counts, (pair, read.outcome), 1.0)
    fit = _fit(design, counts)
    chances = _chances(design, fit)
    means = np.einsum("kop,ko->kp", design, chances)
    spread = np.einsum("kop,koq,ko->kpq", design, design, chances) - np.einsum("kp,kq->kpq", means, means)
    score, size = np.zeros((len(units), methods)), np.zeros((len(units), len(pairs)))
    np.add.at(score, unit, design[pair, read.outcome] - means[pair])
    np.add.at(size, (unit, pair), 1.0)
    information = np.einsum("k,kpq->pq", counts.sum(axis=1), spread)
    left = information - np.einsum("uk,kpq->upq", size, spread)
    moves = np.linalg.solve(left, score[:, :, None])[:, :, 0]
    variance = moves.T @ moves * (len(units) - 1) / len(units)
    return _ranking(fit, variance, basis, pairs, _exchange_p(read, unit, methods), len(units), alpha)


def _exchange_p(ballots: Ballots, unit: Ints, methods: int) -> Floats:
    """Return p of each two methods, of the exact test that exchanges both on each question with chance 1/2."""
    wins = np.zeros((int(unit.max()) + 1, methods), dtype=np.int64)  # minus losses
    won = (ballots.outcome == WIN).astype(np.int64) - (ballots.outcome == LOSS)
    np.add.at(wins, (unit, ballots.first), won)
    np.add.at(wins, (unit, ballots.second), -won)
    return np.array([_sign_flip_p(wins[:, i] - wins[:, j]) for i, j in combinations(range(methods), 2)])


def _sign_flip_p(values: Ints) -> float:
    """Return how probable a sum at least as far from 0 is if the sign of each value is random."""
    sizes, counts = np.unique(np.abs(values), return_counts=True)
    most = int(sizes @ counts)
    sums = np.arange(-most, most + 1)
    # The distribution of a sum is the inverse Fourier transform of the product of cosines.
    waves = np.cos(np.multiply.outer(sums * (2 * np.pi / len(sums)), sizes)) ** counts
    chances = np.fft.fftshift(np.fft.ifft(np.fft.ifftshift(waves.prod(axis=1))).real)
    return min(1.0, round(float(chances[np.abs(sums) >= abs(int(values.sum()))].sum()), 12))


def _ranking(
    fit: Floats,
    variance: Floats,
    basis: Floats,
    pairs: Sequence[tuple[int, int]],
    exact: Floats,
    units: int,
    alpha: float,
) -> Ranking:
    strength, covariance = basis @ fit[:-1], basis @ variance[:-1, :-1] @ basis.T
    reach = float(stats.t.isf(alpha / 2, units - 1))
    error = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    gaps = np.array([strength[i] - strength[j] for i, j in pairs])
    variances = np.array([covariance[i, i] + covariance[j, j] - 2 * covariance[i, j] for i, j in pairs])
    errors = np.sqrt(np.maximum(variances, 0.0))
    # Methods that always give the same answers have neither a difference nor a spread.
    is_same = np.abs(gaps) < SAME
    p = np.where(is_same, 1.0, 2 * stats.t.sf(np.abs(gaps) / np.maximum(errors, SAME), units - 1))
    # Half of this p is enough for an interval: one of p = 1 has no end.
    widened = np.maximum(errors, np.abs(gaps) / stats.t.isf(np.minimum(exact, 0.5) / 2, units - 1))
    p, widened = np.maximum(p, exact), np.where(is_same, errors, widened)
    # A strength is a mean of differences, so it is at most as much less certain as they are on average.
    for (i, j), more in zip(pairs, (widened - errors) / len(error), strict=True):
        error[[i, j]] += more
    # Ballots that all tie exclude no strength, because ties alone have no direction.
    error, errors = (np.where(one < SAME, np.nan, one) for one in (error, widened))
    adjusted = holm(p)
    duels = tuple(
        Duel(*pair, float(gap), float(gap - reach * error), float(gap + reach * error), float(one), float(two))
        for pair, gap, error, one, two in zip(pairs, gaps, errors, p, adjusted, strict=True)
    )
    order = np.argsort(-strength, kind="stable")
    rank = np.empty(len(strength), dtype=np.int64)
    rank[order] = np.arange(1, len(strength) + 1)
    groups = _letters(rank, [(duel.first, duel.second) for duel in duels if duel.adjusted > alpha])
    return Ranking(strength, strength - reach * error, strength + reach * error, rank, duels, groups, units)


def _design(first: Ints, second: Ints, basis: Floats) -> Floats:
    """Return what each outcome of each pair adds to the log-odds, as (pairs, outcomes, parameters); the last is nu."""
    one, other = basis[first], basis[second]
    strengths = np.stack([one, (one + other) / 2, other], axis=1)
    ties = np.broadcast_to(np.array([0.0, 1.0, 0.0])[None, :, None], (len(first), 3, 1))
    return np.concatenate([strengths, ties], axis=2)


def _chances(design: Floats, fit: Floats) -> Floats:
    odds = design @ fit
    weights = np.exp(odds - odds.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _fit(design: Floats, counts: Floats) -> Floats:
    """Return the parameters of highest likelihood; it is concave, as that of every multinomial logit."""
    total = counts.sum(axis=1)

    def loss(fit: Floats) -> tuple[float, Floats]:
        chances = _chances(design, fit)
        slope = np.einsum("kop,ko->p", design, counts - chances * total[:, None])
        return -float((counts * np.log(np.maximum(chances, 1e-300))).sum()), -slope

    def curvature(fit: Floats) -> Floats:
        chances = _chances(design, fit)
        means = np.einsum("kop,ko->kp", design, chances)
        second = np.einsum("kop,koq,ko->kpq", design, design, chances) - np.einsum("kp,kq->kpq", means, means)
        return np.asarray(np.einsum("k,kpq->pq", total, second))

    start = np.zeros(design.shape[2])
    return np.asarray(optimize.minimize(loss, start, jac=True, hess=curvature, method="trust-exact", tol=1e-10).x)


def _letters(rank: Ints, alike: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    """Return the letters of the largest sets of methods that no test tells apart."""
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(len(rank)))
    graph.add_edges_from(alike)
    cliques = sorted(sorted(int(rank[method]) for method in clique) for clique in nx.find_cliques(graph))
    letters = [_letter(k) for k in range(len(cliques))]
    return tuple(
        "".join(letter for letter, clique in zip(letters, cliques, strict=True) if int(place) in clique)
        for place in rank
    )


def _letter(number: int) -> str:
    return chr(ord("a") + number % 26) + "'" * (number // 26)


def agreement_of_judges(ballots: Ballots, *, level: float = LEVEL) -> tuple[float, float, float]:
    """Return Krippendorff's alpha of the judges' ballots and its interval; NaN if no two judges saw the same."""
    read = ballots.where(ballots.outcome != UNREAD)
    items, index, place = np.unique(read.item, return_index=True, return_inverse=True)
    counts = np.zeros((len(items), 3))
    np.add.at(counts, (place, read.outcome), 1.0)
    if not (counts.sum(axis=1) > 1).any():
        return float("nan"), float("nan"), float("nan")
    alpha, influence = krippendorff_alpha(counts)
    return alpha, *interval_by_unit(alpha, influence, read.unit[index], level=level)
