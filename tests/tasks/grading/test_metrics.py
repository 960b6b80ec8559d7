"""Metrics: worked cases of each official script, and the outputs of real programs."""

from __future__ import annotations

import csv
import hashlib
import json
import marshal
import string
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortexdsl.core import Question
from cortexdsl.tasks.grading import metrics
from cortexdsl.tasks.grading.metrics import grade_all
from cortexdsl.tasks.judging import can_be_judged, text_grade, text_scores
from cortexdsl.tasks.reading.kinds import canonical_text
from cortexdsl.tasks.replies import GradedReply, grade_rows
from cortexdsl.tasks.task import Item, Task


def told_again(text: str) -> list[str]:
    """SQuAD's normalisation in other words, for plain ASCII text: words without marks, articles left out."""
    words = "".join(mark for mark in text.lower() if mark not in string.punctuation).split()
    return [word for word in words if word not in ("a", "an", "the")]


def official_f1(answer: str, golds: list[str]) -> float:
    def one(gold: str) -> float:
        said, wanted = Counter(told_again(answer)), Counter(told_again(gold))
        shared = sum(min(said[word], wanted[word]) for word in said)
        if not said or not wanted:
            return float(said == wanted)
        return 2 * shared / (said.total() + wanted.total())

    return max(map(one, golds))


def perturbed(gold: str) -> list[str]:
    words = gold.split()
    return [
        *(gold, gold.upper(), f"the {gold}.", f"  A {gold}!", f'"{gold}"', gold + " indeed", "it is " + gold, ""),
        *(
            " ".join(words[1:]),
            " ".join(words[::-1]),
            " ".join(words * 2),
            gold.replace(" ", "-"),
            gold[:-1],
            "the",
            "xyz",
        ),
    ]


@pytest.mark.parametrize("name", ["squad_v1.1_xquad.en.json", "squad_dev-v2.0.json"])
def test_real_items_with_perturbed_predictions(shared_data: Path, name: str) -> None:
    articles = json.loads((shared_data / name).read_text(encoding="utf-8"))["data"]
    items = [qa for article in articles for paragraph in article["paragraphs"] for qa in paragraph["qas"]]
    compared = 0
    for item in items:
        golds = [answer["text"] for answer in item["answers"]] or [""]
        if not all(gold.isascii() for gold in golds):
            continue
        for answer in perturbed(golds[0] or "something"):
            assert metrics.METRICS["em"](answer, golds, ()) == float(
                any(told_again(answer) == told_again(g) for g in golds)
            )
            assert metrics.METRICS["f1"](answer, golds, ()) == pytest.approx(official_f1(answer, golds), abs=1e-12)
            compared += 1
    assert compared > 2_000


def test_hand_worked_values() -> None:
    """`adriatic sea` against `adriatic`: precision 1/2, recall 1, F1 2/3."""
    assert metrics.METRICS["f1"]("The Adriatic Sea", ["the Adriatic", "Adriatic"], ()) == pytest.approx(2 / 3)
    assert metrics.METRICS["em"]("the Adriatic!", ["Adriatic"], ()) == 1.0
    assert metrics.METRICS["f1"]("Jean-Luc", ["Jean Luc"], ()) == 0.0  # the mark is deleted: jeanluc


def test_no_answer_of_squad_2() -> None:
    """No answer is the empty answer; our readers' words for it count as it, where it is a gold, and only there."""
    assert metrics.METRICS["em"]("", [""], ()) == metrics.METRICS["f1"]("", [""], ()) == 1.0
    assert metrics.METRICS["em"]("unanswerable", [""], ()) == metrics.METRICS["f1"]("Unanswerable.", [""], ()) == 1.0
    assert metrics.METRICS["f1"]("Normans", [""], ()) == 0.0
    assert metrics.METRICS["f1"]("", ["Normans"], ()) == metrics.METRICS["f1"]("unanswerable", ["Normans"], ()) == 0.0


def test_trivia_puts_spaces_where_squad_deletes() -> None:
    assert metrics.METRICS["trivia_em"]("Jean-Luc", ["jean luc"], ()) == 1.0
    assert metrics.METRICS["trivia_em"]("Sunset_Blvd.", ["sunset blvd"], ()) == 1.0
    assert metrics.METRICS["trivia_em"]("‘Sunset’ Blvd", ["sunset blvd"], ()) == 1.0
    assert metrics.METRICS["em"]("Sunset_Blvd.", ["sunset blvd"], ()) == 0.0
    assert metrics.METRICS["trivia_f1"]("west sunset", ["sunset boulevard"], ()) == pytest.approx(0.5)


