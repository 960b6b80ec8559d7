"""Notes beside verdicts: what was found, as a clause."""

from __future__ import annotations

import pytest

from cortexdsl.analysis.phrasing import doubtful_answers, joined, real_variation


@pytest.mark.parametrize(
    ("share", "said"),
    [(0.0, "almost none"), (0.1, "about a tenth"), (0.25, "about a quarter"), (0.33, "about a third"),
     (0.49, "about half"), (0.66, "about two thirds"), (0.75, "about three quarters"), (0.9, "about nine tenths"),
     (1.0, "almost all")],
)  # fmt: skip
def test_a_share_of_variation_is_a_fraction(share: float, said: str) -> None:
    assert real_variation(share) == said


def test_a_note_has_no_semicolon_of_its_own_and_no_full_stop() -> None:
    """Semicolons part notes in one cell of a table, and the report makes a sentence of each."""
    note = doubtful_answers(2, 3, "supported", "supported", "undecided")
    assert ";" not in note
    assert not note.endswith(".")
    assert joined("", note, "", "more") == f"{note}; more"
