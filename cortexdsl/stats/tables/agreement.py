"""Agreement of verdicts on pairs with human labels beyond chance: Cohen's kappa and Krippendorff's alpha.

Neither is a mean of questions, so both enter a test by their influence function: a value for each question whose mean
is the estimate. The two orders of a pair are one cluster, and they hold each label once on either side. Chance
agreement therefore does not depend on which reply a dataset lists first (HH-RLHF always lists the better one first).
"""

from __future__ import annotations

import numpy as np
from scipy.stats import t as student

from cortexdsl.core import Floats
from cortexdsl.errors import DataError
from cortexdsl.stats.tables.score_table import Ints, ScoreTable

COLUMNS = ("first_chosen", "tie_chosen", "labels", "first_labels", "tie_labels")
"""Columns of scores.csv that both need."""


def verdicts_and_labels(table: ScoreTable, rows: np.ndarray) -> tuple[Floats, Floats]:
    """Return counts of verdicts and of human labels in some rows of a table.

    Returns
    -------
    verdicts, labels : (rows, 3) arrays
        For the reply shown first, the other one, and a tie. Verdicts that cannot be read are rows of zeros.

    Raises
    ------
    DataError
        The table is not about pairs.
    """
    missing = [column for column in COLUMNS if column not in table.frame]
    if missing:
        raise DataError(f"{table.source}: no column {missing[0]!r}\n    kappa and alpha are of datasets of kind pair")
    first, tie, labels, first_labels, tie_labels = (table.column(column)[rows] for column in COLUMNS)
    first_alone = first - tie / 2
    verdicts = np.nan_to_num(np.column_stack([first_alone, 1 - first_alone - tie, tie]))
    return verdicts, np.column_stack([first_labels, labels - first_labels - tie_labels, tie_labels])


def cohen_kappa(verdicts: Floats, labels: Floats) -> tuple[float, Floats]:
    """Return Cohen's kappa of verdicts with labels, and the influence of each row on it.

    kappa = (p_o - p_e) / (1 - p_e), where p_o is the mean share of a row's labels that equal its verdict, and p_e the
    sum over categories of the share of verdicts times the mean share of labels. A row without a verdict agrees with
    nothing.

    Parameters
    ----------
    verdicts : (rows, categories) array
        1 for the verdict of a row; zeros if it could not be read.
    labels : (rows, categories) array
        How many human labels each row has of each category, at least one in all.

    References
    ----------
    Cohen 1960, Educational and Psychological Measurement 20:37. Fleiss, Cohen and Everitt 1969, Psychological Bulletin
    72:323 (its variance by the same linearisation).

    Examples
    --------
    >>> judge = np.repeat(np.eye(2)[[0, 0, 1, 1]], [20, 5, 10, 15], axis=0)
    >>> people = np.repeat(np.eye(2)[[0, 1, 0, 1]], [20, 5, 10, 15], axis=0)
    >>> round(cohen_kappa(judge, people)[0], 3)
    0.4
    """
    shares = labels / labels.sum(axis=1, keepdims=True)
    agree = (verdicts * shares).sum(axis=1)
    of_judge, of_people = verdicts.mean(axis=0), shares.mean(axis=0)
    observed, expected = float(agree.mean()), float(of_judge @ of_people)
    if expected >= 1:
        return float("nan"), np.full(len(agree), np.nan)
    kappa = (observed - expected) / (1 - expected)
    moved = verdicts @ of_people + shares @ of_judge - 2 * expected
    influence = (agree - observed) / (1 - expected) - (1 - observed) / (1 - expected) ** 2 * moved
    return kappa, influence


def krippendorff_alpha(counts: Floats) -> tuple[float, Floats]:
    """Return Krippendorff's alpha of nominal values, and the influence of each unit on it.

    alpha = 1 - D_o / D_e with D_o = sum over units of (m^2 - sum of n_c^2) / (m - 1) / n, where n_c values of a unit
    are c and m are all of them, and D_e = (n^2 - sum of N_c^2) / (n (n - 1)), where N_c of all n values are c. Units
    with one value do not count.

    Parameters
    ----------
    counts : (units, categories) array
        How many observers gave each category.

    References
    ----------
    Krippendorff 2004, Human Communication Research 30:411. Hayes and Krippendorff 2007, Communication Methods and
    Measures 1:77.

    Examples
    --------
    >>> round(krippendorff_alpha(np.array([[2, 0], [2, 0], [1, 1], [0, 2]]))[0], 3)
    0.533
    """
    values = counts.sum(axis=1)
    used = np.where((values > 1)[:, None], counts, 0).astype(np.float64)
    size, total = used.sum(axis=1), used.sum(axis=0)
    differing = (size**2 - (used**2).sum(axis=1)) / np.maximum(size - 1, 1)
    n, apart = float(size.sum()), float(size.sum() ** 2 - (total**2).sum())
    if not apart:
        return float("nan"), np.full(len(counts), np.nan)
    ratio = float(differing.sum()) / apart
    change = 2 * n * size - 2 * used @ total  # of `apart`, by each unit
    influence = -len(counts) * (size * ratio + (n - 1) * (differing / apart - ratio * change / apart))
    return 1 - (n - 1) * ratio, influence - influence.mean()


def interval_by_unit(
    estimate: float, influence: Floats, unit: Ints, *, level: float, lowest: float = -1.0
) -> tuple[float, float]:
    """Return Student's interval of an estimate, whose units are questions or clusters; NaN if there are not two.

    `influence` is that of each observation on the estimate, `unit` what the observation is about.
    """
    sums = np.bincount(np.unique(unit, return_inverse=True)[1], influence)
    if len(sums) < 2 or not np.isfinite(estimate):
        return np.nan, np.nan
    error = np.sqrt((sums**2).sum() * len(sums) / (len(sums) - 1)) / len(influence)
    half = student.ppf((1 + level) / 2, len(sums) - 1) * error
    return max(lowest, float(estimate - half)), min(1.0, float(estimate + half))
