"""Claims beyond a plain difference, on tables whose answer is worked out by hand or by other code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from cortexdsl.claims.cells import CellNames
from cortexdsl.claims.parser import parse_claim
from cortexdsl.claims.values import Quantity
from cortexdsl.core import Floats
from cortexdsl.errors import DataError, InputError, SpecError
from cortexdsl.metrics.calibration import expected_calibration_error
from cortexdsl.metrics.scores import answer_rows, score_rows
from cortexdsl.report.phrasing.claims import claim_in_words
from cortexdsl.stats.inference.paired import Paired
from cortexdsl.stats.inference.random_effects import random_effect
from cortexdsl.stats.planning.expectations import Expectation
from cortexdsl.stats.planning.planning import plan_power
from cortexdsl.stats.sequential.sequential import evaluate_anytime
from cortexdsl.stats.tables.answers import ANSWER_COLUMNS
from cortexdsl.stats.tables.score_table import ScoreTable, score_table
from cortexdsl.stats.tables.units import units_of
from cortexdsl.stats.verdicts import evaluate_claims
from tests.stats.debates import grade, made, record
from tests.stats.tables import long_table, two_by_two


def _row(frame: pd.DataFrame | ScoreTable, claim: str, **options: object) -> pd.Series:
    return evaluate_claims(frame, [claim], seed=1, **options).iloc[0]  # type: ignore[arg-type]


def _by_round() -> pd.DataFrame:
    """Thirty debates of one round: nine won by debating, one lost, eight right before and after, twelve never."""
    before, after = two_by_two(8, 1, 9, 12).values()
    frame = long_table({"full": after}).assign(rounds=1)
    return frame.assign(**{"score@0": before[0]})


def test_after_a_round_is_a_paired_test_of_the_same_debates() -> None:
    """Nine to one of thirty: the exact test of the same debates."""
    row = _row(_by_round(), "accuracy(full, round=0) < accuracy(full)")
    assert row["p"] == 2 * Paired(9, 1, 30).sides(0.0)[0]
    assert row["estimate"] == pytest.approx(-8 / 30)
    assert row["test"] == "score (Tango), exact"
    assert row["verdict"] == "supported"


def test_a_debate_that_ended_before_a_round_keeps_its_last_answer() -> None:
    """Half of the debates stop at the opening: after round 0 they are worth what they were worth in the end."""
    frame = _by_round()
    frame.loc[frame.index[:15], "rounds"] = 0
    sample = units_of(score_table(frame), [Quantity("accuracy", "full", 0), Quantity("accuracy", "full", 7)])
    assert sample.values[0, :15] == pytest.approx(frame["score"][:15].to_numpy())
    assert sample.values[0, 15:] == pytest.approx(frame["score@0"][15:].to_numpy())
    assert sample.values[1] == pytest.approx(frame["score"].to_numpy())


def test_a_table_that_knows_no_rounds_says_what_it_lacks() -> None:
    with pytest.raises(DataError, match="no column 'rounds', which a value after round 0 needs"):
        _row(long_table({"full": np.eye(3)[:1]}), "accuracy(full, round=0) < accuracy(full)")
    with pytest.raises(DataError, match="no column 'score@1', though cell full"):
        _row(_by_round().assign(rounds=3), "accuracy(full, round=1) < accuracy(full)")


def test_tables_of_scores_hold_each_earlier_round() -> None:
    """Opening R, W, W: the vote is wrong, nobody agrees, a third is right; then all say R."""
    debate = made([{"a": "R", "b": "W", "c": "W"}, {"a": "R", "b": "R", "c": "R"}], [[]])
    (row,) = score_rows([record(debate)], grade)
    assert (row["score@0"], row["consensus@0"], row["agent_score@0"]) == (0.0, 0.0, pytest.approx(1 / 3))
    assert (row["score"], row["consensus"], row["agent_score"], row["rounds"]) == (1.0, 1.0, 1.0, 1.0)
    assert "score@1" not in row


def _two(difference: float = 0.3) -> pd.DataFrame:
    random = np.random.default_rng(8)
    ability = random.uniform(0.2, 0.7, 120)
    frames = []
    for cell, shift, cost in (("a", difference, 100), ("b", 0.0, 200), ("c", 0.02, 200)):
        frame = long_table({cell: (random.random((2, 120)) < ability + shift).astype(float)})
        frames.append(frame.assign(input_tokens=random.gamma(20, cost / 20, len(frame))))
    return pd.concat(frames)


def test_accuracy_per_token_is_a_ratio_of_ratios() -> None:
    """Shown is (accuracy / tokens of a) / (accuracy / tokens of b); its bound decides at the factor that is claimed."""
    frame = _two()
    means = frame.groupby("cell")[["score", "input_tokens"]].mean()
    per = means["score"] / means["input_tokens"]
    row = _row(frame, "accuracy(a) per input_tokens > accuracy(b) per input_tokens")
    assert row["estimate"] == pytest.approx(per["a"] / per["b"])
    assert row["verdict"] == "supported"
    assert row["ci_low"] < row["estimate"] < row["ci_high"]
    bound = f"accuracy(a) per input_tokens > {row['ci_low'] * 0.99:.4f} * accuracy(b) per input_tokens"
    assert _row(frame, bound)["p"] <= 0.05
    alone = _row(frame, f"accuracy(a) per input_tokens > {per['a'] * 1.5:.6f}")
    assert alone["estimate"] == pytest.approx(per["a"])
    assert alone["verdict"] == "contradicted"


def test_a_conjunction_has_the_largest_p_of_its_parts() -> None:
    """Intersection-union (Berger 1982): supported by the largest p; contradicted by the smallest times their number."""
    frame = _two()
    parts = ["accuracy(a) > accuracy(b)", "input_tokens(a) < input_tokens(b)"]
    each = evaluate_claims(frame, parts, seed=1)
    both = _row(frame, " and ".join(parts))
    assert both["p"] == each["p"].max()
    assert both["verdict"] == "supported"
    wrong = _row(frame, "accuracy(a) < accuracy(b) and input_tokens(a) < input_tokens(b)")
    assert wrong["verdict"] == "contradicted"
    assert wrong["p"] == pytest.approx(2 * each["p"][0])
    assert wrong["note"].startswith("the part that decides is accuracy(a) < accuracy(b), and ")


def test_every_other_is_each_of_the_other_cells() -> None:
    frame = _two()
    each = evaluate_claims(frame, ["accuracy(a) > accuracy(b)", "accuracy(a) > accuracy(c)"], seed=1)
    row = _row(frame, "accuracy(a) > accuracy(every other)")
    assert row["p"] == pytest.approx(each["p"].max())
    assert row["verdict"] == "supported"
    assert "the rival that decides" in row["note"]
    beaten = _row(frame, "accuracy(b) > accuracy(every other)")
    assert beaten["verdict"] == "contradicted"
    assert beaten["note"].startswith("the estimate is against a")
    with pytest.raises(InputError, match="no other cell"):
        _row(frame[frame["cell"] == "a"], "accuracy(a) > accuracy(every other)")


def test_a_difference_of_differences_has_pseudo_questions_of_its_own_size() -> None:
    """Six questions, each (1 - 0) - (0 - 0) = 1 of at most 2: a step of 10 / 8, half a pseudo-question of that.

    In steps the mean square, (6 / step^2 + .5) / 6.5, would be below the mean, 6 / step / 6.5, which is taken for it.
    """
    one, zero = np.ones((1, 6)), np.zeros((1, 6))
    frame = long_table({"a": one, "b": zero, "c": zero, "d": zero})
    row = _row(frame, "score(a) - score(b) > score(c) - score(d)")
    step = (6 + 4) / (6 + 2)
    t, score = 1 / np.sqrt(0.5 * (step / 6) ** 2), 6.5 / np.sqrt(6 * step)
    p = 2 * max(stats.t.sf(t, 5.5), stats.norm.sf(score))
    assert (row["estimate"], row["p"]) == (pytest.approx(1), pytest.approx(p))
    assert row["test"] == "score (Tango)"


def test_a_sum_that_is_not_its_own_mirror_image_is_tested_alike() -> None:
    frame = _two(0.0)
    row = _row(frame, "(accuracy(a) + accuracy(b)) / 2 > accuracy(c)")
    means = frame.groupby("cell")["score"].mean()
    assert row["estimate"] == pytest.approx((means["a"] + means["b"]) / 2 - means["c"])
    assert row["test"] == "score (Tango)"


def _answers(cells: Mapping[str, tuple[Floats, Floats]], agents: Sequence[str] = ("quick",)) -> pd.DataFrame:
    """Answers from (confidence, right) arrays of (agents, questions)."""
    rows = [
        ("data", cell, 1, f"q{q}", agent, 0, right[a, q], right[a, q], *(confidence[a, q] ** n for n in (1, 2, 3)))
        for cell, (confidence, right) in cells.items()
        for a, agent in enumerate(agents)
        for q in range(confidence.shape[1])
    ]
    return pd.DataFrame(rows, columns=list(ANSWER_COLUMNS))


def _with(cells: Mapping[str, tuple[Floats, Floats]], agents: Sequence[str] = ("quick",)) -> ScoreTable:
    frame = long_table({cell: right.mean(axis=0)[None] for cell, (_, right) in cells.items()})
    return replace(score_table(frame), answers=_answers(cells, agents))


def _confident(questions: int, bias: float, seed: int, agents: int = 1) -> tuple[Floats, Floats]:
    random = np.random.default_rng(seed)
    confidence = random.choice([0.55, 0.65, 0.75, 0.85, 0.95], (agents, questions))
    return confidence, (random.random((agents, questions)) < confidence - bias).astype(float)


def test_the_area_under_the_curve_is_mann_whitneys() -> None:
    """AUROC = U / (n1 n0) (scipy), and its spread over independent answers is DeLong's."""
    confidence, right = _confident(200, 0.2, 4)
    sample = units_of(_with({"a": (confidence, right)}), [Quantity("auroc", "a")])
    is_right = right[0] > 0
    ahead, behind = confidence[0][is_right], confidence[0][~is_right]
    assert sample.means[0] == pytest.approx(stats.mannwhitneyu(ahead, behind).statistic / (len(ahead) * len(behind)))
    over = [np.mean((x > behind) + 0.5 * (x == behind)) for x in ahead]
    under = [np.mean((ahead > y) + 0.5 * (ahead == y)) for y in behind]
    delong = np.var(over) / len(ahead) + np.var(under) / len(behind)
    assert np.var(sample.values[0]) / 200 == pytest.approx(delong)


