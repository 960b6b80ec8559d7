"""The display's handler of Snakemake's messages, and the errors of failed jobs."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry
from snakemake_interface_logger_plugins.settings import OutputSettingsLoggerInterface

from cortexdsl.display import handler
from cortexdsl.display.handler import Failures, LogHandler, job_end


class Settings(OutputSettingsLoggerInterface):
    """What Snakemake hands to a plugin."""

    def __init__(self, quiet: Sequence[Quietness] = (), dryrun: bool = False) -> None:
        self.quiet = quiet
        self.dryrun = dryrun
        self.printshellcmds = self.debug_dag = self.verbose = self.stdout = False
        self.show_failed_logs = self.nocolor = True


def record(message: str, event: LogEvent | None = None, level: int = logging.INFO, **more: Any) -> logging.LogRecord:
    made = logging.LogRecord("snakemake", level, "x.py", 1, message, (), None)
    made.__dict__.update(event=event, **more)
    return made


def shown(capsys: pytest.CaptureFixture[str], records: list[logging.LogRecord], settings: Settings) -> list[str]:
    handler = LogHandler(settings, None)
    for each in records:
        handler.emit(each)
    handler.close()
    return capsys.readouterr().err.splitlines()


def failing(tmp_path: Path) -> list[logging.LogRecord]:
    """A job that starts and fails, as Snakemake tells it."""
    log = tmp_path / "a.log"
    log.write_text("error: no key\n    set it\n")
    return [
        record("x", LogEvent.JOB_INFO, jobid=3, rule_name="debate", wildcards={"experiment": "e", "cell": "a"}),
        record("RuleException:\nCalledProcessError in file", LogEvent.ERROR, logging.ERROR, exception="RuleException"),
        record("Error in rule", LogEvent.JOB_ERROR, logging.ERROR, jobid=3, rule_name="debate", log=[str(log)]),
    ]


def test_the_plugin_is_found_by_its_name() -> None:
    """Snakemake looks for top-level packages called so."""
    assert LoggerPluginRegistry().is_installed("cortexdsl")


def test_chatter_is_silent_and_what_is_unknown_is_passed_on_once(capsys: pytest.CaptureFixture[str]) -> None:
    """A warning of a later Snakemake that nobody here has met must not be lost; its other messages are in its log."""
    records = [
        record("Building DAG of jobs..."),
        record("x", LogEvent.SHELLCMD),
        record("Job 6 has been submitted with SLURM jobid 1 (log: 1.log)."),
        record("news of a later version"),
        record("Creating conda environment x.yml..."),
        record("a sentence of the workflow", is_own=True),
        record("something new", level=logging.WARNING),
        record("something new", level=logging.WARNING),
        record("a lock", LogEvent.ERROR, logging.ERROR, exception="LockException"),
    ]
    assert shown(capsys, records, Settings()) == [
        "Creating conda environment x.yml...", "a sentence of the workflow", "something new", "a lock",
    ]  # fmt: skip


def test_snakemake_s_own_error_of_a_full_disk_has_a_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        "WorkflowError:\nError recording metadata for finished job ([Errno 28] No space left on device). "
        "Please ensure write permissions for the directory /x/.snakemake"
    )
    lines = shown(capsys, [record(text, LogEvent.ERROR, logging.ERROR, exception="WorkflowError")], Settings())
    assert lines == [
        "error: the disk is full: Snakemake could not record that a job has finished",
        "    free some space, then run again: what is finished is kept",
    ]


def test_a_failure_is_said_in_the_jobs_own_words_and_again_at_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the remedy, the log and how to go on; Snakemake's account of its rules is left out."""
    said = "\n".join(shown(capsys, failing(tmp_path), Settings()))
    assert said.count("failed: debate a\n    no key\n        set it") == 2
    assert "a.log" in said
    assert "1 job failed. Kept:" in said
    assert "Go on with the same command: " in said
    assert "RuleException" not in said


