"""Known datasets: a row of each official format, written here, with what is asked and the gold by hand."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cortexdsl.core import Dataset
from cortexdsl.tasks.load import load

REDUX = {
    "question": "Which is prime?",
    "choices": ["4", "6", "7", "9"],
    "answer": 2,
    "source": "x",
    "correct_answer": None,
}
MED = {"question": "A man of 60 has a cough. What next?", "answer": "X-ray", "answer_idx": "B", "meta_info": "step1"}


class Format(NamedTuple):
    """A dataset, its official file, rows of it, and the first question's golds, with some text that it shows."""

    name: str
    file: str
    rows: list[dict[str, Any]]
    gold: tuple[str, ...]
    shows: str
    right: str
    wrong: str
    split: str | None = None
    subset: tuple[str, ...] = ()


FORMATS = [
    Format("gsm-hard", "gsmhardv2.jsonl", [{"input": "2000001 * 3?", "code": "-", "target": 6000003.0}],
           ("6000003",), "2000001 * 3?", "6000003.0005", "6000004"),
    Format("gsm-plus", "GSM-Plus.json",
           [{"question": "Ann has 3 and buys 4.", "solution": "7", "answer": "7",
             "perturbation_type": "digit expansion", "seed_question": "s",
             "seed_solution": "s", "seed_answer": "7"}],
           ("7",), "Ann has 3", "7.0", "8"),
    Format("gsm-plus", "GSM-Plus.json",
           [{"question": "Ann has some.", "solution": "-", "answer": "None", "perturbation_type": "critical thinking",
             "seed_question": "s", "seed_solution": "s", "seed_answer": "7"}], ("None",), 'answer "None"', "None", "7",
           subset=("critical thinking",)),
    Format("aime2024", "aime_2024.jsonl",
           [{"id": 60, "problem": "Find m + n.", "solution": "-", "answer": "073", "url": "-", "year": "2024"}],
           ("73",), "Find m + n.", "073", "72"),
    Format("aime2025", "aime_2025.jsonl",
           [{"problem_idx": 1, "answer": 70, "problem": "Find the sum.", "problem_type": ["Number Theory"]}],
           ("70",), "Find the sum.", "70", "71"),
    Format("mmlu-redux", "virology.jsonl",
           [{**REDUX, "error_type": "ok"}, {**REDUX, "error_type": "wrong_groundtruth"}],
           ("C",), "Which is prime?", "C", "B"),
    Format("medqa", "phrases_no_exclude_test.jsonl",
           [{**MED, "options": {"A": "Rest", "B": "X-ray", "C": "None", "D": "CT"}, "metamap_phrases": []}],
           ("B",), "A man of 60", "B", "A"),
    Format("pubmedqa", "train.jsonl",
           [{"pubid": 1, "question": "Does it help?", "context":
             {"contexts": ["We asked.", "It did."], "labels": ["A", "B"], "meshes": []}, "long_answer": "It does.",
             "final_decision": "maybe"}], ("maybe",), "Does it help?", "maybe", "yes"),
    Format("commonsenseqa", "dev_rand_split.jsonl",
           [{"answerKey": "E", "id": "1", "question": {"question_concept": "c", "stem": "Where is a bank?", "choices":
             [{"label": label, "text": label * 2} for label in "ABCDE"]}}], ("E",), "Where is a bank?", "E", "A"),
    Format("strategyqa", "strategyqa_train.json",
           [{"qid": "q", "term": "Rome", "description": "-", "question": "Is Rome older than Oslo?", "answer": True,
             "facts": []}], ("yes",), "Is Rome older", "yes", "no"),
    Format("winogrande", "dev.jsonl",
           [{"qID": "1", "sentence": "Ann met Bea because _ was near.", "option1": "Ann", "option2": "Bea",
             "answer": "2"}],
           ("B",), "Which option fills the blank?", "B", "A"),
    Format("musr", "murder_mysteries.csv",
           [{"narrative": "It was dark.", "question": "Who did it?", "choices": "['Ann', 'Bea']", "answer_index": 1,
             "answer_choice": "Bea"}], ("B",), "Who did it?", "B", "A"),
    Format("arc-easy", "ARC-Easy-Test.jsonl",
           [{"id": "M1", "question": {"stem": "What melts?", "choices": [{"text": "ice", "label": "A"},
             {"text": "rock", "label": "B"}]}, "answerKey": "A"}], ("A",), "What melts?", "A", "B"),
    Format("scibench", "atkins.json",
           [{"problem_text": "How long?", "answer_latex": " 0.5", "answer_number": "0.50 ", "unit": " $\\mathrm{s}$",
             "source": "atkins", "problemid": "1.1", "comment": "", "solution": ""}],
           ("0.5",), "$\\mathrm{s}$", "0.52", "0.53"),
    Format("mathqa", "test.json",
           [{"Problem": "a shop has 1,000 pens .", "Rationale": "-", "options":
             "a ) rs . 400 , b ) 1 , 000 , c ) 30 , d ) data inadequate , e ) none of these", "correct": "b",
             "annotated_formula": "-", "linear_formula": "-", "category": "gain"}],
           ("B",), "a shop has", "b", "c"),
    Format("simpleqa", "simple_qa_test_set.csv",
           [{"metadata": "{'topic': 'Art'}", "problem": "Who painted it?", "answer": "Ann Lee"}],
           ("Ann Lee",), "Who painted it?", "ann lee", "bea lee"),
    Format("musique", "musique_ans_v1.0_dev.jsonl",
           [{"id": "2hop__1_2", "paragraphs": [{"idx": 0, "title": "Oslo", "paragraph_text": "Oslo is north.",
             "is_supporting": True}], "question": "What is north?", "question_decomposition": [], "answer": "Oslo",
             "answer_aliases": ["City of Oslo"], "answerable": True}],
           ("Oslo", "City of Oslo"), "What is north?", "city of oslo", "bergen"),
    Format("hle", "hle.jsonl",
           [{"id": "6687", "question": "Which group?", "image": image, "image_preview": None, "answer": answer,
             "answer_type": "exactMatch", "author_name": "-", "rationale": "-", "rationale_image": None,
             "raw_subject": "Algebra", "category": "Math", "canary": "-"}
            for image, answer in (("", "Klein four"), ("data:image/png;base64,AAAA", "seen"))],
           ("Klein four",), "Which group?", "the Klein four", "cyclic"),
    Format("drop", "drop_dataset_dev.json", {"nfl_1": {"passage": "Green scored 5 times, Peters 4.", "qa_pairs": [  # type: ignore[arg-type]
        {"question": "Who scored?", "query_id": "q1",
         "answer": {"number": "", "date": {"day": "", "month": "", "year": ""}, "spans": ["Green", "Peters"]},
         "validated_answers": [
             {"number": "", "date": {}, "spans": ["Peters", "Green"]},
             {"number": "2", "date": {}, "spans": []},
             {"number": "", "date": {"day": "7", "month": "May", "year": "1824"}, "spans": []},
             {"number": "", "date": {}, "spans": []}]}]}},
           ("Green; Peters", "Peters; Green", "2", "7 May 1824"), "Who scored?", "Peters; the Green", "Peterson"),
    Format("bbeh", "bbeh_word_sorting/task.json",
           {"canary": "-", "examples": [{"input": "Sort: b a", "target": "a, b"}]},  # type: ignore[arg-type]
           ("a, b",), "Sort: b a", "a, b", "b, a"),
]  # fmt: skip


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows), encoding="utf-8")
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.mark.parametrize("form", FORMATS, ids=[f"{form.name}-{form.gold[0]}" for form in FORMATS])
def test_a_row_of_the_official_format_is_read_and_graded(form: Format, tmp_path: Path) -> None:
    write(tmp_path / form.file, form.rows)
    is_folder = form.name != "pubmedqa"
    path = str(tmp_path if is_folder else tmp_path / form.file)
    task = load(Dataset(form.name, name=form.name, path=path, split=form.split, subset=form.subset))
    (question,) = task.questions
    assert task.gold(question.id) == form.gold
    assert form.shows in question.text
    reader = task.reader(question)
    for answer, score in ((form.right, 1.0), (form.wrong, 0.0)):
        assert task.grade(question.id, reader.read("answer", f"Answer: {answer}").value) == score


