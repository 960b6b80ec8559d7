"""Growth with the number of agents: time and records of CortexDebate, its debate job and its scores.

Two arithmetic questions, two rounds, `keep: {top: 3}`, built-in solvers: no model is waited for, so that all of the
time is ours. Edges are quadratic in agents; the ratio beside each row says how much more each took than the row before,
and how many more edges there were.

Run: python benchmarks/speed/growth.py [AGENTS ...]
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SPEC = """
dataset: {{name: arithmetic, size: 2}}
models: {{small: {{model: builtin/solver, skill: 0.5, parameters: 0.5e9, tokens: 1.0e12}}}}
agents: [{agents}]
methods: {{sparse: {{protocol: cortexdebate, rounds: 2, keep: {{top: 3}}, until: never}}}}
"""
BASE = ("--experiment", "growth", "--dataset", "arithmetic", "--cell", "sparse")


def measured(agents: int, folder: Path) -> dict[str, float]:
    """Run both jobs of an experiment of so many agents; seconds of wall and of CPU, megabytes of records and memory."""
    (folder / "specs").mkdir(parents=True)
    spec = folder / "specs" / "growth.yaml"
    spec.write_text(SPEC.format(agents=", ".join(f"{{name: a{k}, model: small}}" for k in range(agents))))
    record = folder / "results/growth/debates/arithmetic/sparse/r1-s01.jsonl"
    record.parent.mkdir(parents=True)
    found: dict[str, float] = {}
    for name, arguments in (("debate", ("--shard", "r1-s01", "--out", str(record))), ("score", ())):
        began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "cortexdsl", name, str(spec), *BASE, *arguments]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found[f"{name}_wall"] = time.perf_counter() - began
        found[f"{name}_cpu"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        found["memory"] = after.ru_maxrss / 1024
    found["records"] = record.stat().st_size / 1e6
    return found


def main() -> None:
    """Measure each number of agents, and print a table."""
    counts = [int(argument) for argument in sys.argv[1:]] or [100, 200, 400, 1000]
    print("| agents | edges, times | debate, s CPU | score, s CPU | times | both, s wall | records, MB | memory, MB |")
    print("|---|---|---|---|---|---|---|---|")
    earlier: tuple[int, float] | None = None
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            row = measured(count, Path(folder))
        wall = row["debate_wall"] + row["score_wall"]
        edges = f"{count * (count - 1) / earlier[0] / (earlier[0] - 1):.1f}" if earlier else ""
        work = row["debate_cpu"] + row["score_cpu"]
        times = f"{work / earlier[1]:.1f}" if earlier else ""
        print(
            f"| {count} | {edges} | {row['debate_cpu']:.1f} | {row['score_cpu']:.1f} | {times} | {wall:.1f} "
            f"| {row['records']:.1f} | {row['memory']:.0f} |",
            flush=True,
        )
        earlier = count, work
    print(json.dumps({"cores": os.cpu_count()}))


if __name__ == "__main__":
    main()
