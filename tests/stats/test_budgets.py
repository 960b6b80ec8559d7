"""The Pareto front as a claim, and matched budgets."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cortexdsl.claims.cells import cells_of
from cortexdsl.claims.designs import design_of
from cortexdsl.claims.meaning import meaning, why_not_early
from cortexdsl.claims.parser import parse_claim
from cortexdsl.claims.values import Front
from cortexdsl.errors import SpecError
from cortexdsl.report.phrasing.claims import claim_in_words
from cortexdsl.stats.findings import Finding, deciding_of_some
from cortexdsl.stats.inference.budgets import MatchedPair, match_table
from cortexdsl.stats.planning.expectations import Expectation
from cortexdsl.stats.planning.planning import plan_power
from cortexdsl.stats.tables.score_table import ScoreTable, score_table
from cortexdsl.stats.verdicts import evaluate_claims

CLAIM = "a on front of accuracy, total_tokens"


def table(questions: int = 200, **cells: tuple[float, float]) -> ScoreTable:
    """Cells with an accuracy and a mean number of tokens, on the same questions."""
    random = np.random.default_rng(5)
    hard = random.random(questions)
    frames = [
        pd.DataFrame({
            "cell": name, "replicate": 1, "question_id": np.arange(questions), "score": (hard < right).astype(int),
            "total_tokens": tokens * np.exp(0.3 * random.normal(size=questions)),
        })
        for name, (right, tokens) in cells.items()
    ]  # fmt: skip
    return score_table(pd.concat(frames, ignore_index=True))


def test_the_claim_is_read() -> None:
    claim = parse_claim("sparse[keep=mean] on the front of accuracy, dollars on gsm8k")
    assert isinstance(claim, Front)
    assert (claim.name, claim.metrics, claim.dataset) == ("sparse[keep=mean]", ("accuracy", "dollars"), "gsm8k")
    assert meaning(claim) == meaning(parse_claim("sparse[keep=mean] on front of dollars, accuracy on gsm8k"))
    assert why_not_early(claim)
    said = "No other cell matches a on both accuracy and tokens per question."
    assert claim_in_words(parse_claim(CLAIM)) == said


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("a on front of accuracy", "a front has two different metrics or more"),
        ("a on front of accuracy, accuracy", "a front has two different metrics or more"),
        ("a on front of accuracy, consensus", "neither direction of consensus is a merit"),
        ("a on front of accuracy, 2x", "'2x' is not a metric"),
        ("a on front of accuracy, calls on every dataset", "a front is of one dataset, or of the mean over them"),
    ],
)
def test_a_front_that_means_nothing_is_refused(wrong: str, why: str) -> None:
    with pytest.raises(SpecError, match=why):
        parse_claim(wrong)


def test_each_rival_is_compared_on_each_metric_in_its_merit() -> None:
    design = design_of(parse_claim(CLAIM), cells_of(["a", "b", "c"]))
    texts = [[part.claim.text for part in rival.parts] for rival in design.parts]
    assert texts == [[f"accuracy(a) > accuracy({other})", f"total_tokens(a) < total_tokens({other})"] for other in "bc"]


@pytest.mark.parametrize(
    ("cells", "verdict"),
    [
        ({"a": (0.6, 100), "b": (0.6, 200), "c": (0.2, 50)}, "supported"),
        ({"a": (0.6, 100), "b": (0.9, 50), "c": (0.2, 50)}, "contradicted"),
        ({"a": (0.6, 100), "b": (0.6, 100), "c": (0.2, 50)}, "undecided"),
    ],
)
def test_the_verdict(cells: dict[str, tuple[float, float]], verdict: str) -> None:
    """Better than each on something; worse than one on everything; and one that is as good."""
    found = evaluate_claims(table(**cells), [CLAIM], 1, cells_of(cells), draws=399)
    assert found["verdict"][0] == verdict
    assert "decides" in found["note"][0]


def test_one_of_several_counts_their_number_in_favour() -> None:
    """p .01 of two tests is .02 in favour; against, the weakest of both decides."""

    def finding(p: float, *, supports: bool) -> Finding:
        return Finding(0.0, 0.0, 0.0, "test", supports, p)

    at, chosen = deciding_of_some([finding(0.01, supports=True), finding(0.001, supports=False)])
    assert (at, chosen.p, chosen.supports, chosen.parts) == (0, 0.02, True, 2)
    at, chosen = deciding_of_some([finding(0.01, supports=False), finding(0.2, supports=False)])
    assert (at, chosen.p, chosen.supports) == (1, 0.2, False)
    at, chosen = deciding_of_some([finding(float("nan"), supports=False), finding(0.04, supports=True)])
    assert (at, chosen.p) == (1, 0.08)


def test_the_power_is_that_of_the_easiest_metric_against_each_rival() -> None:
    """With the earlier results as truth, tokens tell a from b, and accuracy tells it from c."""
    known = table(a=(0.6, 100), b=(0.6, 200), c=(0.2, 50))
    plan = plan_power([CLAIM], cells_of("abc"), {"data": 200}, 1, Expectation(earlier=known))
    assert plan["power"][0] > 0.95
    assert plan["answerable"][0]


def test_the_ratio_of_a_matched_budget() -> None:
    """b spends twice what a does; equal spending of every question has a ratio and no interval."""
    found = match_table(table(a=(0.6, 100), b=(0.6, 200)), [MatchedPair("b", "total_tokens", "a")], 1)
    (row,) = found.to_dict("records")
    assert row["ratio"] == pytest.approx(2.0, rel=0.1)
    assert row["ci_low"] < 2.0 < row["ci_high"]
    frame = pd.DataFrame({
        "cell": ["a"] * 30 + ["b"] * 30, "replicate": 1, "question_id": [*range(30)] * 2, "score": 1, "calls": 6,
    })  # fmt: skip
    exact = match_table(score_table(frame), [MatchedPair("b", "calls", "a")], 1).iloc[0]
    assert exact["ratio"] == 1.0
    assert np.isnan(exact["ci_low"])
