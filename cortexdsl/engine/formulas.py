"""Formulas of the factors of an edge's weight: McKinsey-based Debate Matter (CortexDebate, section 3.2).

Arrays are per speaker (n,) or per pair (n, n), indexed [speaker, listener].
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from cortexdsl.core import Bools, Floats


def credibility(parameters: Sequence[float], tokens: Sequence[float]) -> Floats:
    """Professional competence of each agent's model: the inverse of its predicted loss.

    C = 1 / L(N, M), L = 406.4 / N^0.34 + 410.7 / M^0.28 + 1.69 (CortexDebate, Eq. 4, after Hoffmann et al. 2022).

    Parameters
    ----------
    parameters, tokens : sequence of float
        N, parameters of the model, and M, tokens of its pre-training; both > 0.

    Returns
    -------
    (n,) array
        In (0, 1 / 1.69).
    """
    n, m = np.asarray(parameters, dtype=float), np.asarray(tokens, dtype=float)
    if (n <= 0).any() or (m <= 0).any():
        raise ValueError("parameters and tokens of a model must be positive")
    return np.asarray(1.0 / (406.4 / n**0.34 + 410.7 / m**0.28 + 1.69))


def reliability(confidences: Floats) -> Floats:
    """Mean recalibrated confidence of each agent over the rounds so far (CortexDebate, Eq. 5).

    Parameters
    ----------
    confidences : (rounds, n) array
        NaN if an agent stated none; such rounds are left out of its mean.

    Returns
    -------
    (n,) array
        In [0, 1]; 0 for an agent that never stated one.
    """
    stated = ~np.isnan(confidences)
    total = np.where(stated, confidences, 0.0).sum(axis=0)
    return np.asarray(total / np.maximum(stated.sum(axis=0), 1))


def similarity(by_round: Sequence[Floats], spoke: Bools) -> Floats:
    """Mean over the rounds so far of the cosine of two agents' replies (CortexDebate, Eq. 6).

    Parameters
    ----------
    by_round : sequence of (n, n) array
        Cosines in [-1, 1].
    spoke : (rounds, n) bool array
        Whether an agent's reply had words; rounds in which one agent of a pair said nothing are left out of the pair's
        mean.

    Returns
    -------
    (n, n) array
        Symmetric, with 1 on the diagonal.
    """
    both = spoke[:, :, None] & spoke[:, None, :]
    total = np.where(both, np.reshape(by_round, both.shape), 0.0).sum(axis=0)
    return mean_of_pairs(total, both.sum(axis=0, dtype=float))


def mean_of_pairs(total: Floats, count: Floats) -> Floats:
    """Return the mean of the known values of each pair; a pair without any gets the mean of all others.

    A value of 0 for such a pair would make the silent agent look like the one with most to offer.

    Parameters
    ----------
    total, count : (n, n) array
        Sums and numbers of known values; symmetric.

    Returns
    -------
    (n, n) array
        With 1 on the diagonal; 0 elsewhere if no pair has a known value.
    """
    mean = total / np.maximum(count, 1)
    unknown = count == 0
    if unknown.any():
        known = ~unknown & ~np.eye(len(total), dtype=bool)
        mean[unknown] = mean[known].mean() if known.any() else 0.0
    np.fill_diagonal(mean, 1.0)
    return np.asarray(mean)


def intimacy(mean_similarity: Floats) -> Floats:
    """Return the new content that a speaker offers a listener: 1 - similarity (CortexDebate, Eq. 7)."""
    return 1.0 - mean_similarity


def participation(heard: Sequence[Bools]) -> tuple[Floats, Floats]:
    """Return how often each agent has taken part in the rounds before this one.

    Parameters
    ----------
    heard : sequence of (n, n) bool array
        Kept edges of each earlier round of debate.

    Returns
    -------
    (n,) arrays
        Its kept outgoing edges, and its kept incoming edges: how often it was heard, and how often it heard others.
    """
    total = np.array(heard).sum(axis=0, dtype=float)
    return total.sum(axis=1), total.sum(axis=0)


def self_orientation(participated: Floats, rounds: int) -> Floats:
    """Return how little each agent has taken part: the maximum less its participation (CortexDebate, Eq. 8).

    S = (d - 1)(n - 1) - P in round d.

    Parameters
    ----------
    participated : (n,) array
        P, the participation.
    rounds : int
        d - 1, the rounds of debate before this one.
    """
    return rounds * (len(participated) - 1) - participated


def entropy(answers: Sequence[str | None]) -> float:
    """Return the entropy of the shares of equal answers, in bits; each unreadable answer differs from all others."""
    counts = [count for answer, count in Counter(answers).items() if answer is not None]
    shares = np.array([*counts, *[1] * answers.count(None)]) / max(1, len(answers))
    return abs(float(-(shares * np.log2(shares)).sum()))
