"""Words note that they were written out, however they were cut first, and not that they were looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cortexdsl.debate.talk.words import Words


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        (str, "a b"), (repr, "'a b'"), (lambda w: f"{w:>5}", "  a b"), (lambda w: "say " + w + "!", "say a b!"),
        (lambda w: w[2:], "b"), (lambda w: w * 2, "a ba b"), (lambda w: 2 * w, "a ba b"),
        (lambda w: w.upper(), "A B"), (lambda w: w.replace("a", "c"), "c b"), (lambda w: w.split()[1], "b"),
        (lambda w: w.splitlines()[0], "a b"), (lambda w: w.rsplit(" ", 1)[0], "a"), (lambda w: w.strip("a "), "b"),
    ],
)  # fmt: skip
def test_what_was_made_from_words_notes_that_it_is_written(use: Callable[[Words], Any], expected: str) -> None:
    seen: list[bool] = []
    made = use(Words("a b", lambda: seen.append(True)))
    assert str(made) == expected
    assert seen


@pytest.mark.parametrize(
    "use", [len, lambda w: w == "a b", lambda w: "a" in w, lambda w: w.find("b"), lambda w: w.startswith("a"), bool]
)
def test_looking_at_words_is_no_showing(use: Callable[[Words], Any]) -> None:
    seen: list[bool] = []
    assert use(Words("a b", lambda: seen.append(True)))
    assert not seen
