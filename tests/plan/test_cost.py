"""The estimate against what really happens, and the bounds for one question."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cortexdsl.cli.main import main
from cortexdsl.core import Keep, Sparse
from cortexdsl.errors import SpecError
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.forecast.cost import most_of_question, passages_for, rehearse_plan
from cortexdsl.plan.record import parse_plan
from cortexdsl.plan.rehearsal.explain import rehearse_example
from tests.engine.stage import method

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
  matched: {protocol: self-consistency, agents: [d], budget: calls(full)}
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


def test_a_limit_below_the_plan_is_told_before_the_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "specs" / "x.yaml").write_text(SPEC + "limits: {calls: 20}\n")
    assert main(["plan", "specs/x.yaml"]) == 0
    assert "`limits: calls` may stop the run at 20; raise it, and the same command continues." in " ".join(
        capsys.readouterr().out.split()
    )


def test_prices_make_dollars_and_an_unknown_price_makes_them_unknown(here: Path) -> None:
    """6 questions, one call each, 200 tokens a reply at 2 dollars a million; the prompt costs nothing."""
    text = SPEC.partition("methods:")[0].replace("builtin/solver, skill: 0.7,", "openai/x, api_base: env:HERE,")
    text += "methods:\n  alone: {protocol: cot, agents: [d]}\nlimits: {calls: 9}\n"
    Path("specs/x.yaml").write_text(text)
    assert rehearse_plan(compile_spec("x"))[0].total_dollars is None
    Path("specs/x.yaml").write_text(text.replace("15e12}", "15e12, price: {input: 0, output: 2}}"))
    total, _ = rehearse_plan(compile_spec("x"))
    assert total.dollars == pytest.approx(6 * 200 * 2e-6)
    assert total.output_tokens == 6 * 200


def test_passages_are_rehearsed_as_long_as_the_first_of_their_corpus(here: Path) -> None:
    """Two of three lines, as `top` says; where there is no file to look into, as many made-up ones."""
    lines = [{"id": str(k), "title": f"T{k}", "text": "Water boils."} for k in range(3)]
    Path("specs/facts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    text = SPEC.partition("methods:")[0] + "methods: {full: {protocol: rag, pool: [facts], agents: [d]}}\n"
    text += "knowledge: {facts: {corpus: facts.jsonl, top: 2}}\n"
    Path("specs/x.yaml").write_text(text)
    plan = compile_spec("x")
    shown = [{"title": f"T{k}", "text": "Water boils."} for k in range(2)]
    assert list(passages_for(plan, plan.cells[0])) == shown
    Path("specs/facts.jsonl").write_text("no passage\n")
    assert [passage["title"] for passage in passages_for(plan, plan.cells[0])] == ["A made-up passage"] * 2


def test_a_call_for_each_edge_is_counted_though_what_is_said_may_leave_some_out() -> None:
    """In a rehearsal every answer is another; a real debate may keep all six edges. By place, three are kept in any."""
    met = Keep("above", 0)

    def rated(where: str) -> int:
        steps = {"answer": {}, "rate": {"hears": Sparse(where, met), "each": "edge", "reads": "review"}}
        return sum(turn.step == "rate" for turn in rehearse_example(method(steps, ["answer"] * 3 + ["rate"])).turns)

    assert (rated("stability < 1"), rated("position < mine(position)")) == (6, 3)


ROUNDS = {"full": 2, "longer": 3, "near": 2, "vote": 0, "alone": 0, "matched": 0}


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "specs").mkdir()
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "specs" / "x.yaml"
    path.write_text(SPEC + "hypotheses: [calls(full) < calls(longer)]\n")
    return str(path)


def test_rounds_and_calls_of_a_question(spec: str) -> None:
    found = most_of_question(compile_spec(spec))
    assert {name: most["calls"] for name, most in found.items()} == CALLS | {"think": 4}
    assert {name: found[name]["rounds"] for name in ROUNDS} == ROUNDS
    assert all("output_tokens" not in most for most in found.values()), "no model has max_tokens"


def with_max_tokens(text: str, weak: int, strong: int) -> str:
    """Return a spec whose models are on a server and have limits; the built-in solver has none."""
    for skill, limit in (("0.4", weak), ("0.7", strong)):
        server = f"openai/model, api_base: 'http://127.0.0.1:9/v1', max_tokens: {limit},"
        assert f"builtin/solver, skill: {skill}," in text
        text = text.replace(f"builtin/solver, skill: {skill},", server)
    return text


def test_what_is_written_is_at_most_max_tokens_a_call(spec: str) -> None:
    Path(spec).write_text(with_max_tokens(Path(spec).read_text(), 100, 1000))
    found = most_of_question(compile_spec(spec))
    assert found["full"]["output_tokens"] == 3 * (3 * 100 + 1000)
    assert found["samples"]["output_tokens"] == 5 * 1000
    read = found["full"]["total_tokens"] - found["full"]["output_tokens"]
    assert read == found["full"]["input_tokens"]
    # after the opening each of four agents reads the replies of the others, twice
    assert read > 2 * (3 * (2 * 100 + 1000) + 3 * 100)


def test_the_plan_keeps_it(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", spec, "--json"]) == 0
    assert parse_plan(json.loads(capsys.readouterr().out)).most["full"] == {"calls": 12, "rounds": 2}


def test_nothing_is_rehearsed_for_claims_about_answers(spec: str) -> None:
    text = Path(spec).read_text().replace("calls(full) < calls(longer)", "accuracy(full) < accuracy(longer)")
    Path(spec).write_text(f"{text}analysis: {{metrics: [accuracy]}}\n")
    assert most_of_question(compile_spec(spec)) == {}


@pytest.mark.parametrize(
    ("claim", "told"),
    [
        ("output_tokens(full) < output_tokens(longer)", "nothing bounds output_tokens"),
        ("debates(full) < debates(longer)", "nothing bounds debates"),
        ("calls(full) < calls(longer)", None),
        ("accuracy(full) < accuracy(longer)", None),
    ],
)
def test_claims_without_bounds_are_not_looked_at_early(spec: str, claim: str, told: str | None) -> None:
    """With max_tokens at every model the first of them is."""
    text = Path(spec).read_text().replace("calls(full) < calls(longer)", claim)
    text = f"{text}stopping: {{min_questions: 2, batch: 2}}\n"
    Path(spec).write_text(text)
    if told is None:
        assert compile_spec(spec).stopping is not None
        return
    with pytest.raises(SpecError, match=told):
        compile_spec(spec)
    Path(spec).write_text(with_max_tokens(text, 100, 9))
    if claim.startswith("output"):
        assert compile_spec(spec).stopping is not None
    else:
        with pytest.raises(SpecError, match=told):
            compile_spec(spec)
