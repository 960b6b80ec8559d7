"""Tasks: loading, grading, digests, samples."""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortexdsl.core import Dataset, Question
from cortexdsl.errors import DataError
from cortexdsl.tasks.load import load
from cortexdsl.tasks.replies import grade_rows
from cortexdsl.tasks.sampling import choose_items, with_shuffled_options
from cortexdsl.tasks.task import Item


def write(path: Path, rows: list[dict[str, object]]) -> str:
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    return str(path)


def own(path: str, **words: object) -> Dataset:
    return Dataset(label="mine", path=path, **words)  # type: ignore[arg-type]


def test_arithmetic_asks_what_the_paper_asks_and_knows_the_answer() -> None:
    """`a+b*c+d-e*f` with the usual precedence; recomputed here from the text of the question."""
    task = load(Dataset("sums", "arithmetic", size=50, seed=7))
    for question in task.questions:
        found = re.fullmatch(r"What is the result of (\d+)\+(\d+)\*(\d+)\+(\d+)-(\d+)\*(\d+)\?", question.text)
        assert found is not None
        a, b, c, d, e, f = map(int, found.groups())
        assert task.gold(question.id) == (str(a + (b * c) + d - (e * f)),)
    assert task.kind == "number"


def test_arithmetic_is_prefix_stable_and_follows_its_seed() -> None:
    small, large = (load(Dataset("sums", "arithmetic", size=size, seed=7)) for size in (5, 20))
    assert large.questions[:5] == small.questions
    assert load(Dataset("sums", "arithmetic", size=5, seed=8)).questions != small.questions
    by_id = load(Dataset("sums", "arithmetic", seed=7, ids=(small.questions[3].id,)))
    assert by_id.questions == (small.questions[3],)


def test_golds_are_not_reachable_from_questions() -> None:
    """All that a question holds, spelled out, does not hold the gold of a task whose gold is a rare word."""
    task = load(Dataset("sums", "arithmetic", size=20))
    for question in task.questions:
        values = [str(value) for value in dataclasses.asdict(question).values()]
        assert task.gold(question.id)[0] not in re.findall(r"-?\d+", " ".join(values[1:]))


def test_an_unreadable_answer_scores_nothing() -> None:
    task = load(Dataset("sums", "arithmetic", size=2))
    first = task.questions[0].id
    assert task.grade(first, None) == 0.0
    assert task.grade(first, task.gold(first)[0]) == 1.0
    assert task.grade(first, "0.5") == 0.0
    assert task.grade_all([(first, None), (first, task.gold(first)[0])]) == [0.0, 1.0]


def test_the_reader_of_a_question_reads_its_asked_format() -> None:
    task = load(Dataset("sums", "arithmetic", size=1))
    reading = task.reader(task.questions[0]).read("answer", "1+1 = 2\nAnswer: 2\nConfidence: 80%")
    assert (reading.value, reading.unparsed, reading.confidence) == ("2", None, 0.8)
    assert "Answer:" in task.answer_format
    assert "Confidence:" in task.answer_format
    both = task.readings(task.questions[0].id, "the answer is 2")
    assert (both["strict"].value, both["lenient"].value) == (None, "2")


def test_own_jsonl_and_csv_with_a_field_map(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"Frage": "2+2?", "Antwort": "4.0"}, {"Frage": "half of 1?", "Antwort": ".5"}]
    fields = {"question": "Frage", "answer": "Antwort"}
    task = load(own(write(tmp_path / "own.jsonl", rows), fields=fields))
    assert task.kind == "number"
    assert {task.gold(question.id) for question in task.questions} == {("4",), ("0.5",)}
    table = tmp_path / "exam.csv"
    table.write_text('Question,A,B,Key\n"Red, or not?",red,blue,B\nGrass?,green,black,A\n', encoding="utf-8")
    exam = load(own(str(table), fields={"question": "Question", "answer": "Key", "choices": ["A", "B"]}))
    assert exam.kind == "choice"
    asked = {question.text: question for question in exam.questions}
    assert asked["Red, or not?"].options == (("A", "red"), ("B", "blue"))
    assert exam.gold(asked["Grass?"].id) == ("A",)


