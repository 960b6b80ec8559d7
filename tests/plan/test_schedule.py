"""Which outputs are made again, and how connections are divided."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cortexdsl.plan import Plan, compile_spec
from cortexdsl.plan.jobs.schedule import connections_per_job, outdated_outputs
from tests.display.made import said, write

SPEC = """\
title: x
dataset: {name: arithmetic, size: 4}
models: {one: {model: builtin/solver, skill: 0.5}}
agents: [{name: a, model: one}]
methods: {low: {protocol: cot}, high: {protocol: self-consistency, samples: 2}}
"""
DEBATES = "results/x/debates/arithmetic/high/r1-s01.jsonl"


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """A plan whose two jobs are done, and then one of its methods is edited."""
    monkeypatch.chdir(tmp_path)
    Path("x.yaml").write_text(SPEC)
    before = compile_spec("x.yaml")
    tallies = []
    for cell in before.cells:
        digest = before.debate_digest("arithmetic", cell.slug, "r1-s01")
        tally = said(cell.slug, state="done", digest=digest) | {"job": f"arithmetic~{cell.slug}~r1-s01"}
        tallies.append(tally)
    write(Path("results/x/spent"), *tallies)
    record = {
        "schema_version": 1,
        "spec_digest": before.digest,
        "cells": [{"slug": cell.slug, "digest": cell.digest} for cell in before.cells],
        "datasets": {label: {"digest": task.digest} for label, task in before.tasks.items()},
    }
    Path("results/x/plan.json").write_text(json.dumps(record))
    assert outdated_outputs(before) == set()
    Path("x.yaml").write_text(SPEC.replace("samples: 2", "samples: 3"))
    return compile_spec("x.yaml")


def test_the_debates_of_an_edited_cell_and_the_plan_are_outdated(plan: Plan) -> None:
    """The other cell's debates depend on nothing that was edited."""
    assert outdated_outputs(plan) == {DEBATES, "results/x/plan.json"}


def test_a_tally_knows_better_than_a_plan_that_was_written_since(plan: Plan) -> None:
    """A run under the edited spec was stopped after it had written plan.json."""
    path = Path("results/x/plan.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"spec_digest": plan.digest}))
    assert outdated_outputs(plan) == {DEBATES}


def test_without_digests_in_tallies_plan_json_says_which_cells_were_edited(plan: Plan) -> None:
    """Results of an earlier version, or whose tallies were left behind."""
    for path in Path("results/x/spent").glob("*.json"):
        path.unlink()
    assert outdated_outputs(plan) == {DEBATES, "results/x/plan.json"}


def test_a_damaged_plan_is_outdated_and_one_of_a_later_version_is_left_alone(plan: Plan) -> None:
    """One that is cut in the middle is written again; a later version knows what an earlier one does not."""
    path = Path("results/x/plan.json")
    path.write_text('{"schema')
    assert outdated_outputs(plan) == {DEBATES, str(path)}
    path.write_text('{"schema_version": 99}')
    assert outdated_outputs(plan) == {DEBATES}


@pytest.mark.parametrize(("cores", "connections"), [(None, 16), (1, 16), (4, 4), (64, 1)])
def test_connections_are_divided_among_the_jobs_that_can_run_at_once(
    small: Plan, cores: int | None, connections: int
) -> None:
    """16 connections and 10 jobs (5 cells, 2 replicates): 64 cores do not make more jobs than there are."""
    assert connections_per_job(small, cores) == connections
