"""Replies written in the manner of models, with labels: answer lines, other agents, numbers, verdicts, reasoning."""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.tasks.grading.math import equivalent
from cortexdsl.tasks.reading.kinds import kind_named
from cortexdsl.tasks.reading.reader import AnswerReader

CASES = Path(__file__).parents[2] / "cases"
KNOWN_ERRORS = {"written": {15, 57, 65, 183, 193, 258}, "held_out": {7}}
"""Lines of each file that are not read as labelled: they stay unreadable, but for two alternatives and a cut reply."""


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(json.loads(line), id=f"{name}-{number}")
        for name, known_errors in KNOWN_ERRORS.items()
        for number, line in enumerate((CASES / f"{name}_replies.jsonl").read_text(encoding="utf-8").splitlines(), 1)
        if number not in known_errors
    ],
)
def test_a_reply_is_read_as_its_label_says(case: dict[str, Any]) -> None:
    """The labels were written with the replies, by hand."""
    options = tuple(zip(string.ascii_uppercase, case.get("options", ()), strict=False))
    kind = kind_named(case["kind"], options, decimal=case.get("decimal", "."))
    reader = AnswerReader(kind, agents=tuple(case.get("agents", ())))
    answer, label = reader.lenient(case["reply"]).value, case["answer"]
    if case["kind"] == "expression" and answer and label:
        assert equivalent([(label, answer)]) == [True]
    else:
        assert answer == ((label and kind.canonical(label)) or label)
