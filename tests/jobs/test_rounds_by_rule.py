"""What a debate is worth after a round is what the same method with so many rounds is worth, under every rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.cli.main import main
from cortexdsl.metrics.scores import read_rows
from tests.jobs.experiment import run_jobs, write_spec

RULES = {
    "majority": "majority", "weighted": "weighted", "first": "first", "median": "median",
    "mean": "mean", "of-a-debater": "debater", "all-rounds": "{vote: last + 1}",
    "late": "{vote: confidence * (round + 1)}",
    "none": "[majority, none]",
}  # fmt: skip
SPEC = """\
seed: 4
replicates: 2
dataset: {{name: arithmetic, size: 25}}
models:
  weak: {{model: builtin/solver, skill: 0.35, malformed: 0.1}}
  good: {{model: builtin/solver, skill: 0.6}}
agents:
  - {{name: a, model: weak}}
  - {{name: b, model: good}}
  - {{name: c, model: weak}}
  - {{name: d, model: good}}
  - {{name: e, model: weak}}
protocols:
  mine:
    settings: {{rounds: 1}}
    roles: {{debater: everyone}}
    steps:
      answer: {{role: debater, hears: nobody, prompt: common/answer.j2}}
      revise: {{role: debater, hears: everyone, prompt: multi-llm/revise.j2}}
{judge}    schedule:
      - answer
      - {{repeat: $rounds, do: [revise{inside}]}}
{after}    decide: {rule}
methods:
  one:   {{protocol: mine, rounds: 1}}
  two:   {{protocol: mine, rounds: 2}}
  three: {{protocol: mine, rounds: 3}}
"""


def scores(cell: str) -> list[dict[str, str]]:
    return [dict(row) for row in read_rows(Path("results/small/parts/arithmetic", cell, "scores.csv"))]  # type: ignore[misc]


@pytest.mark.parametrize("rule", RULES)
def test_a_method_of_some_rounds_is_the_debate_after_so_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: str
) -> None:
    """The cells share their calls and the draws of ties, so that the scores are equal question by question."""
    monkeypatch.chdir(tmp_path)
    run_jobs(write_spec(SPEC.format(rule=RULES[rule], judge="", inside="", after="")))
    rows = {cell: scores(cell) for cell in ("one", "two", "three")}
    assert [row["score@1"] for row in rows["two"]] == [row["score"] for row in rows["one"]]
    assert [row["score@1"] for row in rows["three"]] == [row["score"] for row in rows["one"]]
    assert [row["score@2"] for row in rows["three"]] == [row["score"] for row in rows["two"]]
    for row in rows["three"]:
        assert float(row["gain"]) == float(row["score"]) - float(row["opening_score"])
    assert {row["score"] for row in rows["three"]} == {"0", "1"}


JUDGE = "      judge: {role: judge, hears: debater, prompt: multi-llm/revise.j2}\n"


@pytest.mark.parametrize("is_each_round", [True, False])
def test_a_judge_decides_after_a_round_if_it_spoke_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_each_round: bool
) -> None:
    """One that speaks at the end alone says nothing of earlier rounds: their scores and the gain are empty."""
    monkeypatch.chdir(tmp_path)
    after = "" if is_each_round else "      - judge\n"
    text = SPEC.format(rule="judge", judge=JUDGE, inside=", judge" if is_each_round else "", after=after)
    text = text.replace("roles: {debater: everyone}", "roles: {debater: [a, b, c, d], judge: [e]}")
    run_jobs(write_spec(text))
    one, three = scores("one"), scores("three")
    assert [row["opening_score"] for row in three] == [None] * 50
    assert [row["gain"] for row in three] == [None] * 50
    assert [row["score@1"] for row in three] == ([row["score"] for row in one] if is_each_round else [None] * 50)
    assert main(["report", "results/small", "--text"]) == 0
