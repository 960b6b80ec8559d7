"""The rules that `cortexdsl compile` prints."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from cortexdsl.plan.jobs.rules import rules_text
from cortexdsl.plan.jobs.waiting import connections_per_job
from tests.plan.specs import SPEC, plan


def test_each_cell_is_a_rule_with_its_settings(tmp_path: Path) -> None:
    """Five cells, each with a job that debates and one that scores; the matched cell reads the other's records."""
    text = rules_text(plan(tmp_path))
    for cell in ("sparse", "sparse_keep_top_1", "full", "near", "matched"):
        assert f"rule debate_arithmetic_{cell}:" in text
        assert f"rule score_arithmetic_{cell}:" in text
    matched = text.partition("rule debate_arithmetic_matched:")[2].partition("\nrule ")[0]
    assert "'results/small/debates/arithmetic/full/{shard}.jsonl'" in matched
    assert "            'rounds': 2," in text.partition("rule debate_arithmetic_sparse:")[2]
    assert "            'keep': {'top': 1}," in text.partition("rule debate_arithmetic_sparse_keep_top_1:")[2]


def test_the_plan_is_made_after_what_is_declared(tmp_path: Path) -> None:
    """It writes into the same ledger: were it first, it would make the other rule's file."""
    made = rules_text(plan(tmp_path)).partition("rule plan:")[2].partition("\nrule ")[0]
    assert "results/small/declared.json" in made.partition("output:")[0]


@pytest.mark.parametrize("cores", [None, 1, 4, 64])
def test_connections_are_divided_among_the_jobs_that_can_run_at_once(tmp_path: Path, cores: int | None) -> None:
    """As our own workflow divides them: 64 cores do not make more jobs than there are."""
    small = plan(tmp_path)
    found = re.search(r"connections=(lambda wildcards: .*),\n", rules_text(small))
    assert found is not None
    connections = eval(found[1], {"workflow": SimpleNamespace(cores=cores)})
    assert connections(None) == connections_per_job(small, cores)


def test_texts_of_users_stay_texts(tmp_path: Path) -> None:
    """A title of two lines is one comment; a path with space and braces is quoted, and no wildcard."""
    folder = tmp_path / "a {b} c"
    text = rules_text(plan(folder, SPEC.replace("title: Small", 'title: "one\\nrule x: {y}"')))
    assert text.startswith("# one rule x: {y}\n# ")
    assert f"cortexdsl plan '{folder}/specs/small.yaml'".replace("{", "{{").replace("}", "}}") in text
    compile(text.partition("\n\nrule ")[0], "head", "exec")


def test_knowledge_and_servers_are_part_of_what_runs_by_itself(tmp_path: Path) -> None:
    """A pool is built by a rule; a server is started and stopped by Snakemake's handlers."""
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "corpus.jsonl").write_text('{"title": "T", "text": "one and one are two"}\n')
    text = SPEC.replace("  matched:", "  read: {protocol: rag, agents: [first], pool: [wiki]}\n  matched:")
    text += "knowledge:\n  wiki: {retriever: bm25, corpus: corpus.jsonl}\n"
    text += "servers:\n  own: {command: run --port {port}, env: HERE}\n".replace("run --port {port}", "'run {port}'")
    rules = rules_text(plan(tmp_path, text))
    assert "rule pool_arithmetic_wiki:" in rules
    assert "'results/small/pools/arithmetic/wiki.jsonl'" in rules.partition("rule debate_arithmetic_read:")[2]
    for handler in ("onstart", "onsuccess", "onerror"):
        assert f"\n{handler}:\n" in rules
    assert "onstart" not in rules_text(plan(tmp_path))
