"""What is worked out of answers, question by question: calibration errors by hand, areas, rounds and agents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from cortexdsl.analysis.units.answer_table import COLUMNS
from cortexdsl.analysis.units.answers import calibration_errors
from cortexdsl.analysis.units.table import ScoreTable, score_table
from cortexdsl.analysis.units.units import units_of
from cortexdsl.errors import DataError
from cortexdsl.spec.claims.language import Quantity
from cortexdsl.terms import Floats
from tests.analysis.tables import long_table


def by_hand(differences: Floats, noise: float) -> float:
    """|g| less what noise adds to it: 2 |g| - E|X| of X normal around g."""
    gap = differences.mean()
    z = gap / noise
    return float(2 * abs(gap) - (noise * 2 * stats.norm.pdf(z) + gap * (2 * stats.norm.cdf(z) - 1)))


def test_the_calibration_error_of_one_bin_by_hand() -> None:
    """Twelve answers of .65, seven of them right: a gap of -.0667 and its standard error of .1486."""
    right = np.array([1.0] * 7 + [0.0] * 5)
    confidence, alone = np.full(12, 0.65), np.arange(12)
    found = calibration_errors(confidence, right, alone, alone)
    noise = (right - confidence).std(ddof=1) / np.sqrt(12)
    assert found.mean() == pytest.approx(by_hand(right - confidence, noise))
    # its spread is that of the gap, times how much the estimate moves with it
    z = (right - confidence).mean() / noise
    slope = 2 * np.sign(z) - (2 * stats.norm.cdf(z) - 1)
    assert found - found.mean() == pytest.approx(slope * (right - right.mean()))


def test_the_noise_of_a_calibration_error_is_that_of_clusters() -> None:
    """Four clusters of three questions that all go alike: four observations, and no twelve."""
    right = np.repeat([1.0, 1.0, 1.0, 0.0], 3)
    confidence, clusters = np.full(12, 0.65), np.repeat(np.arange(4), 3)
    found = calibration_errors(confidence, right, np.arange(12), clusters)
    noise = (right - confidence)[::3].std(ddof=1) / np.sqrt(4)
    assert found.mean() == pytest.approx(by_hand(right - confidence, noise))


def test_bins_of_a_calibration_error_add_up_by_how_many_answers_they_hold() -> None:
    """Without noise: two bins of constant gaps .4 and -.2, of four and eight answers, one a question."""
    confidence = np.array([0.55] * 4 + [0.25] * 8)
    right = confidence + np.array([0.4] * 4 + [-0.2] * 8)
    alone = np.arange(12)
    whole = calibration_errors(confidence[:4], right[:4], alone[:4], alone[:4])
    assert whole == pytest.approx([0.4] * 4)
    found = calibration_errors(confidence, right, alone, alone)
    plain = (4 * 0.4 + 8 * 0.2) / 12
    assert found.mean() == pytest.approx(plain, abs=0.01)


def test_a_perfectly_calibrated_bin_has_no_error_and_nothing_said_has_none_known() -> None:
    alone = np.arange(4)
    assert calibration_errors(np.full(4, 0.5), np.full(4, 0.5), alone, alone).tolist() == [0.0] * 4
    assert np.isnan(calibration_errors(np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64), alone)).all()


def table(
    rows: Sequence[tuple[int, str, str, int, float, float]], questions: int = 2, replicates: int = 1
) -> ScoreTable:
    """Answers (replicate, question, agent, round, right, confidence) of cell a, beside scores of as many questions."""
    answers = pd.DataFrame(
        [
            ("data", "a", r, q, agent, round_, right, right, stated, stated, stated)
            for r, q, agent, round_, right, stated in rows
        ],
        columns=list(COLUMNS),
    )
    return replace(score_table(long_table({"a": np.ones((replicates, questions))})), answers=answers)


SAID = [
    (1, "q0", "x", 0, 1.0, 0.9), (1, "q0", "y", 0, 0.0, 0.4), (1, "q0", "x", 1, 0.0, 0.6), (1, "q0", "x", 2, 1.0, 0.8),
    (1, "q1", "x", 0, 0.0, 0.5), (1, "q1", "x", 1, 1.0, 0.7), (1, "q1", "y", 1, 1.0, 0.2),
]  # fmt: skip


@pytest.mark.parametrize(
    ("quantity", "values"),
    [
        (Quantity("accuracy", "a", None, agent="x"), [1, 1]),  # its last answers
        (Quantity("accuracy", "a", 0, agent="x"), [1, 0]),
        (Quantity("accuracy", "a", 1, agent="x"), [0, 1]),
        (Quantity("accuracy", "a", 5, agent="x"), [1, 1]),  # whatever it last said by then
        (Quantity("accuracy", "a", 1, agent="y"), [0, 1]),  # of the opening where it said nothing later
        (Quantity("brier", "a", 0, agent="x"), [0.01, 0.25]),  # of that round alone
        (Quantity("brier", "a", 1, agent="x"), [0.36, 0.09]),
        (Quantity("brier", "a", None, agent="x"), [(0.01 + 0.36 + 0.04) / 3, (0.25 + 0.09) / 2]),
    ],
)  # fmt: skip
def test_answers_of_an_agent_after_a_round(quantity: Quantity, values: list[float]) -> None:
    assert units_of(table(SAID), [quantity]).values[0] == pytest.approx(values)


def test_a_round_in_which_an_agent_answered_one_question_alone_is_a_gap() -> None:
    sample = units_of(table(SAID), [Quantity("brier", "a", 1, agent="y")])
    assert sample.gaps.tolist() == [1]
    assert np.isnan(sample.values[0]).tolist() == [True, False]


def test_replicates_of_answers_are_averaged_and_one_that_lacks_an_answer_is_a_gap() -> None:
    twice = [*SAID, (2, "q0", "x", 0, 0.0, 0.9), (2, "q1", "x", 0, 1.0, 0.9)]
    accuracy = Quantity("accuracy", "a", 0, agent="x")
    sample = units_of(table(twice, replicates=2), [accuracy])
    assert sample.values[0].tolist() == [0.5, 0.5]
    assert (sample.gaps.tolist(), sample.replicates.tolist(), sample.yes_no.tolist()) == ([0], [2], [True])
    assert units_of(table(twice[:-1], replicates=2), [accuracy]).gaps.tolist() == [1]


@pytest.mark.parametrize(
    ("quantity", "message"),
    [
        (Quantity("brier", "a", None, agent="z"), r"^a has no agent 'z' on data; it has x, y$"),
        (Quantity("auroc", "b"), r"no answers of b on data$"),
        (Quantity("auroc", "a", 7), r"no answer of a on data in round 7; rounds 0 to 2$"),
    ],
)
def test_answers_that_are_not_there_are_named(quantity: Quantity, message: str) -> None:
    here = table(SAID)
    whole = replace(score_table(long_table({"a": np.ones((1, 2)), "b": np.ones((1, 2))})), answers=here.answers)
    with pytest.raises(DataError, match=message):
        units_of(whole, [quantity])
