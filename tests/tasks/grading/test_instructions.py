"""Replies whose instructions a program checks: IFEval's 25 kinds, read, graded, and counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.core import Dataset
from cortexdsl.errors import DataError
from cortexdsl.tasks.grading.instructions import (
    INSTRUCTIONS,
    followed,
    instruction_columns,
    written_instructions,
)
from cortexdsl.tasks.load import load
from cortexdsl.tasks.replies import grade_rows
from cortexdsl.tasks.task import Task

LESS, LEAST = "less than", "at least"
CASES: dict[str, tuple[dict[str, Any], str, str]] = {  # settings, a reply that follows, one that does not
    "keywords:existence": ({"keywords": ["oak", "elm"]}, "An Oak and an ELM.", "An oak."),
    "keywords:frequency": ({"keyword": "oak", "frequency": 2, "relation": LEAST}, "Oak, oaks.", "One oak."),
    "keywords:forbidden_words": ({"forbidden_words": ["oak"]}, "Oaks are soaked.", "An OAK."),
    "keywords:letter_frequency": ({"letter": "Z", "let_frequency": 2, "let_relation": LESS}, "A zoo.", "Zigzag."),
    "language:response_language": ({"language": "de"}, "Das ist ein Satz in unserer Sprache.", "This is a sentence."),
    "length_constraints:number_sentences": (
        {"num_sentences": 3, "relation": LESS}, "Dr. Lee saw 3.5 oaks, e.g. two. He left!", "One. Two? Three!"),
    "length_constraints:number_paragraphs": ({"num_paragraphs": 2}, "***\nOne\n***\nTwo", "One\n******\nTwo"),
    "length_constraints:number_words": ({"num_words": 3, "relation": LEAST}, "well-known oak", "an oak"),
    "length_constraints:nth_paragraph_first_word": (
        {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Oaks"}, "One.\n\n'oaks' grow.", "Oaks.\n\nTwo."),
    "detectable_content:number_placeholders": ({"num_placeholders": 2}, "[name], [address]", "[name]"),
    "detectable_content:postscript": ({"postscript_marker": "P.S."}, "Bye.\np. s. more", "Bye. PS more"),
    "detectable_format:number_bullet_lists": ({"num_bullets": 2}, "* one\n - two", "* one\n** two **\n- a\n- b"),
    "detectable_format:constrained_response": ({}, "Well. My answer is no.", "No."),
    "detectable_format:number_highlighted_sections": ({"num_highlights": 2}, "*a* and *b*", "*a* and * *"),
    "detectable_format:multiple_sections": (
        {"section_spliter": "Section", "num_sections": 2}, "Section 1\na\nSection 2\nb", "Section 1\na\nsection 2"),
    "detectable_format:json_format": ({}, "```json\n{\"a\": [1]}\n```", "{a: 1}"),
    "detectable_format:title": ({}, "<<Oaks>>\ntext", "<< >>"),
    "combination:two_responses": ({}, "One\n******\nTwo", "One******One"),
    "combination:repeat_prompt": ({"prompt_to_repeat": "Name an oak."}, "name an OAK. Yes.", "Yes. Name an oak."),
    "startend:end_checker": ({"end_phrase": "the end"}, 'And so: "The End"', "The end."),
    "startend:quotation": ({}, ' "All of it." ', '"Only" this'),
    "change_case:capital_word_frequency": (
        {"capital_frequency": 2, "capital_relation": LEAST}, "OAKS are GREAT", "OAKS are great"),
    "change_case:english_capital": ({}, "THIS IS A SENTENCE ABOUT TREES", "THIS is a sentence"),
    "change_case:english_lowercase": ({}, "this is a sentence about trees", "This is a sentence about trees"),
    "punctuation:no_comma": ({}, "Oaks and elms\uff0c too", "Oaks, elms"),
}  # fmt: skip
LANGUAGE = ("language:response_language", "change_case:english_capital", "change_case:english_lowercase")


def test_every_instruction_of_ifeval_is_there() -> None:
    assert set(CASES) == set(INSTRUCTIONS)
    assert len(INSTRUCTIONS) == 25


@pytest.mark.parametrize("name", CASES)
def test_a_reply_that_follows_and_one_that_does_not(name: str) -> None:
    if name in LANGUAGE:
        pytest.importorskip("langdetect", reason="langdetect (the extra `ifeval`) is not installed")
    settings, right, wrong = CASES[name]
    gold = written_instructions([name], [settings])
    assert followed(right, gold) == [True]
    assert followed(wrong, gold) == [False]
    assert followed(" \n", gold) == [False]


def row(**words: Any) -> dict[str, Any]:
    return {
        "key": 1000,
        "prompt": "Name two trees. Do not use commas. Use a title such as <<Trees>>.",
        "instruction_id_list": ["punctuation:no_comma", "detectable_format:title"],
        "kwargs": [{"num_words": None}, {}],
        **words,
    }


def ifeval(folder: Path, *rows: dict[str, Any]) -> Task:
    (folder / "input_data.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return load(Dataset("ifeval", name="ifeval", path=str(folder)))


@pytest.mark.parametrize(
    ("reply", "answer", "score", "columns"),
    [
        ("<<Trees>>\nOak and elm", "<<Trees>>\nOak and elm", 1.0, (1.0, 2, 2, 2)),
        ("I think so.\nAnswer: <<Trees>> oak\nConfidence: 0.9", "<<Trees>> oak", 1.0, (1.0, 2, 2, 2)),
        ("Sure, here they are:\n<<Trees>> oak and elm", None, 0.0, (1.0, 1, 2, 2)),
        ("<think>a, b</think>Oak\uff0c elm", "Oak\uff0c elm", 0.0, (0.0, 1, 1, 2)),
        ("", None, 0.0, (0.0, 0, 0, 2)),
    ],
)
def test_a_reply_is_read_as_it_came_and_graded_strictly_and_loosely(
    reply: str, answer: str | None, score: float, columns: tuple[float, ...], tmp_path: Path
) -> None:
    task = ifeval(tmp_path, row())
    read = task.reader(task.questions[0]).lenient(reply)
    assert answer is None or read.value == answer
    assert task.grade("1000", read.value) == score
    assert tuple(instruction_columns(read.value, task.gold("1000")).values()) == columns


def test_the_requested_line_is_needed_for_the_strict_reading(tmp_path: Path) -> None:
    task = ifeval(tmp_path, row())
    reader = task.reader(task.questions[0])
    assert reader.strict("Oak and elm").unparsed == "no answer line"
    assert reader.strict("Answer: oak").value == "oak"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"instruction_id_list": ["keywords:exist"], "kwargs": [{}]}, "no instruction 'keywords:exist'"),
        ({"kwargs": [{}]}, "not as many settings"),
        ({"instruction_id_list": [], "kwargs": []}, "no instructions"),
        ({"instruction_id_list": ["keywords:frequency"], "kwargs": [{"keyword": "a"}]}, "its settings cannot be used"),
        ({"instruction_id_list": ["keywords:existence"], "kwargs": [{"keywords": ["("]}]}, "its settings cannot"),
        (
            {
                "instruction_id_list": ["length_constraints:number_words"],
                "kwargs": [{"num_words": 3, "relation": "at"}],
            },
            "its settings cannot be used",
        ),
        (
            {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{"num_words": 3}]},
            "its settings cannot be used",
        ),
        ({"instruction_id_list": [["punctuation:no_comma"]], "kwargs": [{}]}, "not an instruction"),
        ({"instruction_id_list": [None], "kwargs": [{}]}, "not an instruction"),
        ({"instruction_id_list": [{"instruction": ["a"]}], "kwargs": [{}]}, r"no instruction \['a'\]"),
        ({"instruction_id_list": ["punctuation:no_comma"], "kwargs": ["x"]}, "not an instruction"),
        ({"instruction_id_list": ["punctuation:no_comma"], "kwargs": 5}, "no instructions, or not as many"),
        ({"instruction_id_list": 5, "kwargs": [{}]}, "no instructions, or not as many"),
        ({"instruction_id_list": ["keywords:existence"], "kwargs": [{"keywords": "oak"}]}, "keywords is 'oak'"),
        ({"instruction_id_list": ["keywords:existence"], "kwargs": [{"keywords": []}]}, r"keywords is \[\]"),
        (
            {"instruction_id_list": ["detectable_format:number_bullet_lists"], "kwargs": [{"num_bullets": "3"}]},
            "num_bullets is '3'",
        ),
        (
            {
                "instruction_id_list": ["length_constraints:nth_paragraph_first_word"],
                "kwargs": [{"num_paragraphs": 1, "nth_paragraph": -4, "first_word": "oak"}],
            },
            "nth_paragraph is -4",
        ),
    ],
)
def test_rows_that_cannot_be_checked_are_named_before_anything_is_spent(
    words: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=message) as wrong:
        ifeval(tmp_path, row(), row(key=1001, **words))
    assert "input_data.jsonl, row 2, column 'instruction_id_list'" in str(wrong.value)


def test_an_instruction_without_settings_may_have_none() -> None:
    assert json.loads(written_instructions(["punctuation:no_comma"], [None])) == [
        {"instruction": "punctuation:no_comma"}
    ]


def test_a_row_of_another_program_is_named() -> None:
    rows = [{"kind": "instructions", "gold": ["no:such"], "output": "oak"}]
    with pytest.raises(DataError, match="row 1: no instruction 'no:such'"):
        grade_rows(rows)


def test_an_own_file_names_instructions_with_their_settings(tmp_path: Path) -> None:
    own = {"question": "Name a tree.", "answer": [{"instruction": "keywords:existence", "keywords": ["oak"]}]}
    (tmp_path / "own.jsonl").write_text(json.dumps(own), encoding="utf-8")
    task = load(Dataset("own", path=str(tmp_path / "own.jsonl"), kind="instructions"))
    assert [task.grade(task.questions[0].id, text) for text in ("An oak", "An elm")] == [1.0, 0.0]
