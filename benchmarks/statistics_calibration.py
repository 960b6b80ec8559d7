"""Do the tests err as often as they say, and do the intervals cover? Simulated experiments with a known truth.

Questions are drawn anew in every experiment; methods differ from question to question even where their means are
equal. Every number is a share of experiments with Clopper and Pearson's 95 % interval.

    python benchmarks/statistics_calibration.py [--runs 2000] [--only NAME]
"""

from __future__ import annotations

import argparse
import gc
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial

import numpy as np
import pandas as pd
from numpy.random import Generator
from statsmodels.stats.proportion import proportion_confint

from cortexdsl.analysis.claims.hypotheses import judge_claims
from cortexdsl.analysis.planning.planning import Expected, plan_power
from cortexdsl.analysis.planning.simulate import Truth, simulated_differences
from cortexdsl.analysis.sequential.betting import evidence_above, evidence_below, sign_evidence
from cortexdsl.analysis.tests.compare import compare_families
from cortexdsl.analysis.tests.contrasts import mean_outcome
from cortexdsl.analysis.tests.corrections import adjust
from cortexdsl.analysis.tests.omnibus import omnibus_families
from cortexdsl.analysis.tests.signflip import mcnemar_mid_p, sign_flip
from cortexdsl.analysis.units.arms import arms_of
from cortexdsl.analysis.units.table import score_table
from cortexdsl.analysis.units.units import units
from cortexdsl.terms import Family, Floats

DRAWS = 999
Marks = dict[str, bool]


def table(values: dict[str, Floats], metric: str = "score", **columns: object) -> pd.DataFrame:
    """A table of (replicates, questions) values by cell."""
    frames = []
    for cell, array in values.items():
        replicates, questions = array.shape
        ids = {
            "replicate": np.repeat(np.arange(replicates), questions),
            "question_id": np.tile(np.arange(questions), replicates),
        }
        frames.append(pd.DataFrame({"cell": cell, **ids, metric: array.ravel(), **columns}))
    return pd.concat(frames, ignore_index=True)


def answers(random: Generator, chance: Floats, replicates: int) -> Floats:
    return (random.random((replicates, len(chance))) < chance).astype(float)


def chances(random: Generator, count: int, questions: int) -> list[Floats]:
    """Equal methods: most questions easy or hard, each method with strengths and weaknesses of its own."""
    base = random.beta(0.9, 0.5, questions)
    return [np.clip(base + 0.2 * random.normal(size=questions), 0, 1) for _ in range(count)]


def compared(frame: pd.DataFrame, truth: float, metric: str = "score") -> tuple[bool, bool]:
    """Whether the difference is significant, and whether its interval covers the truth."""
    row = compare_families(frame, [Family("f", ("a",), "b")], [metric], seed=1, draws=DRAWS).iloc[-1]
    return bool(row["p"] <= 0.05), bool(row["ci_low"] <= truth <= row["ci_high"])


def verdict(frame: pd.DataFrame, claim: str) -> str:
    return str(judge_claims(frame, [claim], seed=1, draws=DRAWS)["verdict"][0])


# ------------------------------------------------------------------ scenarios: what is counted, and what it should be
def one_replicate(random: Generator) -> Marks:
    a, b = (answers(random, p, 1) for p in chances(random, 2, 100))
    reject, cover = compared(table({"a": a, "b": b}), 0)
    wins, losses = int((a > b).sum()), int((b > a).sum())
    return {"error: McNemar exact": reject, "error: McNemar mid-p": mcnemar_mid_p(wins, losses) <= 0.05,
            "cover: Bonett-Price": cover}  # fmt: skip


def three_replicates(random: Generator) -> Marks:
    a, b = (answers(random, p, 3) for p in chances(random, 2, 100))
    reject, cover = compared(table({"a": a, "b": b}), 0)
    return {"error: sign-flip exact": reject, "cover: Bonett-Price of means": cover}


def lopsided(random: Generator) -> Marks:
    """A fifth of the questions gain 40 points, the others lose 10: equal on average, not symmetric."""
    shift = np.where(random.random(100) < 0.2, 0.4, -0.1)
    base = random.uniform(0.2, 0.6, 100)
    reject, cover = compared(table({"a": answers(random, base + shift, 3), "b": answers(random, base, 3)}), 0)
    return {"error: sign-flip exact": reject, "cover: Bonett-Price of means": cover}


