"""Model servers that a spec declares: started, waited for, stopped; and why one did not start, from its own log."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from cortexdsl.errors import ModelError
from cortexdsl.models.servers.pages import is_ready
from cortexdsl.models.transports.addresses import mask_url

_LAST_WORDS = 1_000
_NOISE = re.compile(
    r"\x1b\[[0-9;]*m|^\(\w+ pid=\d+\)\s*|^(?:DEBUG|INFO|WARNING|ERROR) [\d-]+ [\d:]+ \[[^\]]*\]\s*"  # vLLM
    r"|^\d+(?:\.\d+){3} [DIWE] (?:srv +\w+: )?"  # llama.cpp
)
_WRAPPED = re.compile(r"see root cause above|engine core initialization failed|failed core proc", re.IGNORECASE)
_ERROR = re.compile(r"^(?:[A-Za-z_][\w.]*(?:Error|Exception)|error|fatal): ?\S", re.IGNORECASE)

_MEMORY = "give it less to hold: a smaller model or window, fewer calls at once, or another share of the memory"
_SIGNS = {
    "correct `command`: this version of the server does not know that, as it stands there": (
        r"unrecogni[sz]ed argument|unknown (?:argument|flag|option|command)|invalid (?:argument|choice)"
        r"|no such option|error: argument|expected one argument"
    ),
    "write {port} in `command`, which is a free port, or stop what listens there": (
        r"address already in use|address in use|could(?:n't| not) bind"
    ),
    _MEMORY: (
        r"out ?of ?memory|(?:can't|cannot|failed to|unable to) allocate|bad_alloc|\bMemoryError\b"
        r"|no available memory|not enough memory|insufficient memory|free memory on device"
        r"|KV cache (?:memory|is needed)|derived max_model_len"
    ),
    "this build of the server wants a GPU that it does not find: use one for this machine": (
        r"failed to infer device type|no (?:CUDA|HIP) GPUs|no NVIDIA driver|NVIDIA driver on your system|libcuda\.so"
        r"|CUDA driver"
    ),
    "correct the model in `command`: a folder or file is seen from where the run is started, and a name of a hub needs "
    "the hub, and perhaps your permission there": (
        r"is not a (?:valid|local) |not a local folder|does not appear to have a file|no such file or directory"
        r"|file not found|failed to open (?:gguf|file)|repository not found|can't load the (?:configuration|model)"
        r"|repo id must|is not cached locally|couldn't connect to|cannot find the requested files|offline mode"
        r"|gated repo|access to model .* is restricted|40[13] client error"
    ),
}
"""What to do, by the words of a server's log; the first that applies."""


def why(log: str, status: int | None = None) -> str:
    """Return why a server did not start, in its own words and with a remedy; empty if its log is empty.

    Parameters
    ----------
    log : str
        What it printed since it was started.
    status : int or None
        With which it ended; negative for a signal, None if it still runs.

    Returns
    -------
    str
        A line of its log and a remedy, each on a line of its own; the end of the log if no cause is recognized.
    """
    lines = [line for line in map(_plain, log.splitlines()) if line]
    for remedy, pattern in _SIGNS.items():
        found = [line for line in lines if re.search(pattern, line, re.IGNORECASE)]
        if found:
            return f"\n    it says: {_shortened(found[-1])}\n    {remedy}"
    if status == -9:
        return f"\n    it was killed (SIGKILL), most often by the system for lack of memory\n    {_MEMORY}"
    errors = [line for line in lines if _ERROR.match(line) and not _WRAPPED.search(line)]
    if errors:
        return f"\n    it says: {_shortened(errors[-1])}"
    return f"; its last words:\n{log[-_LAST_WORDS:].strip()}" if lines else ""


def _plain(line: str) -> str:
    """Return a line without colours, processes, levels and times."""
    before = None
    while line != before:
        before, line = line, _NOISE.sub("", line).strip()
    return line


def _shortened(line: str, most: int = 400) -> str:
    return line if len(line) <= most else f"{line[:most]}..."


READY_WITHIN = 1_800.0
STOPPED_WITHIN = 10.0


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
        Polled until it answers with a status below 500: `http://127.0.0.1:8000/v1/models`, `.../health`.
    env : mapping or None
        Added to the environment.
    timeout : float
        Seconds that it may take to become ready (a model is loaded meanwhile).
    log : Path or None
        Where its output goes; None: nowhere.

    Returns
    -------
    Popen
        In a process group of its own. If `setpriv` exists, the server ends with the process that started it,
        even if that process is killed.

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
    if shutil.which(command[0]) is None:
        raise ModelError(f"server: there is no program {command[0]!r}\n    install it, or correct `command`")
    process = launch(command, env, log)
    until = time.monotonic() + timeout
    try:
        while not is_ready(url):
            if process.poll() is not None:
                reason = _reason(log, begin, process.returncode)
                status = f"ended with status {process.returncode} before it answered"
                raise ModelError(f"server: {command[0]} {status}{reason}")
            if time.monotonic() > until:
                raise ModelError(
                    f"server: {command[0]} did not answer at {url} within {timeout:.0f} s{_reason(log, begin)}\n"
                    "    see that its address and port are those of the spec"
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
                f"server: nothing answers at {mask_url(url)} after {timeout:.0f} s\n"
                "    start it first, or correct its address"
            )
        sleep(0.5)


def launch(
    command: Sequence[str], env: Mapping[str, str] | None = None, log: Path | None = None
) -> subprocess.Popen[bytes]:
    """Start a program in a process group of its own; if `setpriv` exists, it ends with this process."""
    setpriv = shutil.which("setpriv")
    guarded = [setpriv, "--pdeathsig", "TERM", *command] if setpriv else list(command)
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


def stop(process: subprocess.Popen[bytes], timeout: float = STOPPED_WITHIN) -> None:
    """Stop a server and all processes that it started: SIGTERM, then SIGKILL after `timeout` seconds."""
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


def _reason(log: Path | None, begin: int, status: int | None = None) -> str:
    """Return why it did not come up, from what it has logged since this start."""
    if log is None or not log.is_file():
        return ""
    with log.open("rb") as file:
        file.seek(begin)
        return f"{why(file.read().decode('utf-8', 'replace'), status)}\n    its log: {log}"