def test_own_ids_contexts_and_clusters(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"question": "who?", "answer": ["Ann", "Anne"], "id": 3, "text": "Ann.", "book": "b1"}
    ]
    task = load(own(write(tmp_path / "own.jsonl", rows), fields={"context": "text", "cluster": "book"}))
    question = task.questions[0]
    assert (question.id, question.context, question.cluster) == ("3", "Ann.", "b1")
    assert task.gold("3") == ("Ann", "Anne")
    assert task.grade("3", "anne") == 1.0


def test_own_parquet_needs_the_extra_or_reads(tmp_path: Path) -> None:
    path = tmp_path / "own.parquet"
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        path.write_bytes(b"PAR1")
        with pytest.raises(DataError, match="cortexdsl\\[data\\]"):
            load(own(str(path)))
        return
    pyarrow.parquet.write_table(pyarrow.table({"question": ["1+1?"], "answer": [2]}), path)
    assert load(own(str(path))).gold(load(own(str(path))).questions[0].id) == ("2",)


@pytest.mark.parametrize(
    ("content", "words", "message"),
    [
        ('{"question": "q"}', {}, "no answer"),
        ('{"question": "q", "answer": "x"}', {"kind": "number"}, "no number in its answer"),
        ('{"question": "q", "answer": "x"}\n{"quest', {}, "own.jsonl:2: not JSON"),
        ('{"question": "q", "answer": "x"}', {"kind": "nummer"}, "did you mean 'number'"),
        ('{"question": "q", "answer": "x"}', {"fields": {"anwser": "x"}}, "did you mean 'answer'"),
        ('{"question": "q", "answer": "x"}', {"metric": "f2"}, "no metric 'f2'"),
        ("", {}, "no question"),
        ("[1, 2]", {}, "not an object"),
        (
            '{"question": "q", "answer": "x", "id": 1}\n{"question": "r", "answer": "x", "id": 1}',
            {},
            "ids must be unique",
        ),
    ],
)
def test_mistakes_say_what_and_where(tmp_path: Path, content: str, words: dict[str, object], message: str) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        load(own(str(path), **words))


def test_unknown_names_files_splits_and_subsets(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="did you mean 'gsm8k'"):
        load(Dataset("x", "gsm8"))
    with pytest.raises(DataError, match="no such file"):
        load(Dataset("x", "gsm8k", path=str(tmp_path / "none.jsonl")))
    with pytest.raises(DataError, match="no split 'tset'"):
        load(Dataset("x", "gsm8k", path=str(tmp_path), split="tset"))
    with pytest.raises(DataError, match="did you mean 'navigate'"):
        load(Dataset("x", "bbh", path=str(tmp_path), subset=("navigat",)))
    with pytest.raises(DataError, match="none of the dataset's files"):
        load(Dataset("x", "mmlu", path=str(tmp_path)))
    with pytest.raises(DataError, match="neither a name nor a file"):
        load(Dataset("x"))


def test_the_digest_changes_with_what_can_change_a_score(tmp_path: Path) -> None:
    path = write(tmp_path / "own.jsonl", [{"question": f"{n}?", "answer": str(n), "id": n} for n in range(6)])
    base = load(own(path, size=4))
    assert load(own(path, size=4)).digest == base.digest
    others = [
        load(own(path, size=5)),
        load(own(path, size=4, seed=1)),
        load(own(path, size=4, reading="strict")),
        load(own(path, size=4, kind="text")),
        load(own(path, size=4, metric="em")),
        load(
            own(write(tmp_path / "b.jsonl", [{"question": f"{n}?", "answer": "9", "id": n} for n in range(6)]), size=4)
        ),
    ]
    assert len({base.digest, *(other.digest for other in others)}) == 7


