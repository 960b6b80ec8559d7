"""Debates that engines answer in files: equal to those through a server, whatever an engine does wrong."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from cortexdsl.cli.main import main
from cortexdsl.core import Call
from cortexdsl.display.progress import WatchedRun, expected_in
from cortexdsl.errors import InputError, SpecError
from cortexdsl.jobs.arguments import ClientOptions
from cortexdsl.jobs.ballots import vote
from cortexdsl.jobs.debate import run_shard
from cortexdsl.jobs.judge import judge_cell
from cortexdsl.jobs.label import label_cell
from cortexdsl.jobs.serve import free_port, refuse_missing_engines
from cortexdsl.models.call_log.append_log import parse, whole_lines
from cortexdsl.models.shared_state import SharedState
from cortexdsl.models.transports.direct import DirectTransport
from cortexdsl.models.transports.interface import Raw
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.forecast.rounds import MORE, rounds_of
from cortexdsl.plan.job_files import answered_logs, debate_files, round_logs, round_parts
from cortexdsl.plan.jobs.consent import VARIABLE, request_of
from cortexdsl.plan.jobs.schedule import asking_jobs
from tests.jobs import stub_engine
from tests.jobs.experiment import call, write_spec

SPEC = """\
seed: 5
dataset: {name: arithmetic, size: 3}
models: {small: {model: openai/small, temperature: 0.5, max_tokens: 50, parameters: 1e9, tokens: 1e12}}
agents: [{name: a, model: small}, {name: b, model: small}, {name: c, model: small}]
limits: {calls: 1000}
methods:
  sparse: {protocol: cortexdebate, rounds: 2}
  full: {protocol: multi-llm, rounds: 2}
  matched: {protocol: self-consistency, agents: [a], budget: calls(full)}
"""
ANSWERED = SPEC.replace("max_tokens: 50", "max_tokens: 50, engine: stub")
SEARCH = "knowledge: {web: {api_key_env: SERPER_API_KEY}}\ntools: {net: {tool: search(web)}}\n"
Run = Callable[..., Plan]


def with_engine(text: str = ANSWERED, command: str | None = None, parts: int = 2) -> str:
    """Return a spec with the stub as its engine."""
    own = f"{sys.executable} {stub_engine.__file__} orders -i {{requests}} -o {{replies}}"
    return text + f"engines:\n  stub: {{command: {json.dumps(command or own)}, parts: {parts}}}\n"


def trusted(spec: str, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """Compile a spec, and permit its command."""
    plan = compile_spec(spec)
    monkeypatch.setenv(VARIABLE, request_of(plan).digest)
    return plan


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the rounds of a spec with the engine's orders, and the debates; returns the plan."""
    monkeypatch.chdir(tmp_path)

    def run(*orders: str, text: str | None = None, more: Sequence[str] = ()) -> Plan:
        Path("orders").write_text("".join(f"{order}\n" for order in orders), encoding="utf-8")
        spec = write_spec(text or with_engine())
        plan = trusted(spec, monkeypatch)
        call("plan", spec, "--declare")
        for number in range(1, rounds_of(plan) + 1):
            ask(spec, plan, number, more)
        finish(spec, plan, more)
        return plan

    return run


def ask(spec: str, plan: Plan, number: int, more: Sequence[str]) -> None:
    """Run the jobs of one round; `more` are options of advances."""
    call("advance", spec, "--round", str(number), *more)
    for engine, part in round_parts(plan):
        requests, replies = plan.layout.requests(number, engine, part), plan.layout.replies(number, engine, part)
        call("answer", spec, "--engine", engine, "--requests", requests, "--out", replies)


def finish(spec: str, plan: Plan, more: Sequence[str]) -> None:
    """Run the jobs after the last round."""
    call("advance", spec, "--round", str(rounds_of(plan) + 1), "--last", *more)
    for dataset, shards in plan.shards.items():
        for cell in plan.cells:
            for shard in shards:
                out = plan.layout.debates(dataset, cell.slug, shard.label)
                call("debate", spec, "--dataset", dataset, "--cell", cell.slug, "--shard", shard.label, "--out", out)
    for job in asking_jobs(plan):
        if job.rule != "debate":
            own = "--judge" if job.rule == "ballots" else "--cell"
            call(job.rule, spec, "--dataset", job.place[0], own, job.place[1], "--out", job.output)


