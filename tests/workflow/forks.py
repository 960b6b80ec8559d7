"""Runs of Snakemake and of `cortexdsl` as forks of a process that has imported both: a run then costs no imports.

`Popen` is `subprocess.Popen`, and every command and every option may be given to it. Commands of the kind
`[sys.executable, "-m", MODULE, ...]` with a module of `MODULES` become a fork on Linux, all others are executed.

A fork keeps what a process of its own has: it is a child of this process with a process id, a session if one is asked
for, its folder, environment, arguments, standard streams and no other open files, signals as a new interpreter has
them, its exit status, and its command line in /proc. `os.execv` of such a command begins the next module in the same
process, with the signals of a new interpreter. The worker that a run starts is a fork, too, and a child of the run.
Jobs are what they always are: commands of a shell.

A fork does not show what only a new interpreter shows: that the imports of a command are complete, what variables of
the interpreter do (a command is executed if these differ from those of this process), and another seed of hashes.
Numerical libraries have one thread each. Without `start_new_session` it belongs to the process group of these tests.
Its reports paint no figure and leave the files of figures empty, because figures take most of the time of a small run
(see `FIGURES`). A run that submits jobs to Slurm asks for their states each second, and not in pauses that grow by ten
seconds. Tests that are about the start of a process use `subprocess.Popen`, as `Bench.execute` does.
"""

from __future__ import annotations

import array
import atexit
import ctypes
import gc
import inspect
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from cortexdsl.import_path import SAFE_PATH

REPOSITORY = Path(__file__).resolve().parents[2]
WORKER = "cortexdsl.cli.worker"
MODULES = ("snakemake", "cortexdsl.display.launch", "cortexdsl.cli.main")
PRELOADED = (
    "snakemake.cli", "snakemake.profiles", "snakemake.storage", "snakemake_logger_plugin_cortexdsl", "smart_open",
    "graphlib", "multiprocessing.managers", "networkx", "cortexdsl.cli.verbs",
    "cortexdsl.plan.jobs.damaged_outputs", WORKER,
)  # fmt: skip
OF_THE_INTERPRETER = ("PYTHON", "LC_", "LANG", "HOME")
"""Beginnings of variables that an interpreter or a library reads only when it starts."""
FIGURES = "TESTS_FIGURES"
"""The variable with the kinds of figure files that reports of a fork write, such as `svg`: none by default."""
PRELOAD = "TESTS_PRELOAD"
"""The variable with modules that the server of a fork has imported, too: some seconds for each job that needs them."""
_ENVIRONMENT = dict(os.environ)
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PIPES = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
_CHILD_SUBREAPER = 36  # of Linux's prctl
_MOST_BYTES = 200_000
_HIGH = 200  # open files are moved beyond this number while they get the numbers that they shall have


@dataclass(frozen=True, slots=True)
class Heeding:
    """A `preexec_fn`: the process heeds these signals, also if these tests were told to ignore them.

    Shells that start a command in the background have it ignore SIGINT, and `nohup` SIGHUP.
    """

    signals: tuple[signal.Signals, ...]

    def __call__(self) -> None:
        for number in self.signals:
            signal.signal(number, signal.SIG_DFL)


class Popen(subprocess.Popen[bytes]):
    """`subprocess.Popen`, whose process may be a fork of the fork server (see the head of this module)."""

    def _execute_child(self, *given: Any) -> None:
        execute = super()._execute_child  # type: ignore[misc]
        asked = inspect.signature(execute).bind(*given).arguments
        streams = [asked[name] for name in ("p2cread", "c2pwrite", "errwrite")]
        fork = _forked(asked, [number if file == -1 else file for number, file in enumerate(streams)])
        if fork is None:
            execute(*given)
            return
        self.pid = fork
        self._child_created = True
        self._close_pipe_fds(*(asked[name] for name in _PIPES))


