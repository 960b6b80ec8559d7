"""What the workflow costs beside the debates: starting a job, parsing the Snakefile, the engine's own time.

Every figure is CPU time, and stands beside a limit measured in the same run: an interpreter that imports numpy and
pydantic, which any such program pays. Run from the repository: python benchmarks/speed/workflow.py
"""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from cortexdsl.core import Question
from cortexdsl.engine.run import run_debate
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.rehearsal.estimate import Rehearsal

REPOSITORY = Path(__file__).resolve().parents[2]
SPEC = """\
seed: 1
dataset: {name: arithmetic, size: 100}
models: {m: {model: builtin/solver, parameters: 1.0e9, tokens: 1.0e12}}
agents: [{name: a, model: m}, {name: b, model: m}, {name: c, model: m}, {name: d, model: m}, {name: e, model: m}]
methods: {sparse: {protocol: cortexdebate, rounds: 5}}
shard_size: 1
"""

LARGE = SPEC.replace("size: 100", "size: 1000").replace(
    "methods:",
    """\
grid:
  sparse:
    keep:
      [mean, median, mean_of_all, all, {top: 1}, {top: 2}, {top: 3}, {drop_bottom: 1}, {drop_bottom: 2}, {top: 4}]
    recalibration: [cortexdebate, none, reconcile]
    memory: [none, last, all]
    rounds: [1, 2, 3, 4, 5]
methods:""",
)
"""450 cells of 1,000 questions."""


def cpu(command: Sequence[str], folder: Path, runs: int = 5) -> float:
    """Return the median CPU seconds of a command and its children."""
    taken = []
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return sorted(taken)[runs // 2]


def engine_seconds(folder: Path, debates: int = 50) -> tuple[float, int]:
    """Return CPU seconds of the engine, and turns, with replies that cost nothing and are never equal."""
    plan = compile_spec(str(folder / "specs" / "bench.yaml"))

    def render(prompt: str, view: object) -> tuple[dict[str, str], ...]:
        return ({"role": "user", "content": prompt},)

    async def all_debates() -> int:
        turns = 0
        for k in range(debates):
            ports = Rehearsal(render).ports()
            turns += len(
                (await run_debate(plan.cells[0].debate, Question(str(k), "?"), ports, seed=k, replicate=1)).turns
            )
        return turns

    begun = time.process_time()
    turns = asyncio.run(all_debates())
    return time.process_time() - begun, turns


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "specs").mkdir()
        (folder / "specs" / "bench.yaml").write_text(SPEC, encoding="utf-8")
        (folder / "large.yaml").write_text(LARGE, encoding="utf-8")
        python, spec = sys.executable, "specs/bench.yaml"
        job = [
            python, "-m", "cortexdsl", "debate", spec, "--dataset", "arithmetic", "--cell", "sparse",
            "--shard", "r1-s01", "--out", "out.jsonl",
        ]  # fmt: skip
        snakemake = [python, "-m", "snakemake", "--snakefile", str(REPOSITORY / "Snakefile"), "--cores", "1", "-n"]
        floor = cpu([python, "-c", "import numpy, pydantic"], folder)
        rows = {
            "interpreter with numpy and pydantic": floor,
            "`cortexdsl check` of one method": cpu([python, "-m", "cortexdsl", "check", spec], folder),
            "`cortexdsl check` of 450 cells": cpu([python, "-m", "cortexdsl", "check", "large.yaml"], folder, runs=3),
            "`cortexdsl plan` of 450 cells": cpu([python, "-m", "cortexdsl", "plan", "large.yaml"], folder, runs=3),
            "a debate job of one question": cpu(job, folder),
            "parse and plan 100 debate jobs (`snakemake -n`)": cpu(snakemake, folder, runs=3),
        }
        print("| what | CPU seconds | of the floor |\n|---|---|---|")
        for what, seconds in rows.items():
            print(f"| {what} | {seconds:.2f} | {seconds / floor:.1f} |")
        seconds, turns = engine_seconds(folder)
        print(f"\nThe engine alone: {turns} turns of 5 agents over 5 rounds in {seconds:.2f} s of CPU,", end=" ")
        print(f"{1000 * seconds / turns:.2f} ms a turn.")


if __name__ == "__main__":
    main()
