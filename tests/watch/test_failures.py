"""What a failed job's log is worth saying: its error with its remedy, once."""

from __future__ import annotations

from pathlib import Path

from cortexdsl.watch.failures import Failures

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
    assert failures.add("debate a", [str(log)]) == (
        "failed: debate a\n    one: the server cannot be reached\n        see that it runs"
    )


def test_the_same_error_is_said_once_and_counted(tmp_path: Path) -> None:
    """Eight jobs at one dead server are one message, at once and in the summary."""
    failures = Failures()
    said = []
    for k in range(8):
        log = tmp_path / f"{k}.log"
        log.write_text(NOISE)
        said.append(failures.add(f"debate {k}", [str(log)]))
    assert [text is not None for text in said] == [True] + [False] * 7
    (line,) = failures.summary()
    assert line.startswith("failed: debate 0 and 7 more\n")
    assert failures.count == 8


def test_a_log_without_an_error_gives_its_last_line(tmp_path: Path) -> None:
    """A crash that is no error of ours ends in a traceback, whose last line says what it was."""
    log = tmp_path / "a.log"
    log.write_text("Traceback (most recent call last):\n  File x\nMemoryError: no more\n")
    said = Failures().add("score a", [str(log)])
    assert said is not None
    assert "MemoryError: no more (the whole of it is in the log)" in said


def test_a_job_without_a_log_is_still_named(tmp_path: Path) -> None:
    """Killed before it wrote anything."""
    said = Failures().add("score a", [str(tmp_path / "absent.log")])
    assert said == "failed: score a\n    the job ended without a word"
    said = Failures().add("score a", [str(tmp_path / "absent.log")], "SLURM sbatch failed: no such partition\n")
    assert said == "failed: score a\n    SLURM sbatch failed: no such partition"


def test_a_job_that_slurm_ended_gives_slurms_reason(tmp_path: Path) -> None:
    """The job's own log is empty then; the executor's has a line of Slurm's amid much else."""
    own, log = tmp_path / "a.log", tmp_path / "7.log"
    own.write_text("")
    reason = "STEP 6.0 ON vm CANCELLED AT 2026-11-21T20:03:35 DUE TO TIME LIMIT"
    log.write_text(f"slurmstepd-vm: error: *** {reason} ***\nWorkflowError:\nsrun: error: vm: task 0: Exited\n")
    assert Failures().add("debate a", [str(own), str(log)]) == f"failed: debate a\n    {reason}"
