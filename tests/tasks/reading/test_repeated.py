"""Replies made to keep a reader busy: 20,000 characters of whatever a pattern could divide in many ways."""

from __future__ import annotations

import pytest

from cortexdsl.tasks.reading.kinds import kind_named
from cortexdsl.tasks.reading.reader import AnswerReader
from tests.fuzz.targets import within

REPEATED = (
    "(", "\\boxed{", "Answer: ", "not ", "1,", "1/", "9", "- ", "A) x - incorrect, ", "**", "\nAnswer:", " ", "\\frac{",
    "Agent 2 says ", "thirty-", "between 4 and ", "<think>", "10^", "[Agent 2] ", "if ", "\\{", "$", "=", "or ",
)  # fmt: skip
KINDS = ("number", "choice", "yesno", "expression", "text", "free")
SECONDS = 20.0  # of a machine with other work: each needs some hundredths; a pattern of squared cost would need minutes


@pytest.mark.parametrize("name", KINDS)
def test_no_reply_keeps_a_reader_busy(name: str) -> None:
    options = tuple((letter, f"option {letter}") for letter in "ABCD") if name == "choice" else ()
    reader = AnswerReader(kind_named(name, options))
    with within(SECONDS):
        for unit in REPEATED:
            text = unit * (20_000 // len(unit))
            for reply in (text, f"Answer: {text}", f"The answer is {text}x", f"{text}\nAnswer: 7"):
                reading = reader.read("answer", reply)
                assert (reading.value is None) == (reading.unparsed is not None)
