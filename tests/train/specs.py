"""A spec with a training, whose models are the built-in solver: as far as pairs, nothing else is needed."""

from __future__ import annotations

from pathlib import Path

from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.experiment import Plan

SPEC = """\
title: Learning
seed: 17
dataset: {name: arithmetic, size: 6}
models:
  base: {model: builtin/solver, skill: 0.5}
agents:
  - {name: pupil, model: base}
  - {name: adviser, model: base}
methods:
  untrained: {protocol: acc, rounds: 2}
train:
  acc:
    method: untrained
    roles: [critic]
    questions: {size: 4}
    validation: 2
    samples: 3
    threshold: 0.3
"""


def plan(folder: Path, text: str = SPEC) -> Plan:
    """Compile a spec that lies in a folder."""
    path = folder / "learning.yaml"
    path.write_text(text, encoding="utf-8")
    return compile_spec(str(path))
