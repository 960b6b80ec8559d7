"""Snakemake's log as a display: the handler of the logger plugin `cortexdsl`.

It takes Snakemake's place on the terminal in a run. Whatever else Snakemake is asked for (a dry run, a list, its
verbose log) is shown in its own words, and its own log file in `.snakemake/log` holds everything as ever.
"""

from __future__ import annotations

import logging
import sys
import time
from collections import Counter

from rich.console import Console
from snakemake.logging import ColorizingTextHandler, DefaultFilter, DefaultFormatter
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from cortexdsl.watch.command import to_go_on
from cortexdsl.watch.display import Display
from cortexdsl.watch.expected import Expected
from cortexdsl.watch.failures import Failures
from cortexdsl.watch.watched import Watched

# What Snakemake says in every run, and nobody asked; what it says besides is passed on.
CHATTER = (
    "Assuming unrestricted shared filesystem usage",
    "host: ",
    "Building DAG of jobs",
    "Using shell: ",
    "Select jobs to execute",
    "Execute ",
    "Complete log(s): ",
    "Elapsed time: ",
    "Conda environments: ignored",
    "Singularity containers: ignored",
    "Group jobs: inactive",
    "Using workflow specific profile",
    "Using profile",
    "Exiting because a job execution failed",
    "At least one job did not complete",
    "WorkflowError:\nAt least one job did not complete",
    "Removing output files of failed job",
    "Shutting down, this might take some time",
    "DAG of jobs will be updated",
    "Updating checkpoint dependencies",
    "Trying to restart job",
    "Storing output in storage",
    "Touching output file",
    "SLURM run ID: ",
    "Cleaning up SLURM log files",
    "Will exit after finishing currently running jobs",
    "Cannot restore ",
)
SUBMITTED = " has been submitted with SLURM jobid "
SILENT = {LogEvent.SHELLCMD, LogEvent.RESOURCES_INFO, LogEvent.RUN_INFO, LogEvent.WORKFLOW_STARTED, LogEvent.RULEGRAPH}
INTERRUPTED = "Terminating processes on user request"
NOTHING = "Nothing to be done"
JOB_EXCEPTIONS = {"CalledProcessError", "RuleException"}  # said again of a job whose own error is shown