def clusters(random: Generator) -> Marks:
    """Thirty passages of four questions; methods differ by passage."""
    base = np.repeat(random.beta(1, 0.7, 30), 4)
    a, b = (np.clip(base + np.repeat(0.2 * random.normal(size=30), 4), 0, 1) for _ in range(2))
    frame = table({"a": answers(random, a, 2), "b": answers(random, b, 2)})
    reject, cover = compared(frame.assign(cluster=frame["question_id"] // 4), 0)
    ignored = compared(frame, 0)[0]
    return {"error: sign-flip over clusters": reject, "cover: Bonett-Price over clusters": cover,
            "(clusters ignored: sign-flip over questions)": ignored}  # fmt: skip


def two_datasets(random: Generator) -> Marks:
    frames = []
    for name, questions in (("x", 60), ("y", 120)):
        a, b = (answers(random, p, 3) for p in chances(random, 2, questions))
        frames.append(table({"a": a, "b": b}, dataset=name))
    reject, cover = compared(pd.concat(frames), 0)
    return {"error: sign-flip, mean of two datasets": reject, "cover: Bonett-Price, mean of two datasets": cover}


def tokens(random: Generator) -> Marks:
    """Right-skewed token counts of 100 questions, two replicates; and with a true ratio of 0.7."""
    base = random.lognormal(6, 0.6, 100)
    a, b = (base * random.lognormal(0, 0.4, (2, 100)) for _ in range(2))
    frame = table({"a": a, "b": b}, "tokens")
    reject, cover = compared(frame, 0, "tokens")
    scaled = table({"a": 0.7 * a, "b": b}, "tokens")
    row = judge_claims(scaled, ["tokens(a) <= 0.7 * tokens(b)"], seed=1, draws=DRAWS).iloc[0]
    bound, covers = bool(row["p"] <= 0.05), bool(row["ci_low"] <= 0.7 <= row["ci_high"])
    return {"error: sign-flip drawn": reject, "cover: symmetric studentised bootstrap": cover,
            "error: log ratio, at its bound": bound, "cover: ratio": covers}  # fmt: skip


def shifted_tokens(random: Generator) -> Marks:
    """Differences whose mean is 100 and whose shape is skewed, tested against 100."""
    b = random.lognormal(6, 0.3, (1, 100))
    frame = table({"a": b + random.exponential(100, (1, 100)), "b": b}, "tokens")
    return {"error: studentised bootstrap": verdict(frame, "tokens(a) > tokens(b) + 100") != "undecided"}


def at_the_bound(random: Generator) -> Marks:
    """Five points worse, claimed not to be; eight points worse, claimed equivalent within eight."""
    base = random.uniform(0.1, 1, 150)
    frame = table({"a": answers(random, base - 0.05, 3), "b": answers(random, base, 3)})
    found = verdict(frame, "score(a) >= score(b) - 0.05")
    wide = random.uniform(0.1, 1, 300)
    other = table({"a": answers(random, wide - 0.08, 2), "b": answers(random, wide, 2)})
    equal = verdict(other, "score(a) == score(b) +- 0.08")
    return {"error (of 2.5 %): non-inferior, wrongly supported": found == "supported",
            "error: non-inferior, decided": found != "undecided",
            "error: equivalent, wrongly supported": equal == "supported"}  # fmt: skip


def families(random: Generator) -> Marks:
    """Five equal methods against a sixth: any significant difference is an error of the family."""
    names = ("b", "c", "d", "e", "f")
    frame = table({cell: answers(random, p, 3) for cell, p in zip(("a", *names), chances(random, 6, 100), strict=True)})
    p = compare_families(frame, [Family("f", names, "a", "none")], ["score"], seed=1, draws=DRAWS)["p"].to_numpy()
    once = omnibus_families(frame[frame["replicate"] == 0], [Family("f", names, "a")], ["score"])["p"][0]
    thrice = omnibus_families(frame, [Family("f", names, "a")], ["score"])["p"][0]
    marks = {f"error: family of five, {name}": bool((adjust(p, name) <= 0.05).any()) for name in ("holm", "hommel")}
    return {**marks, "error: Cochran's Q": once <= 0.05, "error: Cochran's Q of means": thrice <= 0.05,
            "(family of five, none)": bool((p <= 0.05).any())}  # fmt: skip


def grids(random: Generator) -> Marks:
    """A grid of six equal cells."""
    names = [f"s[keep={keep}, rounds={r}]" for keep in ("mean", "median") for r in (1, 2, 3)]
    frame = table({cell: answers(random, p, 2) for cell, p in zip(names, chances(random, 6, 100), strict=True)})
    claims = {"accuracy(s[rounds]) increasing": "trend", "accuracy(s[keep, rounds]) interacting": "interaction, joint",
              "best rounds of s is 2": "best of three"}  # fmt: skip
    found = judge_claims(frame, list(claims), seed=1, draws=DRAWS, arms=arms_of(names))
    return {f"error: {name}": bool(p <= 0.05) for name, p in zip(claims.values(), found["p"], strict=True)}


def one_mean(random: Generator) -> Marks:
    marks = {}
    for replicates in (1, 3):
        sample = units(
            score_table(table({"a": answers(random, random.beta(2.4, 0.6, 100), replicates)})), "score", ["a"]
        )
        found = mean_outcome(sample, 0, 0.8, 1, DRAWS)
        name = "Wilson" if replicates == 1 else "Wilson, effective questions"
        marks |= {
            f"cover: {name}": found.low <= 0.8 <= found.high,
            f"error: one accuracy, {found.test}": found.p <= 0.05,
        }
    return marks


def peeking(random: Generator) -> Marks:
    """A thousand questions, looked at after each; and what the usual test does when looked at every 50."""
    values = np.asarray(simulated_differences(Truth(0.25), 1000, 1, 1, int(random.integers(2**31)))[0])
    bound = np.log(2 / 0.05)
    means = evidence_above(values, 0.0, -1.0).max() >= bound or evidence_below(values, 0.0, 1.0).max() >= bound
    signs = max(sign_evidence(values).max(), sign_evidence(-values).max()) >= bound
    looks = [sign_flip(values[:end, None], 1.0, 0)[0].p <= 0.05 for end in range(50, 1001, 50)]
    gain = simulated_differences(Truth(0.25, 0.1), 1000, 1, 1, int(random.integers(2**31)))[0]
    found = evidence_above(gain, 0.0, -1.0) >= bound
    return {"error: e-process of the mean, looked at 1,000 times": bool(means),
            "error: e-process of signs, looked at 1,000 times": bool(signs),
            "(McNemar, looked at 20 times)": any(looks),
            "(10 points better: found by question 250)": bool(found[:250].any()),
            "(10 points better: found by question 500)": bool(found[:500].any())}  # fmt: skip


PLANS = {
    "superior by 10 points, one replicate": ("score(a) > score(b)", Expected(0.25, None, None, {"a": 0.1}), 1),
    "superior by 8 points, three replicates": ("score(a) > score(b)", Expected(0.25, 0.4, None, {"a": 0.08}), 3),
    "non-inferior by 6 points, equal": ("score(a) >= score(b) - 0.06", Expected(0.2, 0.3), 2),
    "equivalent within 6 points, equal": ("score(a) == score(b) +- 0.06", Expected(0.2, 0.3), 2),
}


@cache
def asked(name: str) -> tuple[float, int]:
    """The true difference and the number of questions that the plan asks for."""
    claim, expected, replicates = PLANS[name]
    row = plan_power([claim], arms_of(["a", "b"]), {"d": 100}, replicates, expected, runs=0).iloc[0]
    return float(row["expected"]), int(row["needed"])


def planned(random: Generator) -> Marks:
    """Experiments of the size that the plan asks for, judged like any other."""
    marks = {}
    for name, (claim, expected, replicates) in PLANS.items():
        size, questions = asked(name)
        correlation = 1.0 if expected.correlation is None else expected.correlation
        truth = Truth(expected.discordance or 0, size, correlation)
        lasting = random.random(questions) < truth.correlation
        seeds = random.integers(2**31, size=replicates)
        draws = np.stack([simulated_differences(truth, questions, 1, 1, int(seed))[0] for seed in seeds])
        draws[:, lasting] = draws[0, lasting]
        same = (random.random(draws.shape) < 0.5).astype(float)
        right = {"a": np.where(draws == 0, same, draws > 0), "b": np.where(draws == 0, same, draws < 0)}
        frame = table(right)
        marks[f"power (of 80 %): {name}, {questions} questions"] = verdict(frame, claim) == "supported"
    return marks


SCENARIOS: dict[str, Callable[[Generator], Marks]] = {
    "equal methods, 100 questions, 1 replicate": one_replicate,
    "equal methods, 100 questions, 3 replicates": three_replicates,
    "equal on average, lopsided, 100 questions, 3 replicates": lopsided,
    "equal methods, 30 clusters of 4, 2 replicates": clusters,
    "equal methods, datasets of 60 and 120, 3 replicates": two_datasets,
    "tokens of 100 questions, 2 replicates": tokens,
    "skewed token differences against a value": shifted_tokens,
    "exactly at the bound": at_the_bound,
    "six equal methods, 100 questions, 3 replicates": families,
    "grid of six equal cells, 100 questions, 2 replicates": grids,
    "one accuracy of 0.8, 100 questions": one_mean,
    "looking all the time": peeking,
    "planned for 80 % power": planned,
}


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