def test_quiet_leaves_failures_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--quiet all` is about messages, not about what went wrong."""
    said = shown(
        capsys, [record("something new", level=logging.WARNING), *failing(tmp_path)], Settings(quiet=[Quietness.ALL])
    )
    assert "something new" not in said
    assert said[0] == "failed: debate a"


@pytest.mark.parametrize(
    ("stop", "name"),
    [
        (record("Terminating processes on user request, this might take some time."), "Ctrl-C"),
        (record("", stopped_by="SIGINT"), "Ctrl-C"),
        (record("", stopped_by="SIGTERM"), "SIGTERM"),
    ],
    ids=["Snakemake's own", "Ctrl-C", "SIGTERM"],
)
def test_jobs_that_a_stop_ended_have_not_failed(
    stop: logging.LogRecord, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Snakemake reports them as failed; they were told to stop."""
    said = shown(capsys, [stop, *failing(tmp_path)], Settings())
    assert said[0] == "stopping: calls in flight are cancelled, finished work is kept"
    assert not any(line.startswith("failed") for line in said)
    assert any(line.startswith(f"stopped by {name}. Kept:") for line in said)


INTERRUPTED_LOGS = ["", "Traceback (most recent call last):\n  File x\nKeyboardInterrupt\n", "a warning\n"]


@pytest.mark.parametrize("text", INTERRUPTED_LOGS, ids=["killed", "interrupted", "killed after a word"])
def test_a_job_whose_end_is_heard_of_before_the_stop_has_not_failed(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C reaches jobs and Snakemake at once; on a busy machine the job has ended before Snakemake wakes up."""
    *others, error = failing(tmp_path)
    (tmp_path / "a.log").write_text(text)
    said = shown(capsys, [*others, error, record("", stopped_by="SIGINT")], Settings())
    assert not any("failed" in line for line in said)
    assert said[1].startswith("stopped by Ctrl-C. Kept:")


@pytest.mark.parametrize("text", INTERRUPTED_LOGS, ids=["killed", "interrupted", "killed after a word"])
def test_a_job_that_was_killed_alone_has_failed(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is said at the end, when no stop can follow."""
    records = failing(tmp_path)
    (tmp_path / "a.log").write_text(text)
    said = shown(capsys, [*records, record("something new", level=logging.WARNING)], Settings())
    assert said[:2] == ["something new", "failed: debate a"]


def test_nothing_to_do_is_one_line_and_the_place_of_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    """Snakemake's sentence names no file."""
    records = [
        record("", reports=["report: results/x/report.html"]),
        record("Nothing to be done (all requested files are present and up to date)."),
    ]
    assert shown(capsys, records, Settings()) == [
        "Nothing to be done: all results are there, and fit the spec",
        "report: results/x/report.html",
    ]


def test_a_dry_run_is_in_snakemakes_words(capsys: pytest.CaptureFixture[str]) -> None:
    """It shows what would run, which is what it is for."""
    records = [record("Building DAG of jobs..."), record("Job stats:\ntotal 3", LogEvent.RUN_INFO, stats={"total": 3})]
    assert shown(capsys, records, Settings(dryrun=True)) == ["Building DAG of jobs...", "Job stats:", "total 3"]


NOISE = """\
something before
error: one: the server cannot be reached
    see that it runs
sys:1: RuntimeWarning: coroutine 'ask' was never awaited
RuntimeWarning: Enable tracemalloc
"""


def test_the_error_and_its_remedy_are_said_without_what_the_program_said_while_it_ended(tmp_path: Path) -> None:
    """Warnings of an event loop that is torn down tell a user nothing."""
    log = tmp_path / "a.log"
    log.write_text(NOISE)
    failures = Failures()
    assert failures.add(job_end("debate a", [str(log)])) == (
        "failed: debate a\n    one: the server cannot be reached\n        see that it runs"
    )


def test_the_same_error_is_said_once_and_counted(tmp_path: Path) -> None:
    """Eight jobs at one dead server are one message, at once and in the summary."""
    failures = Failures()
    said = []
    for k in range(8):
        log = tmp_path / f"{k}.log"
        log.write_text(NOISE)
        said.append(failures.add(job_end(f"debate {k}", [str(log)])))
    assert [text is not None for text in said] == [True] + [False] * 7
    (line,) = failures.summary()
    assert line.startswith("failed: debate 0 and 7 more\n")
    assert failures.count == 8


def test_a_log_without_an_error_gives_its_last_line(tmp_path: Path) -> None:
    """A crash that is no error of ours ends in a traceback, whose last line says what it was."""
    log = tmp_path / "a.log"
    log.write_text("Traceback (most recent call last):\n  File x\nMemoryError: no more\n")
    said = Failures().add(job_end("score a", [str(log)]))
    assert said is not None
    assert "MemoryError: no more (the whole of it is in the log)" in said


def test_a_job_without_a_log_is_still_named(tmp_path: Path) -> None:
    """Killed before it wrote anything."""
    said = Failures().add(job_end("score a", [str(tmp_path / "absent.log")]))
    assert said is not None
    assert said.startswith("failed: score a\n    the job ended without a message: it was killed")
    said = Failures().add(
        job_end("score a", [str(tmp_path / "absent.log")], "SLURM sbatch failed: no such partition\n")
    )
    assert said == "failed: score a\n    SLURM sbatch failed: no such partition"


def test_a_job_whose_error_could_not_be_written_names_the_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handler, "is_disk_full", lambda path: True)
    (tmp_path / "a.log").write_text("")
    said = Failures().add(job_end("debate a", [str(tmp_path / "a.log")]))
    assert said is not None
    assert said.startswith("failed: debate a\n    the disk is full\n        free some space, then run again")


def test_a_job_that_slurm_ended_gives_slurms_reason(tmp_path: Path) -> None:
    """The job's own log is empty then; the executor's has a line of Slurm's amid much else."""
    own, log = tmp_path / "a.log", tmp_path / "7.log"
    own.write_text("")
    reason = "STEP 6.0 ON vm CANCELLED AT 2026-11-21T20:03:35 DUE TO TIME LIMIT"
    log.write_text(f"slurmstepd-vm: error: *** {reason} ***\nWorkflowError:\nsrun: error: vm: task 0: Exited\n")
    assert Failures().add(job_end("debate a", [str(own), str(log)])) == f"failed: debate a\n    {reason}"
