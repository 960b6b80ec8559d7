"""Several experiments pooled: against the meta-analysis by hand, and what readers are told."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cortexdsl.analysis.tests.experiments import POOLED, pool_experiments
from cortexdsl.analysis.tests.random_effects import pool_crossed, pool_separate
from cortexdsl.analysis.units.table import score_table
from cortexdsl.cli.main import main
from tests.analysis.tables import long_table


def _experiment(seed: int, questions: int = 40, prefix: str = "") -> pd.DataFrame:
    random = np.random.default_rng(seed)
    values = {"a": random.normal(1, 1, (1, questions)), "b": random.normal(0.4, 1, (1, questions))}
    frame = long_table(values, "tokens")
    return frame.assign(question_id=prefix + frame["question_id"])


def _differences(frame: pd.DataFrame) -> np.ndarray:
    by = frame.pivot_table(index="question_id", columns="cell", values="tokens", sort=False)
    return (by["a"] - by["b"]).to_numpy()


def test_experiments_with_questions_of_their_own_are_a_meta_analysis() -> None:
    """Estimates and standard errors worked out from the differences, pooled by the meta-analysis of groups."""
    frames = [_experiment(seed, 30 + 10 * seed, f"e{seed}-") for seed in range(4)]
    found = pool_experiments({f"e{k}": score_table(f) for k, f in enumerate(frames)}, ["a"], "b", ["tokens"])
    by_hand = [_differences(frame) for frame in frames]
    pooled = pool_separate([d.mean() for d in by_hand], [d.std(ddof=1) / len(d) ** 0.5 for d in by_hand])
    row = found[found["experiment"] == POOLED].iloc[0]
    assert row["difference"] == pytest.approx(pooled.estimate)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(pooled.interval())
    assert row["between"] == pytest.approx(pooled.between)
    assert row["n_questions"] == 30 + 40 + 50 + 60
    assert "share questions" not in row["note"]
    assert list(found["experiment"]) == ["e0", "e1", "e2", "e3", POOLED]
    assert found["difference"][0] == pytest.approx(by_hand[0].mean())


def test_experiments_on_the_same_questions_are_crossed() -> None:
    """Three runs of the same forty questions: the questions count once, as in a two-way layout."""
    frames = [_experiment(seed) for seed in range(3)]
    found = pool_experiments({f"e{k}": score_table(f) for k, f in enumerate(frames)}, ["a"], "b", ["tokens"])
    pooled = pool_crossed(np.stack([_differences(frame) for frame in frames]))
    row = found.iloc[-1]
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(pooled.interval())
    assert "the same questions, which count once" in row["note"]


def test_some_questions_in_common_are_said() -> None:
    frames = [_experiment(0), _experiment(1, 50), _experiment(2, 40, "other-")]
    found = pool_experiments({f"e{k}": score_table(f) for k, f in enumerate(frames)}, ["a"], "b", ["tokens"])
    assert "some share questions" in found.iloc[-1]["note"]


def test_the_command_line_pools_tables_and_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = []
    for seed in range(3):
        folder = tmp_path / f"e{seed}"
        folder.mkdir()
        _experiment(seed, prefix=f"{seed}-").to_csv(folder / "scores.csv", index=False)
        paths.append(str(folder) if seed else str(folder / "scores.csv"))
    ask = ["compare", *paths, "--to", "b", "--metric", "tokens"]
    assert main([*ask, "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["experiment"] for row in rows] == [*paths, POOLED]
    assert main(ask) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "over 3 experiments as draws from experiments like these" in out
    assert "with only 3" in out


def test_what_cannot_be_pooled_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "scores.csv"
    _experiment(0).to_csv(path, index=False)
    _experiment(1).to_csv(tmp_path / "other.csv", index=False)
    two = ["compare", str(path), str(tmp_path / "other.csv"), "--to", "b", "--metric", "tokens"]
    for ask, said in (
        (two, "at least 3"),
        ([*two, "--claim", "accuracy(a) > accuracy(b)"], "about one experiment"),
        (["compare", str(path), str(path), "--to", "b"], "named twice"),
    ):
        assert main(ask) == 2
        assert said in capsys.readouterr().err
