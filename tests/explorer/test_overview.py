"""What the pages show of an experiment, a debate and a question."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from cortexdsl.cli.main import main
from cortexdsl.core import Deferred, Measured, Model, RoleChoice
from cortexdsl.explorer.details import debate_as_shown, index_questions, read_question, turns_as_shown
from cortexdsl.explorer.experiment import OpenExperiment
from cortexdsl.explorer.overview import overview
from cortexdsl.explorer.store import IndexStore
from cortexdsl.plan.compiler import compile_spec
from cortexdsl.plan.persistence.store import plan_record
from cortexdsl.plan.rehearsal.estimate import CostEstimate
from cortexdsl.records import Header, Record
from tests.explorer.experiments import records
from tests.tasks.test_images import png, uri


def test_metrics_and_verdicts_carry_their_unit(indexed: OpenExperiment) -> None:
    """Accuracy is a share of 1; the claim of the made experiment is a difference of accuracies."""
    shown = overview(indexed.place)
    assert {row["metric"]: row["unit"] for row in shown["metrics"]}["accuracy"] == "share"
    assert {row["unit"] for row in shown["metrics"] if row["metric"].endswith("tokens")} <= {"number"}
    assert [row["unit"] for row in shown["verdicts"]] == ["points"]


def test_a_claim_that_cannot_be_read_is_shown_as_a_plain_number(opened: OpenExperiment) -> None:
    """Results of another program or version."""
    (opened.place.root / "hypotheses.csv").write_text("claim,estimate,verdict\nno claim of ours,0.1,undecided\n")
    assert overview(opened.place)["verdicts"][0]["unit"] == "number"


def store_in(folder: Path) -> IndexStore:
    folder.mkdir(parents=True, exist_ok=True)
    store = IndexStore(folder)
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
    assert index_questions(store, {}, out) == ""
    assert read_question(store, "quiz", "q1") == {
        "text": "Which is red?", "options": [["A", "grass"], ["B", "blood"]], "context": "Colours.", "gold": ["B"],
        "images": [],
    }  # fmt: skip
    plain = {"options": [], "context": "", "gold": [], "images": []}
    assert read_question(store, "sums", "q1") == {"text": "3 + 4?", **plain}
    assert read_question(store, "sums", "q2") == {"text": "(not recorded)", **plain}


def test_without_plan_and_questions_it_says_why(tmp_path: Path) -> None:
    assert "no plan.json" in index_questions(store_in(tmp_path), {}, tmp_path)
    (tmp_path / "questions.jsonl").write_text('{"dataset": "sums"}\n')
    assert "questions.jsonl cannot be read" in index_questions(store_in(tmp_path), {}, tmp_path)


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
    assert index_questions(store, plan_record(plan, CostEstimate(), {}), tmp_path / "results") == ""
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
    choice = RoleChoice(3, 1, "unsure", ("ann", "bob"), (0.25, 0.0), ("ann",))
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


def test_a_question_that_was_handed_on_shows_both_debates_and_which_one_answered() -> None:
    first, second = (record.debate for record in (records("full")[0], records("sparse")[0]))
    unsure = Measured("weighted", 0.4)
    own = first.answer
    whole = replace(
        first, answer="42", confidence=unsure, deferred=Deferred("sparse", 0.8, own, replace(second, answer="42"))
    )
    worths = [0.0] * sum(turn.reads == "answer" for turn in first.turns)
    shown = debate_as_shown(Record(Header("made", "sums", "full", 1), whole), worths, score=1.0)
    later = shown["deferred"]["debate"]
    assert (shown["answer"], shown["own"], shown["sure"]) == ("42", own, 0.4)
    assert (shown["deferred"]["to"], shown["deferred"]["below"]) == ("sparse", 0.8)
    assert (later["own"], later["own_worth"], later["deferred"]) == ("42", 1.0, None)
    assert [turn["call"] for turn in turns_as_shown(shown)] == [turn.call for turn in (*first.turns, *second.turns)]


def test_a_turn_shows_the_model_of_its_step() -> None:
    (record, *_) = records("full")
    step = record.debate.turns[-1].step
    large = replace(record.debate, step_models={step: Model("large", "openai/large")})
    shown = debate_as_shown(Record(record.header, large))
    assert [turn["model"] for turn in shown["turns"]] == [
        "large" if turn.step == step else None for turn in large.turns
    ]
    assert {turn["model"] for turn in shown["turns"]} == {None, "large"}
