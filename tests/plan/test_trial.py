"""What `check` finds by letting the built-in solver debate once: replies that no step could read."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.plan import Plan, compile_spec
from cortexdsl.plan.cost.trial import unreadable

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
HEAD = '{% include "common/question.j2" %}{% include "common/heard.j2" %}\n\n'


def tried(folder: Path, request: str, reads: str = "verdict", model: str = "own") -> Plan:
    for name, text in {
        "specs/s.yaml": SPEC.replace("READS", reads).replace("MODEL", model),
        "prompts/own/judge.j2": HEAD + request,
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return compile_spec(str(folder / "specs" / "s.yaml"))


def test_a_form_that_the_solver_does_not_know_is_told_with_one_that_it_knows(tmp_path: Path) -> None:
    """It is asked for a thumb, and comments."""
    (problem,) = unreadable(tried(tmp_path, "Thumb: <up or down>"))
    assert problem.where.endswith("prompts/own/judge.j2")
    assert problem.what.startswith("step judge reads a verdict, and the built-in solver's replies to this template")
    assert "(no verdict); one ends '" in problem.what  # what it said instead shows what it took the request for
    assert "Verdict: <agree or disagree>" in problem.remedy


def test_what_is_read_beside_is_tried_too(tmp_path: Path) -> None:
    """A comment is read from anything; the verdict beside it is never given."""
    (problem,) = unreadable(tried(tmp_path, "Comment on it.", reads="[comment, verdict]"))
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
    assert unreadable(tried(tmp_path, request_, model=model)) == []


@pytest.mark.parametrize("spec", ["quickstart", "examples/five", "examples/more", "examples/six", "examples/madke"])
def test_the_shipped_specs_are_understood(repository: Path, spec: str) -> None:
    assert unreadable(compile_spec(str(repository / f"specs/{spec}.yaml"))) == []
