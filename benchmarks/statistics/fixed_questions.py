"""Intervals on these questions: how often do they miss the truth about questions that are the same in every experiment?

    python benchmarks/statistics/fixed_questions.py [--runs 4000]

Each row simulates new draws of the same questions and tests one contrast as claims on these questions do
(`cortexdsl.stats.inference.fixed_questions`). *Too high* and *too low*: the 95 % interval lies above or below the truth
(2.5 % each is stated), which is how often a claim on its bound is wrongly decided. The questions are those of
`scenarios/these.py`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

import numpy as np
from scenarios.bounds import CHANCES
from scenarios.these import fixed_chances

from cortexdsl.core import Floats
from cortexdsl.stats.inference.fixed_questions import drawn_contrast
from cortexdsl.stats.inference.outcomes import clopper_pearson
from cortexdsl.stats.tables.draws import Draws

SIZES = ((20, 2), (20, 5), (50, 2), (50, 3), (100, 2), (100, 5), (400, 2))
FORMS = {
    "difference": np.array([1.0, -1.0, 0, 0, 0, 0, 0]),
    "5 points less": np.array([1.0, 0, 0, 0, 0, 0, -1.0]),
    "one mean": np.array([1.0, 0, 0, 0, 0, 0, 0]),
    "difference of differences": np.array([1.0, -1.0, -1.0, 1.0, 0, 0, 0]),
}
SIGMAS = (0.5, 1.0)
Maker = Callable[[np.random.Generator], Floats]


def _sides(make: Maker, row: Floats, truth: float, reach: float, runs: int, seed: int) -> tuple[int, int]:
    above = below = 0
    for run in range(runs):
        values = make(np.random.default_rng([seed, run]))
        weight = np.full(values.shape[1], 1 / values.shape[1])
        low, high = drawn_contrast(Draws(values, np.zeros_like(values), weight), row, reach).interval()
        above, below = above + (low > truth), below + (high < truth)
    return above, below


def rows(runs: int) -> Iterator[tuple[str, str, int, int, int, int]]:
    """Yield scenario, form, questions, replicates, and how often the interval lay above and below the truth."""
    for questions, replicates in SIZES:
        for scenario in CHANCES:
            chance = fixed_chances(scenario, questions)

            def answers(random: np.random.Generator, chance: Floats = chance, size: int = replicates) -> Floats:
                return (random.random((*chance.shape, size)) < chance[:, :, None]).astype(float)

            for form, row in FORMS.items():
                reach = float(np.abs(row).sum()) / (2 if (row != 0).sum() > 1 else 1)
                found = _sides(answers, row, float(row @ chance.mean(axis=1)), reach, runs, questions * replicates)
                yield scenario, form, questions, replicates, *found
        length = np.random.default_rng(questions).lognormal(0, 0.7, questions)
        for sigma in SIGMAS:

            def tokens(random: np.random.Generator, sigma: float = sigma, size: int = replicates) -> Floats:
                return length[:, None] * random.lognormal(-(sigma**2) / 2, sigma, (2, len(length), size))  # noqa: B023

            for form, row in {"difference": np.array([1.0, -1.0]), "one mean": np.array([1.0, 0.0])}.items():
                truth = float(row.sum() * length.mean())
                found = _sides(tokens, row, truth, 0.0, runs, questions * replicates)
                yield f"lognormal tokens, sigma {sigma:g}", form, questions, replicates, *found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=4000, help="experiments a row")
    runs = parser.parse_args().runs
    print(f"{runs:,} experiments a row\n\n| questions | what | size | too high | too low | missed, 95 % interval |")
    print("|---|---|---|---|---|---|")
    for scenario, form, questions, replicates, above, below in rows(runs):
        low, high = clopper_pearson(above + below, runs)
        shares = f"{above / runs:.1%} | {below / runs:.1%} | {(above + below) / runs:.1%}, {low:.1%} to {high:.1%}"
        print(f"| {scenario} | {form} | n={questions}, R={replicates} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
