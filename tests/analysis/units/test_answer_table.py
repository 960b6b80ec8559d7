"""Claims about confidences and single agents on tables of any program: the answers are given beside the scores."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cortexdsl.analysis.claims.hypotheses import judge_claims
from cortexdsl.analysis.units.answer_table import read_answers, with_answers
from cortexdsl.analysis.units.table import score_table
from cortexdsl.cli.main import main
from cortexdsl.errors import DataError


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
        ("stated", "60", "row 2: stated is 60, which is no number from 0 to 1\n    confidences are shares: 0.6 for"),
        ("right", "yes", "row 2: right is 'yes', which is no number from 0 to 1"),
        ("right", "", "row 2: right is empty"),
        ("cell", "", "row 2: cell is empty"),
        ("round", "-1", "row 2: round is -1, which is no number of at least 0"),
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
    found = judge_claims(with_answers(scores, [tmp_path / "answers.csv"]), ["brier(a) < 0.5"], seed=1, draws=99)
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
    assert "no answer of bold on data is one to its questions: answers are to 'xq0' ..., scores of 'q0' ..." in said


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
    assert f"{claim}: Not tested: calm lacks 1 of 20 values of brier." in " ".join(capsys.readouterr().out.split())


def test_a_round_that_no_debate_reached_leaves_a_claim_of_an_experiment_undecided(tmp_path: Path) -> None:
    """All agreed before it: the verdicts on the other claims were lost with the error that this once was."""
    scores, answers = (pd.read_csv(path) for path in _made(tmp_path, 30))
    answers.to_csv(tmp_path / "answers.csv", index=False)
    table = with_answers(score_table(scores), [tmp_path / "answers.csv"])
    claims = ["ece(bold, round=2) > ece(calm, round=2)", "ece(bold) > ece(calm)"]
    with pytest.raises(DataError, match="no answer of bold on data in round 2; rounds 0 to 0"):
        judge_claims(table, claims, seed=1, draws=99)
    found = judge_claims(table, claims, seed=1, draws=99, finished=True)
    assert found["verdict"][0] == "undecided"
    assert found["test"][0].endswith("no answer of bold on data in round 2; rounds 0 to 0")
    assert found["p_adjusted"][1] == 2 * found["p"][1], "it still counts in the family"


def test_an_agent_of_a_table_without_agents_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores, answers = _made(tmp_path)
    pd.read_csv(answers).drop_duplicates(["cell", "question_id"]).drop(columns="agent").to_csv(answers, index=False)
    claim = "brier(calm, agent=ann) < brier(bold, agent=ann)"
    assert main(["compare", str(scores), "--answers", str(answers), "--to", "calm", "--claim", claim]) == 2
    assert "no agent 'ann' on data; it has none: its table of answers has no column agent" in capsys.readouterr().err
