"""What many shards cost: before the first debate (a dry run), and in all (`--run`, each shard one short debate).

    python benchmarks/speed/scheduling.py [--shards 100 1000 10000] [--run]

Prints processor seconds (a busy machine changes them little) and the most memory; the last column is the ratio to the
first row, which is nearly all start. With `--run` the debates are really run, by the built-in solver, to the scores:
the seconds are of all processes, those of the jobs included, the memory is of the largest, and the last column is
milliseconds a job.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SNAKEFILE = Path(__file__).resolve().parents[2] / "Snakefile"
SPEC = """\
title: Many shards
seed: 3
shard_size: 1
dataset: {{name: arithmetic, size: {shards}}}
models:
  weak: {{model: builtin/solver, skill: 0.4, parameters: 1.0e9, tokens: 2.0e12}}
agents:
  - {{name: one, model: weak}}
  - {{name: two, model: weak}}
methods:
  vote: {{protocol: voting}}
"""


def scheduled(folder: Path, shards: int, *, is_dry: bool) -> tuple[float, float]:
    """Return the processor seconds and the most memory (MB) of a run."""
    (folder / "specs").mkdir(exist_ok=True)
    (folder / "specs" / "many.yaml").write_text(SPEC.format(shards=shards))
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(SNAKEFILE), "--cores", "2", "--quiet"]
    command += ["--dry-run"] if is_dry else ["--", "results/many/scores.csv"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"the run of {shards} shards failed")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shards", type=int, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument("--run", action="store_true", help="debate, too")
    args = parser.parse_args()
    last = "ms a job" if args.run else "of the first"
    print(f"| shards | processor seconds | MB | {last} |\n|---:|---:|---:|---:|")
    first = None
    for shards in args.shards:
        with tempfile.TemporaryDirectory() as folder:
            seconds, memory = scheduled(Path(folder), shards, is_dry=not args.run)
        first = first or seconds
        share = f"{1000 * seconds / shards:.0f}" if args.run else f"{seconds / first:.1f}"
        print(f"| {shards:,} | {seconds:.1f} | {memory:.0f} | {share} |", flush=True)


if __name__ == "__main__":
    main()
