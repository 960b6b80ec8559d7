"""What a plan can show: the formulas at work, held against simulated experiments."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cortexdsl.claims.cells import CellNames, cells_of
from cortexdsl.cli.main import main
from cortexdsl.errors import InputError
from cortexdsl.stats.planning.expectations import Expectation
from cortexdsl.stats.planning.planning import POWER_COLUMNS, plan_power, questions_needed
from cortexdsl.stats.planning.power import (
    Truth,
    paired_power,
)
from cortexdsl.stats.tables.score_table import ScoreTable, score_table
from tests.stats.simulated import simulated_differences, simulated_power
from tests.stats.tables import long_table

ARMS = cells_of(["a", "b"])


def answers_of(stated: dict[str, float], questions: int) -> ScoreTable:
    """Cells whose one agent is right on 60 % of questions and always as confident."""
    right, ids = np.arange(questions) % 5 < 3, [f"q{i}" for i in range(questions)]
    frames = [
        pd.DataFrame({"dataset": "data", "cell": cell, "replicate": 1, "question_id": ids,
                      "agent": "x", "round": 0, "score": right * 1.0, "right": right * 1.0, "stated": confidence,
                      "recalibrated": confidence})
        for cell, confidence in stated.items()
    ]  # fmt: skip
    return replace(score_table(long_table(dict.fromkeys(stated, right[None] * 1.0))), answers=pd.concat(frames))


def test_simulated_differences_have_the_stated_mean_and_spread() -> None:
    """Mean 0.1; variance (0.3 - 0.01)(0.5 + 0.5 / 3) = 0.1933 over 400,000 questions."""
    found = simulated_differences(Truth(0.3, 0.1, 0.5), 2000, 3, 200, seed=1)
    assert found.mean() == pytest.approx(0.1, abs=0.003)
    assert found.var() == pytest.approx(0.29 * (0.5 + 0.5 / 3), rel=0.02)
    assert Truth(0.3, 0.1, 0.5).deviation(3) == pytest.approx(np.sqrt(0.29 * (0.5 + 0.5 / 3)))


@pytest.mark.parametrize("claim", ["accuracy(a) > accuracy(b)", "accuracy(a) >= accuracy(b) - 0.1"])
@pytest.mark.parametrize("replicates", [1, 3])
def test_stated_power_is_reached_in_simulation(claim: str, replicates: int) -> None:
    """The formula lies within the simulation's interval, but for three points of the approximation."""
    expected = Expectation(discordance=0.25, correlation=0.3, differences={claim: 0.08 if ">=" not in claim else 0.0})
    row = plan_power([claim], ARMS, {"d": 250}, replicates, expected).iloc[0]
    null, difference = (-0.1, 0.0) if ">=" in claim else (0.0, 0.08)
    _, low, high = simulated_power(Truth(0.25, difference, 0.3), 250, replicates, null=null, runs=1000)
    assert low - 0.03 < row["power"] < high + 0.03
    assert 0.4 < row["power"] < 0.999


def test_equivalence_power_is_reached_in_simulation() -> None:
    expected = Expectation(discordance=0.2, correlation=0.0)
    row = plan_power(["accuracy(a) == accuracy(b) +- 0.06"], ARMS, {"d": 300}, 2, expected).iloc[0]
    assert row["expected"] == 0
    _, low, high = simulated_power(Truth(0.2), 300, 2, margin=0.06, runs=1000)
    assert low - 0.03 < row["power"] < high + 0.03


def test_one_replicate_is_exact_power_at_the_corrected_level() -> None:
    """Two claims: each is counted on at 0.025."""
    claims = ["accuracy(a) > accuracy(b)", "accuracy(a) > 0.65"]
    expected = Expectation(discordance=0.25, differences={claims[0]: 0.1, claims[1]: 0.7})
    found = plan_power(claims, ARMS, {"d": 200}, 1, expected)
    assert tuple(found.columns) == POWER_COLUMNS
    assert found["alpha"].tolist() == [0.025, 0.025]
    assert paired_power(200, 0.25, found["detectable"][0], 0.025) == pytest.approx(0.8, abs=0.01)
    needed = int(found["needed"][0])
    assert paired_power(needed, 0.25, 0.1, 0.025) >= 0.8 > paired_power(needed - 12, 0.25, 0.1, 0.025)
    assert found["answerable"].tolist() == [False, False]


