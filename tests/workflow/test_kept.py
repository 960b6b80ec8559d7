"""A folder that version 0.2.0 wrote is read and continued: nothing is asked again, and nothing is debated again."""

from __future__ import annotations

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
    return Bench(tmp_path)


def test_a_folder_of_0_2_0_continues_without_debates(kept: Bench) -> None:
    """Its report is made from its records: the digests of its cells are those that it was run with."""
    records, scores = kept.records("kept"), [row["score"] for row in kept.rows("kept", "scores.csv")]
    done = kept.snakemake("--config", "spec=kept")
    assert done.status == 0, done.text
    assert done.finished["debate"] == 0
    assert done.finished["report"] == 1
    assert kept.records("kept") == records
    assert [row["score"] for row in kept.rows("kept", "scores.csv")] == scores


def test_more_replicates_of_it_ask_only_for_the_new_ones(kept: Bench) -> None:
    """Three cells with two replicates each are there; a third one is three jobs."""
    kept.edit("specs/kept.yaml", "replicates: 2", "replicates: 3")
    records = kept.records("kept")
    done = kept.snakemake("--config", "spec=kept", "--", "results/kept/scores.csv")
    assert done.status == 0, done.text
    assert done.finished["debate"] == 3
    assert records.items() <= kept.records("kept").items()
