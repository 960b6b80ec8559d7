"""Numbers and sentences are written one way."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from cortexdsl.claims.parser import parse_claim
from cortexdsl.numbers import Kind, difference, estimate, in_dollars, interval, number, p_clause, p_value
from cortexdsl.report.csv_rows import read_row
from cortexdsl.report.phrasing.claims import adjusted_interval, answer, claim_in_words
from cortexdsl.stats.tables.rows import ClaimRow


def plain(text: str) -> str:
    """Narrow and hard spaces and the minus sign as one types them."""
    return text.replace("\u202f", " ").replace("\u00a0", " ").replace("\u2212", "-")


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.0004, "< .001"),
        (0.001, ".001"),
        (0.0124, ".012"),
        (0.05, ".050"),
        (0.9999, "1"),
        (1.0, "1"),
        (None, "\u2013"),
        (float("nan"), "\u2013"),
    ],
)
def test_p_values_have_three_places_and_no_leading_zero(p: float | None, text: str) -> None:
    """The style of psychology journals (APA 7): `p = .012`, `p < .001`, never 0 and never e-notation."""
    assert p_value(p) == text


def test_a_p_value_in_a_sentence_has_its_sign() -> None:
    """`<` replaces the equals sign."""
    assert plain(p_clause(0.0001)) == "p < .001"
    assert plain(p_clause(0.2, "adjusted p")) == "adjusted p = .200"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0.00"), (0.00012, "0.000"), (0.0123, "0.012"), (0.4898, "0.490"), (3, "3.00"), (31.41, "31.4"),
        (99.96, "100.0"), (314.2, "314"), (-2561.4, "-2,561"), (1234567, "1,234,567"), (None, "\u2013"),
    ],
)  # fmt: skip
def test_numbers_have_about_three_digits(value: float | None, text: str) -> None:
    """Three significant digits, at most three decimals, thousands apart."""
    assert plain(number(value)) == text


def test_shares_are_percent_and_their_differences_points() -> None:
    """0.733 - 0.690 is 4.3 percentage points, not 4.3 percent."""
    assert plain(estimate(0.7333, "share")) == "73.3 %"
    assert plain(difference(0.0433, "share")) == "+4.3 points"
    assert plain(difference(-0.0433, "share")) == "-4.3 points"
    assert plain(difference(-0.0001, "share")) == "0.0 points"
    assert plain(interval(0.7, 0.8, "share")) == "[70.0, 80.0]"
    assert plain(interval(-0.01, 0.02, "share", signed=True)) == "[-1.0, +2.0]"
    assert interval(None, None, "share") == ""


def test_an_interval_shows_its_width_or_is_left_out() -> None:
    """[1,500, 1,500] says nothing: of equal numbers there is no interval, close ones get the digits that part them."""
    assert interval(1500.0, 1500.0, "number") == ""
    assert interval(123.96, 124.4, "number") == "[124.0, 124.4]"
    assert interval(0.50001, 0.50002, "share") == "[50.001, 50.002]"


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("accuracy(a) > accuracy(b)", "The accuracy of a is higher than that of b."),
        ("accuracy(a) < accuracy(b)", "The accuracy of a is lower than that of b."),
        ("accuracy(a) >= accuracy(b)", "The accuracy of a is no lower than that of b."),
        ("accuracy(a) >= accuracy(b) - 0.02", "The accuracy of a is at most 2 points below that of b."),
        (
            "judged(a) >= judged(b) - 0.1",
            "The judged correctness of a is at most 10 points below that of b.",
        ),
        ("accuracy(a) > accuracy(b) - 0.02", "The accuracy of a is less than 2 points below that of b."),
        ("accuracy(a) >= accuracy(b) + 0.01", "The accuracy of a is at least 1 point above that of b."),
        ("accuracy(a) <= accuracy(b) + 0.025", "The accuracy of a is at most 2.5 points above that of b."),
        ("accuracy(a) < accuracy(b) - 0.02", "The accuracy of a is more than 2 points below that of b."),
        ("accuracy(a) == accuracy(b) +- 0.05", "The accuracy of a is within 5 points of that of b."),
        (
            "input_tokens_per_agent(a) <= 0.7 * input_tokens_per_agent(b)",
            "The input tokens per agent of a are at most 0.7 times those of b.",
        ),
        ("accuracy(a) > 0.8 on math", "The accuracy of a is above 80 %, on math."),
        (
            "pair_accuracy(a) > 0.5",
            "The accuracy over both orders of a is above 50 %.",
        ),
        ("accuracy(a[rounds]) increasing", "The accuracy of a rises along rounds."),
        ("calls(a[rounds]) decreasing", "The calls per question of a fall along rounds."),
        ("best keep of a is mean", "Of all values of keep, mean gives a the highest accuracy."),
    ],
)
def test_claims_read_as_sentences(claim: str, words: str) -> None:
    """Each form of the claim language has a sentence that says what it says."""
    assert plain(claim_in_words(parse_claim(claim))) == words


@pytest.mark.parametrize(
    ("ends", "kind", "null", "text"),
    [
        ((-0.091, -0.0004), "share", 0.0, "[-9.1, -0.04]"),  # leaves out 0, and reads so
        ((-0.091, 0.0), "share", 0.0, "[-9.1, 0.0]"),
        ((-0.091, 0.0004), "share", 0.0, "[-9.1, +0.04]"),
        ((-0.02, 0.1), "share", -0.02, "[-2.0, +10.0]"),
        ((-0.01999, 0.1), "share", -0.02, "[-1.999, +10.0]"),
        ((-300.2, -0.00003), "number", 0.0, "[-300, -0.00003]"),
        ((1233.6, 1240.2), "number", 1234.0, "[+1,233.6, +1,240]"),
        ((-math.inf, math.inf), "number", 0.0, "[-\u221e, +\u221e]"),
    ],
)
def test_an_end_shows_on_which_side_of_the_tested_value_it_lies(
    ends: tuple[float, float], kind: Kind, null: float, text: str
) -> None:
    """One decimal would write -0.04 points as 0, and 1,233.6 as the 1,234 that was tested."""
    assert plain(interval(*ends, kind, signed=True, null=(null, null))) == text


def test_the_interval_beside_an_adjusted_p_is_the_one_that_decides() -> None:
    """Only if it differs from that of the claim alone; tables of earlier versions have none."""
    alone = ClaimRow("accuracy(a) > accuracy(b)", 0.1, 0.02, 0.18, 0.02, 0.04, "supported")
    row = replace(
        alone, test="score (Tango)", null="a difference of 0", ci_low_simultaneous=0.005, ci_high_simultaneous=0.195
    )
    assert plain(adjusted_interval(row)) == "[+0.5, +19.5]"
    assert plain(answer(row).finding) == "+10.0 points [+0.5, +19.5], adjusted p = .040"
    uncorrected = replace(row, p_adjusted=row.p)
    assert plain(answer(uncorrected).finding) == "+10.0 points [+2.0, +18.0], p = .020"
    assert adjusted_interval(alone) == ""
    cells = {name: "" if value is None else str(value) for name, value in asdict(row).items()}
    assert read_row(ClaimRow, cells, Path("hypotheses.csv")) == row
    assert adjusted_interval(replace(alone, ci_low_simultaneous=0.02, ci_high_simultaneous=0.18)) == ""
    ratio = ClaimRow("tokens(a) <= 0.9 * tokens(b)", 0.862, 0.851, 0.873, 0.02, 0.06, "undecided")
    ratio = replace(ratio, ci_low_simultaneous=0.84, ci_high_simultaneous=0.91)
    assert adjusted_interval(ratio) == "[0.840, 0.910]"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.00"),
        (0.004, "0.0040"),
        (0.00012, "0.0001"),
        (0.00000123, "1e-06"),
        (0.02, "0.02"),
        (1234.5, "1,234.50"),
    ],
)
def test_dollars_below_a_cent_are_not_shown_as_nothing(value: float, text: str) -> None:
    assert in_dollars(value) == text
