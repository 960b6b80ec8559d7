"""The table of a run at the widths of terminals, numbers in words, and the counter of work that takes long."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from cortexdsl.core import Usage
from cortexdsl.display.console import counting, draw
from cortexdsl.display.progress import CellProgress, RunProgress
from cortexdsl.display.wording import duration, money, short, trouble
from cortexdsl.records.tallies import TallySum

SPENT = TallySum(
    calls={"asked": 123_456, "retried": 59, "failed": 3},
    usage=Usage(123_456, 80_100_000, 31_000_000, 1234.5),
    retries={"rate_limit": 31, "transient": 22, "malformed": 6},
    failures={"content_filter": 3},
)
LONG = "sparse[keep=drop_bottom-3,recalibration=cortexdebate,similarity=lexical]"


def row(cell: str, state: str = "running", spent: TallySum = SPENT, done: int = 1_575) -> CellProgress:
    return CellProgress("gsm8k", cell, state, done, 2_000, spent, rate=2_345.0, seconds_left=200.0)


def progress(*rows: CellProgress) -> RunProgress:
    total = replace(rows[0], cell="all", done=sum(r.done for r in rows), total=sum(r.total for r in rows))
    return RunProgress("a-long-name-of-an-experiment", rows, total, TallySum(), 1, (), {})


def lines(shown: RunProgress, width: int, *, color: bool = False) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=color, color_system="truecolor" if color else None)
    console.print(draw(shown))
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [60, 80, 100, 140, 200])
@pytest.mark.parametrize("name", ["full", LONG])
def test_debates_calls_cost_and_time_left_are_whole_at_every_width(width: int, name: str) -> None:
    """The name of a cell may take several lines; other columns are shown whole."""
    shown = lines(progress(row(name), row("vote", "waiting", TallySum(), 0)), width)
    assert all(len(line) <= width for line in shown)
    header = next(line for line in shown if "debates" in line)
    running = next(line for line in shown if "1,575/2,000" in line and not line.startswith("all"))
    waiting = next(line for line in shown if line.startswith("vote"))
    assert all(word in header for word in ("debates", "calls", "cost", "left"))
    assert all(number in running for number in ("1,575/2,000", "123k", "$1,234.50", "3 min 20 s"))
    assert "0/2,000" in waiting
    assert "waiting" in waiting


def test_long_names_go_on_in_the_next_line_and_stay_whole() -> None:
    """Three points of a grid that differ in the middle of their names."""
    names = [f"sparse[recalibration=cortexdebate,keep={keep},similarity=lexical]" for keep in ("mean", "median", "all")]
    shown = lines(progress(*map(row, names)), 80)
    first = "".join(line[:37].strip() for line in shown)
    assert all(name in first for name in names)
    assert all(len(line) <= 80 for line in shown)


def test_cells_that_run_come_first_below_their_sum() -> None:
    """A terminal without room for all rows shows the first ones."""
    cells = (("full", "done"), ("vote", "waiting"), ("lone", "running"), ("sole", "failed"))
    shown = lines(progress(*(row(*cell) for cell in cells)), 80)
    assert [line.split()[0] for line in shown[-5:]] == ["all", "lone", "sole", "vote", "full"]


@pytest.mark.parametrize("state", ["failed", "stopped", "silent", "waiting"])
def test_a_row_that_does_not_run_says_why_in_place_of_the_time_left(state: str) -> None:
    """No time is left to a job that is not running."""
    running = lines(progress(row("full", state)), 80)[-1]
    assert running.rstrip().endswith(state)
    assert "3 min" not in running


def test_retries_and_failed_calls_have_a_line_above_the_table() -> None:
    """They are those of the whole experiment, each kind with its number."""
    shown = lines(progress(row("full"), row("vote", "done", TallySum(calls={"asked": 9}))), 80)
    said = " ".join(line.strip() for line in shown[:-4])
    assert said == "calls: 3 failed (content filter), 59 retried (rate limit 31, transient 22, malformed 6)"


def test_a_healthy_run_has_nothing_red() -> None:
    """Bars of running cells and retries are not drawn in the colours of failure (rich's bar is pink by default)."""
    healthy = replace(SPENT, calls={"asked": 10, "retried": 4}, failures={})
    drawn = "\n".join(lines(progress(row("full", spent=healthy)), 140, color=True))
    assert "31m" not in drawn
    assert "249;38;114" not in drawn


@pytest.mark.parametrize(
    ("number", "said"),
    [(0, "0"), (999, "999"), (9_999, "9,999"), (10_000, "10k"), (123_456, "123k"), (1_234_567, "1.23M"), (2e9, "2G")],
)
def test_counts(number: float, said: str) -> None:
    """Three figures are enough to follow a run."""
    assert short(number) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(None, "-"), (0, "0 s"), (59.4, "59 s"), (61, "1 min 1 s"), (7_500, "2 h 5 min"), (100_000, "1 d 3 h")],
)
def test_durations(seconds: float | None, said: str) -> None:
    """The two largest units."""
    assert duration(seconds) == said


@pytest.mark.parametrize(
    ("asked", "dollars", "is_priced", "said"),
    [
        (9, 0.0, True, "$0.00"),
        (9, 0.004, True, "$0.0040"),
        (9, 1234.5, True, "$1,234.50"),
        (9, 0.0, False, "-"),
        (9, 2, False, "$2.00+"),
        (0, 0.0, True, "-"),  # all was replayed: there is nothing to pay, and no price that is known
    ],
)
def test_money(asked: int, dollars: float, is_priced: bool, said: str) -> None:
    """What is unknown is never shown as nothing."""
    usage = Usage(asked, dollars=dollars, unpriced=0 if is_priced else asked)
    assert money(TallySum(calls={"asked": asked}, usage=usage)) == said


def test_trouble_names_kinds_the_most_frequent_first() -> None:
    """One kind alone needs no second number."""
    spent = TallySum(calls={"failed": 2, "retried": 6}, failures={"content_filter": 2}, retries={"a": 1, "b": 5})
    assert trouble(spent) == "2 failed (content filter), 6 retried (b 5, a 1)"
    assert trouble(TallySum()) == ""


@pytest.mark.parametrize("is_terminal", [False, True])
def test_a_bar_moves_on_a_terminal_and_nowhere_else(monkeypatch: pytest.MonkeyPatch, is_terminal: bool) -> None:
    out = io.StringIO()
    monkeypatch.setattr(out, "isatty", lambda: is_terminal)
    monkeypatch.setattr("sys.stderr", out)
    assert list(counting("ab", "reading")) == ["a", "b"]
    assert ("reading" in out.getvalue()) == is_terminal