def test_the_calibration_error_of_far_off_confidences_is_the_plain_one() -> None:
    """Where every bin is far off, noise adds nothing: the estimate is Guo et al.'s ECE of the same answers."""
    confidence, right = _confident(400, 0.5, 5)
    sample = units_of(_with({"a": (confidence, right)}), [Quantity("ece", "a")])
    plain = expected_calibration_error(confidence[0].tolist(), (right[0] > 0).tolist())
    assert sample.means[0] == pytest.approx(plain, rel=1e-3)


def test_noise_that_raises_a_calibration_error_is_taken_off() -> None:
    """Perfectly calibrated answers have ECE 0; of 200 answers the plain one says about 0.07, on average."""
    plain, found = [], []
    for seed in range(40):
        confidence, right = _confident(200, 0.0, seed)
        plain.append(expected_calibration_error(confidence[0].tolist(), (right[0] > 0).tolist()))
        found.append(units_of(_with({"a": (confidence, right)}), [Quantity("ece", "a")]).means[0])
    assert np.mean(found) < 0.7 * np.mean(plain)


def test_claims_about_confidences_before_and_after_recalibration_and_by_agent() -> None:
    """Squaring overconfident reports (bias 0.2) brings them nearer to the truth; the careful agent never was far."""
    confidence, right = _confident(300, 0.2, 6, agents=2)
    confidence[1], right[1] = (part[0] for part in _confident(300, 0.0, 7))
    table = _with({"a": (confidence, right)}, ("quick", "careful"))
    assert _row(table, "ece_recalibrated(a, agent=quick) < ece_stated(a, agent=quick)")["verdict"] == "supported"
    row = _row(table, "brier(a, agent=careful) < brier(a, agent=quick)")
    by_hand = ((confidence - right) ** 2).mean(axis=1)
    assert row["estimate"] == pytest.approx(by_hand[1] - by_hand[0])
    assert row["verdict"] == "supported"
    accuracy = _row(table, "accuracy(a, agent=careful) > accuracy(a, agent=quick)")
    assert accuracy["estimate"] == pytest.approx(right[1].mean() - right[0].mean())
    assert _row(table, "auroc(a) > 0.5")["verdict"] == "supported"
    opening = _row(table, "auroc(a, round=0) > 0.5")
    assert opening["estimate"] == _row(table, "auroc(a) > 0.5")["estimate"]
    with pytest.raises(DataError, match="a has no agent 'slow' on data; it has quick, careful"):
        _row(table, "brier(a, agent=slow) < 0.2")
    with pytest.raises(DataError, match="needs every answer and confidence, which scores do not hold"):
        _row(replace(table, answers=None), "ece(a) < 0.2")


