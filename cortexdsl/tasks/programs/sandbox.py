"""The sandbox that programs of models run in: bubblewrap, a filter of system calls, and limits.

A sandbox has no network, a read-only system without home folders or results, an empty folder of its own in memory, no
variables of the environment, and no process but its own: the filter refuses to start any. Its limits are processor
time, wall-clock time, memory, and the size of files. Output is dropped. Time zone, locale and the seed of hashes are
the same on every machine.
"""

from __future__ import annotations

import atexit
import json
import os
import platform
import py_compile
import re
import shutil
import signal
import struct
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from cortexdsl.errors import InputError
from cortexdsl.import_path import isolated_python
from cortexdsl.tasks.programs import inside, plain_values

COMMAND = "bwrap"
SECONDS = 10
"""Processor time of a program, and of its tests."""
WALL_SECONDS = 30
"""Also for programs that sleep; longer than `SECONDS`, because the machine may be busy."""
MEMORY = 1 << 30
FOLDER = 16 << 20
"""Bytes in the program's own folder, and of its largest file."""
LONGEST_VERDICT = 1 << 20
OWN = "/own"
_CODE = "/code"
_START = f"import sys; sys.path.insert(0, {_CODE!r}); from {inside.__name__} import main; main()"
_OLDEST = (0, 8)
_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin", "HOME": OWN, "LANG": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1",
}  # fmt: skip
_ELSEWHERE = _ENVIRONMENT | {"HOME": "/elsewhere", "LANG": "C", "TZ": "<+0545>-5:45", "PYTHONHASHSEED": "1"}
"""What may differ on another machine."""
ELSEWHERE = "elsewhere"
"""The key of a job that is run so."""

# audit architecture, clone, and what is refused: fork, vfork (x86-64 only), ptrace, process_vm_readv and writev, kcmp,
# unshare, setns, mount, umount2, pivot_root, chroot, bpf, perf_event_open, userfaultfd, io_uring, keys, modules, kexec
_CALLS: Mapping[str, tuple[int, int, tuple[int, ...]]] = {
    "x86_64": (0xC000003E, 56, (
        57, 58, 101, 310, 311, 312, 272, 308, 165, 166, 155, 161, 321, 298, 323, 425, 426, 427, 248, 249, 250, 175,
        313, 176, 246, 320,
    )),
    "aarch64": (0xC00000B7, 220, (
        117, 270, 271, 272, 97, 268, 40, 39, 41, 51, 280, 241, 282, 425, 426, 427, 217, 218, 219, 105, 273, 106, 104,
        294,
    )),
}  # fmt: skip
_CLONE3, _CLONE_THREAD, _FOREIGN = 435, 0x10000, 0x40000000
_ALLOW, _REFUSE, _UNKNOWN, _KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000  # EPERM, ENOSYS


def problem() -> str:
    """Return why programs cannot be run here, with a remedy; empty if they can."""
    if sys.platform != "linux" or platform.machine() not in _CALLS:
        return (
            f"programs are run in a sandbox of Linux on x86-64 or aarch64, and this is {sys.platform} on "
            f"{platform.machine()}\n    run the experiment in a container or on another machine"
        )
    path = shutil.which(COMMAND)
    if path is None:
        return (
            f"programs are run in a sandbox by bubblewrap, and there is no {COMMAND}\n"
            "    install it: apt install bubblewrap (conda: bubblewrap), 0.8 or later"
        )
    return _trial(path)


