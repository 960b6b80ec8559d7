"""Verdicts on claims over one or several datasets; withdrawn claims still count."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.weightstats import ttost_paired

from cortexdsl.claims.cells import CellNames
from cortexdsl.errors import InputError
from cortexdsl.stats.inference.contrasts import NO_SPREAD
from cortexdsl.stats.inference.families import adjust
from cortexdsl.stats.inference.phrases import withdrawn
from cortexdsl.stats.tables.rows import ClaimRow, columns_of_tests
from cortexdsl.stats.tables.score_table import ScoreTable, score_table
from cortexdsl.stats.verdicts import evaluate_claims
from tests.stats.tables import long_table, two_by_two


def _grid() -> pd.DataFrame:
    """Accuracy rises with rounds under keep=mean alone."""
    random = np.random.default_rng(0)
    ability = random.uniform(0.1, 0.6, 150)
    values = {
        f"s[keep={keep}, rounds={rounds}]": (random.random((3, 150)) < ability + gain * rounds).astype(float)
        for keep, gain in (("mean", 0.1), ("median", 0.0))
        for rounds in (1, 2, 3)
    }
    return long_table(values)


def _verdict(frame: pd.DataFrame | ScoreTable, claim: str, **options: object) -> pd.Series:
    return evaluate_claims(frame, [claim], seed=1, **options).iloc[0]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("score(a) > score(b)", "supported"),
        ("score(b) >= score(a)", "contradicted"),
        ("score(b) < score(a)", "supported"),
        ("score(a) > score(b) + 0.15", "undecided"),
        ("score(a) >= score(b) + 0.4", "contradicted"),
        ("score(b) >= score(a) - 0.4", "supported"),
        ("score(a) == score(b) +- 0.3", "supported"),
        ("score(a) == score(b) +- 0.05", "contradicted"),
        ("score(a) > 0.6", "supported"),
        ("score(b) > 0.6", "contradicted"),
    ],
)
def test_comparisons(claim: str, verdict: str) -> None:
    """[[101, 121], [59, 33]]: a is right on 0.707, b on 0.510; the difference is 0.197, 95 % [0.115, 0.277]."""
    assert _verdict(long_table(two_by_two(101, 121, 59, 33)), claim)["verdict"] == verdict


def test_equivalence_of_numbers_agrees_with_the_paired_t_tost() -> None:
    """150 differences of near-normal shape: the bootstrap's larger one-sided p is near statsmodels' ttost_paired."""
    random = np.random.default_rng(2)
    first = random.normal(100, 10, (1, 150))
    second = first + random.normal(0.5, 4, (1, 150))
    row = _verdict(long_table({"a": first, "b": second}, "tokens"), "tokens(a) == tokens(b) +- 1.2")
    assert row["p"] == pytest.approx(ttost_paired(first[0], second[0], -1.2, 1.2)[0], abs=0.01)
    assert row["note"].endswith("; 90 % interval")


def test_ratio() -> None:
    random = np.random.default_rng(3)
    full = random.gamma(30, 30, (2, 80))
    frame = long_table({"full": full, "sparse": 0.5 * full + random.gamma(5, 5, (2, 80))}, "tokens")
    row = _verdict(frame, "tokens(sparse) <= 0.7 * tokens(full)")
    assert row["verdict"] == "supported"
    assert row["ci_low"] < row["estimate"] < row["ci_high"] < 0.7
    assert _verdict(frame, "tokens(sparse) <= 0.4 * tokens(full)")["verdict"] == "contradicted"


def test_trends_along_an_axis() -> None:
    """The slope is per step: half the difference of the ends for three levels."""
    frame = _grid()
    row = _verdict(frame, "accuracy(s[rounds, keep=mean]) increasing")
    means = frame.groupby("cell")["score"].mean()
    assert row["estimate"] == pytest.approx((means["s[keep=mean, rounds=3]"] - means["s[keep=mean, rounds=1]"]) / 2)
    assert row["verdict"] == "supported"
    assert _verdict(frame, "accuracy(s[rounds, keep=mean]) decreasing")["verdict"] == "contradicted"
    assert _verdict(frame, "accuracy(s[rounds, keep=median]) increasing")["verdict"] == "undecided"
    assert _verdict(frame, "accuracy(s[keep=median<mean]) increasing")["verdict"] == "supported"
    with pytest.raises(InputError, match=r"keep is not a number; say its order, such as s\[keep=mean<median\]"):
        _verdict(frame, "accuracy(s[keep]) increasing")


def test_best_of_an_axis_must_beat_every_other() -> None:
    frame = _grid()
    assert _verdict(frame, "best rounds of s[keep=mean] is 3")["verdict"] == "supported"
    worst = _verdict(frame, "best rounds of s[keep=mean] is 1")
    assert worst["verdict"] == "contradicted"
    assert "the estimate is against 3, the rival that decides" in worst["note"]
    assert _verdict(frame, "best rounds of s[keep=median] is 2")["verdict"] == "undecided"
    assert _verdict(frame, "best keep of s is mean")["verdict"] == "supported"
    with pytest.raises(InputError, match="keep has no value 'mode'; it has mean, median"):
        _verdict(frame, "best keep of s is mode")


def test_grid_points_that_are_another_cell_take_part() -> None:
    """The base method is the grid point that repeats its defaults, by its other name."""
    frame = _grid().replace({"cell": {"s[keep=mean, rounds=3]": "s"}})
    arms = [
        CellNames("s", "s", ("s[keep=mean, rounds=3]",)),
        *(CellNames(cell, "s") for cell in frame["cell"].unique() if cell != "s"),
    ]
    row = evaluate_claims(frame, ["best rounds of s[keep=mean] is 3"], seed=1, arms=arms).iloc[0]
    assert row["verdict"] == "supported"


def test_declared_claims_are_adjusted_among_themselves_and_later_ones_among_all() -> None:
    frame = long_table(two_by_two(101, 121, 59, 33))
    claims = ["score(a) > score(b)", "score(a) > 0.65", "score(b) > 0.45"]
    found = evaluate_claims(frame, claims, seed=1, declared=["score(a)  > score(b)", "score(a) > 0.65"])
    assert list(found.columns) == columns_of_tests(ClaimRow)
    assert found["exploratory"].tolist() == [False, False, True]
    p = found["p"].to_numpy()
    assert found["p_adjusted"].to_numpy() == pytest.approx([*adjust(p[:2]), adjust(p)[2]])


def test_several_datasets() -> None:
    """Right on x, wrong on y: undecided over both, contradicted as a claim on every dataset."""
    frame = pd.concat(
        [
            long_table(two_by_two(20, 30, 5, 20), dataset="x"),
            long_table(two_by_two(20, 5, 30, 20), dataset="y"),
        ]
    )
    found = evaluate_claims(frame, ["score(a) > score(b)" + end for end in ("", " on x", " on every dataset")], seed=1)
    assert found["verdict"].tolist() == ["undecided", "supported", "contradicted"]
    assert "1 of 2" in found["note"][0]
    assert "y decides" in found["note"][2]


def test_missing_answers_that_could_change_a_verdict_are_in_the_note() -> None:
    """12 to 2 is significant; ten missing answers of b could make it 12 to 12."""
    frame = long_table(two_by_two(10, 12, 2, 6))
    lost = frame.index[(frame.cell == "b") & (frame.score == 0)][:10]
    row = _verdict(frame.drop(index=lost), "score(a) > score(b)")
    assert row["verdict"] == "supported"
    said = "10 missing answers count as wrong: scoring them as right could change the verdict"
    assert row["note"] == f"{said} (supported at best, undecided at worst)"
    kept = frame.drop(index=frame.index[(frame.cell == "b") & (frame.score == 0)][:1])
    assert "would not change the verdict" in _verdict(kept, "score(a) > score(b)")["note"]


def test_what_cannot_be_tested_is_undecided_and_says_why() -> None:
    frame = long_table({"a": np.array([[1.0, np.nan]]), "b": np.array([[2.0, 2.0]])}, "tokens")
    for claim in ("tokens(a) < tokens(b)", "tokens(a) <= 0.9 * tokens(b)", "tokens(a) == tokens(b) +- 1"):
        row = _verdict(frame, claim)
        assert (row["verdict"], row["test"]) == ("undecided", "none: a lacks 1 of 2 values of tokens")


def test_methods_that_always_differ_alike_are_certain_only_by_the_plan() -> None:
    """Thirty questions of 12 calls against 6 prove nothing of the next; a plan without early stops does."""
    plain = score_table(long_table({"a": np.full((1, 30), 12.0), "b": np.full((1, 30), 6.0)}, "calls"))
    frame = replace(plain, fixed={"a": {"calls": 12.0}, "b": {"calls": 6.0}})
    claims = {
        "calls(a) > calls(b) + 5": "supported",
        "calls(a) == calls(b) +- 1": "contradicted",
        "calls(b) <= 0.6 * calls(a)": "supported",
        "calls(b) >= 0.5 * calls(a)": "undecided",
        "calls(b) > 0.51 * calls(a)": "contradicted",
        "calls(a) < 12.5": "supported",
    }
    for claim, verdict in claims.items():
        row = _verdict(frame, claim)
        assert row["verdict"] == verdict, claim
        assert row["p"] == (1.0 if verdict == "undecided" else 0.0)
        assert "certain by the plan" in row["test"]
        without = _verdict(plain, claim)
        assert (without["verdict"], without["test"]) == ("undecided", f"none: {NO_SPREAD}")
    broken = replace(plain, fixed={"a": {"calls": 13.0}, "b": {"calls": 6.0}})
    assert _verdict(broken, "calls(a) > calls(b)")["verdict"] == "undecided", "the debates do not keep to the plan"


def test_a_count_of_1_that_the_plan_fixes_is_no_share_of_right_answers() -> None:
    table = score_table(long_table({"a": np.ones((1, 30)), "b": np.ones((1, 30))}, "calls"))
    row = _verdict(replace(table, fixed={"a": {"calls": 1.0}, "b": {"calls": 1.0}}), "calls(a) <= calls(b) + 0.05")
    assert (row["verdict"], row["p"]) == ("supported", 0.0)
    assert "certain by the plan" in row["test"]


def test_the_interval_of_a_claim_reaches_0_exactly_where_its_p_is_above_alpha() -> None:
    """Four wins to none of twenty are significant, three are not."""
    for wins, inside in ((4, False), (3, True)):
        frame = long_table(two_by_two(9, wins, 0, 11 - wins))
        row = evaluate_claims(frame, ["accuracy(a) > accuracy(b)"], seed=1).iloc[0]
        assert (row["ci_low"] <= 0 <= row["ci_high"]) == inside == (row["p"] > 0.05)


def test_an_absent_test_counts_as_one_that_shows_nothing() -> None:
    """Holm on .032 and two tests at 1: three times .032; by hand."""
    assert adjust([0.032], "holm", 2).tolist() == pytest.approx([0.096])


@pytest.mark.parametrize("correction", ["holm", "bh"])
def test_withdrawing_a_claim_never_lowers_the_others(correction: str) -> None:
    """Whatever the withdrawn claim's p was, 1 is at least as large."""
    whole, without = adjust([0.01, 0.03, 0.6], correction), adjust([0.01, 0.03], correction, 1)
    assert (without >= whole[:2] - 1e-12).all()


def test_without_a_correction_nothing_counts_a_withdrawn_claim_and_the_note_says_so() -> None:
    said = "2 claims that were declared before the run are no longer made, and the correction counts this"
    assert withdrawn(2, "holm") == said
    assert withdrawn(2, "none").endswith("nothing corrects for this (correction: none)")
    assert withdrawn(0, "none") == ""
