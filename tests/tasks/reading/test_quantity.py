"""Numbers with units: one spelling for equal quantities, other units are other answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.core import Dataset
from cortexdsl.tasks.load import load
from cortexdsl.tasks.reading.quantity import QuantityKind
from cortexdsl.tasks.reading.text import Unparsed
from cortexdsl.tasks.task import Task

KIND = QuantityKind()


@pytest.mark.parametrize("pair", [("5 M", "5 m"), ("5 S", "5 s"), ("5 H", "5 h"), ("5 M", "5 mol")])
def test_one_letter_in_another_case_is_another_unit(pair: tuple[str, str]) -> None:
    assert KIND.canonical(pair[0]) not in (None, KIND.canonical(pair[1]))


@pytest.mark.parametrize(
    "pair",
    [("3 cm3", "3 mL"), ("3 m2.", "3 m^2"), ("3 m s-1.", "3 m/s"), ("2.5 Km", "2500 m"), ("5 kg m2", "5 kg m^2")],
)
def test_powers_and_prefixes_as_they_are_typed(pair: tuple[str, str]) -> None:
    assert KIND.canonical(pair[0]) == KIND.canonical(pair[1]) is not None


def test_bytes_are_not_bits() -> None:
    assert KIND.canonical("5 MB") == KIND.canonical("5 mB") != KIND.canonical("5 Mb") == KIND.canonical("5 mb")
    assert KIND.canonical("5 kB") == KIND.canonical("5 KB")
    assert KIND.canonical("5 Apples") == KIND.canonical("5 apples")


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("2.5 km", "2500 m"),
        ("2500m", "2500 m"),
        ("2,500 metres.", "2500 m"),
        ("18 eggs", "18 egg"),
        ("1 egg", "1 egg"),
        ("18", "18"),
        ("36 km/h", "10 m s^-1"),
        ("10 m/s", "10 m s^-1"),
        ("10 m s^-1", "10 m s^-1"),
        ("10 m·s⁻¹", "10 m s^-1"),
        ("10 meters per second", "10 m s^-1"),
        ("9.8 m/s^2", "9.8 m s^-2"),
        ("9.8 m/s²", "9.8 m s^-2"),
        ("3 square meters", "3 m^2"),
        ("3 m^2", "3 m^2"),
        ("1 ha", "10000 m^2"),
        ("2 L", "0.002 m^3"),
        ("2000 mL", "0.002 m^3"),
        ("5 kN", "5000 kg m s^-2"),
        ("1 kWh", "3600000 kg m^2 s^-2"),
        ("1 kW h", "3600000 kg m^2 s^-2"),
        ("90 min", "5400 s"),
        ("1.5 hours", "5400 s"),
        ("6 feet", "1.8288 m"),
        ("25%", "0.25"),
        ("25 percent", "0.25"),
        ("$5", "5 $"),
        ("5 dollars", "5 $"),
        ("-$1,234.50", "-1234.5 $"),
        ("20 °C", "20 °C"),
        ("20 degrees Celsius", "20 °C"),
        ("20 °F", "20 °F"),
        ("293.15 K", "293.15 K"),
        ("90°", "90 °"),
        ("1.2 million people", "1200000 people"),
        ("3.0 \\text{ cm}", "0.03 m"),
        ("$1/3$ mol", "1/3 mol"),
        ("5 km away", None),
        ("5 or 6 km", None),
        ("4-6 km", None),
        ("some km", None),
        ("", None),
        ("5 / 0 km", None),
    ],
)
def test_one_spelling_for_equal_quantities(text: str, spelled: str | None) -> None:
    assert KIND.canonical(text) == spelled


def task(folder: Path, gold: str, **words: str) -> Task:
    (folder / "own.csv").write_text(f"question,answer\nHow far?,{gold}\n", encoding="utf-8")
    return load(Dataset("own", path=str(folder / "own.csv"), kind="quantity", **words))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("It is 2,500 m, so\nAnswer: 2.5 km", 1.0),
        ("Answer: 2500 metres", 1.0),
        ("The answer is 2.5 km, because it is near.", 1.0),
        ("The distance is $2.5$ km.", 1.0),
        ("So the distance is d = 2 + 0.5 = 2.5 km.", 1.0),
        ("It is $\\boxed{2.5\\text{ km}}$.", 1.0),
        ("Answer: 2.5", 0.0),  # another answer: nobody says in which unit
        ("Answer: 2.5 miles", 0.0),
        ("Answer: 2500 km", 0.0),
        ("Answer: between 2 and 3 km", 0.0),
    ],
)
def test_a_reply_is_compared_in_its_unit(reply: str, score: float, tmp_path: Path) -> None:
    tried = task(tmp_path, "2.5 km")
    question = tried.questions[0]
    read = tried.reader(question).read("answer", reply)
    assert tried.grade(question.id, read.value) == score
    assert "Answer: <the number with its unit, such as 3.5 km>" in tried.answer_format


def test_votes_and_grades_have_one_equality_also_with_a_tolerance(tmp_path: Path) -> None:
    tried = task(tmp_path, "2.5 km", tolerance="5%")
    question = tried.questions[0]
    reader = tried.reader(question)
    values = [reader.read("answer", f"Answer: {said}").value for said in ("2.5 km", "2600 m", "2600 kg", "2600")]
    assert [tried.grade(question.id, value) for value in values] == [1.0, 1.0, 0.0, 0.0]
    assert [reader.same(str(value), str(values[0])) for value in values] == [True, True, False, False]


def test_what_cannot_be_read_is_recorded() -> None:
    read = KIND.exact("5 km away")
    assert isinstance(read, Unparsed)
    assert "no single quantity" in read.reason
