"""The negation of a condition is what people would write."""

from __future__ import annotations

import pytest

from cortexdsl.expressions.negation import negated


@pytest.mark.parametrize(
    ("text", "opposite"),
    [
        ("approved", "not approved"),
        ("n_agents <= 3", "n_agents > 3"),
        ("n_agents == 1", "n_agents != 1"),
        ("any(confidence >= 0.5)", "not any(confidence >= 0.5)"),
        ("agreement > 0.5 and round > 1", "not (agreement > 0.5 and round > 1)"),
        ("(agreement > 0.5) or (round > 1)", "not ((agreement > 0.5) or (round > 1))"),
    ],
)
def test_it_is_written_and_read_back(text: str, opposite: str) -> None:
    assert negated(text) == opposite
    assert negated(opposite) == text


def test_a_setting_in_parentheses_is_what_it_says() -> None:
    """`not $until` becomes this; digests have the condition itself."""
    assert negated("not (agreement > 2 / 3)") == "agreement > 2 / 3"
