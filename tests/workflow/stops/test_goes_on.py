"""Whatever state a stop leaves, the same command finishes: ways to stop times ways to go on.

Each way to stop has an experiment of its own, which is stopped in a folder of its own. For each way to go on, all that
the stops left is copied into one folder, and one run finishes all of it, which is cheaper than single runs. Every
experiment ends with the records of a run that nothing stopped, byte for byte, with scores and a report.
"""

from __future__ import annotations

import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.workflow import forks
from tests.workflow.bench import OWN_STUB, Bench, Run, Server, serving

pytestmark = [pytest.mark.workflow, pytest.mark.timeout(1200)]
SPEC = """\
title: Stopped
seed: 5
dataset: {name: arithmetic, size: 6}
shard_size: 3
models:
  one: {model: direct/one, api_base: env:STUB_URL}
agents:
  - {name: one, model: one, persona: PERSONA}
methods:
  once:  {protocol: cot}
  twice: {protocol: self-consistency, samples: 2}
hypotheses:
  - accuracy(twice) > accuracy(once)
limits: {connections: 2}
""".replace(
    "PERSONA", "careful " * 700
)  # so that a call log outgrows the files of the workflow, see `with_a_full_disk`
CALLS = 12  # of an undisturbed run: two samples of six questions, of which `once` shares the first
PROFILE = "cores: 1\nkeep-going: false\nscheduler: greedy\nrerun-triggers: [mtime, params]\nnolock: true\n"
HEEDING = forks.Heeding((signal.SIGINT, signal.SIGHUP, signal.SIGTERM))
VERDICT_FAILS = {"BASH_FUNC_cortexdsl%%": '() { command cortexdsl "$@" && [ "$1" != verdict ]; }'}


def tree(process: psutil.Process) -> list[psutil.Process]:
    return [*process.children(recursive=True), process]


class Stopping(Bench):
    """A folder with one experiment, and how its run is begun and stopped."""

    def __init__(self, folder: Path, server: Server, name: str) -> None:
        super().__init__(folder, {"STUB_URL": server.address})
        self.name = name
        self.write(f"specs/{name}.yaml", SPEC)

    def replace(self, old: str, new: str) -> None:
        """Edit the spec."""
        self.edit(f"specs/{self.name}.yaml", old, new)

    def restore(self) -> None:
        """Take all edits of the spec back."""
        self.write(f"specs/{self.name}.yaml", SPEC)

    def begin(self, server: Server, calls: int, **options: object) -> subprocess.Popen[bytes]:
        """Start a run and return when the server has been asked so many calls more."""
        before = server.stats()["calls"]
        process = self.started(**options)
        while server.stats()["calls"] - before < calls:
            assert process.poll() is None, self.said()
            time.sleep(0.01)
        return process

    def started(self, **options: object) -> subprocess.Popen[bytes]:
        """Start `cortexdsl run` in a session of its own."""
        with (self.folder / "said.txt").open("wb") as said:
            streams = {"stdin": subprocess.DEVNULL, "stdout": said, "stderr": subprocess.STDOUT} | options
            return forks.Popen(  # type: ignore[call-overload,no-any-return]
                self.program("run", self.name, "--cores", "2"),
                cwd=self.folder,
                env=self.environment,
                start_new_session=True,
                **{"preexec_fn": HEEDING} | streams,
            )

    def interrupted(self, server: Server, calls: int, signals: Sequence[int], *, alone: bool = False) -> None:
        """Send signals one after the other to the run's process group, or to the run alone."""
        process = self.begin(server, calls)
        for number in signals:
            (os.kill if alone else os.killpg)(process.pid, number)
        assert process.wait(60) == 1, self.said()

    def ended(self, *arguments: str) -> None:
        """Run to an end that is not a good one."""
        run = self.run(self.program("run", self.name, *arguments))
        assert run.status != 0, run.text


def with_a_full_disk() -> None:
    """No file may grow beyond so many bytes: writing more fails, as it does where the disk is full.

    The files of the workflow, which Snakemake copies, are smaller; the third call that a log holds is beyond it.
    """
    HEEDING()
    resource.setrlimit(resource.RLIMIT_FSIZE, (16_000, 16_000))


def ctrl_c(bench: Stopping, server: Server, chance: random.Random) -> None:
    bench.interrupted(server, chance.randint(1, CALLS - 2), [signal.SIGINT])


