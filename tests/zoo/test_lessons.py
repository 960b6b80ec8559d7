"""What small models are taught: right steps, wrong steps found, replies that the readers of this project can read."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from cortexdsl.core import Question
from cortexdsl.errors import InputError
from cortexdsl.plan.compiler import compile_spec
from cortexdsl_tiny.zoo.__main__ import LESSONS
from cortexdsl_tiny.zoo.curriculum import Teacher, drills, lessons
from cortexdsl_tiny.zoo.exams import answer_of
from cortexdsl_tiny.zoo.questions import (
    STEPS,
    Lesson,
    World,
    arithmetic_rows,
    choice_rows,
    equations,
    held_out,
    is_stranger,
    numbers_of,
    read_lessons,
    work,
    world_rows,
    write_lessons,
    wrong_lines,
)
from cortexdsl_tiny.zoo.recipes import FILE, MINIATURE, read_book, recipe

ASKED = "What is the result of 12+7*25+3-18*4?"


def test_an_expression_is_worked_out_as_by_hand() -> None:
    """12 + 175 + 3 - 72 = 118."""
    numbers = numbers_of(ASKED)
    assert numbers == (12, 7, 25, 3, 18, 4)
    worked = work(numbers)
    assert worked.lines == ("7*25=175", "18*4=72", "12+175=187", "187+3=190", "190-70=120", "120-2=118")
    assert worked.value == 118


@pytest.mark.parametrize("step", range(STEPS))
def test_a_slip_makes_one_line_wrong_and_what_follows_goes_on_from_it(step: int) -> None:
    numbers = (12, 7, 25, 3, 18, 4)
    for seed in range(20):
        worked = work(numbers, frozenset({step}), random.Random(seed))
        assert [line for line, _ in wrong_lines("\n".join(worked.lines))] == [worked.lines[step]]
        assert worked.value != 118


def test_wrong_equations_are_found_in_any_text_with_negative_numbers() -> None:
    said = "First 7*25=165, then -5+3=-2 and 3-10=-7; 2+2=5. 2+2=5 again. 1+1=2=2"
    assert wrong_lines(said) == [("7*25=165", 175), ("2+2=5", 4)]
    assert equations("a 1+2=3 b -4-5=-9") == ["1+2=3", "-4-5=-9"]


def test_options_are_four_ranges_of_which_one_has_the_result() -> None:
    inside = {"A": range(-1000, 20), "B": range(20, 40), "C": range(40, 70), "D": range(70, 1000)}
    told = {"A": "under 20", "B": "20 to 39", "C": "40 to 69", "D": "70 or more"}
    rows = list(choice_rows(5, 200))
    for row in rows:
        numbers = numbers_of(row["question"])
        assert numbers is not None
        a, b, c, d, e, f = numbers
        assert a + b * c + d - e * f in inside[row["answer"]]
        assert {label: row[label] for label in "ABCD"} == told
    assert min(Counter(row["answer"] for row in rows).values()) > 30


def test_a_drill_is_one_right_step_of_an_expression() -> None:
    found = list(drills(200, seed=1))
    assert found == list(drills(200, seed=1)) != list(drills(200, seed=2))
    for lesson in found:
        assert wrong_lines(lesson.reply) == []
        assert equations(lesson.reply) == [lesson.reply]
        assert lesson.reply.startswith(lesson.messages[0]["content"])
    assert {sign for lesson in found for sign in "+-*" if sign in lesson.reply} == {"+", "-", "*"}


def test_datasets_and_exams_ask_what_no_lesson_has(folder: Path) -> None:
    """A tenth of all expressions is held out, in whatever dataset it comes."""
    for rows in (arithmetic_rows(1, 200), choice_rows(1, 200)):
        for row in rows:
            numbers = numbers_of(row["question"])
            assert numbers is not None
            assert held_out(row["question"])
            assert max(numbers) <= 12
            assert work(numbers).value >= 0
    plan, world = compile_spec(str(folder / LESSONS.name)), World.made(1)
    for is_held_out in (False, True):
        found = list(lessons(plan, world, cells=["alone", "full"], size=150, seed=5, is_held_out=is_held_out))
        asked = [re.search(r"What is the result of [^?]*\?", lesson.messages[-1]["content"]) for lesson in found]
        expressions = [match[0] for match in asked if match is not None]
        assert len(expressions) > 50
        assert {held_out(each) for each in expressions} == {is_held_out}


def test_lessons_of_some_tasks_are_those_that_all_tasks_have_of_them(folder: Path) -> None:
    plan, world = compile_spec(str(folder / LESSONS.name)), World.made(1)
    every = list(lessons(plan, world, cells=["alone"], size=90, seed=1))
    sums = list(lessons(plan, world, cells=["alone"], size=60, seed=1, tasks=["arithmetic", "choice"]))
    facts = list(lessons(plan, world, cells=["alone"], size=30, seed=1, tasks=["world"]))
    assert sums == [lesson for k, lesson in enumerate(every) if k % 3 != 2]
    assert facts == every[2::3]


def test_an_answer_is_worked_out_anew_and_names_nobodys_mistakes(folder: Path) -> None:
    plan = compile_spec(str(folder / LESSONS.name))
    for cells, named in ((["full-five"], False), (["comments"], True)):
        told = list(lessons(plan, World.made(1), cells=cells, size=60, seed=2, tasks=["arithmetic"]))
        assert any(" is wrong" in lesson.reply for lesson in told) is named


def test_passages_are_those_that_a_search_finds(folder: Path) -> None:
    """Of other people, too, who are called alike; what a question about numbers finds is of no use."""
    from cortexdsl.core import Question
    from cortexdsl_tiny.zoo.curriculum import passages

    world = World.made(1)
    for person in list(world.homes)[:12]:
        found = passages(world, Question("q", f"In which town does {person} live?", world.homes[person]))
        assert found[0]["id"] == person
        assert len({passage["id"] for passage in found}) == 4
    first = next(iter(world.homes)).split()[0]
    alike = [
        {passage["id"] for passage in passages(world, Question("q", f"What is the trade of {person}?", "a"))}
        for person in world.homes
    ]
    assert any(sum(first in who.split() for who in found) > 1 for found in alike)


def test_a_world_answers_its_questions_from_its_own_passages() -> None:
    world = World.made(3)
    said = {sentence for passage in world.passages() for sentence in re.findall(r"[^.]+\.", passage["text"])}
    said = {sentence.strip() for sentence in said}
    for fact in world.facts():
        assert set(fact.reasons) <= said
        assert fact.answer in fact.reasons[-1]
    rows = list(world_rows(world, 1, 400))
    assert len({row["question"] for row in rows[:144]}) == 144  # 48 people, three questions each
    assert World.made(3) == world
    assert World.made(4) != world


def test_strangers_are_in_the_datasets_and_the_corpus_and_in_no_lesson(folder: Path) -> None:
    """A quarter of all names; who is asked about them has to look them up, and learns how from people drawn afresh."""
    asked = " ".join(json.loads(line)["question"] for line in (folder / "world.jsonl").read_text().splitlines())
    corpus = [json.loads(line)["id"] for line in (folder / "corpus.jsonl").read_text().splitlines()]
    known = set(World.made(1).homes)
    strangers = {who for who in corpus if is_stranger(who) and " " in who}
    assert len(strangers) == 24
    assert not strangers & known
    assert not any(map(is_stranger, known))
    assert any(who in asked for who in strangers)

    plan = compile_spec(str(folder / LESSONS.name))
    reading = lessons(plan, World.made(1), cells=["rag", "madke"], tasks=["world"], size=100, seed=4)
    told = " ".join(lesson.messages[-1]["content"] for lesson in reading)
    people = set(re.findall(r"(?:does|of) ([A-Z]\w+ [A-Z]\w+)(?: live)?\?", told))
    assert people
    assert not any(map(is_stranger, people))
    assert len(people - known) > 5
    assert people & known


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Questions as the workflow makes them."""
    made = tmp_path_factory.mktemp("zoo")
    command = [sys.executable, "-m", "cortexdsl_tiny.zoo", "questions", str(made), "--seed", "1", "--size", "20"]
    subprocess.run(command, check=True)
    return made


