"""Logs that `cortexdsl export --to inspect` writes where Inspect is installed: by its writer, for its tools."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.results.made import write_scored

RUN = """
import json, sys
from pathlib import Path
from cortexdsl.export.inspect_logs import export_inspect
from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries
found = {}
for path in export_inspect(Path(sys.argv[1]), Path(sys.argv[2])):
    log = read_eval_log(str(path))
    first = next(sample for sample in log.samples if (sample.id, sample.epoch) == ("q-1", 1))
    found[log.eval.solver] = {
        "path": str(path), "status": log.status, "mean": log.results.scores[0].metrics["mean"].value,
        "samples": [(sample.id, sample.epoch) for sample in log.samples],
        "summaries": len(read_eval_log_sample_summaries(str(path))),
        "roles": [message.role for message in first.messages], "speaker": first.messages[1].metadata["speaker"],
        "usage": log.stats.model_usage["builtin/solver"].input_tokens,
    }
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def logs(with_inspect: Path, repository: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What Inspect's own reader finds in the log of each cell."""
    folder = tmp_path_factory.mktemp("exported")
    made = write_scored(folder / "results" / "made")
    done = subprocess.run([with_inspect, "-c", RUN, made, folder / "logs"], check=True, capture_output=True, text=True,
                          timeout=200, cwd=repository)  # fmt: skip
    found: dict[str, dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_inspect_reads_what_its_own_writer_wrote(logs: dict[str, dict[str, Any]]) -> None:
    """Three cells of four questions and two replicates; q-2 is wrong and q-4 tied."""
    assert set(logs) == {"sparse", "full", "vote[k=1]"}
    log = logs["sparse"]
    assert log["path"].endswith(".eval")
    assert (log["status"], log["mean"], log["summaries"]) == ("success", 0.75, 8)
    assert {tuple(each) for each in log["samples"]} == {(f"q-{number}", epoch) for number in (1, 2, 3, 4)
                                                        for epoch in (1, 2)}  # fmt: skip
    assert (log["roles"], log["speaker"]) == (["user", "assistant"] * 6, "ann")
    assert log["usage"] == 8 * 6 * 50


def test_inspect_scores_them_again(logs: dict[str, dict[str, Any]], with_inspect: Path, tmp_path: Path) -> None:
    """By `inspect score`, without a model."""
    scored = tmp_path / "scored.eval"
    command = ["score", logs["full"]["path"], "--model", "none/none", "--scorer", "exact", "--action", "append",
               "--output-file", scored]  # fmt: skip
    subprocess.run([with_inspect.with_name("inspect"), *command], check=True, capture_output=True, timeout=200,
                   cwd=tmp_path, env=os.environ | {"HOME": str(tmp_path)})  # fmt: skip
    read = "import sys; from inspect_ai.log import read_eval_log; log = read_eval_log(sys.argv[1], header_only=True)"
    read += "; print([score.name for score in log.results.scores])"
    done = subprocess.run([with_inspect, "-c", read, scored], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "['score', 'exact']"
