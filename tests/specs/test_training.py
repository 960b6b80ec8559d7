"""The spec that trains small models: its questions, which are made by a command, and what it compares."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cortexdsl.plan.compiler import compile_spec
from cortexdsl_tiny.zoo.questions import arithmetic_rows, held_out

ROOT = Path(__file__).resolve().parents[2]
SPEC = ROOT / "specs/train/acc-tiny.yaml"


@pytest.mark.parametrize(("name", "seed"), [("learn", 101), ("ask", 102)])
def test_its_questions_are_those_that_the_command_in_its_head_makes(name: str, seed: int) -> None:
    """And none that a lesson of the small models had."""
    lines = (SPEC.parent / f"data/{name}.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == list(arithmetic_rows(seed, 600))
    assert f"--seed {seed} ({name})" in " ".join(SPEC.read_text(encoding="utf-8").replace("#", "").split())
    assert all(held_out(json.loads(line)["question"]) for line in lines)


def test_what_is_learned_validated_and_asked_has_nothing_in_common(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    plan = compile_spec("specs/train/acc-tiny.yaml")
    asked = {question.text for task in plan.tasks.values() for question in task.questions}
    for training in plan.trainings:
        learned = {question.text for question in training.task.questions if question.id not in training.validation}
        kept = {question.text for question in training.task.questions if question.id in training.validation}
        assert (len(learned), len(kept)) == (training.said.questions.size, training.said.validation)
        assert not learned & kept
        assert not (learned | kept) & asked


def test_its_arms_are_those_of_the_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the two trained alone, together, and the critic with an actor that it has not met."""
    monkeypatch.chdir(ROOT)
    plan = compile_spec("specs/train/acc-tiny.yaml")
    spoken = {
        cell.name: {role: role_agents[0].model.name for role, role_agents in cell.debate.role_agents.items()}
        for cell in plan.cells
    }
    pairs = {name: (spoken[name]["actor"], spoken[name]["critic"]) for name in spoken if "critic" in spoken[name]}
    assert pairs == {
        "untrained": ("base", "base"),
        "short": ("base", "base"),
        "acc": ("actor", "critic"),
        "trained-actor": ("actor", "base"),
        "trained-critic": ("base", "critic"),
        "stranger": ("stranger", "base"),
        "stranger-trained": ("stranger", "critic"),
    }
    assert plan.hypotheses == ("accuracy(acc) > accuracy(untrained)",)
