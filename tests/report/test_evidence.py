"""One plain sentence a verdict: each form of claim says what chance would do, and what else a reader needs."""

from __future__ import annotations

import pytest

from cortexdsl.core import StoppingRule
from cortexdsl.plan.record import PlanRecord
from cortexdsl.report.data import ReportData
from cortexdsl.report.phrasing.claims import answer, details_in_words, with_shared_notes
from cortexdsl.report.phrasing.comparisons import claims_decided, intervals
from cortexdsl.report.phrasing.provenance import stopping_line
from cortexdsl.stats.tables.rows import ClaimRow
from tests.report.test_words import plain


def row(claim: str, p: float | None = 0.62, verdict: str = "undecided", **more: object) -> ClaimRow:
    values = {"test": "sign-flip exact", "note": "", **more}
    return ClaimRow(claim, -0.033, -0.12, 0.05, p, p, verdict, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "claim", ["accuracy(a) > accuracy(b) and calls(a) < calls(b)", "accuracy(a) > accuracy(every other)",
              "best keep of a is mean", "accuracy(a) > accuracy(b) on every dataset"],
)  # fmt: skip
def test_a_claim_of_several_parts_says_which_part_decides(claim: str) -> None:
    """A reader must know what the estimate is of, so it stands with the claim."""
    said = answer(row(claim, note="the part that decides is x, and the estimates favour 1 of 2 parts"))
    assert said.remarks == "The part that decides is x, and the estimates favour 1 of 2 parts."


@pytest.mark.parametrize("words", ["the part that decides is", "holds only if every part does: the weakest is"])
def test_the_estimate_of_several_parts_is_in_the_units_of_the_part_that_decides(words: str) -> None:
    """-0.033 is 3.3 points of accuracy; tables of 0.2.0 say it in other words."""
    note = f"{words} accuracy(a) > accuracy(b), and the estimates favour 1 of 2 parts"
    shown = answer(row("accuracy(a) > accuracy(b) and calls(a) < calls(b)", note=note)).finding
    assert plain(shown) == "-3.3 points [-12.0, +5.0], p = .620"


def test_an_undecided_verdict_says_where_the_estimate_lies_and_how_many_questions_would_do() -> None:
    said = answer(
        row("accuracy(a) > accuracy(b)", leans="the estimate points against the claim", questions_needed=1234)
    )
    assert plain(said.remarks) == ("The estimate points against the claim; about 1,200 questions would decide it.")
    decided = answer(row("accuracy(a) > accuracy(b)", verdict="supported", questions_needed=1234))
    assert decided.remarks == ""


def test_verdicts_that_hold_at_any_time_say_so() -> None:
    assert "is at most .05, however often one looked." in claims_decided(".05", 2, "holm", is_anytime=True)


def test_what_was_not_tested_says_why() -> None:
    said = answer(row("accuracy(a) > accuracy(b)", None, note="not tested: no question differs"))
    assert said.remarks == "Not tested: no question differs."


def test_how_claims_were_tested_names_the_correction_if_there_is_one() -> None:
    assert "if its p, adjusted over 3 claims (holm), is at most .05." in claims_decided(".05", 3, "holm")
    assert "if its p, not corrected, is at most .05." in claims_decided(".05", 3, "none")
    assert "if its p is at most .05." in claims_decided(".05", 1, "holm")


def test_each_kind_of_interval_is_named() -> None:
    assert "right at once in 95 % of experiments (Bonferroni)" in plain(intervals(["holm"]))
    assert "at most 5 % of them miss" in plain(intervals(["bh"]))
    assert plain(intervals(["none"])) == "In a family without correction, a difference has its ordinary 95 % interval."


def test_a_long_note_of_several_claims_is_said_once() -> None:
    """With the numbers of its claims; a note of one claim, and a short one, stay with the claim."""
    long = "no bound of tokens is known, so one question of more than 8 times the mean could turn this"
    notes = [f"{long}; only here, and as long as the others are for readers", "not tested", f"not tested; {long}"]
    own, shared = with_shared_notes([answer(row("accuracy(a) > accuracy(b)", note=note)) for note in notes])
    assert shared == [f"Claims 1 and 3: {long}."]
    assert [said.remarks for said in own] == [
        "Only here, and as long as the others are for readers.", "Not tested.", "Not tested.",
    ]  # fmt: skip


def test_how_estimates_are_made_up_is_said_apart() -> None:
    """Equal details once, with the claims that have them."""
    mean = "mean over datasets, the estimate favours the claim on 1 of 2"
    notes = [f"corrected for 3 looks, each a chance to end the run: 0.01; {mean}", ""]
    notes.append(f"change per unit of k; means 1, 2; {mean}")
    said = [answer(row("accuracy(a) > accuracy(b)", note=note)) for note in notes]
    assert details_in_words(said) == [
        "Claim 1: corrected for 3 looks, each a chance to end the run: 0.01.",
        "Claims 1 and 3: mean over datasets, the estimate favours the claim on 1 of 2.",
        "Claim 3: change per unit of k.",
        "Claim 3: means 1, 2.",
    ]
    assert {one.remarks for one in said} == {""}


def test_an_experiment_that_used_all_questions_says_so() -> None:
    look = {
        "questions": {"d": 60},
        "planned": {"d": 60},
        "claims": [{"verdict": "undecided"}],
        "calls": 9,
        "calls_left": 0,
    }
    said = stopping_line(ReportData(PlanRecord(stopping=StoppingRule(30, 30, 0.05)), look=look))
    assert said.startswith("The experiment used 60 of 60 questions, with 0 of 1 claim decided; ")
    assert "about 0 calls (0 %) were not made" in plain(said)
