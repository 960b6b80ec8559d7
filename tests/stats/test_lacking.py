"""What is missing is not left out in silence: confidences, and answers after earlier rounds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cortexdsl.cli.main import main


def write(folder: object, name: str, frame: pd.DataFrame) -> str:
    path = f"{folder}/{name}"
    frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("metric", ["ece", "auroc", "brier"])
@pytest.mark.parametrize(("lacking", "is_row_there"), [(0, True), (58, True), (58, False)])
def test_a_claim_on_confidences_is_not_made_if_some_are_missing(
    metric: str, lacking: int, is_row_there: bool, tmp_path: object, capsys: pytest.CaptureFixture[str]
) -> None:
    """All missing ones are on wrong answers of a: without them it would look much better than it is."""
    draws = np.random.default_rng(1)
    right = {cell: (draws.random(300) < 0.7).astype(float) for cell in "ab"}
    stated = {cell: np.where(right[cell] > 0, 0.9, draws.choice([0.2, 0.9], 300)) for cell in "ab"}
    wrong = np.flatnonzero(right["a"] == 0)[:lacking]
    stated["a"][wrong] = np.nan
    rows = {"cell": np.repeat(["a", "b"], 300), "question_id": [f"q{k}" for k in range(300)] * 2,
            "score": np.r_[right["a"], right["b"]], "replicate": 1}  # fmt: skip
    answers = pd.DataFrame({**rows, "right": rows["score"], "stated": np.r_[stated["a"], stated["b"]]})
    scores = write(tmp_path, "scores.csv", pd.DataFrame(rows))
    given = write(tmp_path, "answers.csv", answers if is_row_there else answers.dropna(subset="stated"))
    sign = ">" if metric == "auroc" else "<"
    claim = f"{metric}(a) {sign} {metric}(b)"
    assert main(["compare", scores, "--answers", given, "--to", "b", "--claim", claim, "--draws", "99"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert (f"Not tested: a lacks 58 of 300 values of {metric}" in said) is bool(lacking), said


@pytest.mark.parametrize("metric", ["ece_debate", "auroc_debate"])
@pytest.mark.parametrize("lacking", [0, 58])
def test_the_same_holds_for_the_confidence_of_debates(
    metric: str, lacking: int, tmp_path: object, capsys: pytest.CaptureFixture[str]
) -> None:
    """All missing ones are on wrong debates of a."""
    draws = np.random.default_rng(1)
    score = (draws.random(600) < 0.7).astype(float)
    sure = np.where(score > 0, 0.9, draws.choice([0.2, 0.9], 600))
    sure[np.flatnonzero(score[:300] == 0)[:lacking]] = np.nan
    rows = {"cell": np.repeat(["a", "b"], 300), "question_id": [f"q{k}" for k in range(300)] * 2, "score": score,
            "debate_confidence": sure, "replicate": 1}  # fmt: skip
    scores = write(tmp_path, "scores.csv", pd.DataFrame(rows))
    claim = f"{metric}(a) < {metric}(b)"
    assert main(["compare", scores, "--to", "b", "--claim", claim, "--draws", "99"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert (f"Not tested: a lacks 58 of 300 values of {metric}" in said) is bool(lacking), said


@pytest.mark.parametrize("lacking", [0, 3])
def test_a_comparison_that_was_not_made_says_why(
    lacking: int, tmp_path: object, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its row has no numbers; the reason stands below the table, without --how."""
    draws = np.random.default_rng(1)
    rows = {"cell": np.repeat(["a", "b"], 30), "question_id": [f"q{k}" for k in range(30)] * 2,
            "hops": draws.integers(1, 9, 60), "replicate": 1}  # fmt: skip
    table = write(tmp_path, "hops.csv", pd.DataFrame(rows).iloc[: 60 - lacking])
    assert main(["compare", table, "--to", "a", "--metric", "hops", "--lower", "hops"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert ("b, hops, data: not tested: b lacks 3 of 30 values of hops." in said) is bool(lacking), said
    assert ("3 are in one of them alone" in said) is bool(lacking), said
