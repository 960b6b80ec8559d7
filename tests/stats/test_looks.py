"""Estimates corrected for looks, and evidence on values without known bounds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.random import Generator

from cortexdsl.cli.main import main
from cortexdsl.core import Floats
from cortexdsl.stats.sequential.evidence import Mean
from cortexdsl.stats.sequential.sequential import evaluate_anytime, stopping_point
from cortexdsl.stats.sequential.streams import median_unbiased
from cortexdsl.stats.tables.score_table import ScoreTable, score_table
from tests.stats.tables import long_table, planned

BOUND = float(np.log(40))
LOOKS = (50, 100, 150, 200)


def differences(seed: int, questions: int, truth: float, discordance: float = 0.3) -> Floats:
    random = np.random.default_rng(seed)
    share = (discordance + truth) / 2
    return random.choice([1.0, -1.0, 0.0], questions, p=[share, discordance - share, 1 - discordance])


def test_one_look_needs_no_correction() -> None:
    """Then the estimate is as probably above the truth as below it."""
    values = differences(1, 200, 0.2)
    assert median_unbiased(Mean(values, (-1, 1)), 0.0, (200,), BOUND) == pytest.approx(values.mean(), abs=0.003)


def test_a_claim_that_was_decided_before_did_not_stop_the_experiment() -> None:
    values = np.concatenate([np.ones(50), differences(2, 150, 0.2)])
    assert median_unbiased(Mean(values, (-1, 1)), 0.0, LOOKS, BOUND) == values.mean()


def test_the_first_decision_is_drawn_to_the_bound_and_no_farther() -> None:
    """Nothing at the first two looks, then enough: the estimate is smaller than it looks, and still above 0."""
    values = np.concatenate([np.tile([1.0, -1.0, 0, 0], 25), np.tile([1.0, 1, 1, 1, 0], 10)])
    evidence = Mean(values, (-1, 1))
    assert Mean(values[:100], (-1, 1)).above(0.0) < BOUND < evidence.above(0.0)
    found = median_unbiased(evidence, 0.0, (50, 100, 150), BOUND)
    assert 0 < found < values.mean()
    turned = median_unbiased(Mean(-values, (-1, 1)), 0.0, (50, 100, 150), BOUND)
    assert turned == pytest.approx(-found, abs=0.01)


def test_verdicts_of_a_stopped_experiment_say_it() -> None:
    """Fifteen points better of 1,000 questions: decided after some of them, and the ratio of tokens with it."""
    random = np.random.default_rng(5)
    gain = differences(5, 1000, 0.15)
    right = {"a": (gain > 0) | ((gain == 0) & (random.random(1000) < 0.5))}
    right["b"] = right["a"] ^ (gain != 0)
    frame = long_table({cell: values[None].astype(float) for cell, values in right.items()})
    found = stopping_point(frame, ["accuracy(a) > accuracy(b)"], batch=50, fewest=50)
    row = found.verdicts.iloc[0]
    assert row["verdict"] == "supported"
    assert row["ci_low"] < row["corrected"] < row["estimate"]
    assert f"corrected for {len(found.looks)} looks" in row["note"]
    plain = evaluate_anytime(score_table(frame), ["accuracy(a) > accuracy(b)"]).iloc[0]
    assert np.isnan(plain["corrected"])


def test_a_claim_that_the_first_look_decides_has_its_estimate_as_the_corrected_one() -> None:
    """No earlier look could have stopped the experiment, so nothing is to be corrected."""
    frame = long_table({"a": np.ones((1, 200)), "b": np.zeros((1, 200))})
    found = stopping_point(frame, ["accuracy(a) > accuracy(b)", "accuracy(a) > 0.5"], batch=50, fewest=50)
    assert len(found.looks) == 1
    assert found.verdicts["corrected"].tolist() == [1.0, 1.0]
    assert not found.verdicts["note"].str.contains("corrected").any()


def test_ratios_and_values_are_corrected_in_their_units() -> None:
    random = np.random.default_rng(3)
    cells = {"a": (random.random((1, 800)) < 0.55).astype(float), "b": (random.random((1, 800)) < 0.75).astype(float)}
    claims = ["accuracy(a) <= 0.9 * accuracy(b)"]
    row = stopping_point(long_table(cells), claims, batch=25, fewest=25).verdicts.iloc[0]
    assert (row["verdict"], row["estimate"] < row["corrected"] < 0.9) == ("supported", True)


def test_the_bias_is_smaller() -> None:
    """A true difference of 10 points, 120 experiments of up to 500 questions, a look after each 50."""
    plain, corrected, looks = [], [], range(50, 501, 50)
    for seed in range(120):
        values = differences(seed, 500, 0.1)
        for end in looks:
            evidence = Mean(values[:end], (-1, 1))
            if max(evidence.above(0.0), evidence.below(0.0)) >= BOUND or end == 500:
                plain.append(evidence.values.mean())
                corrected.append(median_unbiased(evidence, 0.0, tuple(n for n in looks if n <= end), BOUND))
                break
    assert np.mean(plain) - 0.1 > 0.005
    assert abs(np.mean(corrected) - 0.1) < 0.5 * (np.mean(plain) - 0.1)


Pair = tuple[Floats, Floats]


def table(pair: Pair, metric: str, most: float) -> ScoreTable:
    return planned(long_table(dict(zip("ab", (values[None] for values in pair), strict=True)), metric), most)


def test_counts_are_bet_on_within_the_bounds_of_the_plan() -> None:
    """Rounds of 1 and 3 of at most 5: exact evidence, and no word of a central limit theorem."""
    scores = table((np.full(60, 1.0), np.full(60, 3.0)), "rounds", 5)
    found = evaluate_anytime(scores, ["rounds(a) < rounds(b)", "rounds(a) <= 0.9 * rounds(b)"])
    assert found["verdict"].tolist() == ["supported", "supported"]
    assert not found["test"].str.contains("asymptotic").any()
    assert found["note"].tolist() == ["", ""]


def test_counts_beyond_the_bounds_of_the_plan_are_not_bet_on() -> None:
    found = evaluate_anytime(table((np.full(60, 1.0), np.full(60, 3.0)), "rounds", 2), ["rounds(a) < rounds(b)"])
    assert found["test"].str.contains("asymptotic").all()


@pytest.mark.parametrize(("most", "verdict"), [(200.0, "supported"), (16_000.0, "undecided")])
def test_tokens_are_held_to_what_no_question_showed(most: float, verdict: str) -> None:
    random = np.random.default_rng(0)
    pair = 70 * random.normal(1, 0.1, 200), 100 * random.normal(1, 0.1, 200)
    for claim in ("output_tokens(a) < output_tokens(b)", "output_tokens(a) <= 0.9 * output_tokens(b)"):
        found = evaluate_anytime(table(pair, "output_tokens", most), [claim]).iloc[0]
        assert (found["verdict"], found["p"] < 0.05) == (verdict, True)
        assert ("no question showed" in found["note"]) is (verdict == "undecided")


def test_compare_prints_what_is_assumed_and_corrected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    random = np.random.default_rng(0)
    cells = {"a": 20 * random.normal(1, 0.1, (1, 200)), "b": 100 * random.normal(1, 0.1, (1, 200))}
    path = tmp_path / "scores.csv"
    long_table(cells, "tokens").assign(score=1).to_csv(path, index=False)
    claim = "tokens(a) < tokens(b)"
    assert main(["compare", str(path), "--to", "b", "--draws", "99", "--claim", claim, "--stopping", "4"]) == 0
    shown = " ".join(capsys.readouterr().out.partition("stopping early")[2].split())
    assert "no bound of tokens is known" in shown
    assert "corrected for" in shown


def rounds_more(random: Generator) -> Pair:
    """One round more in 5 % of questions, which is what the claim allows."""
    return 2.0 + (random.random(200) < 0.05), np.full(200, 2.0)


def rounds_more_rarely(random: Generator) -> Pair:
    return 2.0 + 3 * (random.random(200) < 0.03), np.full(200, 2.0)


def runaways(random: Generator) -> Pair:
    """One question of a hundred writes 40 times as much, so that both means are equal."""
    base = 100 * random.lognormal(-0.08, 0.4, 200)
    return np.where(random.random(200) < 0.01, 4000.0, base), base * 1.39


@pytest.mark.parametrize(
    ("made", "claim", "most"),
    [
        (rounds_more, "rounds(a) <= rounds(b) + 0.05", 5),
        (rounds_more_rarely, "rounds(a) <= rounds(b) + 0.09", 5),
        (runaways, "output_tokens(a) < output_tokens(b)", 4000),
    ],
)
def test_rare_events_do_not_stop_an_experiment_wrongly(
    made: Callable[[Generator], Pair], claim: str, most: float
) -> None:
    """At most 5 % of experiments and three standard errors, of 60, looked at ten times."""
    wrong = 0
    for run in range(60):
        scores = table(made(np.random.default_rng(run)), claim.partition("(")[0], most)
        wrong += stopping_point(scores, [claim], batch=20, fewest=20).verdicts["verdict"][0] != "undecided"
    assert wrong <= 60 * (0.05 + 3 * np.sqrt(0.05 * 0.95 / 60))
