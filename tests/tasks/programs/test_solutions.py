"""Solutions that rows have: they pass their tests here and elsewhere, or the row is refused before a call is sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.cli.main import main
from cortexdsl.core import Dataset
from cortexdsl.errors import DataError, InputError
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.jobs.consent import permit, request_of
from cortexdsl.plan.jobs.programs import check_solutions, with_programs
from cortexdsl.tasks.load import load
from cortexdsl.tasks.programs import runs, sandbox
from cortexdsl.tasks.programs.runs import ProgramRuns
from cortexdsl.tasks.reading.code import ProgramFrame
from tests.tasks.programs.test_sets import SETS, SPEC, loaded

FRAME = ProgramFrame("f", "", ("f(3)",))
WORDS = ["oak", "elm", "ash", "fir", "yew", "box", "bay", "fig", "gum", "nut"]


def own(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "own.jsonl"
    text = "".join(json.dumps({"question": f"Write f ({k}): f(3).", **row}) + "\n" for k, row in enumerate(rows))
    path.write_text(text, encoding="utf-8")
    return path


def fault(program: str, tests: str, frame: ProgramFrame = FRAME) -> str:
    (found,) = ProgramRuns().faults([(program, tests, frame)])
    return found


@pytest.mark.sandboxed
@pytest.mark.parametrize("name", SETS)
def test_the_solutions_of_each_set_hold(name: str, tmp_path: Path) -> None:
    items = loaded(name, tmp_path).items
    assert all(item.solution and item.frame for item in items)
    assert not any(ProgramRuns().faults([(i.solution, i.gold[0], i.frame or FRAME) for i in items]))
    column = "canonical_solution" if name.startswith("humaneval") else "code"
    assert items[0].place.endswith(f"row 1, column {column!r}") or items[0].place.endswith(f"row 2, column {column!r}")
    assert not any({"code", "canonical_solution"} & {*item.fields} for item in items)


@pytest.mark.sandboxed
@pytest.mark.parametrize(
    ("program", "tests", "words"),
    [
        ("def f(x): return x", "assert f(3) == 3", ""),
        ("def f(x): return x", "assert f(3) == 4", "the solution fails its tests: AssertionError"),
        ("import nowhere\ndef f(x): return x", "assert f(3) == 3", "its tests: ModuleNotFoundError: No module named"),
        ("def f(x): return 1 / (x - 3)", "assert f(4) == 1", "the solution fails on f(3): division by zero"),
        (f"def f(x): return list(set({WORDS}))", "assert len(f(3)) == 10", "the outcome of the example inputs depends"),
        ("import time\ndef f(x): return time.localtime(0)[3]", "assert f(3) == 0", "the outcome of its tests depends"),
        ("import os\ndef f(x): return os.getcwd()", "assert f(3) == '/own'", "the outcome of its tests depends"),
        ("import os\ndef f(x): return os.environ['LANG']", "assert f(3) == 'C.UTF-8'", "the outcome of its tests"),
        ("import random\ndef f(x): return random.random()", "assert f(3) < 1", "the outcome of the example inputs"),
    ],
)
def test_a_fault(program: str, tests: str, words: str) -> None:
    found = fault(program, tests)
    assert words in found
    assert bool(words) == bool(found)


@pytest.mark.sandboxed
def test_hashes_of_texts_are_the_same_in_each_run() -> None:
    """Or a program whose answer follows the order of a set would be another answer in each run."""
    job = {"program": f"def f(x): return list(set({WORDS}))", "examples": ["f(1)"]}
    assert sandbox.run(job) == sandbox.run(job) != sandbox.run({**job, sandbox.ELSEWHERE: "x"})


@pytest.mark.parametrize("solution", ["def g(x): return 3", "f(3", "no program"])
def test_a_solution_that_is_no_program_is_refused_by_row_and_column(solution: str, tmp_path: Path) -> None:
    path = own(tmp_path, {"answer": "assert f(3)"}, {"answer": "assert f(3) == 1", "solution": solution})
    with pytest.raises(DataError, match=r"own.jsonl, row 2, column 'solution': there is no program that defines f"):
        load(Dataset("own", path=str(path), kind="code"))


@pytest.mark.sandboxed
@pytest.mark.parametrize("is_dry", [True, False])
def test_a_run_tries_solutions_before_it_starts_and_a_dry_run_does_not(
    is_dry: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CORTEXDSL_TRUST", "")
    for name in ("os.execv", "cortexdsl.cli.experiments.block_signals", "cortexdsl.cli.experiments.store_command"):
        monkeypatch.setattr(name, lambda *_: None)
    own(tmp_path, {"answer": "assert f(3) == 4", "solution": "def f(x): return x"})
    (tmp_path / "own.yaml").write_text(f"{SPEC}limits: {{calls: 9}}\n", encoding="utf-8")
    assert main(["run", "own.yaml", "--yes", *(["--", "--dry-run"] if is_dry else [])]) == (None if is_dry else 2)
    assert (tmp_path / "results").exists() is not is_dry


@pytest.mark.sandboxed
def test_bad_rows_are_named_and_good_ones_are_run_once_on_each_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("CORTEXDSL_TRUST", "")
    good = {"answer": "assert f(3) == 3", "canonical_solution": "def f(x): return x"}
    own(tmp_path, good, {"answer": "assert f(3) == 4", "solution": "def f(x): return x"}, {"answer": "assert f(1)"})
    (tmp_path / "own.yaml").write_text(SPEC, encoding="utf-8")

    def check() -> int:
        """Return how many runs are logged after a check."""
        check_solutions(with_programs(compile_spec("own.yaml")), ["own"])
        logs = (tmp_path / "results/own/programs").glob("*.jsonl")
        return sum(len(log.read_text(encoding="utf-8").splitlines()) for log in logs)

    with pytest.raises(InputError, match="this needs your permission"):
        check()
    permit([request_of(compile_spec("own.yaml"))])
    with pytest.raises(InputError, match=r"own.jsonl, row 2, column 'solution': the solution fails its tests: Assert"):
        check()
    own(tmp_path, good, {"answer": "assert f(1)"})
    before = check()
    assert check() == before
    monkeypatch.setattr(runs, "_MACHINE", "Python 9, abacus")
    assert check() == before + 2  # tests and examples are run elsewhere again
