"""On a real Slurm of one node: jobs by themselves, calls shared through logs, a job killed by Slurm and gone on."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.jobs import stub_engine
from tests.workflow.bench import OWN_STUB, REMOTE, REMOTE_SCORES, REPOSITORY, Bench, serving
from tests.workflow.slurm import cluster, why_not

pytestmark = [pytest.mark.workflow, pytest.mark.timeout(900)]
HERE = (
    "--profile", str(REPOSITORY / "profiles" / "slurm"), "--default-resources", "slurm_account=none",
    "slurm_partition=main", "runtime=10", "mem_mb=100",
    "--slurm-init-seconds-before-status-checks", "1", "--latency-wait", "5",
)  # fmt: skip


@pytest.fixture
def slurm(tmp_path: Path) -> object:
    """The cluster; skipped with the reason where there can be none."""
    if find_spec("snakemake_executor_plugin_slurm") is None:
        pytest.skip("the extra [slurm] is not installed")
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    with cluster(tmp_path / "slurm"):
        yield


def running() -> list[str]:
    listed = subprocess.run(["squeue", "-h", "-t", "R", "-o", "%i"], capture_output=True, text=True, check=True)
    return listed.stdout.split()


def test_limits_hold_over_jobs_and_one_that_slurm_kills_goes_on_where_its_log_ends(fresh: Bench, slurm: object) -> None:
    """Ten calls are allowed, and no job sends an eleventh. Then more are: the first job is cancelled amid its calls.

    The same command finishes, and no logged call is asked again.
    """
    fresh.write("specs/remote.yaml", REMOTE.replace("{connections: 8}", "{connections: 8, calls: 10}"))
    with serving(OWN_STUB, "--latency", "1") as server:
        fresh.environment["STUB_URL"] = server.address
        run = fresh.snakemake(*HERE, REMOTE_SCORES, timeout=400)
        assert run.status == 1, run.text
        before = server.stats()["calls"]
        assert 0 < before <= 10
        fresh.edit("specs/remote.yaml", "calls: 10", "calls: 1000")
        process = fresh.start(*HERE, REMOTE_SCORES)
        while server.stats()["calls"] < before + 8 or not running():
            assert process.poll() is None, fresh.said()
            time.sleep(0.1)
        subprocess.run(["scancel", running()[0]], check=True)
        assert process.wait(300) == 1, fresh.said()
        assert "failed: debate" in fresh.said()
        run = fresh.snakemake(*HERE, REMOTE_SCORES, timeout=400)
        assert run.status == 0, run.text
        # Four jobs share the eight connections: two calls of the cancelled one were in flight.
        assert server.stats()["repeated_bodies"] <= 2
    assert len(fresh.debates("remote")) == 12
    assert "12/12" in fresh.cortexdsl("status", "remote").text


@pytest.mark.parametrize("where", ["shared", "storage"])
def test_rounds_of_files_on_slurm_need_no_server(
    fresh: Bench, slurm: object, tmp_path: Path, where: str, request: pytest.FixtureRequest
) -> None:
    """Up to the report; also with nothing shared but a folder that stands for an object store."""
    if not request.config.getoption("--thorough"):
        pytest.skip("22 jobs wait for Slurm, five minutes: --thorough")
    command = f"{sys.executable} {stub_engine.__file__} {tmp_path / 'orders'} -i {{requests}} -o {{replies}}"
    (tmp_path / "orders").touch()
    fresh.write("specs/small.yaml", f"{stub_engine.TWO_METHODS}engines:\n  stub: {{command: {json.dumps(command)}}}\n")
    fresh.permit("specs/small.yaml")
    storage = (
        "--default-storage-provider", "fs", "--default-storage-prefix", str(tmp_path / "bucket"),
        "--shared-fs-usage", "none",
    )  # fmt: skip
    fresh.environment["PATH"] = f"{Path(sys.executable).parent}:{fresh.environment['PATH']}"
    often = "--seconds-between-status-checks", "1"
    run = fresh.snakemake(*HERE, *often, *(storage if where == "storage" else ()), timeout=800)
    assert run.status == 0, run.text + run.log
    root = fresh.folder if where == "shared" else tmp_path / "bucket"
    assert (root / "results/small/report.html").is_file()
    asked = (tmp_path / "orders.asked").read_text(encoding="utf-8").split()
    assert len(asked) == len(set(asked)) == 16
