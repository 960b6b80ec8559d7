"""Language models debate: the ones that ship, by Snakemake, from spec to report; nothing but the package is needed."""

from __future__ import annotations

import shutil

import pytest

from cortexdsl_tiny.folder import find
from tests.workflow.bench import REPOSITORY, Bench

pytestmark = pytest.mark.workflow

SPEC = """\
title: Language models
seed: 5
shard_size: 4
datasets:
  sums:  {file: data/sums.jsonl, kind: number, size: 4}
  world: {file: data/world.jsonl, kind: text, metric: em, size: 4}
models:
  best:  {model: tiny/raven, max_tokens: 160}
  worst: {model: tiny/wren, max_tokens: 160}
agents:
  - {name: one, model: best}
  - {name: two, model: best}
  - {name: three, model: worst}
knowledge:
  corpus: {corpus: data/corpus.jsonl, embedding: ngram, top: 4}
methods:
  sparse: {protocol: cortexdebate, rounds: 2}
  vote:   {protocol: voting}
  rag:    {protocol: rag, pool: [corpus], agents: [one]}
grid:
  sparse: {confidence: [stated, logprob]}
hypotheses:
  - accuracy(sparse) > accuracy(vote)
"""


def test_models_that_ship_debate_and_say_the_same_again(fresh: Bench) -> None:
    shutil.copytree(REPOSITORY / "specs" / "data", fresh.folder / "specs" / "data")
    fresh.write("specs/small.yaml", SPEC)
    run = fresh.snakemake()
    assert run.status == 0, run.text
    debates = fresh.debates("small")
    assert {debate["cell"] for debate in debates} == {
        "sparse", "sparse[confidence=logprob]", "vote", "rag",
    }  # fmt: skip
    turns = [turn for debate in debates for turn in debate["turns"]]
    assert len({turn["text"] for turn in turns}) > 20
    answered = [debate for debate in debates if debate["cell"] == "rag"]
    assert any(turn["answer"] is not None for debate in answered for turn in debate["turns"])

    plan = (fresh.results("small") / "plan.json").read_text()
    for name in ("raven", "wren"):
        assert find(f"tiny/{name}").digest in plan

    before = fresh.records("small")
    shutil.rmtree(fresh.folder / "results")
    again = fresh.snakemake("results/small/scores.csv", cores=1)
    assert again.status == 0, again.text
    assert fresh.records("small") == before  # another number of cores, other batches, the same words
