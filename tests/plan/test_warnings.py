"""Warnings before a run: steps that show nothing, cells that a race stops, replies that no step can read."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.cli.main import main
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.forecast.warnings import unreadable_replies

HEAD = """\
dataset: {name: arithmetic, size: 3}
models: {small: {model: builtin/solver, skill: 0.5}}
agents: [{name: a, model: small}, {name: b, model: small}, {name: c, model: small}, {name: d, model: small},
         {name: e, model: small}]
teams: {five: everyone, one: [a]}
protocols:
  own:
"""
ALONE = """\
    settings: {weight: confidence, keep: mean}
    steps:
      answer: {role: debater, prompt: common/answer.j2}
      revise: {role: debater, hears: HEARS, prompt: multi-llm/revise.j2}
    schedule: SCHEDULE
    decide: majority
methods: {own: {protocol: own}}
"""


def alone(schedule: str, hears: str = "everyone") -> str:
    settings = "" if "$" in schedule + hears else "    settings: {weight: confidence, keep: mean}\n"
    return ALONE.replace(settings, "").replace("SCHEDULE", schedule).replace("HEARS", hears)


RACE = """\
dataset: {name: arithmetic, size: 60}
models: {small: {model: builtin/solver, skill: 0.5}}
agents: [{name: a, model: small}, {name: b, model: small}]
methods:
  vote: {protocol: voting}
  cot: {protocol: cot}
  full: {protocol: multi-llm, rounds: 1}
  matched: {protocol: self-consistency, match: {calls: full}}
analysis: {families: {main: {compare: [vote, cot], to: matched}}}
hypotheses: [accuracy(matched) > accuracy(vote)]
stopping: {rule: racing, fewest: 20, batch: 20}
"""


@pytest.mark.parametrize(
    ("text", "prompt", "expected"),
    [
        (
            alone("[revise, answer]"),
            "", "step revise hears others, and nobody has spoken before it",
        ),
        (
            "methods: {own: {protocol: multi-llm, rounds: 0}, two: {protocol: voting}}\n",
            "", "step revise is never spoken, as its loop runs 0 times",
        ),
        (
            "methods: {own: {protocol: voting, prompts: {answer: own.j2}}}\n",
            "What do you think? {{ answer_format }}",
            "step answer reads an answer, and prompts/own.j2 does not show the question",
        ),
    ],
)  # fmt: skip
def test_steps_that_show_nothing_are_reported(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str,
    prompt: str,
    expected: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("prompts").mkdir()
    Path("prompts/own.j2").write_text(prompt)
    head = HEAD if text.startswith(" ") else HEAD.replace("protocols:\n  own:\n", "")
    Path("own.yaml").write_text(head + text)
    assert main(["check", "own.yaml"]) == 0
    assert f"warning: own.yaml: methods.own: {expected}" in capsys.readouterr().err


def test_cells_that_a_race_stops_at_once_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`full` stands in no claim, but its budget is that of one that does."""
    path = tmp_path / "own.yaml"
    path.write_text(RACE, encoding="utf-8")
    said = "ule: racing stops 1 of 4 cells at the first look, after 20 questions, since no claim names them: cot; "
    said += "family main compares cot"
    assert main(["check", str(path)]) == 0
    warned = capsys.readouterr().err
    assert f"own.yaml:11:11: r{said}" in warned
    assert "write rule: together" in warned
    assert main(["plan", str(path)]) == 0
    assert f" R{said}." in " ".join(capsys.readouterr().out.split())
    both = "accuracy(matched) > accuracy(vote) and accuracy(matched) > accuracy(cot)"
    path.write_text(RACE.replace("accuracy(matched) > accuracy(vote)", both), "utf-8")
    assert main(["check", str(path)]) == 0
    assert "racing stops" not in capsys.readouterr().err


def test_without_racing_all_cells_stop_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(RACE.replace("rule: racing", "rule: together"), "utf-8")
    assert main(["check", str(path)]) == 0
    assert not capsys.readouterr().err


SPEC = """\
title: Tried
seed: 1
replicates: 1
dataset: {name: arithmetic, size: 2}
models:
  own: {model: builtin/solver, malformed: 0.9}
  far: {model: openai/somewhere, api_base: env:NOWHERE}
agents: [{name: a, model: own}, {name: b, model: MODEL}]
methods: {tried: {protocol: tried}}
protocols:
  tried:
    roles: {debater: [a], judge: [b]}
    steps:
      answer: {role: debater, prompt: common/answer.j2}
      judge: {role: judge, hears: {role: debater}, reads: READS, prompt: own/judge.j2}
    schedule: [answer, judge]
    decide: majority
"""
JUDGE_HEAD = '{% include "common/question.j2" %}{% include "common/heard.j2" %}\n\n'


def tried(folder: Path, request: str, reads: str = "verdict", model: str = "own") -> Plan:
    for name, text in {
        "specs/s.yaml": SPEC.replace("READS", reads).replace("MODEL", model),
        "prompts/own/judge.j2": JUDGE_HEAD + request,
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return compile_spec(str(folder / "specs" / "s.yaml"))


def test_a_form_that_the_solver_does_not_know_is_told_with_one_that_it_knows(tmp_path: Path) -> None:
    """It is asked for a thumb, and comments."""
    (problem,) = unreadable_replies(tried(tmp_path, "Thumb: <up or down>"))
    assert problem.where.endswith("prompts/own/judge.j2")
    assert problem.what.startswith("step judge reads a verdict, and the built-in solver's replies to this template")
    assert "(no verdict); one ends '" in problem.what  # what it said instead shows what it took the request for
    assert "Verdict: <agree or disagree>" in problem.remedy


def test_what_is_read_beside_is_tried_too(tmp_path: Path) -> None:
    """A comment is read from anything; the verdict beside it is never given."""
    (problem,) = unreadable_replies(tried(tmp_path, "Comment on it.", reads="[comment, verdict]"))
    assert "reads a verdict" in problem.what


@pytest.mark.parametrize(
    ("request_", "model"),
    [
        ("Verdict: <agree or disagree>", "own"),
        ("Verdict: <agree or disagree>\n\nThink before you write.", "own"),
        ("Thumb: <up or down>", "far"),
    ],
    ids=["a known form", "not in the last paragraph", "another model, which may understand"],
)
def test_what_can_be_read_or_is_asked_of_other_models_is_no_warning(tmp_path: Path, request_: str, model: str) -> None:
    """Replies that `malformed` spoils on purpose are no fault of the template."""
    assert unreadable_replies(tried(tmp_path, request_, model=model)) == []


@pytest.mark.parametrize("spec", ["quickstart", "examples/five", "examples/more", "examples/six", "examples/madke"])
def test_the_shipped_specs_are_understood(repository: Path, spec: str) -> None:
    assert unreadable_replies(compile_spec(str(repository / f"specs/{spec}.yaml"))) == []
