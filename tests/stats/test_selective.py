"""Calibration and AUROC of the confidence of whole debates, worked out by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from cortexdsl.claims.meaning import why_not_early
from cortexdsl.claims.parser import parse_claim
from cortexdsl.claims.values import Quantity
from cortexdsl.core import Family, Floats
from cortexdsl.core.metrics import METRICS
from cortexdsl.errors import DataError, SpecError
from cortexdsl.metrics.calibration import expected_calibration_error
from cortexdsl.metrics.estimates import metrics_table
from cortexdsl.stats.inference.families import compare_families
from cortexdsl.stats.tables.calibration import linearised_errors
from cortexdsl.stats.tables.score_table import ScoreTable, score_table
from cortexdsl.stats.tables.selective import linearised
from cortexdsl.stats.tables.units import units, units_of
from cortexdsl.stats.verdicts import evaluate_claims

# From the surest: right, right, wrong, right, wrong.
CONFIDENCE = np.array([0.9, 0.8, 0.7, 0.6, 0.2])
RIGHT = np.array([1.0, 1.0, 0.0, 1.0, 0.0])
ALONE = np.arange(5)


def value(metric: str, confidence: Floats, right: Floats) -> float:
    alone = np.arange(len(right))
    return float(linearised(METRICS[metric], confidence, right, alone, alone).mean())


def debates(cells: dict[str, tuple[Floats, Floats]], replicates: int = 1) -> ScoreTable:
    """A table of debates; each cell has (replicates x questions) confidences and rights."""
    frames = []
    for cell, (confidence, right) in cells.items():
        count = len(right) // replicates
        ids = {"replicate": np.repeat(np.arange(1, replicates + 1), count)}
        ids |= {"question_id": np.tile([f"q{i}" for i in range(count)], replicates)}
        frames.append(pd.DataFrame({"cell": cell, **ids, "score": right, "debate_confidence": confidence}))
    return score_table(pd.concat(frames, ignore_index=True))


def test_calibration_and_auroc_are_those_of_answers() -> None:
    """AUROC is Mann-Whitney's: of six pairs (right, wrong) five are in order. Far-off confidences: Guo et al.'s ECE."""
    assert value("auroc_debate", CONFIDENCE, RIGHT) == pytest.approx(5 / 6)
    random = np.random.default_rng(3)
    confidence, right = random.uniform(0.6, 1, 400), (random.random(400) < 0.2).astype(float)
    plain = expected_calibration_error(confidence.tolist(), (right > 0).tolist())
    assert value("ece_debate", confidence, right) == pytest.approx(plain, rel=1e-3)
    alone = np.arange(400)
    same = linearised_errors(confidence, right, alone, alone)
    assert linearised(METRICS["ece_debate"], confidence, right, alone, alone) == pytest.approx(same)


@pytest.mark.parametrize("metric", ["auroc_debate"])
@pytest.mark.parametrize("levels", [5, 3])
def test_the_spread_is_that_of_the_jackknife(metric: str, levels: int) -> None:
    """Leaving out one of 200 debates at a time; confidences with many ties, as shares of votes have."""
    random = np.random.default_rng(levels)
    confidence = random.integers(1, levels + 1, 200) / levels
    right = (random.random(200) < 0.3 + 0.5 * confidence).astype(float)
    alone = np.arange(200)
    values = linearised(METRICS[metric], confidence, right, alone, alone)
    whole = values.mean()
    left = np.array([value(metric, np.delete(confidence, i), np.delete(right, i)) for i in range(200)])
    jackknife = 199 * (whole - left)
    assert np.corrcoef(values, jackknife)[0, 1] > 0.99
    assert values.std() == pytest.approx(jackknife.std(), rel=0.05)


def test_replicates_of_a_question_stay_together() -> None:
    """The same five debates twice: the same values, and as much spread as once."""
    once = units_of(debates({"a": (CONFIDENCE, RIGHT)}), [Quantity("auroc_debate", "a")])
    twice = units_of(debates({"a": (np.tile(CONFIDENCE, 2), np.tile(RIGHT, 2))}, 2), [Quantity("auroc_debate", "a")])
    assert twice.values.shape == once.values.shape == (1, 5)
    assert twice.means[0] == pytest.approx(once.means[0])
    assert twice.replicates.tolist() == [2]


def test_debates_without_a_confidence_do_not_count_and_missing_debates_are_gaps() -> None:
    confidence = np.append(CONFIDENCE, np.nan)
    table = debates({"a": (confidence, np.append(RIGHT, 1.0)), "b": (np.tile([0.5, 0.4], 3), np.tile([1.0, 0.0], 3))})
    assert units(table, "auroc_debate", ["a"]).means[0] == pytest.approx(5 / 6)
    short = table.frame[~((table.frame["cell"] == "a") & (table.frame["question_id"] == "q5"))]
    assert units(score_table(short), "auroc_debate", ["a", "b"]).gaps.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"debate_confidence": 60.0}, "debate_confidence of a is not from 0 to 1\n    confidences are shares"),
        ({"score": None}, "no column 'score', which auroc_debate needs"),
    ],
)
def test_tables_that_have_no_such_metric_are_refused(change: dict[str, float | None], message: str) -> None:
    frame = debates({"a": (CONFIDENCE, RIGHT)}).frame
    for name, number in change.items():
        frame = frame.drop(columns=name).assign(other=1.0) if number is None else frame.assign(**{name: number})
    with pytest.raises(DataError, match=message):
        units(score_table(frame), "auroc_debate", ["a"])


def made(questions: int, skill: float, seed: int) -> tuple[Floats, Floats]:
    random = np.random.default_rng(seed)
    right = (random.random(questions) < 0.7).astype(float)
    return stats.norm.cdf(skill * right + random.normal(size=questions)), right


def test_claims_families_and_the_table_of_metrics_have_them() -> None:
    """A cell that is surer of right answers has a higher AUROC."""
    table = debates({"sharp": made(300, 2.5, 1), "dull": made(300, 0.0, 2)})
    claims = ["auroc_debate(sharp) > auroc_debate(dull)", "auroc_debate(sharp) > 0.7"]
    found = evaluate_claims(table, claims, 1, draws=399)
    assert found["verdict"].tolist() == ["supported"] * 2
    assert found["test"][0] == "AUROC by log odds, Student's t"
    compared = compare_families(
        table.frame, [Family("f", ("sharp",), "dull")], ["ece_debate", "auroc_debate"], seed=1, draws=399
    )
    assert compared["metric"].tolist() == ["ece_debate", "auroc_debate"]
    area = (
        metrics_table(table, ["ece_debate", "auroc_debate"])
        .set_index(["cell", "metric"])
        .loc[("sharp", "auroc_debate")]
    )
    assert area["estimate"] == pytest.approx(units(table, "auroc_debate", ["sharp"]).means[0])
    assert 0 <= area["ci_low"] < area["estimate"] < area["ci_high"] <= 1
    assert area["n_questions"] == 300


def test_a_metric_without_a_value_is_empty() -> None:
    """All debates are right: no AUROC. A column of empty confidences: no metric."""
    table = debates({"a": (CONFIDENCE, np.ones(5))})
    row = metrics_table(table, ["auroc_debate"]).iloc[0]
    assert np.isnan(row["estimate"])
    assert row["n_questions"] == 0
    assert evaluate_claims(table, ["auroc_debate(a) > 0.5"], 1)["verdict"][0] == "undecided"
    empty = debates({"a": (np.full(5, np.nan), RIGHT)})
    assert evaluate_claims(empty, ["ece_debate(a) < 0.5"], 1)["test"][0].startswith("none: a lacks")


def test_such_claims_are_not_tested_before_the_run_has_ended() -> None:
    assert why_not_early(parse_claim("ece_debate(a) < 0.5")) == (
        "calibration and single agents are tested once, at the end"
    )
    assert not why_not_early(parse_claim("brier_debate(a) < 0.5"))


def refused(claim: str) -> Callable[[], object]:
    return lambda: evaluate_claims(debates({"a": (CONFIDENCE, RIGHT)}), [claim], 1)


@pytest.mark.parametrize("claim", ["auroc_debate(a[rounds]) increasing", "accuracy(a) per ece_debate > 1"])
def test_forms_that_such_a_metric_does_not_have_are_refused(claim: str) -> None:
    with pytest.raises(SpecError, match=r"has no trend|is divided by a mean"):
        refused(claim)()
