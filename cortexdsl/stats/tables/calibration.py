"""Calibration error and AUROC of a cell's answers, question by question.

Neither is a mean of questions: all answers of a cell make it together. They enter a test by their influence function:
a value for each question whose mean is the estimate and whose spread over questions is that of the estimate (as
Obuchowski 1997, Biometrics 53:567, does for the AUROC of clustered data). So the question (or its cluster) stays the
unit, and a question's answers, rounds and replicates stay together.

A calibration error sums absolute values, so noise alone raises it, the more the fewer answers there are. Each bin's
absolute difference is reduced by what its own noise adds to it if the difference is as observed (the mean of a folded
normal distribution). docs/benchmarks/calibration.md has the bias that remains.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cortexdsl.core import Floats

if TYPE_CHECKING:
    from cortexdsl.stats.tables.score_table import Ints

BINS = 10
NO_AREA = -1
"""The number of questions of the rarer kind, for a metric that is not an AUROC."""


def bin_of(confidence: Floats, bins: int = BINS) -> Ints:
    """Return the bin of each confidence in [0, 1], of equally wide ones; the last bin includes 1.

    Confidences are compared with the edges themselves: 0.3 is in the fourth of ten bins, whatever 0.3 * 10 rounds to.
    """
    edges = np.arange(bins + 1) / bins
    return np.clip(np.searchsorted(edges, confidence, side="right") - 1, 0, bins - 1)


def linearised_errors(confidence: Floats, right: Floats, question: Ints, clusters: Ints) -> Floats:
    """Return the linearised expected calibration error (Guo et al. 2017, Eq. 3), a value for each question.

    Parameters
    ----------
    confidence, right : (answers,) arrays
        In [0, 1].
    question : (answers,) int array
        The question of each answer.
    clusters : (questions,) int array
        The cluster of each question.
    """
    from scipy import stats  # scoring debates needs the bins alone

    count = len(clusters)
    if not len(confidence):
        return np.full(count, np.nan)
    off, answers = np.zeros((count, BINS)), np.bincount(question, minlength=count).astype(np.float64)
    np.add.at(off, (question, bin_of(confidence)), right - confidence)
    each = len(confidence) / count
    gap = off.mean(axis=0) / each
    influence = (off - gap * answers[:, None]) / each
    units = int(clusters.max()) + 1
    whole = np.zeros((units, BINS))
    np.add.at(whole, clusters, influence)
    noise = np.sqrt((whole**2).sum(axis=0) * units / max(units - 1, 1)) / count
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.where(noise > 0, gap / noise, np.where(gap == 0, 0.0, np.sign(gap) * np.inf))
    folded = noise * 2 * stats.norm.pdf(z) + gap * (2 * stats.norm.cdf(z) - 1)
    estimate = float((2 * np.abs(gap) - folded).sum())
    return np.asarray(estimate + influence @ (2 * np.sign(gap) - (2 * stats.norm.cdf(z) - 1)))


def linearised_areas(confidence: Floats, right: Floats, question: Ints, clusters: Ints) -> Floats:
    """Return the linearised AUROC, P(a right answer is more confident than a wrong one), a value for each question.

    Ties count half. Parameters are those of `linearised_errors`.
    """
    count, is_right = len(clusters), right > 0
    ahead, behind = confidence[is_right], confidence[~is_right]
    if not len(ahead) or not len(behind):
        return np.full(count, np.nan)
    over = _share_below(behind, ahead)
    under = 1 - _share_below(ahead, behind)
    area = float(over.mean())
    influence = np.bincount(question[is_right], (over - area) / len(ahead), count)
    influence += np.bincount(question[~is_right], (under - area) / len(behind), count)
    return np.asarray(area + count * influence)


def rarer_units(right: Floats, unit: Ints) -> int:
    """Count the units that have right answers, and those that have wrong ones; return the smaller number."""
    return min(len(np.unique(unit[right > 0])), len(np.unique(unit[right <= 0])))


def _share_below(values: Floats, of: Floats) -> Floats:
    """Return, for each of `of`, the share of `values` below it; equal ones count half."""
    ordered = np.sort(values)
    twice = np.searchsorted(ordered, of, "left") + np.searchsorted(ordered, of, "right")
    return np.asarray(twice / (2 * len(values)))
