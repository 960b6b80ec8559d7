"""Model servers that a spec declares: started, waited for, stopped whatever happens."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from cortexdsl.errors import ModelError
from cortexdsl.models.reach.secrets import shown
from cortexdsl.models.servers.reasons import why

READY_WITHIN = 600.0
STOPPED_WITHIN = 10.0
# Past any proxy: a server that we start is on this machine.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def start(
    command: Sequence[str],
    url: str,
    *,
    env: Mapping[str, str] | None = None,
    timeout: float = READY_WITHIN,
    log: Path | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> subprocess.Popen[bytes]:
    """Start a server and wait until it answers.

    Parameters
    ----------
    command : sequence of str
    url : str
        What to ask until it answers with a status below 500: `http://127.0.0.1:8000/v1/models`, `.../health`.
    env : mapping or None
        Added to the environment.
    timeout : float
        Seconds that it may take to become ready (a model is loaded meanwhile).
    log : Path or None
        Where its output goes; None: nowhere.

    Returns
    -------
    Popen
        In a process group of its own. Where `setpriv` exists the server ends with the process that started it,
        even if that is killed.

    Raises
    ------
    ModelError
        If the command cannot be run, ends at once, does not answer in time, or something else answers at its
        address already.
    """
    if is_ready(url):
        raise ModelError(
            f"server: something already answers at {url}\n    stop it, or choose another port for the server"
        )
    begin = log.stat().st_size if log is not None and log.is_file() else 0
    process = _run(command, env, log)
    until = time.monotonic() + timeout
    try:
        while not is_ready(url):
            if process.poll() is not None:
                said = _said(log, begin, process.returncode)
                status = f"ended with status {process.returncode} before it answered"
                raise ModelError(f"server: {command[0]} {status}{said}")
            if time.monotonic() > until:
                raise ModelError(
                    f"server: {command[0]} did not answer at {url} within {timeout:.0f} s{_said(log, begin)}\n"
                    "    see that its address and port are those of the spec, or allow more time (`seconds`)"
                )
            sleep(0.1)
    except BaseException:
        stop(process)
        raise
    return process


def wait_for(url: str, timeout: float, sleep: Callable[[float], None] = time.sleep) -> None:
    """Wait until a server that runs elsewhere answers.

    Raises
    ------
    ModelError
        If it does not within `timeout` seconds.
    """
    until = time.monotonic() + timeout
    while not is_ready(url):
        if time.monotonic() > until:
            raise ModelError(
                f"server: nothing answers at {shown(url)} after {timeout:.0f} s\n"
                "    start it, correct its address, or allow more time (`seconds`)"
            )
        sleep(0.5)


def _run(command: Sequence[str], env: Mapping[str, str] | None, log: Path | None) -> subprocess.Popen[bytes]:
    setpriv = shutil.which("setpriv")
    guarded = [setpriv, "--pdeathsig", "TERM", *command] if setpriv else list(command)
    if shutil.which(command[0]) is None:
        raise ModelError(f"server: there is no program {command[0]!r}\n    install it, or correct `command`")
    if log is not None:
        log.parent.mkdir(parents=True, exist_ok=True)
    with (log or Path(os.devnull)).open("ab") as out:
        return subprocess.Popen(
            guarded,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def is_ready(url: str, timeout: float = 2.0) -> bool:
    """Say whether something answers at a URL with a status below 500."""
    try:
        with _OPENER.open(url, timeout=timeout):
            return True
    except urllib.error.HTTPError as error:
        error.close()
        return error.code < 500
    except (OSError, ValueError):
        return False


def stop(process: subprocess.Popen[bytes], timeout: float = STOPPED_WITHIN) -> None:
    """Stop a server and all that it started: SIGTERM, and SIGKILL for what is left after `timeout` seconds."""
    _signal(process, signal.SIGTERM)
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        _signal(process, signal.SIGKILL)
        process.wait()


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return


def _said(log: Path | None, begin: int, status: int | None = None) -> str:
    """Return why it did not come up, from what it has logged since this start."""
    if log is None or not log.is_file():
        return ""
    with log.open("rb") as file:
        file.seek(begin)
        return f"{why(file.read().decode('utf-8', 'replace'), status)}\n    its log: {log}"
