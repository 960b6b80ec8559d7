"""Verdicts that were wrong once: each test is the case that showed it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cortexdsl.core import Family, Floats
from cortexdsl.stats.inference.contrasts import contrast_outcomes
from cortexdsl.stats.inference.families import compare_families
from cortexdsl.stats.sequential.sequential import evaluate_anytime
from cortexdsl.stats.tables.rows import ClaimRow, columns_of_tests
from cortexdsl.stats.tables.score_table import score_table
from cortexdsl.stats.tables.units import units
from cortexdsl.stats.verdicts import evaluate_claims
from tests.stats.tables import long_table, two_by_two

PAIR = np.array([[1.0, -1.0]])
MARGIN = "score(a) >= score(b) - 0.05"


def _row(frame: pd.DataFrame, claim: str, **options: object) -> pd.Series:
    return evaluate_claims(frame, [claim], seed=1, **options).iloc[0]  # type: ignore[arg-type]


def test_a_half_in_a_third_cell_changes_no_comparison_of_two_others() -> None:
    """Whether data are right or wrong is a matter of the cells that are compared (the exact test both times)."""
    alone = long_table(two_by_two(60, 10, 12, 18))
    other = np.ones((1, 100))
    other[0, 0] = 0.5
    beside = pd.concat([alone, long_table({"c": other})])
    for claim in (MARGIN, "score(a) > score(b)", "score(a) > 0.6"):
        assert _row(beside, claim).equals(_row(alone, claim))
    family = Family("f", ("a",), "b")
    wider = compare_families(beside, [Family("f", ("a", "c"), "b")], ["score"], seed=1)
    same = ["difference", "ci_low", "ci_high", "test", "p", "effect_size"]
    pd.testing.assert_series_equal(
        compare_families(alone, [family], ["score"], seed=1).iloc[0][same], wider.iloc[0][same], check_names=False
    )
    assert wider.iloc[1]["test"].startswith("studentised bootstrap")


def test_a_missing_score_is_wrong_only_beside_scores() -> None:
    """Of percentages, or of an unknown column, nothing can replace a missing value; of scores 0 can."""
    percent = long_table({"a": np.array([[80.0, 70.0, np.nan]]), "b": np.array([[60.0, 50.0, 40.0]])}, "mark")
    assert _row(percent, "mark(a) > mark(b)")["test"] == "none: a lacks 1 of 3 values of mark"
    values = {"a": np.array([[1.0, 0.0, np.nan]]), "b": np.array([[0.0, 1.0, 0.0]])}
    assert _row(long_table(values, "mark"), "mark(a) > mark(b)")["test"] == "none: a lacks 1 of 3 values of mark"
    scores = long_table(values, "correct")
    assert not _row(scores, "correct(a) > correct(b)")["test"].startswith("none")


def test_a_trend_lies_over_the_numbers_of_its_axis() -> None:
    """Means .59 .45 .49 .81 at rounds 1, 2, 3, 10: slope sum((x - 4)(m - m_)) / 50 = 0.0322 per round, not by ranks."""
    right = {1: 59, 2: 45, 3: 49, 10: 81}
    frame = long_table({f"s[rounds={r}]": np.repeat([[1.0, 0.0]], [n, 100 - n], axis=1) for r, n in right.items()})
    row = _row(frame, "score(s[rounds]) increasing")
    x, means = np.array([1, 2, 3, 10.0]), np.array([0.59, 0.45, 0.49, 0.81])
    assert row["estimate"] == pytest.approx(np.polyfit(x, means, 1)[0])
    assert row["note"].startswith("change per unit of rounds")
    ordered = _row(frame, "score(s[rounds=1<3<2<10]) increasing")
    assert ordered["estimate"] == pytest.approx(np.polyfit(range(4), means[[0, 2, 1, 3]], 1)[0])
    assert ordered["note"].startswith("change per step of rounds")


def test_a_trend_over_small_numbers_lies_where_they_do() -> None:
    """Thresholds of .001, .002 and .01 are not equally far apart, and not 0."""
    levels = (0.001, 0.002, 0.01)
    values = {
        f"s[threshold={x}]": np.repeat([1.0, 0.0], (k, 20 - k))[None] for x, k in zip(levels, (9, 4, 15), strict=True)
    }
    row = _row(long_table(values), "score(s[threshold]) increasing")
    assert row["estimate"] == pytest.approx(np.polyfit(levels, [0.45, 0.2, 0.75], 1)[0])


def test_means_that_fall_and_rise_again_are_not_monotone() -> None:
    """Every step is tested: from 1 to 2 rounds accuracy falls by 39 points, so `monotone` is contradicted."""
    right = {1: 118, 2: 40, 3: 98, 10: 162}
    frame = long_table({f"s[rounds={r}]": np.repeat([[1.0, 0.0]], [n, 200 - n], axis=1) for r, n in right.items()})
    assert _row(frame, "score(s[rounds]) increasing")["verdict"] == "supported"
    row = _row(frame, "score(s[rounds]) monotone increasing")
    assert row["verdict"] == "contradicted"
    assert row["note"].startswith("the estimate is from 1 to 2, the step that decides")
    rising = frame[frame["cell"] != "s[rounds=1]"]
    assert _row(rising, "score(s[rounds]) monotone increasing")["verdict"] == "supported"


def test_a_claim_that_cannot_be_tested_stays_in_its_family() -> None:
    """Holm counts two claims, not one: the other's p is doubled."""
    frame = long_table(two_by_two(20, 9, 2, 10)).assign(tokens=5.0)
    frame.loc[0, "tokens"] = np.nan
    found = evaluate_claims(frame, ["score(a) > score(b)", "tokens(a) < tokens(b)"], seed=1)
    assert found["p_adjusted"][0] == pytest.approx(2 * found["p"][0])
    assert np.isnan(found["p"][1])


