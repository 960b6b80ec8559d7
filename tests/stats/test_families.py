"""Families of comparisons, and what missing answers could change."""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from cortexdsl.claims.cells import CellNames, find_cell
from cortexdsl.cli.main import main
from cortexdsl.core import Correction, Family
from cortexdsl.errors import InputError
from cortexdsl.stats.inference.accuracies import d_z, discordant_odds_ratio
from cortexdsl.stats.inference.families import (
    CORRECTIONS,
    adjust,
    compare_families,
    simultaneous_level,
)
from cortexdsl.stats.inference.paired import Paired
from cortexdsl.stats.tables.rows import ComparisonRow, columns_of_tests
from cortexdsl.stats.tables.score_table import absent_in_words
from tests.stats.tables import long_table, two_by_two

FOUR = [0.01, 0.04, 0.03, 0.005]


@pytest.mark.parametrize(
    ("correction", "expected"),
    [
        ("holm", [0.03, 0.06, 0.06, 0.02]),
        ("bh", [0.02, 0.04, 0.04, 0.02]),
        ("none", FOUR),
    ],
)
def test_corrections(correction: str, expected: list[float]) -> None:
    """R: p.adjust(c(.01, .04, .03, .005), method) for holm, BH."""
    assert adjust(FOUR, correction) == pytest.approx(expected, abs=1e-6)


def test_an_untested_comparison_stays_in_its_family() -> None:
    """What could not be tested was asked: Holm of (.01, .04) and a third, p = 1, is (3 x .01, 2 x .04)."""
    assert adjust([0.01, np.nan, 0.04]) == pytest.approx([0.03, np.nan, 0.08], nan_ok=True)
    with pytest.raises(InputError, match="there are holm"):
        adjust([0.1], "bonferroni")


def _three() -> pd.DataFrame:
    random = np.random.default_rng(0)
    ability = random.random(60)
    return long_table(
        {c: (random.random((3, 60)) < ability + d).astype(float) for c, d in [("a", 0), ("b", 0.2), ("c", 0)]}
    )


def test_columns_are_the_contract_and_holm_counts_every_row() -> None:
    frame = pd.concat([_three().assign(dataset=name, tokens=5.0) for name in ("x", "y")])
    frame.loc[frame.cell == "b", "tokens"] = 7.0
    found = compare_families(frame, [Family("f", ("b", "c"), "a")], ["accuracy", "tokens"], seed=1)
    assert list(found.columns) == columns_of_tests(ComparisonRow)
    assert list(found["dataset"]) == ["x", "x", "y", "y", "all", "all"] * 2
    assert found["p_adjusted"].to_numpy() == pytest.approx(adjust(found["p"].to_numpy()), nan_ok=True)
    assert found["test"].str.startswith("none").tolist() == [False] * 6 + [True] * 6  # tokens that never vary
    assert (found["n_questions"].to_numpy()[:6] == [60, 60, 60, 60, 120, 120]).all()
    assert found.iloc[6]["difference"] == pytest.approx(2)


def test_discordant_odds_ratio_with_one_replicate() -> None:
    found = compare_families(long_table(two_by_two(5, 6, 2, 1)), [Family("f", ("a",), "b")], ["score"], seed=1)
    row = found.iloc[0]
    assert (row["effect"], row["effect_size"], row["discordant"]) == ("odds_ratio", 3.0, 8)
    assert row["statistic"] == pytest.approx(4 / np.sqrt(8))


@pytest.mark.parametrize("count", [2, 7, 40])
def test_holm_is_that_of_statsmodels(count: int) -> None:
    p = np.random.default_rng(count).integers(0, 20, count) / 100
    assert adjust(p).tolist() == multipletests(p, method="holm")[1].tolist()


def test_effect_sizes_by_hand() -> None:
    """d_z of (1, 2, 3) is 2; two questions won and none lost count as 2.5 against 0.5."""
    assert d_z(np.array([1.0, 2.0, 3.0])) == pytest.approx(2)
    assert discordant_odds_ratio(np.array([1.0, 1.0, 0.0])) == pytest.approx(5)
    assert discordant_odds_ratio(np.zeros(3)) == 1
    assert d_z(np.zeros(3)) == 0


