"""Rounds as files, run by Snakemake: a static graph, a run that fails in its second round, and the same command."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from cortexdsl.plan.forecast.rounds import MORE
from tests.jobs import stub_engine
from tests.workflow.bench import Bench

SPEC = f"""{stub_engine.TWO_METHODS.replace("size: 4", "size: 2")}
labels: {{move: {{prompt: move.j2, values: [yes, no]}}}}
analysis: {{judge: small}}
"""


def test_a_failed_round_is_repeated_and_nothing_is_asked_twice(fresh: Bench) -> None:
    command = f"{sys.executable} {stub_engine.__file__} orders -i {{requests}} -o {{replies}}"
    fresh.write("specs/small.yaml", f"{SPEC}engines:\n  stub: {{command: {json.dumps(command)}}}\n")
    fresh.write("specs/prompts/move.j2", "{{ turn.text }}\nLabel: <yes or no>\n")
    fresh.write("orders", "ok\nsilent\n")
    refused = fresh.snakemake("results/small/scores.csv")
    assert refused.status == 2
    assert "this needs your permission" in refused.text
    assert fresh.cortexdsl("trust", "small").status == 0
    planned = fresh.snakemake("--dry-run").planned
    assert {rule: planned[rule] for rule in ("advance_small", "answer_small_stub", "finish_small")} == {
        "advance_small": 3 + MORE, "answer_small_stub": 3 + MORE, "finish_small": 1,
    }  # fmt: skip
    failed = fresh.snakemake("results/small/scores.csv")
    assert failed.status == 1
    assert "RuntimeError: CUDA out of memory" in failed.text + failed.log
    assert not (fresh.folder / "results/small/rounds/2/stub-1.replies.jsonl").exists()
    done = fresh.snakemake("results/small/scores.csv")
    assert done.status == 0, done.text
    assert done.finished["advance_small"] == 1 + MORE
    first, second, third, last = (fresh.folder / "orders.asked").read_text(encoding="utf-8").splitlines()
    assert second == third  # the engine had written nothing
    assert max(Counter(f"{first} {third} {last}".split()).values()) == 1
    assert not list(Path(fresh.folder, "results/small/calls").rglob("*~open.jsonl"))
    assert fresh.cortexdsl("verify", "small").status == 0
    assert fresh.cortexdsl("replay", "specs/small.yaml").status == 0
