"""The warm worker against a single job for all cells: the same debates in three ways, each under Snakemake.

(a) jobs of one cell and shard, handed to the worker; (b) the same jobs, each a process of its own; (c) one job that
runs all of them in one process and one event loop, with one file for each cell and shard. The records of all three must
be equal byte by byte. (c) is also run again from its call logs, which is what it costs if one cell was edited or one
debate failed. (a) and (b) are run up to the report, too, because the worker also starts the jobs after the debates. The
Snakefile of (c) has one rule; what ours takes to parse is printed for comparison.

Seconds hold only for a quiet machine; processor seconds and the ratios hold for others, too. The load is printed.

Run from the repository: python benchmarks/speed/one_job.py [--spec specs/quickstart.yaml] [--cores 2]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cortexdsl.cli.verbs import parse
from cortexdsl.jobs.debate import JOB
from cortexdsl.models.shared_state import SharedState
from cortexdsl.plan.compiled import write_compiled
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.experiment import Plan

REPOSITORY = Path(__file__).resolve().parents[2]
SNAKEMAKE = [sys.executable, "-m", "snakemake", "--quiet", "all", "--scheduler", "greedy", "--nolock"]
ONE_JOB = """\
from shlex import quote
import sys
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.job_digests import debate_digest

plan = compile_spec({spec!r})

rule all_cells:
    output:
        [plan.layout.debates(dataset, cell.slug, shard.label)
         for dataset, shards in plan.shards.items() for cell in plan.cells for shard in shards]
    params:
        digests=[debate_digest(plan, dataset, cell.slug, shard.label)
                 for dataset, shards in plan.shards.items() for cell in plan.cells for shard in shards]
    shell:
        quote(sys.executable) + " {script} --spec {spec} --inside > one_job.log 2>&1"
"""
WORKER_CODE = ("cli/worker.py", "worker/client.py", "worker/fork_server.py", "worker/job_server.py")
"""Code that only the worker needs; of worker/run.py and worker/process.py about half, which is not counted."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a command took: seconds by the clock, and processor seconds of all its processes."""

    seconds: float
    cpu: float


def cost_of(command: Sequence[str], folder: Path) -> Cost:
    """Run a command and measure it."""
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(time.perf_counter() - began, cpu)


def records_of(plan: Plan) -> list[tuple[str, str, str, str]]:
    """Return dataset, cell, shard and path of every debate job of a plan."""
    return [
        (dataset, cell.slug, shard.label, plan.layout.debates(dataset, cell.slug, shard.label))
        for dataset, shards in plan.shards.items()
        for cell in plan.cells
        for shard in shards
    ]


def run_inside(spec: str) -> None:
    """Run every debate job of a spec in this process; a cell with `match` after the cell that limits its calls."""
    plan = compile_spec(spec)
    write_compiled(plan)  # as the workflow does, so that no job compiles the spec again

    def job(dataset: str, cell: str, shard: str, out: str) -> list[str]:
        where = ["--dataset", dataset, "--cell", cell, "--shard", shard, "--out", out]
        return ["debate", spec, "--experiment", plan.experiment, *where]

    def stage(*, is_matched: bool) -> Iterator[list[str]]:
        return (job(*each) for each in records_of(plan) if (plan.cell(each[1]).match is not None) == is_matched)

    async def run() -> None:
        async with SharedState() as shared:
            for is_matched in (False, True):
                jobs = [parse(arguments) for arguments in stage(is_matched=is_matched)]
                await asyncio.gather(*(JOB.attend(each, shared) for each in jobs))

    asyncio.run(run())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spec", default="specs/quickstart.yaml")
    parser.add_argument("--cores", default="2")
    parser.add_argument("--inside", action="store_true", help="run all debates in this process, as way (c)")
    args = parser.parse_args()
    if args.inside:
        run_inside(args.spec)
        return
    text = (REPOSITORY / args.spec).read_text(encoding="utf-8")
    costs: dict[str, Cost] = {}
    records: dict[str, list[bytes]] = {}
    ways = {"a: jobs handed to the worker": "true", "b: jobs by themselves": "false"}
    with tempfile.TemporaryDirectory() as name:
        for folder in (Path(name, part) for part in "abc"):
            (folder / "specs").mkdir(parents=True)
            (folder / args.spec).write_text(text, encoding="utf-8")
        os.chdir(Path(name, "c"))
        plan = compile_spec(args.spec)
        paths = [path for *_, path in records_of(plan)]
        for folder, (way, worker) in zip((Path(name, "a"), Path(name, "b")), ways.items(), strict=True):
            snakemake = [*SNAKEMAKE, "--cores", args.cores, "--snakefile", str(REPOSITORY / "Snakefile")]
            config = ["--config", f"spec={plan.experiment}", f"worker={worker}"]
            costs[way] = cost_of([*snakemake, *paths, *config], folder)
            records[way] = [(folder / path).read_bytes() for path in paths]
            costs[f"{way}, from there to the report"] = cost_of([*snakemake, *config], folder)
        way, folder = "c: one job for all cells", Path(name, "c")
        script = Path(__file__).resolve()
        (folder / "Snakefile").write_text(ONE_JOB.format(spec=args.spec, script=script), encoding="utf-8")
        costs[way] = cost_of([*SNAKEMAKE, "--cores", args.cores], folder)
        records[way] = [(folder / path).read_bytes() for path in paths]
        ours = ["--snakefile", str(REPOSITORY / "Snakefile"), "--config", f"spec={plan.experiment}"]
        costs["parsing our workflow (`snakemake -n`)"] = cost_of([*SNAKEMAKE, "--cores", "1", "-n", *ours], folder)
        costs["parsing the workflow of (c)"] = cost_of([*SNAKEMAKE, "--cores", "1", "-n"], folder)
        again = [*SNAKEMAKE, "--cores", args.cores, "--force", "all_cells"]
        costs[f"{way}, again from its call logs"] = cost_of(again, folder)
    assert len({tuple(each) for each in records.values()}) == 1, "the ways differ"
    unit = costs["a: jobs handed to the worker"]
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{len(paths)} debate jobs, {len(plan.cells)} cells, {args.cores} cores, load {load}; records are equal\n")
    print("| way | seconds | of (a) | processor seconds | of (a) |\n|---|---|---|---|---|")
    for way, cost in costs.items():
        ratios = f"{cost.seconds / unit.seconds:.2f}", f"{cost.cpu / unit.cpu:.2f}"
        print(f"| {way} | {cost.seconds:.1f} | {ratios[0]} | {cost.cpu:.1f} | {ratios[1]} |")
    lines = {path: len((REPOSITORY / "cortexdsl" / path).read_text("utf-8").splitlines()) for path in WORKER_CODE}
    print(f"\nCode of the worker alone: {sum(lines.values())} lines ({', '.join(lines)}).")


if __name__ == "__main__":
    main()
