"""Set up each process of a run: it ends with the run, and collects garbage less often.

Snakemake's jobs are children of a shell, which outlives a killed Snakemake. The workflow therefore tells jobs its own
process id, and each job watches that process. Jobs on a cluster are not told: they may outlive the program that
submitted them. Every job imports this module first, so it imports little: `signal` only where a signal is set or sent.
"""

from __future__ import annotations

import gc
import os
import select

TYPE_CHECKING = False  # that of typing takes some milliseconds, too
if TYPE_CHECKING:
    from collections.abc import MutableMapping

RUN = "CORTEXDSL_RUN"
"""The environment variable with the process id of the run, for its jobs on this machine."""
YOUNG, OLDER, OLDEST = 50_000, 20, 20
"""New objects before the youngest generation is collected, and collections of one generation for one of the next."""

_SET_PDEATHSIG = 1  # of Linux's prctl


def name_run(environment: MutableMapping[str, str] = os.environ) -> None:
    """Tell jobs that this process is the run that they belong to."""
    environment[RUN] = str(os.getpid())


def watched_run() -> int | None:
    """Return a file descriptor that becomes readable when the run of this job has ended.

    None if this job belongs to no run, or the system has no such descriptors (only Linux has): the job then goes on to
    its end whatever happens to the run.
    """
    run = os.environ.get(RUN, "")
    if not run.isdigit() or not hasattr(os, "pidfd_open"):
        return None
    try:
        return os.pidfd_open(int(run))
    except ProcessLookupError:  # the run has ended already
        import signal

        os.kill(os.getpid(), signal.SIGTERM)
        return None
    except OSError:
        return None


def end_with_run() -> None:
    """End this process when its run ends or stops it, as Ctrl-C does: it closes its call log and its tally."""
    watched = watched_run()
    if watched is None:
        return

    import signal
    import threading  # most jobs are handed over and need neither

    signal.signal(signal.SIGTERM, signal.default_int_handler)

    def wait() -> None:
        select.select([watched], [], [])
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="end with the run", daemon=True).start()


def end_with_parent(parent: int) -> None:
    """Have the system kill this fork when its parent has ended, where it can (Linux).

    Parameters
    ----------
    parent : int
        Process id of the parent, taken before the fork: it may end before this call.
    """
    import ctypes  # only forks need it
    import signal

    try:
        ctypes.CDLL(None).prctl(_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    except (OSError, AttributeError):
        return
    if os.getppid() != parent:  # it has ended already
        os.kill(os.getpid(), signal.SIGKILL)


def collect_garbage_rarely() -> None:
    """Exclude all present objects from garbage collection, and collect the others rarely.

    By default Python searches all objects of a process whenever their number has grown by a quarter, which took a good
    part of the processor time of a grid of debates and found almost nothing.
    """
    gc.freeze()
    gc.set_threshold(YOUNG, OLDER, OLDEST)