def records(plan: Plan) -> dict[str, bytes]:
    """Return the records of all cells, by the names of their files."""
    return {
        path: Path(path).read_bytes() for cell in plan.cells for path in debate_files(plan, "arithmetic", cell.slug)
    }


def asked() -> list[str]:
    """Return the ids of all requests that the engine was given."""
    return Path("orders.asked").read_text(encoding="utf-8").split()


class _ThroughServer(DirectTransport):
    """Sends the calls of a provider to a server of the test."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self.address = address

    async def send(self, call: Call, api_base: str | None, api_key: str | None) -> Raw:
        return await super().send(call, self.address, None)


async def _through_server(plan: Plan) -> dict[str, bytes]:
    async def chat(request: web.Request) -> web.Response:
        return web.json_response(stub_engine.completion(await request.json()))

    app = web.Application()
    app.router.add_post("/v1/chat/completions", chat)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    address = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    made: dict[str, bytes] = {}
    async with SharedState({"openai": _ThroughServer(address)}) as shared:
        makes: dict[str, Any] = {"debate": run_shard, "judge": judge_cell, "label": label_cell, "ballots": vote}
        for job in asking_jobs(plan):
            await makes[job.rule](plan, *job.place, Path(job.output), ClientOptions(plan.limits, shared=shared))
            made[job.output] = Path(job.output).read_bytes()
    await runner.cleanup()
    return made


@pytest.fixture
def expected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """The records of the same debates through a server with the same replies."""
    folder = tmp_path / "server"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    return asyncio.run(_through_server(compile_spec(write_spec(SPEC))))


def test_records_equal_those_through_a_server(
    expected: dict[str, bytes], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Byte for byte; each call is asked once over all cells, and the log has it once."""
    monkeypatch.chdir(tmp_path)
    plan = run()
    assert records(plan) == expected
    logged = [parse(line) or {} for path in answered_logs(plan, "arithmetic", "r1-s01") for _, line in lines_of(path)]
    assert sorted(asked()) == sorted(record["key"] for record in logged)
    assert max(Counter(asked()).values()) == 1
    for engine, part in round_parts(plan):
        keys = ids_in(plan.layout.requests(2, engine, part))
        assert keys
        assert ids_in(plan.layout.replies(2, engine, part)) == keys


