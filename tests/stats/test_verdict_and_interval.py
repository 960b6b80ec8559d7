"""A verdict and the interval beside it are one procedure: they never disagree, whatever the claim and the data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cortexdsl.core import Family, Floats
from cortexdsl.stats.inference.families import compare_families
from cortexdsl.stats.tables.answers import ANSWER_COLUMNS
from cortexdsl.stats.tables.score_table import ScoreTable, score_table
from cortexdsl.stats.verdicts import evaluate_claims
from tests.stats.tables import long_table

UNSEEN = "values that no question showed could turn this"
CELLS = ("s[rounds=1]", "s[rounds=2]", "s[rounds=3]")
A, B, C = CELLS
FORMS: dict[str, float] = {
    f"accuracy({A}) > accuracy({B})": 0.0,
    f"accuracy({A}) < accuracy({B})": 0.0,
    f"accuracy({A}) >= accuracy({B}) - 0.08": -0.08,
    f"accuracy({A}) > accuracy({B}) + 0.1": 0.1,
    f"accuracy({A}) >= 0.9 * accuracy({B})": 0.9,
    f"accuracy({A}) < 1.1 * accuracy({B})": 1.1,
    f"accuracy({A}) > 0.6": 0.6,
    f"accuracy({A}) - accuracy({B}) > accuracy({B}) - accuracy({C})": 0.0,
    "accuracy(s[rounds]) increasing": 0.0,
    f"tokens({A}) < tokens({B})": 0.0,
    f"tokens({A}) <= 0.8 * tokens({B})": 0.8,
    f"tokens({A}) > 90": 90.0,
    f"accuracy({A}) per tokens > accuracy({B}) per tokens": 1.0,
}
"""Claims with one test, and the value that they hold their estimate against."""
EQUIVALENT = f"accuracy({A}) == accuracy({B}) +- 0.15"
SEVERAL = {
    "best rounds of s is 2": 0.0,
    "accuracy(s[rounds]) monotone increasing": 0.0,
    f"accuracy({B}) > accuracy(every other)": 0.0,
}
"""Claims with several tests."""


def _table(seed: int, questions: int, replicates: int, clusters: bool) -> pd.DataFrame:
    """Three cells of random ability; sometimes alike, sometimes far apart, sometimes near the ceiling."""
    random = np.random.default_rng(seed)
    base = random.beta(*random.uniform(0.5, 4, 2), questions)
    chances = [np.clip(base + shift, 0, 1) for shift in random.uniform(-0.3, 0.3, 3)]
    values = {
        cell: (random.random((replicates, questions)) < p).astype(float) for cell, p in zip(CELLS, chances, strict=True)
    }
    frame = long_table(values).assign(tokens=random.lognormal(4.5, 0.3, 3 * replicates * questions).round())
    if not clusters:
        return frame
    owner = np.sort(random.integers(0, max(3, questions // 4), questions))
    owner[:3] = [0, 1, 2]
    return frame.assign(cluster=owner[frame["question_id"].str[1:].astype(int)])


def turned(note: str) -> bool:
    """Whether large values that the sample may have missed leave a claim undecided, whatever its interval."""
    return UNSEEN in note


@example(seed=167, questions=58, replicates=5, clusters=True)  # many small contrasts, nearly all in one direction
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6), questions=st.integers(6, 60), replicates=st.sampled_from([1, 2, 3, 5]),
    clusters=st.booleans(),
)  # fmt: skip
def test_a_verdict_excludes_the_null_value_and_an_undecided_claim_does_not(
    seed: int, questions: int, replicates: int, clusters: bool
) -> None:
    rows = evaluate_claims(_table(seed, questions, replicates, clusters), list(FORMS), 1, correction="none", draws=199)
    for row, null in zip(rows.itertuples(), FORMS.values(), strict=True):
        if row.test.startswith("none"):
            assert row.verdict == "undecided"
            continue
        held = row.ci_low <= null <= row.ci_high
        assert held == (row.verdict == "undecided" and not turned(row.note)), (
            row.claim,
            row.p,
            row.ci_low,
            row.ci_high,
        )
        assert row.ci_low <= row.estimate <= row.ci_high or row.test.startswith("AUROC")


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6), questions=st.integers(6, 60), replicates=st.sampled_from([1, 3]))
def test_the_simultaneous_interval_belongs_to_the_adjusted_verdict(seed: int, questions: int, replicates: int) -> None:
    """It leaves out the null value only if the claim is decided; by later steps of Holm more are decided, and noted."""
    claims = FORMS | SEVERAL
    rows = evaluate_claims(_table(seed, questions, replicates, False), list(claims), 1, correction="holm", draws=999)
    for row, null in zip(rows.itertuples(), claims.values(), strict=True):
        if row.test.startswith("none"):
            continue
        held = row.ci_low_simultaneous <= null <= row.ci_high_simultaneous
        if turned(row.note):
            assert row.verdict == "undecided"
        elif row.verdict == "undecided":
            assert held, row.claim
        else:
            assert held == ("by the later steps of holm" in row.note), row.claim
        assert row.ci_low_simultaneous <= row.ci_low <= row.ci_high <= row.ci_high_simultaneous


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), questions=st.integers(20, 200), replicates=st.sampled_from([1, 3]))
def test_equivalence_is_that_its_interval_lies_within_the_margin(seed: int, questions: int, replicates: int) -> None:
    """Inside by the 90 % interval, outside by the 95 % one; the note says which is shown."""
    row = evaluate_claims(_table(seed, questions, replicates, False), [EQUIVALENT], 1).iloc[0]
    within = row["ci_low"] > -0.15 and row["ci_high"] < 0.15
    beyond = row["ci_low"] > 0.15 or row["ci_high"] < -0.15
    assert row["verdict"] == ("supported" if within else "contradicted" if beyond else "undecided")
    assert ("90 % interval" in row["note"]) == (abs(row["estimate"]) < 0.15)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), questions=st.integers(6, 80), replicates=st.sampled_from([1, 3, 5]))
def test_comparisons_agree_with_their_intervals(seed: int, questions: int, replicates: int) -> None:
    family = Family("f", CELLS[1:], CELLS[0])
    rows = compare_families(_table(seed, questions, replicates, False), [family], ["score", "tokens"], 1, draws=199)
    for row in rows.itertuples():
        assert (row.ci_low <= 0 <= row.ci_high) == (row.p > 0.05)
        if row.ci_low_simultaneous > 0 or row.ci_high_simultaneous < 0:
            assert row.p_adjusted <= 0.05


def _answered(seed: int, questions: int) -> ScoreTable:
    random = np.random.default_rng(seed)
    frames, scores = [], {}
    for cell in ("a", "b"):
        right = (random.random(questions) < random.uniform(0.5, 0.85)).astype(float)
        stated = np.clip(0.5 + random.uniform(0, 0.3) * right + 0.2 * random.normal(size=questions), 0, 1).round(2)
        ids = [f"q{i}" for i in range(questions)]
        rows = {"dataset": "data", "cell": cell, "replicate": 1, "question_id": ids, "agent": "x", "round": 0}
        answers = {"score": right, "right": right, "stated": stated, "recalibrated": stated}
        frames.append(pd.DataFrame(rows | answers, columns=list(ANSWER_COLUMNS)))
        scores[cell] = right[None]
    return replace(score_table(long_table(scores, dataset="data")), answers=pd.concat(frames, ignore_index=True))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), questions=st.integers(60, 150))
def test_verdicts_about_areas_agree_with_their_intervals(seed: int, questions: int) -> None:
    claims = {"auroc(a) > 0.7": 0.7, "auroc(a) > auroc(b)": 0.0, "auroc(a) >= auroc(b) - 0.05": -0.05,
              "auroc(a) >= 0.9 * auroc(b)": 0.9}  # fmt: skip
    rows = evaluate_claims(_answered(seed, questions), list(claims), 1, correction="none")
    for row, null in zip(rows.itertuples(), claims.values(), strict=True):
        if not row.test.startswith("none"):
            assert (row.ci_low <= null <= row.ci_high) == (row.verdict == "undecided"), row.claim


@pytest.mark.parametrize("correction", ["holm", "none"])
def test_alone_the_two_intervals_are_the_same_unless_alpha_is_not_five_per_cent(correction: str) -> None:
    frame: pd.DataFrame = _table(3, 40, 3, False)
    claim = f"accuracy({A}) > accuracy({B})"
    alone = evaluate_claims(frame, [claim], 1, correction=correction).iloc[0]
    assert (alone["ci_low_simultaneous"], alone["ci_high_simultaneous"]) == (alone["ci_low"], alone["ci_high"])
    strict = evaluate_claims(frame, [claim], 1, correction=correction, alpha=0.01).iloc[0]
    ends: Floats = strict[["ci_low_simultaneous", "ci_high_simultaneous"]].to_numpy(dtype=float)
    assert ends[0] < strict["ci_low"] < strict["ci_high"] < ends[1]
