"""The handler of the logger plugin `cortexdsl`: Snakemake's log as a display, and the errors of failed jobs.

It replaces Snakemake's messages on the terminal during a run. For other commands (a dry run, a list, the verbose log)
it shows Snakemake's own messages. Snakemake's log file in `.snakemake/log` always holds everything.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import indent

from rich.console import Console
from snakemake.logging import ColorizingTextHandler, DefaultFilter, DefaultFormatter
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from cortexdsl.display.console import Display
from cortexdsl.display.expected import ExpectedRun
from cortexdsl.display.launch import user_command
from cortexdsl.display.progress import WatchedRun
from cortexdsl.display.wakeups import keep_awake
from cortexdsl.files import UNKEPT, is_disk_full
from cortexdsl.numbers import counted
from cortexdsl.plain_text import printable
from cortexdsl.plan.persistence.run_record import RULE_STAGES

MARK = "error: "
LINES = 12  # of one message
KILLED = re.compile(r"^slurmstepd\S*: error: \*+ (.+?) \*+$", re.MULTILINE)  # by Slurm: why, and when
STORED_LOG = re.compile(r"^\S+?://.*?(results/.*) \(send to storage\)$")  # Snakemake's name of a log in a storage
NO_MESSAGE = (
    "the job ended without a message: it was killed, for example because memory ran out\n"
    "    see the system's log (dmesg), then run again: what is finished is kept"
)
UNRECORDED = "Error recording metadata"
"""Snakemake's error if it cannot write into its own folder."""
DISK_FULL = (
    "error: the disk is full: Snakemake could not record that a job has finished\n"
    "    free some space, then run again: what is finished is kept"
)
INDENT = "    "
TAIL = 65_536  # bytes at the end of a log that are searched for its error


@dataclass(frozen=True, slots=True)
class JobEnd:
    """How a job ended that did not finish.

    Attributes
    ----------
    job : str
    message : str
        Its own error, or else what there is to say of its end.
    log : str
        Path of the log with the message; empty if no log has it.
    is_own_error : bool
        The job reported an error itself. Otherwise it may have been stopped together with the run.
    """

    job: str
    message: str
    log: str
    is_own_error: bool


@dataclass(slots=True)
class Failures:
    """The failed jobs of a run, by their message."""

    jobs: dict[str, list[JobEnd]] = field(default_factory=dict)
    """For each message the jobs that ended with it."""

    def add(self, end: JobEnd) -> str | None:
        """Add a failed job, and return its message; None if another job had the same message."""
        seen = self.jobs.setdefault(end.message, [])
        seen.append(end)
        return f"failed: {end.job}\n{indent(end.message, INDENT)}" if len(seen) == 1 else None

    @property
    def count(self) -> int:
        """The number of failed jobs."""
        return sum(map(len, self.jobs.values()))

    def summary(self) -> list[str]:
        """Return every message once, with the jobs that ended with it."""
        lines = []
        for message, jobs in self.jobs.items():
            first = jobs[0]
            others = f" and {len(jobs) - 1} more" if len(jobs) > 1 else ""
            log = f"\n    log: {first.log}" if first.log else ""
            lines.append(f"failed: {first.job}{others}\n{indent(message, INDENT)}{log}")
        return lines


def job_end(job: str, logs: Sequence[str], otherwise: str = "") -> JobEnd:
    """Return how a job ended, as its logs say.

    `otherwise` is Snakemake's message, for a job without a log, such as one that could not be submitted.
    """
    return JobEnd(job, *_message(logs, otherwise))


def _message(logs: Sequence[str], otherwise: str) -> tuple[str, str, bool]:
    """Return what there is to say of the end of a job, the log that has it, and whether the job said it itself."""
    for log in logs:
        text = _tail(Path(log))
        if not text.strip():
            continue
        start = text.rfind(f"\n{MARK}")
        if start >= 0:
            return _first_paragraph(text[start + 1 :].removeprefix(MARK)), log, True
        killed = KILLED.search(text)
        if killed:
            return killed[1], log, True
        return f"{text.strip().splitlines()[-1]} (the whole of it is in the log)", log, False
    if any(is_disk_full(Path(log)) for log in logs):  # then its error could not be written either
        return "the disk is full\n    free some space, then run again: what is finished is kept", "", True
    said = otherwise.strip()
    return said or NO_MESSAGE, logs[0] if logs else "", bool(said)