def ctrl_c_twice(bench: Stopping, server: Server, chance: random.Random) -> None:
    bench.interrupted(server, chance.randint(1, CALLS - 2), [signal.SIGINT, signal.SIGINT])


def sigterm(bench: Stopping, server: Server, chance: random.Random) -> None:
    bench.interrupted(server, chance.randint(1, CALLS - 2), [signal.SIGTERM], alone=True)


def closed_terminal(bench: Stopping, server: Server, chance: random.Random) -> None:
    """The terminal that the run belongs to is closed: the system sends SIGHUP, and nothing can be written there."""
    outer, inner = os.openpty()

    def take_terminal() -> None:
        import fcntl
        import termios

        HEEDING()
        fcntl.ioctl(inner, termios.TIOCSCTTY, 0)

    process = bench.begin(
        server, chance.randint(1, CALLS - 2), stdin=inner, stdout=inner, stderr=inner, preexec_fn=take_terminal
    )
    os.close(inner)
    os.close(outer)
    assert process.wait(60) == 1


def outage_at_the_start(bench: Stopping, server: Server, chance: random.Random) -> None:
    address = bench.environment["STUB_URL"]
    bench.environment["STUB_URL"] = "http://127.0.0.1:9/v1"
    bench.ended()
    bench.environment["STUB_URL"] = address


def outage_in_the_middle(bench: Stopping, server: Server, chance: random.Random) -> None:
    address = bench.environment["STUB_URL"]
    with serving(OWN_STUB, "--latency", "0.1") as other:
        bench.environment["STUB_URL"] = other.address
        process = bench.begin(other, chance.randint(1, CALLS - 4))
    assert process.wait(120) == 1, bench.said()
    bench.environment["STUB_URL"] = address


def limit(bench: Stopping, server: Server, chance: random.Random) -> None:
    bench.replace("connections: 2", f"connections: 2, calls: {chance.randint(2, CALLS - 2)}")
    bench.ended()


def full_disk(bench: Stopping, server: Server, chance: random.Random) -> None:
    process = bench.started(preexec_fn=with_a_full_disk)
    assert process.wait(120) != 0, bench.said()


def failing_rule(bench: Stopping, server: Server, chance: random.Random) -> None:
    """The job that tests the claims fails after it has written its tables, which Snakemake removes."""
    bench.environment |= VERDICT_FAILS
    bench.ended()


def reboot(bench: Stopping, server: Server, chance: random.Random) -> None:
    """Everything ends at once, and nothing can clean up."""
    process = bench.begin(server, chance.randint(1, CALLS - 2))
    everything = tree(psutil.Process(process.pid))
    for one in everything:
        one.suspend()
    for one in everything:
        with suppress(psutil.NoSuchProcess):  # some end with the process that waits for them
            one.kill()
    process.wait(60)
    psutil.wait_procs(everything, 60)


def moved(bench: Stopping, server: Server, chance: random.Random) -> None:
    """The results come to another folder without `.snakemake`, and without the ages of their files."""
    sigterm(bench, server, chance)
    shutil.rmtree(bench.folder / ".snakemake")
    results = bench.folder / "results"
    shutil.copytree(results, bench.folder / "copied", copy_function=shutil.copyfile)
    shutil.rmtree(results)
    (bench.folder / "copied").rename(results)


def edited(bench: Stopping, server: Server, chance: random.Random) -> None:
    """A finished run; then an edit whose run is stopped; then the edit is taken back."""
    assert bench.run(bench.program("run", bench.name)).status == 0
    bench.replace("samples: 2", "samples: 3")
    process = bench.begin(server, 1)
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(60) == 1, bench.said()


