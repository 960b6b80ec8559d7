"""Do the tests notice a mistake? Mutants of the rooms of `analysis` and `debate`, each against its room's tests.

A mutant is the program with one operator, number or word changed. The tests should fail on it; one that they let live
is either equivalent or a hole in the tests. All mutants of a room take hours; a seeded sample says how many die, with
Clopper and Pearson's interval. It runs on a copy of the tracked files, and leaves the checkout alone. Annotations are
no program and are left out: `float >> None` is never run.

    python benchmarks/mutants.py [--sample 200] [--seed 1] [--room debate]
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import MutationSpec, TestOutcome, WorkItem, WorkResult
from statsmodels.stats.proportion import proportion_confint

ROOT = Path(__file__).parent.parent
ROOMS = {
    "debate": ("cortexdsl/debate", "tests/debate"),
    "metrics": (
        "cortexdsl/analysis/metrics",
        "tests/analysis/test_metrics_calibration.py tests/analysis/test_metrics_debate.py "
        "tests/analysis/test_metrics_tables.py tests/analysis/test_metrics_token_model.py",
    ),
    "planning": ("cortexdsl/analysis/planning", "tests/analysis/test_planning.py tests/analysis/test_power.py"),
    "tests": (
        "cortexdsl/analysis/tests",
        "tests/analysis/test_compare.py tests/analysis/test_intervals.py tests/analysis/test_signflip.py "
        "tests/analysis/test_datasets.py tests/analysis/test_random_effects.py tests/analysis/test_experiments.py "
        "tests/analysis/test_hypotheses.py",
    ),
    "units": ("cortexdsl/analysis/units", "tests/analysis"),
    "claims": ("cortexdsl/analysis/claims", "tests/analysis -k 'not metrics'"),
    "sequential": ("cortexdsl/analysis/sequential", "tests/analysis -k 'not metrics'"),
}
CONFIG = """\
[cosmic-ray]
module-path = "{module}"
timeout = {timeout}
excluded-modules = []
test-command = "{python} -m pytest -q -x -n 0 -p no:cacheprovider {tests}"

[cosmic-ray.distributor]
name = "local"
"""


def copy_of(folder: Path) -> Path:
    """The tracked files, for mutants to change."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, names.decode().split("\0")):
        if (source := ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, folder / name)
    return folder


def annotated(path: Path) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Where a file's annotations begin and end: (line, column) each."""
    found: list[ast.expr | None] = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.arg | ast.AnnAssign):
            found.append(node.annotation)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append(node.returns)
    return [
        ((node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or 0))
        for node in found
        if node is not None
    ]


def mutations(work: WorkDB) -> list[MutationSpec]:
    """Every single change of a session."""
    return [one for item in work.work_items for one in item.mutations]


def _is_type(one: MutationSpec, types: Mapping[str, list[tuple[tuple[int, int], tuple[int, int]]]]) -> bool:
    return any(begin <= tuple(one.start_pos) < end for begin, end in types[str(one.module_path)])


def mutate(room: str, sample: int, seed: int, timeout: int, folder: Path) -> list[tuple[WorkItem, WorkResult]]:
    """Run a seeded sample of a room's mutants."""
    module, tests = ROOMS[room]
    settings = CONFIG.format(module=module, tests=tests, python=sys.executable, timeout=timeout)
    (folder / "mutants.toml").write_text(settings, "utf-8")
    environment = os.environ | {"PYTHONPATH": str(folder)}
    session = folder / f"{room}.sqlite"

    def cosmic_ray(*words: str) -> None:
        program = Path(sys.executable).with_name("cosmic-ray")
        subprocess.run([program, *words], cwd=folder, env=environment, check=True)

    cosmic_ray("baseline", "mutants.toml")  # a mutant that dies of tests that fail anyway says nothing
    cosmic_ray("init", "mutants.toml", str(session))
    with use_db(str(session), WorkDB.Mode.open) as work:
        types = {path: annotated(folder / path) for path in {str(one.module_path) for one in mutations(work)}}
        items = [item for item in work.work_items if not any(_is_type(one, types) for one in item.mutations)]
        items.sort(key=lambda item: str(item.mutations))
        chosen = random.Random(seed).sample(items, min(sample, len(items)))
        work.clear()
        work.add_work_items(chosen)
        print(f"{room}: {len(chosen)} of {len(items)} mutants", flush=True)
    cosmic_ray("exec", "mutants.toml", str(session))
    with use_db(str(session), WorkDB.Mode.open) as work:
        by_job = {item.job_id: item for item in chosen}
        return [(by_job[job], result) for job, result in work.results]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=200, help="mutants of each room")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--room", action="append", choices=ROOMS)
    parser.add_argument("--timeout", type=int, default=600, help="seconds that a mutant's tests may take")
    args = parser.parse_args()
    print("| room | mutants | died | share | 95 % interval |\n|---|---|---|---|---|", flush=True)
    lived: list[WorkItem] = []
    with tempfile.TemporaryDirectory() as place:
        folder = copy_of(Path(place))
        for room in args.room or ROOMS:
            found = mutate(room, args.sample, args.seed, args.timeout, folder)
            counts = Counter(result.test_outcome for _, result in found)
            died, total = counts[TestOutcome.KILLED], len(found)
            low, high = proportion_confint(died, total, method="beta")
            print(f"| {room} | {total} | {died} | {died / total:.0%} | {low:.0%} to {high:.0%} |", flush=True)
            lived += [item for item, result in found if result.test_outcome == TestOutcome.SURVIVED]
    print("\nlived:")
    for item in lived:
        for one in item.mutations:
            print(f"  {one.module_path}:{one.start_pos[0]}:{one.start_pos[1]} {one.operator_name} {one.occurrence}")


if __name__ == "__main__":
    main()
