"""Columns of tables that other programs wrote: which direction is better, and whether they are shares."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cortexdsl.claims.parser import parse_claim
from cortexdsl.cli.main import main
from cortexdsl.core.columns import column_metric, described_columns
from cortexdsl.errors import SpecError


@pytest.fixture
def table(tmp_path: Path) -> str:
    """`sparse` has better scores than `full` with 30 % of its tokens, and a smaller `zeal`."""
    draws = np.random.default_rng(0)
    rows = []
    for cell, share, tokens in (("sparse", 0.9, 120.0), ("full", 0.5, 400.0)):
        values = {"score": (draws.random(200) < share).astype(float), "tokens": draws.normal(tokens, 20, 200)}
        values |= {"zeal": values["tokens"] / 100, "error": 100 * (1 - values["score"])}
        rows.append(
            pd.DataFrame({"cell": cell, "question_id": [f"q{k}" for k in range(200)], "replicate": 1, **values})
        )
    path = tmp_path / "scores.csv"
    pd.concat(rows).to_csv(path, index=False)
    return str(path)


def said(capsys: pytest.CaptureFixture[str], table: str, *options: str) -> str:
    """What `compare` prints, on one line."""
    assert main(["compare", table, "--to", "full", "--draws", "99", *options]) == 0
    return " ".join(capsys.readouterr().out.split())


def test_fewer_tokens_are_better(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, table, "--most", "tokens=500", "--claim", "sparse on front of score, tokens")
    assert "SUPPORTED: " in text
    assert "tokens: lower is better, by its name" in text


def test_numbers_that_are_no_shares_are_not_percent_points(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Means of 120 and 400 tokens differ by 280, and of `error`, in percent here, by about 40: not by 28,000 points."""
    claims = ("--claim", "tokens(sparse) < tokens(full)", "--claim", "error(sparse) < error(full)")
    text = said(capsys, table, *claims, "--correction", "none")
    minus = "\N{MINUS SIGN}"
    assert f"[{minus}285, {minus}276]" in text
    assert f"[{minus}49.4, {minus}32.3]" in text


@pytest.mark.parametrize("claim", ["sparse on front of score, zeal"])
def test_the_direction_of_an_unknown_column_is_asked_for(
    claim: str, table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", table, "--to", "full", "--claim", claim]) == 2
    problem = capsys.readouterr().err
    assert "which direction of zeal is better is not known" in problem
    assert "--lower zeal or --higher zeal" in problem
    assert "SUPPORTED: " in said(capsys, table, "--lower", "zeal", "--most", "zeal=5", "--claim", claim)


def test_a_misspelt_metric_is_recognised() -> None:
    with pytest.raises(SpecError, match=r"acuracy is better is not known\n.*did you mean accuracy"):
        parse_claim("a on front of acuracy, input_tokens")


def test_a_column_has_one_direction_and_a_metric_its_own(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", table, "--to", "full", "--lower", "zeal", "--higher", "zeal"]) == 2
    assert "zeal is both --lower and --higher" in capsys.readouterr().err
    assert main(["compare", table, "--to", "full", "--lower", "score"]) == 2
    assert "score is a metric whose better direction is known: higher" in capsys.readouterr().err
    assert main(["compare", table, "--to", "full", "--lower", "seal"]) == 2
    assert "no metric 'seal'; did you mean 'zeal'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "better", "unit"),
    [
        ("tokens", "lower", "ratio"), ("total_cost", "lower", "ratio"), ("wall_seconds", "lower", "ratio"),
        ("API-latency", "lower", "ratio"), ("val_loss", "lower", "ratio"), ("perplexity", "lower", "ratio"),
        ("test_error_rate", "lower", "share"), ("my_score", "neither", "ratio"), ("exact_match", "higher", "share"),
        ("macro_f1", "higher", "share"), ("accuracy_loss", "neither", "ratio"), ("tokens_saved", "neither", "ratio"),
        ("tokens_per_second", "neither", "ratio"), ("zeal", "neither", "ratio"), ("rate", "neither", "ratio"),
    ],
)  # fmt: skip
def test_a_column_is_known_only_if_every_word_of_its_name_is(name: str, better: str, unit: str) -> None:
    """`tokens_saved` is no number of tokens to keep small, and `accuracy_loss` has words of both directions."""
    metric = column_metric(name)
    assert (metric.better, metric.unit) == (better, unit)


def test_a_described_column_is_forgotten_afterwards() -> None:
    with described_columns(lower=["zeal"]):
        assert column_metric("zeal").better == "lower"
    assert column_metric("zeal").better == "neither"
