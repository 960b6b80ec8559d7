"""Real benchmark files in their official formats: counts, golds, and three items each checked by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.core import Dataset, Question
from cortexdsl.tasks.load import load
from cortexdsl.tasks.task import Task

SQUAD, SQUAD2 = "squad_v1.1_xquad.en.json", "squad_dev-v2.0.json"

# file -> (dataset, questions, {beginning of a question: its golds})
FILES: dict[str, tuple[str, int, dict[str, tuple[str, ...]]]] = {
    "gsm8k_test.jsonl": (
        "gsm8k",
        100,
        {"Janet\u2019s ducks": ("18",), "Josh decides to try": ("70000",), "Every day, Wendi": ("20",)},
    ),
    "math500.jsonl": (
        "math500",
        100,
        {"If $2^8=4^x$": ("4",), "For what real values": (r"(-\sqrt{3},\sqrt{3})",), "The smallest distance": ("17",)},
    ),
    "math_hendrycks_test.jsonl": (
        "math",
        100,
        {"If $2^8=4^x$": ("4",), "For what real values": (r"(-\sqrt{3},\sqrt{3})",), "The smallest distance": ("17",)},
    ),
    "mmlu": (
        "mmlu",
        228,
        {"A lesion causing": ("A",), "What can murtis": ("D",), "The quantum efficiency of a photon": ("B",)},
    ),
    "mmlu_pro_test.jsonl": ("mmlu-pro", 105, {"Typical advertising": ("I",)}),
    "ARC-Challenge-Test.jsonl": ("arc-challenge", 100, {"An astronomer observes": ("C",)}),
    "boolq_dev.jsonl": (
        "boolq",
        21,
        {"does ethanol take": ("no",), "is house tax": ("yes",), "is pain experienced": ("yes",)},
    ),
    "bbh": (
        "bbh",
        216,
        {
            "not ( True ) and ( True ) is": ("False",),
            "Sort the following words alphabetically: List: syndrome": ("syndrome therefrom",),
            "Which of the following is a humorous edit of this artist or movie name: 'rain man'?": ("A",),
        },
    ),
    SQUAD: (
        "squad",
        200,
        {"How many points did the Panthers": ("308",), "How many career sacks": ("136",), "How many tackles": ("118",)},
    ),
    SQUAD2: (
        "squad2",
        200,
        {"Who gave their name": ("",), "Who did King Charles": ("",), "When did the Frankish": ("",)},
    ),
    "hotpot_dev_distractor_v1.json": ("hotpotqa", 200, {"What government position was held": ("Chief of Protocol",)}),
    "2wikimultihopqa_dev.json": (
        "2wikimultihopqa",
        2,
        {"When did Lothair Ii": ("20 March 851",), "Which film was": ("Phoolwari",)},
    ),
    "fever_paper_dev.jsonl": ("fever", 100, {"Colin Kaepernick became": ("NOT ENOUGH INFO",)}),
    "NQ-open.dev.jsonl": (
        "nq-open",
        100,
        {
            "when was the last time anyone": ("14 December 1972 UTC", "December 1972"),
            "how many seasons of the bastard": ("one", "one season"),
            "who won last year's ncaa": ("South Carolina",),
        },
    ),
    "triviaqa_sample.json": (
        "triviaqa",
        1,
        {"Which Lloyd Webber": ("west sunset boulevard", "sunset blvd", "sunset boulevard", "sunset bulevard")},
    ),
    "longbench": ("longbench", 40, {"全国美国文学研究会的第十八届": ("厦门大学。",), "iOS是苹果公司": ("段落27",)}),
}

# golds by the datasets' own ids
BY_ID = {
    "mmlu_pro_test.jsonl": {"70": ("I",), "72": ("J",), "74": ("G",)},
    "ARC-Challenge-Test.jsonl": {"Mercury_7175875": ("C",), "Mercury_SC_408547": ("C",), "MCAS_2006_9_44": ("D",)},
    "fever_paper_dev.jsonl": {"91198": ("NOT ENOUGH INFO",), "137334": ("SUPPORTS",), "111897": ("REFUTES",)},
    SQUAD2: {"56de148dcffd8e1900b4b5be": ("30,000",), "56de1563cffd8e1900b4b5c4": ("the Adriatic", "Adriatic")},
    "hotpot_dev_distractor_v1.json": {
        "5a85ea095542994775f606a8": ("Animorphs",),
        "5a85b2d95542997b5ce40028": ("Eenasul Fateh",),
    },
    "longbench": {
        "d2d972f84c899de8af8b25953a9c19a1728ec30243ec890f": ("段落2",),
        "94ac1d26cf68a448f5bddf4b5400eab51717c26ab3127df0": ("6.5亿元。",),
    },
}


def task_of(shared_data: Path, file: str, **words: object) -> Task:
    return load(Dataset(label=file, name=FILES[file][0], path=str(shared_data / file), **words))  # type: ignore[arg-type]


def beginning(task: Task, text: str) -> Question:
    return next(question for question in task.questions if question.text.startswith(text))


@pytest.mark.parametrize("file", FILES)
def test_counts_and_golds(shared_data: Path, file: str) -> None:
    task = task_of(shared_data, file)
    _, count, checked = FILES[file]
    assert len(task.questions) == count
    assert all(task.gold(question.id) for question in task.questions)
    for text, gold in checked.items():
        assert task.gold(beginning(task, text).id) == gold
    for question_id, gold in BY_ID.get(file, {}).items():
        assert task.gold(question_id) == gold


@pytest.mark.parametrize("file", FILES)
def test_a_gold_given_as_asked_scores_in_full_and_nonsense_scores_nothing(shared_data: Path, file: str) -> None:
    task = task_of(shared_data, file)
    for question in task.questions[:30]:
        gold = task.gold(question.id)[0] or "unanswerable"
        reading = task.reader(question).read("answer", f"I see.\nAnswer: {gold}\nConfidence: 0.9")
        assert task.grade(question.id, reading.value) == pytest.approx(1.0, abs=1e-6), (question, gold)
        assert task.grade(question.id, "zqzq") == 0.0


def test_passages_options_groups_and_clusters(shared_data: Path) -> None:
    squad = task_of(shared_data, SQUAD)
    question = beginning(squad, "How many points did the Panthers")
    assert question.context.startswith("The Panthers defense gave up just 308 points")
    assert len({each.cluster for each in squad.questions}) == len({each.context for each in squad.questions}) == 35
    bbh = task_of(shared_data, "bbh")
    edit = beginning(bbh, "Which of the following is a humorous edit of this artist or movie name: 'rain man'?")
    assert edit.options == (("A", "ruin man"), ("B", "rains man"), ("C", "rain men"), ("D", "rainmman"))
    assert "Options" not in edit.text
    assert len({bbh.group(each.id) for each in bbh.questions}) == 27
    assert bbh.kind == "mixed"
    mmlu = task_of(shared_data, "mmlu")
    assert len({mmlu.group(each.id) for each in mmlu.questions}) == 57
    assert all(len(each.options) == 4 for each in mmlu.questions)
    assert len(task_of(shared_data, "mmlu", subset=("medical",)).questions) == 24
    assert len(task_of(shared_data, "mmlu", split="dev").questions) == 285
    assert len(task_of(shared_data, "mmlu", size=57, stratify="subject").questions) == 57
    pro = task_of(shared_data, "mmlu_pro_test.jsonl", subset=("computer science",))
    assert {pro.group(each.id) for each in pro.questions} == {"computer science"}
    assert task_of(shared_data, "fever_paper_dev.jsonl").kind == "labels"


def test_a_context_question_asks_what_is_to_be_done(shared_data: Path) -> None:
    task = task_of(shared_data, "longbench")
    assert all(question.text and question.context for question in task.questions)
    assert {task.group(question.id) for question in task.questions} == {"multifieldqa_zh", "passage_retrieval_zh"}
