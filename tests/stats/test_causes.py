"""Causes by label, with a known truth: labels of causal turns are found, and labels of hard questions are not."""

from __future__ import annotations

import numpy as np
import pytest

from cortexdsl.stats.causes import LeftOutTurn, cause_of
from cortexdsl.stats.tables.rows import CauseRow

PLACES = [f"{name}@{round_}" for name in ("ann", "bob", "eve") for round_ in (1, 2)]


def turn(question: int, place: str, *, has: bool, changed: bool, known: bool = True) -> LeftOutTurn:
    labels = frozenset({"error"} if has else ())
    return LeftOutTurn(f"q{question}", f"q{question}/1", place, labels, frozenset({"error"} if known else ()), changed)


def simulated(seed: int, effect: float, questions: int = 60, share: float = 0.2) -> CauseRow:
    """Hard questions and late turns have more labels and more changes; a label adds `effect` to the chance of one."""
    chance = np.random.default_rng(seed)
    turns = []
    for question in range(questions):
        hard = chance.beta(1, 3)
        for place in PLACES:
            late = 1.5 if place.endswith("2") else 0.6
            has = chance.random() < min(1.0, 2 * share * (0.3 + hard) * late)
            changed = chance.random() < min(1.0, 0.4 * hard * late + effect * has)
            turns.append(turn(question, place, has=bool(has), changed=bool(changed)))
    return cause_of("debate", "error", turns)


def is_cause(row: CauseRow) -> bool:
    return row.ci_low is not None and row.ci_low > 0


@pytest.mark.parametrize(("questions", "share"), [(60, 0.2), (25, 0.1), (200, 0.2)])
def test_a_label_that_is_noise_is_found_a_cause_in_at_most_six_percent_of_runs(questions: int, share: float) -> None:
    """Though turns with the label change the answer far more often, because hard questions have both."""
    rows = [simulated(seed, 0.0, questions, share) for seed in range(1000)]
    assert sum(map(is_cause, rows)) <= 60
    assert sum(row.changed / row.turns for row in rows if row.turns) > 1.2 * sum(
        row.other_changed / row.other_turns for row in rows if row.turns
    )


def test_a_label_of_causal_turns_is_found_to_be_one() -> None:
    rows = [simulated(seed, 0.3) for seed in range(200)]
    assert sum(map(is_cause, rows)) >= 190
    assert np.mean([row.difference for row in rows if row.difference is not None]) == pytest.approx(0.3, abs=0.02)
    inside = [row.ci_low <= 0.3 <= row.ci_high for row in rows if row.ci_low is not None and row.ci_high is not None]
    assert sum(inside) >= 0.92 * len(inside)


def test_counts_and_the_difference_by_hand() -> None:
    """Two debates of two places each; the labelled turn changes the answer in one, and no other turn does."""
    turns = [
        turn(1, "ann@1", has=True, changed=True), turn(1, "bob@1", has=False, changed=False),
        turn(2, "ann@1", has=False, changed=False), turn(2, "bob@1", has=True, changed=False),
        turn(3, "ann@1", has=True, changed=True, known=False),
    ]  # fmt: skip
    row = cause_of("debate", "error", turns)
    assert (row.turns, row.changed, row.other_turns, row.other_changed, row.n_questions) == (2, 1, 2, 0, 2)
    assert row.difference == pytest.approx(0.5)


@pytest.mark.parametrize("changed", [True, False])
def test_without_contrast_nothing_is_said(changed: bool) -> None:
    """If all turns of a place have the label, or if no turn or each turn changes the answer."""
    same = [turn(q, "ann@1", has=True, changed=q == 1) for q in range(5)]
    assert cause_of("debate", "error", same).difference is None
    equal = [turn(q, place, has=place == PLACES[q], changed=changed) for q in range(5) for place in PLACES]
    row = cause_of("debate", "error", equal)
    assert row.difference == pytest.approx(0.0)
    assert (row.ci_low, row.ci_high) == (None, None)


def test_questions_that_do_not_differ_give_no_interval() -> None:
    """In each of two debates the labelled turn counts the same, which says nothing about other debates."""
    turns = [
        turn(question, place, has=has, changed=has)
        for question in (1, 2)
        for place, has in (("ann@1", question == 1), ("bob@1", question == 2))
    ]
    row = cause_of("debate", "error", turns)
    assert (row.difference, row.ci_low, row.ci_high) == (1.0, None, None)