def test_passages_and_options_are_shown(tmp_path: Path) -> None:
    by_name = {form.name: form for form in FORMATS}
    shown = {}
    for name in ("pubmedqa", "musique", "musr", "medqa", "commonsenseqa", "mathqa"):
        form = by_name[name]
        write(tmp_path / form.file, form.rows)
        shown[name] = load(Dataset(name, name=name, path=str(tmp_path / form.file))).questions[0]
    assert shown["pubmedqa"].context == "We asked.\nIt did."
    assert shown["musique"].context == "Oslo is north."
    assert shown["musr"].context == "It was dark."
    assert shown["musr"].options == (("A", "Ann"), ("B", "Bea"))
    assert shown["medqa"].options[1] == ("B", "X-ray")
    assert [label for label, _ in shown["commonsenseqa"].options] == list("ABCDE")
    assert [text for _, text in shown["mathqa"].options] == [
        "rs . 400",
        "1 , 000",
        "30",
        "data inadequate",
        "none of these",
    ]


def test_languages_of_mgsm_are_subsets(tmp_path: Path) -> None:
    (tmp_path / "mgsm_de.tsv").write_text("Ann hat 3 und kauft 4.\t7\n", encoding="utf-8")
    (tmp_path / "mgsm_fr.tsv").write_text("Ann a 1,000 euros.\t1,000\n", encoding="utf-8")
    task = load(Dataset("mgsm", name="mgsm", path=str(tmp_path), subset=("de",)))
    assert [task.gold(question.id) for question in task.questions] == [("7",)]
    both = load(Dataset("mgsm", name="mgsm", path=str(tmp_path)))
    assert sorted(gold for question in both.questions for gold in both.gold(question.id)) == ["1000", "7"]


def test_gpqa_diamond_and_medmcqa(tmp_path: Path) -> None:
    row = {"Record ID": "r", "Question": "Why?", "Correct Answer": "this", "High-level domain": "Physics",
           **{f"Incorrect Answer {k}": f"no {k}" for k in (1, 2, 3)}}  # fmt: skip
    write(tmp_path / "gpqa_diamond.csv", [row])
    task = load(Dataset("gpqa-diamond", name="gpqa-diamond", path=str(tmp_path)))
    (question,) = task.questions
    assert dict(question.options)[task.gold("r")[0]] == "this"
    med = {"id": "m", "question": "Which?", "opa": "a", "opb": "b", "opc": "c", "opd": "d", "cop": 2,
           "choice_type": "single", "exp": "-", "subject_name": "Anatomy", "topic_name": None}  # fmt: skip
    write(tmp_path / "validation.jsonl", [med])
    task = load(Dataset("medmcqa", name="medmcqa", path=str(tmp_path / "validation.jsonl")))
    assert task.gold("m") == ("C",)
