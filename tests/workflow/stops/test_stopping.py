"""Stopping early: which batches are debated, what the verdict then says, and what an edited claim asks for."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from cortexdsl.stats.sequential.sequential import evaluate_anytime
from cortexdsl.stats.tables.rows import ClaimRow, columns_of_tests
from tests.workflow.bench import Bench

SPEC = """\
title: Stops early
seed: 3
dataset: {name: arithmetic, size: 60}
models:
  weak:   {model: builtin/solver, skill: 0.05, parameters: 1.0e9, tokens: 2.0e12}
  strong: {model: builtin/solver, skill: 0.95, parameters: 7.0e9, tokens: 15e12}
agents:
  - {name: one, model: weak}
  - {name: two, model: strong}
  - {name: three, model: strong}
methods:
  low:  {protocol: cot, agents: [one]}
  high: {protocol: cot, agents: [two]}
  same: {protocol: cot, agents: [three]}
analysis:
  families:
    main: {compare: [high], to: low}
hypotheses:
  - accuracy(high) > accuracy(low)
stopping: {min_questions: 20, batch: 15}
"""
CLAIM = "accuracy(high) > accuracy(low)"
NULL = "accuracy(high) > accuracy(same)"


def _looks(bench: Bench) -> list[dict[str, object]]:
    files = sorted((bench.results("early") / "looks").glob("*.json"))
    return [json.loads(path.read_text()) for path in files]


def _verdicts(bench: Bench) -> pd.DataFrame:
    """Without their history."""
    found = pd.read_csv(bench.results("early") / "hypotheses.csv", keep_default_na=False)[columns_of_tests(ClaimRow)]
    numbers = ("ci_low_simultaneous", "ci_high_simultaneous")  # empty if there is none
    return found.assign(**{name: pd.to_numeric(found[name]) for name in numbers})


@pytest.mark.workflow
def test_a_large_difference_stops_early_an_edited_claim_looks_again_and_a_null_runs_to_the_end(fresh: Bench) -> None:
    """Sixty questions are batches of 20, 15, 15 and 10; a difference of 90 points is plain after the first.

    Two solvers of one skill differ by chance alone, so a claim about them stays undecided after all four.
    """
    fresh.write("specs/early.yaml", SPEC)
    run = fresh.snakemake()
    assert run.status == 0, run.text
    after = {"score": 3, "verdict": 1, "report": 1, "all": 1}
    assert run.finished == Counter({"declare": 1, "plan": 1, "debate": 3, "look": 1, **after})
    scores = pd.read_csv(fresh.results("early") / "scores.csv")
    assert Counter(scores["cell"]) == {"low": 20, "high": 20, "same": 20}
    assert [(look["questions"], look["calls"], look["calls_left"], look["decided"]) for look in _looks(fresh)] == [
        ({"arithmetic": 20}, 60, 120, True)
    ]
    claim = SPEC.split("hypotheses:\n  - ")[1].splitlines()[0]
    expected = evaluate_anytime(scores, [claim])
    pd.testing.assert_frame_equal(_verdicts(fresh), expected, check_dtype=False)
    assert expected["verdict"].tolist() == ["supported"]
    assert {row["test"].partition(" (fixed sample")[1] for row in fresh.rows("early", "comparisons.csv")} == {
        " (fixed sample"
    }
    said = fresh.cortexdsl("report", "results/early", "--text").text
    assert "after 20 of 60 questions" in said
    assert "Nothing to be done" in fresh.snakemake().text
    assert fresh.cortexdsl("replay", "specs/early.yaml").status == 0

    finished = fresh.records("early")
    fresh.edit("specs/early.yaml", claim, NULL)
    run = fresh.snakemake()
    assert run.status == 0, run.text
    assert run.finished == Counter({"plan": 1, "debate": 9, "look": 4, **after})
    assert {path: fresh.records("early")[path] for path in finished} == finished
    assert [look["decided"] for look in _looks(fresh)] == [False] * 4
    scores = pd.read_csv(fresh.results("early") / "scores.csv")
    assert Counter(scores["cell"]) == {"low": 60, "high": 60, "same": 60}
    note = "1 claim that was declared before the run is no longer made, and the correction counts this"
    expected = evaluate_anytime(scores, [NULL], withdrawn=1).assign(exploratory=True)
    assert expected["note"][0] == note
    pd.testing.assert_frame_equal(_verdicts(fresh), expected, check_dtype=False)
    assert expected["verdict"].tolist() == ["undecided"]
    assert "Nothing to be done" in fresh.snakemake("--dry-run").text


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("hypotheses:\n  - accuracy(high) > accuracy(low)\n", "", "there is no claim that could be decided"),
        ("  families:", "  correction: bh\n  families:", "bh does not hold where one may stop early"),
        ("seed: 3", "seed: 3\nshard_size: 10", "a job takes one batch"),
        ("size: 60}", "ids: [arithmetic-1, arithmetic-2]}", "the order of questions is drawn"),
    ],
    ids=["no claim", "correction", "shard size", "ids"],
)
def test_what_stopping_does_not_go_with_is_said_before_the_run(tmp_path: Path, old: str, new: str, said: str) -> None:
    """Each with its place: `file:line:column`."""
    assert old in SPEC
    bench = Bench(tmp_path)
    bench.write("specs/early.yaml", SPEC.replace(old, new))
    run = bench.cortexdsl("check", "specs/early.yaml")
    assert run.status == 2
    assert said in run.text
    assert "specs/early.yaml:" in run.text


def test_clusters_are_refused_before_the_run(tmp_path: Path) -> None:
    """Questions on one passage are no independent evidence: four questions on two passages, with the place."""
    bench = Bench(tmp_path)
    bench.write("specs/own.csv", "question,answer,cluster\n" + "".join(f"{k}+{k}?,{2 * k},{k % 2}\n" for k in range(4)))
    bench.write("specs/early.yaml", SPEC.replace("{name: arithmetic, size: 60}", "{file: own.csv, cluster: cluster}"))
    run = bench.cortexdsl("check", "specs/early.yaml")
    assert run.status == 2
    assert "specs/early.yaml:20:11: stopping needs questions without clusters" in run.text
