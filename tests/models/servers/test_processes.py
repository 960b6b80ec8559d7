"""Model servers: waited for until they answer, stopped with all that they started."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from cortexdsl.errors import ModelError
from cortexdsl.models.servers import processes as servers
from cortexdsl.models.servers.processes import is_ready, start, stop

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
