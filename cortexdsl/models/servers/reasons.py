"""Why a model server did not come up: the line of its own log that says so, and what to do.

Engines end with a long traceback whose last lines say that something failed above; one line of it says what.
"""

from __future__ import annotations

import re

_LAST_WORDS = 1_000
_NOISE = re.compile(
    r"\x1b\[[0-9;]*m|^\(\w+ pid=\d+\)\s*|^(?:DEBUG|INFO|WARNING|ERROR) [\d-]+ [\d:]+ \[[^\]]*\]\s*"  # vLLM
    r"|^\d+(?:\.\d+){3} [DIWE] (?:srv +\w+: )?"  # llama.cpp
)
_WRAPPED = re.compile(r"see root cause above|engine core initialization failed|failed core proc", re.IGNORECASE)
_ERROR = re.compile(r"^(?:[A-Za-z_][\w.]*(?:Error|Exception)|error|fatal): ?\S", re.IGNORECASE)

_SIGNS = tuple(
    (re.compile(pattern, re.IGNORECASE), remedy)
    for pattern, remedy in (
        (
            r"unrecogni[sz]ed argument|unknown (?:argument|flag|option|command)|invalid (?:argument|choice)"
            r"|no such option|error: argument|expected one argument",
            "correct `command`: this version of the server does not know that, as it stands there",
        ),
        (
            r"address already in use|address in use|couldn't bind|could not bind",
            "write {port} in `command`, which is a free port, or stop what listens there",
        ),
        (
            r"out of memory|outofmemory|cannot allocate memory|can't allocate memory|bad_alloc|\bMemoryError\b"
            r"|no available memory|not enough memory|insufficient memory|failed to allocate|unable to allocate"
            r"|free memory on device"
            r"|larger than the available KV cache memory|KV cache is needed",
            "give it less to hold: a smaller model or window (--max-model-len, --ctx-size), fewer calls at once "
            "(--max-num-seqs, --parallel); or another share of the memory (--gpu-memory-utilization)",
        ),
        (
            r"greater than the derived max_model_len",
            "ask for a shorter window: the model was made for the one that its configuration names",
        ),
        (
            r"failed to infer device type|no CUDA GPUs|no NVIDIA driver|NVIDIA driver on your system|libcuda\.so"
            r"|CUDA driver|no HIP GPUs",
            "this build of the server wants a GPU that it does not find: use one for this machine",
        ),
        (
            r"gated repo|access to model .* is restricted|401 client error|403 client error",
            "the hub gives this model only to those who have its permission: log in there, or serve a folder",
        ),
        (
            r"is not a (?:valid|local) |not a local folder|does not appear to have a file|no such file or directory"
            r"|file not found|failed to open (?:gguf|file)|repository not found|can't load the (?:configuration|model)"
            r"|repo id must|is not cached locally|couldn't connect to|cannot find the requested files|offline mode",
            "correct the model in `command`: a folder or file is seen from where the run is started, and a name of a "
            "hub is fetched only where the hub can be reached",
        ),
    )
)


def why(log: str, status: int | None = None) -> str:
    """Return why a server did not come up, in its own words and with a remedy; empty where it said nothing.

    Parameters
    ----------
    log : str
        What it printed since it was started.
    status : int or None
        With which it ended; negative for a signal, None where it still runs.

    Returns
    -------
    str
        One line that it said and one of ours, each on a line of its own; its last words where none is known.
    """
    lines = [line for line in map(_plain, log.splitlines()) if line]
    for sign, remedy in _SIGNS:
        found = [line for line in lines if sign.search(line)]
        if found:
            return f"\n    it says: {_shortened(found[-1])}\n    {remedy}"
    if status == -9:
        return (
            "\n    it was killed (SIGKILL), most often by the system for lack of memory"
            "\n    give it less to hold: a smaller model or window, fewer calls at once"
        )
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
