"""How often is a margin on the difference of two accuracies wrongly decided, at worst? Enumerated, not simulated.

One dataset, one replicate, 0/1 scores: the test of `accuracy(a) >= accuracy(b) - MARGIN`. For each number of questions
and margin, the truth is exactly on the margin, and the share of questions on which the cells differ takes 161 values
from the margin to 1. The largest error over these is printed, of both verdicts and of `supported`; then the power of
some true differences. Bonett and Price's test and the mid-p version of McNemar's test are printed for comparison.

    python benchmarks/statistics/margins.py
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import stats

from cortexdsl.core import Floats
from cortexdsl.stats.inference.accuracies import score_tests_of_parts
from cortexdsl.stats.inference.paired import MOST_QUESTIONS, Paired

LEVEL = 0.05
Test = Callable[[Floats, Floats, int, float], Floats]
"""Return p against "at most the null value" for wins and losses of so many questions."""


def program(wins: Floats, losses: Floats, questions: int, null: float) -> Floats:
    """Return p of the test of the program."""
    if questions <= MOST_QUESTIONS:
        splits = zip(wins.astype(int).tolist(), losses.astype(int).tolist(), strict=True)
        return np.array([Paired(w, v, questions).sides(null)[0] for w, v in splits])
    place = np.arange(questions)[:, None]
    parts = ((place < wins) * 1.0 - ((place >= wins) & (place < wins + losses))) / questions
    error = parts.std(axis=0, ddof=1) * np.sqrt(questions)
    tests = score_tests_of_parts(
        parts, np.full(questions, 1 / questions), error, questions - 0.5, np.ones(parts.shape[1])
    )
    return tests.sides(np.full(parts.shape[1], null))[0]


def bonett_price(wins: Floats, losses: Floats, questions: int, null: float) -> Floats:
    """Return p of Bonett and Price's test against Student's t."""
    size = questions + 2
    gap = (wins - losses) / size
    return np.asarray(stats.t.sf((gap - null) / np.sqrt(((wins + losses + 2) / size - gap**2) / size), size - 1))


def mid_p(wins: Floats, losses: Floats, questions: int, null: float) -> Floats:
    """Return the mid-p of McNemar's test; of a difference of 0 only."""
    number = wins + losses
    chance = stats.binom.sf(wins - 1, number, 0.5) - stats.binom.pmf(wins, number, 0.5) / 2
    return np.asarray(chance if null == 0 else np.ones(len(wins)))


def fewest_wins(test: Test, questions: int, null: float) -> Floats:
    """Return the fewest wins that reject "at most the null value", by number of questions that differ."""
    number = np.arange(questions + 1.0)
    low, high = np.zeros(questions + 1), number + 1
    for _ in range(int(np.log2(questions)) + 2):
        middle = np.floor((low + high) / 2)
        inside = np.minimum(middle, number)
        rejects = (middle > number) | (test(inside, number - inside, questions, null) <= LEVEL / 2)
        low, high = np.where(rejects, low, middle), np.where(rejects, middle, high)
    return np.where((test(0 * number, number, questions, null) <= LEVEL / 2), 0, high)


def shares(fewest: Floats, questions: int, discordance: float, difference: float) -> float:
    """Return the probability of at least the fewest wins."""
    number = np.arange(questions + 1)
    chance = stats.binom.pmf(number, questions, discordance)
    return float(chance @ stats.binom.sf(fewest - 1, number, (1 + difference / discordance) / 2))


def worst(test: Test, questions: int, margin: float) -> tuple[float, float]:
    """Return the largest error of both verdicts, and of `supported` alone."""
    up, down = (fewest_wins(test, questions, null) for null in (-margin, margin))
    each = [
        (shares(up, questions, share, -margin), shares(down, questions, share, margin))
        for share in np.linspace(max(margin, 0.005), 1, 161)
    ]
    return max(map(sum, each)), max(first for first, _ in each)


POWERS = ((20, 0.2, 0.14, 0.0), (50, 0.2, 0.14, 0.0), (100, 0.3, 0.15, 0.0), (150, 0.04, 0.0, 0.05),
          (100, 0.1, 0.0, 0.1), (50, 0.3, 0.1, 0.05), (300, 0.04, 0.0, 0.05))  # fmt: skip


def main() -> None:
    """Print two tables."""
    print("| questions | margin | both verdicts | supported | supported, Bonett and Price | supported, mid-p |")
    print("|---|---|---|---|---|---|")
    for questions in (10, 20, 50, 100, 150, 200, 300):
        for margin in (0.0, 0.02, 0.05, 0.1):
            both, supported = worst(program, questions, margin)
            others = [worst(bonett_price, questions, margin)[1], worst(mid_p, questions, margin)[1]]
            shown = f"{others[0]:.1%} | {f'{others[1]:.1%}' if margin == 0 else ''}"
            print(f"| {questions} | {margin:g} | {both:.1%} | {supported:.1%} | {shown} |", flush=True)
    print("\n| questions | discordance | true difference | margin | power | Bonett and Price | mid-p |")
    print("|---|---|---|---|---|---|---|")
    for questions, discordance, difference, margin in POWERS:
        power = [
            shares(fewest_wins(test, questions, -margin), questions, discordance, difference)
            for test in (program, bonett_price, mid_p)
        ]
        shown = [f"{one:.1%}" if one else "" for one in power]
        print(f"| {questions} | {discordance:g} | {difference:g} | {margin:g} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()
