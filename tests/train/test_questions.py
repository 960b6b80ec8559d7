"""Questions that are learned from are never asked by the experiment, nor kept for validation: by any way around."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cortexdsl.errors import SpecError
from cortexdsl.plan.training import Training
from tests.train.specs import SPEC, plan

OWN = SPEC.replace(
    "dataset: {name: arithmetic, size: 6}",
    "dataset: {file: asked.jsonl, question: q, answer: a, id: id, context: passage, cluster: passage, kind: text,"
    " size: 3}",
)


def written(folder: Path, name: str, rows: list[tuple[str, str, str]]) -> None:
    """Write rows of (id, question, passage)."""
    lines = [json.dumps({"id": i, "q": q, "a": f"answer {q}", "passage": p}) for i, q, p in rows]
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def parts(training: Training) -> tuple[set[str], set[str]]:
    texts = {question.id: question.text for question in training.task.questions}
    return (
        {text for name, text in texts.items() if name not in training.validation},
        {text for name, text in texts.items() if name in training.validation},
    )


def test_a_generated_dataset_goes_on_after_what_is_asked(tmp_path: Path) -> None:
    compiled = plan(tmp_path)
    asked = {question.text for question in compiled.tasks["arithmetic"].questions}
    learned, kept = parts(compiled.training("acc"))
    assert (len(learned), len(kept)) == (4, 2)
    assert len(asked | learned | kept) == 6 + 4 + 2


def test_the_sample_of_a_file_is_left_out_of_what_is_learned_whatever_its_order(tmp_path: Path) -> None:
    written(tmp_path, "asked.jsonl", [(f"i{k}", f"question {k}", f"passage {k}") for k in range(9)])
    for seed in range(4):
        compiled = plan(tmp_path, OWN.replace("{size: 4}", f"{{seed: {seed}, size: 4}}"))
        asked = {question.text for question in compiled.tasks["asked"].questions}
        learned, kept = parts(compiled.training("acc"))
        assert len(asked) + len(learned) + len(kept) == len(asked | learned | kept) == 9


def test_another_file_cannot_bring_an_asked_question_back(tmp_path: Path) -> None:
    """Under another id, in capitals, with other marks or spaces, or about the same passage."""
    written(tmp_path, "asked.jsonl", [(f"i{k}", f"Question {k}?", f"Passage {k}.") for k in range(3)])
    attacks = [
        ("x0", "Question 0?", "Passage 0."),
        ("x1", "  QUESTION 1 ", "passage 1"),
        ("x2", "Ｑuestion  2 !", "Passage 2."),
        ("x3", "Something else about it?", "PASSAGE 2"),
        ("i0", "A new question under an old id?", "A new passage."),
    ]
    fresh = [(f"n{k}", f"Fresh {k}?", f"Other passage {k}.") for k in range(5)]
    written(tmp_path, "more.jsonl", [*attacks, *fresh])
    compiled = plan(tmp_path, OWN.replace("{size: 4}", "{file: more.jsonl, size: 4}"))
    training = compiled.training("acc")
    assert not {question.id for question in training.task.questions} & {"x0", "x1", "x2", "x3"}
    assert training.learned.left_out == 4
    with pytest.raises(SpecError, match=r"learning\.yaml:15:\d+: .*12 questions to learn from .* and 6 of 10"):
        plan(tmp_path, OWN.replace("{size: 4}", "{file: more.jsonl, size: 10}"))


def test_validation_shares_no_passage_with_what_is_learned(tmp_path: Path) -> None:
    written(tmp_path, "asked.jsonl", [(f"i{k}", f"Question {k}?", f"Passage {k}.") for k in range(3)])
    rows = [(f"n{k}", f"Fresh {k}?", f"Other passage {k // 3}.") for k in range(12)]  # three questions a passage
    written(tmp_path, "more.jsonl", rows)
    training = plan(tmp_path, OWN.replace("{size: 4}", "{file: more.jsonl, size: 4}")).training("acc")
    passages: dict[bool, set[str]] = {True: set(), False: set()}
    for question in training.task.questions:
        passages[question.id in training.validation].add(question.context)
    assert not passages[True] & passages[False]


def test_every_dataset_of_the_experiment_is_kept_apart(tmp_path: Path) -> None:
    """What is learned from one dataset may be asked in another."""
    rows = [(f"i{k}", f"Question {k}?", f"Passage {k}.") for k in range(12)]
    written(tmp_path, "asked.jsonl", rows)
    written(tmp_path, "other.jsonl", rows[6:])
    one = OWN.partition("dataset: ")[2].partition("\n")[0]
    both = OWN.replace(
        f"dataset: {one}",
        f"datasets:\n  asked: {one}\n  other: {one.replace('asked.jsonl', 'other.jsonl').replace(', size: 3', '')}",
    )
    both = both.replace("{size: 4}", "{name: asked, size: 2}").replace("validation: 2", "validation: 1")
    compiled = plan(tmp_path, both)
    asked = {question.text for task in compiled.tasks.values() for question in task.questions}
    learned, kept = parts(compiled.training("acc"))
    assert not asked & (learned | kept)


def test_where_nothing_is_left_the_spec_says_so(tmp_path: Path) -> None:
    written(tmp_path, "asked.jsonl", [(f"i{k}", f"Question {k}?", f"Passage {k}.") for k in range(3)])
    with pytest.raises(SpecError, match="6 questions to learn from are asked for, and 0 of 3 are left"):
        plan(tmp_path, OWN)
