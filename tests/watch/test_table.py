"""The table of a run, at the widths that terminals have: the numbers that matter are always whole."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from cortexdsl.records.tallies import Spending
from cortexdsl.watch.progress import Progress, Row
from cortexdsl.watch.table import draw

SPENT = Spending(
    calls={"asked": 123_456, "retried": 59, "failed": 3},
    input_tokens=80_100_000,
    output_tokens=31_000_000,
    dollars=1234.5,
    retries={"rate_limit": 31, "transient": 22, "malformed": 6},
    failures={"content_filter": 3},
)
LONG = "sparse[keep=drop_bottom-3,recalibration=cortexdebate,similarity=lexical]"


def row(cell: str, state: str = "running", spent: Spending = SPENT, done: int = 1_575) -> Row:
    return Row("gsm8k", cell, state, done, 2_000, spent, rate=2_345.0, seconds_left=200.0)


def progress(*rows: Row) -> Progress:
    total = replace(rows[0], cell="all", done=sum(r.done for r in rows), total=sum(r.total for r in rows))
    return Progress("a-long-name-of-an-experiment", rows, total, Spending(), 1, (), {})


def lines(shown: Progress, width: int, *, color: bool = False) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=color, color_system="truecolor" if color else None)
    console.print(draw(shown, width))
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [60, 80, 100, 140, 200])
@pytest.mark.parametrize("name", ["full", LONG])
def test_debates_calls_cost_and_time_left_are_whole_at_every_width(width: int, name: str) -> None:
    """Only the name of a cell may be shortened; other columns are shown whole or not at all."""
    shown = lines(progress(row(name), row("vote", "waiting", Spending(), 0)), width)
    assert all(len(line) <= width for line in shown)
    header, running, waiting = shown[:3]
    assert all(word in header for word in ("debates", "calls", "cost", "left"))
    assert all(number in running for number in ("1,575/2,000", "123k", "$1,234.50", "3 min 20 s"))
    assert "0/2,000" in waiting
    assert "waiting" in waiting
    assert ("tokens in" in header) == ("80.1M" in running)
    assert "…" not in header.replace("a-long-name", "").split("debates")[1]


def test_a_wide_terminal_shows_every_column_and_the_whole_name() -> None:
    """At 200 columns nothing is left out."""
    header, running = lines(progress(row(LONG)), 200)[:2]
    assert all(word in header for word in ("tokens in", "out", "rate"))
    assert LONG in running
    assert "2,345/s" in running


def test_a_name_without_room_keeps_its_beginning_and_its_end() -> None:
    """Cells of a grid differ at the end of their names."""
    running = lines(progress(row(LONG)), 80)[1]
    assert running.startswith("sparse[keep=")
    assert "=lexical]" in running.split("1,575")[0]


def test_names_that_would_look_alike_are_folded_and_stay_whole() -> None:
    """Three points of a grid that differ in the middle of their names."""
    names = [f"sparse[recalibration=cortexdebate,keep={keep},similarity=lexical]" for keep in ("mean", "median", "all")]
    shown = lines(progress(*map(row, names)), 80)
    first = "".join(line[:37].strip() for line in shown)
    assert all(name in first for name in names)
    assert all(len(line) <= 80 for line in shown)


def test_columns_go_before_names_are_cut() -> None:
    """A name of 36 characters leaves no room for the rate at 80 columns, and is whole."""
    name = "sparse[keep=mean,recalibration=none]"
    header, running = lines(progress(row(name)), 80)[:2]
    assert name in running
    assert "rate" not in header


@pytest.mark.parametrize("state", ["failed", "stopped", "silent", "waiting"])
def test_a_row_that_does_not_run_says_why_in_place_of_the_time_left(state: str) -> None:
    """No time is left to a job that is not running."""
    running = lines(progress(row("full", state)), 80)[1]
    assert running.rstrip().endswith(state)
    assert "3 min" not in running


def test_retries_and_failed_calls_have_lines_of_their_own() -> None:
    """They are those of the whole experiment, each kind with its number; failed calls name their cells."""
    shown = lines(progress(row("full"), row("vote", "done", Spending(calls={"asked": 9}))), 80)
    assert not any("retried" in line for line in shown[:4])
    said = " ".join(line.strip() for line in shown[4:])
    assert "59 calls retried: rate limit 31, transient 22, malformed 6" in said
    assert "3 calls failed: full 3 (content filter)" in said


def test_a_healthy_run_has_nothing_red() -> None:
    """Bars of running cells and retries are not drawn in the colours of failure (rich's bar is pink by default)."""
    healthy = replace(SPENT, calls={"asked": 10, "retried": 4}, failures={})
    drawn = "\n".join(lines(progress(row("full", spent=healthy)), 140, color=True))
    assert "31m" not in drawn
    assert "249;38;114" not in drawn