def test_skewed_differences_of_mean_zero_err_about_as_often_as_stated() -> None:
    """Lognormal differences, 50 questions: sign flips err in 10 %; 9 % is 3.7 standard errors above 5 %."""
    random, wrong = np.random.default_rng(3), 0
    for _ in range(400):
        base = random.uniform(50, 60, (1, 50))
        frame = long_table({"a": base + random.lognormal(0, 1, (1, 50)) - np.exp(0.5), "b": base}, "tokens")
        wrong += contrast_outcomes(units(score_table(frame), "tokens", ["a", "b"]), PAIR, [0.0], 1, 399)[0].p <= 0.05
    assert wrong / 400 < 0.09


def test_too_few_skewed_differences_are_said_to_be_too_few() -> None:
    random = np.random.default_rng(5)

    def note(values: Floats) -> str:
        frame = long_table({"a": 50 + values, "b": np.full(values.shape, 50.0)}, "tokens")
        return str(evaluate_claims(frame, ["tokens(a) > tokens(b)"], seed=1, alpha=1e-12)["note"][0])

    assert "only 20 questions of skewed values (skewness" in note(random.lognormal(0, 1, (1, 20)))
    assert "only 8 questions" in note(random.normal(0, 1, (1, 8)))
    assert note(random.normal(0, 1, (1, 30))) == ""
    assert note(random.gamma(6, 1, (1, 45))) == "", "a skewness of 1 or so does no harm"
    ratio = long_table({"a": random.lognormal(4, 1.2, (1, 20)), "b": np.full((1, 20), 50.0)}, "tokens")
    row = _row(ratio, "tokens(a) <= 0.7 * tokens(b)")
    assert "only 20 questions of skewed values" in str(row["note"])
    assert note(random.lognormal(0, 1, (1, 200))) == ""


