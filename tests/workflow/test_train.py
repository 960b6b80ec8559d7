"""Learning as part of a run: debates, pairs, critic, actor, and the experiment with both."""

from __future__ import annotations

import csv
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cortexdsl_tiny.folder import Folder
from tests.tiny.made import made
from tests.workflow.bench import Bench
from tests.workflow.forks import PRELOAD

pytestmark = pytest.mark.workflow
SPEC = """\
title: Learning
seed: 3
shard_size: 6
dataset: {name: arithmetic, size: 6}
models:
  base:   {model: tiny/./base, parameters: 1.0e5, tokens: 1.0e6, max_tokens: 8}
  actor:  {model: trained/acc/actor}
  critic: {model: trained/acc/critic}
agents:
  - {name: actor, model: base}
  - {name: critic, model: base}
  - {name: trained-actor, model: actor}
  - {name: trained-critic, model: critic}
teams:
  before: [actor, critic]
  after: [trained-actor, trained-critic]
methods:
  untrained: {protocol: acc, rounds: 2, agents: before}
  trained:   {protocol: acc, rounds: 2, agents: after}
train:
  acc: {method: untrained, questions: {size: 6}, validation: 2, samples: 2, optimiser: {rank: 2, batch: 2}}
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


LEARNING = (
    SPEC.replace("size: 6}\nmodels", "size: 4}\nmodels")
    .replace("shard_size: 6", "shard_size: 2")
    .replace("max_tokens: 8", "max_tokens: 60")
    .replace("questions: {size: 6}, validation: 2, samples: 2", "questions: {size: 5}, validation: 1, samples: 2")
    # Random weights are always wrong: with no threshold, a reply is preferred to one that is worth as much.
    .replace(
        "optimiser: {rank: 2, batch: 2}", "threshold: 0.0, optimiser: {rank: 2, batch: 2, epochs: 4.0, rate: 1.0e-2}"
    )
    + "limits: {failed: 1.0}\n"  # and may say nothing
)
TRAINED = [f"results/learning/train/acc/1-{role}/model/model.safetensors" for role in ("critic", "actor")]
RUN = ("results/learning/report.html", "--config", "spec=learning")


def _bench(folder: Path) -> Bench:
    """A folder with the spec and a model that ends its replies: a twentieth of its pieces end one."""
    pytest.importorskip("trl", reason='training needs the extra: pip install ".[train]"')
    bench = Bench(folder, {PRELOAD: "cortexdsl_train.fit.fitting"})
    made(folder / "base", window=1024)
    for name in ("config.json", "generation_config.json"):
        said = json.loads((folder / "base" / name).read_text())
        bench.write(f"base/{name}", json.dumps({**said, "eos_token_id": list(range(0, 400, 20))}))
    bench.write("specs/learning.yaml", LEARNING)
    return bench


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A run of all phases in one go."""
    bench = _bench(tmp_path_factory.mktemp("learned"))
    done = bench.snakemake(*RUN, timeout=900)
    assert done.status == 0, done.text
    return bench


@pytest.mark.timeout(960)
def test_the_whole_loop_in_small(learned: Bench) -> None:
    """Debates to learn from, pairs, critic, actor, both served in the process, and the claim judged."""
    folders = [Folder((learned.folder / path).parent) for path in TRAINED]
    base = Folder(learned.folder / "base").digest
    assert len({base, *(folder.digest for folder in folders)}) == 3
    for folder, phase in zip(folders, ("1-critic", "1-actor"), strict=True):
        place = learned.results("learning") / "train/acc" / phase
        pairs = [json.loads(line) for line in (place / "pairs.jsonl").read_text().splitlines()]
        assert folder.card["base"] == base
        assert folder.card["examples"]["train"] == sum(pair["part"] == "train" for pair in pairs) > 0
        assert {row["part"] for row in csv.DictReader((place / "curve.csv").read_text().splitlines())} >= {"train"}
    calls = [
        json.loads(line)
        for path in (learned.results("learning") / "calls").rglob("trained.jsonl")
        for line in path.read_text().splitlines()
    ]
    spoke = {call["parameters"]["weights"] for call in calls if "parameters" in call}
    assert spoke == {folder.digest for folder in folders}  # each by the weights that came out, and nobody else
    (claim,) = learned.rows("learning", "hypotheses.csv")
    assert claim["claim"] == "accuracy(trained) > accuracy(untrained)"
    assert claim["verdict"]


@pytest.mark.timeout(1800)
def test_a_run_that_is_killed_in_each_phase_goes_on_to_the_same_weights(learned: Bench, tmp_path: Path) -> None:
    """Killed with all that it started, while it debates, when the first file of pairs is there, and while it trains."""
    bench = _bench(tmp_path / "killed")
    train = bench.results("learning") / "train"
    log, pairs = train / "calls/r1-s01/acc~1-critic.jsonl", train / "acc/1-critic/pairs.jsonl"
    for reached in (
        lambda: log.exists() and log.stat().st_size > 5_000,
        pairs.exists,
        lambda: list(train.glob("acc/1-critic/checkpoints/checkpoint-*/complete")),
        lambda: list(train.glob("acc/1-actor/checkpoints/checkpoint-*/complete")),
    ):
        _kill(bench, reached)
        assert not (bench.folder / TRAINED[1]).exists()
    done = bench.snakemake(*RUN, timeout=900)
    assert done.status == 0, done.text
    for path in TRAINED:
        assert (bench.folder / path).read_bytes() == (learned.folder / path).read_bytes()
    assert bench.records("learning") == learned.records("learning")


def _kill(bench: Bench, reached: Callable[[], object]) -> None:
    """Start the run, and kill it and all its processes once it has come so far."""
    run = bench.start(*RUN)
    until = time.monotonic() + 600
    while not reached():
        assert run.poll() is None, bench.said()
        assert time.monotonic() < until, bench.said()
        time.sleep(0.02)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
