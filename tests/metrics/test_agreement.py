"""How far a judge agrees with exact match, counted by hand."""

from __future__ import annotations

from cortexdsl.metrics.tables import agreement_rows

SAID = {("q1", "4"): True, ("q2", "5"): False, ("q3", "six"): True, ("q4", "?"): None}
EXACT = {("q1", "4"): True, ("q2", "5"): False, ("q3", "six"): False, ("q4", "?"): False, ("q5", "7"): True}


def test_each_different_answer_counts_once_in_its_cell_and_once_over_all() -> None:
    """Of three readable judgements two are "correct", one of them against exact match; one cannot be read."""
    own, other, together = agreement_rows("sums", {"a": SAID, "b": {("q5", "7"): True, ("q1", "4"): True}}, EXACT)
    assert [row["cell"] for row in (own, other, together)] == ["a", "b", "all"]
    assert (own["answers"], own["unread"], own["correct"], own["exact"]) == (4, 1, 2 / 3, 1 / 3)
    assert (own["agree"], own["judge_only"], own["exact_only"]) == (2 / 3, 1, 0)
    assert (together["answers"], together["unread"], together["correct"], together["exact"]) == (5, 1, 3 / 4, 2 / 4)


def test_what_cannot_be_computed_is_none() -> None:
    """No judgement that can be read; answers that are no short texts, so that nothing matches exactly."""
    (unread, _) = agreement_rows("sums", {"a": {("q4", "?"): None}}, EXACT)
    assert (unread["unread"], unread["correct"], unread["agree"]) == (1, None, None)
    (long, _) = agreement_rows("essays", {"a": {("q1", "text"): True}}, {})
    assert (long["correct"], long["exact"], long["kappa"]) == (1.0, None, None)
