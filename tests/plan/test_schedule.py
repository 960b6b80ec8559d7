"""Which outputs are made again, and how connections are divided."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake.cli import get_argument_parser
from snakemake.scheduling.job_scheduler import JobRateLimiter
from snakemake.settings.types import MaxJobsPerTimespan

from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.job_digests import debate_digest
from cortexdsl.plan.jobs.schedule import connections_per_job, lift_default_rate, outdated_outputs
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
        digest = debate_digest(before, "arithmetic", cell.slug, "r1-s01")
        tally = said(cell.slug, state="done", digest=digest) | {"job": f"arithmetic~{cell.slug}~r1-s01"}
        tallies.append(tally)
    write(Path("results/x/spent"), *tallies)
    record = {
        "schema_version": 1,
        "spec_digest": before.digest,
        "cells": [{"cell": cell.name, "slug": cell.slug, "digest": cell.digest} for cell in before.cells],
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


def test_snakemake_starts_jobs_without_its_default_rate_and_keeps_one_of_the_user() -> None:
    """Its timers make work that grows with the square of the number of jobs; the default is that of its command."""
    default = get_argument_parser().get_default("max_jobs_per_timespan")
    scheduler = SimpleNamespace(job_rate_limiter=JobRateLimiter(MaxJobsPerTimespan.parse_choice(default)))
    lift_default_rate(scheduler)
    assert scheduler.job_rate_limiter is None
    lift_default_rate(scheduler)  # as of a user who asked for none
    assert scheduler.job_rate_limiter is None
    own = JobRateLimiter(MaxJobsPerTimespan.parse_choice("3/1m"))
    scheduler.job_rate_limiter = own
    lift_default_rate(scheduler)
    assert scheduler.job_rate_limiter is own
