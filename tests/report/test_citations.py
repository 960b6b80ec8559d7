"""What an experiment should cite, in words and as BibTeX."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cortexdsl.language.protocol.loader import builtin_names, load_protocol
from cortexdsl.plan.record import PlanRecord, parse_plan
from cortexdsl.report.phrasing.citations import ARXIV, bibtex, data_in_words, papers
from cortexdsl.stats.inference.families import CORRECTIONS
from cortexdsl.tasks.registry import registry

PLAN = {
    "datasets": {"sums": {"name": "gsm8k"}, "mine": {"name": "own"},
                 "other": {"name": "a/b_c", "revision": "1" * 40}, "quiz": {"name": "gpqa"}},
    "cells": [{"cell": "vote", "method": "vote", "protocol": "voting"},
              {"cell": "x", "method": "x", "protocol": "multi-llm"},
              {"cell": "own", "method": "own", "protocol": "not-built-in"}],
    "analysis": {"correction": "holm"},
    "families": [{"name": name, "compare": [], "to": "", "correction": name} for name in ("bh", "none")],
}  # fmt: skip


def test_each_work_is_cited_once_with_what_it_is_cited_for() -> None:
    text = bibtex(parse_plan(PLAN))
    keys = re.findall(r"^@\w+\{([a-z0-9.-]+),$", text, re.MULTILINE)
    assert len(keys) == len(set(keys)) == text.count("\n@") + 1
    assert keys[0] == "cortexdsl"
    assert {"cobbe2021-2110.14168", "rein2023-2311.12022", "holm1979-holm", "benjamini1995-bh"} < set(keys)
    cobbe = text[text.index("@misc{cobbe2021") :].partition("\n}")[0]
    assert "author = {Cobbe and others}," in cobbe
    assert "title = {{Training Verifiers to Solve Math Word Problems}}," in cobbe
    assert "eprint = {2110.14168}," in cobbe
    assert "note = {dataset sums}," in cobbe
    assert "Google-Proof Q\\&A" in text
    assert "howpublished = {https://huggingface.co/datasets/a/b\\_c}," in text
    assert "% dataset mine: a file of your own" in text
    assert text.count("{") == text.count("}")


def test_a_protocol_of_the_spec_is_cited_by_its_source(tmp_path: Path) -> None:
    spec = tmp_path / "s.yaml"
    spec.write_text("protocols:\n  not-built-in: {source: 'Xiong et al. 2023, arXiv 2305.11595'}\n", encoding="utf-8")
    assert "eprint = {2305.11595},\n  archiveprefix = {arXiv},\n  note = {method own}," in bibtex(
        parse_plan({**PLAN, "spec": str(spec)})
    )


def test_an_experiment_without_a_plan_cites_the_program() -> None:
    assert re.fullmatch(r"@software\{cortexdsl,\n(  \w+ = \{.+\},\n)+\}\n", bibtex(PlanRecord()))


def test_data_have_licence_and_citation() -> None:
    said = dict(data_in_words(parse_plan(PLAN)))
    assert said["sums"].endswith("licence: MIT; cite Cobbe et al. 2021, arXiv 2110.14168")
    assert said["other"] == "licence and citation: https://huggingface.co/datasets/a/b_c"
    assert "mine" not in said


@pytest.mark.parametrize("name", registry())
def test_every_known_dataset_states_licence_and_source_and_its_papers_have_titles(name: str) -> None:
    entry = registry()[name]
    assert entry.licence
    assert entry.source
    assert set(ARXIV.findall(entry.source)) <= {*papers()}


def test_papers_of_methods_and_corrections_have_titles() -> None:
    sources = [load_protocol(name).text.source or "" for name in builtin_names()]
    assert {number for source in sources for number in ARXIV.findall(source)} <= {*papers()}
    assert {*CORRECTIONS} <= {*papers()}
