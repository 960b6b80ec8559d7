"""A `cortexdsl` for workflows of many small jobs: one process that has imported everything, and a fork for each job.

    with forking(folder) as bin: subprocess.run([bin / "python", "-m", "snakemake", ...])

Snakemake starts the same command lines as always and finds a small client called `cortexdsl` beside its Python; the
client hands its arguments, folder and open files over and waits for the exit status. What a job does is what it does
alone, only that its second of imports is spent once.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CLIENT = """#!{python} -SE
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as line:
    line.connect({address!r})
    said = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(line, [len(said).to_bytes(8, "big")], [0, 1, 2])
    line.sendall(said)
    sys.exit(int(line.recv(16) or 1))
"""


@contextmanager
def forking(folder: Path) -> Iterator[Path]:
    """Start the process; yields a folder with a `python` and the client, which stand for an environment's `bin`."""
    bin_ = folder / "bin"
    bin_.mkdir(parents=True)
    address = str(folder / "line")  # a socket's path is short: keep the folder near the root
    # Snakemake looks for commands beside the Python that runs it, however that is reached.
    (bin_ / "python").symlink_to(sys.executable)
    client = bin_ / "cortexdsl"
    client.write_text(CLIENT.format(python=sys.executable, address=address), encoding="utf-8")
    client.chmod(0o755)
    with subprocess.Popen([sys.executable, __file__, address], env=environment(), stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield bin_
        finally:
            process.terminate()


def environment() -> dict[str, str]:
    """An environment in which a linked Python finds the packages of this one, and the checkout."""
    paths = [sysconfig.get_paths()["purelib"], str(Path(__file__).resolve().parents[2])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "agg"}


def serve(address: str) -> None:
    """Import every verb, then fork for each client."""
    from cortexdsl.cli.main import main
    from cortexdsl.cli.verbs import VERBS

    for verb in VERBS:
        importlib.import_module(f"cortexdsl.cli.{'import_' if verb == 'import' else verb}")
    for heavy in ("matplotlib.pyplot", "scipy.stats", "pandas", "statsmodels.api"):
        importlib.import_module(heavy)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(64)
        print("ready", flush=True)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them here: their clients do
        while True:
            line, _ = listener.accept()
            with line:
                head, files, _, _ = socket.recv_fds(line, 8, 3)
                if os.fork() == 0:
                    listener.close()
                    _job(main, line, int.from_bytes(head, "big"), files)
                for file in files:
                    os.close(file)


def _job(main: object, line: socket.socket, size: int, files: list[int]) -> None:
    """In the fork: become the client's process, run the verb, tell its exit status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    status = 1
    try:
        with line.makefile("rb") as reader:
            arguments, folder, variables = json.loads(reader.read(size))
        for number, file in enumerate(files):
            os.dup2(file, number)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(variables)
        status = main(arguments)  # type: ignore[operator]
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        line.sendall(str(status).encode())
        os._exit(status)


if __name__ == "__main__":
    serve(sys.argv[1])
