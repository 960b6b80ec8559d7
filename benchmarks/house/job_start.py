"""What a job of each rule costs before it works: processor time of its imports, and which code of the language runs.

A small experiment is run to its report. Then each of its jobs is run again as a new process, once as it is, and once
with a profiler that counts the functions of `cortexdsl.language` that are called.
Run from the repository: python benchmarks/house/job_start.py
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from cortexdsl.worker.run import lock_experiment, unlock

REPOSITORY = Path(__file__).resolve().parents[2]
SPEC = """\
seed: 1
dataset: {name: arithmetic, size: 4}
models: {m: {model: builtin/solver, parameters: 1.0e9, tokens: 1.0e12}}
agents: [{name: a, model: m}, {name: b, model: m}]
methods: {one: {protocol: cortexdebate}, vote: {protocol: voting}}
hypotheses: [accuracy(one) > accuracy(vote)]
"""
CELL = ["specs/small.yaml", "--experiment", "small", "--dataset", "arithmetic", "--cell", "one"]
JOBS = {
    "debate": ["debate", *CELL, "--shard", "r1-s01", "--out", "results/small/debates/arithmetic/one/r1-s01.jsonl"],
    "score": ["score", *CELL],
    "verdict": ["verdict", "results/small"],
    "report": ["report", "results/small"],
}
RUN = "import sys; from cortexdsl.cli.verbs import run; sys.exit(run({arguments}))"
IMPORT = "from cortexdsl.cli.verbs import VERBS; import importlib; importlib.import_module(VERBS[{verb!r}].module)"
COUNT = """\
import sys
from cortexdsl.cli.verbs import run
called = set()
def note(frame, event, argument):
    if event == "call" and "/cortexdsl/language/" in frame.f_code.co_filename and frame.f_code.co_name != "<module>":
        called.add((frame.f_code.co_filename, frame.f_code.co_name))
sys.setprofile(note)
run({arguments})
sys.setprofile(None)
print(len(called))
"""


def seconds(code: str, folder: Path) -> tuple[float, str]:
    """Return the processor time of a Python process, the least of three, and what it printed."""
    times = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times), done.stdout


def main() -> None:
    """Print a row for each job."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "specs").mkdir()
        (folder / "specs" / "small.yaml").write_text(SPEC, encoding="utf-8")
        snakefile = ["--snakefile", str(REPOSITORY / "Snakefile"), "--cores", "2", "--quiet", "all"]
        command = [sys.executable, "-m", "snakemake", *snakefile, "--config", "spec=small", "worker=false"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, env={**os.environ, "COLUMNS": "80"})
        lock = lock_experiment(folder / "results" / "small")  # as while a run is at work
        print("| job | imports, s of processor time | whole job, s | functions of the language |")
        print("|---|---:|---:|---:|")
        for verb, arguments in JOBS.items():
            imports, _ = seconds(IMPORT.format(verb=verb), folder)
            whole, _ = seconds(RUN.format(arguments=arguments), folder)
            _, printed = seconds(COUNT.format(arguments=arguments), folder)
            print(f"| {verb} | {imports:.2f} | {whole:.2f} | {printed.split()[-1]} |")
        unlock(lock)


if __name__ == "__main__":
    main()