def test_a_debate_may_have_models_of_engines_and_others(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are asked by the job that writes the requests, each call once; a judge may be one of them."""

    def mixed(text: str) -> str:
        text = text.replace("models: {", "models: {solver: {model: builtin/solver, parameters: 1e9, tokens: 1e12}, ")
        text = text.replace("{name: c, model: small}", "{name: c, model: solver}")
        return text + "  judged: {protocol: chateval, rounds: 1}\n"

    folder = tmp_path / "server"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    expected = asyncio.run(_through_server(compile_spec(write_spec(mixed(SPEC)))))
    monkeypatch.chdir(tmp_path)
    plan = run(text=with_engine(mixed(ANSWERED)))
    assert records(plan) == expected
    logged = [parse(line) or {} for path in answered_logs(plan, "arithmetic", "r1-s01") for _, line in lines_of(path)]
    assert {record["model"] for record in logged} == {"openai/small", "builtin/solver"}
    assert max(Counter(record["key"] for record in logged).values()) == 1


JUDGED = """\
replicates: 2
labels: {move: {prompt: move.j2, values: [yes, no], where: changed or not right}}
analysis: {metrics: [judged], judge: strict, tournament: [strict]}
"""


def judged(text: str) -> str:
    """Return a spec whose answers and turns a model judges, one of two that an engine or a server answers."""
    text = text.replace("dataset: {name: arithmetic, size: 3}", "dataset: {file: words.jsonl, kind: text, metric: f1}")
    strict = "models: {strict: {model: openai/strict, max_tokens: 20}, "
    strict = strict.replace("20", "20, engine: stub") if "engine: stub" in text else strict
    return text.replace("models: {", strict) + JUDGED


def write_words() -> None:
    """Write the dataset of `judged` and the prompt of its label."""
    rows = ['{"question": "How many?", "answer": "11"}', '{"question": "How few?", "answer": "two or 12"}']
    Path("specs", "prompts").mkdir(parents=True)
    Path("specs", "words.jsonl").write_text("\n".join(rows), encoding="utf-8")
    Path("specs", "prompts", "move.j2").write_text("{{ turn.text }}\nLabel: <yes or no>", encoding="utf-8")


def test_judgements_labels_and_ballots_equal_those_through_a_server(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their calls join the next round after a debate has ended, and no judge is asked twice."""
    folder = tmp_path / "server"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    write_words()
    plan = compile_spec(write_spec(judged(SPEC)))
    expected = asyncio.run(_through_server(plan))
    judge_files = [job.output for job in asking_jobs(plan) if job.rule != "debate"]
    assert len(judge_files) == 3 + 3 + 1
    assert set(judge_files) < set(expected)
    monkeypatch.chdir(tmp_path)
    write_words()
    plan = run(text=with_engine(judged(ANSWERED)))
    assert rounds_of(plan) == rounds_of(compile_spec(write_spec(with_engine(ANSWERED)))) + 1
    assert {path: Path(path).read_bytes() for path in expected} == expected
    assert max(Counter(asked()).values()) == 1
    assert len(asked()) == sum(map(len, map(lines_of, round_logs(plan))))
    assert b'"correct"' in Path(plan.layout.judgements("words", "full")).read_bytes()
    assert main(["replay", write_spec(with_engine(judged(ANSWERED)))]) == 0
    before = len(asked())
    run(text=with_engine(judged(ANSWERED).replace("max_tokens: 20", "max_tokens: 21")))
    models = [parse(line) or {} for log in round_logs(plan) for _, line in lines_of(log)]
    again = sum(record["model"] == "openai/strict" for record in models) // 2
    assert len(asked()) - before == again > 10


@pytest.mark.parametrize("debater", ["builtin/solver", "openai/small"])
def test_a_judge_alone_may_be_answered_by_an_engine(debater: str, run: Run) -> None:
    """Debates whose models compute here are then run by the job that writes the requests; or a judge alone is not."""
    write_words()
    if debater == "builtin/solver":
        text = judged(ANSWERED).replace("openai/small, temperature: 0.5, max_tokens: 50, engine: stub", debater)
    else:
        text = judged(ANSWERED).replace(
            "{model: openai/strict, max_tokens: 20, engine: stub}", "{model: builtin/solver}"
        )
    plan = run("ok", "missing", text=with_engine(text))
    assert all(Path(job.output).exists() for job in asking_jobs(plan))
    logged = [parse(line) or {} for log in round_logs(plan) for _, line in lines_of(log)]
    assert {record["model"] for record in logged if record["model"] != "builtin/solver"} == {
        "openai/strict" if debater == "builtin/solver" else "openai/small"
    }


def ids_in(path: str) -> list[str]:
    return [json.loads(line)["custom_id"] for _, line in lines_of(path)]


def lines_of(path: str) -> list[tuple[int, bytes]]:
    return list(whole_lines(Path(path)))


@pytest.mark.parametrize("order", ["shuffled", "twice", "missing", "error", "empty", "torn", "half"])
def test_what_an_engine_does_wrong_is_asked_again(
    order: str, expected: dict[str, bytes], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the next file, and nothing else is."""
    monkeypatch.chdir(tmp_path)
    assert records(run("ok", "ok", order)) == expected
    again = {key for key, times in Counter(asked()).items() if times > 1}
    first_bad = Path("orders.asked").read_text(encoding="utf-8").splitlines()[2].split()
    lost = {"half": first_bad[len(first_bad) // 2 :], "torn": first_bad[-1:]}
    assert again == set(() if order in ("shuffled", "twice") else lost.get(order, first_bad[:1]))


def test_a_call_without_a_reply_is_a_failure_after_as_many_rounds_as_a_call_is_tried(run: Run) -> None:
    """It is data, as a call that brings malformed replies is; `limits: failed` decides about the run."""
    text = with_engine(ANSWERED.replace("calls: 1000", "calls: 1000, failed: 100%"), parts=1)
    plan = run(*["stubborn"] * 40, text=text)
    first = Counter(asked()).most_common(1)[0][0]
    assert Counter(asked())[first] == MORE + 1
    record = next(
        record for path in answered_logs(plan, "arithmetic", "r1-s01") for _, line in lines_of(path)
        if (record := parse(line)) and record["key"] == first
    )  # fmt: skip
    assert record["error"].startswith("malformed reply")
    assert record["attempts"] == MORE + 1


def test_a_prompt_that_is_too_long_is_data_at_once(run: Run) -> None:
    plan = run("long")
    line = next(
        record for path in answered_logs(plan, "arithmetic", "r1-s01") for _, text in lines_of(path)
        if (record := parse(text)) and record["error"]
    )  # fmt: skip
    assert "maximum context length is 8 tokens" in line["error"]
    assert max(Counter(asked()).values()) == 1
    run(more=["--errors-again"])
    assert [key for key, times in Counter(asked()).items() if times > 1] == [line["key"]]
    assert all(b"maximum context" not in text for text in records(plan).values())


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ("no model", r"engine stub: it answered no request: not found: HTTP 404: The model `small` does not exist."),
        ("silent", "ended with status 1\n    it says: RuntimeError: CUDA out of memory\n    give it less to hold"),
        ("nothing", "engine stub: it ended well, and wrote no file of replies"),
        (
            "foreign",
            "is not in OpenAI's batch format, whose lines have custom_id and response\n    its first line: 0,re",
        ),
    ],
)
def test_an_engine_that_answers_nothing_ends_its_job(
    order: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its own words; the file of replies is not made, so that the next run starts the engine again."""
    monkeypatch.chdir(tmp_path)
    spec, plan = _first_round(monkeypatch, order)
    requests, replies = plan.layout.requests(1, "stub", 1), plan.layout.replies(1, "stub", 1)
    assert main(["answer", spec, "--engine", "stub", "--requests", requests, "--out", replies]) > 0
    assert message in capsys.readouterr().err
    assert not Path(replies).exists()
    call("answer", spec, "--engine", "stub", "--requests", requests, "--out", replies)  # whose cause is removed
    assert b"Answer" in Path(replies).read_bytes()


def _first_round(monkeypatch: pytest.MonkeyPatch, order: str) -> tuple[str, Plan]:
    Path("orders").write_text(f"{order}\n", encoding="utf-8")
    spec = write_spec(with_engine(parts=1))
    plan = trusted(spec, monkeypatch)
    call("advance", spec, "--round", "1")
    return spec, plan


def test_a_job_that_was_killed_asks_for_the_rest_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the engine had written is kept."""
    monkeypatch.chdir(tmp_path)
    spec, plan = _first_round(monkeypatch, "killed")
    requests, replies = plan.layout.requests(1, "stub", 1), plan.layout.replies(1, "stub", 1)
    command = [sys.executable, "-m", "cortexdsl", "answer", spec, "--engine", "stub", "--requests", requests]
    assert subprocess.run([*command, "--out", replies], check=False).returncode == -9
    assert not Path(replies).exists()
    call("answer", spec, "--engine", "stub", "--requests", requests, "--out", replies)
    first, second = Path("orders.asked").read_text(encoding="utf-8").splitlines()
    assert second.split() == first.split()[len(first.split()) // 2 :]
    assert len(lines_of(replies)) == len(first.split())


def test_a_round_that_is_advanced_again_writes_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that was killed after it had logged the replies; and one on another machine, which has no open log."""
    monkeypatch.chdir(tmp_path)
    spec, plan = _first_round(monkeypatch, "ok")
    requests = plan.layout.requests(2, "stub", 1)
    call("answer", spec, "--engine", "stub", "--requests", plan.layout.requests(1, "stub", 1), "--out",
         plan.layout.replies(1, "stub", 1))  # fmt: skip
    call("advance", spec, "--round", "2")
    before, logs = Path(requests).read_bytes(), sorted(Path(plan.layout.root).rglob("*~open.jsonl"))
    size = [log.stat().st_size for log in logs]
    call("advance", spec, "--round", "2")
    assert Path(requests).read_bytes() == before
    assert [log.stat().st_size for log in logs] == size
    for log in logs:
        log.unlink()
    call("advance", spec, "--round", "2")
    assert Path(requests).read_bytes() == before


SERVER = """\
import json, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from tests.jobs.stub_engine import completion

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.do_GET()
        self.wfile.write(json.dumps(completion(body)).encode())

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def test_the_script_of_the_manual_makes_an_engine_of_a_server(
    expected: dict[str, bytes], run: Run, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(repository))
    page, port = (repository / "docs" / "files.md").read_text(encoding="utf-8"), str(free_port())
    script = page.partition("```python\n")[2].partition("```")[0]
    Path("serve.py").write_text(script.replace("8099", port), encoding="utf-8")
    Path("server.py").write_text(SERVER, encoding="utf-8")
    command = f"{sys.executable} serve.py {{requests}} {{replies}} {sys.executable} server.py {port}"
    assert records(run(text=with_engine(command=command, parts=1))) == expected


def test_an_edit_asks_for_new_calls_alone(run: Run) -> None:
    """The others come from the logs of the first run."""
    run()
    before = set(asked())
    plan = run(text=with_engine(ANSWERED + "  more: {protocol: multi-llm, rounds: 3}\n"))
    assert len(set(asked()) - before) == 3 * 3  # one round more, of three agents on three questions
    assert max(Counter(asked()).values()) == 1
    assert len(records(plan)) == 4


def test_the_tally_of_a_cell_counts_the_calls_of_earlier_runs(run: Run) -> None:
    """After an edit that asks for new calls, because the call log of a cell holds those of all runs."""
    run()
    before = logged()
    assert tallied() == before
    plan = run(text=with_engine(ANSWERED.replace("multi-llm, rounds: 2", "multi-llm, rounds: 3")))
    assert logged()["full"] == before["full"] + 3 * 3
    assert tallied() == logged()
    finish(write_spec(with_engine(ANSWERED.replace("multi-llm, rounds: 2", "multi-llm, rounds: 3"))), plan, ())
    assert tallied() == logged()


def test_no_call_is_counted_twice_if_the_last_job_is_killed_between_joining_a_log_and_removing_it(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = with_engine(ANSWERED.replace("multi-llm, rounds: 2", "multi-llm, rounds: 3"))
    run()
    remove = Path.unlink

    def killed(path: Path, missing_ok: bool = False) -> None:
        if "full" in path.name and path.parent.name == "r1-s01" and path.stat().st_size:
            raise KeyboardInterrupt
        remove(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", killed)
    with pytest.raises(AssertionError, match="--last"):
        run(text=text)
    monkeypatch.setattr(Path, "unlink", remove)
    finish(write_spec(text), compile_spec(write_spec(text)), ())
    assert tallied() == logged()
    assert not [*Path("results").rglob("*~open.jsonl"), *Path("results").rglob("*.joining")]


def tallied() -> dict[str, int]:
    """Return the calls of each cell by its tally."""
    found = (json.loads(path.read_text("utf-8").splitlines()[0]) for path in Path().glob("results/*/spent/*.json"))
    return {tally["cell"]: tally["calls"]["asked"] for tally in found if tally["calls"]["asked"]}


def logged() -> dict[str, int]:
    """Return the lines of each cell's call log."""
    logs = Path().glob("results/*/calls/arithmetic/*/*.jsonl")
    return {log.stem: number for log in logs if (number := len(lines_of(str(log))))}


def test_debates_that_wait_for_a_round_are_not_shown_as_done(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The job of a round ends well although its debates do not."""
    _, plan = _first_round(monkeypatch, "ok")
    shown = WatchedRun(expected_in(plan.experiment)).look().rows
    assert {(row.cell, row.state, row.done) for row in shown} == {(cell.slug, "waiting", 0) for cell in plan.cells}
    run()
    shown = WatchedRun(expected_in(plan.experiment)).look().rows
    assert {(row.state, row.done) for row in shown} == {("done", 3)}


def test_limits_hold_before_a_file_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    spec = write_spec(with_engine(ANSWERED.replace("calls: 1000", "calls: 5")))
    plan = trusted(spec, monkeypatch)
    assert main(["advance", spec, "--round", "1"]) == 1
    assert "may cost 9 calls, and of the limit of 5 0 are spent: it was not sent" in capsys.readouterr().err
    assert not Path(plan.layout.requests(1, "stub", 1)).exists()


def test_an_engine_that_always_stumbles_is_one_error(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The next run begins with the calls that no log has."""
    with pytest.raises(AssertionError, match="advance"):
        run(*["error"] * 40, text=with_engine(parts=1))
    message = capsys.readouterr().err
    assert "model small (openai/small) in the engine stub (tried 6 times): HTTP 500: the engine stumbled" in message
    assert "read what the engine printed" in message
    assert not Path("results/small/rounds").exists()
    before = Counter(asked())
    run(text=with_engine(parts=1))
    assert max((Counter(asked()) - before).values()) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (with_engine(command="engine -o {replies}"), "the command names no {requests}"),
        (with_engine(command="engine -i {requests}"), "the command names no {replies}"),
        (with_engine(command="engine '{requests} {replies}"), "the command cannot be read as words"),
        (
            with_engine(ANSWERED.replace("engine: stub", "engine: stub, api_base: 'env:URL'")),
            "api_base is for a server",
        ),
        (with_engine(ANSWERED.replace("engine: stub", "engine: other")), "there is no engine other"),
        (
            with_engine(SPEC.replace("small: {", "s: {model: builtin/solver, engine: stub}, small: {")),
            "the built-in solver is asked by no engine",
        ),
        (
            with_engine(ANSWERED + "whatif: {full: agent=a}\n"),
            "whatif asks models outside of the rounds of files",
        ),
        (
            with_engine(ANSWERED + "  grown: {protocol: multi-llm, budget: tokens(full), grow: rounds}\n"),
            "grown grows until its budget is spent",
        ),
        (
            with_engine(ANSWERED + "  found: {protocol: multi-llm, rounds: 1, agents: [a]}\n") + SEARCH,
            "the tool net needs a network, which jobs that answer files may not have",
        ),
    ],
)
def test_check_names_the_mistake(text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is asked."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SpecError) as caught:
        compile_spec(write_spec(text))
    assert message in str(caught.value)


def test_a_program_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    spec = write_spec(with_engine(command="no-such-engine {requests} {replies}", parts=1))
    plan = trusted(spec, monkeypatch)
    call("advance", spec, "--round", "1")
    requests, replies = plan.layout.requests(1, "stub", 1), plan.layout.replies(1, "stub", 1)
    assert main(["answer", spec, "--engine", "stub", "--requests", requests, "--out", replies]) == 2
    assert "engine stub: there is no program 'no-such-engine'" in capsys.readouterr().err
    with pytest.raises(InputError, match="there is no program 'no-such-engine'"):  # before the first job
        refuse_missing_engines([plan])


def test_a_command_of_a_spec_needs_permission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The small models of this package need none, as they need none in other jobs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert main(["advance", write_spec(with_engine()), "--round", "1"]) == 2
    assert "needs your permission" in capsys.readouterr().err
    own = "python -m cortexdsl_tiny run-batch -i {requests} -o {replies}"
    assert not compile_spec(write_spec(with_engine(command=own))).permissions