def _told(folder: Path, size: int, seed: int = 1) -> list[Lesson]:
    plan = compile_spec(str(folder / LESSONS.name))
    cells = [cell.name for cell in plan.cells]
    return list(lessons(plan, World.made(1), cells=cells, size=size, seed=seed))


@pytest.fixture(scope="module")
def told(folder: Path) -> list[Lesson]:
    return _told(folder, 700)


def test_every_lesson_is_the_right_reply_to_its_prompt(told: list[Lesson]) -> None:
    """The expression of the question, evaluated here by Python, is what every answer must come to."""
    kinds = set()
    for lesson in told:
        asked = re.search(r"result of (\d+(?:[-+*]\d+)+)\?", lesson.messages[-1]["content"])
        answer = answer_of(lesson.reply)
        if asked is None or answer is None or lesson.reply.startswith("Summary:"):
            continue
        value = eval(asked[1])
        options = dict(re.findall(r"^\(([A-D])\) (.+)$", lesson.messages[-1]["content"], re.MULTILINE))
        kinds.add(bool(options))
        if options:
            place = (value >= 20) + (value >= 40) + (value >= 70)
            assert options[answer] == ("under 20", "20 to 39", "40 to 69", "70 or more")[place]
        else:
            assert int(answer) == value
        own = [line for line in lesson.reply.splitlines() if "wrong" not in line]
        assert wrong_lines("\n".join(own)) == []
    assert kinds == {True, False}


