"""Tournaments: the model by hand, questions as units, groups, judges, and error rates in a small simulation."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest

from benchmarks.statistics.tournaments import DESIGNS, Design, draw, simulate
from cortexdsl.stats.tables.agreement import interval_by_unit
from cortexdsl.stats.tournament import (
    LOSS,
    TIE,
    UNREAD,
    WIN,
    Ballots,
    agreement_of_judges,
    rank_methods,
)


def ballots(rows: list[tuple[int, int, int, int]], judge: list[int] | None = None) -> Ballots:
    """Ballots of (first, second, outcome, question)."""
    first, second, outcome, unit = (np.array(column) for column in zip(*rows, strict=True))
    judges = np.array(judge or [0] * len(rows))
    item = np.array([hash((row[0], row[1], row[3])) for row in rows])
    return Ballots(first, second, outcome, unit, judges, item, np.zeros(len(rows), dtype=bool))


def test_strengths_are_those_of_davidsons_likelihood() -> None:
    """Two methods: wins to losses are e^(difference), and ties to the root of wins times losses are nu."""
    rows = [(0, 1, WIN, k) for k in range(600)] + [(0, 1, LOSS, k) for k in range(600, 800)]
    rows += [(0, 1, TIE, k) for k in range(800, 1000)]
    found = rank_methods(ballots(rows), 2)
    assert found is not None
    assert found.duels[0].difference == pytest.approx(math.log((600 + 1 / 3) / (200 + 1 / 3)), abs=1e-6)
    assert found.strength.sum() == pytest.approx(0)
    assert found.rank.tolist() == [1, 2]
    assert found.groups == ("a", "b")


def test_the_standard_error_of_two_methods_without_ties_is_that_of_a_logit() -> None:
    rows = [(0, 1, WIN if k % 10 < 7 else LOSS, k) for k in range(400)]
    duel = found.duels[0] if (found := rank_methods(ballots(rows), 2)) else None
    assert duel is not None
    error = (duel.high - duel.low) / 2 / 1.966
    assert error == pytest.approx(math.sqrt(1 / 280 + 1 / 120), rel=0.02)


def test_a_question_is_the_unit_however_many_ballots_it_has() -> None:
    """Ten judges who always agree know no more than one."""
    rows = [(0, 1, WIN if k % 10 < 7 else LOSS, k) for k in range(60)]
    one = rank_methods(ballots(rows), 2)
    ten = rank_methods(ballots(rows * 10, [k for k in range(10) for _ in rows]), 2)
    assert one is not None
    assert ten is not None
    widths = [duel.high - duel.low for duel in (one.duels[0], ten.duels[0])]
    assert widths[1] == pytest.approx(widths[0], rel=0.03)
    assert ten.units == 60


def test_a_method_that_never_wins_has_a_finite_strength_and_an_interval() -> None:
    rows = [(i, j, WIN, k) for k in range(20) for i, j in combinations(range(3), 2)]
    found = rank_methods(ballots(rows), 3)
    assert found is not None
    assert np.isfinite([found.strength, found.low, found.high]).all()
    assert found.rank.tolist() == [1, 2, 3]


def test_methods_that_always_give_the_same_answers_are_equal() -> None:
    rows = [(0, 1, TIE, k) for k in range(20)]
    rows += [(i, 2, WIN if k < 15 else LOSS, k) for k in range(20) for i in (0, 1)]
    found = rank_methods(ballots(rows), 3)
    assert found is not None
    assert (found.duels[0].p, found.duels[0].adjusted) == (1, 1)
    assert found.duels[0].difference == pytest.approx(0, abs=1e-6)
    assert set(found.groups[0]) & set(found.groups[1])


def test_swapping_the_methods_of_all_ballots_swaps_the_strengths() -> None:
    own = draw(Design((0.8, 0.0, -0.4), 40), np.random.default_rng(1))
    turned = Ballots(2 - own.second, 2 - own.first, 2 - own.outcome, own.unit, own.judge, own.item, own.is_split)
    one, other = rank_methods(own, 3), rank_methods(turned, 3)
    assert one is not None
    assert other is not None
    assert one.strength == pytest.approx(other.strength[::-1], abs=1e-6)
    assert one.low == pytest.approx(other.low[::-1], abs=1e-6)


def test_unreadable_ballots_count_for_nobody_and_one_question_is_no_ranking() -> None:
    rows = [(0, 1, WIN, k) for k in range(10)] + [(0, 1, LOSS, k) for k in range(10, 14)]
    without = rank_methods(ballots(rows), 2)
    some = rank_methods(ballots([*rows, (0, 1, UNREAD, 14), (0, 1, UNREAD, 0)]), 2)
    assert without is not None
    assert some is not None
    assert some.strength == pytest.approx(without.strength)
    assert rank_methods(ballots([(0, 1, WIN, 0)] * 5), 2) is None
    assert rank_methods(ballots([(0, 1, UNREAD, 0)]), 2) is None


def test_groups_overlap_where_only_the_ends_are_told_apart() -> None:
    found = rank_methods(draw(Design((0.45, 0.0, -0.45), 60, spread=0, own=0), np.random.default_rng(5)), 3)
    assert found is not None
    told = {(duel.first, duel.second) for duel in found.duels if duel.adjusted <= 0.05}
    assert told == {(0, 2)}
    assert found.groups == ("a", "ab", "b")


def test_judges_agree_perfectly_and_not_at_all() -> None:
    rows = [(0, 1, (WIN, LOSS, TIE)[k % 3], k) for k in range(30)]
    same = ballots(rows * 2, [0] * 30 + [1] * 30)
    assert agreement_of_judges(same)[0] == pytest.approx(1)
    against = ballots([*rows, *((i, j, 2 - o, k) for i, j, o, k in rows)], [0] * 30 + [1] * 30)
    alpha, low, high = agreement_of_judges(against)
    assert low < alpha < high
    assert alpha < 0.1
    assert math.isnan(agreement_of_judges(ballots(rows))[0])


def test_a_share_of_ballots_counts_questions() -> None:
    flags, unit = np.repeat([1.0, 0.0], [30, 70]), np.arange(100)
    one = interval_by_unit(0.3, flags - 0.3, unit, level=0.95, lowest=0.0)
    ten = interval_by_unit(0.3, np.repeat(flags - 0.3, 10), np.repeat(unit, 10), level=0.95, lowest=0.0)
    assert one == pytest.approx(ten)
    assert one[1] - one[0] == pytest.approx(2 * 1.984 * math.sqrt(0.3 * 0.7 / 99), rel=0.02)


@pytest.mark.parametrize("name", ["3 equal, 20 questions", "4, one nearly always wins, 30 questions"])
def test_orders_are_seldom_false_and_intervals_hold_the_truth(name: str) -> None:
    """The benchmark with fewer runs; its bound is that of 300 runs at 5 %."""
    false, covered, _ = simulate(DESIGNS[name], 300, 11)
    assert false <= 0.09
    assert covered >= 0.92


@pytest.mark.parametrize("wins", [1, 2, 3, 5])
def test_a_few_wins_among_ties_tell_nothing_apart(wins: int) -> None:
    """Up to five questions that differ fall on one side by chance in one of 16 tournaments or more."""
    found = rank_methods(ballots([(0, 1, WIN if k < wins else TIE, k) for k in range(20)]), 2)
    assert found is not None
    duel = found.duels[0]
    assert duel.p >= min(1.0, 2.0 ** (1 - wins))
    assert duel.low < 0 < duel.high
    assert found.groups == ("a", "a")
    assert (found.low < 0).all()
    assert (found.high > 0).all()


def test_a_method_that_always_ties_has_an_interval() -> None:
    """Its variance is 0, and by rounding a little less."""
    lost = {(0, 2, k) for k in (6, 14, 19)}
    rows = [(i, j, LOSS if (i, j, k) in lost else TIE, k) for k in range(30) for i, j in combinations(range(3), 2)]
    found = rank_methods(ballots(rows), 3)
    assert found is not None
    assert np.isfinite([found.low, found.high]).all()


@pytest.mark.parametrize(("methods", "questions", "ties"), [(2, 20, 0.9), (2, 50, 0.95), (3, 30, 0.95), (2, 8, 0.6)])
def test_orders_are_seldom_false_where_nearly_all_ballots_tie(methods: int, questions: int, ties: float) -> None:
    random = np.random.default_rng(3)
    pairs = list(combinations(range(methods), 2))
    false = 0
    for _ in range(200):
        drawn = random.choice(3, (questions, len(pairs)), p=[(1 - ties) / 2, ties, (1 - ties) / 2])
        rows = [(*pair, int(drawn[k, p]), k) for k in range(questions) for p, pair in enumerate(pairs)]
        found = rank_methods(ballots(rows), methods)
        assert found is not None
        false += any(duel.adjusted <= 0.05 for duel in found.duels)
    assert false <= 18  # 9 %, as above


def test_ballots_that_all_tie_say_nothing_about_strengths() -> None:
    """An interval of width 0 would say that the methods are equal for sure."""
    found = rank_methods(ballots([(i, j, TIE, k) for k in range(20) for i, j in combinations(range(3), 2)]), 3)
    assert found is not None
    assert np.isnan([found.low, found.high]).all()
    assert np.isnan([(duel.low, duel.high) for duel in found.duels]).all()
    assert [duel.p for duel in found.duels] == [1, 1, 1]
    assert found.groups == ("a", "a", "a")


def test_p_is_at_least_that_of_exchanging_two_methods_on_each_question() -> None:
    """Counted over all 2^5 signs: wins minus losses of 2, 1, 1, 1 and -1 sum to 4."""
    rows = [(0, 1, WIN, 0), (0, 1, WIN, 0), *((0, 1, WIN, k) for k in (1, 2, 3)), (0, 1, LOSS, 4)]
    rows += [(0, 1, TIE, k) for k in range(5, 400)]
    found = rank_methods(ballots(rows), 2)
    assert found is not None
    sums = [2 * a + b + c + d + e for a, b, c, d, e in product((-1, 1), repeat=5)]
    assert found.duels[0].p == pytest.approx(sum(abs(one) >= 4 for one in sums) / 32)