def _forked(asked: Mapping[str, Any], streams: Sequence[int]) -> int | None:
    """Return the process id of a fork for what `Popen` was asked to start; None if it must be executed."""
    command, heeding = _without_safe_path([os.fspath(word) for word in asked["args"]]), asked["preexec_fn"]
    environment = dict(os.environ if asked["env"] is None else asked["env"])
    is_plain = isinstance(asked["args"], list | tuple) and not asked["shell"] and asked["executable"] is None
    if (
        sys.platform != "linux"
        or not is_plain
        or command[:2] != [sys.executable, "-m"]
        or command[2:3] not in [[module] for module in MODULES]
        or not (heeding is None or isinstance(heeding, Heeding))
        or _of_the_interpreter(environment) != _of_the_interpreter(_ENVIRONMENT)
    ):
        return None
    fork = Fork(
        command,
        environment,
        os.fspath(asked["cwd"] or Path.cwd()),
        has_session=bool(asked["start_new_session"]),
        heeded=tuple(heeding.signals) if heeding else (),
        files=(0, 1, 2),
    )
    return _server(environment.get(PRELOAD, "")).fork(fork, streams)


def _without_safe_path(command: Sequence[str]) -> list[str]:
    """Return a command without `-P`: a fork has the import path of its server, which is not that of a folder."""
    return [word for place, word in enumerate(command) if (place, word) != (1, "-P")]


def _of_the_interpreter(environment: Mapping[str, str]) -> dict[str, str]:
    own = {name: value for name, value in environment.items() if name.startswith(OF_THE_INTERPRETER)}
    own.pop(SAFE_PATH, None)
    if own.get("PYTHONPATH") == str(REPOSITORY):  # from where the server imports anyway
        del own["PYTHONPATH"]
    return own


@cache
def _server(more: str = "") -> Server:
    return Server(more)


class Server:
    """The fork server of this process, with the modules of `PRELOAD`; it ends with this process."""

    def __init__(self, more: str = "") -> None:
        self._connection, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        one_thread = import_module("cortexdsl.worker.run").ONE_THREAD
        room = "-" * 4000  # for the command lines of the forks, see `_name_process`
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-c", f"from forks import serve; serve({other.fileno()}, {more.split()})", room],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={**_ENVIRONMENT, **one_thread, "PYTHONPATH": f"{Path(__file__).parent}:{REPOSITORY}"},
                pass_fds=[other.fileno()],
            )
        atexit.register(self._end)

    def fork(self, fork: Fork, files: Sequence[int]) -> int:
        """Return the process id of a new child of this process.

        The server forks it by way of a process that ends at once. Its parent is then the nearest ancestor which asks
        for orphans, and for this moment that is this process.
        """
        prctl = ctypes.CDLL(None).prctl
        prctl(_CHILD_SUBREAPER, 1, 0, 0, 0)
        try:
            _send(self._connection, fork.text(), files)
            answer, _ = _receive(self._connection)
        finally:
            prctl(_CHILD_SUBREAPER, 0, 0, 0, 0)
        if not answer:
            raise OSError("the fork server of the tests has ended: its errors are above")
        return int(answer)

    def _end(self) -> None:
        self._connection.close()
        self._process.wait()


@dataclass(frozen=True, slots=True)
class Fork:
    """What a fork shall be: its command, environment, folder, session, heeded signals, and numbers of open files."""

    command: Sequence[str]
    environment: Mapping[str, str]
    folder: str
    has_session: bool
    heeded: Sequence[int]
    files: Sequence[int]

    def text(self) -> str:
        """Return it as text."""
        return json.dumps([getattr(self, name) for name in self.__slots__])


def _send(connection: socket.socket, text: str, files: Sequence[int] = ()) -> None:
    body = text.encode("utf-8", "surrogateescape")
    assert len(body) < _MOST_BYTES, "the environment is too large for a message"
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))] if files else []
    connection.sendmsg([body], rights)


def _receive(connection: socket.socket) -> tuple[str, list[int]]:
    """Return the next message and its files; an empty one if the other end is closed."""
    body, rights, _, _ = connection.recvmsg(_MOST_BYTES, socket.CMSG_SPACE(16 * 4))
    files = array.array("i")
    for _, _, data in rights:
        files.frombytes(data)
    return body.decode("utf-8", "surrogateescape"), list(files)


