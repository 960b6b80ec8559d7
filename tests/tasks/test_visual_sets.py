"""Datasets of images, by name: rows as their authors' files and the hub have them."""

from __future__ import annotations

import hashlib
import json
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.core import Dataset
from cortexdsl.tasks.load import load
from cortexdsl.tasks.task import Task
from tests.tasks.test_images import png

MATHVISTA: dict[str, dict[str, Any]] = {
    "1": {"question_type": "multi_choice", "answer_type": "text", "choices": ["B", "C", "D"], "answer": "C",
          "unit": None, "precision": None},
    "2": {"question_type": "free_form", "answer_type": "float", "choices": None, "answer": "1.2",
          "unit": "centimeters", "precision": 1.0},
    "3": {"question_type": "free_form", "answer_type": "integer", "choices": None, "answer": "4",
          "unit": None, "precision": None},
    "4": {"question_type": "free_form", "answer_type": "list", "choices": None, "answer": "[0, 2]",
          "unit": None, "precision": 1.0},
}  # fmt: skip


def rows() -> dict[str, dict[str, Any]]:
    return {
        pid: {"pid": pid, "question": f"What is shown in {pid}?", "image": f"images/{pid}.png", **row,
              "metadata": {"language": "english"}, "query": "Hint: ..."}
        for pid, row in MATHVISTA.items()
    }  # fmt: skip


def mathvista(folder: Path) -> Task:
    (folder / "images").mkdir()
    for pid in MATHVISTA:
        (folder / "images" / f"{pid}.png").write_bytes(png(int(pid)))
    (folder / "annot_testmini.json").write_text(json.dumps(rows()), encoding="utf-8")
    return load(Dataset("mathvista", name="mathvista", path=str(folder)))


@pytest.mark.parametrize(
    ("pid", "reply", "score"),
    [
        ("1", "B", 1.0),  # the label of the option C
        ("1", "C", 0.0),
        ("2", "1.23", 1.0),  # rounded to one decimal it is the gold
        ("2", "1.26", 0.0),
        ("3", "4", 1.0),
        ("3", "4.1", 0.0),
        ("4", "[0, 2]", 1.0),
    ],
)
def test_mathvista_from_its_official_files(pid: str, reply: str, score: float, tmp_path: Path) -> None:
    task = mathvista(tmp_path)
    question = task.item(pid).question
    assert [image.digest for image in question.images] == [hashlib.sha256(png(int(pid))).hexdigest()]
    answer = task.reader(question).read("answer", f"Answer: {reply}").value
    assert task.grade(pid, answer) == score


def test_the_unit_of_a_question_is_shown_and_rounded_answers_vote_together(tmp_path: Path) -> None:
    task = mathvista(tmp_path)
    question = task.item("2").question
    assert question.text.endswith("centimeters")
    assert task.reader(question).same("1.24", "1.2")
    assert [label for label, _ in task.item("1").question.options] == ["A", "B", "C"]


def test_pathvqa_has_closed_and_open_questions(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow (the extra `data`) is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    answers = ["yes", "no", "in the canals of hering"]
    table = {"image": [{"bytes": png(k), "path": None} for k in range(3)],
             "question": [f"Question {k}?" for k in range(3)], "answer": answers}  # fmt: skip
    parquet.write_table(pyarrow.table(table), tmp_path / "test-00000-of-00001.parquet")
    task = load(Dataset("pathvqa", name="pathvqa", path=str(tmp_path)))
    items = sorted(task.items, key=lambda item: item.question.text)
    assert [(item.kind, item.gold) for item in items] == [
        ("yesno", ("yes",)), ("yesno", ("no",)), ("text", (answers[2],)),
    ]  # fmt: skip
    replies = ("Yes, it is.", "Answer: False", "Answer: In the canals of Hering.")
    for item, reply in zip(items, replies, strict=True):
        value = task.reader(item.question).read("answer", reply).value
        assert task.grade(item.question.id, value) == 1.0
    closed = load(Dataset("pathvqa", name="pathvqa", path=str(tmp_path), subset=("yes", "no")))
    assert closed.kind == "yesno"


class Image:
    """The type of columns with images, as the library `datasets` has it: it decodes rows unless told otherwise."""

    def __init__(self, decode: bool = True) -> None:
        self.decode = decode


class Table:
    """A table of the hub with one image."""

    def __init__(self, features: dict[str, Image]) -> None:
        self.features = features

    def cast_column(self, column: str, feature: Image) -> Table:
        return Table({**self.features, column: feature})

    def __iter__(self) -> Any:
        row: dict[str, Any] = {"question": "Is it grey?", "answer": "yes"}
        for column, feature in self.features.items():
            row[column] = object() if feature.decode else {"bytes": png(9), "path": None}
        yield row


def test_images_of_the_hub_stay_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("datasets")
    module.load_dataset = lambda *_, **__: Table({"image": Image()})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", module)
    (question,) = load(Dataset("pathvqa", name="pathvqa")).questions
    assert question.images[0].digest == hashlib.sha256(png(9)).hexdigest()
