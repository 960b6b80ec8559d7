"""The budget: limits hold over jobs and over restarts, and say what is reached."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cortexdsl.errors import BudgetError
from cortexdsl.models.limits.budget import Budget, Spent, spent_on, spent_so_far
from cortexdsl.models.logs.calls import call_record
from cortexdsl.models.transports.transport import Raw
from cortexdsl.terms import Limits
from tests.models.kit import Time, call_of


def test_a_line_of_the_log_costs_its_tokens_and_dollars() -> None:
    """30 prompt and 12 completion tokens; where nothing was counted a quarter of the characters: 40/4 + 8/4."""
    call = call_of("x" * 40)
    counted = call_record("k", call, Raw("y" * 8, None, 30, 12), seconds=1, attempts=3, dollars=0.5)
    assert spent_on(counted) == Spent(1, 42, 0.5)
    assert spent_on(call_record("k", call, Raw("y" * 8, None), seconds=1, attempts=1)) == Spent(1, 12, 0.0)


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (Limits(calls=2), r"limit of 2 calls is reached \(2 spent\)"),
        (Limits(tokens=1000), r"limit of 1,000 tokens is reached \(1,000 spent\)"),
        (Limits(dollars=0.5), r"limit of 0.5 dollars is reached \(0.50 spent\)"),
        (Limits(seconds=60), r"limit of 60 seconds is reached \(60 spent\)"),
    ],
)
def test_each_limit_is_told_by_name(limits: Limits, said: str) -> None:
    time = Time()
    budget = Budget(limits, clock=time.clock)
    for _ in range(2):
        with budget.reserve():
            pass
        budget.spend(Spent(1, 500, 0.25))
        time.now += 30
    with pytest.raises(BudgetError, match=said + r": nothing finished is lost; raise `limits: \w+`"), budget.reserve():
        pass


def test_calls_in_flight_are_counted_and_charged_at_the_mean() -> None:
    """After one call of 100 tokens, of 300 allowed: two more in flight make 300, so a third must wait for them."""
    budget = Budget(Limits(tokens=300))
    budget.spend(Spent(1, 100))
    flown = pytest.raises(BudgetError, match="2 calls in flight")
    with budget.reserve(), budget.reserve(), flown, budget.reserve():
        pass
    with budget.reserve():
        pass


def test_jobs_learn_of_each_other_within_a_second(tmp_path: Path) -> None:
    time = Time()
    a = Budget(Limits(calls=3), tmp_path, "a", clock=time.clock)
    b = Budget(Limits(calls=3), tmp_path, "set/b", clock=time.clock)
    for budget in (a, b):
        with budget.reserve():
            pass
        budget.spend(Spent(2, 20))
    time.now = 1.5
    with a.reserve():  # publishes what a has spent, and knows of b only what b said at the start
        pass
    with pytest.raises(BudgetError, match="4 spent"), b.reserve():
        pass
    assert json.loads((tmp_path / "set~b.json").read_text())["calls"] == 2
    a.close()
    b.close()
    assert spent_so_far(tmp_path).calls == 4


def test_a_restart_counts_its_own_log_and_keeps_its_seconds(tmp_path: Path) -> None:
    """The log says 2 calls of 42 tokens, the ledger 7 seconds; what else the ledger said is not added again."""
    time = Time()
    record = call_record("k", call_of(), Raw("y", None, 30, 12), seconds=1, attempts=1, dollars=0.5)
    first = Budget(Limits(), tmp_path, "a", [record, record], time.clock)
    time.now = 7.0
    first.close()
    again = Budget(Limits(), tmp_path, "a", [record, record], time.clock)
    assert again.own == Spent(2, 84, 1.0, 7.0)
    assert again.total == again.own


def test_an_unreadable_ledger_says_nothing_was_spent(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text('{"calls": ')
    (tmp_path / "foreign.json").write_text("[]")
    assert spent_so_far(tmp_path) == Spent()
