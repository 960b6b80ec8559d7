"""The run that a job belongs to: jobs end with it, also where it is killed and cannot tell them.

Snakemake's jobs are children of a shell, which outlives a killed Snakemake. So the workflow names its own process to
its jobs, and each job watches it. Jobs of a cluster are not told: they may outlive the program that submitted them.
"""

import os
import select
import signal
from collections.abc import MutableMapping

RUN = "CORTEXDSL_RUN"
"""The environment variable that names the process of the run to its jobs on this machine."""

_SET_PDEATHSIG = 1  # of Linux's prctl


def name_run(environment: MutableMapping[str, str] = os.environ) -> None:
    """Name this process to its jobs as the run that they belong to."""
    environment[RUN] = str(os.getpid())


def watched_run() -> int | None:
    """Return a file that becomes readable when the run of this job has ended.

    None where this job belongs to no run, or the system has no such files (they are Linux's): the job then goes on
    to its end, whatever becomes of the run.
    """
    run = os.environ.get(RUN, "")
    if not run.isdigit() or not hasattr(os, "pidfd_open"):
        return None
    try:
        return os.pidfd_open(int(run))
    except ProcessLookupError:
        os.kill(os.getpid(), signal.SIGTERM)  # it has ended already
        return None
    except OSError:
        return None


def end_with_run() -> None:
    """Have this process end when its run ends or stops it: as by Ctrl-C, so that it closes its log and its tally."""
    watched = watched_run()
    if watched is None:
        return

    import threading  # of no use to jobs that are handed over, which are most

    signal.signal(signal.SIGTERM, signal.default_int_handler)

    def wait() -> None:
        select.select([watched], [], [])
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="end with the run", daemon=True).start()


def end_with_parent(number: signal.Signals = signal.SIGKILL) -> None:
    """Have the system end this process when its parent has ended, where it can (Linux)."""
    import ctypes  # jobs that never fork should not pay for it

    parent = os.getppid()
    try:
        ctypes.CDLL(None).prctl(_SET_PDEATHSIG, int(number), 0, 0, 0)
    except (OSError, AttributeError):
        return
    if os.getppid() != parent:  # it ended before it could be watched
        os.kill(os.getpid(), number)
