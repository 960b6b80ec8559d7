"""AUROC: the rarer kind of answers decides what can be said, and limits are those of log odds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

from cortexdsl.core import Floats
from cortexdsl.stats.inference.areas import FEWEST
from cortexdsl.stats.tables.answers import ANSWER_COLUMNS
from cortexdsl.stats.tables.score_table import ScoreTable, score_table
from cortexdsl.stats.verdicts import evaluate_claims
from tests.stats.tables import long_table


def answered(cells: dict[str, tuple[Floats, Floats]], replicates: int = 1) -> ScoreTable:
    """A table of confidences and rights, one answer a question and replicate."""
    frames, scores = [], {}
    for cell, (confidence, right) in cells.items():
        count = len(right) // replicates
        ids = {"replicate": np.repeat(np.arange(1, replicates + 1), count)}
        ids |= {"question_id": np.tile([f"q{i}" for i in range(count)], replicates)}
        rows = {"dataset": "data", "cell": cell, "agent": "ann", "round": 0, "score": right, "right": right}
        frames.append(pd.DataFrame(rows | ids | {"stated": confidence}, columns=list(ANSWER_COLUMNS)))
        scores[cell] = right.reshape(replicates, count)
    return replace(score_table(long_table(scores, dataset="data")), answers=pd.concat(frames, ignore_index=True))


def made(wrong: int, right: int, seed: int, replicates: int = 1) -> tuple[Floats, Floats]:
    """Wrong answers first; right ones more confident by one standard deviation."""
    random = np.random.default_rng(seed)
    is_right = np.tile(np.repeat([0.0, 1.0], [wrong, right]), replicates)
    return special.expit(is_right + random.normal(size=len(is_right))), is_right


def test_fewer_wrong_answers_than_needed_are_refused() -> None:
    """Three wrong answers of a hundred decided one table of five wrongly; with fifteen questions a test is made."""
    for claim in ("auroc(a) > 0.9", "auroc(a) > auroc(b)", "auroc(a, agent=ann) >= 0.9 * auroc(b)"):
        few = evaluate_claims(answered({"a": made(FEWEST - 1, 86, 1), "b": made(30, 70, 2)}), [claim], 1).iloc[0]
        assert few["verdict"] == "undecided"
        assert few["test"] == (
            "none: a has 14 questions with answers of the rarer kind (right or wrong); an AUROC needs 15"
        ) or few["test"].startswith("none: a.ann")
        enough = evaluate_claims(answered({"a": made(FEWEST, 85, 1), "b": made(30, 70, 2)}), [claim], 1).iloc[0]
        assert enough["test"] == "AUROC by log odds, Student's t"


def test_the_rarer_kind_is_counted_by_questions_not_by_answers() -> None:
    """Ten wrong questions in three replicates are thirty wrong answers, of ten questions."""
    row = evaluate_claims(answered({"a": made(10, 60, 3, 3)}, 3), ["auroc(a) > 0.5"], 1).iloc[0]
    assert row["test"].startswith("none: a has 10 questions")
    row = evaluate_claims(answered({"a": made(20, 60, 3, 3)}, 3), ["auroc(a) > 0.5"], 1).iloc[0]
    assert row["verdict"] == "supported"


def test_the_interval_of_one_area_by_hand() -> None:
    """DeLong's variance; log odds of (20 A + 1/4) / (20 + 1/2); t with nineteen degrees of freedom."""
    confidence, right = made(20, 80, 5)
    wins = (confidence[20:, None] > confidence[None, :20]).astype(float)
    area, n = wins.mean(), 100
    influence = np.concatenate([(wins.mean(axis=0) - area) / 20, (wins.mean(axis=1) - area) / 80])
    error = np.sqrt((influence**2).sum() * n / (n - 1))
    shrunk = (20 * area + 0.25) / 20.5
    reach = stats.t.isf(0.025, 19) * error / (shrunk * (1 - shrunk))
    row = evaluate_claims(answered({"a": (confidence, right)}), ["auroc(a) > 0.5"], 1).iloc[0]
    assert row["estimate"] == pytest.approx(area)
    ends = special.expit(special.logit(shrunk) + np.array([-reach, reach]))
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(tuple(ends))


def test_the_interval_of_a_difference_is_that_of_its_two_areas() -> None:
    """Of unrelated answers the distances add up in squares; of the same answers they nearly cancel."""
    one, other = made(25, 75, 6), made(40, 60, 7)
    alone = evaluate_claims(
        answered({"a": one, "b": other}), ["auroc(a) > 0.5", "auroc(b) > 0.5"], 1, correction="none"
    )
    row = evaluate_claims(answered({"a": one, "b": other}), ["auroc(a) > auroc(b)"], 1).iloc[0]
    shrunk = [(m * e + 0.25) / (m + 0.5) for m, e in zip((25, 40), alone["estimate"], strict=True)]
    below, above = shrunk[0] - alone["ci_low"][0], alone["ci_high"][1] - shrunk[1]
    apart = shrunk[0] - shrunk[1] - np.hypot(below, above)
    assert row["ci_low"] == pytest.approx(apart, abs=0.3 * np.hypot(below, above)), "but for their small correlation"
    same = evaluate_claims(answered({"a": one, "b": one}), ["auroc(a) > auroc(b)"], 1).iloc[0]
    assert same["ci_high"] - same["ci_low"] < 0.3 * (row["ci_high"] - row["ci_low"])
    assert (same["estimate"], same["p"]) == (0.0, 1.0)


def test_an_area_near_one_is_warned_of() -> None:
    confidence, right = made(20, 80, 5)
    row = evaluate_claims(answered({"a": (confidence + 0.35 * right, right)}), ["auroc(a) > 0.9"], 1).iloc[0]
    assert row["estimate"] > 0.9
    assert "rests on very few misranked answers" in row["note"]


def test_few_wrong_answers_err_about_as_often_as_stated() -> None:
    """Sixteen wrong answers of 80, claims at the true area: 400 tables; the plain scale errs in 8 to 10 %."""
    truth, wrong = float(stats.norm.cdf(1 / np.sqrt(2))), 0
    for seed in range(400):
        found = evaluate_claims(answered({"a": made(16, 64, seed)}), [f"auroc(a) > {truth}"], 1, draws=99)
        wrong += found["verdict"][0] != "undecided"
    assert wrong / 400 <= 0.07
