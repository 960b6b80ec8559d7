"""Jobs of a run load the plan that it has compiled: no function of the language runs in them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from cortexdsl.cli.main import main
from cortexdsl.plan.compiled import write_compiled
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.layout import Layout
from cortexdsl.worker.run import lock_experiment, unlock
from tests.jobs.experiment import NAME, run_jobs, write_spec

ROOT = f"results/{NAME}"
CELL = ["specs/small.yaml", "--experiment", NAME, "--dataset", "arithmetic", "--cell", "low"]
JOBS = {
    "debate": [*CELL, "--shard", "r1-s01", "--out", f"{ROOT}/debates/arithmetic/low/r1-s01.jsonl"],
    "score": CELL,
    "verdict": [ROOT],
    "report": [ROOT, "--no-figures"],
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of an experiment whose run is at work."""
    folder = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run_jobs(write_spec())
        write_compiled(compile_spec("specs/small.yaml"))
        lock = lock_experiment(Path(ROOT))
        yield folder
        unlock(lock)


@contextmanager
def language_functions() -> Iterator[set[tuple[str, str]]]:
    """Yield the functions of the language that are called meanwhile, as (file, name)."""
    called: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and "/cortexdsl/language/" in code.co_filename and code.co_name != "<module>":
            called.add((code.co_filename, code.co_name))

    sys.setprofile(note)
    try:
        yield called
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("verb", JOBS)
def test_a_job_runs_no_function_of_the_language(verb: str, place: Path) -> None:
    with language_functions() as called:
        assert main([verb, *JOBS[verb]]) == 0
    assert called == set()


def test_the_trace_counts_functions_of_the_language(place: Path) -> None:
    with language_functions() as called:
        compile_spec("specs/small.yaml")
    assert len(called) > 100


def test_a_report_names_a_change_that_was_made_during_the_run(place: Path) -> None:
    """Its spec is newer than what the run has compiled."""
    spec = Path("specs/small.yaml")
    before = spec.read_text()
    spec.write_text(before.replace("analysis:", "analysis:\n  alpha: 0.2"))
    assert main(["report", *JOBS["report"]]) == 0
    page = Path(Layout(ROOT).report).read_text(encoding="utf-8")
    assert "has changed since these results were made (alpha: 0.05, then 0.2)" in page
    spec.write_text(before)


@pytest.mark.parametrize("verb", ["verdict", "report"])
def test_the_folder_of_the_spec_need_not_be_the_working_directory(
    verb: str, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = (place / ROOT / "hypotheses.csv").read_bytes()
    assert main([verb, str(place / ROOT), *JOBS[verb][1:]]) == 0
    assert (place / ROOT / "hypotheses.csv").read_bytes() == before
    assert list(tmp_path.iterdir()) == []
