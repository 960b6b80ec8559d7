"""Evidence at any time: fair games by enumeration, values by hand, and where an experiment stops."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from cortexdsl.analysis.sequential.betting import (
    BETS,
    anytime_p,
    confidence_sequence,
    evidence_above,
    evidence_below,
    sign_evidence,
)
from cortexdsl.analysis.sequential.sequential import judge_anytime, stopping_point
from cortexdsl.cli.main import main
from cortexdsl.errors import InputError
from tests.analysis.tables import long_table


def test_the_game_is_fair() -> None:
    """Over all sign patterns of ten differences the mean e-value is 1, at every time; by signs too, at most."""
    patterns = np.array(list(product([-1.0, 1.0], repeat=10)))
    bets = np.exp([evidence_above(row, 0.0, -1.0) for row in patterns])
    assert bets.mean(axis=0) == pytest.approx(np.ones(10))
    signs = np.exp([sign_evidence(row) for row in patterns])
    assert (signs.mean(axis=0) <= 1 + 1e-9).all()


def test_one_bet_by_hand() -> None:
    """A difference of 1 multiplies a stake of bet b by 1 + b; a first win by sign is worth 4 * 3/8 = 1.5."""
    assert np.exp(evidence_above(np.array([1.0]), 0.0, -1.0)[0]) == pytest.approx(np.mean(1 + BETS))
    assert np.exp(sign_evidence(np.array([3.0]))[0]) == pytest.approx(1.5)
    assert np.exp(sign_evidence(np.array([0.0]))[0]) == pytest.approx(1.0)


def test_below_is_above_turned_round() -> None:
    values = np.array([0.3, -0.5, 0.1])
    assert evidence_below(values, 0.2, 1.0) == pytest.approx(evidence_above(-values, -0.2, -1.0))


def test_p_remembers_the_largest_evidence() -> None:
    assert anytime_p(np.log([1.0, 80.0, 2.0])) == pytest.approx(2 / 80)
    assert anytime_p(np.log([0.1])) == 1.0


def test_confidence_sequence_holds_the_mean_and_narrows() -> None:
    random = np.random.default_rng(0)
    values = random.choice([-1.0, 0.0, 1.0], 2000, p=[0.1, 0.7, 0.2])
    early, late = confidence_sequence(values[:200], -1, 1), confidence_sequence(values, -1, 1)
    assert early[0] <= late[0] <= 0.1 <= late[1] <= early[1]
    assert late[1] - late[0] < 0.12


def _table(gain: float, questions: int = 600) -> pd.DataFrame:
    random = np.random.default_rng(2)
    ability = random.uniform(0.2, 0.6, questions)
    frame = long_table(
        {c: (random.random((2, questions)) < ability + d).astype(float) for c, d in (("a", gain), ("b", 0))}
    )
    tokens = np.where(frame["cell"] == "a", 60.0, 100.0) * random.normal(1, 0.1, len(frame))
    return frame.assign(tokens=tokens, calls=np.where(frame["cell"] == "a", 3, 1))


def test_a_large_difference_stops_early_and_saves_calls() -> None:
    claims = ["accuracy(a) > accuracy(b)", "tokens(a) <= 0.7 * tokens(b)"]
    found = stopping_point(_table(0.3), claims, batch=50, fewest=50)
    assert found.verdicts["verdict"].tolist() == ["supported", "supported"]
    assert found.questions < 300
    assert found.saved == pytest.approx(1 - found.questions / 600)
    assert found.looks["decided"].iloc[-1] == 2
    assert (found.looks["decided"].iloc[:-1] < 2).all()


def test_no_difference_runs_to_the_end() -> None:
    found = stopping_point(_table(0.0), ["accuracy(a) > accuracy(b)"], batch=100)
    assert (found.questions, found.saved) == (600, 0)
    assert found.verdicts["verdict"].tolist() == ["undecided"]


def test_other_claims_at_any_time() -> None:
    frame = _table(0.3)
    claims = {
        "accuracy(a) == accuracy(b) +- 0.1": "contradicted",
        "accuracy(b) >= accuracy(a) - 0.05": "contradicted",
        "accuracy(a) > 0.5": "supported",
        "tokens(a) > tokens(b)": "contradicted",
    }
    found = judge_anytime(frame, list(claims), correction="none")
    assert found["verdict"].tolist() == list(claims.values())
    assert found["ci_low"][2] < found["estimate"][2] < found["ci_high"][2]
    grid = frame.replace({"cell": {"a": "s[rounds=2]", "b": "s[rounds=1]"}})
    found = judge_anytime(grid, ["accuracy(s[rounds]) increasing", "best rounds of s is 1"])
    assert found["verdict"].tolist() == ["supported", "contradicted"]


def test_equivalent_methods_are_shown_equivalent() -> None:
    """Discordant on 6 % of 1,500 questions, three points each way: within eight points at any time."""
    first = np.tile([1.0] * 50 + [0.0] * 50, 15)
    second = first.copy()
    second[::33] = 1 - second[::33]
    found = judge_anytime(long_table({"a": first[None], "b": second[None]}), ["accuracy(a) == accuracy(b) +- 0.08"])
    assert found["verdict"][0] == "supported"


def test_what_cannot_be_stopped_on_is_refused() -> None:
    frame = _table(0.0, 20)
    with pytest.raises(InputError, match="holm or none"):
        judge_anytime(frame, ["accuracy(a) > accuracy(b)"], correction="bh")
    with pytest.raises(InputError, match="without declared clusters"):
        judge_anytime(frame.assign(cluster=frame["question_id"].str[:2]), ["accuracy(a) > accuracy(b)"])
    with pytest.raises(InputError, match="stopping needs a claim"):
        stopping_point(frame, [])


def test_stopping_on_the_command_line(tmp_path: object, capsys: pytest.CaptureFixture[str]) -> None:
    path = f"{tmp_path}/s.csv"
    _table(0.3).to_csv(path, index=False)
    assert main(["compare", path, "--to", "b", "--claim", "score(a) > score(b)", "--stopping", "100"]) == 0
    assert "stopping early: 1 of 1 claims are decided after" in capsys.readouterr().out
