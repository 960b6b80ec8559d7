"""`expected: {power: 0.8}`: a run whose claims cannot be answered ends before it begins."""

from __future__ import annotations

import pytest

from tests.workflow.bench import TWO_ALONE, Bench

SPEC = TWO_ALONE.replace("size: 30", "size: 6")
HOPELESS = "expected: {discordance: 0.3, differences: {high: 0.02}, power: 0.8}\n"
SURE = "expected: {discordance: 1.0, differences: {high: 1.0}, power: 0.8}\n"


@pytest.mark.workflow
def test_a_claim_that_cannot_be_answered_stops_the_run_before_any_debate(fresh: Bench) -> None:
    """Five or six of six questions must differ, all for one method: 0.05 % of experiments. Planning approximates."""
    fresh.write("specs/small.yaml", SPEC + HOPELESS)
    run = fresh.snakemake()
    assert run.status == 1
    assert "this plan cannot answer 1 of 1 claim: accuracy(high) > accuracy(low) (power 0.01)" in run.text
    assert run.finished["debate"] == 0
    assert not (fresh.results("small") / "declared.json").exists()
    said = fresh.cortexdsl("plan", "specs/small.yaml", "--declare")
    assert said.status == 2
    assert said.text.startswith("error: specs/small.yaml: this plan cannot answer")


@pytest.mark.parametrize(
    "expected", [SURE, HOPELESS.replace(", power: 0.8", ""), ""], ids=["sure", "not asked", "none"]
)
def test_what_can_be_answered_or_need_not_be_is_declared(fresh: Bench, expected: str) -> None:
    """Six questions that one method alone gets right, all six of them, have p = 2 / 2^6 = 0.03."""
    fresh.write("specs/small.yaml", SPEC + expected)
    said = fresh.cortexdsl("plan", "specs/small.yaml", "--declare")
    assert said.status == 0, said.text
    assert (fresh.results("small") / "declared.json").exists()
