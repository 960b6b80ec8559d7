"""Forms of claims beyond a plain difference, and skewed numbers: how often each errs where it should not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.random import Generator

from cortexdsl.claims.cells import cells_of
from cortexdsl.core import Floats
from cortexdsl.stats.inference.contrasts import contrast_outcomes
from cortexdsl.stats.tables.answers import ANSWER_COLUMNS
from cortexdsl.stats.tables.score_table import ScoreTable, score_table
from cortexdsl.stats.tables.units import units
from cortexdsl.stats.verdicts import evaluate_claims
from scenarios.made import DRAWS, Marks, Scenario, answers, chances, table

SKEWED: dict[str, tuple[Callable[[Generator, int], Floats], tuple[int, ...]]] = {
    "lognormal": (lambda random, size: random.lognormal(0, 1, size) - np.exp(0.5), (20, 50, 100)),
    "gamma": (lambda random, size: random.gamma(0.3, 1, size) - 0.3, (20, 50, 100, 400)),
    "two lognormals": (lambda random, size: random.lognormal(0, 1, size) - random.lognormal(0, 1, size), (20, 50, 100)),
}
CONFIDENCES = np.array([0.55, 0.65, 0.75, 0.85, 0.95])


def decided(frame: pd.DataFrame | ScoreTable, claims: dict[str, str]) -> Marks:
    """Whether each claim, tested by itself, has p <= 0.05."""
    cells = frame.cells if isinstance(frame, ScoreTable) else tuple(frame["cell"].unique())
    found = evaluate_claims(frame, list(claims), seed=1, draws=DRAWS, arms=cells_of(cells))
    return {what: bool(p <= 0.05) for what, p in zip(claims.values(), found["p"], strict=True)}


def skewed(random: Generator) -> Marks:
    """Differences of mean 0: lognormal (sigma 1) and gamma (shape 0.3), centred; and of two lognormals."""
    marks = {}
    for name, (draw, sizes) in SKEWED.items():
        for size in sizes:
            base = random.uniform(50, 60, size)
            values = {"a": (base + draw(random, size))[None], "b": base[None]}
            sample = units(score_table(table(values, "t")), "t", ["a", "b"])
            found = contrast_outcomes(sample, np.array([[1.0, -1.0]]), [0.0], 1, DRAWS)[0]
            marks[f"error: {name}, {size} questions"] = found.p <= 0.05
            marks[f"cover: {name}, {size} questions"] = found.low <= 0 <= found.high
    return marks


def after_rounds(random: Generator) -> Marks:
    """Debate that adds nothing to its own vote, on average; and two debates that add the same."""
    before, after = (answers(random, chance, 2) for chance in chances(random, 2, 100))
    frame = table({"full": after}).assign(rounds=1, **{"score@0": before.ravel()})
    marks = decided(frame, {"accuracy(full, round=0) < accuracy(full)": "error: after a round"})
    a, b = chances(random, 2, 100)
    gain = 0.15 * random.random(100)
    values = {"a": a, "b": b, "c": np.clip(a + gain, 0, 1), "d": np.clip(b + gain, 0, 1)}
    lift = float(np.mean(values["c"] - values["a"]) - np.mean(values["d"] - values["b"]))
    values["d"] = np.clip(values["d"] + lift, 0, 1)
    whole = table({name: answers(random, chance, 2) for name, chance in values.items()})
    return marks | decided(
        whole, {"accuracy(c) - accuracy(a) > accuracy(d) - accuracy(b)": "error: difference of differences"}
    )


def efficiency(random: Generator) -> Marks:
    """Twice the accuracy for twice the tokens, right-skewed ones."""
    base = random.beta(1, 2, 100)
    tokens = random.lognormal(6, 0.6, 100)
    cells = {"a": (np.clip(base, 0, 0.5), tokens), "b": (2 * np.clip(base, 0, 0.5), 2 * tokens)}
    frame = pd.concat(
        table({name: answers(random, chance, 2)}).assign(
            input_tokens=(cost * random.lognormal(0, 0.4, (2, 100))).ravel()
        )
        for name, (chance, cost) in cells.items()
    )
    claims = {"accuracy(a) per input_tokens > accuracy(b) per input_tokens": "error: accuracy per token"}
    return decided(frame, claims)


def several(random: Generator) -> Marks:
    """One part plainly true, the other on its bound: where an intersection-union test errs most."""
    a, b = chances(random, 2, 100)
    frame = table(
        {"a": answers(random, a, 2), "b": answers(random, b, 2), "c": answers(random, np.clip(b - 0.4, 0, 1), 2)}
    )
    frame["input_tokens"] = random.lognormal(6, 0.5, len(frame)) * np.where(frame["cell"] == "a", 0.5, 1)
    claims = {
        "accuracy(a) > accuracy(b) and input_tokens(a) < input_tokens(b)": "and",
        "accuracy(a) > accuracy(every other)": "every other",
    }
    found = evaluate_claims(frame, list(claims), seed=1, draws=DRAWS, correction="none")["verdict"]
    return {f"error (of 2.5 %): {what}": v == "supported" for what, v in zip(claims.values(), found, strict=True)}


def slopes(random: Generator) -> Marks:
    """Equal accuracies at 1, 2, 3 and 10 rounds; and a step that is no step among three that rise."""
    names = [f"s[rounds={rounds}]" for rounds in (1, 2, 3, 10)]
    equal = table({name: answers(random, p, 2) for name, p in zip(names, chances(random, 4, 100), strict=True)})
    marks = decided(equal, {"accuracy(s[rounds]) increasing": "error: slope over unequal steps"})
    base = random.uniform(0, 0.4, 100)
    rising = {name: answers(random, base + lift, 2) for name, lift in zip(names, (0, 0.3, 0.3, 0.6), strict=True)}
    found = evaluate_claims(
        table(rising), ["accuracy(s[rounds]) monotone increasing"], seed=1, draws=DRAWS, arms=cells_of(names)
    )["verdict"][0]
    return marks | {"error (of 2.5 %): monotone": found == "supported"}


def _confident(random: Generator, bias: Floats, questions: int) -> tuple[Floats, Floats]:
    """Four answers a question, half of the questions answered alike; `bias` belongs to each level of confidence."""
    level = random.integers(0, len(CONFIDENCES), (questions, 4))
    together = np.where(random.random(questions) < 0.5, 1, 0)[:, None]
    draw = np.where(together, random.random(questions)[:, None], random.random((questions, 4)))
    return CONFIDENCES[level], (draw < CONFIDENCES[level] - bias[level]).astype(float)


def answered(cells: Mapping[str, tuple[Floats, Floats]]) -> ScoreTable:
    """A table with every answer, from (questions, answers) confidences and rights of each cell."""
    frames = []
    for cell, (confidence, right) in cells.items():
        questions, each = confidence.shape
        rows = {
            "dataset": "data", "cell": cell, "replicate": 0,
            "question_id": np.repeat(np.arange(questions), each).astype(str),
            "agent": np.tile([f"a{k}" for k in range(each)], questions), "round": 0, "score": right.ravel(),
            "right": right.ravel(), "stated": confidence.ravel(), "recalibrated": confidence.ravel(),
        }  # fmt: skip
        frames.append(pd.DataFrame(rows, columns=list(ANSWER_COLUMNS)))
    scores = table({cell: right.mean(axis=1)[None] for cell, (_, right) in cells.items()})
    return replace(score_table(scores), answers=pd.concat(frames, ignore_index=True))


def confidences(random: Generator) -> Marks:
    """Two cells of one ECE: both calibrated, both far off, or off by opposite faults; and of one Brier and AUROC."""
    marks: Marks = {}
    none, off, half = np.zeros(5), np.full(5, 0.2), np.full(5, 0.045)
    for size in (50, 200):
        for name, (a, b) in {"calibrated": (none, none), "far off": (off, off), "opposite": (half, -half)}.items():
            cells = {"a": _confident(random, a, size), "b": _confident(random, b, size)}
            claims = {"ece(a) < ece(b)": f"error: ECE, {name}, {size} questions"}
            if name == "far off":
                claims |= {
                    "brier(a, agent=a0) < brier(b, agent=a0)": f"error: Brier score of an agent, {size} questions",
                    "auroc(a) > auroc(b)": f"error: AUROC, {size} questions",
                }
            marks |= decided(answered(cells), claims)
    return marks


SCENARIOS: dict[str, Scenario] = {
    "skewed differences of mean 0": skewed,
    "rounds, 100 questions, 2 replicates": after_rounds,
    "accuracy per token, 100 questions, 2 replicates": efficiency,
    "several at once, 100 questions, 2 replicates": several,
    "slopes, 100 questions, 2 replicates": slopes,
    "confidences, 4 answers a question": confidences,
}
