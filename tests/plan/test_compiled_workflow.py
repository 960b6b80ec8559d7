"""The workflow that `cortexdsl compile` writes."""

from __future__ import annotations

import ast
from pathlib import Path

from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.jobs.compiled_workflow import workflow_text
from tests.plan.specs import SPEC, plan


def _rule(text: str, name: str) -> str:
    return text.partition(f"\nrule {name}:\n")[2].partition("\n\n")[0]


def test_each_cell_is_a_rule_with_its_settings(small: Plan) -> None:
    """Five cells; each is a target that makes its scores, and says its protocol, its agents and its settings."""
    text = workflow_text(small)
    for cell in ("sparse", "sparse_keep_top_1", "full", "near", "matched"):
        assert f"\nrule cell_{cell}:\n" in text
    assert text.count("\nrule ") == 5
    sparse = _rule(text, "cell_sparse_keep_top_1")
    assert "        'results/small/parts/arithmetic/sparse~keep=top-1/scores.csv',\n" in sparse
    assert "        protocol='cortexdebate',\n" in sparse
    assert "            'debater': ['one', 'two', 'three'],\n" in sparse
    assert "            'keep': {'top': 1},\n" in sparse
    assert "            'rounds': 2,\n" in _rule(text, "cell_sparse")
    assert "        match='calls of full',\n" in _rule(text, "cell_matched")


def test_the_rules_are_those_of_the_installed_workflow(small: Plan) -> None:
    """No job stands in the text; Snakemake ignores the handlers of a module, so that the main file calls them."""
    text = workflow_text(small)
    assert "shell:" not in text
    assert "module experiment:" in text
    assert "use rule * from experiment" in text
    for handler in ("onstart", "onsuccess", "onerror"):
        assert f"\n{handler}:\n    experiment.{handler}()\n" in text


def test_texts_of_users_stay_texts(tmp_path: Path) -> None:
    """A title of two lines is one comment; a path with space, quote and braces is one Python string."""
    folder = tmp_path / "a {b} 'c"
    text = workflow_text(plan(folder, SPEC.replace("title: Small", 'title: "one\\nrule x: {y}"')))
    assert text.startswith("# one rule x: {y}\n# ")
    config = text.partition("    config:\n")[2].partition("\n\n")[0]
    assert ast.literal_eval(config.strip().replace("**config, ", "")) == {"spec": f"{folder}/specs/small.yaml"}


def test_cells_with_equal_identifiers_have_rules_of_their_own(tmp_path: Path) -> None:
    """`near-by` and `near_by` are two methods, and would be one identifier."""
    line = "  near:    {protocol: neighbor, rounds: 1, prompts: {answer: own/answer.j2}}\n"
    assert line in SPEC
    more = "  near-by: {protocol: neighbor, rounds: 2}\n  near_by: {protocol: neighbor, rounds: 3}\n"
    text = workflow_text(plan(tmp_path, SPEC.replace(line, line + more)))
    assert "            'rounds': 2,\n" in _rule(text, "cell_near_by")
    assert "            'rounds': 3,\n" in _rule(text, "cell_near_by_v2")
