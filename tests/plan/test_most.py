"""The most that one question can take, by the formulas of the protocols."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cortexdsl.cli.main import main
from cortexdsl.errors import SpecError
from cortexdsl.plan import compile_spec
from cortexdsl.plan.cost.most import most_of_question
from cortexdsl.plan.kept.store import most_in
from tests.plan.test_estimate import CALLS, SPEC

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
    assert most_in(json.loads(capsys.readouterr().out))["full"] == {"calls": 12, "rounds": 2}


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
    text = f"{text}stopping: {{fewest: 2, batch: 2}}\n"
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