def test_answers_that_state_no_confidence_are_a_gap_or_do_not_count() -> None:
    """A Brier score of a question without any is unknown; the ECE is over the answers that state one."""
    confidence, right = _confident(60, 0.0, 8)
    told = confidence.copy()
    told[0, :20] = np.nan
    table = _with({"a": (told, right)})
    found = _row(table, "brier(a, agent=quick) < 0.9")
    assert found["test"].startswith("none: a lacks 20 of 60 values")
    assert found["note"].startswith("not tested: a lacks 20 of 60 values")  # what the page and --text show
    sample = units_of(table, [Quantity("auroc", "a")])
    ahead, behind = (told[0][20:][right[0][20:] == y] for y in (1, 0))
    assert sample.means[0] == pytest.approx(stats.mannwhitneyu(ahead, behind).statistic / (len(ahead) * len(behind)))
    nobody = _with({"a": (np.full((1, 60), np.nan), right)})
    assert _row(nobody, "ece(a) < 0.2")["test"].startswith("none: a lacks")


def test_raw_confidences_are_those_before_recalibration() -> None:
    """Made as third powers: the mean of (c^3 - right)^2; the order, and so the area, is that of the stated ones."""
    confidence, right = _confident(60, 0.0, 8)
    table = _with({"a": (confidence, right)})
    raw, area, stated = (
        units_of(table, [Quantity(name, "a")]).means[0] for name in ("brier_raw", "auroc_raw", "auroc")
    )
    assert raw == pytest.approx(np.mean((confidence**3 - right) ** 2))
    assert area == pytest.approx(stated)