# ---------------------------------------------------------------- in the server and in its forks
def serve(number: int, more: Sequence[str] = ()) -> None:
    """Fork for each message, until the tests have ended; import these modules, too."""
    connection = socket.socket(fileno=number)
    ignored = [signal_ for signal_ in SIGNALS if signal.getsignal(signal_) is signal.SIG_IGN]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for module in (*PRELOADED, *import_module(WORKER).LATER):
        import_module(module)
    import_module("snakemake.cli").get_argument_parser()  # finds and imports the plugins
    verbs = import_module("cortexdsl.cli.verbs")
    for name in verbs.VERBS:
        verbs._parser(name)
    import_module("cortexdsl.tasks.registry").registry()
    import_module("cortexdsl.models.known_models").known_model("")
    import_module("cortexdsl.program").note_program()
    templates = import_module("cortexdsl.report.templates")
    for path in Path(templates.__file__ or "").parent.glob("*.j2"):
        templates.template(path.name)
    for module in more:
        import_module(module)
    gc.collect()
    gc.freeze()
    while True:
        text, files = _receive(connection)
        if not text:
            return
        _fork(connection, Fork(*json.loads(text)), files, ignored)
        for file in files:
            os.close(file)


def _fork(connection: socket.socket, fork: Fork, files: Sequence[int], ignored: Sequence[int]) -> None:
    begin, hold = os.pipe()
    between = os.fork()
    if not between:
        if os.fork():
            os._exit(0)
        os.close(hold)
        os.read(begin, 1)  # until the process between has ended, and this one has its parent
        with suppress(OSError):
            _send(connection, str(os.getpid()))
            _become(fork, files, ignored)
        os._exit(1)
    os.waitpid(between, 0)
    os.close(hold)
    os.close(begin)


def _become(fork: Fork, files: Sequence[int], ignored: Sequence[int]) -> NoReturn:
    """Be the process that was asked for."""
    ignored = [number for number in ignored if number not in fork.heeded]
    _take_shape(fork, files, ignored)
    _fork_worker_on_demand(ignored)
    _run(fork.command, ignored)


def _take_shape(fork: Fork, files: Sequence[int], ignored: Sequence[int]) -> None:
    if fork.has_session:
        os.setsid()
    high = [os.dup2(file, _HIGH + place, inheritable=False) for place, file in enumerate(files)]
    os.closerange(0, _HIGH)
    for number, file in zip(fork.files, high, strict=True):
        os.dup2(file, number)
    os.closerange(_HIGH, os.sysconf("SC_OPEN_MAX"))
    import_module("cortexdsl.worker.fork_server").renew_streams()
    os.environ.clear()
    os.environ.update(fork.environment)
    os.chdir(fork.folder)
    path = [place for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place]
    sys.path[:] = [fork.folder, *path, *(place for place in sys.path[1:] if place != str(Path(__file__).parent))]
    _reset_signals(ignored)
    _name_process(fork.command)
    _write_figures(os.environ.get(FIGURES, ""))
    _ask_slurm_each_second()


def _ask_slurm_each_second() -> None:
    """Keep the pause between two queries of a cluster; the plugin makes each longer by ten seconds while jobs run."""
    plugin = sys.modules.get("snakemake_executor_plugin_slurm")
    if plugin is not None:
        pause = property(lambda executor: 1, lambda executor, seconds: None)
        plugin.Executor.next_seconds_between_status_checks = pause  # type: ignore[attr-defined]


def _write_figures(kinds: str) -> None:
    """Write the files of figures that are of these kinds, as wide as a page, and leave others empty.

    Without a kind, paint nothing.
    """
    drawing = import_module("cortexdsl.report.figures.drawing")
    paint, write = drawing.draw_figure, drawing._written
    empty = {"svg": b"<svg></svg>", "pdf": b"", "png": b""}
    drawing._written = lambda canvas, kind: write(canvas, kind) if kind in kinds.split(",") else b""
    if kinds:
        drawing.SHEETS = (drawing.PAGE,)
        return
    drawing._files = lambda canvas: empty  # of modules that are imported later

    def draw(name: str, caption: str, height: object, painter: object) -> Any:
        return drawing.Drawing(name, caption, dict.fromkeys(drawing.SHEETS, empty))

    for module in [one for one in sys.modules.values() if getattr(one, "draw_figure", None) is paint]:
        module.draw_figure = draw  # type: ignore[attr-defined]


def _reset_signals(ignored: Sequence[int]) -> None:
    """Set the signals as an interpreter does that starts."""
    signal.set_wakeup_fd(-1)
    for number in (*SIGNALS, signal.SIGCHLD):
        handler = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, signal.SIG_IGN if number in ignored else handler)