def test_hotpot_gives_nothing_for_half_a_yes() -> None:
    """`yes it is` shares a token with `yes`, and still scores 0, as sides differ and one of them is yes."""
    assert metrics.METRICS["hotpot_f1"]("yes it is", ["yes"], ()) == 0.0
    assert metrics.METRICS["hotpot_f1"]("yes", ["yes"], ()) == 1.0
    assert metrics.METRICS["hotpot_f1"]("no", ["no way out"], ()) == 0.0
    assert metrics.METRICS["hotpot_f1"]("Chief of Protocol", ["chief protocol"], ()) == pytest.approx(4 / 5)


ASCII = st.text(st.characters(max_codepoint=126, min_codepoint=32), max_size=40)


@given(ASCII, st.lists(ASCII, min_size=1, max_size=3))
def test_reading_loses_nothing_that_is_graded(answer: str, golds: list[str]) -> None:
    """The canonical spelling of short text scores as the text itself does."""
    if canonical_text(answer):
        assert metrics.METRICS["em"](canonical_text(answer), golds, ()) == metrics.METRICS["em"](answer, golds, ())
        assert metrics.METRICS["f1"](canonical_text(answer), golds, ()) == pytest.approx(
            metrics.METRICS["f1"](answer, golds, ())
        )
        assert metrics.METRICS["trivia_f1"](canonical_text(answer), golds, ()) == pytest.approx(
            metrics.METRICS["trivia_f1"](answer, golds, ())
        )


def grade(metric: str, answer: str, *golds: str, labels: tuple[str, ...] = ()) -> float:
    return grade_all([(metric, answer, golds, labels)])[0]


def test_hand_worked_metrics() -> None:
    assert grade("qa_f1", "The red fox", "a fox") == pytest.approx(2 / 3)
    assert grade("qa_f1", "", "a fox") == 0.0
    assert grade("qa_f1_first_line", "\n\nfox\ndog", "fox") == 1.0
    assert grade("retrieval", "Paragraph 3, or 4", "Paragraph 3") == 0.5
    assert grade("retrieval", "是段落27。", "段落27") == 1.0
    assert grade("retrieval", "none", "Paragraph 3") == 0.0
    assert grade("count", "I count 5. So 5 of 6.", "5") == pytest.approx(2 / 3)
    assert grade("code_similarity", "```python\n# the sum\nx = a + b\ny", "x = a + b") == 1.0


def test_code_similarity_is_rounded_to_whole_percents() -> None:
    """11 of 29 letters differ: 75.862 % by rapidfuzz, 76 by the official script's fuzzywuzzy (2*11/29 = .7586)."""
    assert grade("code_similarity", "abcdefghijkXYZ", "abcdefghijkpqrs") == 0.76
    assert grade("code_similarity", "London, blue", "film The - Paragraph") == 0.12  # 12.5: to the even number


def test_classification_shares_the_point_among_the_names() -> None:
    labels = ("Food", "Sport", "Other sport")
    assert grade("classification", "Food", "Food", labels=labels) == 1.0
    assert grade("classification", "Food or Sport", "Food", labels=labels) == 0.5
    assert grade("classification", "Sport", "Food", labels=labels) == 0.0
    # a name that is part of the gold is not counted against it
    assert (
        grade("classification", "Other sport: Sport", "Other sport: Sport", labels=("Sport", "Other sport: Sport"))
        == 1.0
    )


def test_rouge_is_that_of_the_package_rouge() -> None:
    """`a b c d` against `a c d e`: the longest common subsequence has 3 of 4 words either way, F = 0.75."""
    assert grade("rouge", "a b c d", "a c d e") == pytest.approx(0.75, abs=1e-6)
    assert grade("rouge", "", "a c d e") == 0.0
    assert grade("rouge_first_line", "\na b c d\nz z z", "a c d e") == pytest.approx(0.75, abs=1e-6)


def test_chinese_words_are_cut_by_jieba() -> None:
    """厦门大学 is one word for jieba, and the full stop is no word."""
    assert grade("qa_f1_zh", "厦门大学", "厦门大学。") == 1.0
    assert grade("qa_f1_zh", "北京", "厦门大学。") == 0.0
    assert grade("rouge_zh", "厦门大学", "厦门大学") == pytest.approx(1.0, abs=1e-6)


