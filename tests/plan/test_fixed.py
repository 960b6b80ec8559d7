"""What a plan leaves no choice: rounds and calls of methods that cannot end early, for verdicts that are arithmetic."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cortexdsl.plan.kept.store import fixed_in
from cortexdsl.plan.rehearsal.fixed import fixed_counts
from cortexdsl.terms import Cell, Everyone, Repeat
from tests.debate.stage import method
from tests.plan import specs

STEPS = {"answer": {}, "revise": {"hears": Everyone()}}


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Cell:
    return specs.plan(tmp_path_factory.mktemp("fixed")).cells[0]


def test_a_loop_that_never_ends_early_has_one_number_of_rounds_and_calls(cell: Cell) -> None:
    """Three answer, then three revise twice: two rounds after the opening, nine calls."""
    for loop, expected in (
        (Repeat(2, ("revise",)), {"rounds": 2.0, "calls": 9.0}),
        (Repeat(2, ("revise",), until="consensus"), {}),
        (Repeat(2, ("revise",), unless="agreement > 0.9"), {}),
    ):
        debate = method(STEPS, ["answer", loop], {"debater": "a b c"})
        assert fixed_counts(replace(cell, debate=debate, match=None)) == expected


def test_draws_matched_to_another_cell_are_not_fixed(tmp_path: Path) -> None:
    """How many draws there are follows from what the other cell's records hold."""
    found = {cell.name: fixed_counts(cell) for cell in specs.plan(tmp_path).cells}
    assert found["matched"] == {}


def test_records_of_earlier_plans_fix_nothing() -> None:
    record = {"cells": [{"cell": "a"}, {"cell": "b", "fixed": {}}, {"cell": "c", "fixed": {"rounds": 2.0}}]}
    assert fixed_in(record) == {"c": {"rounds": 2.0}}
    assert fixed_in(json.loads(json.dumps(record))) == {"c": {"rounds": 2.0}}
    assert fixed_in({"cells": []}) == {}
