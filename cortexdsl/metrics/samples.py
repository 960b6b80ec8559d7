"""Metrics of k of the n answers that were sampled for a question: pass@k, pass^k and majority@k.

The samples are the opening answers of a debate in which one agent answers several times at once (`draws`, as in
self-consistency). All three are means over all subsets of k of the n samples, so they are unbiased for k fresh samples:

- pass@k, some sample is right: 1 - C(n - c, k) / C(n, k) with c right ones (Chen et al. 2021, arXiv 2107.03374, Eq. 1);
- pass^k, all are right: C(c, k) / C(n, k) (Yao et al. 2024, arXiv 2406.12045, section 2);
- majority@k, what the most frequent answer is worth. A tie counts the mean of the tied answers; unreadable samples do
  not vote.

A debate without such samples, or with fewer than k, has no value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import comb
from types import MappingProxyType

from cortexdsl.core import Turn
from cortexdsl.core.metric_types import SAMPLE_SIZES
from cortexdsl.metrics.view import DebateView


def samples_of(view: DebateView) -> Sequence[Turn]:
    """Return the samples of a debate: its opening answers, if one agent gave several of them; else none."""
    opening = view.answers[0]
    return opening if len({turn.speaker for turn in opening}) < len(opening) else ()


def pass_at(k: int, view: DebateView) -> float | None:
    """pass@k: the share of subsets of k samples with a right one; None with fewer than k samples."""
    samples = samples_of(view)
    return None if len(samples) < k else 1 - comb(len(samples) - _right(view), k) / comb(len(samples), k)


def pass_all(k: int, view: DebateView) -> float | None:
    """pass^k: the share of subsets of k samples that are all right; None with fewer than k samples."""
    samples = samples_of(view)
    return None if len(samples) < k else comb(_right(view), k) / comb(len(samples), k)


def majority_at(k: int, view: DebateView) -> float | None:
    """majority@k: the mean worth of the vote over subsets of k samples; None with fewer than k samples."""
    samples = samples_of(view)
    if len(samples) < k:
        return None
    counts = Counter(turn.answer for turn in samples)
    unread = counts.pop(None, 0)
    named = {answer: count for answer, count in counts.items() if answer is not None}
    return expected_vote(named, {answer: view.worth(answer) for answer in named}, unread, k)


def expected_vote(counts: Mapping[str, int], worth: Mapping[str, float], unread: int, k: int) -> float:
    """Return the mean worth of the most frequent answer over all subsets of k samples.

    Parameters
    ----------
    counts : mapping of answer to int
        How many samples gave it.
    worth : mapping of answer to float
    unread : int
        Samples that cannot be read.
    k : int
        At most the number of samples.
    """
    total = 0.0
    for answer, count in counts.items():
        if worth[answer]:
            others = [other for name, other in counts.items() if name != answer]
            wins = (_winning_subsets(others, unread, votes, k) * comb(count, votes) for votes in range(1, count + 1))
            total += worth[answer] * sum(wins)
    return total / comb(unread + sum(counts.values()), k)


def _winning_subsets(others: Sequence[int], unread: int, votes: int, k: int) -> float:
    """Return the weight of the subsets in which an answer wins with some votes: 1, or its share of a tie.

    Counted are the ways to choose the other k - `votes` samples so that no other answer has more votes.
    """
    left = k - votes
    if left < 0:
        return 0.0
    ways: dict[tuple[int, int], int] = {(0, 0): 1}  # (samples chosen, answers tied) -> ways
    for count in others:
        following: dict[tuple[int, int], int] = {}
        for (chosen, tied), number in ways.items():
            for taken in range(min(count, votes, left - chosen) + 1):
                state = chosen + taken, tied + (taken == votes)
                following[state] = following.get(state, 0) + number * comb(count, taken)
        ways = following
    return sum(number * comb(unread, left - chosen) / (tied + 1) for (chosen, tied), number in ways.items())


def _right(view: DebateView) -> int:
    return sum(view.is_right(turn.answer) for turn in samples_of(view))


MEASURES: Mapping[str, Callable[[DebateView], float | None]] = MappingProxyType(
    {
        f"{name}_{k}": partial(measure, k)
        for name, measure in (("pass_at", pass_at), ("pass_all", pass_all), ("majority_at", majority_at))
        for k in SAMPLE_SIZES
    }
)
"""The measure of each metric of this module, by its column."""