@cache
def _trial(path: str) -> str:
    """Try whether bubblewrap starts a process; a kernel or a container may refuse it."""
    version = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    numbers = re.search(r"(\d+)\.(\d+)", version)
    if numbers is None or (int(numbers[1]), int(numbers[2])) < _OLDEST:
        return f"{path} is {version.strip() or 'of an unknown version'}\n    install bubblewrap 0.8 or later"
    with _filter_pipe() as descriptor:
        command = [*_command(path, descriptor), *isolated_python(), "-c", ""]
        done = subprocess.run(command, pass_fds=[descriptor], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    return (
        f"{path} starts no sandbox here: {done.stderr.strip()[-200:]}\n"
        "    allow user namespaces without privileges (in a container: --security-opt seccomp=unconfined), or run "
        "elsewhere"
    )


def check() -> None:
    """Refuse to go on if there is no sandbox.

    Raises
    ------
    InputError
    """
    if reason := problem():
        raise InputError(reason)


@cache
def _filter() -> bytes:
    """Return the filter of system calls, as instructions of the kernel's packet filter."""
    architecture, clone, refused = _CALLS[platform.machine()]
    load, equal, atleast, isset, leave = 0x20, 0x15, 0x35, 0x45, 0x06
    end = len(refused)
    steps = [
        (load, 0, 0, 4), (equal, 1, 0, architecture), (leave, 0, 0, _KILL),
        (load, 0, 0, 0), (atleast, end + 5, 0, _FOREIGN),  # numbers of another interface
        (equal, end + 5, 0, _CLONE3), (equal, 0, 2, clone),
        (load, 0, 0, 16), (isset, end, end + 1, _CLONE_THREAD),
        *((equal, end - k, 0, number) for k, number in enumerate(refused)),
        (leave, 0, 0, _ALLOW), (leave, 0, 0, _REFUSE), (leave, 0, 0, _UNKNOWN),
    ]  # fmt: skip
    return b"".join(struct.pack("<HBBI", *step) for step in steps)


@contextmanager
def _filter_pipe() -> Iterator[int]:
    """Give a descriptor that the filter can be read from."""
    reading, writing = os.pipe()
    try:
        os.write(writing, _filter())
        os.close(writing)
        yield reading
    finally:
        os.close(reading)


@cache
def _driver() -> str:
    """Return a folder with the compiled code that runs inside: compiling it takes longer than a run."""
    folder = Path(tempfile.mkdtemp(prefix="cortexdsl-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for module in (inside, plain_values):
        place = folder.joinpath(*module.__name__.split(".")).with_suffix(".pyc")
        py_compile.compile(str(module.__file__), str(place), doraise=True)
    return str(folder)


@cache
def _folders() -> tuple[str, ...]:
    """Return the folders of installed packages, such as numpy."""
    return tuple(dict.fromkeys(sysconfig.get_paths()[name] for name in ("purelib", "platlib")))


def _command(path: str, descriptor: int, environment: Mapping[str, str] = _ENVIRONMENT) -> list[str]:
    """Return the command that a sandbox begins with."""
    own = environment["HOME"]
    places = [place for place in map(Path, ("/lib", "/lib64", "/bin")) if place.exists()]
    links = [part for place in places if place.is_symlink() for part in ("--symlink", f"{place.resolve()}", f"{place}")]
    bound = ["/usr", *(f"{place}" for place in places if not place.is_symlink()), sys.base_prefix, *_folders()]
    return [
        path, "--unshare-all", "--unshare-user", "--uid", "65534", "--gid", "65534", "--cap-drop", "ALL",
        "--die-with-parent", "--new-session", "--hostname", "sandbox", "--clearenv",
        *(part for name, value in environment.items() for part in ("--setenv", name, value)),
        *(part for name in dict.fromkeys(bound) for part in ("--ro-bind", name, name)), *links,
        "--ro-bind", _driver(), _CODE,
        *(part for name in ("null", "zero", "urandom") for part in ("--dev-bind", f"/dev/{name}", f"/dev/{name}")),
        "--size", str(FOLDER), "--tmpfs", own, "--symlink", own, "/tmp",
        "--remount-ro", "/", "--chdir", own, "--seccomp", str(descriptor),
    ]  # fmt: skip


def run(job: Mapping[str, Any]) -> dict[str, Any]:
    """Run a program with its tests, or on its example inputs, each side in a sandbox of its own.

    Parameters
    ----------
    job : mapping
        `program`, and either `tests` (a program, too) or `examples` (a list of expressions). With `elsewhere`: in
        another folder, time zone and locale, and with other hashes.

    Returns
    -------
    dict
        `{"passed": True}`, `{"outputs": [...]}`, or `{"failed": reason}`.
    """
    environment = _ELSEWHERE if ELSEWHERE in job else _ENVIRONMENT
    to_program, to_tests = os.pipe(), os.pipe()
    try:
        tests = _started("tests", to_tests[0], to_program[1], subprocess.PIPE, environment)
        program = _started("program", to_program[0], to_tests[1], subprocess.DEVNULL, environment)
    finally:
        for descriptor in (*to_program, *to_tests):
            os.close(descriptor)
    try:
        verdict = tests.communicate(json.dumps(job).encode(), WALL_SECONDS)[0][:LONGEST_VERDICT]
        if b"the program ended" in verdict:
            program.wait(1)
    except subprocess.TimeoutExpired:
        verdict = b""
    for process in (program, tests):
        process.kill()
        process.communicate()
    if program.returncode == 128 + signal.SIGXCPU:
        return {"failed": f"took more than {SECONDS} s"}
    try:
        return dict(json.loads(verdict))
    except ValueError:
        return {"failed": f"took more than {WALL_SECONDS} s, or its tests did"}


LONGEST_OUTPUT = 1 << 20
"""Bytes of what a program prints; the rest is dropped."""


def output_of(program: str) -> str:
    """Run a program alone, without tests, and return what it prints; an error that ends it is the last line."""
    receive, send = os.pipe()  # it has nobody to speak with
    try:
        process = _started("alone", receive, send, subprocess.PIPE)
    finally:
        os.close(receive)
        os.close(send)
    assert process.stdin is not None
    assert process.stdout is not None
    timer = threading.Timer(WALL_SECONDS, process.kill)
    timer.start()
    try:
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps({"program": program}).encode())
            process.stdin.close()
        output = process.stdout.read(LONGEST_OUTPUT)
        is_long = bool(process.stdout.read(1))
        with suppress(subprocess.TimeoutExpired):
            process.wait(0 if is_long else 1)
        is_late = not timer.is_alive()
    finally:
        timer.cancel()
        process.kill()
        process.wait()
        process.stdout.close()
    text = output.decode("utf-8", "replace").rstrip()
    lines = [text] if text else []
    if is_long:
        lines.append(f"(only the first {LONGEST_OUTPUT:,} bytes)")
    if process.returncode == 128 + signal.SIGXCPU:
        lines.append(f"(ended: it took more than {SECONDS} s)")
    elif is_late:
        lines.append(f"(ended: it took more than {WALL_SECONDS} s)")
    return "\n".join(lines) or "(the program printed nothing)"


def _started(
    which: str, receive: int, send: int, channel: int, environment: Mapping[str, str] = _ENVIRONMENT
) -> subprocess.Popen[bytes]:
    path, limits = shutil.which(COMMAND) or COMMAND, map(str, (SECONDS, MEMORY, FOLDER))
    with _filter_pipe() as descriptor:
        command = [*_command(path, descriptor, environment), *isolated_python(), "-c", _START]
        return subprocess.Popen(
            [*command, which, str(receive), str(send), *limits, *_folders()], stdin=channel, stdout=channel,
            stderr=subprocess.DEVNULL, pass_fds=[receive, send, descriptor],
        )  # fmt: skip
