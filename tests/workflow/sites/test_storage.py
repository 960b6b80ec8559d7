"""Results in a storage of Snakemake's plugins: a bucket on loopback, and a folder. What ran is then deleted."""

from __future__ import annotations

import json
import shutil
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.jobs.serve import free_port
from cortexdsl.models.servers import processes as servers
from cortexdsl.plan.forecast.rounds import MORE
from tests.jobs import stub_engine
from tests.workflow.bench import Bench

pytestmark = [pytest.mark.workflow, pytest.mark.timeout(600)]
NEEDED = ("snakemake_storage_plugin_s3", "snakemake_storage_plugin_fs", "moto")
if absent := [name for name in NEEDED if find_spec(name) is None]:
    pytest.skip(f"not installed: {', '.join(absent)} (make dev)", allow_module_level=True)

SPEC = stub_engine.TWO_METHODS + "hypotheses: [accuracy(full) > accuracy(vote)]\n"


@pytest.fixture
def s3(tmp_path: Path) -> Iterator[tuple[str, Any]]:
    """The address of an S3 server with a bucket `debates`, and a client of it."""
    import boto3

    address = f"http://127.0.0.1:{free_port()}"
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", address.rpartition(":")[2]]
    process = servers.start(command, address, timeout=60)
    try:
        keys = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "region_name": "us-east-1"}
        client = boto3.client("s3", endpoint_url=address, **keys)
        client.create_bucket(Bucket="debates")
        yield address, client
    finally:
        servers.stop(process)


def folder(place: Path, orders: Path) -> Bench:
    """A new folder with the spec."""
    bench = Bench(place)
    command = f"{sys.executable} {stub_engine.__file__} {orders} -i {{requests}} -o {{replies}}"
    bench.write("specs/small.yaml", f"{SPEC}engines:\n  stub: {{command: {json.dumps(command)}}}\n")
    bench.permit("specs/small.yaml")
    return bench


def of_s3(address: str) -> tuple[str, ...]:
    return (
        "--default-storage-provider", "s3", "--default-storage-prefix", "s3://debates/one",
        "--storage-s3-endpoint-url", address, "--storage-s3-access-key", "key", "--storage-s3-secret-key", "secret",
    )  # fmt: skip


def test_a_run_on_s3_fails_in_its_second_round_and_goes_on_from_another_folder(
    tmp_path: Path, s3: tuple[str, Any]
) -> None:
    """Both folders are deleted: report, ledger and records come from the bucket, and nothing is asked twice."""
    address, client = s3
    orders = tmp_path / "orders"
    orders.write_text("ok\nsilent\n", encoding="utf-8")
    first = folder(tmp_path / "first", orders)
    failed = first.snakemake(*of_s3(address))
    assert failed.status == 1, failed.text
    assert "RuntimeError: CUDA out of memory" in failed.text
    shutil.rmtree(first.folder)
    second = folder(tmp_path / "second", orders)
    done = second.snakemake(*of_s3(address))
    assert done.status == 0, done.text
    assert "8 of 8 debates" in done.text
    assert "in storage" not in done.text
    edited = folder(tmp_path / "third", orders)
    edited.edit("specs/small.yaml", "seed: 5", "seed: 6")
    refused = edited.snakemake(*of_s3(address))
    assert (refused.status, "s3://debates/one has results of another version of this spec" in refused.text) == (2, True)
    shutil.rmtree(second.folder)

    first_round, failed_round, second_round = (tmp_path / "orders.asked").read_text(encoding="utf-8").splitlines()
    assert failed_round == second_round  # the engine had written nothing
    assert max(Counter(f"{first_round} {second_round}".split()).values()) == 1
    fetched = Bench(tmp_path / "fetched")
    for entry in client.list_objects_v2(Bucket="debates")["Contents"]:
        path = fetched.write(entry["Key"].removeprefix("one/"), "")
        client.download_file("debates", entry["Key"], str(path))
    assert "accuracy(full) &gt; accuracy(vote)" in (fetched.results("small") / "report.html").read_text("utf-8")
    assert fetched.cortexdsl("verify", "small").status == 0
    local = folder(tmp_path / "local", tmp_path / "other")
    (tmp_path / "other").touch()
    assert local.snakemake().status == 0
    assert fetched.records("small") == local.records("small")


@pytest.mark.skipif(
    shutil.which("rsync") is None, reason="the plugin of folders copies by rsync, which is not installed"
)
def test_jobs_of_a_run_in_a_mounted_folder_find_their_files_by_the_same_names(tmp_path: Path) -> None:
    (tmp_path / "orders").touch()
    bench = folder(tmp_path / "here", tmp_path / "orders")
    where = ("--default-storage-provider", "fs", "--default-storage-prefix", str(tmp_path / "mounted"))
    run = bench.snakemake(*where)
    assert run.status == 0, run.text
    shutil.rmtree(bench.folder)
    assert (tmp_path / "mounted/results/small/report.html").is_file()


@pytest.mark.parametrize("kind", ["silent", "wrong key"])
def test_a_storage_that_refuses_is_one_sentence(tmp_path: Path, s3: tuple[str, Any], kind: str) -> None:
    bench = folder(tmp_path / "here", tmp_path / "orders")
    address = s3[0] if kind == "wrong key" else "http://127.0.0.1:9"
    if kind == "wrong key":  # moto looks at keys only if it is told to
        kind_of_text = {"Content-Type": "text/plain"}
        strict = urllib.request.Request(f"{address}/moto-api/reset-auth", b"0", kind_of_text, method="POST")
        urllib.request.urlopen(strict, timeout=10).close()
    run = bench.snakemake(*of_s3(address))
    assert run.status == 2, run.text
    assert "error: s3://debates/one: the storage refuses" in run.text
    assert "check its address, its bucket and your key" in run.text
    assert "Traceback" not in run.text


@pytest.mark.parametrize("name", ["s3", "kubernetes"])
def test_a_shipped_profile_plans_the_whole_run(
    name: str, repository: Path, tmp_path: Path, s3: tuple[str, Any]
) -> None:
    """As far as it can be tried here: no cluster of Kubernetes is there."""
    if name == "kubernetes" and find_spec("snakemake_executor_plugin_kubernetes") is None:
        pytest.skip("not installed: snakemake-executor-plugin-kubernetes")
    bench = folder(tmp_path / "here", tmp_path / "orders")
    shipped = (repository / "profiles" / name / "config.yaml").read_text(encoding="utf-8")
    for place, value in (("s3://BUCKET/FOLDER", "s3://debates/one"), ("https://ADDRESS", s3[0]), ("REGISTRY", "here")):
        shipped = shipped.replace(place, value)
    bench.write("mine/config.yaml", shipped)
    bench.environment |= {"SNAKEMAKE_STORAGE_S3_ACCESS_KEY": "key", "SNAKEMAKE_STORAGE_S3_SECRET_KEY": "secret"}
    planned = bench.cortexdsl("run", "small", "--profile", "mine", "--", "-n")
    assert planned.status == 0, planned.text
    assert planned.planned["report"] == 1
    assert planned.planned["answer_small_stub"] == 2 + MORE


def test_results_outside_the_storage_are_not_covered(tmp_path: Path) -> None:
    bench = folder(tmp_path / "here", tmp_path / "orders")
    bench.write("results/small/plan.json", "{}")
    run = bench.snakemake("--default-storage-provider", "fs", "--default-storage-prefix", str(tmp_path / "mounted"))
    assert (run.status, "this folder has results that are not in" in run.text) == (2, True)
