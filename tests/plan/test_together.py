"""What is checked and planned of methods in which wordings, models of steps and handed-on questions meet."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.errors import SpecError
from cortexdsl.plan.compiler import compile_spec, validate_experiment
from cortexdsl.plan.forecast.cost import template_problems
from cortexdsl.plan.rehearsal.explain import explain

SPEC = """\
title: Together
seed: 3
replicates: 6
dataset: {name: arithmetic, size: 4}
models: {small: {model: builtin/solver}}
agents: [{name: ann, model: small}, {name: bob, model: small}]
methods:
  expert: {protocol: voting, prompts: {answer: {variants: [plain.j2, other.j2, third.j2]}}}
  vote: {protocol: multi-llm, rounds: 1, defer: {below: 0.9, to: expert}}
hypotheses: [accuracy(vote) > accuracy(expert) over prompts]
"""
PLAIN = "{{ question.text }}\n{{ answer_format }}\n"


def written(folder: Path, text: str = SPEC, **prompts: str) -> str:
    """The path of a spec with prompts beside it; those that are not named are plain."""
    for name in ("prompts", "specs"):
        (folder / name).mkdir()
    for name in ("plain", "other", "third"):
        (folder / "prompts" / f"{name}.j2").write_text(prompts.get(name, PLAIN), encoding="utf-8")
    path = folder / "specs" / "together.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", ["plain", "other", "third"])
def test_each_wording_is_rendered_before_a_run(name: str, tmp_path: Path) -> None:
    """No wording is left to the replicate that draws it: a division by 0 is found in each of them."""
    examined = validate_experiment(written(tmp_path, **{name: PLAIN + "{{ 1 / (round - round) }}"}))
    assert not examined.problems
    assert {name in problem.where for problem in template_problems(examined)} == {True}


def test_a_method_and_the_one_that_it_hands_questions_to_have_as_many_variants(tmp_path: Path) -> None:
    two = "rounds: 1, prompts: {answer: {variants: [plain.j2, other.j2]}}"
    with pytest.raises(SpecError, match=r"different numbers of variants, which are drawn together: vote 2, expert 3"):
        compile_spec(written(tmp_path, SPEC.replace("rounds: 1", two)))


@pytest.mark.parametrize("placebo", ["none", "other_question", "own", "shuffled", "same_length"])
def test_a_method_with_a_verifier_and_conditions_can_be_explained(placebo: str, tmp_path: Path) -> None:
    """The verifier is sent made-up replies, too."""
    words = f"rounds: 2, until: consensus, placebo: {placebo}, confidence: verifier"
    plan = compile_spec(written(tmp_path, SPEC.replace("rounds: 1", words)))
    shown = explain(plan.cell_named("vote").debate)
    assert "source: verifier" in shown
    assert "defer:\n  below: 0.9\n  to: expert\n" in shown