@pytest.mark.parametrize(("questions", "level"), [(12, 0.95), (60, 0.95), (60, 0.9)])
def test_interval_and_p_of_numbers_are_one_procedure(questions: int, level: float) -> None:
    """The ends of the 95 % interval are where p passes 5 %: just outside p is at most 0.05, just inside above it."""
    random = np.random.default_rng(questions)
    frame = long_table(
        {"a": random.lognormal(0, 1, (1, questions)), "b": random.lognormal(0, 0.5, (1, questions))}, "t"
    )
    sample = units(score_table(frame), "t", ["a", "b"])
    found = contrast_outcomes(sample, PAIR, [0.0], 1, 999, level)[0]
    for end, outward in ((found.low, -1), (found.high, 1)):
        outside, inside = (
            contrast_outcomes(sample, PAIR, [end + step * outward * 1e-6], 1, 999)[0].p for step in (1, -1)
        )
        assert outside <= 1 - level + 1e-12 < inside


def test_the_null_of_each_p_is_said_and_where_an_undecided_estimate_leans() -> None:
    frame = long_table(two_by_two(40, 12, 9, 39))
    assert list(evaluate_claims(frame, [], seed=1).columns) == columns_of_tests(ClaimRow)
    rows = {claim: _row(frame, claim) for claim in (MARGIN, "score(a) < score(b)", "score(a) == score(b) +- 0.1")}
    assert rows[MARGIN]["null"].startswith("a difference of -0.05 (the margin), two-sided")
    assert all(row["verdict"] == "undecided" for row in (rows[MARGIN], rows["score(a) < score(b)"]))
    assert rows["score(a) < score(b)"]["leans"] == "the estimate points against the claim"
    assert rows[MARGIN]["leans"] == "the estimate favours the claim"
    assert rows["score(a) == score(b) +- 0.1"]["null"] == "-0.1 or less, or 0.1 or more, two one-sided tests"


def test_no_interval_of_a_claim_excludes_a_value_that_its_own_test_does_not() -> None:
    """Seven questions won and one lost of 20: the verdict, p and the interval agree."""
    frame = long_table(two_by_two(10, 7, 1, 2))
    row = _row(frame, "score(a) > score(b)")
    sample = units(score_table(frame), "score", ["a", "b"])
    own = contrast_outcomes(sample, PAIR, [0.0], 1)[0]
    assert own.test == "score (Tango), exact"
    assert (own.p <= 0.05, row["verdict"]) == (own.low > 0, "supported" if own.low > 0 else "undecided")
    assert (row["ci_low"], row["ci_high"]) == (own.low, own.high)


@pytest.mark.parametrize("claim", ["score(a) > score(b)", "score(a) < score(b)", "score(b) >= score(a)"])
def test_an_estimate_on_the_bound_leans_neither_way(claim: str) -> None:
    """Seven questions won and seven lost, by thirds of replicates: their mean is 0 but for rounding."""
    a, b = np.tile([0.1 + 0.2, 0.3], 7)[None], np.tile([0.3, 0.1 + 0.2], 7)[None]
    for frame in (long_table({"a": a, "b": b}), long_table({"a": np.eye(1, 6), "b": np.eye(1, 6, 3)})):
        assert _row(frame, claim)["leans"] == "the estimate lies on the bound"
        looked = evaluate_anytime(frame, [claim]).iloc[0]
        assert (looked["verdict"], looked["p"]) == ("undecided", 1.0)
        assert looked["leans"] == "the estimate lies on the bound"


def test_the_null_of_each_p_is_said_at_a_look_too() -> None:
    frame = long_table(two_by_two(40, 12, 9, 39))
    said = evaluate_anytime(frame, [MARGIN, "score(a) == score(b) +- 0.1", "score(a) > 0.4 and score(b) > 0.3"])["null"]
    assert said[0].startswith("a difference of -0.05 (the margin), two-sided")
    assert said[1] == "-0.1 or less, or 0.1 or more, two one-sided tests"
    assert said[2].startswith("at least one part does not hold, shown is a mean of ")


def test_no_interval_of_a_share_begins_above_an_estimate_of_0() -> None:
    """Wilson's lower end of 0 of 30 was 1.4e-17."""
    row = _row(long_table({"a": np.zeros((2, 30))}), "score(a) < 0.01")
    assert (row["estimate"], row["ci_low"]) == (0.0, 0.0)
    assert _row(long_table({"a": np.ones((2, 30))}), "score(a) > 0.9")["ci_high"] == 1.0