def test_lessons_show_every_kind_of_reply_and_others_that_are_right_and_wrong(told: list[Lesson]) -> None:
    replies = "\n".join(lesson.reply for lesson in told)
    for mark in (
        "Answer: ",
        "Confidence: ",
        "Score: ",
        "Verdict: agree",
        "Verdict: disagree",
        "Summary:",
        "Selected: ",
    ):
        assert mark in replies
    assert re.search(r"^\d+\S+ is wrong: it is \d+\.$", replies, re.MULTILINE)
    heard = [lesson.messages[-1]["content"] for lesson in told if "[Agent 2]" in lesson.messages[-1]["content"]]
    with_mistakes = sum(bool(wrong_lines(text)) for text in heard)
    assert 0.2 < with_mistakes / len(heard) < 0.95


def test_lessons_are_the_same_for_the_same_seed(folder: Path, told: list[Lesson], tmp_path: Path) -> None:
    again = _told(folder, 60)
    assert again == told[:60]
    assert _told(folder, 60, seed=2) != again
    assert write_lessons(tmp_path / "l.jsonl", again) == 60
    assert list(read_lessons(tmp_path / "l.jsonl")) == again


def test_a_teacher_that_is_wrong_writes_a_wrong_step() -> None:
    teacher, question = Teacher(World.made(1)), Question("q", ASKED)
    prompt = ({"role": "user", "content": f"Question: {ASKED}\n\nSolve it.\nAnswer: <a number>"},)
    for seed in range(30):
        assert wrong_lines(teacher.reply(question, prompt, random.Random(seed), is_right=False))
    assert answer_of(teacher.reply(question, prompt, random.Random(1), is_right=True)) == "118"


def test_who_is_wrong_about_the_world_names_something_of_the_same_kind() -> None:
    world = World.made(1)
    teacher, asked = Teacher(world), next(fact for fact in world.facts() if fact.kind == "trade")
    prompt = ({"role": "user", "content": f"Question: {asked.question}\n\nSay it.\nAnswer: <a few words>"},)
    said = {
        answer_of(teacher.reply(Question("q", asked.question), prompt, random.Random(seed), is_right=False))
        for seed in range(40)
    }
    assert said <= set(world.trades.values()) - {asked.answer}
    assert len(said) > 2


def test_recipes_differ_in_size_and_in_what_is_read_and_fit_into_eight_megabytes() -> None:
    book = read_book(FILE)
    made = [recipe(book, name) for name in book["models"]]
    sizes = [each.config(book["vocabulary"]["size"], book["window"]).parameters for each in made]
    assert len(made) == 5
    assert sizes == sorted(sizes, reverse=True)
    assert all(a.tokens > b.tokens for a, b in pairwise(made))
    assert 2 * sum(sizes) < 8e6
    read_book(MINIATURE)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"window": None}, "recipes have the parts"),
        ({"stages": [{"name": "a", "share": 1, "lessons": {"nothing": 1}}]}, "unknown lessons: nothing"),
    ],
)
def test_a_book_that_is_wrong_is_refused(tmp_path: Path, change: dict[str, object], said: str) -> None:
    book = {**read_book(MINIATURE), **change}
    path = tmp_path / "book.yaml"
    path.write_text(json.dumps({name: value for name, value in book.items() if value is not None}))
    with pytest.raises(InputError, match=said):
        read_book(path)
    with pytest.raises(InputError, match="there is no recipe for 'nobody'"):
        recipe(read_book(MINIATURE), "nobody")