def test_what_nobody_said_is_assumed_and_says_so() -> None:
    row = plan_power(["accuracy(a) > accuracy(b)"], ARMS, {"d": 100}, 1, Expectation()).iloc[0]
    assert row["basis"] == "discordance 0.3 assumed"
    assert row["answerable"] is None
    assert 0.1 < row["detectable"] < 0.2
    tokens = plan_power(["input_tokens(a) <= 0.7 * input_tokens(b)"], ARMS, {"d": 100}, 1, Expectation()).iloc[0]
    assert tokens["note"] == "needs earlier results of input_tokens, or `expected: {spread: {input_tokens: ...}}`"


def test_a_stated_spread_gives_power_to_any_claim() -> None:
    """Of a mean 0.2 beyond its bound whose questions spread by 1, 200 show Phi(0.2 sqrt(200) - 1.96) = 80.7 %."""
    claims = {
        "ece(a) < ece(b)": ("ece", -0.2),
        "brier(a, agent=x) < brier(b, agent=x)": ("brier", -0.2),
        "accuracy(a) per input_tokens > accuracy(b) per input_tokens": ("accuracy per input_tokens", np.exp(0.2)),
        "input_tokens(a) <= 0.7 * input_tokens(b)": ("input_tokens", 0.7 * np.exp(-0.2)),
    }
    for claim, (metric, size) in claims.items():
        for key in (metric, claim.replace(" ", "  ")):
            expected = Expectation(spread={key: 1.0}, differences={claim: size})
            row = plan_power([claim], ARMS, {"d": 200}, 1, expected).iloc[0]
            assert (row["basis"], row["deviation"]) == ("spread 1 given", 1.0)
            assert row["power"] == pytest.approx(0.8074, abs=1e-4)
            assert row["needed"] == 197


def test_a_metrics_spread_is_that_of_a_difference_of_two_cells() -> None:
    """One mean varies half as much as the difference of two such means, a difference of differences twice as much."""
    claims = ["brier(a) < 0.3", "brier(a) - brier(b) < brier(c) - brier(d)"]
    found = plan_power(claims, cells_of(list("abcd")), {"d": 100}, 1, Expectation(spread={"brier": 0.2}))
    assert found["deviation"].to_numpy() ** 2 == pytest.approx([0.02, 0.08])


def test_earlier_scores_say_nothing_of_what_they_do_not_hold() -> None:
    earlier = score_table(long_table({"a": np.eye(2), "b": np.eye(2)}))
    row = plan_power(["ece(a) < ece(b)"], ARMS, {"d": 100}, 1, Expectation(earlier=earlier)).iloc[0]
    assert (row["basis"], row["note"]) == ("none", "needs earlier results of ece, or `expected: {spread: {ece: ...}}`")
    row = plan_power(["calls(a) < calls(b)"], ARMS, {"d": 100}, 1, Expectation(earlier=earlier)).iloc[0]
    assert (row["basis"], row["note"][:28]) == ("none", "needs earlier results of cal")
    confident = answers_of({"a": 0.6, "b": 0.9}, 200)
    row = plan_power(["ece(a) < ece(b)"], ARMS, {"d": 200}, 1, Expectation(earlier=confident)).iloc[0]
    assert row["basis"] == "earlier results"
    assert row["expected"] == pytest.approx(-0.3, abs=0.05)
    assert row["answerable"]


def test_a_claim_that_is_not_expected_to_hold_cannot_be_answered() -> None:
    row = plan_power(["accuracy(a) > accuracy(b)"], ARMS, {"d": 100}, 1, Expectation(differences={"a": -0.1})).iloc[0]
    assert (row["power"], row["answerable"], row["note"]) == (0.0, False, "expected not to hold")


def test_earlier_results_give_discordance_ratio_and_spread() -> None:
    """What 400 earlier questions show is what the plan counts on; more replicates than before narrow it."""
    random = np.random.default_rng(1)
    ability = random.random(400)
    frame = long_table(
        {c: (random.random((2, 400)) < np.clip(ability + d, 0, 1)).astype(float) for c, d in (("a", 0.1), ("b", 0))}
    )
    frame["tokens"] = np.where(frame["cell"] == "a", 60.0, 100.0) + random.normal(0, 5, len(frame))
    claims = ["accuracy(a) > accuracy(b)", "tokens(a) <= 0.7 * tokens(b)"]
    expected = Expectation(earlier=score_table(frame))
    few = plan_power(claims, ARMS, {"d": 100}, 1, expected)
    many = plan_power(claims, ARMS, {"d": 100}, 5, expected)
    assert few["basis"].tolist() == ["earlier results"] * 2
    assert many["deviation"][0] < few["deviation"][0]
    means = frame.groupby("cell")[["score", "tokens"]].mean()
    assert few["expected"].to_numpy() == pytest.approx(
        [means.score["a"] - means.score["b"], means.tokens["a"] / means.tokens["b"]]
    )
    assert few["answerable"][1]
    assert few["power"][0] < many["power"][0]


