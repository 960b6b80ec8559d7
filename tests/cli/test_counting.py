"""A verb that works for long says how far it is, and a short one says nothing."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from cortexdsl.cli.counting import counting


@pytest.mark.parametrize(("seconds", "said"), [(1.0, ""), (8.0, "reading: 2 of 4, 16 s left\n")])
def test_lines_are_said_every_ten_seconds_where_there_is_no_terminal(seconds: float, said: str) -> None:
    """A look at the clock a step, one or eight seconds apart: the first line stands after two steps and 24 seconds."""
    out, now = io.StringIO(), iter(range(100))
    steps = list(counting("abcd", "reading", Console(file=out), clock=lambda: seconds * next(now)))
    assert steps == ["a", "b", "c", "d"]
    assert bool(out.getvalue()) == bool(said)


def test_a_bar_moves_on_a_terminal() -> None:
    out = io.StringIO()
    assert list(counting("ab", "reading", Console(file=out, force_terminal=True))) == ["a", "b"]
    assert "reading" in out.getvalue()
