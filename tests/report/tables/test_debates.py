"""The table of what went wrong in debates, and the sentence above it."""

from __future__ import annotations

import pytest

from cortexdsl.plan.record import parse_plan
from cortexdsl.report.data import Health, ReportData
from cortexdsl.report.phrasing.failures import health_line
from cortexdsl.report.tables.debates import health_table


def results(*health: Health) -> ReportData:
    return ReportData(parse_plan({"experiment": "x", "cells": [{"cell": "a"}, {"cell": "b"}]}), health=health)


def _health(**counts: int) -> Health:
    names = ("failures", "unparsed_turns", "unparsed", "unanswered", "was_tied", "cut", "repetitive", "refused",
             "empty", "tool_calls", "unmeasured", "rankings", "partial_rankings")  # fmt: skip
    return Health("a", 10, 40, {name: counts.get(name, 0) for name in names}, {"rounds": 10}, {})


def test_kinds_of_replies_are_said_and_have_columns_where_there_are_any() -> None:
    odd = _health(unparsed_turns=3, refused=3, repetitive=1)
    line = health_line([odd])
    assert line.endswith("Among the replies: 1 that say the same over and over, 3 that refuse.")
    assert "Among" not in health_line([_health()])
    (table,) = health_table(results(odd))
    assert [head.title for head in table.columns if head.title in ("Refused", "In a loop", "Empty")] == [
        "In a loop", "Refused",
    ]  # fmt: skip


def test_partial_rankings_have_a_column_if_there_are_ballots() -> None:
    (table,) = health_table(results(_health(rankings=1_200, partial_rankings=7), _health()))
    heads = [head.title for head in table.columns]
    places = [heads.index(title) for title in ("Rankings", "Partial rankings")]
    assert [[row[place].whole for place in places] for row in table.rows] == [["1,200", "7"], ["0", "0"]]
    assert "Partial rankings" not in [head.title for head in next(health_table(results(_health()))).columns]


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({}, "All 40 replies of 10 debates arrived and could be read."),
        ({"unparsed_turns": 2}, "Of 40 calls in 10 debates, 2 turns could not be read."),
        ({"failures": 1, "unanswered": 1},
         "Of 40 calls in 10 debates, 1 call brought no reply and 1 debate ended without an answer."),
        ({"failures": 1, "unparsed_turns": 1, "unanswered": 2},
         "Of 40 calls in 10 debates, 1 call brought no reply, 1 turn could not be read, and 2 debates ended without an"
         " answer."),
    ],
)  # fmt: skip
def test_only_troubles_that_there_were_are_named(counts: dict[str, int], said: str) -> None:
    assert health_line([_health(**counts)]) == said