def test_records_of_another_sample_are_refused() -> None:
    with pytest.raises(DataError, match="no question 'zzz' among the 1 chosen"):
        load(Dataset("sums", "arithmetic", size=1)).grade("zzz", "1")


OPTIONS = tuple(zip("ABCD", ("w", "x", "y", "z"), strict=True))


def item(number: int, subject: str = "s") -> Item:
    question = Question(f"q{number}", f"text {number}", OPTIONS)
    return Item(question, ("C",), "choice", "accuracy", fields={"subject": subject})


ITEMS = [item(number, "few" if number < 4 else "many") for number in range(40)]


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 5), st.sampled_from([None, "subject"]))
def test_a_larger_sample_begins_with_the_smaller(small: int, large: int, seed: int, stratify: str | None) -> None:
    small, large = sorted((small, large))
    assert choose_items(ITEMS, large, seed, stratify)[:small] == choose_items(ITEMS, small, seed, stratify)


def test_no_size_is_the_longest_sample() -> None:
    everything = choose_items(ITEMS, None, 3)
    assert everything[:7] == choose_items(ITEMS, 7, 3)
    assert sorted(each.question.id for each in everything) == sorted(each.question.id for each in ITEMS)


def test_the_order_depends_on_the_seed_and_not_on_the_file() -> None:
    assert choose_items(ITEMS, 10, 1) == choose_items(ITEMS[::-1], 10, 1)
    assert choose_items(ITEMS, 10, 1) != choose_items(ITEMS, 10, 2)


def test_strata_take_turns_until_one_is_used_up() -> None:
    """4 questions of one subject and 36 of another: 8 are 4 and 4, 10 are 4 and 6."""
    count = {
        size: Counter(each.fields["subject"] for each in choose_items(ITEMS, size, 0, "subject")) for size in (8, 10)
    }
    assert count == {8: {"few": 4, "many": 4}, 10: {"few": 4, "many": 6}}


def test_explicit_ids_come_in_their_order() -> None:
    assert [each.question.id for each in choose_items(ITEMS, None, 0, None, ("q5", "q2"))] == ["q5", "q2"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((41, 0), "41 questions are asked for and 40 are there"),
        ((0, 0), "ask for 1 to 40"),
        ((5, 0, "level"), "fields: subject"),
        ((None, 0, None, ("q99",)), "ids look like 'q0'"),
        ((None, 0, None, ("q1", "q1")), "twice"),
    ],
)
def test_impossible_samples_say_what_is_possible(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(DataError, match=message):
        choose_items(ITEMS, *arguments)  # type: ignore[arg-type]


@given(st.integers(0, 50), st.integers(0, 50))
def test_shuffled_options_keep_labels_texts_and_the_right_one(number: int, seed: int) -> None:
    before, after = item(number), with_shuffled_options(item(number), seed)
    assert [label for label, _ in after.question.options] == list("ABCD")
    assert sorted(text for _, text in after.question.options) == ["w", "x", "y", "z"]
    assert dict(after.question.options)[after.gold[0]] == dict(before.question.options)["C"] == "y"
    assert after == with_shuffled_options(item(number), seed)


def test_the_right_option_gets_around() -> None:
    """Over 400 questions each place should hold the gold about 100 times; 60 is 4.6 standard errors off."""
    places = Counter(with_shuffled_options(item(number), 0).gold[0] for number in range(400))
    assert min(places[label] for label in "ABCD") > 60


@pytest.mark.parametrize(
    ("reply", "score"), [("<think>\nThe answer is 9.\n</think>\n\n7", 1.0), ("<think>The answer is 7, but", 0.0)]
)
def test_reasoning_in_tags_is_not_graded(reply: str, score: float) -> None:
    """Runs separate it from the reply before it is read."""
    row = {"task": "sums", "kind": "number", "gold": "7", "output": reply}
    assert [each.score for each in grade_rows([row])] == [score]