def _name_process(command: Sequence[str]) -> None:
    """Write a command line where the system reads that of this process: in its first memory."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])
    words = b"\0".join(map(os.fsencode, command))[: end - start - 1]
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, words, len(words))


class _Executed(BaseException):
    """Raised by `os.execv`: the process goes on as another command."""


def _run(command: Sequence[str], ignored: Sequence[int]) -> NoReturn:
    """Run `python -m MODULE ...` as an interpreter does, and end this process."""
    thresholds, execute = gc.get_threshold(), os.execv

    def execv(path: str, arguments: Sequence[str]) -> NoReturn:
        command = _without_safe_path(arguments)
        if [path, "-m"] != command[:2] or path != sys.executable or command[2] not in MODULES:
            execute(path, arguments)
        raise _Executed(command)

    os.execv = execv  # type: ignore[assignment]
    while True:
        module = command[2]
        sys.argv, sys.orig_argv = [module, *command[3:]], list(command)
        if module != "snakemake":
            sys.modules.pop(module, None)
        try:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
            _end(0)
        except _Executed as executed:
            command = executed.args[0]
            _reset_signals(ignored)
            gc.set_threshold(*thresholds)
            _name_process(command)
        except SystemExit as ended:
            if isinstance(ended.code, str):
                print(ended.code, file=sys.stderr)
            _end(1 if isinstance(ended.code, str) else int(ended.code or 0))
        except KeyboardInterrupt:
            traceback.print_exc()
            sys.stderr.flush()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)
        except BaseException:
            traceback.print_exc()
            _end(1)


def _end(status: int) -> NoReturn:
    """End as an interpreter does, without taking its modules apart."""
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        traceback.print_exc()
        status = status or 120
    os._exit(status & 0xFF)


def _fork_worker_on_demand(ignored: Sequence[int]) -> None:
    """Fork a process that waits to become the worker of this run, and use it when the run starts one.

    A run has threads when it starts its worker, and cannot be forked any more.
    """
    connection, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    spare = os.fork()
    if not spare:
        _wait_to_be_worker(other.detach(), ignored)
    other.close()
    left = [spare]

    class WorkerPopen(subprocess.Popen[bytes]):
        def _execute_child(self, *given: Any) -> None:
            execute = super()._execute_child  # type: ignore[misc]
            asked = inspect.signature(execute).bind(*given).arguments
            streams = [asked[name] for name in ("p2cread", "c2pwrite", "errwrite")]
            command, passed = _without_safe_path(asked["args"]), sorted(asked["pass_fds"])
            if not left or command[1:3] != ["-m", WORKER] or -1 in streams:
                execute(*given)
                return
            fork = Fork(command, asked["env"], str(Path.cwd()), True, (), (0, 1, 2, *passed))
            try:
                _send(connection, fork.text(), [*streams, *passed])
                answer, _ = _receive(connection)
            except OSError:
                answer = ""
            pid = left.pop()
            if not answer:
                execute(*given)
                return
            self.pid = pid
            self._child_created = True
            self._close_pipe_fds(*(asked[name] for name in _PIPES))

    names = ("DEVNULL", "PIPE", "STDOUT", "TimeoutExpired")
    stand_in = type("subprocess", (), {"Popen": WorkerPopen, **{name: getattr(subprocess, name) for name in names}})

    def dismiss() -> None:
        connection.close()
        for unused in left:
            with suppress(ChildProcessError):
                os.waitpid(unused, 0)

    atexit.register(dismiss)
    import_module("cortexdsl.worker.run").subprocess = stand_in  # type: ignore[attr-defined]


def _wait_to_be_worker(number: int, ignored: Sequence[int]) -> NoReturn:
    os.closerange(0, number)
    os.closerange(number + 1, os.sysconf("SC_OPEN_MAX"))
    for signal_ in SIGNALS:
        signal.signal(signal_, signal.SIG_DFL)
    _name_process(["waiting to be a worker"])
    connection = socket.socket(fileno=number)
    text, files = _receive(connection)
    if not text:
        os._exit(0)
    fork = Fork(*json.loads(text))
    _send(connection, "taken")
    connection.detach()
    _take_shape(fork, files, ignored)
    _run(fork.command, ignored)
