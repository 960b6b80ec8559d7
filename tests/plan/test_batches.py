"""What a plan says of models that are asked in batches, and how their debates are cut into jobs."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.cli.main import main
from cortexdsl.errors import SpecError
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.forecast.cost import rehearse_plan
from cortexdsl.plan.forecast.durations import most_waves
from cortexdsl.plan.jobs.schedule import is_batched, ways
from cortexdsl.plan.persistence.store import plan_record

SPEC = """\
title: x
dataset: {name: arithmetic, size: 400}
models:
  gpt: {model: openai/gpt-4o-mini, max_tokens: 100, transport: batch}
  own: {model: openai/own, api_base: env:URL, transport: direct, price: {input: 0, output: 0}}
agents: [{name: a, model: gpt}, {name: b, model: gpt}]
methods: {one: {protocol: cot}, two: {protocol: multi-llm, rounds: 2}}
limits: {dollars: 5}
"""


def spec(folder: Path, text: str = SPEC) -> str:
    path = folder / "x.yaml"
    path.write_text(text)
    return path.as_posix()


def test_all_questions_are_one_job_unless_the_spec_or_earlier_jobs_say_otherwise(tmp_path: Path) -> None:
    """400 questions of a model that is asked one by one would be cut into jobs; digests do not know the way."""
    batched, direct = compile_spec(spec(tmp_path)), compile_spec(spec(tmp_path, SPEC.replace("transport: batch", "")))
    assert [len(plan.shards["arithmetic"]) for plan in (batched, direct)] == [1, 2]
    assert [cell.digest for cell in batched.cells] == [cell.digest for cell in direct.cells]
    assert len(compile_spec(spec(tmp_path, SPEC + "shard_size: 100\n")).shards["arithmetic"]) == 4


def test_the_plan_has_dollars_of_both_ways_and_the_waves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The longest debate has an opening and two rounds: three waves. A batch costs half."""
    path = spec(tmp_path)
    plan = compile_spec(path)
    assert most_waves(plan) == 3
    total, by_cell = rehearse_plan(plan)
    assert total.dollars
    assert total.ordinary_dollars == pytest.approx(2 * total.dollars)
    assert plan_record(plan, total, by_cell).estimate["ordinary_dollars"] == total.ordinary_dollars
    assert main(["plan", path]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"In batches: ${total.dollars:.2f}; at most 3 waves, one after the other, if all jobs run at once." in said
    assert f"By single calls: ${total.ordinary_dollars:.2f}." in said


def test_a_plan_without_batches_is_as_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = compile_spec(spec(tmp_path, SPEC.replace("transport: batch", "")))
    total, by_cell = rehearse_plan(plan)
    assert "ordinary_dollars" not in plan_record(plan, total, by_cell).estimate
    assert main(["plan", plan.spec_path]) == 0
    assert "batch" not in capsys.readouterr().out


def test_jobs_that_wait_for_batches_alone_take_no_connection(tmp_path: Path) -> None:
    mixed = compile_spec(spec(tmp_path, SPEC.replace("{name: b, model: gpt}", "{name: b, model: own}")))
    assert [is_batched(mixed, cell.slug) for cell in mixed.cells] == [True, False]  # the first one has one agent
    assert ways(mixed) == ["direct", "litellm"]
    plan = compile_spec(spec(tmp_path))
    assert all(is_batched(plan, cell.slug) for cell in plan.cells)


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("model: gemini/x, transport: batch", "batch protocols of OpenAI and Anthropic, and gemini/x is of another"),
        ("model: builtin/solver, transport: batch", "a model that runs here is reached by no transport"),
        ("model: direct/x, transport: batch", "needs the address of the server"),
        ("model: openai/x, batch: {wait: 5.0}", "batch has settings of transport: batch"),
        ("model: openai/x, transport: batch, batch: {size: 3}", "unknown key"),
        ("model: openai/x, api_base: env:U, transport: batch, options: {drop_params: true}", "tells litellm something"),
    ],
)
def test_what_cannot_be_a_batch_is_refused_with_a_remedy(tmp_path: Path, entry: str, problem: str) -> None:
    text = SPEC.replace("model: openai/gpt-4o-mini, max_tokens: 100, transport: batch", entry)
    with pytest.raises(SpecError, match=problem):
        compile_spec(spec(tmp_path, text))
