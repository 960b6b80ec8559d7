"""A run that is stopped, however, goes on where it was: nothing finished is asked again, records come out the same."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.workflow.bench import OWN_STUB, REMOTE, Bench, Server, serving

pytestmark = pytest.mark.workflow
ONE_CELL = REMOTE.replace("shard_size: 3", "shard_size: 6").partition("grid:")[0] + "limits: {connections: 4}\n"
DEBATES = "results/remote/debates/arithmetic/sparse/r1-s01.jsonl"
JOB = ("debate", "specs/remote.yaml", "--dataset", "arithmetic", "--cell", "sparse", "--shard", "r1-s01",
       "--out", DEBATES)  # fmt: skip
LOG = "results/remote/calls/arithmetic/r1-s01/sparse.jsonl"
ENOUGH = 12  # calls that are asked before the run is stopped; an undisturbed one asks some fifty


@pytest.fixture
def server(fresh: Bench) -> Iterator[Server]:
    """A stub that takes a fifth of a second for a reply, and the spec that uses it."""
    fresh.write("specs/remote.yaml", ONE_CELL)
    with serving(OWN_STUB, "--latency", "0.2") as server:
        fresh.environment["STUB_URL"] = server.address
        yield server


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The records of the same spec, from a run that nothing stopped."""
    bench = Bench(tmp_path_factory.mktemp("undisturbed"))
    bench.write("specs/remote.yaml", ONE_CELL)
    with serving(OWN_STUB) as server:
        bench.environment["STUB_URL"] = server.address
        run = bench.cortexdsl(*JOB)
    assert run.status == 0, run.text
    return (bench.folder / DEBATES).read_bytes()


def started(bench: Bench, server: Server, *arguments: str) -> subprocess.Popen[bytes]:
    """Start Snakemake, and wait until the stub has been asked enough."""
    process = bench.start(DEBATES, *arguments)
    while server.stats()["calls"] < ENOUGH:
        if process.poll() is not None:
            raise AssertionError(f"the run ended before it could be stopped:\n{bench.said()}")
        time.sleep(0.02)
    return process


def debate_process(run: subprocess.Popen[bytes]) -> psutil.Process:
    """The process of the debate job that a run of Snakemake has started."""
    below = psutil.Process(run.pid).children(recursive=True)
    return next(one for one in below if "debate" in one.cmdline() and "python" in one.cmdline()[0])


def lines_of(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def goes_on(bench: Bench, server: Server, before: int, undisturbed: bytes) -> None:
    """Run the same command again; `before` calls had been asked when the run was stopped."""
    kept = lines_of(bench.folder / LOG)
    assert 0 < kept <= before
    run = bench.snakemake(DEBATES)
    assert run.status == 0, run.text
    needed = {turn["call"] for debate in bench.debates("remote") for turn in debate["turns"]}
    assert server.stats()["calls"] - before == len(needed) - kept
    assert lines_of(bench.folder / LOG) == len(needed)
    assert (bench.folder / DEBATES).read_bytes() == undisturbed


def test_a_killed_debate_job_goes_on_where_its_log_ends(fresh: Bench, server: Server, undisturbed: bytes) -> None:
    """`kill -9` of the job alone: Snakemake says that it failed; the same command finishes it."""
    process = started(fresh, server)
    debate_process(process).kill()
    assert process.wait(60) == 1
    assert not (fresh.folder / DEBATES).exists()
    goes_on(fresh, server, settled(server), undisturbed)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_an_interrupted_workflow_stops_and_goes_on(
    fresh: Bench, server: Server, number: signal.Signals, undisturbed: bytes
) -> None:
    """Ctrl-C reaches Snakemake and its jobs, as a terminal sends it; SIGTERM Snakemake alone, which ends its jobs."""
    process = started(fresh, server)
    (os.killpg if number is signal.SIGINT else os.kill)(process.pid, number)
    assert process.wait(60) == 1
    assert "Traceback" not in fresh.said()
    assert not (fresh.folder / DEBATES).exists()
    goes_on(fresh, server, settled(server), undisturbed)


@pytest.mark.parametrize("warm", [True, False], ids=["worker", "no worker"])
def test_a_killed_snakemake_leaves_nothing_and_the_same_command_goes_on(
    fresh: Bench, server: Server, undisturbed: bytes, warm: bool
) -> None:
    """`kill -9` of Snakemake alone: its jobs and its worker end by themselves, and no lock stays behind."""
    process = started(fresh, server, *([] if warm else ["--config", "worker=false"]))
    others = psutil.Process(process.pid).children(recursive=True)
    assert any("cortexdsl.cli.worker" in one.cmdline() for one in others) == warm
    process.kill()
    process.wait(60)
    _, left = psutil.wait_procs(others, timeout=60)
    assert left == []
    assert not (fresh.folder / DEBATES).exists()  # they were ended, and have not run to their end
    goes_on(fresh, server, settled(server), undisturbed)


def test_a_killed_worker_is_done_without(fresh: Bench, server: Server, undisturbed: bytes) -> None:
    """`kill -9` of the worker in the middle of a job: the job goes on by itself, and the run ends well."""
    process = started(fresh, server)
    (worker,) = [one for one in psutil.Process(process.pid).children() if "cortexdsl.cli.worker" in one.cmdline()]
    worker.kill()
    assert process.wait(60) == 0, fresh.said()
    assert (fresh.folder / DEBATES).read_bytes() == undisturbed


def settled(server: Server) -> int:
    """Calls asked so far, once no more arrive: those on their way when the client died are counted too."""
    seen = -1
    while seen != server.stats()["calls"]:
        seen = server.stats()["calls"]
        time.sleep(0.3)
    return seen


def test_a_half_written_log_line_is_cut_off_and_asked_again(fresh: Bench, server: Server, undisturbed: bytes) -> None:
    """The last line of a log torn in the middle, as a full disk or a power cut leaves it: one call is lost."""
    assert fresh.cortexdsl(*JOB).status == 0
    log = fresh.folder / LOG
    log.write_bytes(log.read_bytes()[:-40])
    (fresh.folder / DEBATES).unlink()
    before = server.stats()["calls"]
    assert fresh.cortexdsl(*JOB).status == 0
    assert server.stats()["calls"] == before + 1
    assert (fresh.folder / DEBATES).read_bytes() == undisturbed
