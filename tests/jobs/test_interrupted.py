"""A run that is killed between any two of its writes: no check says that somebody changed its files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from cortexdsl import files
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.job_files import table_parts
from cortexdsl.plan.jobs.schedule import asking_jobs
from cortexdsl.plan.layout import PARTS, TABLES, Layout
from cortexdsl.plan.persistence.run_record import begin_run, read_run
from cortexdsl.plan.persistence.verification import verify_results
from tests.jobs.experiment import NAME, SPEC, run_jobs, write_spec

LAYOUT = Layout(f"results/{NAME}")
SMALL = SPEC.replace("size: 20", "size: 4")


class WatchedDisk:
    """Passes every call on to `os`, and verifies the results before each write, as after a kill at this moment."""

    def __init__(self) -> None:
        self.moments = 0
        self.findings: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def _verify(self, what: str) -> None:
        self.moments += 1
        found = verify_results(LAYOUT, "cortexdsl run small").findings
        self.findings += [f"before {what}: {one.path}: {one.what}" for one in found]

    def replace(self, source: Any, target: Any) -> None:
        self._verify(f"{target} is replaced")
        os.replace(source, target)  # noqa: PTH105

    def write(self, file: int, data: bytes) -> int:
        self._verify(f"{data[:60]!r} is written")
        return os.write(file, data)


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WatchedDisk:
    monkeypatch.chdir(tmp_path)
    disk = WatchedDisk()
    monkeypatch.setattr(files, "os", disk)
    return disk


def run_watched(spec: str) -> None:
    """Begin a run of the whole experiment, and run its jobs."""
    plan = compile_spec(spec)
    layout = plan.layout
    outputs = [job.output for job in asking_jobs(plan)]
    outputs += [path for table in PARTS for path in table_parts(plan, table)]
    outputs += [*map(layout.table, TABLES), layout.plan, layout.declared, layout.metrics, layout.comparisons]
    outputs += [layout.hypotheses, layout.report]
    begin_run(layout, outputs, plan.digest)
    run_jobs(spec)


def test_no_moment_of_a_run_looks_like_an_edit(disk: WatchedDisk) -> None:
    """A first run, a run after an edit of the spec, and one with nothing new."""
    for text in (SMALL, SMALL.replace("> accuracy(low)", "> accuracy(low) - 0.1"), SMALL.replace("seed: 3", "seed: 5")):
        run_watched(write_spec(text))
    assert disk.moments > 50
    assert not disk.findings, "\n".join(disk.findings)


def test_jobs_elsewhere_know_how_many_run_at_once(tmp_path: Path) -> None:
    layout = Layout((tmp_path / "results" / "made").as_posix())
    Path(layout.root).mkdir(parents=True)
    begin_run(layout, [], "digest", jobs_at_once=7)
    record = read_run(layout)
    assert record is not None
    assert record.jobs_at_once == 7
