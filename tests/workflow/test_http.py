"""Debates over HTTP: what is sent, what is shared, what failures come to, and what is never shown."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import psutil
import pytest

from cortexdsl.jobs.serve import free_port
from tests.workflow.bench import OWN_STUB, REMOTE, REMOTE_SCORES, Bench, serving

pytestmark = pytest.mark.workflow
KEY = "sk-proof-0123456789-abcdefghijkl"


def logged(bench: Bench) -> list[dict[str, object]]:
    """Every line of every call log."""
    files = (bench.results("remote") / "calls").rglob("*.jsonl")
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_arms_that_differ_in_keep_alone_send_their_openings_once_also_from_jobs_at_the_same_time(
    fresh: Bench, stub: Path
) -> None:
    """Six questions, three agents: 18 openings for both cells together, in one call log each, never asked twice."""
    fresh.write("specs/remote.yaml", REMOTE)
    with serving(stub, "--latency", "0.05") as server:
        fresh.environment["STUB_URL"] = server.address
        run = fresh.snakemake(REMOTE_SCORES)
        stats = server.stats()
    assert run.status == 0, run.text
    assert stats["repeated_bodies"] == 0
    assert stats["calls"] == stats["distinct_bodies"] == len(logged(fresh))
    openings = {turn["call"] for debate in fresh.debates("remote") for turn in debate["turns"] if turn["round"] == 0}
    assert len(openings) == 18
    assert Counter(str(line["key"]) for line in logged(fresh)).most_common(1)[0][1] == 1
    for debate in fresh.debates("remote"):
        assert {turn["call"] for turn in debate["turns"]} <= {line["key"] for line in logged(fresh)}


def test_gsm8k_is_debated_over_http_and_replays_offline_byte_for_byte(
    fresh: Bench, stub: Path, shared_data: Path
) -> None:
    """The file's golds end in `#### NUMBER`; scores are its numbers against the answers in the records."""
    data = shared_data / "gsm8k_test.jsonl"
    text = REMOTE.replace("{name: arithmetic, size: 6}", f"{{name: gsm8k, file: {data}, size: 6}}")
    is_own = stub == OWN_STUB
    fresh.write("specs/remote.yaml", text if is_own else text.replace("direct/", "openai/"))
    fresh.permit("remote")
    with serving(stub) as server:
        fresh.environment["STUB_URL"] = server.address
        run = fresh.snakemake(REMOTE_SCORES)
        before = server.stats()["calls"]
        replay = fresh.cortexdsl("replay", "specs/remote.yaml")
        assert server.stats()["calls"] == before
    assert run.status == 0, run.text
    assert (replay.status, "4 of 4 jobs" in replay.text) == (0, True), replay.text
    lines = [json.loads(line) for line in data.read_text().splitlines()]
    asked = {str(line["key"]): str(line["messages"]) for line in logged(fresh)}
    rows = {(row["cell"], row["question_id"]): float(row["score"]) for row in fresh.rows("remote", "scores.csv")}
    assert len(rows) == 12
    for debate in fresh.debates("remote"):
        prompt = asked[debate["turns"][0]["call"]]
        gold = next(line["answer"] for line in lines if str([line["question"]])[2:60] in prompt)
        is_right = debate["answer"] == gold.rpartition("#### ")[2].replace(",", "")
        assert rows[debate["cell"], debate["question_id"]] == is_right


def test_failures_are_got_through_or_kept_as_data_and_no_row_is_missing(fresh: Bench, stub: Path) -> None:
    """Every fault at 4 %: retried where that helps; what stays is a failure in the log, and an unreadable turn."""
    fresh.write("specs/remote.yaml", REMOTE)
    faults = ("429", "500", "disconnect", "truncated", "badjson", "empty", "garbage", "length", "nousage")
    with serving(stub, *(word for fault in faults for word in ("--fault", f"{fault}=0.04"))) as server:
        fresh.environment["STUB_URL"] = server.address
        run = fresh.snakemake(*([] if stub == OWN_STUB else [REMOTE_SCORES]))
    assert run.status == 0, run.text
    rows = fresh.rows("remote", "scores.csv")
    assert len({(row["cell"], row["replicate"], row["question_id"]) for row in rows}) == len(rows) == 12
    unread = sum(turn["answer"] is None for debate in fresh.debates("remote") for turn in debate["turns"])
    assert unread == sum(int(row["unparsed_turns"]) for row in rows)
    assert any(turn["prompt_tokens"] is None for debate in fresh.debates("remote") for turn in debate["turns"])
    if stub == OWN_STUB:  # of both stubs, what fails is drawn from the request, and so always the same
        assert unread > 0
        assert "7*7 }}<script>" not in (fresh.results("remote") / "report.html").read_text()
    assert fresh.cortexdsl("replay", "specs/remote.yaml").status == 0


