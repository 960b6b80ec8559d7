"""What a debate was about and who was chosen in it: texts, options, golds and images of questions, and choices."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from cortexdsl.cli.main import main
from cortexdsl.plan import compile_spec
from cortexdsl.plan.kept.store import plan_record
from cortexdsl.plan.rehearsal.estimate import Estimate
from cortexdsl.records import Record
from cortexdsl.terms import Choice
from cortexdsl.view.index.store import Store
from cortexdsl.view.pages.debate import debate_as_shown
from cortexdsl.view.pages.questions import learn_questions, read_question
from tests.tasks.test_images import png, uri
from tests.view.made import records


def store_in(folder: Path) -> Store:
    folder.mkdir(parents=True, exist_ok=True)
    store = Store(folder)
    store.prepare()
    return store


def test_imported_questions_are_those_of_the_transcripts(tmp_path: Path) -> None:
    """With choices and a gold, without either, and without a text."""
    lines = [
        {"id": "q1", "dataset": "quiz", "question": "Which is red?", "choices": ["grass", "blood"], "answer": "B",
         "context": "Colours.", "agents": [["Answer: B"]]},
        {"id": "q1", "dataset": "sums", "question": "3 + 4?", "agents": [["7"]]},
        {"id": "q2", "dataset": "sums", "agents": [["8"]]},
    ]  # fmt: skip
    (tmp_path / "old.jsonl").write_text("\n".join(map(json.dumps, lines)))
    out = tmp_path / "results" / "old"
    assert main(["import", str(tmp_path / "old.jsonl"), "--out", str(out)]) == 0
    store = store_in(out)
    assert learn_questions(store, {}, out) == ""
    assert read_question(store, "quiz", "q1") == {
        "text": "Which is red?", "options": [["A", "grass"], ["B", "blood"]], "context": "Colours.", "gold": ["B"],
        "images": [],
    }  # fmt: skip
    plain = {"options": [], "context": "", "gold": [], "images": []}
    assert read_question(store, "sums", "q1") == {"text": "3 + 4?", **plain}
    assert read_question(store, "sums", "q2") == {"text": "(not recorded)", **plain}


def test_without_plan_and_questions_it_says_why(tmp_path: Path) -> None:
    assert "no plan.json" in learn_questions(store_in(tmp_path), {}, tmp_path)
    (tmp_path / "questions.jsonl").write_text('{"dataset": "sums"}\n')
    assert "questions.jsonl cannot be read" in learn_questions(store_in(tmp_path), {}, tmp_path)


def test_images_are_shown_as_long_as_they_are_those_that_were_shown(tmp_path: Path) -> None:
    """One in the row, one in a file; the file is then another, and the explorer says so in place of showing it."""
    (tmp_path / "a.png").write_bytes(png(1))
    row = {"id": "q1", "question": "What?", "answer": "black", "image": ["a.png", uri(png(2))]}
    (tmp_path / "own.jsonl").write_text(json.dumps(row))
    (tmp_path / "spec.yaml").write_text(
        "title: Is it seen?\n"
        f"dataset: {{file: {tmp_path / 'own.jsonl'}, kind: text, images: image}}\n"
        "models: {small: {model: builtin/solver}}\nagents: [{name: one, model: small}]\n"
        "methods: {cot: {protocol: cot}}\n"
    )
    plan = compile_spec(str(tmp_path / "spec.yaml"))
    store = store_in(tmp_path / "results")
    assert learn_questions(store, plan_record(plan, Estimate(), {}), tmp_path / "results") == ""
    (label,) = plan.tasks
    found = read_question(store, label, "q1")
    assert found is not None
    assert [image["uri"] for image in found["images"]] == [uri(png(1)), uri(png(2))]
    (tmp_path / "a.png").write_bytes(png(3))
    again = read_question(store, label, "q1")
    assert again is not None
    assert [image["uri"] for image in again["images"]] == [None, uri(png(2))]
    assert "has changed" in again["images"][0]["why"]


def test_a_debate_shows_who_was_chosen() -> None:
    (record, *_) = records("full")
    choice = Choice(3, 1, "unsure", ("ann", "bob"), (0.25, 0.0), ("ann",))
    shown = debate_as_shown(Record(record.header, replace(record.debate, choices=(choice,))))
    assert json.loads(json.dumps(shown["choices"])) == [
        {
            "turn": 3,
            "round": 1,
            "role": "unsure",
            "candidates": ["ann", "bob"],
            "weight": [0.25, 0.0],
            "chosen": ["ann"],
        }
    ]
    assert debate_as_shown(record)["choices"] == []