def test_answers_of_records_are_rows() -> None:
    debate = made([{"a": "R", "b": None}, {"a": "W", "b": "R"}], [[]], confidence=[{"a": 0.9}, {"a": 0.5, "b": 0.7}])
    rows = answer_rows([record(debate, "full")], grade)
    assert tuple(rows[0]) == ANSWER_COLUMNS
    assert [(r["agent"], r["round"], r["score"], r["right"], r["stated"]) for r in rows] == [
        ("a", 0, 1.0, 1, 0.9), ("b", 0, 0.0, 0, None), ("a", 1, 0.0, 0, 0.5), ("b", 1, 1.0, 1, 0.7),
    ]  # fmt: skip


def test_over_seeds_and_datasets_each_is_a_draw() -> None:
    """The groups are each replicate's, or each dataset's, differences of questions, as made by hand."""
    random = np.random.default_rng(9)
    values = {cell: (random.random((4, 50)) < p).astype(float) for cell, p in (("a", 0.7), ("b", 0.5))}
    row = _row(long_table(values), "score(a) > score(b) over seeds")
    outcome, note = random_effect(list(values["a"] - values["b"]), "seeds")
    assert (row["estimate"], row["p"], row["note"]) == (pytest.approx(outcome.estimate), pytest.approx(outcome.p), note)
    frame = pd.concat([long_table({c: v[[k]] for c, v in values.items()}, dataset=f"d{k}") for k in range(4)])
    row = _row(frame, "score(a) > score(b) over datasets")
    outcome, _ = random_effect(list(values["a"] - values["b"]), "datasets")
    assert (row["estimate"], row["p"]) == (pytest.approx(outcome.estimate), pytest.approx(outcome.p))
    assert row["null"].endswith("datasets like these")


def test_a_claim_over_groups_is_supported_on_its_own_side_alone() -> None:
    """Every one of five seeds is better by .3 on all of forty questions, give or take."""
    random = np.random.default_rng(11)
    base = random.uniform(0.2, 0.6, (5, 40))
    frame = long_table({"a": base + 0.3 + random.normal(0, 0.05, (5, 40)), "b": base})
    assert _row(frame, "score(a) > score(b) over seeds")["verdict"] == "supported"
    assert _row(frame, "score(a) < score(b) over seeds")["verdict"] == "contradicted"
    assert _row(frame, "score(a) > score(b) + 0.4 over seeds")["verdict"] == "contradicted"


