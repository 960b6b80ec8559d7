"""`cortexdsl view` as it is typed."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from cortexdsl.cli.verbs import run


@contextmanager
def shown(made: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The verb in a process of its own, and the address that it prints."""
    command = [sys.executable, "-m", "cortexdsl", "view", str(made), "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # It heeds SIGINT as in a terminal, though a shell may have started these tests in the background.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().split()[0]
        finally:
            process.kill()


def test_it_prints_where_it_is_and_ends_with_control_c(made: Path) -> None:
    with shown(made) as (process, address):
        bare, _, token = address.partition("?token=")
        assert len(token) >= 32
        names = f"{bare}data/experiments.json"
        assert httpx.get(names).status_code == 401  # another user of this machine
        with httpx.Client(follow_redirects=True) as browser:
            assert browser.get(address).status_code == 200
            assert browser.get(names).json() == {"experiments": ["made"], "is_static": False, "can_label": True}
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (0, "")


def test_control_c_does_not_wait_for_a_browser_that_stopped_reading(made: Path) -> None:
    with shown(made) as (process, address), socket.socket() as browser:
        place = httpx.URL(address)
        browser.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        browser.connect((place.host, place.port))
        cookie = f"cortexdsl-explorer-{place.port}={place.params['token']}"
        page = f"GET /app.js HTTP/1.1\r\nHost: {place.netloc.decode()}\r\nCookie: {cookie}\r\n\r\n"
        browser.sendall(page.encode() * 40)  # more than the buffers of both sides hold
        assert browser.recv(15) == b"HTTP/1.1 200 OK"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)  # aiohttp itself waits for two minutes
    assert (process.returncode, said) == (0, "")


def test_files_are_written_and_counted(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["view", str(made), "--static", str(tmp_path / "site")]) == 0
    assert "24 debates" in capsys.readouterr().out
    assert run(["view", str(made), "--static", str(tmp_path / "site")]) == 0  # an explorer may be written anew


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "nowhere: neither"),
        (["--port", "70000"], "a port is a number"),
        (["--host", "192.0.2.1"], "cannot listen"),
    ],
)
def test_bad_input_is_one_clear_error(
    made: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    place = [] if arguments == ["nowhere"] else [str(made)]
    assert run(["view", *arguments, *place]) == 2
    assert said in capsys.readouterr().err
