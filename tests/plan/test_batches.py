"""What a plan says of models that a provider's batches answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.cli.main import main
from cortexdsl.errors import SpecError
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.forecast.cost import rehearse_plan
from cortexdsl.plan.forecast.rounds import MORE, rounds_of

SPEC = """\
title: x
dataset: {name: arithmetic, size: 400}
models: {gpt: {model: openai/gpt-4o-mini, max_tokens: 100, engine: openai}}
engines: {openai: {command: "cortexdsl batch openai {requests} {replies}"}}
agents: [{name: a, model: gpt}, {name: b, model: gpt}]
methods: {one: {protocol: cot}, two: {protocol: multi-llm, rounds: 2}}
limits: {dollars: 5}
"""
ALONE = SPEC.replace(", engine: openai", "").replace(SPEC.splitlines()[3] + "\n", "")


@pytest.fixture(autouse=True)
def no_redirection(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)


def spec(folder: Path, text: str = SPEC) -> str:
    path = folder / "x.yaml"
    path.write_text(text)
    return path.as_posix()


def test_batches_cost_half_and_change_neither_digests_nor_permissions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The longest debate has an opening and two rounds: three rounds of files, and those that ask again."""
    plan, alone = compile_spec(spec(tmp_path)), compile_spec(spec(tmp_path, ALONE))
    assert [cell.digest for cell in plan.cells] == [cell.digest for cell in alone.cells]
    assert not plan.permissions
    assert rounds_of(plan) == 3 + MORE
    total, half = rehearse_plan(alone)[0], rehearse_plan(plan)[0]
    assert total.dollars
    assert half.dollars == pytest.approx(total.dollars / 2)
    assert main(["plan", spec(tmp_path)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "$0.075 in and $0.3 out per million tokens, in batches, by the price list" in printed


def test_a_limit_in_dollars_needs_a_price_and_another_engine_is_free(tmp_path: Path) -> None:
    """At an address of its own, or by another program, the calls of an engine cost nothing."""
    with pytest.raises(SpecError, match=r"openai/unheard-of.* has no price"):
        compile_spec(spec(tmp_path, SPEC.replace("openai/gpt-4o-mini", "openai/unheard-of")))
    with pytest.raises(SpecError, match="limits"):
        compile_spec(spec(tmp_path, SPEC.replace("limits: {dollars: 5}\n", "")))
    own = compile_spec(spec(tmp_path, SPEC.replace("{replies}", "{replies} --api-base env:LAB_URL")))
    assert rehearse_plan(own)[0].dollars == 0
    assert [one.what.partition(" cortexdsl")[0] for one in own.permissions] == ["run the command"]


def test_a_variable_that_sends_batches_elsewhere_needs_permission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for calls that are sent alone; the price of the provider is no longer known."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere.example/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-key-of-tests")
    plan = compile_spec(spec(tmp_path, SPEC.replace("dollars: 5", "calls: 10_000")))
    (permission,) = plan.permissions
    assert permission.what.startswith("send prompts and the value of the variable OPENAI_API_KEY to http://elsewhere")
    assert not rehearse_plan(plan)[0].is_priced


def test_an_engine_of_another_provider_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="the engine openai asks openai, and anthropic/x is of another provider"):
        compile_spec(spec(tmp_path, SPEC.replace("openai/gpt-4o-mini", "anthropic/x")))
