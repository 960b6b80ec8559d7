"""Start and continue a run: the workflow's folder, the user's command, and Snakemake's process.

`python -m cortexdsl.display.launch` is Snakemake, which Ctrl-C ends at once and without a traceback until the first job
has started: no earlier step needs a cleanup.
"""

from __future__ import annotations

import os
import select
import shlex
import signal
import sys
from collections.abc import MutableMapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

_VARIABLE = "CORTEXDSL_COMMAND"
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def workflow_folder() -> Path:
    """Return the folder of the Snakefile: in a checkout that of the package, when installed one inside the package."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "workflow"
    return inside if inside.is_dir() else package.parent


def store_command(arguments: Sequence[str], environment: MutableMapping[str, str] = os.environ) -> None:
    """Store the user's command for the Snakemake that this process becomes."""
    environment[_VARIABLE] = shlex.join(["cortexdsl", *arguments])


def user_command(environment: MutableMapping[str, str] = os.environ) -> str:
    """Return the command that continues this run: the one that the user typed."""
    return environment.get(_VARIABLE) or shlex.join(["snakemake", *sys.argv[1:]])


def end_on_signals() -> None:
    """Have Ctrl-C, SIGTERM and SIGHUP end this process at once, with status 1; ignored signals stay ignored."""
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)


def block_signals() -> None:
    """Have these signals wait until `end_on_signals`, also if this process becomes another program meanwhile."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)


def wait_for_line() -> str:
    """Return the next line of standard input; a signal at any moment of the wait ends the process.

    Python runs a handler between two of its instructions, so that a signal just before the call that reads would wait
    with it for the user. The interpreter writes to the wake-up pipe at once, and `select` sees that.
    """
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    previous = signal.set_wakeup_fd(wakes)
    try:
        select.select([sys.stdin, woken], (), ())
        return sys.stdin.readline()
    finally:
        signal.set_wakeup_fd(previous)
        os.close(woken)
        os.close(wakes)


def _end(number: int, frame: object) -> NoReturn:
    with suppress(OSError):
        os.write(2, b"stopped before the first job\n")
    os._exit(1)  # an exception could be caught on its way, or leave a traceback


if __name__ == "__main__":
    end_on_signals()

    from snakemake.cli import main

    sys.exit(main())
