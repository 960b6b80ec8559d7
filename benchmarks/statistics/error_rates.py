"""Do the tests err as often as they say, and do the intervals cover? Simulated experiments with a known truth.

Questions are drawn anew in every experiment; methods differ from question to question even where their means are
equal. Every number is a share of experiments with Clopper and Pearson's 95 % interval. Scenarios are functions from a
random generator to what happened; they stand in `scenarios/`, one module a topic, and `judged` reads their marks.

    python benchmarks/statistics/error_rates.py [--runs 2000] [--only NAME]
"""

from __future__ import annotations

import argparse
import gc
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
from scenarios import claims, differences, forms, generalised, peeking, planned
from scenarios.made import Marks, Scenario
from statsmodels.stats.proportion import proportion_confint

SCENARIOS: dict[str, Scenario] = (
    differences.SCENARIOS
    | generalised.SCENARIOS
    | claims.SCENARIOS
    | forms.SCENARIOS
    | peeking.SCENARIOS
    | planned.SCENARIOS
)


def one(name: str, run: int) -> Marks:
    return SCENARIOS[name](np.random.default_rng([run, *name.encode()]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--only", default="")
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args()
    print("| experiments | what | found | 95 % interval | as stated |\n|---|---|---|---|---|")
    started = time.perf_counter()
    with ProcessPoolExecutor(args.processes, initializer=gc.freeze) as pool:
        for name in SCENARIOS:
            if args.only not in name:
                continue
            counts: Counter[str] = Counter()
            for marks in pool.map(partial(one, name), range(args.runs), chunksize=25):
                counts.update({what: int(mark) for what, mark in marks.items()})
            for what, count in counts.items():
                low, high = proportion_confint(count, args.runs, method="beta")
                shown = f"{count / args.runs:.1%} | {low:.1%} to {high:.1%} | {judged(what, low, high)}"
                print(f"| {name} | {what} | {shown} |", flush=True)
    print(f"\n{args.runs} experiments each, {time.perf_counter() - started:.0f} s")


def judged(what: str, low: float, high: float) -> str:
    """Whether a share agrees with what is stated, given its interval."""
    if what.startswith("("):
        return ""
    if what.startswith("cover"):
        return "yes" if high >= 0.95 else "NO"
    if what.startswith("power"):
        return "yes" if high >= 0.8 else "NO"
    return "yes" if low <= (0.025 if "2.5 %" in what else 0.05) else "NO"


if __name__ == "__main__":
    main()