def test_several_datasets_and_grids() -> None:
    """The mean over 100 and 300 questions is as precise as 4 / (1/100 + 1/300) = 300 questions of one dataset."""
    both = plan_power(["accuracy(a) > accuracy(b)"], ARMS, {"x": 100, "y": 300}, 1, Expectation())["detectable"][0]
    alone = plan_power(["accuracy(a) > accuracy(b) on x"], ARMS, {"x": 300, "y": 9}, 1, Expectation())["detectable"][0]
    assert both == pytest.approx(alone)
    arms = [CellNames(f"s[rounds={r}]", "s") for r in (1, 2, 3)]
    claims = ["accuracy(s[rounds]) increasing", "best rounds of s is 3"]
    found = plan_power(claims, arms, {"x": 100}, 1, Expectation(differences={claims[0]: 0.1}))
    assert found["answerable"].tolist() == [True, None]
    with pytest.raises(InputError, match="no dataset 'z'"):
        plan_power(["accuracy(a) > accuracy(b) on z"], ARMS, {"x": 100}, 1, Expectation())


def test_simulated_size_is_nominal() -> None:
    """No difference: the claim is supported in at most 2.5 % of experiments (the other 2.5 % contradict it)."""
    share, _, high = simulated_power(Truth(0.25, 0.0, 0.3), 150, 3, runs=1000)
    assert share < 0.05
    assert high > 0.01


@pytest.mark.parametrize("truth", [(0.1, 0.2), (0.1, -0.2), (1.1,), (0.5, 0.1, 1.1), (0.5, 0.1, -0.1)])
def test_methods_that_cannot_be_are_refused(truth: tuple[float, ...]) -> None:
    """They differ by more than the questions on which they do, on more than all, or repeat more than all of it."""
    with pytest.raises(InputError, match="cannot behave like this"):
        Truth(*truth)


def test_methods_at_the_ends_of_what_can_be() -> None:
    assert Truth(1.0, 1.0, 1.0).deviation(3) == 0
    assert Truth(0.2, 0.0, 0.0).deviation(2) == pytest.approx(np.sqrt(0.1))


SPEC = """
seed: 1
replicates: 2
dataset: {name: arithmetic, size: 40}
models: {m: {model: builtin/solver, skill: 0.5}}
agents: [{name: x, model: m}, {name: y, model: m}]
methods: {full: {protocol: multi-llm, rounds: 1}, vote: {protocol: voting}}
hypotheses: [accuracy(full) > accuracy(vote)]
expected: {discordance: 0.3, differences: {full: 0.05}, REFUSE}
"""


@pytest.mark.parametrize(("refuse", "status"), [("", 0), ("power: 0.8", 2)])
def test_power_on_the_command_line_warns_or_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], refuse: str, status: int
) -> None:
    """Five points at 30 % discordance on 40 questions: hopeless, and said with the cost of what would do."""
    path = tmp_path / "s.yaml"
    path.write_text(SPEC.replace("REFUSE", refuse), "utf-8")
    assert main(["power", str(path)]) == status
    printed = capsys.readouterr()
    assert "WARNING: needs" in printed.out
    said = " ".join(printed.out.split())
    assert "points or more beyond the claim's bound, the claim is supported with a probability of 80% (discord" in said
    assert "If the truth is a difference of 5 points, the claim is supported with a probability of " in said
    assert ("cannot answer 1 of 1 claim" in printed.err) == bool(refuse)


def test_the_questions_that_an_undecided_claim_needs_are_those_for_its_estimate() -> None:
    """a is right on 3 of 30 questions more than b, 7 for and 4 against: 0.1, and 0.12 beyond a margin of 0.02.

    By the normal approximation ((1.96 + 0.84) / 0.12)^2 (11 / 30 - 0.01) = 194; a truth of 0, as planned before a run,
    would need some 7,000. An estimate beyond the margin of an equivalence can never show it.
    """
    right = np.arange(30) < 15
    other = right.copy()
    other[:7], other[15:19] = False, True
    claims = ["accuracy(a) >= accuracy(b) - 0.02", "accuracy(a) == accuracy(b) +- 0.05"]
    table = score_table(long_table({"a": right[None] * 1.0, "b": other[None] * 1.0}))
    verdicts = pd.DataFrame({"claim": claims, "verdict": "undecided"})
    needed, never = questions_needed(table, verdicts, ARMS, alpha=0.05, correction="none")
    assert needed == pytest.approx(194, rel=0.1)
    assert np.isnan(never)
