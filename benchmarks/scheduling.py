"""What many shards cost before the first debate: a dry run of 100, 1,000 and 10,000 jobs.

    python benchmarks/scheduling.py [--shards 100 1000 10000]

Prints processor seconds (a busy machine changes them little) and the most memory; the last column is the ratio to the
first row, which is nearly all start.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SNAKEFILE = Path(__file__).resolve().parent.parent / "Snakefile"
SPEC = """\
title: Many shards
seed: 3
shard_size: 1
dataset: {{name: arithmetic, size: {shards}}}
models:
  weak: {{model: builtin/solver, skill: 0.4, parameters: 1.0e9, tokens: 2.0e12}}
agents:
  - {{name: first, model: weak}}
  - {{name: second, model: weak}}
methods:
  vote: {{protocol: voting}}
"""


def dry_run(folder: Path, shards: int) -> tuple[float, float]:
    """Return the processor seconds and the most memory (MB) of a dry run."""
    (folder / "specs").mkdir(exist_ok=True)
    (folder / "specs" / "many.yaml").write_text(SPEC.format(shards=shards))
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(SNAKEFILE), "--cores", "2", "--dry-run", "--quiet"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"the dry run of {shards} shards failed")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shards", type=int, nargs="+", default=[100, 1_000, 10_000])
    print("| shards | processor seconds | MB | of the first |\n|---:|---:|---:|---:|")
    first = None
    with tempfile.TemporaryDirectory() as folder:
        for shards in parser.parse_args().shards:
            seconds, memory = dry_run(Path(folder), shards)
            first = first or seconds
            print(f"| {shards:,} | {seconds:.1f} | {memory:.0f} | {seconds / first:.1f} |", flush=True)


if __name__ == "__main__":
    main()