STOPS: dict[str, Callable[[Stopping, Server, random.Random], None]] = {
    "ctrl-c": ctrl_c,
    "ctrl-c-twice": ctrl_c_twice,
    "sigterm": sigterm,
    "closed-terminal": closed_terminal,
    "outage-at-the-start": outage_at_the_start,
    "outage-in-the-middle": outage_in_the_middle,
    "limit": limit,
    "full-disk": full_disk,
    "failing-rule": failing_rule,
    "reboot": reboot,
    "moved": moved,
    "edited": edited,
}
WITHOUT_PAGE = {"full-disk", "reboot", "edited", "failing-rule"}
"""These leave no page of the stop: it could not be written, there is an earlier report, or every debate was done."""
ALL = ",".join(STOPS)
WAYS: dict[str, Callable[[Bench], list[str]]] = {
    "cortexdsl run": lambda bench: bench.program("run", ALL),
    "snakemake": lambda bench: bench.command(),
    "--errors-again": lambda bench: bench.program("run", ALL, "--errors-again"),
    "another profile": lambda bench: bench.program("run", ALL, "--profile", "mine"),
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving(OWN_STUB, "--latency", "0.1") as server:
        yield server


@pytest.fixture(scope="module")
def undisturbed(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """The records and scores of all experiments, of one run that nothing stopped."""
    bench = Bench(tmp_path_factory.mktemp("undisturbed"), {"STUB_URL": server.address})
    for name in STOPS:
        bench.write(f"specs/{name}.yaml", SPEC)
    run = bench.snakemake(*(f"results/{name}/scores.csv" for name in STOPS))
    assert run.status == 0, run.text
    return bench


@pytest.fixture(scope="module")
def states(server: Server, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folder that each way to stop leaves, with the spec as it was before the stop."""
    folders = {}
    for name, happens in STOPS.items():
        bench = Stopping(tmp_path_factory.mktemp(name), server, name)
        happens(bench, server, random.Random(name))
        bench.restore()
        folders[name] = bench.folder
    return folders


@pytest.fixture(scope="module", params=WAYS)
def gone_on(
    request: pytest.FixtureRequest,
    states: dict[str, Path],
    server: Server,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Bench, Run]:
    """One way to go on, from all states at once."""
    bench = Bench(tmp_path_factory.mktemp("on"), {"STUB_URL": server.address})
    for folder in states.values():
        shutil.copytree(folder, bench.folder, dirs_exist_ok=True)
    bench.write("mine/config.yaml", PROFILE)
    return bench, bench.run(WAYS[request.param](bench))


@pytest.mark.parametrize("stop", STOPS)
def test_a_stop_leaves_no_report_that_is_none(stop: str, states: dict[str, Path]) -> None:
    """What a stopped run has to say stands in stopped.html: the path of the report belongs to its rule."""
    results = states[stop] / "results" / stop
    assert stop == "edited" or not (results / "report.html").exists()
    if stop not in WITHOUT_PAGE and (results / "plan.json").exists():
        assert "Not finished: " in (results / "stopped.html").read_text()


def test_ctrl_c_before_the_first_job_says_nothing(server: Server, tmp_path: Path) -> None:
    """Snakemake has begun its log, and plans: there is nothing to clean up, and no trace is shown."""
    bench = Stopping(tmp_path, server, "early")
    process = bench.started()
    while not list(bench.folder.glob(".snakemake/log/*")):
        assert process.poll() is None, bench.said()
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(60) == 1
    assert "Traceback" not in bench.said()


@pytest.mark.parametrize("stop", ["ctrl-c", "ctrl-c-twice", "sigterm", "closed-terminal"])
def test_a_job_that_is_stopped_says_so(stop: str, states: dict[str, Path]) -> None:
    """Its tally is closed: `status` neither shows a job that runs nor a time that is left."""
    tallies = (states[stop] / "results" / stop / "spent").glob("*.json")
    assert {json.loads(path.read_text())["state"] for path in tallies} <= {"done", "stopped"}


@pytest.mark.parametrize("stop", STOPS)
def test_the_same_command_finishes(stop: str, gone_on: tuple[Bench, Run], undisturbed: Bench) -> None:
    """Records byte for byte, the scores, and a report; what a stopped job had written is not called damage."""
    bench, run = gone_on
    results, expected = bench.results(stop), undisturbed.results(stop)
    assert bench.records(stop) == undisturbed.records(stop), run.text
    assert (results / "scores.csv").read_bytes() == (expected / "scores.csv").read_bytes()
    assert "<h1" in (results / "report.html").read_text()
    assert not (results / "stopped.html").exists()
    assert run.status == 0, run.text
    assert not re.search(rf"^not as it was written, and made again: .*results/{stop}/", run.text, re.MULTILINE), (
        run.text
    )
    assert f"report: results/{stop}/report.html" in run.text
