"""Servers are started, waited for and stopped; one that does not start says why."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from cortexdsl.errors import ModelError
from cortexdsl.models.servers import processes as servers
from cortexdsl.models.servers.pages import is_ready
from cortexdsl.models.servers.processes import start, stop, why

SERVE = (
    "import sys; from http.server import HTTPServer, SimpleHTTPRequestHandler as Handler; "
    "HTTPServer(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()"
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_server_is_started_waited_for_and_stopped(tmp_path: Path) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    process = start([sys.executable, "-c", SERVE, str(port)], url, log=tmp_path / "logs" / "server.log")
    assert is_ready(url)
    assert is_ready(f"{url}absent")  # 404 is an answer too
    with pytest.raises(ModelError, match="something already answers"):
        start([sys.executable, "-c", SERVE, str(port)], url)
    stop(process)
    assert not is_ready(url)
    assert process.returncode is not None
    stop(process)


def test_what_a_server_started_ends_with_it(tmp_path: Path) -> None:
    """A shell that starts the real server, as wrapper scripts do."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    process = start(["sh", "-c", f'"{sys.executable}" -c "$0" {port} & wait', SERVE], url)
    stop(process)
    assert not is_ready(url)


def test_a_server_that_ends_at_once_is_told_with_its_last_words(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import os, sys; print('no GPU', os.environ['WHY']); sys.exit(3)"]
    url = f"http://127.0.0.1:{free_port()}/"
    with pytest.raises(ModelError, match=r"ended with status 3 before it answered(.|\n)*no GPU here"):
        start(command, url, env={"WHY": "here"}, log=tmp_path / "log")


def test_a_server_that_never_answers_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[subprocess.Popen[bytes]] = []

    def noted(process: subprocess.Popen[bytes]) -> None:
        stopped.append(process)
        stop(process)

    monkeypatch.setattr(servers, "stop", noted)
    with pytest.raises(ModelError, match="did not answer"):
        start(["sleep", "60"], f"http://127.0.0.1:{free_port()}/", timeout=0.0, sleep=lambda seconds: None)
    assert stopped[0].returncode is not None


def test_a_program_that_does_not_exist_is_told() -> None:
    with pytest.raises(ModelError, match="no program 'no-such-server'"):
        start(["no-such-server"], f"http://127.0.0.1:{free_port()}/")


@pytest.mark.skipif(not Path("/usr/bin/setpriv").exists(), reason="setpriv (util-linux) is not on this machine")
def test_a_server_ends_with_a_parent_that_is_killed(repository: Path) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    code = (
        "import os, signal, sys\nfrom cortexdsl.models.servers.processes import start\n"
        f"start([sys.executable, '-c', {SERVE!r}, '{port}'], '{url}')\nos.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code], check=False, cwd=repository)
    with socket.socket() as probe:
        probe.settimeout(10)
        for _ in range(1000):
            if not is_ready(url):
                return
    pytest.fail("the server outlived its parent")


VLLM_FLAG = """\
Triton is installed, but doesn't include CPU backend. Disabling Triton.
usage: vllm [-h] [-v]
            {chat,complete,serve,launch,bench,collect-env,download-kernels,preload,run-batch,snapshot}
            ...
vllm: error: unrecognized arguments: --no-such-flag 3
"""
VLLM_MISSING = """\
(APIServer pid=3) INFO 11-22 03:15:51 [utils.py:299] non-default args: {'model': 'models/absent'}
Traceback (most recent call last):
  File "transformers/utils/hub.py", line 595, in cached_files
    raise OSError(f"{e}") from e
OSError: Repo id must be in the form 'repo_name' or 'namespace/repo_name': 'models/absent'. Use `repo_type` argument.
"""
VLLM_MEMORY = """\
(EngineCore pid=9) \x1b[31mERROR\x1b[0m 11-22 03:15:51 [core.py:1010] ValueError: To serve at least one request with \
the model's max seq len (131072), (16.0 GiB KV cache is needed, which is larger than the available KV cache memory \
(4.0 GiB). Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.
(APIServer pid=3) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
"""
LLAMA_MISSING = """\
0.00.183.976 I srv    load_model: loading model 'models/absent.gguf'
0.00.184.208 E gguf_init_from_file: failed to open GGUF file 'models/absent.gguf' (No such file or directory)
0.00.184.218 E llama_model_load: error loading model: llama_model_loader: failed to load model from models/absent.gguf
0.00.196.079 E srv          init: exiting due to model loading error
"""
LLAMA_PORT = """\
0.00.134.305 E srv         start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 8397
0.00.183.932 E srv          init: exiting due to HTTP server error
"""
UVICORN_PORT = (
    "ERROR:    [Errno 98] error while attempting to bind on address ('127.0.0.1', 8000): address already in use\n"
)
UNKNOWN = """\
(EngineCore pid=9) ERROR 11-22 03:15:51 [core.py:1010] NotImplementedError: heads of 28 numbers
(APIServer pid=3) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
"""


@pytest.mark.parametrize(
    ("log", "line", "remedy"),
    [
        (VLLM_FLAG, "it says: vllm: error: unrecognized arguments: --no-such-flag 3\n", "correct `command`"),
        (VLLM_MISSING, "it says: OSError: Repo id must be in the form", "correct the model in `command`"),
        (VLLM_MEMORY, "it says: ValueError: To serve at least one request", "give it less to hold"),
        (LLAMA_MISSING, "it says: gguf_init_from_file: failed to open GGUF file", "correct the model in `command`"),
        (LLAMA_PORT, "it says: couldn't bind HTTP server socket", "write {port} in `command`"),
        (UVICORN_PORT, "address already in use", "write {port} in `command`"),
        (UNKNOWN, "it says: NotImplementedError: heads of 28 numbers", ""),
    ],
)
def test_the_line_that_counts_is_told_with_what_to_do(log: str, line: str, remedy: str) -> None:
    """And not the last line, which says that something failed above."""
    said = why(log, 1)
    assert line in said
    assert remedy in said
    assert "See root cause above" not in said
    assert "pid=" not in said


def test_a_server_that_is_killed_is_taken_for_one_without_memory() -> None:
    """The system's killer leaves no word in the log."""
    assert "most often by the system for lack of memory" in why("loading weights: 40 %\n", -9)


def test_what_no_line_explains_is_told_with_the_last_words() -> None:
    """A server of another kind."""
    assert why("bye\n", 3) == "; its last words:\nbye"
    assert why("", 3) == ""


def test_what_an_earlier_start_said_is_not_told_of_this_one(tmp_path: Path) -> None:
    """Its log goes on where the last run left it."""
    log = tmp_path / "server.log"
    log.write_text("vllm: error: unrecognized arguments: --old\n")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}/"
        with pytest.raises(ModelError) as raised:
            start([sys.executable, "-c", "raise SystemExit('MemoryError: no room')"], url, log=log)
    assert "--old" not in str(raised.value)
    assert "no room" in str(raised.value)
