"""Mathematical equivalence: real and constructed pairs whose verdict is plain to a human reader."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from cortexdsl.tasks.grading import math
from cortexdsl.tasks.grading import math as grading
from cortexdsl.tasks.grading.math import equivalent
from cortexdsl.tasks.grading.metrics import grade_all
from cortexdsl.tasks.reading.kinds import kind_named
from cortexdsl.tasks.reading.reader import AnswerReader

READER = AnswerReader(kind_named("expression"))


def test_the_published_cases_of_a_peer(shared_data: Path) -> None:
    """33 (reply, gold, expected) cases of Inspect AI's tests, all as expected."""
    cases = json.loads((shared_data / "math_equivalence_cases.json").read_text(encoding="utf-8"))
    assert len(cases) == 33
    answers = [READER.lenient(case["output"]).value or "" for case in cases]
    verdicts = equivalent([(case["target"], answer) for case, answer in zip(cases, answers, strict=True)])
    wrong = [case for case, verdict in zip(cases, verdicts, strict=True) if verdict != (case["expected"] == "C")]
    assert not wrong


def test_every_official_solution_reads_as_its_own_gold(shared_data: Path) -> None:
    lines = (shared_data / "math500.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    cases = [("math", READER.lenient(row["solution"]).value, (row["answer"],), ()) for row in rows]
    assert grade_all(cases) == [1.0] * len(rows)


# math-verify 0.9 says yes to each of these (some only where they are parsed as plain text); we do not.
FALSE_POSITIVES = [
    ("3*x-1*y+13=0", "3x + 4y + 14=0"),
    (r"2\sqrt{3}", "3.4641016"),
    (r"\frac{\pi}{4}", "0.7853981"),
    ("1/3", "0.333333"),
    ("204_5", "204"),
    (r"(1,2)", r"\{1,2\}"),
    (r"\text{even}", "neve"),
]
EQUAL = [
    ("0.5", r"\frac12"),
    (r"\frac{1}{2}", "0.5"),
    (r"\sqrt{3} - 1", "-1 + sqrt(3)"),
    ("2**(1/4)", r"\sqrt{\sqrt{2}}"),
    ("3x-y+13=0", "6x-2y+26=0"),
    (r"\text{Navin}", "Navin"),
    ("x^2+2x+1", "(x+1)^2"),
    ("10", r"10\%"),
    ("-2,1", "1,-2"),
    (r"864 \mbox{ inches}^2", "864"),
    ("5", "x=5"),
]
DIFFERENT = [
    ("42", "43"),
    ("2^{2025}", "3^{2025}"),
    ("(1,2)", "(2,1)"),
    ("[1,2]", "(1,2)"),
    ("x+1", "y+1"),
    ("5", "5 or 6"),
    ("1", ""),
    ("1", r"\frac{"),
    ("1", "9" * 5000),
    ("58", "57.9999999"),
]


def test_known_false_positives_are_refused_and_equal_things_pass() -> None:
    assert equivalent(FALSE_POSITIVES) == [False] * len(FALSE_POSITIVES)
    assert equivalent(EQUAL) == [True] * len(EQUAL)
    assert equivalent(DIFFERENT) == [False] * len(DIFFERENT)


def test_a_worker_that_does_not_answer_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A comparison that never ends counts as not equal; the next one gets a fresh process."""
    monkeypatch.setattr(grading, "_START_SECONDS", 0.05)
    monkeypatch.setattr(grading, "COMMAND", [sys.executable, "-c", "import sys; sys.stdin.read()"])
    worker = grading._Worker()
    assert worker.verify("1", "2") is False
    assert worker._process is None
    monkeypatch.setattr(grading, "_START_SECONDS", 60)
    monkeypatch.setattr(grading, "COMMAND", [sys.executable, "-c", "input(); print('true', flush=True); input()"])
    assert worker.verify("1", "2") is True
    worker.end()


def test_a_worker_that_dies_says_no(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grading, "COMMAND", [sys.executable, "-c", ""])
    worker = grading._Worker()
    assert worker.verify("1", "2") is False
    worker.end()


@pytest.mark.parametrize(
    ("text", "stripped"),
    [
        (r"\dfrac12", r"\frac{1}{2}"),
        (r"\sqrt3", r"\sqrt{3}"),
        ("0.5", r"\frac{1}{2}"),
        ("3/4", r"\frac{3}{4}"),
        ("x = 5", "5"),
        (r"90^\circ", "90"),
        (r"\$15", "15"),
        (r"12\text{ cm}", "12"),
        (".25", "0.25"),
        (r"\left(1,\! 2\right)", "(1,2)"),
        (r"50\%", "50"),
    ],
)
def test_hendrycks_clean_up(text: str, stripped: str) -> None:
    """The steps that the MATH paper's script is known for, one by one."""
    assert math.strip_string(text) == stripped


def test_hendrycks_rule_compares_strings_alone() -> None:
    assert math.hendrycks_equal(r"\dfrac{3}{4}", "3/4")
    assert not math.hendrycks_equal("0.75", "3/4")
    assert grade_all([("hendrycks", "0.75", ("3/4",), ()), ("math", "0.75", ("3/4",), ())]) == [0.0, 1.0]
