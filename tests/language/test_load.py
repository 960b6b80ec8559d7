"""A right spec becomes the nouns of the field."""

from __future__ import annotations

import contextlib
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cortexdsl.core import Agent, Dataset, Limits, Model, Price
from cortexdsl.errors import SpecError
from cortexdsl.language.methods.resolved_cells import resolve_cells
from cortexdsl.language.spec import load_spec
from tests.language.sheets import SMALL, load


def test_the_small_spec(tmp_path: Path) -> None:
    spec = load(tmp_path, SMALL + "limits: {calls: 50_000, dollars: 5}\n")
    small = Model("small", "builtin/solver", options={"skill": 0.55}, parameters=0.5e9, tokens=1e12)
    assert spec.name == "spec"
    assert dict(spec.models) == {"small": small}
    assert next(iter(spec.agents.values())) == Agent("ann", small)
    assert dict(spec.datasets) == {"arithmetic": Dataset("arithmetic", name="arithmetic", size=100, seed=7)}
    assert spec.limits == Limits(calls=50_000, dollars=5)


def test_a_model_of_a_server(tmp_path: Path) -> None:
    """A million tokens at 0.15 dollars are 1.5e-7 dollars a token; addresses and keys stay names."""
    entry = (
        "{model: openai/Q, api_base: env:QWEN_URL, api_key_env: QWEN_KEY, temperature: 0, max_tokens: 5e2, "
        "price: {input: 0.15, output: 0.6}, options: {top_p: 1, top_k: 20}}"
    )
    spec = load(tmp_path, SMALL.replace("agents:", f"  big: {entry}\nagents:"))
    big = spec.models["big"]
    assert (big.api_base, big.api_key_env) == ("env:QWEN_URL", "QWEN_KEY")
    assert big.options == {"temperature": 0, "top_p": 1, "max_tokens": 500, "top_k": 20}
    assert big.price == Price(0.15 / 1e6, 0.6 / 1e6)


def test_datasets_of_ones_own(tmp_path: Path) -> None:
    entry = (
        "{file: env:EXAM, question: Question, answer: Key, choices: [A, B], kind: choice, ids: [3, x], subset: easy}"
    )
    path = tmp_path / "s.yaml"
    path.write_text(SMALL.replace("dataset: {name: arithmetic, size: 100}", f"datasets: {{exam: {entry}}}"))
    (exam,) = load_spec(path, {"EXAM": "/data/exam.csv"}).datasets.values()
    assert (exam.label, exam.path, exam.ids, exam.subset) == ("exam", "/data/exam.csv", ("3", "x"), ("easy",))
    assert exam.fields == {"question": "Question", "answer": "Key", "choices": ("A", "B")}


def test_repeated_members_of_a_team_are_copies(tmp_path: Path) -> None:
    spec = load(tmp_path, SMALL + "teams: {many: [ann, bob, ann, ann], all: everyone}\n")
    assert [agent.name for agent in spec.teams["many"]] == ["ann", "bob", "ann-2", "ann-3"]
    assert spec.teams["all"] == tuple(spec.agents.values())


def test_extends_inherits_all_and_replaces_setting_by_setting(tmp_path: Path) -> None:
    text = SMALL + (
        "  base: {protocol: cortexdebate, keep: {top: 1}, rounds: 4, agents: [ann, bob], prompts: {revise: a.j2}}\n"
        "  child: {extends: base, keep: {drop_bottom: 0}, agents: everyone, prompts: {answer: b.j2}}\n"
    )
    spec = load(tmp_path, text)
    child = spec.node.find(("methods", "child"))
    assert child is not None
    assert child.plain() == {
        "protocol": "cortexdebate",
        "keep": {"drop_bottom": 0},
        "rounds": 4,
        "prompts": {"revise": "a.j2", "answer": "b.j2"},
        "agents": "everyone",
    }
    assert spec.where(("methods", "child", "rounds")).endswith(":15:58")


def test_claims_are_read(tmp_path: Path) -> None:
    spec = load(tmp_path, SMALL + "hypotheses: [accuracy(sparse) > accuracy(full)]\n")
    assert spec.hypotheses[0].text == "accuracy(sparse) > accuracy(full)"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.integers(0, len(SMALL) - 1), st.integers(0, 12), st.text(alphabet="{}[]:,-$ \n'x0.eE&*!", max_size=3))
def test_a_damaged_spec_is_a_spec_error_or_right(tmp_path: Path, at: int, length: int, junk: str) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(SMALL[:at] + junk + SMALL[at + length :])
    with contextlib.suppress(SpecError):
        assert resolve_cells(load_spec(path))
