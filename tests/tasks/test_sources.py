"""Official formats, made small: each benchmark's rows as they are on disk and on the hub, and what becomes of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.core import Dataset
from cortexdsl.errors import DataError
from cortexdsl.tasks.load import load
from cortexdsl.tasks.registry import entry_of, registry
from cortexdsl.tasks.sources.files import rows_of
from cortexdsl.tasks.task import Task
from tests.tasks.hub import fake_hub

SQUAD_ROW = {
    "id": "q1",
    "question": "Where?",
    "context": "In Rome.",
    "answers": {"text": ["Rome", "in Rome"], "answer_start": [3, 0]},
}

# dataset -> (hub row, question's beginning, golds, labels of its options)
HUB_ROWS: dict[str, tuple[dict[str, Any], str, tuple[str, ...], str]] = {
    "gsm8k": ({"question": "2+2?", "answer": "So 4.\n#### 4"}, "2+2?", ("4",), ""),
    "gsm-ic": ({"new_question": "2+2, Al?", "original_question": "2+2?", "answer": "4"}, "2+2, Al?", ("4",), ""),
    "math": ({"problem": "1/2?", "type": "Algebra", "solution": r"It is $\boxed{\frac{1}{2}}$."}, "1/2?", ("1/2",), ""),
    "math500": (
        {"problem": "1/2?", "answer": r"\frac12", "subject": "Algebra", "unique_id": "t/1.json"},
        "1/2?",
        ("1/2",),
        "",
    ),
    "mmlu": (
        {"question": "Q", "choices": ["a", "b", "c", "d"], "answer": 2, "subject": "anatomy"},
        "Q",
        ("C",),
        "ABCD",
    ),
    "mmlu-pro": (
        {"question": "Q", "options": ["a", "b", "N/A"], "answer": "B", "question_id": 7, "category": "law"},
        "Q",
        ("B",),
        "AB",
    ),
    "arc-challenge": (
        {"id": "x", "question": "Q", "choices": {"text": ["a", "b"], "label": ["1", "2"]}, "answerKey": "2"},
        "Q",
        ("2",),
        "12",
    ),
    "boolq": ({"question": "is it", "answer": True, "passage": "It is."}, "is it", ("yes",), ""),
    "bbh": (
        {"subset": "snarks", "input": "Which?\nOptions:\n(A) one\n(B) two", "target": "(B)"},
        "Which?",
        ("B",),
        "AB",
    ),
    "squad": (SQUAD_ROW, "Where?", ("Rome", "in Rome"), ""),
    "squad2": (SQUAD_ROW | {"answers": {"text": [], "answer_start": []}}, "Where?", ("",), ""),
    "triviaqa": (
        {
            "question": "Q",
            "question_id": "t1",
            "answer": {"value": "B", "aliases": ["B", "Bee"], "normalized_aliases": ["b", "bee"]},
        },
        "Q",
        ("b", "bee"),
        "",
    ),
    "nq-open": ({"question": "Q", "answer": ["x", "y"]}, "Q", ("x", "y"), ""),
    "hotpotqa": ({"id": "h", "question": "Q", "answer": "yes", "type": "comparison"}, "Q", ("yes",), ""),
    "2wikimultihopqa": ({"_id": "w", "question": "Q", "answer": "x"}, "Q", ("x",), ""),
    "fever": ({"id": 1, "claim": "C", "label": "REFUTES", "evidence_id": 3}, "C\nIs this claim", ("REFUTES",), ""),
    "longbench": (
        {
            "_id": "l",
            "input": "Q",
            "context": "c",
            "answers": ["x"],
            "dataset": "qasper",
            "all_classes": None,
            "subset": "qasper",
        },
        "Q",
        ("x",),
        "",
    ),
}


def from_file(tmp_path: Path, name: str, rows: list[dict[str, Any]], **words: Any) -> Task:
    path = tmp_path / f"{name}.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return load(Dataset(name, name, path=str(path), **words))


@pytest.mark.parametrize("name", [name for name in HUB_ROWS if name == "bbh" or not registry()[name].records])
def test_a_row_as_the_hub_has_it(tmp_path: Path, name: str) -> None:
    row, text, gold, labels = HUB_ROWS[name]
    if name == "bbh":
        row = {"examples": [row]}
        path = tmp_path / "snarks.json"
        path.write_text(json.dumps(row), encoding="utf-8")
        task = load(Dataset(name, name, path=str(path)))
    else:
        task = from_file(tmp_path, name, [row])
    question = task.questions[0]
    assert question.text.startswith(text)
    assert task.gold(question.id) == gold
    assert "".join(label for label, _ in question.options) == labels


def test_hub_ids_are_tried_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """`datasets` 4 runs no loading scripts: the first id of BBH fails and the re-upload is taken."""
    row = {"input": "Which?\nOptions:\n(A) one\n(B) two", "target": "(B)"}
    asked = fake_hub(monkeypatch, {("SaylorTwift/bbh", "snarks"): [row]})
    task = load(Dataset("bbh", "bbh", subset=("snarks",)))
    assert [each.path for each in asked] == ["lukaemon/bbh", "SaylorTwift/bbh"]
    assert task.gold(task.questions[0].id) == ("B",)
    assert task.group(task.questions[0].id) == "snarks"


@pytest.mark.parametrize("name", ["squad", "squad2", "triviaqa", "gsm8k", "math", "mmlu"])
def test_hub_rows_need_no_file(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    row, text, gold, _ = HUB_ROWS[name]
    first = registry()[name].hub[0]
    configs = registry()[name].hub_subsets if first.get("config") == "*" else (first.get("config"),)
    tables = {(first["id"], config): [row] for config in configs[:1]} | {
        (first["id"], config): [] for config in configs[1:]
    }
    asked = fake_hub(monkeypatch, tables)
    task = load(Dataset(name, name))
    assert task.gold(task.questions[0].id) == gold
    assert task.questions[0].text.startswith(text)
    assert {each.split for each in asked} == {registry()[name].split}


def test_no_hub_id_says_what_each_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_hub(monkeypatch, {})
    with pytest.raises(DataError, match="openai/gsm8k: RuntimeError: Dataset scripts"):
        load(Dataset("x", "gsm8k"))


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(DataError, match=r"cortexdsl\[data\]"):
        load(Dataset("x", "gsm8k"))


def test_fever_has_one_question_for_many_evidence_rows(tmp_path: Path) -> None:
    row = HUB_ROWS["fever"][0]
    task = from_file(tmp_path, "fever", [row, row | {"evidence_id": 4}])
    assert len(task.questions) == 1


def test_titled_pages_can_be_asked_for_as_the_passage(tmp_path: Path) -> None:
    """HotpotQA's pages, as they are on disk and on the hub, make the same passage."""
    disk = {
        "_id": "h",
        "question": "Q",
        "answer": "x",
        "context": [["Rome", ["A city.", " Old."]], ["Po", ["A river."]]],
    }
    hub = disk | {"context": {"title": ["Rome", "Po"], "sentences": [["A city.", " Old."], ["A river."]]}}
    for row in (disk, hub):
        task = from_file(tmp_path, "hotpotqa", [row], fields={"context": "context"})
        assert task.questions[0].context == "Rome: A city. Old.\nPo: A river."
    assert from_file(tmp_path, "hotpotqa", [disk]).questions[0].context == ""


