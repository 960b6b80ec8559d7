"""What the explorer shows first: figures carry the unit in which the report writes them."""

from __future__ import annotations

from cortexdsl.view.opened import Opened
from cortexdsl.view.pages.overview import overview


def test_metrics_and_verdicts_carry_their_unit(opened: Opened) -> None:
    """Accuracy is a share of 1; the claim of the made experiment is a difference of accuracies."""
    shown = overview(opened.place)
    assert {row["metric"]: row["unit"] for row in shown["metrics"]}["accuracy"] == "share"
    assert {row["unit"] for row in shown["metrics"] if row["metric"].endswith("tokens")} <= {"number"}
    assert [row["unit"] for row in shown["verdicts"]] == ["points"]


def test_a_claim_that_cannot_be_read_is_shown_as_a_plain_number(opened: Opened) -> None:
    """Results of another program or version."""
    (opened.place.root / "hypotheses.csv").write_text("claim,estimate,verdict\nno claim of ours,0.1,undecided\n")
    assert overview(opened.place)["verdicts"][0]["unit"] == "number"
