"""Calibration errors and AUROC question by question, and tables of answers of any program."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from cortexdsl.claims.values import Quantity
from cortexdsl.cli.main import main
from cortexdsl.core import Floats
from cortexdsl.errors import DataError
from cortexdsl.stats.tables.answers import ANSWER_COLUMNS, read_answers, with_answers
from cortexdsl.stats.tables.calibration import linearised_errors
from cortexdsl.stats.tables.score_table import ScoreTable, score_table
from cortexdsl.stats.tables.units import units_of
from cortexdsl.stats.verdicts import evaluate_claims
from tests.stats.tables import long_table


def by_hand(differences: Floats, noise: float) -> float:
    """|g| less what noise adds to it: 2 |g| - E|X| of X normal around g."""
    gap = differences.mean()
    z = gap / noise
    return float(2 * abs(gap) - (noise * 2 * stats.norm.pdf(z) + gap * (2 * stats.norm.cdf(z) - 1)))


def test_the_calibration_error_of_one_bin_by_hand() -> None:
    """Twelve answers of .65, seven of them right: a gap of -.0667 and its standard error of .1486."""
    right = np.array([1.0] * 7 + [0.0] * 5)
    confidence, alone = np.full(12, 0.65), np.arange(12)
    found = linearised_errors(confidence, right, alone, alone)
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
    found = linearised_errors(confidence, right, np.arange(12), clusters)
    noise = (right - confidence)[::3].std(ddof=1) / np.sqrt(4)
    assert found.mean() == pytest.approx(by_hand(right - confidence, noise))


def test_bins_of_a_calibration_error_add_up_by_how_many_answers_they_hold() -> None:
    """Without noise: two bins of constant gaps .4 and -.2, of four and eight answers, one a question."""
    confidence = np.array([0.55] * 4 + [0.25] * 8)
    right = confidence + np.array([0.4] * 4 + [-0.2] * 8)
    alone = np.arange(12)
    whole = linearised_errors(confidence[:4], right[:4], alone[:4], alone[:4])
    assert whole == pytest.approx([0.4] * 4)
    found = linearised_errors(confidence, right, alone, alone)
    plain = (4 * 0.4 + 8 * 0.2) / 12
    assert found.mean() == pytest.approx(plain, abs=0.01)


def test_a_perfectly_calibrated_bin_has_no_error_and_nothing_said_has_none_known() -> None:
    alone = np.arange(4)
    assert linearised_errors(np.full(4, 0.5), np.full(4, 0.5), alone, alone).tolist() == [0.0] * 4
    assert np.isnan(linearised_errors(np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64), alone)).all()


def table(
    rows: Sequence[tuple[int, str, str, int, float, float]], questions: int = 2, replicates: int = 1
) -> ScoreTable:
    """Answers (replicate, question, agent, round, right, confidence) of cell a, beside scores of as many questions."""
    answers = pd.DataFrame(
        [
            ("data", "a", r, q, agent, round_, right, right, stated, stated, stated)
            for r, q, agent, round_, right, stated in rows
        ],
        columns=list(ANSWER_COLUMNS),
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


def _made(folder: Path, questions: int = 200) -> tuple[Path, Path]:
    """Scores and answers of `calm`, which says .6 and is right as often, and `bold`, which says .95."""
    random = np.random.default_rng(5)
    rows = [
        {"cell": cell, "question_id": f"q{i}", "agent": agent, "right": int(random.random() < 0.6), "stated": stated}
        for cell, stated in (("calm", 0.6), ("bold", 0.95))
        for i in range(questions)
        for agent in ("ann", "bob")
    ]
    answers = pd.DataFrame(rows)
    scores = answers.groupby(["cell", "question_id"], sort=False)["right"].max().rename("score").reset_index()
    paths = folder / "scores.csv", folder / "said.csv"
    scores.assign(replicate=1).to_csv(paths[0], index=False)
    answers.to_csv(paths[1], index=False)
    return paths


def _judged(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, str]:
    """The verdict of each claim."""
    assert main(["compare", *words, "--to", "calm", "--draws", "999", "--json"]) == 0
    lines = map(json.loads, capsys.readouterr().out.splitlines())
    return {line["claim"]: line["verdict"] for line in lines if "claim" in line}


def test_claims_about_confidences_and_agents_on_any_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores, answers = _made(tmp_path)
    claims = ["ece(calm) < ece(bold)", "brier(bold, agent=ann) > brier(calm, agent=ann)"]
    words = [word for claim in claims for word in ("--claim", claim)]
    found = _judged(capsys, str(scores), "--answers", str(answers), *words)
    assert found == dict.fromkeys(claims, "supported")
    same = "auroc(calm) == 0.5 +- 0.1"  # of answers that are all as confident nothing can be said
    assert _judged(capsys, str(scores), "--answers", str(answers), "--claim", same) == {same: "undecided"}


def test_an_experiments_folder_has_its_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, answers = _made(tmp_path)
    for cell, rows in pd.read_csv(answers).groupby("cell"):
        part = tmp_path / "parts" / "data" / str(cell)
        part.mkdir(parents=True)
        rows.to_csv(part / "answers.csv", index=False)
    claim = "ece(calm) < ece(bold)"
    assert _judged(capsys, str(tmp_path), "--claim", claim) == {claim: "supported"}


def test_without_answers_the_error_says_how_to_give_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores, _ = _made(tmp_path)
    assert main(["compare", str(scores), "--to", "calm", "--claim", "ece(calm) < ece(bold)"]) == 2
    said = capsys.readouterr().err
    assert "scores.csv: ece(calm) needs every answer and confidence, which scores do not hold" in said
    assert "--answers FILE: a table of answers has the columns cell, question_id, right, stated" in said


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("stated", "60", "row 2: stated is 60, which is not a number from 0 to 1\n    confidences are shares: 0.6 for"),
        ("right", "yes", "row 2: right is 'yes', which is not a number from 0 to 1"),
        ("right", "", "row 2: right is empty"),
        ("cell", "", "row 2: cell is empty"),
        ("round", "-1", "row 2: round is -1, which is not a number of at least 0"),
    ],
)
def test_a_wrong_value_is_named_with_its_row(tmp_path: Path, column: str, value: str, message: str) -> None:
    rows = pd.DataFrame({"cell": "a", "question_id": ["1", "2"], "right": "1", "stated": "0.5", "round": "0"})
    rows.loc[1, column] = value
    rows.to_csv(tmp_path / "said.csv", index=False)
    with pytest.raises(DataError, match=message):
        read_answers([tmp_path / "said.csv"], as_said=False)


def test_what_agents_said_is_clipped_and_no_mistake(tmp_path: Path) -> None:
    """An agent that says 95 is as sure as can be; its own table keeps what it said."""
    rows = pd.DataFrame({"cell": "a", "question_id": ["1", "2"], "right": [1, 0], "stated": [95.0, -1.0]})
    rows.to_csv(tmp_path / "answers.csv", index=False)
    assert read_answers([tmp_path / "answers.csv"])["stated"].tolist() == [95, -1]
    scores = score_table(pd.DataFrame({"cell": "a", "replicate": 1, "question_id": ["1", "2"], "score": [1, 0]}))
    found = evaluate_claims(with_answers(scores, [tmp_path / "answers.csv"]), ["brier(a) < 0.5"], seed=1, draws=99)
    assert found["estimate"][0] == 0


def test_a_table_without_columns_or_datasets_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "said.csv"
    path.write_text("cell,question_id,right\na,1,1\n")
    with pytest.raises(DataError, match="no column stated; a table of answers has the columns cell, question_id"):
        read_answers([path])
    path.write_text("cell,question_id,right,stated\na,1,1,0.5\n")
    two = pd.DataFrame({"dataset": ["x", "y"], "cell": "a", "replicate": 1, "question_id": "1", "score": 1})
    with pytest.raises(DataError, match="no column dataset, and the scores table has x, y"):
        with_answers(score_table(two), [path])


def test_answers_to_other_questions_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores, answers = _made(tmp_path, 20)
    frame = pd.read_csv(answers)
    frame.assign(question_id="x" + frame["question_id"]).to_csv(answers, index=False)
    words = ["compare", str(scores), "--answers", str(answers), "--to", "calm", "--claim", "ece(bold) < 0.2"]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "no answer of bold on data belongs to its questions: answers are to 'xq0' ..., scores of 'q0' ..." in said


def test_a_claim_that_cannot_be_tested_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Brier scores of all agents are worked out of answers where scores have no column; half of them is a gap."""
    scores, answers = _made(tmp_path, 20)
    frame, claim = pd.read_csv(answers), "brier(calm) < brier(bold)"
    words = ["compare", str(scores), "--answers", str(answers), "--to", "calm", "--draws", "99", "--claim", claim]
    assert main([*words, "--json"]) == 0
    (row,) = [one for one in map(json.loads, capsys.readouterr().out.splitlines()) if "claim" in one]
    each = ((frame["stated"] - frame["right"]) ** 2).groupby(frame["cell"]).mean()
    assert row["estimate"] == pytest.approx(each["calm"] - each["bold"])
    frame[frame["question_id"] != "q3"].to_csv(answers, index=False)
    assert main(words) == 0
    assert "Not tested: calm lacks 1 of 20 values of brier." in " ".join(capsys.readouterr().out.split())