def gpqa(tmp_path: Path, **words: Any) -> Task:
    head = (
        "Record ID,Question,Correct Answer,Incorrect Answer 1,Incorrect Answer 2,Incorrect Answer 3,High-level domain\n"
    )
    lines = "".join(f"r{n},Q{n}?,right,w1,w2,w3,Physics\n" for n in range(40))
    (tmp_path / "gpqa_main.csv").write_text(head + lines, encoding="utf-8")
    return load(Dataset("gpqa", "gpqa", path=str(tmp_path), **words))


def test_gpqa_options_are_always_shuffled_and_the_gold_follows(tmp_path: Path) -> None:
    """Unshuffled, the right option would always be A."""
    for words in ({}, {"shuffle_options": False}):
        task = gpqa(tmp_path, **words)
        assert {task.gold(question.id)[0] for question in task.questions} == set("ABCD")
        for question in task.questions:
            assert dict(question.options)[task.gold(question.id)[0]] == "right"
    assert gpqa(tmp_path).questions == gpqa(tmp_path).questions
    assert gpqa(tmp_path, seed=1).questions != gpqa(tmp_path).questions


def test_options_of_any_dataset_can_be_shuffled(tmp_path: Path) -> None:
    rows = [HUB_ROWS["mmlu"][0] | {"question": f"Q{n}"} for n in range(40)]
    plain, shuffled = (from_file(tmp_path, "mmlu-pro", rows and _as_pro(rows), shuffle_options=s) for s in (None, True))
    assert {plain.gold(q.id) for q in plain.questions} == {("C",)}
    assert len({shuffled.gold(q.id) for q in shuffled.questions}) == 4
    assert all(dict(q.options)[shuffled.gold(q.id)[0]] == "c" for q in shuffled.questions)


