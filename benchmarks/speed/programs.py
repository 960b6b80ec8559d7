"""Programs graded a second, in sandboxes, against running them bare in the same run, as a ratio.

Each program computes for 10 ms. Bare is a new Python for each program with its test, without a sandbox, as many at
once. Run: PYTHONPATH=. python benchmarks/speed/programs.py [--programs 1000] [--threads 2]
"""

from __future__ import annotations

import argparse
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from cortexdsl.import_path import isolated_python
from cortexdsl.tasks.programs.runs import ProgramRuns
from cortexdsl.tasks.programs.sandbox import check

PROGRAM = """\
import time

def spend(number):
    end = time.process_time() + 0.01
    while time.process_time() < end:
        pass
    return number + {}
"""
TESTS = "assert spend(1) == 1 + {}"


def bare(programs: int, threads: int) -> float:
    command = isolated_python()

    def run(number: int) -> bool:
        text = PROGRAM.format(number) + TESTS.format(number)
        return subprocess.run([*command, "-c", text], check=False).returncode == 0

    begun = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        assert all(pool.map(run, range(programs)))
    return time.perf_counter() - begun


def sandboxed(programs: int, threads: int) -> float:
    begun = time.perf_counter()
    passed = ProgramRuns(threads=threads).passes([(PROGRAM.format(n), TESTS.format(n)) for n in range(programs)])
    assert all(passed)
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    check()
    for _ in range(3):
        first, second = bare(args.programs, args.threads), sandboxed(args.programs, args.threads)
        print(f"{args.programs} programs: bare {first:.1f} s, in sandboxes {second:.1f} s, {second / first:.2f} times")


if __name__ == "__main__":
    main()
