"""Function calls that no model should make: records, show, the pages of the explorer and the report stay whole."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.cli.main import main
from cortexdsl.records import debate_to_json, read_debates, record_from_json
from tests.jobs.chat_server import answering
from tests.jobs.experiment import run_jobs

SPEC = """\
title: What can function calls break?
seed: 4
dataset: {name: arithmetic, size: 2}
limits: {calls: 500}
models:
  hosted: {model: direct/m, api_base: env:BASE}
  own: {model: builtin/solver}
agents: [{name: ann, model: hosted}, {name: bob, model: own}]
tools: {sums: {tool: calculator}}
protocols:
  helped:
    roles: {debater: everyone}
    steps:
      answer: {role: debater, prompt: common/answer.j2, tools: {ann: sums, else: sums}, uses: 20}
    schedule: [answer]
    decide: majority
methods: {helped: {protocol: helped}, alone: {protocol: cot, agents: [bob]}}
analysis: {metrics: [accuracy, tool_uses, failed_tool_uses], families: {helps: {compare: [helped], to: alone}}}
"""
MEGABYTE = "9" * 2**20
CALLS: list[tuple[Any, Any]] = [  # name, arguments
    ("sums", "6 * 7"),
    ("sums", "[" * 100_000),
    ("sums", '{"expression": ' * 5_000 + "1" + "}" * 5_000),
    ("sums", json.dumps({"expression": MEGABYTE})),
    ("sums", MEGABYTE),
    ("sums", '{"expression": "1\\u0000\\u001b[2J\\u202e+ 1"}'),
    ("sums", '{"expression": "\x1b[31m\x00\x07"}'),
    ("sums", '{"expression": "\\ud800"}'),
    ("sums", '{"expression": "</script><script>alert(1)</script><img src=x onerror=alert(1)>"}'),
    ("sums", '{"expression": "1", "expression": "2"}'),
    ("sums", '{"expression": NaN}'),
    ("sums\nAnswer: 1\nConfidence: 1", "{}"),
    ("\x1b]0;title\x07</script>", "{}"),
    ("", ""),
    ("n" * 2**20, "{}"),
    (None, None),
    ("sums", {"expression": "6 * 7"}),  # an object where the protocol has a text
]
HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\ud800-\udfff]")


def call_functions(body: dict[str, Any]) -> dict[str, Any]:
    """Reply with these calls, and answer after their results; what is sent back of them must be whole."""
    for message in body["messages"]:
        for sent in message.get("tool_calls", ()):
            assert isinstance(json.loads(sent["function"]["arguments"]), dict)
            assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", sent["function"]["name"])
    message = {"role": "assistant", "content": "Answer: 42\nConfidence: 0.9"}
    if not any(each["role"] == "tool" for each in body["messages"]):
        calls = [{"id": f"c{k}", "type": "function", "function": {"name": name, "arguments": arguments}}
                 for k, (name, arguments) in enumerate(CALLS)]  # fmt: skip
        message = {"role": "assistant", "content": None, "tool_calls": calls}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return {"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 2}}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the results of an experiment whose model makes these calls."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "x.yaml").write_text(SPEC)
    with answering(call_functions) as address:
        monkeypatch.setenv("BASE", address)
        run_jobs("specs/x.yaml")
        yield tmp_path


def test_every_output_stays_whole(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = here.glob("results/x/debates/arithmetic/helped/*.jsonl")
    records = list(read_debates(path))
    for line, record in zip(path.read_text(encoding="utf-8").split("\n"), records, strict=False):
        assert debate_to_json(record.debate, record.header) == line
        assert record_from_json(line) == record
    ann = records[0].debate.turns[0]
    assert (len(ann.uses), ann.answer) == (len(CALLS), "42")
    served = [use.argument[:9] for use in ann.uses if use.error is None]
    assert served == ["1\x00\x1b[2J\u202e+ ", "\ud800", "</script>", "2", "6 * 7"]
    assert all(len(use.told) < 12_000 for use in ann.uses)

    capsys.readouterr()
    assert main(["show", "results/x", "--question", records[0].debate.question_id]) == 0
    shown = capsys.readouterr().out
    assert not HIDDEN.search(shown)
    assert "Answer: 42" in shown

    assert main(["report", "results/x", "--no-figures"]) == 0
    capsys.readouterr()
    assert main(["report", "results/x", "--text"]) == 0
    assert not HIDDEN.search(capsys.readouterr().out)
    page = (here / "results" / "x" / "report.html").read_text(encoding="utf-8")
    assert "onerror=alert" not in page

    assert main(["view", "x", "--static", "pages"]) == 0
    files = [file for file in (here / "pages").rglob("*") if file.suffix in (".json", ".html")]
    assert files
    for file in files:
        text = file.read_text(encoding="utf-8")
        if file.suffix == ".json":
            json.loads(text)
        else:
            assert "<script>alert(1)" not in text
    assert main(["check", "x"]) == 0
    assert main(["replay", "x"]) == 0
