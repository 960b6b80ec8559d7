"""Numbers as a person reads them."""

from __future__ import annotations

import pytest

from cortexdsl.records.tallies import Spending
from cortexdsl.watch.words import duration, money, short, trouble


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
    assert money(Spending(calls={"asked": asked}, dollars=dollars, is_priced=is_priced)) == said


def test_trouble_names_kinds_the_most_frequent_first() -> None:
    """One kind alone needs no second number."""
    spent = Spending(calls={"failed": 2, "retried": 6}, failures={"content_filter": 2}, retries={"a": 1, "b": 5})
    assert trouble(spent) == "2 failed (content filter), 6 retried (b 5, a 1)"
    assert trouble(Spending()) == ""
