"""Forms that docs/decisions/037-few-words.md lists as "also accepted" mean the same as the documented ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.core.metrics import find_metric
from tests.language.sheets import SMALL, load, load_cells

OWN = """\
seed: 7
{questions}
models: {{small: {{model: builtin/solver, skill: 0.55}}}}
agents: [{{name: ann, model: small}}, {{name: bob, model: small}}, {{name: cai, model: small}}]
teams: {{two: [ann, bob]}}
methods: {{own: {{protocol: own, {team}}}}}
protocols:
  own:
    roles: {{debater: everyone, some: everyone}}
    steps:
      answer: {{role: debater, prompt: common/answer.j2}}
      revise: {{role: some, hears: {hears}, prompt: multi-llm/revise.j2}}
      learn: {{role: some, hears: {{weight: {learns}, keep: all}}, prompt: multi-llm/revise.j2}}
    schedule:
      - answer
      - {choose}
      - {{repeat: 2, until: {until}, do: [revise]}}
      - {{repeat: 2, until: {moves}, do: [learn]}}
    decide: {decide}
"""
WRITTEN = {
    "questions": "dataset: {name: arithmetic, size: 9}",
    "team": "agents: two",
    "hears": "{where: differs}",
    "choose": "{choose: some, from: debater, where: any(differs)}",
    "until": "consensus",
    "decide": "debater",
    "moves": "any(answer != before(answer)) and round < 3",
    "learns": "before(weight) + 1",
}


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("questions", "datasets: {arithmetic: {name: arithmetic, size: 9}}"),
        ("team", "agents: [ann, bob]"),
        ("until", "true"),
    ],
)
def test_another_form_is_the_same_debate(tmp_path: Path, part: str, other: str) -> None:
    (documented,) = load_cells(tmp_path, OWN.format(**WRITTEN))
    (accepted,) = load_cells(tmp_path, OWN.format(**{**WRITTEN, part: other}))
    assert accepted.debate == documented.debate


def test_one_dataset_with_a_label_asks_the_same_questions(tmp_path: Path) -> None:
    one = load(tmp_path, SMALL)
    labelled = SMALL.replace("dataset: {name", "datasets:\n  arithmetic: {name")
    assert dict(load(tmp_path, labelled).datasets) == dict(one.datasets)


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("score", "accuracy"),
        ("cons", "consensus"),
        ("brier", "brier_stated"),
        ("ece", "ece_stated"),
        ("auroc", "auroc_stated"),
    ],
)
def test_aliases_of_metrics(alias: str, name: str) -> None:
    metric = find_metric(alias)
    assert metric is not None
    assert metric.name == name
