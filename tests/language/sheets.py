"""Specs for tests: a small valid one, and what a changed one is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.errors import Problem, SpecError
from cortexdsl.language.methods.resolved_cells import ResolvedCell, resolve_cells
from cortexdsl.language.spec import Spec, load_spec

SMALL = """\
title: Does sparse debate beat full debate?
seed: 7
replicates: 3
dataset: {name: arithmetic, size: 100}
models:
  small: {model: builtin/solver, skill: 0.55, parameters: 0.5e9, tokens: 1.0e12}
agents:
  - {name: ann, model: small}
  - {name: bob, model: small}
  - {name: cai, model: small}
  - {name: dee, model: small}
methods:
  sparse: {protocol: cortexdebate, rounds: 2}
  full: {protocol: multi-llm, rounds: 2}
"""


def load(folder: Path, text: str, **beside: str) -> Spec:
    """Write a spec (and files beside it) and load it."""
    for name, content in beside.items():
        (folder / f"{name}.yaml").write_text(content, encoding="utf-8")
    path = folder / "spec.yaml"
    path.write_text(text, encoding="utf-8")
    return load_spec(path)


def load_cells(folder: Path, text: str, **beside: str) -> tuple[ResolvedCell, ...]:
    """Load a spec and resolve its cells."""
    return resolve_cells(load(folder, text, **beside))


def problems(folder: Path, text: str, **beside: str) -> tuple[Problem, ...]:
    """Return what a spec is told, or fail where it is told nothing."""
    with pytest.raises(SpecError) as caught:
        load_cells(folder, text, **beside)
    return caught.value.problems


def marked(text: str) -> tuple[str, str]:
    """Return a text without the sign `^`, and the `line:column` where the sign was."""
    before, _, after = text.partition("^")
    return before + after, f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


def told_at_mark(folder: Path, text: str) -> Problem:
    """Return the only thing that a spec is told, which must be about the place of `^`."""
    plain, where = marked(text)
    told = problems(folder, plain)
    assert len(told) == 1, told
    assert place(told[0]) == where
    return told[0]


def place(problem: Problem) -> str:
    """Return `line:column` of a problem."""
    return problem.where.split(".yaml:")[1]
