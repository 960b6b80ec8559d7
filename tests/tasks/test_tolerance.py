"""Numbers with a tolerance: graded, and counted as one answer in votes, by one notion of equality."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.core import Dataset, Ports
from cortexdsl.errors import DataError, InputError
from cortexdsl.language.spec import load_spec
from cortexdsl.tasks.grading.metrics import equality_of
from cortexdsl.tasks.grading.tolerance import errors
from cortexdsl.tasks.load import load
from cortexdsl.tasks.task import Task
from tests.engine.stage import Stage, StagedReader, method, run

SPEC = """\
title: Estimates
seed: 1
dataset: {{file: estimates.csv, {0}}}
models: {{m: {{model: builtin/solver}}}}
agents: [{{name: a, model: m}}]
methods: {{v: {{protocol: voting}}}}
"""


def task(folder: Path, words: str, answer: str = "3.14159") -> Task:
    (folder / "estimates.csv").write_text(f"question,answer\nHow much?,{answer}\n", encoding="utf-8")
    (folder / "estimates.yaml").write_text(SPEC.format(words), encoding="utf-8")
    return load(load_spec(folder / "estimates.yaml").datasets["estimates"])


@pytest.mark.parametrize(
    ("tolerance", "gold", "answer", "is_right"),
    [
        ("0.01", "3.14159", "3.14", True),
        ("0.01", "3.14159", "3.15159", True),  # exactly, as decimals and not as binary fractions
        ("0.01", "3.14159", "3.16", False),
        ("0.01", "3.14159", "22/7", True),
        ("1.0e-3", "3.14159", "3.14", False),
        ("2", "100", "98", True),
        ("2", "100", "97.9", False),
        ("5%", "100", "95", True),
        ("5%", "100", "94.9", False),
        ("5.0%", "-100", "-105", True),
        ("0.5%", "200", "201.01", False),
        ("5%", "0", "0.001", False),
        ("5%", "0", "0", True),
    ],
)
def test_a_number_near_the_gold_is_right_and_votes_for_it(
    tolerance: str, gold: str, answer: str, is_right: bool, tmp_path: Path
) -> None:
    tried = task(tmp_path, f"metric: within {tolerance}", gold)
    question = tried.questions[0]
    value = tried.reader(question).read("answer", f"Answer: {answer}").value
    assert tried.grade(question.id, value) == float(is_right)
    assert value is not None
    assert tried.reader(question).same(value, tried.gold(question.id)[0]) is is_right


class NearReader(StagedReader):
    """Takes numbers for one answer as a tolerance of 0.01 does."""

    def same(self, answer: str, earlier: str) -> bool:
        return equality_of("within 0.01")(answer, earlier)


class Near(Stage):
    """A stage whose reader has a tolerance."""

    def ports(self) -> Ports:
        return Ports(self.ask, self.render, NearReader(), self.similarity)


def test_answers_within_the_tolerance_are_one_answer_of_a_debate() -> None:
    """3.14 and 3.1416 are near to the first answer, 3.2 is not."""
    script = {"answer:a0": "3.14|0.9", "answer:b0": "3.1416|0.9", "answer:c0": "3.2|0.9"}
    debate = run(method({"answer": {}}, ["answer"], {"debater": "a b c"}), Near(script))
    assert debate.votes == {"3.14": 2, "3.2": 1}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("metric: within 0", r"estimates.yaml:3:40: dataset.metric: this is not a tolerance\n"),
        ("metric: within -1", r"write within 0.01, or within 5%"),
        ("metric: within 0%", r"write within 0.01, or within 5%"),
        ("metric: within 500%", r"write within 0.01, or within 5%"),
        ("metric: within 5 percent", r"write within 0.01, or within 5%"),
        ("metric: [5]", r"a text is needed"),
        ("tolerance: 5%", r"write metric: within 5%"),
        ("metric: within nan", r"write within 0.01, or within 5%"),
    ],
)
def test_a_bad_tolerance_is_refused_with_its_place(words: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        task(tmp_path, words)


def test_a_tolerance_for_other_answers_than_numbers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="a tolerance is for numbers, and its answers are of kind text\n    remove"):
        task(tmp_path, "metric: within 0.1, kind: text")
    with pytest.raises(DataError, match="of kind choice"):
        load(Dataset("mmlu", name="mmlu", path=str(tmp_path), tolerance="0.1"))


@pytest.mark.parametrize(
    ("answer", "golds", "expected"),
    [
        ("12", ("10",), (2.0, 0.2)),
        ("-5/2", ("-2",), (0.5, 0.25)),
        ("9", ("4", "10"), (1.0, 0.1)),
        ("3", ("0",), (3.0, None)),
        (None, ("10",), (None, None)),
    ],
)
def test_errors_are_distances_from_the_nearest_gold(
    answer: str | None, golds: tuple[str, ...], expected: tuple[float | None, float | None]
) -> None:
    assert tuple(errors(answer, golds).values()) == expected