def test_a_server_that_answers_with_nothing_readable_ends_in_scores_of_zero(fresh: Bench) -> None:
    """Every reply is cut before its answer: no debate has one, which scores 0 and is not missing."""
    fresh.write("specs/remote.yaml", REMOTE.replace("size: 6", "size: 2"))
    with serving(OWN_STUB, "--fault", "length=1") as server:
        fresh.environment["STUB_URL"] = server.address
        run = fresh.snakemake(REMOTE_SCORES)
    assert run.status == 0, run.text
    rows = fresh.rows("remote", "scores.csv")
    assert [row["score"] for row in rows] == ["0"] * 4
    assert all(debate["answer"] is None for debate in fresh.debates("remote"))


def test_a_server_that_is_not_there_is_one_clear_error_with_the_remedy(fresh: Bench) -> None:
    """Model, address and what to do; no traceback; the exit status says that the experiment failed."""
    fresh.write("specs/remote.yaml", REMOTE)
    fresh.environment["STUB_URL"] = f"http://127.0.0.1:{free_port()}/v1"
    run = fresh.snakemake("results/remote/debates/arithmetic/sparse/r1-s01.jsonl")
    assert run.status == 1
    assert "Traceback" not in run.text
    assert "see that the server runs and answers at this address" in run.text
    assert fresh.environment["STUB_URL"] in run.text
    assert run.text.count("the server failed or could not be reached") <= 2  # the job, and Snakemake's summary of it


def test_a_variable_without_address_is_named(fresh: Bench) -> None:
    """`api_base: env:STUB_URL` with nothing set."""
    fresh.write("specs/remote.yaml", REMOTE)
    fresh.environment.pop("STUB_URL", None)
    run = fresh.cortexdsl("debate", "specs/remote.yaml", "--dataset", "arithmetic", "--cell", "sparse",
                          "--shard", "r1-s01", "--out", "x.jsonl")  # fmt: skip
    assert run.status == 1
    assert "STUB_URL" in run.text
    assert "export STUB_URL=" in run.text
    assert not (fresh.folder / "x.jsonl").exists()