def test_over_teams_is_the_same_comparison_in_every_team() -> None:
    random = np.random.default_rng(10)
    values = {
        f"{method}[agents={team}]": (random.random((1, 60)) < p).astype(float)
        for method, p in (("s", 0.7), ("f", 0.5)) for team in ("one", "two", "three")
    }  # fmt: skip
    frame = long_table(values)
    arms = [CellNames(cell, cell[0], (), {"agents": cell[9:-1]}) for cell in values]
    row = _row(frame, "score(s) > score(f) over teams", arms=arms)
    groups = [(values[f"s[agents={team}]"] - values[f"f[agents={team}]"])[0] for team in ("one", "two", "three")]
    outcome, _ = random_effect(groups, "teams")
    assert (row["estimate"], row["p"]) == (pytest.approx(outcome.estimate), pytest.approx(outcome.p))
    with pytest.raises(InputError, match="no team has all of its methods"):
        _row(frame, "score(s) > score(g) over teams", arms=[*arms, CellNames("g", "g")])


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("accuracy(full, round=0) < accuracy(full)", "The accuracy of full at the opening is lower than that of full."),
        (
            "accuracy(a) per input_tokens > 1.5 * accuracy(b) per input_tokens",
            "The accuracy per input token of a is more than 1.5 times that of b.",
        ),
        (
            "accuracy(a) >= accuracy(b) - 2% and calls(a) < calls(b)",
            "The accuracy of a is at most 2 points below that of b; and the calls per question of a are lower than"
            " those of b.",
        ),
        ("accuracy(a) > accuracy(every other)", "The accuracy of a is higher than that of every other cell."),
        ("score(a) > score(b) over teams", "The score of a is higher than that of b, over teams like these."),
    ],
)
def test_claims_are_said_in_words(claim: str, words: str) -> None:
    assert claim_in_words(parse_claim(claim)) == words


@pytest.mark.parametrize(
    "claim", ["score(a) > score(b) over seeds", "ece(a) < 0.2", "score(a) per calls > score(b) per calls"]
)
def test_what_is_tested_once_at_the_end_cannot_be_looked_at_early(claim: str) -> None:
    with pytest.raises(InputError, match="cannot be looked at early"):
        evaluate_anytime(long_table(two_by_two(5, 5, 5, 5)), [claim])


def test_a_claim_about_any_table_is_held_to_its_scale_where_it_is_ours() -> None:
    """Scores in [0, 1] are shares, so `> 80` is a slip; in a table of percentages it is a claim."""
    frame = long_table(two_by_two(5, 5, 5, 5))
    with pytest.raises(SpecError, match="no outcome can bring"):
        _row(frame, "score(a) > 80")
    assert _row(frame.assign(score=100 * frame["score"]), "score(a) > 80")["verdict"] != "supported"


def test_a_conjunction_has_less_power_than_its_hardest_part() -> None:
    """Accuracies 10 and 12 points apart: at least what neither of them lacks, by Boole."""
    parts = ["accuracy(a) > accuracy(b)", "accuracy(a) > accuracy(c)"]
    differences = {parts[0]: 0.1, parts[1]: 0.12}
    known = Expectation(discordance=0.3, differences=differences)
    arms = [CellNames(cell, cell) for cell in "abc"]
    found = plan_power([*parts, " and ".join(parts)], arms, {"d": 200}, 1, known, correction="none")
    assert found["power"][2] == pytest.approx(found["power"][0] + found["power"][1] - 1)
    assert "power is at least this for all 2 contrasts at once" in found["note"][2]
    assert f"its hardest part is {parts[0]}" in found["note"][2]


def test_the_power_of_a_difference_of_differences_is_less_than_that_of_a_difference() -> None:
    """Its variance is twice as large, so what it detects is the square root of two times as much, about."""
    claims = ["accuracy(a) > accuracy(b)", "accuracy(a) - accuracy(b) > accuracy(c) - accuracy(d)"]
    arms = [CellNames(cell, cell) for cell in "abcd"]
    found = plan_power(claims, arms, {"d": 2000}, 1, Expectation(discordance=0.3), correction="none")
    assert found["detectable"][1] / found["detectable"][0] == pytest.approx(np.sqrt(2), rel=0.05)
