"""What a plan can show: the formulas at work, held against simulated experiments."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cortexdsl.analysis.planning.planning import COLUMNS, Expected, plan_power
from cortexdsl.analysis.planning.power import mcnemar_difference, mcnemar_questions
from cortexdsl.analysis.planning.simulate import Truth, simulated_differences, simulated_power
from cortexdsl.analysis.units.arms import Arm, arms_of
from cortexdsl.analysis.units.table import score_table
from cortexdsl.cli.main import main
from cortexdsl.errors import InputError
from tests.analysis.tables import long_table

ARMS = arms_of(["a", "b"])


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
    expected = Expected(discordance=0.25, correlation=0.3, differences={claim: 0.08 if ">=" not in claim else 0.0})
    row = plan_power([claim], ARMS, {"d": 250}, replicates, expected, runs=1000).iloc[0]
    assert row["simulated_low"] - 0.03 < row["power"] < row["simulated_high"] + 0.03
    assert 0.4 < row["power"] < 0.999


def test_equivalence_power_is_reached_in_simulation() -> None:
    expected = Expected(discordance=0.2, correlation=0.0)
    row = plan_power(["accuracy(a) == accuracy(b) +- 0.06"], ARMS, {"d": 300}, 2, expected, runs=1000).iloc[0]
    assert row["expected"] == 0
    assert row["simulated_low"] - 0.03 < row["power"] < row["simulated_high"] + 0.03


def test_one_replicate_is_mcnemars_power_at_the_corrected_level() -> None:
    """Two claims: each is counted on at 0.025."""
    claims = ["accuracy(a) > accuracy(b)", "accuracy(a) > 0.65"]
    expected = Expected(discordance=0.25, differences={claims[0]: 0.1}, accuracy=0.7)
    found = plan_power(claims, ARMS, {"d": 200}, 1, expected, runs=0)
    assert tuple(found.columns) == COLUMNS
    assert found["alpha"].tolist() == [0.025, 0.025]
    assert found["detectable"][0] == pytest.approx(mcnemar_difference(200, 0.25, 0.025), abs=1e-3)
    assert found["needed"][0] == pytest.approx(mcnemar_questions(0.25, 0.1, 0.025), abs=8)
    assert found["answerable"].tolist() == [False, False]


def test_what_nobody_said_is_assumed_and_says_so() -> None:
    row = plan_power(["accuracy(a) > accuracy(b)"], ARMS, {"d": 100}, 1, Expected(), runs=0).iloc[0]
    assert row["basis"] == "discordance 0.3 assumed"
    assert row["answerable"] is None
    assert 0.1 < row["detectable"] < 0.2
    tokens = plan_power(["input_tokens(a) <= 0.7 * input_tokens(b)"], ARMS, {"d": 100}, 1, Expected(), runs=0).iloc[0]
    assert tokens["note"] == "needs earlier results of input_tokens"


def test_a_claim_that_is_not_expected_to_hold_cannot_be_answered() -> None:
    row = plan_power(
        ["accuracy(a) > accuracy(b)"], ARMS, {"d": 100}, 1, Expected(differences={"a": -0.1}), runs=0
    ).iloc[0]
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
    expected = Expected(earlier=score_table(frame))
    few = plan_power(claims, ARMS, {"d": 100}, 1, expected, runs=500)
    many = plan_power(claims, ARMS, {"d": 100}, 5, expected, runs=500)
    assert few["basis"].tolist() == ["earlier results"] * 2
    assert many["deviation"][0] < few["deviation"][0]
    means = frame.groupby("cell")[["score", "tokens"]].mean()
    assert few["expected"].to_numpy() == pytest.approx(
        [means.score["a"] - means.score["b"], means.tokens["a"] / means.tokens["b"]]
    )
    assert few["answerable"][1]
    for found in (few, many):
        assert found["simulated_low"][0] - 0.05 < found["power"][0] < found["simulated_high"][0] + 0.05


def test_several_datasets_and_grids() -> None:
    """The mean over 100 and 300 questions is as precise as 4 / (1/100 + 1/300) = 300 questions of one dataset."""
    both = plan_power(["accuracy(a) > accuracy(b)"], ARMS, {"x": 100, "y": 300}, 1, Expected(), runs=0)["detectable"][0]
    alone = plan_power(["accuracy(a) > accuracy(b) on x"], ARMS, {"x": 300, "y": 9}, 1, Expected(), runs=0)[
        "detectable"
    ][0]
    assert both == pytest.approx(alone)
    arms = [Arm(f"s[rounds={r}]", "s") for r in (1, 2, 3)]
    claims = ["accuracy(s[rounds]) increasing", "best rounds of s is 3"]
    found = plan_power(claims, arms, {"x": 100}, 1, Expected(differences={claims[0]: 0.1}), runs=0)
    assert found["answerable"].tolist() == [True, None]
    with pytest.raises(InputError, match="no dataset 'z'"):
        plan_power(["accuracy(a) > accuracy(b) on z"], ARMS, {"x": 100}, 1, Expected(), runs=0)


def test_simulated_size_is_nominal() -> None:
    """No difference: the claim is supported in at most 2.5 % of experiments (the other 2.5 % contradict it)."""
    share, _, high = simulated_power(Truth(0.25, 0.0, 0.3), 150, 3, runs=1000)
    assert share < 0.05
    assert high > 0.01
    with pytest.raises(InputError, match="no two methods"):
        Truth(0.1, 0.2)


SPEC = """
seed: 1
replicates: 2
dataset: {name: arithmetic, size: 40}
models: {m: {model: builtin/solver, skill: 0.5}}
agents: [{name: x, model: m}, {name: y, model: m}]
methods: {full: {protocol: multi-llm, rounds: 1}, vote: {protocol: voting}}
hypotheses: [accuracy(full) > accuracy(vote)]
expected: {discordance: 0.3, differences: {full: 0.05}, refuse: REFUSE}
"""


@pytest.mark.parametrize(("refuse", "status"), [("false", 0), ("true", 2)])
def test_power_on_the_command_line_warns_or_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], refuse: str, status: int
) -> None:
    """Five points at 30 % discordance on 40 questions: hopeless, and said with the cost of what would do."""
    path = tmp_path / "s.yaml"
    path.write_text(SPEC.replace("REFUSE", refuse), "utf-8")
    assert main(["power", str(path), "--simulate", "100"]) == status
    printed = capsys.readouterr()
    assert "WARNING: needs" in printed.out
    said = " ".join(printed.out.split())
    assert "With a probability of 80% this plan shows a truth that is " in said
    assert "points or more beyond its bound (discordance 0.3 " in said
    assert "If the truth is a difference of 5 points, the claim is supported with a probability of " in said
    assert ("cannot answer 1 of 1 claims" in printed.err) == (refuse == "true")
