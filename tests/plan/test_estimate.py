"""The estimate against what really happens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cortexdsl.cli.main import main
from cortexdsl.plan import compile_spec
from cortexdsl.plan.cost.rehearse import rehearse_plan

SPEC = """\
title: Debates that never end early
seed: 3
dataset: {name: arithmetic, size: 6}
models:
  weak:   {model: builtin/solver, skill: 0.4, parameters: 1.0e9, tokens: 2.0e12}
  strong: {model: builtin/solver, skill: 0.7, parameters: 7.0e9, tokens: 15e12}
agents:
  - {name: a, model: weak}
  - {name: b, model: weak}
  - {name: c, model: weak}
  - {name: d, model: strong}
methods:
  full:    {protocol: multi-llm, rounds: 2}
  longer:  {protocol: multi-llm, rounds: 3}
  near:    {protocol: neighbor, rounds: 2}
  vote:    {protocol: voting}
  peers:   {protocol: peer-review, rounds: 1}
  group:   {protocol: group, groups: 2, rounds: 3, rounds_per_stage: 2}
  alone:   {protocol: cot, agents: [d]}
  samples: {protocol: self-consistency, agents: [d], samples: 5}
  think:   {protocol: reflection, agents: [d]}
  matched: {protocol: self-consistency, agents: [d], match: {calls: full}}
"""
# Calls a question with four agents: n(D+1); n; n + D(n(n-1) + n); 4*3 + 2 summaries; 1; 5; as published.
CALLS = {"full": 12, "longer": 16, "near": 12, "vote": 4, "peers": 4 + 12 + 4, "group": 4 * 3 + 2, "alone": 1,
         "samples": 5, "matched": 12}  # fmt: skip


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the spec."""
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "x.yaml").write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_calls_and_shared_calls_are_those_that_are_really_made(here: Path) -> None:
    """Every cell debated by its job, one after the other: calls in records, and lines in the call logs."""
    plan = compile_spec("x")
    total, by_cell = rehearse_plan(plan)
    turns = {}
    for cell in plan.cells:
        out = plan.layout.debates("arithmetic", cell.slug, "r1-s01")
        arguments = ["debate", "x", "--dataset", "arithmetic", "--cell", cell.slug, "--shard", "r1-s01", "--out", out]
        assert main(arguments) == 0
        turns[cell.name] = sum(len(json.loads(line)["turns"]) for line in Path(out).read_text().splitlines())
    assert {name: estimate.calls for name, estimate in by_cell.items()} == turns
    assert {name: turns[name] for name in CALLS} == {name: 6 * calls for name, calls in CALLS.items()}
    logs = [log.read_text().splitlines() for log in Path("results/x/calls").rglob("*.jsonl")]
    sent = [json.loads(line)["key"] for log in logs for line in log]
    assert len(sent) == len(set(sent)) == total.calls - total.shared_calls


def test_prices_make_dollars_and_an_unknown_price_makes_them_unknown(here: Path) -> None:
    """6 questions, one call each, 50 tokens a reply at 2 dollars a million; the prompt costs nothing."""
    text = SPEC.partition("methods:")[0].replace("builtin/solver, skill: 0.7,", "openai/x, api_base: env:HERE,")
    text += "methods:\n  alone: {protocol: cot, agents: [d]}\nexpected: {reply_tokens: 50}\nlimits: {calls: 9}\n"
    Path("specs/x.yaml").write_text(text)
    assert rehearse_plan(compile_spec("x"))[0].dollars is None
    Path("specs/x.yaml").write_text(text.replace("15e12}", "15e12, price: {input: 0, output: 2}}"))
    total, _ = rehearse_plan(compile_spec("x"))
    assert total.dollars == pytest.approx(6 * 50 * 2e-6)
    assert total.output_tokens == 6 * 50
