"""Warnings before a run: steps that show nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.cli.main import main

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


OTHERWISE = """\
    steps:
      answer: {role: debater, prompt: common/answer.j2}
      think: {role: debater, STEP, prompt: own.j2}
    schedule: [answer, think]
    decide: majority
methods: {own: {protocol: own}}
"""


def alone(schedule: str, hears: str = "everyone") -> str:
    settings = "" if "$" in schedule + hears else "    settings: {weight: confidence, keep: mean}\n"
    return ALONE.replace(settings, "").replace("SCHEDULE", schedule).replace("HEARS", hears)


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
        (
            OTHERWISE.replace("STEP", "hears: everyone, reads: quotes"),
            "{% for turn in heard %}{{ turn.text }}{% endfor %}",
            "step think needs a passage, and no question has one",
        ),
        (
            OTHERWISE.replace("STEP", "reads: comment, each: {context: 2}"),
            "Read {{ item }}", "step think needs a passage, and no question has one",
        ),
        (
            OTHERWISE.replace("STEP", "reads: [comment, ranking]"),
            "Rank the agents.", "step think chooses among agents, and is shown none",
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