def test_a_metric_with_gaps_says_so_and_still_counts() -> None:
    frame = long_table(
        {"a": np.array([[1.0, 2, 3]]), "b": np.array([[2.0, np.nan, 4]]), "c": np.array([[3.0, 3, 3]])}, "t"
    )
    found = compare_families(frame, [Family("f", ("b", "c"), "a")], ["t"], seed=1)
    assert found.iloc[0]["test"] == "none: b lacks 1 of 3 values of t"
    assert np.isnan(found.iloc[0]["p"])
    assert found.iloc[1]["p_adjusted"] == pytest.approx(2 * found.iloc[1]["p"])


def test_names_are_cells_other_names_grid_points_or_methods() -> None:
    arms = [
        CellNames("sparse", "sparse", ("sparse[keep=mean, rounds=5]",)),
        CellNames("sparse[keep=top-3, rounds=5]", "sparse", (), {"keep": {"top": 3}, "rounds": 5}),
        CellNames("vote[agents=five]", "vote"),
    ]
    assert find_cell(arms, "sparse").cell == "sparse"
    assert find_cell(arms, "sparse[rounds=5,keep=mean]").cell == "sparse"
    assert find_cell(arms, "sparse[keep={top: 3}, rounds=5]").cell == "sparse[keep=top-3, rounds=5]"
    assert find_cell(arms, "vote").cell == "vote[agents=five]"
    with pytest.raises(InputError, match="nearest: sparse"):
        find_cell(arms, "spars")


