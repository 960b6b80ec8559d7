"""Large values that no question showed: by hand, in claims and families, and in simulated experiments."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cortexdsl.cli.main import main
from cortexdsl.core import Family, Floats
from cortexdsl.stats.inference.families import compare_families
from cortexdsl.stats.inference.unseen import MULTIPLE, unseen_share
from cortexdsl.stats.tables.score_table import ScoreTable, score_table
from cortexdsl.stats.verdicts import evaluate_claims
from tests.stats.tables import long_table


def table(a: Floats, b: Floats, metric: str = "output_tokens", most: float | None = None) -> ScoreTable:
    """Two cells in one replicate; `most` is what the plan allows one question of either."""
    bounds = {} if most is None else {cell: {"output_tokens": most, "calls": most, "rounds": most} for cell in "ab"}
    return score_table(long_table({"a": a[None], "b": b[None]}, metric)).with_most(bounds)


def spent(questions: int, ratio: float = 1.0, seed: int = 0) -> tuple[Floats, Floats]:
    """Tokens of two cells whose means have a ratio, each with a spread of 10 %."""
    random = np.random.default_rng(seed)
    return ratio * random.normal(100, 10, questions), random.normal(100, 10, questions)


def row(scores: ScoreTable | pd.DataFrame, claim: str) -> pd.Series:
    return evaluate_claims(scores, [claim], seed=1, draws=499).iloc[0]


def test_the_share_that_questions_can_miss() -> None:
    """Of a share q of all questions none is among n with a probability of (1 - q)^n = 2.5 %."""
    assert (1 - unseen_share(50)) ** 50 == pytest.approx(0.025)
    assert unseen_share(50) == pytest.approx(0.0711, abs=1e-4)


@pytest.mark.parametrize(("most", "verdict"), [(150.0, "supported"), (16_000.0, "undecided")])
def test_the_bound_of_the_plan_decides(most: float, verdict: str) -> None:
    """Means of 70 and 100 of 50 questions: 7.1 % of questions at 150 add 5.7 to the first, at 16,000 over 1,100."""
    found = row(table(*spent(50, 0.7), most=most), "output_tokens(a) < output_tokens(b)")
    assert (found["verdict"], found["p"] < 0.01) == (verdict, True)
    assert ("16,000" in found["note"]) is (verdict == "undecided")
    assert "no bound" not in found["note"]


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("output_tokens(a) < output_tokens(b)", "undecided"),
        ("output_tokens(b) < output_tokens(a)", "undecided"),  # contradicted, were it not for the same values
        ("output_tokens(a) <= 0.95 * output_tokens(b)", "undecided"),
        ("output_tokens(a) < output_tokens(b) and output_tokens(a) > 10", "undecided"),
        ("output_tokens(a) > 10", "supported"),  # large values make it truer
        ("output_tokens(a) < 90", "undecided"),
        ("output_tokens(a) == output_tokens(b) +- 60", "undecided"),
    ],
)
def test_every_form_of_claim(claim: str, verdict: str) -> None:
    assert row(table(*spent(50, 0.7), most=16_000), claim)["verdict"] == verdict


def test_enough_questions_decide_whatever_the_bound() -> None:
    """With 3,000 questions 0.12 % may be at 16,000, which adds 20 to a mean of 70."""
    assert row(table(*spent(3000, 0.7), most=16_000), "output_tokens(a) < output_tokens(b)")["verdict"] == "supported"


def test_a_metric_without_a_known_bound_says_what_is_assumed() -> None:
    """One more question at 8 times the mean: 560 makes a mean of 70 one of 80, 744 makes one of 93 one of 106."""
    claim = "input_tokens(a) < input_tokens(b)"
    found = row(table(*spent(50, 0.7), "input_tokens"), claim)
    assert found["verdict"] == "supported"
    assert (
        f"no bound of input_tokens is known, so one question of more than {MULTIPLE:g} times the mean" in found["note"]
    )
    found = row(table(*spent(50, 0.93), "input_tokens"), claim)
    assert (found["verdict"], found["p"] < 0.05) == ("undecided", True)
    assert "(8 times the mean) makes the estimate" in found["note"]


def test_a_bound_that_was_exceeded_is_not_believed() -> None:
    found = row(table(*spent(50, 0.2), most=15), "output_tokens(a) < output_tokens(b)")
    assert "no bound of output_tokens is known" in found["note"]


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_bounded_metrics_are_left_alone(scale: float) -> None:
    """Right and wrong answers cannot be larger than right, also where a table counts in percent."""
    random = np.random.default_rng(0)
    right = {"a": (random.random((1, 50)) < 0.9) * scale, "b": (random.random((1, 50)) < 0.3) * scale}
    found = row(long_table(right), "score(a) > score(b)")
    assert (found["verdict"], found["note"]) == ("supported", "")


def test_undecided_claims_say_nothing_of_it() -> None:
    assert "unseen" not in row(table(*spent(50), "input_tokens"), "input_tokens(a) < input_tokens(b)")["note"]


def test_comparisons_of_families_say_it() -> None:
    for most, said in ((150.0, False), (16_000.0, True)):
        scores = table(*spent(50, 0.7), most=most)
        found = compare_families(scores, [Family("f", ("a",), "b")], ["output_tokens"], seed=1, draws=499).iloc[0]
        assert found["p_adjusted"] < 0.01
        assert ("16,000" in found["note"]) is said


def test_runaway_replies_are_not_silently_missed() -> None:
    """One question of a hundred costs 40 times as much, so that both means are equal; 50 questions often miss them."""
    silent, alone, runs = 0, 0, 60
    for run in range(runs):
        random = np.random.default_rng(run)
        base = random.lognormal(0, 0.4, 50)
        a, b = (base * random.lognormal(0, 0.2, 50) for _ in range(2))
        a = np.where(random.random(50) < 0.01, 40 * base.mean(), a)
        found = row(table(a, 1.39 * b, most=60.0), "output_tokens(a) < output_tokens(b)")
        silent += found["verdict"] == "supported" and not found["note"]
        alone += found["p"] <= 0.05 and found["estimate"] < 0
    assert alone > 0.4 * runs
    assert silent == 0


def test_claims_over_seeds_are_held_to_it() -> None:
    """Three replicates with means of 70 and 100 each."""
    a, b = (np.stack([spent(50, 0.7, seed)[i] for seed in range(3)]) for i in (0, 1))
    frame = long_table({"a": a, "b": b}, "output_tokens")
    for most, verdict in ((150.0, "supported"), (16_000.0, "undecided")):
        scores = score_table(frame).with_most({cell: {"output_tokens": most} for cell in "ab"})
        assert row(scores, "output_tokens(a) < output_tokens(b) over seeds")["verdict"] == verdict


def test_compare_takes_a_bound_that_is_stated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Means of 70 and 100 of 50 questions, as in a plan with the same bound."""
    path, claim = tmp_path / "scores.csv", "tokens(a) < tokens(b)"
    cells = {cell: values[None] for cell, values in zip("ab", spent(50, 0.7), strict=True)}
    long_table(cells, "tokens").assign(score=1).to_csv(path, index=False)
    words = ["compare", str(path), "--to", "b", "--draws", "99", "--json", "--claim", claim]
    for more, verdict in (
        ([], "supported"),
        (["--most", "tokens=150"], "supported"),
        (["--most", "tokens=16000"], "undecided"),
    ):
        assert main([*words, *more]) == 0
        (found,) = [one for one in map(json.loads, capsys.readouterr().out.splitlines()) if "claim" in one]
        assert found["verdict"] == verdict
    assert main([*words, "--most", "tokens"]) == 2
    assert "--most tokens: write COLUMN=NUMBER" in capsys.readouterr().err
