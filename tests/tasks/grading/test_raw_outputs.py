"""Real replies of forty models against labels made by reading each of them (`tests/cases/raw_outputs_labels.csv`).

A label is what the reply gives as its answer: the last thing that it states; empty where it states none, several at
once, or that there is none. Notes say where and why the benchmark's own recorded reading differs.
"""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.tasks.rows import Graded, grade_rows

LABELS = Path(__file__).parents[2] / "cases" / "raw_outputs_labels.csv"


@pytest.fixture(scope="module")
def rows(shared_data: Path) -> list[dict[str, Any]]:
    lines = (shared_data / "raw_outputs.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def labels() -> dict[str, dict[str, str]]:
    with LABELS.open(encoding="utf-8", newline="") as lines:
        return {label["reply"]: label for label in csv.DictReader(lines)}


@pytest.fixture(scope="module")
def graded(rows: list[dict[str, Any]]) -> list[Graded]:
    return grade_rows(rows)


def key(row: dict[str, Any]) -> str:
    reply, question = (hashlib.sha256(row[name].encode()).hexdigest() for name in ("output", "question"))
    return f"{reply[:16]}-{question[:4]}"


def test_every_reply_has_a_label(rows: list[dict[str, Any]], labels: dict[str, dict[str, str]]) -> None:
    assert {key(row) for row in rows} == set(labels)


def test_lenient_reading_agrees_with_the_labels(
    rows: list[dict[str, Any]], graded: list[Graded], labels: dict[str, dict[str, str]]
) -> None:
    """At least 98 %: what differs is printed."""
    wrong = [
        (labels[key(row)]["answer"], each.lenient)
        for row, each in zip(rows, graded, strict=True)
        if (each.lenient.value or "") != labels[key(row)]["answer"]
    ]
    assert len(wrong) <= 0.02 * len(rows), wrong


def test_no_reply_is_right_that_the_label_calls_wrong(
    rows: list[dict[str, Any]], graded: list[Graded], labels: dict[str, dict[str, str]]
) -> None:
    for row, each in zip(rows, graded, strict=True):
        if labels[key(row)]["correct"] == "0":
            assert each.score == 0.0, (row["task"], each.lenient)


def test_where_the_recorded_official_reading_differs_a_note_says_why(
    rows: list[dict[str, Any]], labels: dict[str, dict[str, str]]
) -> None:
    for row in rows:
        label = labels[key(row)]
        if "official_pred" in row and (row["official_pred"] or "") != label["answer"]:
            assert label["note"]


def test_recorded_official_decisions_on_gsm8k_are_ours(rows: list[dict[str, Any]], graded: list[Graded]) -> None:
    """The repository of GSM8K's authors records which of their samples are right."""
    checked = [
        (row["official_correct"], each.score)
        for row, each in zip(rows, graded, strict=True)
        if "official_correct" in row
    ]
    assert len(checked) >= 10
    assert all(bool(score) == correct for correct, score in checked)