@pytest.mark.parametrize("right", [True, False], ids=["right key", "wrong key"])
def test_a_key_is_sent_and_stands_nowhere(fresh: Bench, right: bool) -> None:
    """The stub repeats a wrong key in its refusal, as providers do; no file, log or message may hold it."""
    text = REMOTE.replace("api_base: env:STUB_URL,", "api_base: env:STUB_URL, api_key_env: PROOF,")
    fresh.write("specs/remote.yaml", text.replace("size: 6", "size: 2"))
    fresh.permit("remote")
    fresh.environment["PROOF"] = KEY if right else f"{KEY}-wrong"
    with serving(OWN_STUB, "--api-key", KEY) as server:
        fresh.environment["STUB_URL"] = server.address
        run = fresh.snakemake(REMOTE_SCORES)
    assert run.status == (0 if right else 1), run.text
    assert KEY not in run.text
    holding = [path for path in fresh.folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert holding == []
    if not right:
        assert "authentication failed" in run.text
        assert "api_key_env" in run.text
        assert "Traceback" not in run.text


def test_a_declared_server_is_started_used_and_gone_also_after_a_failure(fresh: Bench) -> None:
    """The stub as the spec's server; then one that refuses every call. A dry run starts none."""
    fresh.environment["PATH"] = f"{Path(sys.executable).parent}:{fresh.environment['PATH']}"
    command = f"python {OWN_STUB} --port {{port}}"
    servers = f"servers:\n  stub: {{command: {json.dumps(command)}, env: STUB_URL}}\n"
    fresh.write("specs/remote.yaml", REMOTE.replace("size: 6", "size: 2") + servers)
    fresh.environment.pop("STUB_URL", None)
    dry = fresh.snakemake("--dry-run", REMOTE_SCORES)
    assert dry.status == 0
    assert not (fresh.results("remote") / "logs" / "server-stub.log").exists()
    refused = fresh.snakemake(REMOTE_SCORES)
    assert "run the command python" in refused.text
    assert not (fresh.results("remote") / "logs").exists()
    fresh.permit("remote")
    run = fresh.snakemake(REMOTE_SCORES)
    assert run.status == 0, run.text
    assert len(fresh.rows("remote", "scores.csv")) == 4
    assert left_over(fresh) == []
    fresh.edit("specs/remote.yaml", "--port {port}", "--port {port} --api-key another")
    fresh.edit("specs/remote.yaml", "seed: 5", "seed: 6")
    fresh.permit("remote")
    run = fresh.snakemake(REMOTE_SCORES)
    assert run.status == 1
    assert "authentication failed" in run.text
    assert left_over(fresh) == []


def test_a_declared_server_that_does_not_come_up_is_one_clear_error(fresh: Bench) -> None:
    """A command that ends at once; its last words are shown."""
    servers = "servers:\n  stub: {command: 'false', env: STUB_URL}\n"
    fresh.write("specs/remote.yaml", REMOTE + servers)
    fresh.permit("remote")
    run = fresh.snakemake(REMOTE_SCORES)
    assert run.status == 1
    assert "ended with status 1 before it answered" in run.text
    assert "Traceback" not in run.text


def left_over(bench: Bench) -> list[str]:
    """What still runs in a folder."""
    found = []
    for process in psutil.process_iter(["cmdline", "cwd"]):
        if process.info["cwd"] and Path(process.info["cwd"]) == bench.folder:
            found.append(" ".join(process.info["cmdline"] or ()))
    return found


def test_a_limit_ends_the_run_and_a_higher_one_goes_on(fresh: Bench) -> None:
    """At most ten calls are sent, over both cells and all jobs; what they brought is not asked again."""
    fresh.write("specs/remote.yaml", REMOTE.replace("{connections: 8}", "{connections: 8, calls: 10}"))
    with serving(OWN_STUB) as server:
        fresh.environment["STUB_URL"] = server.address
        run = fresh.snakemake(REMOTE_SCORES, cores=1)
        assert run.status == 1
        assert "the limit of 10 calls is reached" in run.text
        assert "raise `limits: calls` in the spec and run again" in run.text
        assert "Traceback" not in run.text
        assert 0 < server.stats()["calls"] <= 10
        fresh.edit("specs/remote.yaml", "calls: 10", "calls: 1000")
        assert fresh.snakemake(REMOTE_SCORES).status == 0
        assert server.stats()["repeated_bodies"] == 0
        assert server.stats()["calls"] == len(logged(fresh))


def test_another_number_of_connections_asks_nothing_again(fresh: Bench) -> None:
    """With one connection 24 questions are two jobs, with eight they were one: the cut stays, as the logs lie by it."""
    text = REMOTE.replace("size: 6", "size: 24").replace("shard_size: 3\n", "")
    fresh.write("specs/remote.yaml", text.replace("connections: 8", "connections: 1"))
    with serving(OWN_STUB) as server:
        fresh.environment["STUB_URL"] = server.address
        assert fresh.snakemake(REMOTE_SCORES).status == 0
        calls = server.stats()["calls"]
        fresh.write("specs/remote.yaml", text)
        run = fresh.snakemake(REMOTE_SCORES)
        assert run.status == 0, run.text
        assert server.stats()["calls"] == calls


def test_odd_texts_and_ids_of_a_dataset_go_through_to_the_report(fresh: Bench) -> None:
    """Newlines, commas, quotes, markup, other scripts, and what Jinja would render if it were ever rendered again."""
    texts = ["a\nb", 'c,"d"', "<b>&amp;</b>", "{{ 7*7 }}{% raw %}", "Ärger 火 \u202e", "$x$ `y` | z", "../up", "=1+1"]
    texts += ["NA", "007", "1e5", "x\ry", "nan", "True"]
    rows = [{"id": text, "question": f"{text}: what is 1+2?", "answer": "3"} for text in texts]
    fresh.write("odd.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    text = REMOTE.replace("{name: arithmetic, size: 6}", "{file: ../odd.jsonl, id: id}")
    text = text.replace("shard_size: 3", "shard_size: 20")
    fresh.write("specs/remote.yaml", text)
    with serving(OWN_STUB) as server:
        fresh.environment["STUB_URL"] = server.address
        run = fresh.snakemake()
    assert run.status == 0, run.text
    rows_by_cell = {(row["cell"], row["question_id"]) for row in fresh.rows("remote", "scores.csv")}
    assert rows_by_cell == {(cell, text) for cell in ("sparse", "sparse[keep=top-1]") for text in texts}
    prompts = [str(line["messages"]) for line in logged(fresh)]
    assert any("{{ 7*7 }}{% raw %}" in prompt for prompt in prompts)
    assert "<b>&amp;</b>" not in (fresh.results("remote") / "report.html").read_text()
    assert fresh.cortexdsl("show", "results/remote", "--question", "a\nb").status == 0
    assert fresh.cortexdsl("replay", "specs/remote.yaml").status == 0