def test_compare_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores, out = tmp_path / "scores.csv", tmp_path / "comparisons.csv"
    long_table(two_by_two(101, 121, 59, 33)).to_csv(scores, index=False)
    assert main(["compare", str(scores), "--to", "b", "--out", str(out), "--claim", "score(a) > score(b)"]) == 0
    assert "SUPPORTED: " in capsys.readouterr().out
    assert pd.read_csv(out)["test"][0] == "score (Tango)"
    assert main(["compare", str(scores), "--to", "b", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["discordant"] == 180
    assert main(["compare", str(scores), "--to", "d"]) == 2
    assert "no cell 'd'" in capsys.readouterr().err


def _noisy(cells: int, questions: int, seed: int = 3) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return long_table({name: (random.random((1, questions)) < 0.6).astype(float) for name in "abcdefgh"[:cells]})


def test_an_interval_reaches_0_exactly_where_its_own_p_is_above_alpha() -> None:
    """Four wins to none of 20 are significant, three are not."""
    for wins, inside in ((4, False), (3, True)):
        row = compare_families(long_table(two_by_two(9, wins, 0, 11 - wins)), [Family("f", ("a",), "b")], ["score"], 1)
        alone, p = row.iloc[0][["ci_low", "ci_high"]], row["p"][0]
        assert p == 2 * Paired(wins, 0, 20).sides(0.0)[0]
        assert (alone["ci_low"] <= 0 <= alone["ci_high"]) == inside == (p > 0.05)
        assert row["ci_low_simultaneous"][0] == alone["ci_low"]  # one comparison: together is alone


def test_simultaneous_intervals_are_bonferronis() -> None:
    """Of four comparisons each stands at 98.75 %: t of 399.5 degrees at 1 - .05 / 8 in place of 1 - .05 / 2."""
    frame = _noisy(5, 400)
    found = compare_families(frame, [Family("f", tuple("bcde"), "a")], ["score"], seed=1)
    one = compare_families(frame, [Family("f", ("b",), "a")], ["score"], seed=1)
    wide = found["ci_high_simultaneous"] - found["ci_low_simultaneous"]
    alone = found["ci_high"] - found["ci_low"]
    assert (wide / alone).to_numpy() == pytest.approx(stats.t.isf(0.05 / 8, 399.5) / stats.t.isf(0.05 / 2, 399.5))
    assert one["ci_low"][0] == one["ci_low_simultaneous"][0] == pytest.approx(found["ci_low"][0])


@pytest.mark.parametrize(
    ("correction", "level"),
    [("holm", 0.9875), ("none", 0.95), ("bh", 0.975)],
)
def test_levels_of_simultaneous_intervals(correction: str, level: float) -> None:
    """m = 4: Bonferroni 1 - .05 / 4; two found by BH: 1 - .05 x 2 / 4; one by BY: / (1 + 1/2 + 1/3 + 1/4)."""
    assert simultaneous_level([0.004, 0.02, 0.2, 0.7], correction) == pytest.approx(level)


def test_intervals_after_bh_leave_out_0_exactly_where_it_finds_something() -> None:
    """p <= r alpha / m of Benjamini and Hochberg is what their interval's level says (2005, section 4)."""
    random = np.random.default_rng(4)
    shifts = dict(zip("abcdef", (0, 0, 0, 0.12, 0.14, 0.2), strict=True))
    ability = random.uniform(0.2, 0.8, 300)
    frame = long_table({c: (random.random((2, 300)) < ability + d).astype(float) for c, d in shifts.items()})
    found = compare_families(frame, [Family("f", tuple("bcdef"), "a", "bh")], ["score"], seed=1)
    within = (found["ci_low_simultaneous"] <= 0) & (found["ci_high_simultaneous"] >= 0)
    assert 1 <= (~within).sum() <= 4
    assert list(within) == list(found["p_adjusted"] > 0.05)


def test_a_note_says_where_holm_finds_what_the_intervals_do_not() -> None:
    """p of .0001 and .030: Holm's second step leaves .030 as it is, Bonferroni's 97.5 % interval reaches 0."""
    values = {"a": np.zeros((1, 40)), "b": np.zeros((1, 40)), "c": np.zeros((1, 40))}
    values["b"][0, :12], values["c"][0, :5] = 1, 1
    found = compare_families(long_table(values), [Family("f", ("b", "c"), "a")], ["score"], seed=1).set_index("cell")
    assert found.loc["c", "p_adjusted"] == found.loc["c", "p"]
    assert 0.025 < found.loc["c", "p"] < 0.05
    assert found.loc["c", "ci_low_simultaneous"] <= 0
    assert "significant by the later steps of holm, although the interval for all" in found.loc["c", "note"]
    assert found.loc["b", "note"] == ""


@pytest.fixture
def unswept() -> Iterator[None]:
    """What lives already is not swept again and again: a table of pandas collects garbage whenever one is made."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("unswept")
def test_intervals_cover_all_at_once() -> None:
    """Three equal cells against a fourth, 120 experiments: some interval misses in at most 5 %, plus 4 points."""
    random, missed, told = np.random.default_rng(8), 0, 0
    for _ in range(120):
        ability = np.clip(random.beta(0.9, 0.5, 60) + 0.2 * random.normal(size=(4, 60)), 0, 1)
        frame = long_table({c: (random.random((1, 60)) < ability[i]).astype(float) for i, c in enumerate("abcd")})
        found = compare_families(frame, [Family("f", tuple("bcd"), "a")], ["score"], seed=1, draws=99)
        out = (found["ci_low_simultaneous"] > 0) | (found["ci_high_simultaneous"] < 0)
        missed += bool(out.any())
        told += bool((out & (found["p_adjusted"] > 0.05)).any())
    assert missed <= 0.09 * 120
    assert told == 0


def test_a_replicate_that_one_cell_lacks_altogether_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = _three()
    frame = frame[(frame["cell"] != "b") | (frame["replicate"] != 2)]
    found = compare_families(frame, [Family("f", ("b", "c"), "a")], ["score"], seed=1).set_index("cell")
    assert str(found.loc["b", "note"]).endswith("b has no replicate 2 on data")
    assert found.loc["c", "note"] == ""
    frame.to_csv(tmp_path / "scores.csv", index=False)
    assert main(["compare", str(tmp_path / "scores.csv"), "--to", "a"]) == 0
    assert "Whole replicates are missing: b on data lacks replicate 2." in capsys.readouterr().out
    assert "b on data lacks replicates 2, 3." in absent_in_words({("data", "b"): ("2", "3")})


def test_claims_on_the_command_line_have_its_correction_and_stand_in_its_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two claims of one p: adjusted by Holm they are twice that, without correction what they were."""
    _table = long_table(two_by_two(9, 6, 0, 5))
    _table.to_csv(tmp_path / "scores.csv", index=False)
    ask = ["compare", str(tmp_path / "scores.csv"), "--to", "b", "--json"]
    claims = ["--claim", "accuracy(a) > accuracy(b)", "--claim", "accuracy(b) < accuracy(a)"]
    own = 2 * Paired(6, 0, 20).sides(0.0)[0]
    for correction, p in (("holm", 2 * own), ("none", own)):
        assert main([*ask, *claims, "--correction", correction]) == 0
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [line.get("claim") for line in lines] == [None, claims[1], claims[3]]
        assert [line["p_adjusted"] for line in lines[1:]] == pytest.approx([p, p])
    assert main([*ask[:-1], *claims, "--correction", "none", "--how"]) == 0
    assert "if its p, not corrected, is at most .05." in " ".join(capsys.readouterr().out.split())


def test_what_is_printed_says_what_p_tests_and_which_interval_is_which(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _three().to_csv(tmp_path / "scores.csv", index=False)
    assert main(["compare", str(tmp_path / "scores.csv"), "--to", "a", "--how"]) == 0
    out = capsys.readouterr().out
    said = " ".join(out.split())
    assert "p says how often an estimate at least this far from the tested value would arise if that value were" in said
    assert "widened so that all of its family are right at once in 95 % of experiments" in said
    assert "Alone: the ordinary 95 % interval of one difference." in said


def test_one_comparison_has_one_interval_and_one_p(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With several, those of all together; --how adds those of each alone."""
    _three().to_csv(tmp_path / "scores.csv", index=False)
    ask = ["compare", str(tmp_path / "scores.csv"), "--to", "a"]
    heads = []
    for more in ([], ["--how"], ["--cells", "b"]):
        assert main([*ask, *more]) == 0
        lines = capsys.readouterr().out.splitlines()
        heads.append(next(line.split() for line in lines if line.split()[:1] == ["cell"]))
    several, every, one = heads
    interval = ["95", "%", "interval"]
    assert several == ["cell", "difference", *interval, "adjusted", "p", "discordant"]
    assert every == ["cell", "difference", *interval, "alone", "p", "adjusted", "p", "discordant"]
    assert one == ["cell", "difference", *interval, "p", "discordant"]


def test_the_table_of_differences_has_the_points_of_the_sentences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four questions won and two lost of twenty: 10 points in the table and in the sentence of the claim."""
    long_table(two_by_two(10, 4, 2, 4)).to_csv(tmp_path / "scores.csv", index=False)
    assert main(["compare", str(tmp_path / "scores.csv"), "--to", "b", "--claim", "score(a) > score(b)"]) == 0
    out = capsys.readouterr().out
    assert "metric: score (points)" in out
    row = next(line.split() for line in out.splitlines() if line.split()[:1] == ["a"])
    assert row[1] == "+10.0"
    assert "10.0 points" in out


def test_what_stands_beside_a_claim_is_printed_as_in_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On which side of its margin an undecided estimate lies, and how many questions would do."""
    long_table(two_by_two(8, 2, 1, 9)).to_csv(tmp_path / "scores.csv", index=False)
    assert main(["compare", str(tmp_path / "scores.csv"), "--to", "b", "--claim", "score(a) >= score(b) - 0.1"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert re.search(r"The estimate favours the claim; about [\d,]+ questions would decide it\.", said)


def test_a_table_is_refused_before_anything_is_computed_if_it_has_no_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The folder of `--out` is looked for first: tests may take minutes."""
    monkeypatch.chdir(tmp_path)
    assert main(["compare", "no-such-scores.csv", "--out", "none/c.csv"]) == 2
    assert "--out none/c.csv: its folder does not exist" in capsys.readouterr().err


def test_ids_of_changed_questions_are_printed_for_one_cell_or_with_how(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _three().to_csv(tmp_path / "scores.csv", index=False)
    ask = ["compare", str(tmp_path / "scores.csv"), "--to", "a"]
    for more, named in (([], False), (["--how"], True), (["--cells", "b"], True)):
        assert main([*ask, *more]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert bool(re.search(r"b against a, question by question: (higher|lower) on \d+ \(", said)) == named


def test_every_correction_of_the_language_has_a_method() -> None:
    assert {*CORRECTIONS, "none"} == set(get_args(Correction))
