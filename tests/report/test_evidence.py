"""One plain sentence a verdict: each form of claim says what chance would do, and what else a reader needs."""

from __future__ import annotations

import pytest

from cortexdsl.report.frames import ClaimRow
from cortexdsl.report.phrasing.claims import answer, short_answer
from cortexdsl.report.phrasing.comparisons import claims_tested, intervals
from tests.report.test_words import plain


def row(claim: str, p: float | None = 0.62, verdict: str = "undecided", **more: object) -> ClaimRow:
    values = {"test": "sign-flip exact", "note": "", **more}
    return ClaimRow(claim, -0.033, -0.12, 0.05, p, p, verdict, False, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("accuracy(a) > accuracy(b)", "Were both equally accurate, a gap this large or larger"),
        ("input_tokens(a) < input_tokens(b)", "Were the input tokens per question equal, a gap this large or larger"),
        ("accuracy(a) >= accuracy(b) - 0.02", "Were the true difference exactly -2 points, an estimate this far"),
        ("accuracy(a) > 0.8", "Were the true value exactly 80 %, an estimate this far from it or farther"),
        ("calls(a) <= 0.7 * calls(b)", "Were the true ratio exactly 0.7, an estimate this far from it or farther"),
        ("accuracy(a) == accuracy(b) +- 0.05", "Were the true difference as large as 5 points, an estimate"),
        ("accuracy(a) == accuracy(b) +- 0.02", "Were the true difference within 2 points, an estimate this far"),
        ("accuracy(a[rounds]) increasing", "Without any trend, a slope this steep or steeper"),
        ("accuracy(a[keep, rounds]) interacting", "Without any interaction, differences this large or larger"),
        ("accuracy(a) - accuracy(b) > accuracy(c) - accuracy(d)", "Were both sides of the claim equal, a gap"),
    ],
)  # fmt: skip
def test_p_is_said_as_what_chance_would_do(claim: str, said: str) -> None:
    found = plain(answer(row(claim)).evidence)
    assert found.startswith(said)
    assert "would arise in 62 % of experiments." in found


@pytest.mark.parametrize(
    "claim", ["accuracy(a) > accuracy(b) and calls(a) < calls(b)", "accuracy(a) > accuracy(every other)",
              "best keep of a is mean", "accuracy(a) > accuracy(b) on every dataset"],
)  # fmt: skip
def test_a_claim_of_several_parts_says_which_part_decides_and_no_chance(claim: str) -> None:
    """The p of the weakest part is not how often chance would do as much for all."""
    note = "holds only if every part does: the weakest is x, and the estimates favour 1 of 2 parts"
    said = answer(row(claim, note=note))
    assert said.evidence == ""
    assert said.note == "Holds only if every part does: the weakest is x, and the estimates favour 1 of 2 parts."


def test_the_estimate_of_several_parts_is_in_the_units_of_the_part_that_decides() -> None:
    """-0.033 is 3.3 points of accuracy."""
    note = (
        "holds only if every part does: the weakest is accuracy(a) > accuracy(b), and the estimates favour 1 of 2 parts"
    )
    shown = answer(row("accuracy(a) > accuracy(b) and calls(a) < calls(b)", note=note)).finding
    assert plain(shown) == "-3.3 points [-12.0, +5.0], p = .620"


def test_an_undecided_verdict_says_where_the_estimate_lies_and_how_many_questions_would_do() -> None:
    said = answer(
        row("accuracy(a) > accuracy(b)", leans="the estimate points against the claim", questions_needed=1234)
    )
    assert plain(said.evidence) == (
        "Were both equally accurate, a gap this large or larger would arise in 62 % of experiments. The estimate "
        "points against the claim. About 1,200 questions would decide an effect of the estimated size in 80 % of "
        "experiments."
    )
    decided = answer(row("accuracy(a) > accuracy(b)", verdict="supported", questions_needed=1234))
    assert "questions" not in decided.evidence


@pytest.mark.parametrize(("p", "said"), [(0.00002, "fewer than 0.1 %"), (0.012, "1.2 %"), (0.0996, "10 %")])
def test_small_chances_have_two_digits(p: float, said: str) -> None:
    assert f"would arise in {said} of experiments." in plain(answer(row("accuracy(a) > accuracy(b)", p)).evidence)


def test_a_p_that_may_be_looked_at_any_time_is_a_bound() -> None:
    said = answer(row("accuracy(a) > accuracy(b)", test="e-process of the mean")).evidence
    assert "would arise in at most 62 % of experiments." in plain(said)
    assert "This holds however often one looked." in claims_tested(".05", 2, "holm", is_anytime=True)


def test_what_was_not_tested_says_why_and_nothing_of_chance() -> None:
    said = answer(row("accuracy(a) > accuracy(b)", None, note="not tested: no question differs"))
    assert (said.evidence, said.note) == ("", "Not tested: no question differs.")


def test_how_claims_were_tested_names_the_correction_if_there_is_one() -> None:
    assert "if its p, adjusted over 3 claims (holm), is at most .05 and" in claims_tested(".05", 3, "holm")
    for count, correction in ((1, "holm"), (3, "none")):
        assert "if its p is at most .05 and" in claims_tested(".05", count, correction)


def test_each_kind_of_interval_is_named() -> None:
    assert "right at once in 95 % of experiments (Bonferroni)" in plain(intervals(["holm"]))
    assert "at most 5 % of them miss" in plain(intervals(["bh"]))
    assert plain(intervals(["none"])) == "In a family without correction, a difference has its ordinary 95 % interval."


def test_the_answer_in_one_sentence() -> None:
    """Up to three claims are said; of more, how many have which verdict, and the first."""
    one = answer(row("accuracy(a) > accuracy(b)"))
    other = answer(row("accuracy(a) < accuracy(b)", 0.001, "supported"))
    assert short_answer([]) == ""
    assert plain(short_answer([one, other])) == (
        "It is undecided whether the accuracy of a is higher than that of b (-3.3 points); the results support that "
        "the accuracy of a is lower than that of b (-3.3 points)."
    )
    assert plain(short_answer([one, other, other, other])).startswith(
        "Of 4 claims 1 undecided, 3 supported; the first: it is undecided whether"
    )
