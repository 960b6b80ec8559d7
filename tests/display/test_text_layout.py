"""Wrapped text: words that belong together stay on one line."""

from __future__ import annotations

import pytest

from cortexdsl.text_layout import wrapped


def test_a_no_break_space_holds_words_together_and_is_printed_as_a_space(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert wrapped("100 questions of arithmetic, 1 replicate, seed\xa07") == [
        "100 questions of arithmetic, 1",
        "replicate, seed 7",
    ]
    assert wrapped("100 questions of arithmetics, replicate seed\xa07") == [
        "100 questions of arithmetics, replicate",
        "seed 7",
    ]
