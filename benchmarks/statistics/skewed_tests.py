"""Which test of a mean difference errs as often as it says where differences are skewed or have heavy tails?

Every test that one would think of, on the same simulated differences of mean 0: the share that it rejects at 5 %. The
program uses the larger p of the symmetric and the equal-tailed studentised bootstrap (docs/decisions/021).

    python benchmarks/statistics/skewed_tests.py [--runs 1500]
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from scipy import stats

from cortexdsl.core import Floats

DRAWS = 999
SIZES = (20, 50, 100)
MADE: dict[str, Callable[[Generator, int], Floats]] = {
    "lognormal": lambda random, n: random.lognormal(0, 1, n) - np.exp(0.5),
    "gamma": lambda random, n: random.gamma(0.3, 1, n) - 0.3,
    "two lognormals": lambda random, n: random.lognormal(0, 1, n) - random.lognormal(0, 1, n),
}


def tests(values: Floats, random: Generator) -> dict[str, float]:
    """The two-sided p-value of each test that the mean is 0."""
    n, mean = len(values), values.mean()
    error = values.std(ddof=1) / np.sqrt(n)
    t, skew = mean / error, stats.skew(values)
    found = {"Student's t": 2 * stats.t.sf(abs(t), n - 1)}
    flipped = random.choice([-1.0, 1.0], (DRAWS, n)) @ values / n
    found["sign flips"] = _share(np.abs(flipped) >= abs(mean) - 1e-12)
    drawn = values[random.integers(0, n, (DRAWS, n))]
    with np.errstate(all="ignore"):
        deviation = np.nan_to_num((drawn.mean(axis=1) - mean) / (drawn.std(axis=1, ddof=1) / np.sqrt(n)), posinf=np.inf)
    found["symmetric"] = _share(np.abs(deviation) >= abs(t))
    found["equal-tailed"] = min(1.0, 2 * min(_share(deviation >= t), _share(deviation <= t)))
    found["the larger p of both"] = max(found["symmetric"], found["equal-tailed"])
    johnson = t + stats.skew(values, bias=False) * (1 + 2 * t * t) / (6 * np.sqrt(n))
    found["Johnson's t"] = 2 * stats.t.sf(abs(johnson), n - 1)
    hall = t + skew * t * t / 3 / np.sqrt(n) + skew * skew * t**3 / 27 / n + skew / 6 / np.sqrt(n)
    found["Hall's transformation"] = 2 * stats.t.sf(abs(hall), n - 1)
    return found


def _share(beyond: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    return float((1 + beyond.sum()) / (DRAWS + 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1500)
    runs = parser.parse_args().runs
    for name, make in MADE.items():
        for size in SIZES:
            random, counts = np.random.default_rng(7), Counter[str]()
            for _ in range(runs):
                counts.update({test: int(p <= 0.05) for test, p in tests(make(random, size), random).items()})
            shares = ", ".join(f"{test} {count / runs:.1%}" for test, count in counts.items())
            print(f"{name}, {size} questions: {shares}", flush=True)


if __name__ == "__main__":
    main()
