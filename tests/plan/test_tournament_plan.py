"""Tournaments and open questions in a spec: what is refused before a call, warnings, and the calls that are planned."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.cli.main import main
from cortexdsl.errors import SpecError
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.forecast.cost import TOURNAMENT, rehearse_plan, rehearsed_loads
from cortexdsl.plan.job_digests import ballots_digest
from cortexdsl.plan.job_files import all_ballots, tournament_tables
from tests.plan.specs import plan as usual_plan

SPEC = """\
replicates: 2
dataset: {file: open.jsonl, kind: open}
models:
  small: {model: builtin/solver}
  wise: {model: builtin/solver, skill: 0.9}
  strict: {model: builtin/solver, skill: 0.8}
agents: [{name: one, model: small}, {name: two, model: small}, {name: three, model: small}]
methods:
  cot: {protocol: cot, agents: [one]}
  vote: {protocol: voting}
  talk: {protocol: multi-llm, rounds: 1}
analysis: {tournament: [wise, strict]}
"""


def write(folder: Path, *edits: tuple[str, str]) -> Path:
    text = SPEC
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    rows = ['{"question": "Name a fish.", "answer": "never read"}\n', '{"question": "Name a bird."}\n']
    (folder / "open.jsonl").write_text("".join(rows), encoding="utf-8")
    path = folder / "open.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def compiled(folder: Path, *edits: tuple[str, str]) -> Plan:
    return compile_spec(str(write(folder, *edits)))


def test_each_judge_has_a_job_a_dataset_and_its_calls_are_planned(tmp_path: Path) -> None:
    """2 questions, 2 replicates, 3 pairs of methods, 2 orders: 24 calls of each judge at most."""
    plan = compiled(tmp_path)
    assert all_ballots(plan) == [f"results/open/ballots/open/{judge}.jsonl" for judge in ("wise", "strict")]
    assert tournament_tables(plan) == [f"results/open/{table}.csv" for table in ("tournament", "duels", "judges")]
    assert rehearse_plan(plan)[1][TOURNAMENT].calls == 48
    assert rehearsed_loads(plan)["wise"][0] == 24
    assert {model.name for model in plan.called_models} == {"small", "wise", "strict"}


def test_without_a_tournament_there_is_none_of_it_and_the_digest_is_as_before(tmp_path: Path) -> None:
    plan = usual_plan(tmp_path)
    assert plan.tournament is None
    assert all_ballots(plan) == tournament_tables(plan) == []
    assert TOURNAMENT not in rehearse_plan(plan)[1]


def test_ballots_are_made_again_for_another_judge_alone(tmp_path: Path) -> None:
    first, other = compiled(tmp_path), compiled(tmp_path, ("skill: 0.9", "skill: 0.95"))
    changed = [name for name in ("wise", "strict")
               if ballots_digest(first, "open", name) != ballots_digest(other, "open", name)]  # fmt: skip
    assert changed == ["wise"]
    assert first.digest != other.digest


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ([("[wise, strict]", "[wis]")], r"open\.yaml:12.*there is no model '?wis"),
        ([("  vote: {protocol: voting}\n  talk: {protocol: multi-llm, rounds: 1}\n", "")], "tournament of one method"),
        ([("[wise, strict]}", "[wise]}\nhypotheses: [calls(talk) > calls(vote)]\nstopping: {min_questions: 1}")],
         "a tournament compares all answers"),
        ([("tournament: [wise, strict]", "metrics: [accuracy]")], "accuracy needs answers of any kind but open"),
        ([("[wise, strict]}", "[wise]}\nhypotheses: [ece(talk) < ece(vote)]")], "ece needs answers of any kind but"),
        ([("tournament: [wise, strict]", "metrics: [kappa]")], "kappa needs answers of kind pair"),
        ([("{model: builtin/solver, skill: 0.9}", "{model: mistral/wise}")], r"wise \(mistral/wise\) may cost money"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_before_a_call(tmp_path: Path, edits: list[tuple[str, str]], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        compiled(tmp_path, *edits)


def test_a_judge_that_speaks_in_the_debates_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(write(tmp_path))]) == 0
    assert "prefer their own replies" not in capsys.readouterr().err
    assert main(["check", str(write(tmp_path, ("[wise, strict]", "[wise, small]")))]) == 0
    printed = capsys.readouterr()
    assert "small (builtin/solver) judges debates in which it speaks (cot)" in printed.err + printed.out
    assert "open.yaml:12" in printed.err + printed.out


def test_metrics_of_open_questions_are_costs_if_none_are_named(tmp_path: Path) -> None:
    assert compiled(tmp_path).metrics == ("calls", "total_tokens")
