"""What is shown of a run is what the server saw: the display's last words, `status` during and after, Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from contextlib import suppress
from typing import Any

import psutil
import pytest

from tests.workflow.bench import OWN_STUB, REMOTE, REMOTE_SCORES, Bench, serving

pytestmark = pytest.mark.workflow


def status(bench: Bench) -> dict[str, Any]:
    """What `cortexdsl status` says, from files alone."""
    found: dict[str, Any] = json.loads(bench.cortexdsl("status", "remote", "--json").text)
    return found


def test_the_display_and_status_count_what_the_server_counted(fresh: Bench) -> None:
    """Every request is a call or another attempt at one; a tenth of them is refused. A run is a few lines."""
    fresh.write("specs/remote.yaml", REMOTE)
    with serving(OWN_STUB, "--fault", "429=0.1") as server:
        fresh.environment["STUB_URL"] = server.address
        run = fresh.snakemake(REMOTE_SCORES)
        seen = server.stats()
    assert run.status == 0, run.text
    said = status(fresh)
    counts = said["all"]["calls"]
    assert counts["asked"] == seen["distinct_bodies"]
    assert counts["asked"] + counts["retried"] == seen["calls"]
    assert said["all"]["retries"] == {"rate_limit": counts["retried"]}
    assert said["all"]["tokens"] == {"input": 7 * counts["asked"], "output": 5 * counts["asked"], "cached": 0}
    assert (said["state"], said["all"]["debates"]) == ("done", {"done": 12, "total": 12})
    last = re.search(r"^remote: 12 of 12 debates, (\d+) calls sent, (\d+) replies reused", run.text, re.MULTILINE)
    assert last is not None, run.text
    assert int(last[1]) == counts["asked"]
    assert int(last[1]) + int(last[2]) == sum(int(row["calls"]) for row in fresh.rows("remote", "scores.csv"))
    assert len(run.text.splitlines()) <= 10, run.text
    assert "12/12" in fresh.cortexdsl("status", "results/remote").text


@pytest.mark.parametrize("first", [False, True], ids=["at once", "a job first"])
def test_ctrl_c_says_what_is_kept_and_how_to_go_on(first: bool, fresh: Bench) -> None:
    """In the middle of calls: no warning of an event loop, no account of rules; `status` saw it run.

    No call ends before the interrupt, however slow the machine is. On a busy machine a job may end before Snakemake
    itself gets the signal.
    """
    fresh.write("specs/remote.yaml", REMOTE)
    with serving(OWN_STUB, "--latency", "60") as server:
        fresh.environment["STUB_URL"] = server.address
        process = fresh.start(REMOTE_SCORES)
        while not list(fresh.results("remote").glob("spent/*.json")) or not server.stats()["calls"]:
            assert process.poll() is None, fresh.said()
        running = status(fresh)
        if first:
            job = next(child for child in psutil.Process(process.pid).children() if "bash" in child.name())
            for each in (*job.children(), job):
                with suppress(psutil.NoSuchProcess):  # a shell ends with its command
                    each.send_signal(signal.SIGINT)
            job.wait(60)
            time.sleep(0.2)  # Snakemake reports the end of the job
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(60) == 1
    assert running["state"] == "running"
    said = fresh.said()
    for noise in ("Traceback", "RuntimeWarning", "RuleException", "CalledProcessError", "failed:"):
        assert noise not in said
    assert "Kept: every finished debate, and every reply that came" in said
    assert re.search(r"^Go on with the same command: snakemake .*results/remote/scores.csv$", said, re.MULTILINE), said


def test_a_missing_variable_is_one_message_before_any_job(fresh: Bench) -> None:
    """Twelve debates in four jobs would each have said the same."""
    fresh.write("specs/remote.yaml", REMOTE)
    fresh.environment.pop("STUB_URL", None)
    run = fresh.snakemake(REMOTE_SCORES)
    assert run.status == 2
    own = [line for line in run.text.splitlines() if not line.startswith("Using workflow specific profile")]
    assert own == [
        "error: specs/remote.yaml: the environment lacks STUB_URL; set it and start again",
        "    export STUB_URL=...",
    ]
    assert not fresh.results("remote").joinpath("debates").exists()
