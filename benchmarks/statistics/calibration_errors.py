"""How often two equal calibration errors are called different, and how often an interval holds the true one.

Simulated answers whose confidences are right, too high, or too low by a known amount: four answers a question, the
answers of half of the questions alike. Printed for the estimate that claims use (each bin lessened by what noise adds
to it) and for the plain expected calibration error, both with their own influence functions and Student's t.

    python benchmarks/statistics/calibration_errors.py [--runs 600]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from scipy import stats

from cortexdsl.core import Floats
from cortexdsl.stats.tables.calibration import BINS, bin_of, linearised_errors

LEVELS = np.array([0.55, 0.65, 0.75, 0.85, 0.95])
SIZES = (50, 100, 300)
EACH = 4
FAULTS: dict[str, float] = {
    "calibrated": 0.0,
    "10 points off": 0.1,
    "25 points off": 0.25,
    "over": 0.045,
    "under": -0.045,
}


def answers(random: Generator, fault: float, questions: int) -> tuple[Floats, Floats, Floats]:
    """Confidences, whether right, and the question of each answer."""
    question = np.repeat(np.arange(questions), EACH)
    confidence = random.choice(LEVELS, questions * EACH)
    alike = np.repeat(random.random(questions) < 0.5, EACH)
    draw = np.where(alike, np.repeat(random.random(questions), EACH), random.random(questions * EACH))
    return confidence, (draw < confidence - fault).astype(float), question


def corrected(confidence: Floats, right: Floats, question: Floats) -> Floats:
    return linearised_errors(confidence, right, question.astype(np.int64), np.arange(int(question.max()) + 1))


def plain(confidence: Floats, right: Floats, question: Floats) -> Floats:
    """The plain ECE, linearised: a value a question."""
    count = int(question.max()) + 1
    off = np.zeros((count, BINS))
    np.add.at(off, (question.astype(int), bin_of(confidence)), right - confidence)
    gap = off.mean(axis=0) / EACH
    return np.asarray(np.abs(gap).sum() + (off - gap * EACH) @ np.sign(gap) / EACH)


def beyond(values: Floats, truth: float) -> bool:
    """Whether Student's t rejects that the mean is the truth."""
    return bool(stats.ttest_1samp(values, truth).pvalue <= 0.05)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=600)
    runs = parser.parse_args().runs
    ways: dict[str, Callable[[Floats, Floats, Floats], Floats]] = {"corrected": corrected, "plain": plain}
    random = np.random.default_rng(2)
    pairs = [(name, name) for name in list(FAULTS)[:3]] + [("over", "under")]
    for first, second in pairs:
        for size in SIZES:
            wrong, covered = dict.fromkeys(ways, 0), dict.fromkeys(ways, 0)
            for _ in range(runs):
                a, b = answers(random, FAULTS[first], size), answers(random, FAULTS[second], size)
                for way, of in ways.items():
                    wrong[way] += beyond(of(*a) - of(*b), 0.0)
                    covered[way] += not beyond(of(*a), abs(FAULTS[first]))
            for way in ways:
                said = f"called different {wrong[way] / runs:.1%}, covered {covered[way] / runs:.1%}"
                print(f"{first} and {second}, {size} questions, {way}: {said}", flush=True)


if __name__ == "__main__":
    main()
