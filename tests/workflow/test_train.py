"""Learning as part of a run: debates, pairs, critic, actor, and the experiment with both."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.models.tiny.made import made
from tests.workflow.bench import Bench

pytestmark = pytest.mark.workflow
SPEC = """\
title: Learning
seed: 3
shard_size: 6
dataset: {name: arithmetic, size: 6}
models:
  base:   {model: tiny/./base, parameters: 1.0e5, tokens: 1.0e6, max_tokens: 8}
  actor:  {trained: acc, role: actor}
  critic: {trained: acc, role: critic}
agents:
  - {name: actor, model: base}
  - {name: critic, model: base}
  - {name: trained-actor, model: actor}
  - {name: trained-critic, model: critic}
teams:
  before: [actor, critic]
  after: [trained-actor, trained-critic]
methods:
  untrained: {protocol: acc, rounds: 2, team: before}
  trained:   {protocol: acc, rounds: 2, team: after}
train:
  acc: {method: untrained, questions: {size: 6, validation: 2}, samples: 2, optimiser: {rank: 2, batch: 2}}
hypotheses:
  - accuracy(trained) > accuracy(untrained)
"""


def test_the_critic_learns_first_then_the_actor_and_then_both_debate(tmp_path: Path) -> None:
    """One job for what each phase reads, one for its pairs, one to learn from them; both cells are debated."""
    bench = Bench(tmp_path / "bench")
    made(bench.folder / "base")
    bench.write("specs/learning.yaml", SPEC)
    done = bench.snakemake("results/learning/scores.csv", "--dry-run", "--config", "spec=learning")
    assert done.status == 0, done.text
    jobs = done.planned
    assert (jobs["train"], jobs["pairs"], jobs["debate"]) == (2, 2, 2)
    assert jobs["trajectories"] >= 2
