"""A run beside its worker, and without one: the same records; beside it connections belong to the run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cortexdsl.plan.layout import Layout
from tests.workflow.bench import OWN_STUB, Bench, serving

pytestmark = pytest.mark.workflow
SPEC = """\
title: Judged over HTTP
seed: 2
shard_size: 3
dataset: {file: words.jsonl, kind: text, metric: f1}
models:
  small: {model: direct/small, api_base: env:STUB_URL}
  wise: {model: direct/wise, api_base: env:STUB_URL}
agents: [{name: one, model: small}, {name: two, model: small}]
methods:
  vote: {protocol: voting}
  talk: {protocol: multi-llm, rounds: 1}
analysis: {metrics: [f1, judged], judge: wise}
limits: {connections: 3}
"""
JUDGEMENTS = [Layout("results/judged").judgements("words", cell) for cell in ("vote", "talk")]


def run(folder: Path, *more: str) -> tuple[dict[str, bytes], int, str]:
    """Run it; return what it recorded, the most calls in flight, and what the worker and the jobs' logs say."""
    bench = Bench(folder)
    rows = [{"question": f"Sea or lake {n}?", "answer": ["sea"]} for n in range(6)]
    bench.write("specs/words.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
    bench.write("specs/judged.yaml", SPEC)
    with serving(OWN_STUB, "--latency", "0.1") as server:
        bench.environment["STUB_URL"] = server.address
        done = bench.snakemake(*JUDGEMENTS, *more, cores=4)
        stats = server.stats()
    assert done.status == 0, done.text
    assert stats["repeated_bodies"] == 0
    root = bench.results("judged")
    kept = [
        path
        for name in ("debates", "judgements")
        for path in (root / name).rglob("*.jsonl")
        if "calls" not in path.parts
    ]
    logs = root / "logs" / "worker.log"
    said = logs.read_text() if logs.exists() else ""
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(kept)}, stats["most_in_flight"], said


def test_a_run_with_and_without_the_worker_records_the_same_and_its_connections_are_the_runs(tmp_path: Path) -> None:
    """Four jobs at once on three connections: debates and judge jobs share one gate, where each alone had one each."""
    beside, most, said = run(tmp_path / "beside")
    alone, _, _ = run(tmp_path / "alone", "--config", "worker=false")
    assert len(beside) == 2 * 2 + 2
    assert beside == alone
    assert most == 3
    assert said == ""
