"""Stops at many moments of a run in a pseudo-terminal: every verb says the same, and the results come out the same."""

from __future__ import annotations

import os
import pty
import re
import shutil
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.run_record import begin_run, end_run
from tests.workflow import forks
from tests.workflow.bench import TWO_ALONE, Bench

pytestmark = pytest.mark.workflow
SMALL = TWO_ALONE.replace("size: 30", "size: 4")
WHY = re.compile(r"(Stopped by Ctrl-C|Killed) while (\w+(?: what-ifs)?)")
BLAME = ("missing", "deleted", "changed,", "not as", "damaged", "probably killed", "Traceback")
VERBS = ("status two", "report two --text", "verify two")
MOMENTS = range(1, 41, 2)
"""Numbers of files that a run has written when it is stopped. Every third time it is killed."""


def stop_at(bench: Bench, count: int, number: signal.Signals) -> int:
    """Run in a pseudo-terminal, and stop when so many files were written; return the exit status."""
    began = max((path.stat().st_mtime_ns for path in bench.folder.rglob("*") if path.is_file()), default=0)
    control, terminal = pty.openpty()
    environment = {**bench.environment, "TERM": "xterm", "COLUMNS": "80", "LINES": "24", "CI": ""}
    process = forks.Popen(
        bench.program("run", "two", "--cores", "2"),
        cwd=bench.folder, env=environment, stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal,
        start_new_session=True, preexec_fn=forks.Heeding((signal.SIGINT,)),
    )  # fmt: skip
    os.close(terminal)
    reader = threading.Thread(target=_drain, args=(control,))
    reader.start()
    while process.poll() is None:
        if _written(bench.results("two"), began) >= count:
            os.killpg(process.pid, number)
            break
    status = process.wait(60)
    reader.join(60)
    os.close(control)
    return status


def _drain(control: int) -> None:
    try:
        while os.read(control, 65_536):
            pass
    except OSError:  # the other end is closed
        return


def _written(root: Path, began: int) -> int:
    count = 0
    for folder, _, files in os.walk(root):
        for name in files:
            try:
                count += os.stat(f"{folder}/{name}").st_mtime_ns > began  # noqa: PTH116
            except OSError:  # removed meanwhile
                continue
    return count


def check_stories(bench: Bench, page: bytes | None, verbs: tuple[str, ...]) -> bool:
    """Every verb gives one reason, nobody is blamed, and a report of before is there, byte for byte.

    Returns whether there was a reason to give.
    """
    results = bench.results("two")
    runs = {verb: bench.cortexdsl(*verb.split()) for verb in verbs}
    if not (results / "ledger.jsonl").exists():
        return False  # nothing has begun
    reasons = {verb: WHY.search(" ".join(run.text.split())) for verb, run in runs.items()}
    said = {match and match[0] for match in reasons.values()}
    assert len(said) == 1, {verb: run.text for verb, run in runs.items()}
    for verb, run in runs.items():
        text = run.text.replace("Different versions", "")
        assert not [word for word in BLAME if word in text], (verb, run.text)
    assert runs["verify two"].status == 0, runs["verify two"].text
    assert not re.search(r"\d/s\b|\d s left", runs["status two"].text), runs["status two"].text
    if page is not None:
        shown = (results / "report.html").read_bytes()
        assert shown == page or None in said
    return None not in said


@pytest.mark.parametrize("has_report", [False, True], ids=["first run", "with a report"])
def test_stops_at_many_moments_tell_one_story(fresh: Bench, has_report: bool) -> None:
    """The records of the end are those of a run that nothing stopped."""
    fresh.write("specs/two.yaml", SMALL)
    page = None
    if has_report:
        assert fresh.cortexdsl("run", "two", "--cores", "2").status == 0
        page = (fresh.results("two") / "report.html").read_bytes()
    changed = SMALL.replace("skill: 0.3", "skill: 0.35")
    stops, reasons, edited = 0, 0, f"{changed}  - accuracy(high) - accuracy(low) > 0.01\n"
    fresh.write("specs/two.yaml", edited)
    for place, count in enumerate(MOMENTS):
        number = signal.SIGKILL if place % 3 == 2 else signal.SIGINT
        status = stop_at(fresh, count, number)
        assert status in ((1, 0) if number is signal.SIGINT else (-9, 0))
        if status == 0:  # it was finished before: another edit gives the next run something to do
            page = (fresh.results("two") / "report.html").read_bytes()
            edited = f"{changed}  - accuracy(high) - accuracy(low) > 0.{place + 10}\n"
            fresh.write("specs/two.yaml", edited)
            continue
        stops += 1
        reasons += check_stories(
            fresh, page, (*VERBS, "show two", "export two --out two.csv")[: 5 if place % 5 == 4 else 3]
        )
    assert stops >= len(MOMENTS) // 2
    assert reasons > 0
    last = fresh.cortexdsl("run", "two", "--cores", "2")
    assert last.status == 0, last.text
    assert not [word for word in BLAME if word in last.text], last.text
    assert not (fresh.results("two") / "stopped.html").exists()
    undisturbed = Bench(fresh.folder / "undisturbed")
    undisturbed.write("specs/two.yaml", edited)
    assert undisturbed.cortexdsl("run", "two", "--cores", "2").status == 0
    assert fresh.records("two") == undisturbed.records("two")
    assert fresh.rows("two", "scores.csv") == undisturbed.rows("two", "scores.csv")


def test_every_file_of_a_report_that_a_late_stop_removed_is_put_back(fresh: Bench) -> None:
    """Snakemake removes the outputs of a job that it did not see end; those for a column are a folder deeper."""
    fresh.write("specs/two.yaml", SMALL)
    assert fresh.cortexdsl("run", "two", "--cores", "2").status == 0
    root = fresh.results("two")
    pages = [root / name for name in ("report.html", "figures", "tables")]
    files = (path for page in pages for path in (page, *page.rglob("*")) if path.is_file())
    before = {path: path.read_bytes() for path in files if path.name != ".snakemake_timestamp"}
    assert root / "figures" / "column" / "accuracy.svg" in before
    layout = Layout(root.as_posix())
    begin_run(layout, [page.as_posix() for page in pages], "")
    for page in pages:
        shutil.rmtree(page) if page.is_dir() else page.unlink()
    end_run(layout, "stopped", "SIGINT")
    assert {path: path.read_bytes() if path.is_file() else None for path in before} == before
