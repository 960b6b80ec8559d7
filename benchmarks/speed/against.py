"""This version against another one, in turns on the same machine: is anything slower than it was?

    PYTHONPATH=. python benchmarks/speed/against.py COMMIT [--turns 5]

Checks COMMIT out into a temporary folder, and measures both versions with the installed packages. Each figure is the
smallest of several processes. The versions take turns, so that other work on the machine affects both. Figures are
seconds of processor time, not of the clock.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
CALLS, LINES = 3000, 60_000


def seconds_of(work: Callable[[], Any]) -> float:
    """Return the seconds of processor time of some work in this process."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def client(_: Path) -> float:
    """Return the microseconds of a call by `direct` to a server that answers at once."""
    from benchmarks.chat_server import serving
    from benchmarks.speed.client import answering, through_the_client
    from cortexdsl.core import Model

    with serving(partial(answering, 0.0)) as server, tempfile.TemporaryDirectory() as name:
        model = Model("m", "direct/m", api_base=server.base)
        calls = [
            partial(asyncio.run, through_the_client(model, CALLS, 64, Path(name) / str(k) / "own.jsonl"))
            for k in range(3)
        ]
        return 1e6 * min(map(seconds_of, calls)) / (CALLS + 64)


def engine(folder: Path) -> float:
    """Return the microseconds of a turn, without models."""
    from benchmarks.speed.workflow import engine_seconds

    return 1e6 * min(seconds / turns for seconds, turns in (engine_seconds(folder) for _ in range(3)))


def log(folder: Path) -> float:
    """Return the microseconds of a line of a call log that is opened without its index."""
    from cortexdsl.models.call_log.folder import CallLogs

    path = folder / "log" / "own.jsonl"

    def opened() -> None:
        path.with_name(f".{path.name}.index").unlink(missing_ok=True)
        CallLogs(path.parent, path).close()

    return 1e6 * min(seconds_of(opened) for _ in range(3)) / LINES


def megabytes(folder: Path) -> float:
    """Return the megabytes that a process needs at most while it opens the same log."""
    log(folder)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _command(folder: Path, *arguments: str) -> float:
    from benchmarks.speed.workflow import cpu

    return cpu([sys.executable, "-m", *arguments], folder, runs=1)


def check(folder: Path) -> float:
    """Return the seconds of `cortexdsl check`."""
    return _command(folder, "cortexdsl", "check", "specs/bench.yaml")


def dry_run(folder: Path) -> float:
    """Return the seconds of `snakemake -n` for 100 jobs."""
    return _command(folder, "snakemake", "--snakefile", str(Path.cwd() / "Snakefile"), "--cores", "1", "-n")


MEASURED = {
    "a call by `direct`, us": client,
    "a turn of the engine, us": engine,
    "a line of a call log without index, us": log,
    "opening this log, MB": megabytes,
    "`cortexdsl check` of one method, s": check,
    "`snakemake -n` of 100 jobs, s": dry_run,
}


def write_inputs(folder: Path) -> None:
    """Write the spec, and a call log by this version."""
    from benchmarks.speed.log import write
    from benchmarks.speed.workflow import SPEC

    (folder / "specs").mkdir()
    (folder / "specs" / "bench.yaml").write_text(SPEC, encoding="utf-8")
    write(folder / "log" / "own.jsonl", LINES)


def measure(tree: Path, what: str, folder: Path) -> float:
    """Return one figure of the version in a folder, measured by a process of its own.

    Its packages stand first; the benchmarks are those of this version.
    """
    packages = folder / tree.name
    if not packages.exists():
        packages.mkdir()
        for each in tree.glob("cortexdsl*/"):
            (packages / each.name).symlink_to(each)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(packages), str(REPOSITORY)])}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # users do not set it; with it each process compiles all modules
    command = [sys.executable, __file__, "--measure", what, "--inputs", str(folder)]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    if Path(said["package"]).resolve().parent.parent != tree.resolve():
        raise RuntimeError(f"{said['package']} was measured in place of {tree}")
    return float(said["figure"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", nargs="?")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--measure", choices=MEASURED, help=argparse.SUPPRESS)
    parser.add_argument("--inputs", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        import cortexdsl
        from cortexdsl.worker.process import collect_garbage_rarely

        collect_garbage_rarely()  # as every job of a run
        print(json.dumps({"package": cortexdsl.__file__, "figure": MEASURED[args.measure](args.inputs)}))
        return
    with tempfile.TemporaryDirectory() as name:
        other, folder = Path(name) / "other", Path(name) / "inputs"
        folder.mkdir()
        write_inputs(folder)
        git = ["git", "-C", str(REPOSITORY), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(other), args.commit], check=True)
        try:
            print(f"| what | {args.commit} | now | ratio |\n|---|---:|---:|---:|")
            for what in MEASURED:
                pairs = [(measure(other, what, folder), measure(REPOSITORY, what, folder)) for _ in range(args.turns)]
                before, now = (min(figures) for figures in zip(*pairs, strict=True))
                print(f"| {what} | {before:.4g} | {now:.4g} | {now / before:.2f} |", flush=True)
        finally:
            subprocess.run([*git, "remove", "--force", str(other)], check=True)


if __name__ == "__main__":
    main()