def test_a_cache_of_another_user_changes_no_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By default jieba reads its words from a file in the folder for temporary files, which others can write."""
    (tmp_path / "jieba.cache").write_bytes(marshal.dumps(({"厦": 9, "门": 9, "大": 9, "学": 9}, 36)))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    metrics._segmenter.cache_clear()
    assert list(metrics._segmenter().cut("厦门大学", HMM=False)) == ["厦门大学"]
    assert [path.name for path in tmp_path.iterdir()] == ["jieba.cache"]


def task(*items: tuple[str, str, str]) -> Task:
    """Make a task of (kind, metric, gold)."""
    made = [Item(Question(f"q{k}", "?"), (gold,), kind, metric) for k, (kind, metric, gold) in enumerate(items)]
    return Task("made", "own", tuple(made))


def test_only_short_texts_have_exact_match_and_f1_and_free_texts_can_be_judged_too() -> None:
    short, free, number = ("text", "em", "a"), ("free", "rouge", "a"), ("number", "accuracy", "1")
    assert text_scores(task(short)) == ("em", "f1")
    assert text_scores(task(short, free)) == text_scores(task(number)) == ()
    assert [can_be_judged(task(*items)) for items in ((short, free), (free,), (short, number))] == [True, True, False]


@pytest.mark.parametrize(
    ("metric", "gold", "answer", "em", "f1"),
    [
        # SQuAD: articles and marks aside; "eiffel tower" in "eiffel tower paris": 2/3 and 2/2 give 4/5.
        ("f1", "The Eiffel Tower", "eiffel tower!", 1.0, 1.0),
        ("em", "The Eiffel Tower", "eiffel tower paris", 0.0, 0.8),
        # TriviaQA puts a space where SQuAD deletes a mark: "jean-paul" is two words there, one here.
        ("trivia_f1", "Jean Paul", "jean-paul", 1.0, 1.0),
        ("f1", "Jean Paul", "jean-paul", 0.0, 0.0),
        # HotpotQA: a yes that is not the gold scores nothing, however many words are shared.
        ("hotpot_f1", "yes", "yes indeed", 0.0, 0.0),
        ("f1", "yes", "yes indeed", 0.0, 2 / 3),
        # LongBench, Chinese: marks and spaces aside.
        ("qa_f1_zh", "北京。", "北 京", 1.0, None),
        ("qa_f1_zh", "北京", "上海", 0.0, 0.0),
    ],
)
def test_each_metric_brings_its_own_normalisation(
    metric: str, gold: str, answer: str, em: float, f1: float | None
) -> None:
    """Worked by hand from the official scripts' rules."""
    made = task(("text", metric, gold))
    assert text_grade(made, "em")("q0", answer) == em
    if f1 is not None:
        assert text_grade(made, "f1")("q0", answer) == pytest.approx(f1)
    assert text_grade(made, "f1")("q0", None) == 0.0


LABELS = Path(__file__).parents[2] / "cases" / "raw_outputs_labels.csv"


@pytest.fixture(scope="module")
def rows(shared_data: Path) -> list[dict[str, Any]]:
    lines = (shared_data / "raw_outputs.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def labels() -> dict[str, dict[str, str]]:
    with LABELS.open(encoding="utf-8", newline="") as lines:
        return {label["reply"]: label for label in csv.DictReader(lines)}


@pytest.fixture(scope="module")
def graded(rows: list[dict[str, Any]]) -> list[GradedReply]:
    return grade_rows(rows)


def key(row: dict[str, Any]) -> str:
    reply, question = (hashlib.sha256(row[name].encode()).hexdigest() for name in ("output", "question"))
    return f"{reply[:16]}-{question[:4]}"


def test_every_reply_has_a_label(rows: list[dict[str, Any]], labels: dict[str, dict[str, str]]) -> None:
    assert {key(row) for row in rows} == set(labels)


def test_lenient_reading_agrees_with_the_labels(
    rows: list[dict[str, Any]], graded: list[GradedReply], labels: dict[str, dict[str, str]]
) -> None:
    """At least 98 %: what differs is printed."""
    wrong = [
        (labels[key(row)]["answer"], each.lenient)
        for row, each in zip(rows, graded, strict=True)
        if (each.lenient.value or "") != labels[key(row)]["answer"]
    ]
    assert len(wrong) <= 0.02 * len(rows), wrong


def test_no_reply_is_right_that_the_label_calls_wrong(
    rows: list[dict[str, Any]], graded: list[GradedReply], labels: dict[str, dict[str, str]]
) -> None:
    for row, each in zip(rows, graded, strict=True):
        if labels[key(row)]["correct"] == "0":
            assert each.score == 0.0, (row["task"], each.lenient)


def test_where_the_recorded_official_reading_differs_a_note_says_why(
    rows: list[dict[str, Any]], labels: dict[str, dict[str, str]]
) -> None:
    for row in rows:
        label = labels[key(row)]
        if "official_pred" in row and (row["official_pred"] or "") != label["answer"]:
            assert label["note"]


def test_recorded_official_decisions_on_gsm8k_are_ours(rows: list[dict[str, Any]], graded: list[GradedReply]) -> None:
    """The repository of GSM8K's authors records which of their samples are right."""
    checked = [
        (row["official_correct"], each.score)
        for row, each in zip(rows, graded, strict=True)
        if "official_correct" in row
    ]
    assert len(checked) >= 10
    assert all(bool(score) == correct for correct, score in checked)
