"""A folder that version 0.2.0 wrote is read and continued: nothing is asked again, and the records stay as they are."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from tests.workflow.bench import Bench

KEPT = Path(__file__).parent / "kept" / "v0.2.0.tar.xz"
"""A run of three methods, six questions, two replicates and one counterfactual, as version 0.2.0 left it."""


@pytest.fixture
def kept(tmp_path: Path) -> Bench:
    with tarfile.open(KEPT) as archive:
        archive.extractall(tmp_path, filter="data")
    bench = Bench(tmp_path)
    bench.edit("specs/kept.yaml", "{without: [agent=bob]}", "[agent=bob]")  # in the words of today
    return bench


def logs(kept: Bench) -> dict[str, bytes]:
    """Every call log of debates, by its path."""
    root = kept.results("kept") / "calls"
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*.jsonl"))}


def content(bench: Bench) -> dict[str, list[object]]:
    """The records without the last digits of their numbers.

    The last bits of a similarity depend on the instructions of the processor, and the folder was written on another.
    """

    def read(line: bytes) -> object:
        record = json.loads(line, parse_float=lambda number: f"{float(number):.10g}")
        del record["checksum"]
        return record

    return {name: [read(line) for line in text.splitlines()] for name, text in bench.records("kept").items()}


def test_a_folder_of_0_2_0_continues_without_calls(kept: Bench) -> None:
    """Replies are read by newer rules since then, so that debates are made again, from the call logs alone."""
    before = logs(kept)
    records, scores = content(kept), [row["score"] for row in kept.rows("kept", "scores.csv")]
    done = kept.snakemake("--config", "spec=kept")
    assert done.status == 0, done.text
    assert " 0 calls sent" in done.text
    assert logs(kept) == before
    assert done.finished["report"] == 1
    assert content(kept) == records
    assert [row["score"] for row in kept.rows("kept", "scores.csv")] == scores


def test_more_replicates_of_it_ask_only_for_the_new_ones(kept: Bench) -> None:
    """Three cells with two replicates each are there: their logs stay as they are, and a third one gets logs."""
    kept.edit("specs/kept.yaml", "replicates: 2", "replicates: 3")
    records, before = content(kept), logs(kept)
    done = kept.snakemake("--config", "spec=kept", "--", "results/kept/scores.csv")
    assert done.status == 0, done.text
    after = logs(kept)
    assert before.items() <= after.items()
    assert {name.split("/")[1] for name in after.keys() - before.keys()} == {"r3-s01"}
    assert records.items() <= content(kept).items()
