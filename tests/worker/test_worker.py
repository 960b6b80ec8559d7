"""A job ends the same with and without the worker, and no process outlives its run."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from cortexdsl.errors import RecordError
from cortexdsl.worker.client import ADDRESS
from cortexdsl.worker.process import RUN
from cortexdsl.worker.run import Worker, lock_experiment, start_worker, stop_workers

CLI = [sys.executable, "-m", "cortexdsl.cli.main"]
OUT = "results/{}/debates/arithmetic/{}/r1-s01.jsonl"


def debate(experiment: str = "waiting", cell: str = "solo", *more: str) -> list[str]:
    """Return the command of a debate job."""
    where = ["--dataset", "arithmetic", "--cell", cell, "--shard", "r1-s01", "--out", OUT.format(experiment, cell)]
    return [*CLI, "debate", f"{experiment}.yaml", *where, *more]


SPEC = """\
dataset: {name: arithmetic, size: 1}
models: {m: {model: direct/m, api_base: env:SERVER, parameters: 1.0e9, tokens: 1.0e12}}
agents: [{name: a, model: m}]
methods: {solo: {protocol: standard}}
"""
REPLY = {"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "Answer: 1"}}]}


class Server:
    """A model server that answers when it is told to: jobs wait for it, and it sees when they ask and when they end."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"

    def asked(self) -> socket.socket:
        """Wait for a request, and return its connection."""
        connection, _ = self._listener.accept()
        assert connection.recv(1 << 16).startswith(b"POST /v1/chat/completions ")
        return connection

    def answer(self, connection: socket.socket) -> None:
        body = json.dumps(REPLY)
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall((head + body).encode())
        connection.close()

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server that jobs in `tmp_path` ask."""
    server = Server()
    (tmp_path / "waiting.yaml").write_text(SPEC)
    monkeypatch.setenv("SERVER", server.address)
    yield server
    server.close()


@dataclass(frozen=True)
class Home:
    """A worker that the tests of this module share, where it is at home, and the server that jobs ask there."""

    worker: Worker
    folder: Path
    server: Server
    run: str


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    folder, server = tmp_path_factory.mktemp("home"), Server()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ADDRESS, "")
        patch.setenv(RUN, "")
        patch.setenv("SERVER", server.address)
        patch.chdir(folder)
        workers = start_worker(["direct"])
        home = Home(workers[0], folder, server, os.environ[RUN])
    yield home
    stop_workers(workers)
    server.close()
    assert not home.worker.folder.exists()


@pytest.fixture
def home(shared: Home, monkeypatch: pytest.MonkeyPatch) -> Home:
    """The shared worker, for jobs at its home."""
    monkeypatch.setenv(ADDRESS, str(shared.worker.folder / "socket"))
    monkeypatch.setenv(RUN, shared.run)
    monkeypatch.setenv("SERVER", shared.server.address)
    monkeypatch.chdir(shared.folder)
    return shared


def is_cut(connection: socket.socket) -> bool:
    """Wait until the other end says more or ends; say whether it ended."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True
    finally:
        connection.close()


def job(folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        debate(), cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def environment() -> dict[str, str]:
    """The environment without pytest's variable, which differs from the one that the shared worker started with."""
    return {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}


def start(command: list[str]) -> subprocess.Popen[bytes]:
    """Start a job of the shared worker."""
    return subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE)


def until(holds: Callable[[], bool]) -> None:
    """Wait for what another process is about to do; the test's own time limit ends it."""
    while not holds():
        time.sleep(0.02)


