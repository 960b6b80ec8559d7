"""What a run cost, from tallies that are small enough to add up by hand."""

from __future__ import annotations

from pathlib import Path

from cortexdsl.report.tables.work.spending import spent
from tests.watch.made import said, write

PLAN = {"cells": [{"cell": "a", "slug": "a"}, {"cell": "b[keep=mean]", "slug": "b~keep=mean"}]}


def test_the_sentence_adds_up_all_jobs_and_times_the_run_by_the_clock(tmp_path: Path) -> None:
    """40 + 60 calls, half a dollar and one, from 1,000 to 1,090: a minute and a half."""
    two = said("b~keep=mean", calls={"asked": 60}, dollars=1.0, began=1030.0, updated=1090.0, failures={}, retries={})
    write(tmp_path / "spent", said(), two)
    found = spent(tmp_path, PLAN)
    assert found is not None
    assert found.sentence.replace("\u202f", ",") == (
        "100 calls were sent (8,000 tokens in, 800 out) for 1.50 dollars, from the first to the last in 1 min 30 s."
        " 8 calls more (7.4 %) cost nothing: another cell had asked the same."
        " 1 attempt failed for good (content filter 1). 3 attempts were tried again (rate limit 2, timeout 1)."
    )


def test_every_cell_has_a_row_and_what_has_no_cell_is_named_so(tmp_path: Path) -> None:
    """A judge is paid for, too; the sum is the last row."""
    write(tmp_path / "spent", said(), said("b~keep=mean", dollars=None), said(job="judge") | {"cell": None})
    found = spent(tmp_path, PLAN)
    assert found is not None
    rows = {row[0].text: [entry.text.replace("\u202f", ",") for entry in row[1:]] for row in found.table.rows}
    assert list(rows) == ["a", "b[keep=mean]", "other jobs", "all"]
    assert rows["a"] == ["40", "8", "1", "3", "4,000", "400", "0.50", "20 s"]
    assert rows["b[keep=mean]"][-2] == "\u2013"
    assert rows["all"] == ["120", "24", "3", "9", "12,000", "1,200", "1.00 +", "1 min 0 s"]


def test_results_without_tallies_say_nothing_of_cost(tmp_path: Path) -> None:
    """Tables brought from elsewhere were paid for by somebody else."""
    assert spent(tmp_path, PLAN) is None


def test_what_attempts_failed_of_is_told_by_cell_and_kind(tmp_path: Path) -> None:
    """Each attempt that brought no reply stands in one row: 2 + 1 tried again and 1 lost of a, 4 of b."""
    two = said("b~keep=mean", failures={}, retries={"transient": 4})
    write(tmp_path / "spent", said(), two)
    found = spent(tmp_path, PLAN)
    assert found is not None
    assert found.attempts is not None
    assert [tuple(entry.text for entry in row) for row in found.attempts.rows] == [
        ("a", "content filter", "0", "1"),
        ("a", "rate limit", "2", "0"),
        ("a", "timeout", "1", "0"),
        ("b[keep=mean]", "transient", "4", "0"),
    ]


def test_a_cell_whose_calls_others_asked_and_paid_for_has_no_price_of_nothing(tmp_path: Path) -> None:
    """`0.00` would say that the method is free."""
    two = said("b~keep=mean", calls={"asked": 0, "shared": 30}, dollars=None, failures={}, retries={})
    write(tmp_path / "spent", said(), two)
    found = spent(tmp_path, PLAN)
    assert found is not None
    row = next(row for row in found.table.rows if row[0].text == "b[keep=mean]")
    assert row[-2].text == "shared"
    assert "other cells asked, and paid for" in found.table.note


def test_cached_tokens_have_a_column_if_there_are_any(tmp_path: Path) -> None:
    """600 of 4,000 tokens of one cell; the other's provider counts none."""
    two = said("b~keep=mean", tokens={"input": 4000, "output": 400, "cached": 600})
    write(tmp_path / "spent", said(), two)
    found = spent(tmp_path, PLAN)
    assert found is not None
    column = [head.title for head in found.table.columns].index("Cached")
    assert [row[column].text for row in found.table.rows] == ["0", "600", "600"]
    assert "Cached: tokens of prompts" in found.table.note
