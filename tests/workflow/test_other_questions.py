"""A run whose questions are not those of its results stops before the first call, and says what to do."""

from __future__ import annotations

import pytest

from tests.workflow.bench import Bench

pytestmark = pytest.mark.workflow

SPEC = """\
title: Own sums
seed: 3
dataset: {file: sums.csv}
models: {solver: {model: builtin/solver, skill: 0.6}}
agents: [{name: one, model: solver}, {name: two, model: solver}]
methods: {vote: {protocol: voting}}
"""


def table(last: str) -> str:
    """Six sums, the last one with this answer."""
    sums = [f"What is {n} plus 3?,{n + 3}" for n in range(5)] + [f"What is 5 plus 3?,{last}"]
    return "question,answer\n" + "\n".join(sums) + "\n"


def test_an_answer_that_changed_is_not_mixed_in(fresh: Bench) -> None:
    """The first answer was mistyped. The result stays until it is decided what it is to be."""
    fresh.write("specs/own.yaml", SPEC)
    fresh.write("specs/sums.csv", table("9"))
    assert fresh.cortexdsl("run", "own", timeout=240).status == 0
    before = fresh.records("own")
    plan = fresh.folder / "results/own/plan.json"
    planned = plan.read_text()
    fresh.write("specs/sums.csv", table("8"))
    for command in (fresh.cortexdsl("run", "own", timeout=240), fresh.snakemake("results/own/report.html")):
        assert command.status != 0
        assert "the questions of dataset sums are not those of its results" in command.text
        assert "of 6 questions 1 has another text, options or answer, 0 are new and 0 are gone" in command.text
        assert "Traceback" not in command.text
    assert fresh.records("own") == before
    assert plan.read_text() == planned
    plan.unlink()
    again = fresh.cortexdsl("run", "own", timeout=240)
    assert again.status == 0, again.text
    assert "other questions or golds" in (fresh.folder / "results/own/ledger.jsonl").read_text()