def _as_pro(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"question": row["question"], "options": row["choices"], "answer": "C", "question_id": n, "category": "law"}
        for n, row in enumerate(rows)
    ]


def test_official_math_has_one_file_a_problem(tmp_path: Path) -> None:
    for folder, name in (("algebra", "1"), ("geometry", "1")):
        path = tmp_path / "test" / folder / f"{name}.json"
        path.parent.mkdir(parents=True)
        path.write_text(
            json.dumps({"problem": folder, "type": folder.title(), "solution": r"\fbox{3}"}), encoding="utf-8"
        )
    task = load(Dataset("math", "math", path=str(tmp_path)))
    assert {question.id for question in task.questions} == {"algebra-1", "geometry-1"}
    assert {task.group(question.id) for question in task.questions} == {"Algebra", "Geometry"}


def test_mmlu_official_files_have_no_header(tmp_path: Path) -> None:
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "anatomy_test.csv").write_text('"Which, of these?",a,b,c,"d, e",D\n', encoding="utf-8")
    task = load(Dataset("mmlu", "mmlu", path=str(tmp_path)))
    question = task.questions[0]
    assert question.options[3] == ("D", "d, e")
    assert task.gold(question.id) == ("D",)
    (tmp_path / "test" / "anatomy_test.csv").write_text("Which, of these?,a,b,c,d,D\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"anatomy_test.csv:1: 7 cells where 6 are expected"):
        load(Dataset("mmlu", "mmlu", path=str(tmp_path)))


def test_squad_files_are_nested_and_questions_inherit_their_passage(tmp_path: Path) -> None:
    qas = [{"id": "1", "question": "Where?", "answers": [{"text": "Rome", "answer_start": 3}], "is_impossible": False}]
    qas += [
        {"id": "2", "question": "When?", "answers": [], "is_impossible": True, "plausible_answers": [{"text": "x"}]}
    ]  # type: ignore[list-item]
    path = tmp_path / "dev-v2.0.json"
    path.write_text(
        json.dumps({"data": [{"title": "t", "paragraphs": [{"context": "In Rome.", "qas": qas}]}]}), encoding="utf-8"
    )
    task = load(Dataset("squad2", "squad2", path=str(tmp_path)))
    assert {question.context for question in task.questions} == {"In Rome."}
    assert (task.gold("1"), task.gold("2")) == (("Rome",), ("",))
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(DataError, match="no list 'data'"):
        load(Dataset("squad2", "squad2", path=str(tmp_path)))


def test_every_entry_names_its_source_terms_and_way_in() -> None:
    for name, entry in registry().items():
        assert entry.title, name
        assert entry.source, name
        assert entry.licence, name
        assert entry.generated or (entry.hub and entry.files), name
    assert len(registry()["bbh"].subsets) == 27
    assert len(registry()["longbench"].subsets) == 21


def test_a_mistake_in_the_table_names_the_entry_and_the_nearest_word() -> None:
    with pytest.raises(DataError, match="dataset new: unknown word 'qestion'\n    did you mean 'question'"):
        entry_of("new", {"qestion": "q"})
    with pytest.raises(DataError, match="unknown kind 'numbr'"):
        entry_of("new", {"kind": "numbr"})
    with pytest.raises(DataError, match="unknown gold 'hash'"):
        entry_of("new", {"gold": "hash"})
    with pytest.raises(DataError, match="no metric 'acc'"):
        entry_of("new", {"subsets": {"a": {"metric": "acc"}}})


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv"])
def test_a_file_in_another_encoding_is_one_clear_error(tmp_path: Path, name: str) -> None:
    """0xe9 is an e with an accent in Latin-1, and begins nothing in UTF-8 here."""
    path = tmp_path / name
    path.write_bytes(b'{"question": "caf\xe9", "answer": "1"}\n')
    with pytest.raises(DataError, match="byte 0xe9 is not UTF-8"):
        list(rows_of(path))


@pytest.mark.parametrize(("size", "remedy"), [(0, "1 question or more"), (1_000_001, "at most 1,000,000 questions")])
def test_a_generated_dataset_has_bounds(size: int, remedy: str) -> None:
    """A hundred million questions, which a spec may write, would fill the memory of every job before a word is said."""
    with pytest.raises(DataError, match=remedy) as refused:
        load(Dataset("arithmetic", name="arithmetic", size=size))
    assert refused.value.word == "size"