def _first_paragraph(text: str) -> str:
    """Return the lines of the error; other programs may have written more after them."""
    lines = []
    for line in text.rstrip().splitlines():
        if "Warning: " in line or line.startswith("Traceback"):
            break
        lines.append(line)
    more = [f"    and {counted(len(lines) - LINES, 'more line')}, in the log"] if len(lines) > LINES else []
    return "\n".join([*lines[:LINES], *more])


def _tail(log: Path) -> str:
    try:
        return "\n" + log.read_bytes()[-TAIL:].decode("utf-8", "replace")
    except OSError:
        return ""


WORTH_SAYING = ("Creating conda environment", "Downloading and installing remote", "Pulling singularity image")
"""Snakemake's messages below a warning that are shown, because what they announce takes minutes."""
CHATTER = (
    "At least one job did not complete",
    "WorkflowError:\nAt least one job did not complete",
    "Exiting because a job execution failed",
    "Cleaning up SLURM log files",
    "Cannot restore ",
)
"""Snakemake's warnings and errors that say nothing new."""
SILENT = {LogEvent.SHELLCMD, LogEvent.RESOURCES_INFO, LogEvent.RUN_INFO, LogEvent.WORKFLOW_STARTED, LogEvent.RULEGRAPH}
INTERRUPTED = "Terminating processes on user request"
NOTHING = "Nothing to be done"
JOB_EXCEPTIONS = {"CalledProcessError", "RuleException"}  # Snakemake's account of a job whose own error is shown


