"""A spec for tests of plans, written into a folder of its own."""

from __future__ import annotations

from pathlib import Path

from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.experiment import Plan

SPEC = """\
title: Small
seed: 3
replicates: 2
dataset: {name: arithmetic, size: 6}
models:
  weak:   {model: builtin/solver, skill: 0.4, parameters: 1.0e9, tokens: 2.0e12}
  strong: {model: builtin/solver, skill: 0.7, parameters: 7.0e9, tokens: 15e12}
agents:
  - {name: one, model: weak}
  - {name: two, model: weak}
  - {name: three, model: strong}
methods:
  sparse:  {protocol: cortexdebate, rounds: 2}
  full:    {protocol: multi-llm, rounds: 1}
  near:    {protocol: neighbor, rounds: 1, prompts: {answer: own/answer.j2}}
  matched: {protocol: self-consistency, agents: [three], budget: calls(full)}
grid:
  sparse:
    keep: [mean, {top: 1}]
analysis:
  families:
    main: {compare: [sparse, near, matched], to: full}
    ablation: {compare: grid, to: sparse}
hypotheses:
  - accuracy(sparse) > accuracy(full)
"""
PROMPT = '{% include "own/part.j2" %}\n{{ question.text }}\n{{ answer_format }}\n'


def plan(folder: Path, text: str = SPEC, *, prompt: str = PROMPT, part: str = "Think.") -> Plan:
    """Compile a spec that lies in `folder/specs/`, with a prompt of its own beside it."""
    for name, content in {
        "specs/small.yaml": text,
        "prompts/own/answer.j2": prompt,
        "prompts/own/part.j2": part,
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return compile_spec(str(folder / "specs" / "small.yaml"))
