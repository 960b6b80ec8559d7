"""How often is a margin on the difference of two accuracies wrongly decided, at worst? Enumerated, not simulated.

One dataset, one replicate, 0/1 scores: the test of Bonett and Price for `accuracy(a) >= accuracy(b) - MARGIN`. For each
number of questions and margin, the truth is exactly on the margin, and the share of questions on which the cells differ
takes 80 values from the margin to 1. The largest error over these is printed, of both verdicts and of `supported`.

    python benchmarks/statistics/margins.py
"""

from __future__ import annotations

import numpy as np
from scipy import stats

LEVEL = 0.05


def worst(questions: int, margin: float) -> tuple[float, float]:
    """Return the largest error of both verdicts, and of `supported` alone."""
    first, second = np.meshgrid(np.arange(questions + 1.0), np.arange(questions + 1.0), indexing="ij")
    first, second = (each[first + second <= questions] for each in (first, second))
    size = questions + 2  # with two pseudo-questions
    gap, apart = (first - second) / size, (first + second + 2) / size
    t = (gap + margin) / np.sqrt((apart - gap**2) / size)
    above, below = (stats.t.sf(side, size - 1) <= LEVEL / 2 for side in (t, -t))
    counts = np.stack([first, second, questions - first - second], axis=1)
    both = supported = 0.0
    for share in np.linspace(margin, 1, 81):
        truth = [(share - margin) / 2, (share + margin) / 2, 1 - share]
        chance = stats.multinomial.pmf(counts, questions, truth)
        both = max(both, float(chance[above | below].sum()))
        supported = max(supported, float(chance[above].sum()))
    return both, supported


def main() -> None:
    """Print a table."""
    print("| questions | margin | both verdicts | supported |\n|---|---|---|---|")
    for questions in (20, 50, 100, 150):
        for margin in (0.0, 0.02, 0.05, 0.1):
            both, supported = worst(questions, margin)
            print(f"| {questions} | {margin:g} | {both:.1%} | {supported:.1%} |")


if __name__ == "__main__":
    main()
