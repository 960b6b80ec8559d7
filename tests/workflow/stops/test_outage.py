"""A run that meets an outage or a limit ends, says so, and goes on where it stopped once that is over."""

from __future__ import annotations

import json
import re

import pytest

from tests.workflow.bench import OWN_STUB, REMOTE, REMOTE_SCORES, Bench, serving

pytestmark = pytest.mark.workflow


def test_calls_that_fail_end_the_run_and_are_asked_again_on_request(fresh: Bench) -> None:
    """Three in ten calls are refused as too long. Kept failures stay what they are until errors_again is said, and
    afterwards nothing is left to do."""
    fresh.write("specs/remote.yaml", REMOTE)
    with serving(OWN_STUB, "--fault", "context=0.3") as server:
        fresh.environment["STUB_URL"] = server.address
        run = fresh.snakemake(REMOTE_SCORES)
    assert run.status != 0
    assert "brought no reply, and `limits: failed` allows 0.05" in run.text
    assert "context window exceeded: HTTP 400" in run.text
    assert "cortexdsl run remote --errors-again" in run.text
    suggested = re.search(r"raise the limit: `limits: {failed: (\d+)%}`", run.text)
    assert suggested is not None
    assert int(suggested[1]) > 5  # which is the limit that was exceeded
    with serving(OWN_STUB) as server:
        fresh.environment["STUB_URL"] = server.address
        assert fresh.snakemake(REMOTE_SCORES).status != 0
        again = fresh.snakemake(REMOTE_SCORES, "--config", "errors_again=true")
        assert again.status == 0, again.text
        turns = [turn for debate in fresh.debates("remote") for turn in debate["turns"]]
        assert all(turn["text"] for turn in turns)
        assert not fresh.snakemake("-n", REMOTE_SCORES).planned
        assert not fresh.snakemake("-n", REMOTE_SCORES, "--config", "errors_again=true").planned
    spent = [json.loads(path.read_text()) for path in (fresh.results("remote") / "spent").glob("*.json")]
    assert {job["state"] for job in spent} == {"done"}


def test_failures_are_asked_again_where_they_were_allowed(fresh: Bench) -> None:
    """`failed: 100%` keeps them as data; then a server that is well answers all, and no other call is asked."""
    text = REMOTE.replace("{connections: 8}", "{connections: 8, failed: 100%}").replace("[mean, {top: 1}]", "[mean]")
    fresh.write("specs/remote.yaml", text)

    def failed() -> int:
        return sum(not turn["text"] for debate in fresh.debates("remote") for turn in debate["turns"])

    with serving(OWN_STUB, "--fault", "context=0.3") as server:
        fresh.environment["STUB_URL"] = server.address
        assert fresh.snakemake(REMOTE_SCORES).status == 0
    assert failed() > 0
    with serving(OWN_STUB) as server:
        fresh.environment["STUB_URL"] = server.address
        again = fresh.snakemake(REMOTE_SCORES, "--config", "errors_again=true")
        assert again.status == 0, again.text
    assert failed() == 0
    assert "0 answers and 0 decisions changed" in fresh.cortexdsl("regrade", "remote").text


def test_a_limit_is_exact_over_jobs_and_over_a_raise(fresh: Bench) -> None:
    """Jobs of two cells at once under 20 calls, then 30, then enough: the server sees 20, 30, and all 54 or fewer."""
    fresh.write("specs/remote.yaml", REMOTE.replace("{connections: 8}", "{connections: 8, calls: 20}"))
    with serving(OWN_STUB, "--latency", "0.02") as server:
        fresh.environment["STUB_URL"] = server.address
        for limit, more in ((20, "calls: 30"), (30, "calls: 500")):
            run = fresh.snakemake()
            assert run.status != 0
            assert f"the limit of {limit} calls is reached ({limit} spent)" in run.text
            assert server.stats()["calls"] == limit
            assert "Not finished: " in run.text
            page = (fresh.results("remote") / "stopped.html").read_text()
            assert f"The limit of {limit} calls is reached" in page
            assert "Not done: sparse" in page
            fresh.edit("specs/remote.yaml", f"calls: {limit}", more)
        assert fresh.snakemake(REMOTE_SCORES).status == 0
        assert server.stats()["repeated_bodies"] == 0