class LogHandler(LogHandlerBase):
    """Shows a run as rows and failures."""

    def __post_init__(self) -> None:
        keep_awake(logging.getLogger("snakemake.logging"))
        settings = self.common_settings
        quiet = set(settings.quiet or ())
        self._console = Console(stderr=not settings.stdout, no_color=settings.nocolor or None, highlight=False)
        self._snakemakes: logging.Handler | None = None
        if settings.dryrun or settings.verbose or settings.debug_dag or settings.printshellcmds:
            self._snakemakes = _snakemakes_handler(settings, quiet)
        self._is_quiet = bool({Quietness.ALL, Quietness.PROGRESS} & quiet)
        self._display: Display | None = None
        self._failures = Failures()
        self._unexplained: list[JobEnd] = []  # at the end of the run they have failed, unless it was stopped
        self._names: dict[int, str] = {}
        self._running: dict[int, str] = {}
        self._done = self._total = 0
        self._stopped_by = ""
        self._reports: list[str] = []
        self._shown: set[str] = set()
        self._last: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Handle one of Snakemake's messages."""
        if self._snakemakes is not None:
            self._snakemakes.handle(record)
            return
        try:
            self._take(record)
        except Exception:
            self.handleError(record)

    def _take(self, record: logging.LogRecord) -> None:
        event = getattr(record, "event", None)
        announced = getattr(record, "announced", None)
        if announced is not None:
            self._begin(announced)
        elif hasattr(record, "reports"):
            self._reports = list(record.reports)
        elif hasattr(record, "stopped_by"):
            self._stop(record.stopped_by)
        elif getattr(record, "is_last_word", False):
            self._last.append(record.getMessage())
        elif event == LogEvent.RUN_INFO:
            self._total = dict(getattr(record, "stats", {})).get("total", 0)
        elif event == LogEvent.JOB_INFO:
            self._started(record)
        elif event == LogEvent.JOB_FINISHED:
            self._running.pop(getattr(record, "job_id", -1), None)
        elif event == LogEvent.PROGRESS:
            self._done, self._total = record.done, record.total  # type: ignore[attr-defined]
        elif event == LogEvent.JOB_ERROR:
            self._failed(record)
        elif event not in SILENT:
            self._pass_on(record, event)
        if self._display is not None and event is not None:
            self._display.step(self._steps())

    def _begin(self, announced: list[ExpectedRun]) -> None:
        if self._display is None and not self._is_quiet:
            began = time.time()
            self._display = Display([WatchedRun(each, began) for each in announced], self._console)
            self._display.start()

    def _started(self, record: logging.LogRecord) -> None:
        number = getattr(record, "jobid", -1)
        rule = str(getattr(record, "rule_name", "job"))
        given = dict(getattr(record, "wildcards", None) or {})
        given.pop("experiment", None)
        self._names[number] = " ".join([rule, *map(str, given.values())])
        self._running[number] = rule
        if self._display is not None and rule in RULE_STAGES:
            self._display.enter(RULE_STAGES[rule])

    def _failed(self, record: logging.LogRecord) -> None:
        number = getattr(record, "jobid", -1)
        self._running.pop(number, None)
        if self._stopped_by:  # a job that was stopped has not failed
            return
        logs = [STORED_LOG.sub(r"\1", str(log)) for log in getattr(record, "log", ())]
        name = self._names.get(number, str(getattr(record, "rule_name", "job")))
        end = job_end(name, logs, str(getattr(record, "rule_msg", None) or ""))
        if not end.is_own_error:
            self._unexplained.append(end)
        elif message := self._failures.add(end):
            self._say(message)

    def _pass_on(self, record: logging.LogRecord, event: LogEvent | None) -> None:
        text, is_own = record.getMessage() if record.msg else "", getattr(record, "is_own", False)
        if UNRECORDED in text and os.strerror(errno.ENOSPC) in text:
            text = DISK_FULL
        if INTERRUPTED in text:
            self._stop("SIGINT")
        elif text.startswith(NOTHING):
            self._say("\n".join([f"{NOTHING}: all results are there, and fit the spec", *self._reports]))
        elif (
            not text
            or text == "None"
            or text in self._shown
            or text.startswith(CHATTER)
            or not (record.levelno >= logging.WARNING or is_own or text.startswith(WORTH_SAYING))
            or (event == LogEvent.ERROR and (self._stopped_by or self._is_a_jobs(record)))
        ):
            return
        elif Quietness.ALL not in (self.common_settings.quiet or ()) or record.levelno >= logging.ERROR:
            self._shown.add(text)
            self._say(text)

    def _stop(self, signal_name: str) -> None:
        if not self._stopped_by:
            self._stopped_by = "Ctrl-C" if signal_name == "SIGINT" else signal_name
            self._unexplained.clear()  # the signal ended them
            self._say("stopping: calls in flight are cancelled, finished work is kept")

    @staticmethod
    def _is_a_jobs(record: logging.LogRecord) -> bool:
        """Return whether an error is Snakemake's account of a failed job, whose own error is shown."""
        return getattr(record, "exception", "") in JOB_EXCEPTIONS and "CalledProcessError" in record.getMessage()

    def _steps(self) -> str:
        stages = Counter(RULE_STAGES.get(rule, rule) for rule in self._running.values())
        named = ", ".join(f"{stage} x{n}" if n > 1 else stage for stage, n in stages.items())
        return f"{self._done} of {counted(self._total, 'step')} done" + (f"; now: {named}" if named else "")

    def _say(self, text: str) -> None:
        if self._display is not None:
            self._display.say(text)
        else:
            self._console.print(printable(text), markup=False, soft_wrap=True)

    def close(self) -> None:
        """Print the result of the run, what failed, and how to continue."""
        display, self._display = self._display, None
        if display is not None:
            display.stop()
        for end in self._unexplained:
            self._failures.add(end)
        messages = self._failures.summary()
        for message in messages:
            self._say(message)
        if self._stopped_by or self._failures.count:
            count = self._failures.count
            what = f"stopped by {self._stopped_by}" if self._stopped_by else f"{counted(count, 'job')} failed"
            replies = "every reply that came (none is asked or paid for again)"
            if any(UNKEPT in message for message in messages):
                replies = "every other reply that came"
            self._say(
                f"{what}. Kept: every finished debate, and {replies}.\nGo on with the same command: {user_command()}"
            )
            self._failures, self._unexplained, self._stopped_by = Failures(), [], ""
        for message in self._last:
            self._say(message)
        self._last.clear()
        super().close()

    # ------------------------------------------------------------ the interface of logger plugins
    writes_to_stream = True  # it replaces Snakemake's own messages
    writes_to_file = False
    has_filter = True  # Snakemake's filter for `--quiet rules` would drop failures
    has_formatter = True
    needs_rulegraph = False


def _snakemakes_handler(common: object, quiet: set[Quietness]) -> logging.Handler:
    settings = {name: getattr(common, name) for name in ("debug_dag", "verbose", "dryrun", "printshellcmds")}
    stream = sys.stdout if common.stdout else sys.stderr  # type: ignore[attr-defined]
    handler: logging.Handler = ColorizingTextHandler(nocolor=common.nocolor, stream=stream)  # type: ignore[attr-defined]
    handler.addFilter(DefaultFilter(quiet, **settings))
    handler.setFormatter(DefaultFormatter(quiet, common.show_failed_logs))  # type: ignore[attr-defined]
    return handler
