"""Where a right answer was lost: four debates of two agents, each lost in another way; the right answer is R."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortexdsl.metrics import outcome
from cortexdsl.metrics.outcome import score
from cortexdsl.metrics.view import DebateView, view_debate
from tests.stats.debates import grade, made

OUTCOMES = ("lost_by_vote", "lost_in_debate", "never_found")


def debate(rounds: Sequence[Mapping[str, str | None]], answer: str | None) -> DebateView:
    """A debate in which nobody hears anybody, with a decision of its own."""
    return view_debate(replace(made(rounds, [[] for _ in rounds[1:]]), answer=answer), grade)


def outcomes(view: DebateView) -> dict[str, float]:
    return {name: getattr(outcome, name)(view) for name in OUTCOMES}


@pytest.mark.parametrize(
    ("rounds", "answer", "expected", "oracle", "opening"),
    [
        ([{"a": "R", "b": "W"}, {"a": "R", "b": "W"}], "R", None, 1.0, 1.0),
        ([{"a": "W", "b": "W"}, {"a": "R", "b": "W"}], "W", "lost_by_vote", 1.0, 0.0),
        ([{"a": "R", "b": "W"}, {"a": "W", "b": "W"}], "W", "lost_in_debate", 1.0, 1.0),
        ([{"a": "W", "b": "W"}, {"a": "R", "b": "W"}, {"a": "W", "b": "V"}], "W", "lost_in_debate", 1.0, 0.0),
        ([{"a": "W", "b": "V"}, {"a": "V", "b": "V"}], "V", "never_found", 0.0, 0.0),
        ([{"a": "W", "b": None}], None, "never_found", 0.0, 0.0),
    ],
)
def test_each_debate_is_won_or_lost_in_one_way(
    rounds: list[dict[str, str | None]], answer: str | None, expected: str | None, oracle: float, opening: float
) -> None:
    """Worked out from the table of answers: who was right at the opening, between, and at the end."""
    view = debate(rounds, answer)
    assert outcomes(view) == {name: float(name == expected) for name in OUTCOMES}
    assert outcome.oracle(view) == oracle
    assert outcome.opening_oracle(view) == opening
    assert outcome.oracle_gap(view) == oracle - score(view)


def test_a_decision_that_no_debater_gave_counts_as_found() -> None:
    """A summarizer may be right where all debaters are wrong: nothing is lost, and the gap is not negative."""
    view = debate([{"a": "W", "b": "V"}], "R")
    assert outcomes(view) == dict.fromkeys(OUTCOMES, 0.0)
    assert (outcome.oracle(view), outcome.oracle_gap(view)) == (1.0, 0.0)


answers = st.sampled_from(["R", "W", "V", None])


@given(st.lists(st.fixed_dictionaries({"a": answers, "b": answers, "c": answers}), min_size=1, max_size=4), answers)
def test_won_and_the_three_losses_are_a_partition(rounds: list[dict[str, str | None]], answer: str | None) -> None:
    """Whatever was answered: exactly one of the four holds, and an oracle is never worse than the decision."""
    view = debate(rounds, answer)
    assert sum(outcomes(view).values()) + score(view) == 1.0
    assert outcome.oracle_gap(view) >= 0.0
    assert outcome.oracle(view) >= outcome.opening_oracle(view)