class LogHandler(LogHandlerBase):
    """Shows a run as rows and failures; see the module."""

    def __post_init__(self) -> None:
        said = self.common_settings
        quiet = set(said.quiet or ())
        self._console = Console(stderr=not said.stdout, no_color=said.nocolor or None, highlight=False)
        self._own_words: logging.Handler | None = None
        if said.dryrun or said.verbose or said.debug_dag or said.printshellcmds:
            self._own_words = _snakemakes_own(said, quiet)
        self._is_quiet = bool({Quietness.ALL, Quietness.PROGRESS} & quiet)
        self._display: Display | None = None
        self._failures = Failures()
        self._names: dict[int, str] = {}
        self._running: dict[int, str] = {}
        self._done = self._total = 0
        self._stopped_by = ""
        self._reports: list[str] = []
        self._said: set[str] = set()
        self._last: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Take in one of Snakemake's messages."""
        if self._own_words is not None:
            self._own_words.handle(record)
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

    def _begin(self, announced: list[Expected]) -> None:
        if self._display is None and not self._is_quiet and announced:
            began = time.time()
            self._display = Display([Watched(each, began) for each in announced], self._console)
            self._display.start()

    def _started(self, record: logging.LogRecord) -> None:
        number = getattr(record, "jobid", -1)
        rule = str(getattr(record, "rule_name", "job"))
        given = dict(getattr(record, "wildcards", None) or {})
        given.pop("experiment", None)
        self._names[number] = " ".join([rule, *map(str, given.values())])
        self._running[number] = rule

    def _failed(self, record: logging.LogRecord) -> None:
        number = getattr(record, "jobid", -1)
        self._running.pop(number, None)
        if self._stopped_by:  # a job that was ended has not failed
            return
        logs = [str(log) for log in getattr(record, "log", ())]
        name = self._names.get(number, str(getattr(record, "rule_name", "job")))
        said = self._failures.add(name, logs, str(getattr(record, "rule_msg", None) or ""))
        if said is not None:
            self._say(said)

    def _pass_on(self, record: logging.LogRecord, event: LogEvent | None) -> None:
        text = record.getMessage() if record.msg else ""
        if INTERRUPTED in text:
            self._stop("SIGINT")
        elif text.startswith(NOTHING):
            self._say("\n".join([f"{NOTHING}: all results are there, and fit the spec", *self._reports]))
        elif (
            not text
            or text == "None"
            or text in self._said
            or text.startswith(CHATTER)
            or SUBMITTED in text
            or (event == LogEvent.ERROR and (self._stopped_by or self._is_a_jobs(record)))
        ):
            return
        elif Quietness.ALL not in (self.common_settings.quiet or ()) or record.levelno >= logging.ERROR:
            self._said.add(text)
            self._say(text)

    def _stop(self, signal_name: str) -> None:
        if not self._stopped_by:
            self._stopped_by = "Ctrl-C" if signal_name == "SIGINT" else signal_name
            self._say("stopping: calls in flight are cancelled, finished work is kept")

    @staticmethod
    def _is_a_jobs(record: logging.LogRecord) -> bool:
        """Say whether an error is Snakemake's account of a job that failed: the job's own words are shown."""
        return getattr(record, "exception", "") in JOB_EXCEPTIONS and "CalledProcessError" in record.getMessage()

    def _steps(self) -> str:
        rules = Counter(self._running.values())
        named = ", ".join(f"{rule} x{n}" if n > 1 else rule for rule, n in rules.items())
        return f"{self._done} of {self._total} steps done" + (f"; now: {named}" if named else "")

    def _say(self, text: str) -> None:
        if self._display is not None:
            self._display.say(text)
        else:
            self._console.print(text, markup=False, soft_wrap=True)

    def close(self) -> None:
        """Say what the run came to, what failed, and how to go on."""
        display, self._display = self._display, None
        if display is not None:
            display.stop()
        for message in self._failures.summary() if self._failures.count else ():
            self._say(message)
        if self._stopped_by or self._failures.count:
            count = self._failures.count
            what = f"stopped by {self._stopped_by}" if self._stopped_by else f"{count} job{'s' * (count != 1)} failed"
            self._say(
                f"{what}. Kept: every finished debate, and every reply that came (none is asked or paid for again)."
                f"\nGo on with the same command: {to_go_on()}"
            )
            self._failures, self._stopped_by = Failures(), ""
        for message in self._last:
            self._say(message)
        self._last.clear()
        super().close()

    # ------------------------------------------------------------ what Snakemake asks of a plugin
    @property
    def writes_to_stream(self) -> bool:
        """It stands in for Snakemake's own messages."""
        return True

    @property
    def writes_to_file(self) -> bool:
        """It writes no file."""
        return False

    @property
    def has_filter(self) -> bool:
        """It chooses itself: Snakemake's filter for `--quiet rules` would drop failures."""
        return True

    @property
    def has_formatter(self) -> bool:
        """It words messages itself."""
        return True

    @property
    def needs_rulegraph(self) -> bool:
        """It draws no graph."""
        return False


def _snakemakes_own(said: object, quiet: set[Quietness]) -> logging.Handler:
    settings = {name: getattr(said, name) for name in ("debug_dag", "verbose", "dryrun", "printshellcmds")}
    stream = sys.stdout if said.stdout else sys.stderr  # type: ignore[attr-defined]
    handler: logging.Handler = ColorizingTextHandler(nocolor=said.nocolor, stream=stream)  # type: ignore[attr-defined]
    handler.addFilter(DefaultFilter(quiet, **settings))
    handler.setFormatter(DefaultFormatter(quiet, said.show_failed_logs))  # type: ignore[attr-defined]
    return handler