def test_a_round_that_no_debate_reached_leaves_a_claim_of_an_experiment_undecided(tmp_path: Path) -> None:
    """All agreed before it: the verdicts on the other claims were lost with the error that this once was."""
    scores, answers = (pd.read_csv(path) for path in _made(tmp_path, 30))
    answers.to_csv(tmp_path / "answers.csv", index=False)
    table = with_answers(score_table(scores), [tmp_path / "answers.csv"])
    claims = ["ece(bold, round=2) > ece(calm, round=2)", "ece(bold) > ece(calm)"]
    with pytest.raises(DataError, match="no answer of bold on data in round 2; rounds 0 to 0"):
        evaluate_claims(table, claims, seed=1, draws=99)
    found = evaluate_claims(table, claims, seed=1, draws=99, finished=True)
    assert found["verdict"][0] == "undecided"
    assert found["test"][0].endswith("no answer of bold on data in round 2; rounds 0 to 0")
    assert found["p_adjusted"][1] == 2 * found["p"][1], "it still counts in the family"


def test_an_agent_of_a_table_without_agents_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores, answers = _made(tmp_path)
    pd.read_csv(answers).drop_duplicates(["cell", "question_id"]).drop(columns="agent").to_csv(answers, index=False)
    claim = "brier(calm, agent=ann) < brier(bold, agent=ann)"
    assert main(["compare", str(scores), "--answers", str(answers), "--to", "calm", "--claim", claim]) == 2
    assert "no agent 'ann' on data; it has none: its table of answers has no column agent" in capsys.readouterr().err