def is_gone(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize(
    ("arguments", "status"), [(["schema", "spec"], 0), (["check", "nothing.yaml"], 2), (["--no-such-option"], 2)]
)
def test_a_job_says_and_ends_the_same_with_and_without_the_worker(
    home: Home, tmp_path: Path, arguments: list[str], status: int
) -> None:
    """Output, errors and exit status; that it was handed over is seen from the modules that the job imports."""
    import_time = [sys.executable, "-X", "importtime", "-m", "cortexdsl.cli.main", *arguments]
    warm = subprocess.run([*CLI, *arguments], cwd=tmp_path, capture_output=True, check=False)
    alone = {name: value for name, value in os.environ.items() if name != ADDRESS}
    cold = subprocess.run([*CLI, *arguments], cwd=tmp_path, capture_output=True, check=False, env=alone)
    assert (warm.returncode, warm.stdout, warm.stderr) == (cold.returncode, cold.stdout, cold.stderr)
    assert warm.returncode == status
    imported = subprocess.run(import_time, cwd=tmp_path, capture_output=True, check=False).stderr
    assert b"cortexdsl.worker.client" in imported
    assert b"argparse" not in imported


def test_a_job_sees_the_folder_and_the_environment_of_whoever_asked_for_it(home: Home, tmp_path: Path) -> None:
    """A variable that the worker has never seen, with what UTF-8 cannot hold, decides about a spec of this folder."""
    (tmp_path / "specs").mkdir()
    spec = tmp_path / "specs" / "s.yaml"
    spec.write_text("dataset: {file: env:ROWS}\n")
    asked = [*CLI, "check", "specs/s.yaml"]
    environment = os.environb | {b"ROWS": b"r\xff.jsonl"}
    warm = subprocess.run(asked, cwd=tmp_path, env=environment, capture_output=True, check=False)
    del environment[ADDRESS.encode()]
    cold = subprocess.run(asked, cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert (warm.returncode, warm.stdout, warm.stderr) == (cold.returncode, cold.stdout, cold.stderr)


def test_a_killed_job_is_stopped_in_the_worker(home: Home, server: Server, tmp_path: Path) -> None:
    """`kill -9` of the process that Snakemake started ends the work for it, and the worker goes on."""
    waiting = job(tmp_path)
    asked = server.asked()
    waiting.kill()
    waiting.communicate()
    assert is_cut(asked)
    assert subprocess.run([*CLI, "--version"], capture_output=True, check=True).stdout


def test_a_job_whose_worker_is_killed_runs_itself(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only when the worker's own process for it has ended: two would write one file. Later jobs run themselves, too."""
    monkeypatch.setenv(ADDRESS, "")
    monkeypatch.setenv(RUN, "")
    workers = start_worker()
    (worker,) = workers
    waiting = job(tmp_path)
    asked = server.asked()
    (fork,) = psutil.Process(worker.process.pid).children()
    worker.process.kill()
    assert is_cut(asked)
    again = server.asked()
    assert is_gone(fork)
    server.answer(again)
    _, errors = waiting.communicate(timeout=60)
    assert waiting.returncode == 0, errors
    assert (tmp_path / OUT.format("waiting", "solo")).read_bytes()
    assert subprocess.run([*CLI, "--version"], capture_output=True, check=True).stdout
    stop_workers(workers)
    assert not worker.folder.exists()


def test_nothing_is_left_when_the_run_is_killed(server: Server, tmp_path: Path) -> None:
    """A program starts a worker and a job and is killed: worker, its folder, job and fork end; nothing goes on."""
    run = (
        "import subprocess, sys; from cortexdsl.worker.run import start_worker; worker, = start_worker();"
        f"job = subprocess.Popen({debate()!r}); print(worker.process.pid, job.pid, flush=True); job.wait()"
    )
    (tmp_path / "tmp").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    process = subprocess.Popen([sys.executable, "-c", run], cwd=tmp_path, stdout=subprocess.PIPE, env=environment)
    assert process.stdout is not None
    worker, waiting = (psutil.Process(int(word)) for word in process.stdout.readline().split())
    asked = server.asked()
    fork = worker.children()[0]
    process.kill()
    process.communicate()
    assert is_cut(asked)
    for one in (worker, waiting, fork):
        until(lambda one=one: is_gone(one))  # type: ignore[misc]
    assert not list((tmp_path / "tmp").glob("cortexdsl-*"))


def test_a_job_that_runs_itself_ends_with_its_run(server: Server, tmp_path: Path) -> None:
    """Its parent may be a shell that lives on: it watches the run, not the parent. It closes its tally."""
    run = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    environment = {**os.environ, RUN: str(run.pid), ADDRESS: ""}
    waiting = subprocess.Popen(debate(), cwd=tmp_path, env=environment)
    asked = server.asked()
    run.kill()
    run.wait()
    assert is_cut(asked)
    assert waiting.wait(60) == 128 + signal.SIGINT
    (tally,) = (tmp_path / "results").rglob("spent/*.json")
    assert json.loads(tally.read_text())["state"] == "stopped"


def test_a_second_run_on_an_experiment_is_refused_while_the_first_lives(tmp_path: Path) -> None:
    """The lock says who holds it, and is free as soon as its holder is killed."""
    code = (
        "import time; from pathlib import Path; from cortexdsl.worker.run import lock_experiment;"
        "lock_experiment(Path('r')); print(flush=True); time.sleep(600)"
    )
    first = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE)
    assert first.stdout is not None
    first.stdout.readline()
    with pytest.raises(RecordError, match=f"process {first.pid} on "):
        lock_experiment(tmp_path / "r")
    first.kill()
    first.communicate()
    lock = lock_experiment(tmp_path / "r")
    assert lock is not None
    os.close(lock)


def test_two_jobs_that_wait_share_one_question_and_write_what_each_writes_alone(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the worker's loop the second cell hears the first one's reply: one request; then both by themselves."""
    both = "{solo: {protocol: voting}, pair: {protocol: self-consistency, samples: 1}}"
    Path("sharing.yaml").write_text(SPEC.replace("{solo: {protocol: standard}}", both))
    tally = Path("results/sharing/spent/arithmetic~pair~r1-s01.json")
    first = start(debate("sharing", "solo", "--threads", "0"))
    asked = home.server.asked()
    second = start(debate("sharing", "pair", "--threads", "0"))
    until(lambda: tally.is_file() and json.loads(tally.read_text())["calls"]["shared"] == 1)
    home.server.answer(asked)
    said = [one.communicate()[1] for one in (first, second)]
    assert b"1 call sent" in said[0]
    assert b"0 calls sent" in said[1]
    records = sorted(Path("results/sharing/debates").rglob("*.jsonl"))
    warm = [path.read_bytes() for path in records]
    for path in records:
        path.unlink()
    monkeypatch.setenv(ADDRESS, "")
    for cell in ("solo", "pair"):
        subprocess.run(debate("sharing", cell), check=True, capture_output=True)
    assert len(warm) == 2
    assert [path.read_bytes() for path in records] == warm


def test_a_killed_job_that_waits_is_stopped_and_its_loop_goes_on(home: Home) -> None:
    """`kill -9` of the client cuts the request that it waits for; the same job, asked for again, is attended to."""
    Path("killed.yaml").write_text(f"seed: 1\n{SPEC}")
    command = debate("killed", "solo", "--threads", "0")
    waiting = start(command)
    asked = home.server.asked()
    waiting.kill()
    waiting.communicate()
    assert is_cut(asked)
    again = start(command)
    home.server.answer(home.server.asked())
    assert b"1 call sent" in again.communicate()[1]
    assert again.returncode == 0


def test_a_job_whose_command_is_none_says_so_itself_and_the_loop_of_the_others_goes_on(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An option that nobody knows ended the loop of all jobs, and what they had asked was asked again."""
    Path("others.yaml").write_text(f"seed: 2\n{SPEC}")
    command = debate("others", "solo", "--threads", "0")
    wrong = [*command, "--no-such-option"]
    waiting = start(command)
    asked = home.server.asked()
    warm = subprocess.run(wrong, env=environment(), capture_output=True, check=False)
    assert warm.returncode == 2
    home.server.answer(asked)
    assert b"1 call sent" in waiting.communicate()[1]
    assert waiting.returncode == 0
    monkeypatch.setenv(ADDRESS, "")
    cold = subprocess.run(wrong, capture_output=True, check=False)
    assert (warm.returncode, warm.stdout, warm.stderr) == (cold.returncode, cold.stdout, cold.stderr)


SCORED = """\
seed: {seed}
dataset: {{name: arithmetic, size: 1}}
models: {{m: {{model: builtin/solver, parameters: 1.0e9, tokens: 1.0e12}}}}
agents: [{{name: a, model: m}}]
methods: {{solo: {{protocol: standard}}}}
"""


def test_jobs_of_one_worker_see_the_spec_as_it_is_now(home: Home, tmp_path: Path) -> None:
    """The worker compiles a spec before the fork: not one that was edited since, nor one of another folder."""
    seeds = []
    for folder, seed in ((home.folder, 1), (home.folder, 2), (tmp_path, 3), (tmp_path, 4), (home.folder, 5)):
        (folder / "scored.yaml").write_text(SCORED.format(seed=seed))
        asked = [*CLI, "plan", "scored.yaml", "--experiment", "scored", "--out", "plan.json"]
        subprocess.run(asked, cwd=folder, env=environment(), check=True)
        seeds.append(json.loads((folder / "plan.json").read_text())["seed"])
    assert seeds == [1, 2, 3, 4, 5]
