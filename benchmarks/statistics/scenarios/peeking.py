"""Looking while the questions come in."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.random import Generator

from cortexdsl.core import Floats
from cortexdsl.stats.inference.unseen import unseen_share
from cortexdsl.stats.planning.power import Truth
from cortexdsl.stats.sequential.evidence import betting_above, mixture_above
from scenarios.made import Marks, Scenario, answers, chances, mcnemar_p, simulated_differences, table

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.stats.looks import stopping_point


def peeking(random: Generator) -> Marks:
    """A thousand questions, looked at after each; and what the usual test does when looked at every 50."""
    values = np.asarray(simulated_differences(Truth(0.25), 1000, 1, 1, int(random.integers(2**31)))[0])
    bound = np.log(2 / 0.05)
    means = betting_above(values, 0.0, -1.0).max() >= bound or betting_above(-values, 0.0, -1.0).max() >= bound
    splits = [(int((values[:end] > 0).sum()), int((values[:end] < 0).sum())) for end in range(50, 1001, 50)]
    looks = [mcnemar_p(*split) <= 0.05 for split in splits]
    gain = simulated_differences(Truth(0.25, 0.1), 1000, 1, 1, int(random.integers(2**31)))[0]
    found = betting_above(gain, 0.0, -1.0) >= bound
    return {"error: e-process of the mean, looked at 1,000 times": bool(means),
            "(McNemar, looked at 20 times)": any(looks),
            "(10 points better: found by question 250)": bool(found[:250].any()),
            "(10 points better: found by question 500)": bool(found[:500].any())}  # fmt: skip


def peeking_tokens(random: Generator) -> Marks:
    """Token counts whose means have a ratio of just .8, looked at after 20 of 500 questions and after each 10 more."""
    marks, looks = {}, np.arange(20, 501, 10) - 1
    cases = {"lognormal (sigma 1) in both": (1.0, 1.0), "lognormal (sigma 1) in the first": (1.0, 0.0),
             "lognormal (sigma 1) in the second": (0.0, 1.0), "lognormal (sigma 0.4) in both": (0.4, 0.4),
             "lognormal (sigma 1.5) in the first": (1.5, 0.0)}  # fmt: skip
    base = random.lognormal(6, 0.6, 500)
    for name, sigmas in cases.items():
        a, b = (base * random.lognormal(-(sigma**2) / 2, sigma, 500) for sigma in sigmas)
        kind = "(beyond what holds: {})" if "1.5" in name else "error: ratio of tokens, {}"
        marks[kind.format(name)] = bool((_largest(0.8 * (a - b))[looks] >= np.log(2 / 0.05)).any())
    a, b = (base * random.lognormal(-0.08, 0.4, 500) for _ in range(2))
    found = _largest(0.7 * a - 0.8 * b)[looks] >= np.log(2 / 0.05)
    marks |= {"(true ratio .7, bound .8: found by question 250)": bool(found[:24].any()),
              "(true ratio .7, bound .8: found by question 500)": bool(found.any())}  # fmt: skip
    for times in (4, 8, 16):  # what a plan can declare (max_tokens times calls) lies far above what is spent
        most = times * np.exp(6 + 0.6**2 / 2)
        values = 0.7 * np.minimum(a, most) - 0.8 * np.minimum(b, most)
        bets = betting_above(-values, 0.0, -0.7 * most)[looks] >= np.log(2 / 0.05)
        marks[f"(the same by betting within {times} times the mean: found by question 500)"] = bool(bets.any())
    return marks


def _largest(values: Floats) -> Floats:
    return np.maximum(mixture_above(values, 0.0), mixture_above(-values, 0.0))


def peeking_rarely(random: Generator) -> Marks:
    """Means made by rare questions, looked at after each of 500 questions from the 20th; the claim is on its bound."""
    marks, count = {}, np.arange(1, 501)
    share = np.array([unseen_share(int(n)) for n in count])
    two, base = np.full(500, 2.0), random.lognormal(-0.08, 0.4, 500)
    cases = {
        "one round more in 5 %": (two + (random.random(500) < 0.05), two + 0.05, 5.0),
        "three rounds more in 3 %": (two + 3 * (random.random(500) < 0.03), two + 0.09, 5.0),
        "1 % of replies 40 times as long": (np.where(random.random(500) < 0.01, 40, base), 1.39 * base, 40.0),
        "4 % of replies 10 times as long": (np.where(random.random(500) < 0.04, 10, base), 1.36 * base, 10.0),
    }
    for name, (a, b, most) in cases.items():
        values, bound = a - b, np.log(2 / 0.05)
        up, down = mixture_above(values, 0.0) >= bound, mixture_above(-values, 0.0) >= bound
        marks[f"(asymptotic evidence alone, {name})"] = bool((up | down)[19:].any())
        if "rounds" in name or "round " in name:  # counts: bets within the bounds of the plan
            up, down = betting_above(values, 0.0, -most) >= bound, betting_above(-values, 0.0, -most) >= bound
        else:  # tokens: what may be unseen at the bound of the plan must not turn it
            mean, first, second = (np.cumsum(x) / count for x in (values, a, b))
            up &= mean - share * np.maximum(most - second, 0) > 0
            down &= mean + share * np.maximum(most - first, 0) < 0
        marks[f"error: {name}"] = bool((up | down)[19:].any())
    return marks


def peeking_datasets(random: Generator) -> Marks:
    """Equal methods on two datasets of 60 and 300 questions, looked at six times by the whole path."""
    frames = []
    for name, questions in (("x", 60), ("y", 300)):
        a, b = (answers(random, p, 1) for p in chances(random, 2, questions))
        frames.append(table({"a": a, "b": b}, dataset=name))
    found = stopping_point(pd.concat(frames), ["score(a) > score(b)"], batch=50, fewest=50)
    return {"error: mean of datasets of 60 and 300": bool((found.verdicts["verdict"] != "undecided").any())}


SCENARIOS: dict[str, Scenario] = {
    "looking all the time": peeking,
    "looking 49 times, at tokens": peeking_tokens,
    "looking all the time, at rare large values": peeking_rarely,
    "looking six times, at two datasets": peeking_datasets,
}
