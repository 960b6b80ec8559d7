"""Tools in the turns of agents, from the spec to the records: a server that calls functions, replay, refusals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.cli.main import main
from cortexdsl.core import Debate
from cortexdsl.errors import SpecError
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.digests import templates_of
from cortexdsl.records import debate_to_json, read_debates, record_from_json
from cortexdsl.tasks.programs import sandbox
from tests.jobs.chat_server import answering

SPEC = """\
seed: 4
dataset: {name: arithmetic, size: 3}
limits: {calls: 500}
models:
  hosted: {model: direct/m, api_base: env:BASE}
  own: {model: builtin/solver}
agents: [{name: ann, model: hosted}, {name: bob, model: own}]
knowledge: {facts: {corpus: facts.jsonl, top: 1}}
tools:
  sums:   {tool: calculator}
  look:   {tool: search(facts)}
  shout:  {tool: "own:shout", seconds: 20, about: Writes a text in capitals.}
  python: {tool: program}
protocols:
  helped:
    roles: {debater: everyone}
    steps:
      answer: {role: debater, prompt: common/answer.j2, tools: {ann: [sums, look, shout, python], else: sums}, uses: 5}
    schedule: [answer]
    decide: majority
methods: {helped: {protocol: helped}}
analysis: {metrics: [accuracy, calls, tool_uses, failed_tool_uses]}
"""
FILES = {
    "specs/x.yaml": SPEC,
    "specs/facts.jsonl": '{"id": "1", "title": "Sums", "text": "A sum is what numbers make together."}\n',
    "own.py": "def shout(text):\n    return text.upper()\n",
}
USES = [
    ("sums", {"expression": "6 * 7"}, "6 * 7 = 42"),
    ("look", {"query": "sum of numbers"}, "Search: sum of numbers\n1. Sums: A sum is what numbers make together."),
    ("shout", {"text": "quiet"}, "QUIET"),
    ("python", {"program": "print(2 ** 100)"}, "1267650600228229401496703205376"),
    ("stars", {}, "There is no tool stars. You can use: sums, look, shout, python."),
]
needs_sandbox = pytest.mark.skipif(bool(sandbox.problem()), reason=sandbox.problem() or "there is a sandbox")


class Server:
    """A server of the OpenAI protocol that calls all functions, and answers once it has their results."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.answers = threading.Event()
        self.answers.set()

    def reply(self, body: dict[str, Any]) -> dict[str, Any]:
        self.bodies.append(body)
        if any(message["role"] == "tool" for message in body["messages"]):
            self.answers.wait(60)
            message: dict[str, Any] = {"role": "assistant", "content": "Answer: 42\nConfidence: 0.9"}
        else:
            calls = [
                {"id": f"c{k}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
                for k, (name, arguments, _) in enumerate(USES)
            ]
            message = {"role": "assistant", "content": None, "tool_calls": calls}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        return {"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 20}}

    def asked(self) -> list[str]:
        """Return of each request its question, and whether it has results."""
        found = []
        for body in self.bodies:
            has_results = any(message["role"] == "tool" for message in body["messages"])
            found.append(f"{body['messages'][0]['content'].splitlines()[0]} {has_results}")
        return found


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    found = Server()
    with answering(found.reply) as address:
        monkeypatch.setenv("BASE", address)
        yield found
        found.answers.set()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


OUT = "results/x/debates/arithmetic/helped/r1-s01.jsonl"
JOB = ["debate", "x", "--dataset", "arithmetic", "--cell", "helped", "--shard", "r1-s01", "--out", OUT]


def debates() -> list[Debate]:
    return [record.debate for record in read_debates(Path(OUT))]


@needs_sandbox
def test_a_hosted_model_uses_all_tools_and_one_of_this_machine_asks_in_its_text(here: Path, server: Server) -> None:
    assert main(["trust", "x"]) == 0
    assert main(JOB) == 0
    first = debates()[0]
    ann, bob = first.turns
    assert [(use.tool, use.told) for use in ann.uses] == [(name, told) for name, _, told in USES]
    assert [use.error is None for use in ann.uses] == [True] * 4 + [False]
    assert ann.answer == "42"
    (use,) = bob.uses
    assert (use.tool, use.error) == ("sums", None)
    assert bob.answer == use.result.rpartition(" = ")[2]
    names = [tool["function"]["name"] for tool in server.bodies[0]["tools"]]
    assert names == ["sums", "look", "shout", "python"]
    assert server.bodies[0]["tools"][2]["function"]["description"] == "Writes a text in capitals."


@needs_sandbox
def test_a_replay_asks_no_model_and_runs_no_program(
    here: Path, server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trust", "x"]) == 0
    assert main(JOB) == 0
    requests, written = len(server.bodies), Path(OUT).read_bytes()

    def never(program: str) -> str:
        raise AssertionError(program)

    monkeypatch.setattr(sandbox, "output_of", never)
    monkeypatch.setattr(sandbox, "problem", lambda: "there is no sandbox")
    assert main(["replay", "x"]) == 0
    monkeypatch.setattr(sandbox, "problem", lambda: "")
    capsys.readouterr()
    assert main(JOB) == 0
    assert " 0 calls sent" in capsys.readouterr().err
    assert len(server.bodies) == requests
    assert Path(OUT).read_bytes() == written


@needs_sandbox
def test_a_job_that_is_killed_between_a_tool_and_the_answer_asks_nothing_twice(here: Path, server: Server) -> None:
    assert main(["trust", "x"]) == 0
    server.answers.clear()
    job = subprocess.Popen([sys.executable, "-m", "cortexdsl", *JOB], env={**os.environ, "PYTHONPATH": str(here)})
    until = time.monotonic() + 60
    while sum(asked.endswith("True") for asked in server.asked()) < 3 and time.monotonic() < until:
        time.sleep(0.05)
    job.send_signal(signal.SIGKILL)
    job.wait()
    first = server.asked()
    assert len(first) == 6
    server.answers.set()
    server.bodies.clear()
    assert main(JOB) == 0
    assert sorted(server.asked()) == sorted(asked for asked in first if asked.endswith("True"))
    assert [len(debate.turns[0].uses) for debate in debates()] == [5, 5, 5]


@needs_sandbox
def test_what_the_user_sees(here: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trust", "x"]) == 0
    assert main(JOB) == 0
    capsys.readouterr()
    question = debates()[0].question_id
    assert main(["show", "results/x", "--question", question]) == 0
    shown = capsys.readouterr().out
    for line in (
        "    > sums: 6 * 7",
        "    = 6 * 7 = 42",
        "    > shout: quiet",
        "    = QUIET",
        "    ! There is no tool stars.",
    ):
        assert line in shown
    assert shown.index("    = QUIET") < shown.index("    | Answer: 42")


@needs_sandbox
def test_records_round_trip(here: Path, server: Server) -> None:
    assert main(["trust", "x"]) == 0
    assert main(JOB) == 0
    for line, record in zip(Path(OUT).read_text().splitlines(), read_debates(Path(OUT)), strict=True):
        assert json.loads(line)["schema_version"] == 7
        assert debate_to_json(record.debate, record.header) == line
        assert record_from_json(line) == record


def test_programs_need_a_sandbox(
    here: Path, server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trust", "x"]) == 0
    monkeypatch.setattr(sandbox, "problem", lambda: "there is no bwrap\n    install it: apt install bubblewrap")
    assert main(JOB) == 2
    assert "install it: apt install bubblewrap" in capsys.readouterr().err
    assert server.bodies == []


def test_programs_and_functions_need_permission(here: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "x"]) == 0
    said = capsys.readouterr().out
    assert "run the programs that models write as a tool, in a sandbox without network and files" in said
    assert "run the Python function own:shout of " in said
    assert main(JOB) == 2
    assert server.bodies == []


STEP = "tools: {ann: [sums, look, shout, python], else: sums}, uses: 5"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (STEP, "tools: suns", "tools: there is no tool suns\n    did you mean sums?"),
        (STEP, "tools: [sums, suns]", "tools[2]: there is no tool suns"),
        (STEP, "tools: [sums, sums]", "tools[2]: sums is named twice\n    name each tool once"),
        (STEP, "tools: {eve: sums}", "tools.eve: no agent of the role is called eve"),
        (STEP, "tools: sums, uses: 0", "uses is 0"),
        (STEP, "uses: 3", "uses says how many times a turn may use tools, and there are none"),
        (STEP, "tools: sums, most: 3", "write uses: how many times a turn may use tools"),
        (", about: Writes a text in capitals.", "", "nothing tells agents what the function of shout does\n"
         "    write about: in the entry tools.shout"),
        ("prompt: common/answer.j2, tools", "prompt: {say: common/answer.j2}, tools",
         "no model is asked in this step, so that nobody can use a tool\n    remove tools"),
        ("api_base: env:BASE", "api_base: env:BASE, options: {tools: []}",
         "the options of hosted have tools, and the step offers tools, too"),
        ("{model: builtin/solver}", "{model: builtin/solver, function_calls: true}",
         "builtin/solver runs in the process, without function calls\n    remove function_calls"),
        ("{tool: program}", "{tool: program, seconds: 3}", "seconds does not go with tool: program\n    remove it"),
    ],
)  # fmt: skip
def test_what_is_refused(here: Path, old: str, new: str, problem: str) -> None:
    assert old in SPEC
    (here / "specs/x.yaml").write_text(SPEC.replace(old, new))
    with pytest.raises(SpecError) as refused:
        compile_spec("x")
    assert problem in str(refused.value)
    assert "specs/x.yaml:" in str(refused.value)


def test_a_provider_without_function_calls_is_named_before_anything_is_sent(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = "{model: direct/m, api_base: env:BASE}"
    (here / "specs/x.yaml").write_text(SPEC.replace(entry, "{model: perplexity/sonar}"))
    assert main(["check", "x"]) == 2
    said = capsys.readouterr()
    assert "hosted (perplexity/sonar) takes no function calls, and uses tools\n" in said.out + said.err
    assert "write function_calls: false in its entry: it then asks for tools in its text" in said.out + said.err
    (here / "specs/x.yaml").write_text(SPEC.replace(entry, "{model: perplexity/sonar, function_calls: false}"))
    assert main(["check", "x"]) == 0


def test_a_tool_cannot_use_tools(here: Path) -> None:
    text = SPEC.replace("everyone}", "everyone, judge: {tool: sums}}").replace(
        "schedule: [answer]",
        "  ask: {role: judge, hears: debater, prompt: common/answer.j2, tools: look, reads: summary}\n"
        "    schedule: [answer, ask]"
    )  # fmt: skip
    (here / "specs/x.yaml").write_text(text)
    with pytest.raises(SpecError, match="judge is a tool itself, and only models use tools"):
        compile_spec("x")


def test_the_name_of_a_tool_is_that_of_a_function(here: Path) -> None:
    (here / "specs/x.yaml").write_text(SPEC.replace("  sums:", "  my.sums:").replace("[sums,", "[my.sums,")
                                       .replace("else: sums", "else: my.sums"))  # fmt: skip
    with pytest.raises(SpecError, match=r"my\.sums cannot be the name of a function"):
        compile_spec("x")


def test_a_plan_counts_the_most_calls_that_uses_can_make(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ann and Bob: five requests, five tools and an answer each, for three questions."""
    assert main(["plan", "x"]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("helped"))
    assert row.split()[1] == str(3 * 2 * 11)
    assert main(["explain", "x", "helped"]) == 0
    assert "calls: 22 at most (fewer if agents use fewer tools)" in capsys.readouterr().out


def test_a_budget_counts_all_calls_of_a_turn(here: Path, server: Server) -> None:
    (here / "specs/x.yaml").write_text(
        SPEC.replace("ann: [sums, look, shout, python], else: sums", "else: [sums, look]").replace(
            "methods: {helped: {protocol: helped}}",
            "methods:\n  helped: {protocol: helped, agents: [bob]}\n"
            "  alone: {protocol: self-consistency, agents: [bob], budget: calls(helped)}",
        )
    )
    assert main(["trust", "x"]) == 0
    assert main(JOB) == 0
    out = OUT.replace("helped", "alone")
    assert main([part.replace("helped", "alone") for part in JOB]) == 0
    calls = [len(debate.turns[0].calls) for debate in debates()]
    assert calls == [3, 3, 3]  # a request, the calculator, an answer
    assert [len(record.debate.turns) for record in read_debates(Path(out))] == calls


def test_digests_of_cells_cover_tools(here: Path) -> None:
    digests = {compile_spec("x").cell("helped").digest}
    for old, new in ((", uses: 5", ", uses: 6"), ("else: sums", "else: look"), ("in capitals", "loudly"),
                     ("{model: builtin/solver}", "{model: builtin/solver, function_calls: false}")):  # fmt: skip
        (here / "specs/x.yaml").write_text(SPEC.replace(old, new))
        digests.add(compile_spec("x").cell("helped").digest)
    assert len(digests) == 5
    assert "common/tools.j2" in templates_of(compile_spec("x").cell("helped").debate)
