"""Experiments whose truth lies exactly on the bound of every claim, or just beyond it, form by form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.random import Generator
from scipy import stats

from cortexdsl.core import Floats
from cortexdsl.stats.tables.answers import ANSWER_COLUMNS
from cortexdsl.stats.tables.score_table import ScoreTable, score_table
from scenarios import selective
from scenarios.made import answers, table

Wrong: TypeAlias = Literal["both", "supported", "contradicted"]
"""Which verdicts are wrong: on the bound either, beyond it one."""
Made: TypeAlias = tuple[ScoreTable, dict[str, tuple[str, Wrong]]]
"""A table, and of each form of claim the claim and which of its verdicts are wrong."""


@dataclass(frozen=True, slots=True)
class Group:
    """Simulated experiments that share a table.

    Attributes
    ----------
    name : str
    sizes : tuple of (int, int)
        Questions and replicates.
    make : function from a random generator, questions, replicates to Made
    """

    name: str
    sizes: tuple[tuple[int, int], ...]
    make: Callable[[Generator, int, int], Made]


GRID = tuple(f"g[keep={keep}, rounds={rounds}]" for keep in "xy" for rounds in (1, 2, 3))
LESS = 0.05


# ---------------------------------------------------------------- accuracies
def _heterogeneous(random: Generator, cells: int, questions: int) -> Floats:
    base = random.beta(0.9, 0.5, questions)
    return np.clip(base + 0.2 * random.normal(size=(cells, questions)), 0, 1)


def _ceiling(random: Generator, cells: int, questions: int) -> Floats:
    return np.asarray(random.beta(19, 1, questions) * np.ones((cells, 1)))


def _alike(random: Generator, cells: int, questions: int) -> Floats:
    """Return chances of cells that differ on about 5 % of questions."""
    return np.where(random.random(questions) < 0.7, 0.975, 0.025) * np.ones((cells, 1))


def _lopsided(random: Generator, cells: int, questions: int) -> Floats:
    """Return chances of cells; every other one gains much on a fifth of questions and loses little elsewhere."""
    base, gains = random.uniform(0.1, 0.6, questions), random.random(questions) < 0.2
    moved = np.where(gains, 0.4, -0.1)
    return np.stack([base + (cell % 2) * moved for cell in range(cells)])


CHANCES = {"heterogeneous": _heterogeneous, "ceiling": _ceiling, "discordance 5 %": _alike, "lopsided": _lopsided}


@cache
def _mean_of(scenario: str) -> float:
    """Return the accuracy of each cell, over a million questions."""
    return float(CHANCES[scenario](np.random.default_rng(0), 1, 1_000_000).mean())


def _accuracies(scenario: str, random: Generator, questions: int, replicates: int) -> Made:
    """Six cells of one accuracy in a grid, and one of 5 points less."""
    mean = _mean_of(scenario)
    chance = CHANCES[scenario](random, 7, questions)
    chance[6] *= 1 - LESS / mean
    return grid_table(random, chance, replicates), grid_claims(mean, 6)


def grid_table(random: Generator, chance: Floats, replicates: int) -> ScoreTable:
    """Return the table of seven cells, (7, questions): those of the grid, and one of less."""
    cells = zip((*GRID, "less"), chance, strict=True)
    return score_table(table({name: answers(random, p, replicates) for name, p in cells}))


def grid_claims(mean: float, digits: int) -> dict[str, tuple[str, Wrong]]:
    """Return the claims on the seven cells; the accuracy of each is `mean`, or `LESS` below it."""
    a, b, d, e = (f"accuracy({GRID[i]})" for i in (0, 1, 3, 4))
    c = "accuracy(less)"
    return {
        "difference": (f"{a} > {b}", "both"),
        "margin": (f"{c} >= {a} - {LESS}", "both"),
        "== (supported may be 5 %)": (f"{c} == {a} +- {LESS}", "both"),
        "fixed value": (f"{a} > {mean:.{digits}f}", "both"),
        "difference of differences": (f"{a} - {b} > {d} - {e}", "both"),
        "the same, with a margin": (f"{c} - {a} > {d} - {b} - {LESS}", "both"),
        "ratio": (f"{c} >= {(mean - LESS) / mean:.{digits}f} * {a}", "both"),
        "slope": ("accuracy(g[rounds]) increasing", "both"),
        "and": (f"{a} > {b} and {a} > 0.02", "both"),
        "best": ("best rounds of g is 2", "both"),
        "every other": (f"{a} > accuracy(every other)", "supported"),
        "monotone": ("accuracy(g[rounds]) monotone increasing", "both"),
    }


def _without_spread(random: Generator, questions: int, replicates: int) -> Made:
    """Claims a little beyond the truth, on questions that are mostly all alike."""
    chance = (random.random(questions) < 0.6).astype(float)
    right = np.repeat(chance[None], replicates, axis=0)
    cells = {
        "mixed": right,
        "mixed less": right * (random.random(right.shape) >= 0.04),
        "sure": np.ones_like(right),
        "sure less": (random.random(right.shape) >= 0.05).astype(float),
    }
    frame = table(cells)
    extra = 2.0 + 3 * (random.random(len(frame)) < 0.03)
    frame["rounds"] = np.where(frame["cell"] == "mixed less", extra, 2.0)
    return score_table(frame), {
        "ratio .96, claimed .97": ("accuracy(mixed less) >= 0.97 * accuracy(mixed)", "supported"),
        "ratio .95, claimed .96": ("accuracy(sure less) >= 0.96 * accuracy(sure)", "supported"),
        "rounds +.09, claimed +.05": ("rounds(mixed less) <= rounds(mixed) + 0.05", "supported"),
        "accuracy .95, claimed .96": ("accuracy(sure less) > 0.96", "supported"),
    }  # fmt: skip


def _missing(random: Generator, questions: int, replicates: int) -> Made:
    """Two equal cells that lack a tenth of their rows, and what the opening of one was worth."""
    a, b, opening = _heterogeneous(random, 3, questions)
    frame = table({"a": answers(random, a, replicates), "b": answers(random, b, replicates)})
    frame = frame.assign(rounds=1, **{"score@0": np.tile(answers(random, opening, replicates).ravel(), 2)})
    held = frame[random.random(len(frame)) >= 0.1].reset_index(drop=True)
    return score_table(held), {
        "10 % missing": ("accuracy(a) > accuracy(b)", "both"),
        "round=0, 10 % missing": ("accuracy(a, round=0) < accuracy(a)", "both"),
    }


def _datasets(random: Generator, questions: int, replicates: int) -> Made:
    """Two equal cells on a small dataset and one ten times as large."""
    frames, mean = [], _mean_of("heterogeneous")
    for name, size in (("small", questions), ("large", 10 * questions)):
        a, b = _heterogeneous(random, 2, size)
        frames.append(table({"a": answers(random, a, replicates), "b": answers(random, b, replicates)}, dataset=name))
    return score_table(pd.concat(frames, ignore_index=True)), {
        "mean of datasets": ("accuracy(a) > accuracy(b)", "both"),
        "mean of datasets, fixed value": (f"accuracy(a) > {mean:.6f}", "both"),
        "on every dataset": ("accuracy(a) > accuracy(b) on every dataset", "both"),
    }


def _seeds(random: Generator, questions: int, replicates: int) -> Made:
    """Two cells that differ by 0.1 from seed to seed, and by nothing on average."""
    base = random.uniform(0.3, 0.7, questions)
    moved = random.normal(0, 0.1, (2, replicates, 1))
    a, b = ((random.random((replicates, questions)) < np.clip(base + one, 0, 1)).astype(float) for one in moved)
    return score_table(table({"a": a, "b": b})), {"over seeds": ("accuracy(a) > accuracy(b) over seeds", "both")}


# ---------------------------------------------------------------- clusters
CLUSTERS = {
    "8 of 10": (10,) * 8, "3 of 15, 9 of 1": (15,) * 3 + (1,) * 9, "6 of 15, 18 of 1": (15,) * 6 + (1,) * 18,
    "Zipf, 15": tuple(max(1, round(30 / k)) for k in range(1, 16)),
    "Zipf, 30": tuple(max(1, round(30 / k)) for k in range(1, 31)),
}  # fmt: skip


def _clustered(sizes: tuple[int, ...], random: Generator, questions: int, replicates: int) -> Made:
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    effects = random.uniform(-0.3, 0.3, (3, len(sizes)))[:, cluster]
    chance = 0.5 + effects
    chance[2] -= LESS
    frame = table({name: answers(random, p, replicates) for name, p in zip("abc", chance, strict=True)})
    frame["cluster"] = cluster[frame["question_id"]]
    return score_table(frame), {
        "difference": ("score(a) > score(b)", "both"),
        "margin": (f"score(c) >= score(b) - {LESS}", "both"),
        "fixed value": ("score(a) > 0.5", "both"),
    }


# ---------------------------------------------------------------- confidences
def _answered(cells: dict[str, tuple[Floats, Floats]]) -> ScoreTable:
    """Return a table with every answer; confidence and correctness are (questions, answers) by cell."""
    frames = []
    for cell, (confidence, right) in cells.items():
        questions, each = confidence.shape
        rows = {
            "dataset": "data", "cell": cell, "replicate": 0, "round": 0, "score": right.ravel(),
            "question_id": np.repeat(np.arange(questions), each).astype(str),
            "agent": np.tile([f"a{k}" for k in range(each)], questions),
            "right": right.ravel(), "stated": confidence.ravel(), "recalibrated": confidence.ravel(),
        }  # fmt: skip
        frames.append(pd.DataFrame(rows, columns=list(ANSWER_COLUMNS)))
    scores = table({cell: right.mean(axis=1)[None] for cell, (_, right) in cells.items()})
    return replace(score_table(scores), answers=pd.concat(frames, ignore_index=True))


AUROC = float(stats.norm.cdf(np.sqrt(0.5)))


def _ranked(random: Generator, accuracy: float, questions: int, each: int) -> tuple[Floats, Floats]:
    """Return confidences that rank right answers above wrong ones with a probability of .76."""
    right = (random.random((questions, each)) < accuracy).astype(float)
    return stats.norm.cdf(right + random.normal(size=right.shape)), right


def _areas(first: float, second: float, each: int, random: Generator, questions: int, replicates: int) -> Made:
    cells = {"a": _ranked(random, first, questions, each), "b": _ranked(random, second, questions, each)}
    return _answered(cells), {
        "AUROC, fixed value": (f"auroc(a) > {AUROC:.6f}", "both"),
        "AUROC, difference": ("auroc(a) > auroc(b)", "both"),
    }


def _calibrated(random: Generator, questions: int, replicates: int) -> Made:
    """Always sure and right on 95 %; two cells and agents that are alike and off by 20 points."""
    sure = np.ones((questions, 1)), (random.random((questions, 1)) < 0.95).astype(float)
    cells = {"sure": (sure[0], sure[1])}
    for name in "ab":
        level = random.choice([0.55, 0.65, 0.75, 0.85, 0.95], (questions, 1))
        cells[name] = level, (random.random((questions, 1)) < level - 0.2).astype(float)
    return _answered(cells), {
        "Brier .05, claimed below": ("brier(sure, agent=a0) < 0.05", "both"),
        "ECE .05, claimed below": ("ece(sure) < 0.05", "both"),
        "ECE, difference": ("ece(a) < ece(b)", "both"),
        "Brier, difference": ("brier(a, agent=a0) < brier(b, agent=a0)", "both"),
        "agent's accuracy": ("accuracy(a, agent=a0) > accuracy(b, agent=a0)", "both"),
    }


# ---------------------------------------------------------------- numbers
def _planned(frame: pd.DataFrame, most: float | None) -> ScoreTable:
    """Return the table with what a plan allows one question, if there is one."""
    made = score_table(frame)
    kinds = ("rounds", "calls", "output_tokens")
    return made if most is None else made.with_most(dict.fromkeys(made.cells, dict.fromkeys(kinds, most)))


def _runaways(share: float, size: float, plan: bool, random: Generator, questions: int, replicates: int) -> Made:
    """A share of questions writes so many times as much, so that both means are equal."""
    base = random.lognormal(-0.08, 0.4, questions)
    a, b = (base * random.lognormal(-0.02, 0.2, (replicates, questions)) for _ in range(2))
    a = np.where(random.random(questions) < share, size, a)
    frame = table({"a": a, "b": b * (1 - share + share * size)}, "output_tokens")
    claim = "output_tokens(a) < output_tokens(b)"
    return _planned(frame, size if plan else None), {f"runaways, {share:.0%} at {size:g}": (claim, "both")}


def _counts(plan: bool, random: Generator, questions: int, replicates: int) -> Made:
    """Rounds: one more on 5 % of questions, or three more on 3 %, which is what the claims allow."""
    shape, names = (replicates, questions), ("b", "one", "three")
    values = (np.full(shape, 2.0), 2.0 + (random.random(shape) < 0.05), 2.0 + 3 * (random.random(shape) < 0.03))
    frame = table(dict(zip(names, values, strict=True)), "rounds")
    return _planned(frame, 5.0 if plan else None), {
        "one round more in 5 %": ("rounds(one) <= rounds(b) + 0.05", "both"),
        "three rounds more in 3 %": ("rounds(three) <= rounds(b) + 0.09", "both"),
    }


def _tokens(random: Generator, questions: int, replicates: int) -> Made:
    """Lognormal tokens on the bound of a ratio and of a difference; as many answers per token."""
    base = random.lognormal(6, 0.6, questions)
    shape = (replicates, questions)
    a, b = (base * random.lognormal(-(sigma**2) / 2, sigma, shape) for sigma in (1.0, 0.4))
    chance = random.beta(1, 2, questions)
    right = (
        answers(random, np.clip(chance, 0, 0.5), replicates),
        answers(random, 2 * np.clip(chance, 0, 0.5), replicates),
    )
    frame = table({"a": right[0], "b": right[1]})
    frame["output_tokens"] = np.concatenate([0.5 * a.ravel(), b.ravel()])
    return _planned(frame, 20 * float(np.exp(6 + 0.18))), {
        "ratio of tokens": ("output_tokens(a) <= 0.5 * output_tokens(b)", "both"),
        "accuracy per token": ("accuracy(a) per output_tokens > accuracy(b) per output_tokens", "both"),
    }


def _rare_ends(random: Generator, questions: int, _: int) -> Made:
    """F1 and Brier scores of which one question in fifty (or thirty) is at the bad end of the range."""
    shape = (1, questions)
    high, other = (np.where(random.random(shape) < 0.02, 0.0, random.uniform(0.9, 1.0, shape)) for _ in "ab")
    wide = np.where(random.random(shape) < 0.03, 0.0, random.uniform(0.7, 1.0, shape))
    frame = table({"a": high, "b": random.uniform(0.881, 0.981, shape), "c": wide, "d": other}, "f1")
    right = random.random((4, questions)) < 0.98
    frame["brier_stated"] = (random.uniform(0.88, 0.98, right.shape) - right).ravel() ** 2
    brier = 0.0229333  # .98 of a mean square of .0057333, .02 of one of .8657333
    return score_table(frame), {
        "F1 .9 to 1, 2 % at 0, fixed value": ("f1(a) > 0.931", "both"),
        "F1 .9 to 1, 2 % at 0, difference to one without": ("f1(a) > f1(b)", "both"),
        "F1 .7 to 1, 3 % at 0, fixed value": ("f1(c) > 0.8245", "both"),
        "F1 .9 to 1, 2 % at 0, difference of two such": ("f1(a) > f1(d)", "both"),
        "Brier, accuracy .98, fixed value": (f"brier(a) < {brier}", "both"),
        "Brier, accuracy .98, difference": ("brier(a) < brier(b)", "both"),
    }


# ---------------------------------------------------------------- whole debates
def _whole(kind: str, ease: float, random: Generator, questions: int, replicates: int) -> Made:
    """Two equal cells; each metric of the confidence of whole debates against its true value, and of both cells."""
    claims: dict[str, tuple[str, Wrong]] = {}
    for metric, truth in selective.truths(kind, ease).items():
        claims[f"{metric}, fixed value"] = (f"{metric}(a) > {truth:.6f}", "both")
        claims[f"{metric}, difference"] = (f"{metric}(a) > {metric}(b)", "both")
    return selective.debates(random, kind, ease, questions, 2, replicates), claims


# ---------------------------------------------------------------- all
WIDE = ((20, 1), (20, 3), (20, 5), (50, 1), (50, 5), (100, 3))
SOME = ((20, 1), (20, 5), (50, 3), (100, 1))
ONCE, LARGE = ((20, 1), (50, 1), (100, 1)), ((50, 1), (100, 1), (300, 1))


def groups() -> Iterator[Group]:
    """Yield all groups, in the order of the table."""
    for name in CHANCES:
        yield Group(name, WIDE if name in ("heterogeneous", "lopsided") else SOME, partial(_accuracies, name))
    yield Group("almost no spread", (*ONCE, (20, 3), (20, 5), (50, 3)), _without_spread)
    yield Group("rows missing", ((20, 1), (50, 3), (100, 1)), _missing)
    yield Group("datasets of n and 10 n", ((20, 1), (20, 3), (50, 1)), _datasets)
    yield Group("seeds as draws", ((50, 3), (50, 5), (100, 3)), _seeds)
    for name, sizes in CLUSTERS.items():
        yield Group(f"clusters: {name}", ((sum(sizes), 1), (sum(sizes), 3)), partial(_clustered, sizes))
    for accuracies, each in (((0.95, 0.95), 1), ((0.9, 0.9), 1), ((0.97, 0.6), 1), ((0.97, 0.6), 3), ((0.9, 0.9), 3)):
        name = f"accuracy {accuracies[0]} and {accuracies[1]}, answers a question: {each}"
        yield Group(name, ONCE[1:], partial(_areas, *accuracies, each))
    yield Group("confidences", ((20, 1), (100, 1)), _calibrated)
    for kind in selective.KINDS:
        for ease in (0.5, 2.0):
            name = f"debates, confidence of {kind}, ease {ease}"
            yield Group(name, ((50, 1), (100, 3)), partial(_whole, kind, ease))
    for plan in (True, False):
        said = "in a plan" if plan else "without a plan"
        yield Group(f"runaways, {said}", LARGE, partial(_runaways, 0.01, 40.0, plan))
        yield Group(f"long replies, {said}", LARGE, partial(_runaways, 0.04, 10.0, plan))
        yield Group(f"rare rounds, {said}", (*ONCE, (50, 3)), partial(_counts, plan))
    yield Group("rare bad values", ((20, 1), (50, 1), (150, 1)), _rare_ends)
    yield Group("lognormal tokens", (*ONCE, (50, 3)), _tokens)
