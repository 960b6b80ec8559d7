"""Claims on these questions: only replicates are a sample."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from cortexdsl.claims.cells import CellNames
from cortexdsl.claims.meaning import check_claim, meaning, why_not_early
from cortexdsl.claims.parser import parse_claim
from cortexdsl.claims.values import All, Comparison
from cortexdsl.core import Floats
from cortexdsl.errors import DataError, SpecError
from cortexdsl.report.phrasing.claims import claim_in_words, population
from cortexdsl.stats.planning.expectations import Expectation
from cortexdsl.stats.planning.planning import plan_power
from cortexdsl.stats.tables.score_table import score_table
from cortexdsl.stats.verdicts import evaluate_claims
from tests.stats.tables import long_table

CLAIM = "accuracy(a) > accuracy(b) on these questions"


def _row(frame: pd.DataFrame, claim: str = CLAIM) -> pd.Series:
    return evaluate_claims(frame, [claim], seed=1).iloc[0]


def test_the_standard_error_by_hand() -> None:
    """Four questions of two replicates; differences (1, 0), (1, 1), (0, 0), (0, -1).

    Variances within are 1/2, 0, 0, 1/2; each over 2 replicates and 16: (1/4 + 1/4) / 16. Two pseudo-draws add
    2 (1/8)^2. Degrees of freedom: V^2 (R + 1) / sum of squares, with parts 1/64, 1/64, 1/64, 1/64.
    """
    a, b = np.array([[1, 1, 0, 0], [0, 1, 0, 0]]), np.array([[0, 0, 0, 0], [0, 0, 0, 1]])
    found = _row(long_table({"a": a.astype(float), "b": b.astype(float)}))
    variance, freedom = 4 / 64, (4 / 64) ** 2 * 3 / (4 / 64**2)
    assert freedom == 12
    freedom = 6  # at most 4 (2 - 1) + 2
    reach = stats.t.ppf(0.975, freedom) * variance**0.5
    assert found["estimate"] == pytest.approx(0.25)
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((0.25 - reach, 0.25 + reach))
    assert found["p"] == pytest.approx(2 * stats.t.sf(0.25 / variance**0.5, freedom))
    assert found["null"] == "a difference of 0, two-sided; on these questions"


def test_questions_that_differ_widen_only_the_interval_about_others() -> None:
    """Twenty questions won in every draw, twenty lost in every draw: nothing is known of others, much of these."""
    won = np.repeat([1.0, 0.0], 20)
    frame = long_table({"a": np.tile(won, (3, 1)), "b": np.tile(1 - won, (3, 1))})
    won_too = frame["question_id"].isin([f"q{number}" for number in range(30, 36)])
    frame.loc[(frame["cell"] == "a") & won_too, "score"] = 1
    here, others = _row(frame), _row(frame, "accuracy(a) > accuracy(b)")
    assert here["verdict"] == "supported"
    assert others["verdict"] == "undecided"
    assert here["estimate"] == pytest.approx(others["estimate"])


def test_calls_that_two_cells_share_cancel_within_a_replicate() -> None:
    """Both cells have the same draws but for one: the noise is that of the one, whatever the draws are."""
    a = np.random.default_rng(3).integers(0, 2, (4, 30)).astype(float)
    b = a.copy()
    b[0, 0] = 1 - b[0, 0]
    found = _row(long_table({"a": a, "b": b}))
    one = (1 / 4) ** 2 + 2 * (1 / 4) ** 2  # one draw of four, and two pseudo-draws
    shift = (a[0, 0] - b[0, 0]) / 4 / 30
    freedom = min((one / 30**2) ** 2 * 5 / (3 * (1 / 16 / 900) ** 2), 30 * 3 + 2)
    assert found["ci_high"] - found["estimate"] == pytest.approx(stats.t.ppf(0.975, freedom) * one**0.5 / 30)
    assert found["estimate"] == pytest.approx(shift)


@pytest.mark.parametrize(
    "claim",
    ["accuracy(a) > accuracy(b)", "accuracy(b) >= 0.9 * accuracy(a)", "accuracy(a) > 0.45", "tokens(a) < tokens(b)",
     "tokens(a) <= 0.9 * tokens(b)", "accuracy(a) per tokens > accuracy(b) per tokens"],
)  # fmt: skip
def test_verdict_and_interval_are_one_procedure(claim: str) -> None:
    """Against an end of its own interval the two-sided p of a claim is 5 %."""
    random = np.random.default_rng(4)
    chance = random.random(40)
    frame = long_table({name: (random.random((3, 40)) < chance).astype(float) for name in "ab"})
    frame["tokens"] = random.lognormal(3, 0.4, len(frame))
    found = _row(frame, f"{claim} on these questions")
    left, right = claim.split(" > ")[0].split(" <")[0].split(" >=")[0], claim.rpartition("(b)")[2]
    for end in (found["ci_low"], found["ci_high"]):
        if "0.45" in claim:
            at = f"accuracy(a) > {end:.12f}"
        elif "per" in claim:
            at = f"{left} > {end:.12f} * accuracy(b) per tokens"
        elif "*" in claim:
            at = f"{left} <= {end:.12f} * {claim[claim.index('* ') + 2 :]}"
        else:
            at = f"{left} > {'accuracy' if 'acc' in left else 'tokens'}(b) + {end:.12f}{right}"
        assert _row(frame, f"{at} on these questions")["p"] == pytest.approx(0.05, rel=1e-4)


def test_missing_and_unreadable_answers_count_as_everywhere() -> None:
    """A missing score is 0 in the estimate, and the note says what it could change."""
    random = np.random.default_rng(1)
    frame = long_table({name: (random.random((3, 20)) < 0.5).astype(float) for name in "ab"}).drop(index=[0])
    here, others = _row(frame), _row(frame, "accuracy(a) > accuracy(b)")
    assert here["estimate"] == pytest.approx(others["estimate"])
    assert "1 missing answer counts as wrong" in here["note"]


def test_one_replicate_is_an_error_that_says_so() -> None:
    with pytest.raises(DataError, match="at least 2 replicates, and there is one\n    write replicates: 2"):
        _row(long_table({"a": np.ones((1, 9)), "b": np.zeros((1, 9))}))


def test_a_cell_without_a_whole_replicate_is_not_tested() -> None:
    frame = long_table({"a": np.ones((3, 9)), "b": np.zeros((3, 9))})
    found = _row(frame[(frame["cell"] != "b") | (frame["replicate"] != 2)])
    assert found["test"] == "none: b lacks replicate 2"


def test_numbers_whose_replicates_agree_are_not_tested() -> None:
    frame = long_table({"a": np.ones((2, 9)), "b": np.ones((2, 9))}).assign(tokens=range(36))
    frame["tokens"] = frame["question_id"].str[1:].astype(float) + 5 * (frame["cell"] == "a")
    assert "no replicate of any question differs" in _row(frame, "tokens(a) > tokens(b) on these questions")["test"]


def test_clusters_do_not_matter_on_these_questions() -> None:
    random = np.random.default_rng(2)
    frame = long_table({name: (random.random((2, 24)) < 0.5).astype(float) for name in "ab"})
    clustered = frame.assign(cluster=frame["question_id"].str[1:].astype(int) // 6)
    assert _row(clustered)["p"] == _row(frame)["p"]


# ---------------------------------------------------------------- the language
@pytest.mark.parametrize(
    "text",
    ["accuracy(a) > accuracy(b)", "best keep of s is mean", "accuracy(s[rounds]) increasing",
     "a on front of accuracy, dollars", "accuracy(a) > accuracy(b) on gsm8k",
     "a dominates b on accuracy, tokens", "accuracy(a) > accuracy(b) and accuracy(a) > 0.5"],
)  # fmt: skip
def test_every_form_may_be_on_these_questions(text: str) -> None:
    """It is another claim than the same of questions like these, which is what a claim without the words says."""
    tails = ("", " on these questions", " on questions like these")
    plain, here, like = (parse_claim(f"{text}{tail}") for tail in tails)
    assert here.fixed_questions
    assert not plain.fixed_questions
    assert meaning(plain) == meaning(like) != meaning(here)
    assert why_not_early(here)


def test_a_part_may_be_on_these_questions_alone() -> None:
    claim = parse_claim("accuracy(a) > accuracy(b) on these questions and accuracy(a) > accuracy(c)")
    assert isinstance(claim, All)
    assert [part.fixed_questions for part in claim.parts] == [True, False]
    assert population(claim.text) == "these questions and questions like these"


def test_dataset_and_estimand_are_said_together() -> None:
    claim = parse_claim("accuracy(a) > accuracy(b) on gsm8k on these questions")
    assert isinstance(claim, Comparison)
    assert (claim.dataset, claim.fixed_questions) == ("gsm8k", True)
    assert claim_in_words(claim) == "The accuracy of a is higher than that of b, on gsm8k, on these questions."


@pytest.mark.parametrize(
    ("text", "why"),
    [("accuracy(a) > accuracy(b) over seeds on these questions", "questions are a sample, too"),
     ("accuracy(a) > accuracy(b) on these questions over teams", "questions are a sample, too"),
     ("ece(a) < ece(b) on these questions", "no value for each replicate")],
)  # fmt: skip
def test_what_cannot_be_on_these_questions(text: str, why: str) -> None:
    with pytest.raises(SpecError, match=why):
        check_claim(parse_claim(text), "hypotheses")


# ---------------------------------------------------------------- power
ARMS = (CellNames("a", (), (("a", {}),)), CellNames("b", (), (("b", {}),)))


def _plan(expected: Expectation, replicates: int = 3, claim: str = CLAIM) -> pd.Series:
    return plan_power([claim], ARMS, {"data": 100}, replicates, expected).iloc[0]


def test_power_by_hand_with_a_known_correlation() -> None:
    """Discordance 0.3, correlation 0.4: noise of (0.3 - 0.08^2) 0.6 / 3 a question, and two pseudo-draws of 1 / 300."""
    expected = Expectation(discordance=0.3, correlation=0.4, differences={"a": 0.08})
    found = _plan(expected)
    noise = (0.3 - 0.08**2) * 0.6 / 3
    error = np.sqrt(noise / 100 + 2 / 300**2)
    # The error of the estimate is that without pseudo-draws; the bound of the test is that with them.
    bound = stats.t.isf(0.025, 200) * error
    assert found["deviation"] == pytest.approx(np.sqrt(noise))
    assert found["power"] == pytest.approx(stats.norm.cdf((0.08 - bound) / np.sqrt(noise / 100)))
    assert np.isnan(found["needed"])


def test_replicates_that_are_needed_are_enough() -> None:
    expected = Expectation(discordance=0.3, correlation=0.4, differences={"a": 0.04})
    needed = int(_plan(expected)["replicates_needed"])
    assert _plan(expected, needed)["power"] >= 0.8 > _plan(expected, needed - 2)["power"]


def test_nothing_known_of_the_noise_takes_all_of_the_spread() -> None:
    found = _plan(Expectation(discordance=0.3))
    assert found["basis"] == "discordance 0.3 given, all of it noise of sampling"
    assert found["deviation"] == pytest.approx(np.sqrt(0.3 / 3))


def test_earlier_replicates_give_the_noise() -> None:
    """Every question is fair: the noise of a difference of two fair coins is 1/2, whatever the questions are."""
    random = np.random.default_rng(8)
    values = {name: (random.random((40, 200)) < 0.5).astype(float) for name in "ab"}
    found = _plan(Expectation(earlier=score_table(long_table(values))), 5)
    assert found["deviation"] == pytest.approx(np.sqrt(0.5 / 5), rel=0.02)


def test_planned_power_is_what_experiments_reach() -> None:
    """400 experiments of 60 questions and 3 replicates: within four standard errors of the formula."""
    random = np.random.default_rng(11)
    chance = random.uniform(0.2, 0.7, 60)
    shift = 0.12
    won = 0
    for _ in range(400):
        a, b = (random.random((3, 60)) < chance + shift), (random.random((3, 60)) < chance)
        each = a.astype(float) - b
        error = np.sqrt((each.var(axis=0, ddof=1) / 3).sum() + 2 / 9) / 60
        won += each.mean() / error > stats.t.isf(0.025, 100)
    noise = float(((chance + shift) * (1 - chance - shift) + chance * (1 - chance)).mean())
    expected = Expectation(spread={CLAIM: noise**0.5}, differences={"a": shift})
    planned = plan_power([CLAIM], ARMS, {"data": 60}, 3, expected).iloc[0]["power"]
    assert abs(won / 400 - planned) < 4 * np.sqrt(planned * (1 - planned) / 400)


def test_the_noise_of_skewed_numbers_is_warned_of() -> None:
    values: Floats = np.random.default_rng(0).lognormal(0, 1, (2, 20))
    frame = long_table({"a": values, "b": values[::-1] * 1.0}, "tokens")
    assert "may err more often than stated" in _row(frame, "tokens(a) < 5 on these questions")["note"]
