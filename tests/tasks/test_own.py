"""Your own file of questions: how it is read, and what is refused because it could be read in two ways."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cortexdsl.core import Dataset
from cortexdsl.errors import DataError
from cortexdsl.tasks.load import load
from cortexdsl.tasks.sources.files import rows_of
from cortexdsl.tasks.task import Task

SUMS = [(f"What is {n} plus 3?", str(n + 3)) for n in range(30)]


def own(folder: Path, content: str | bytes, name: str = "a.csv", **words: Any) -> Task:
    """Load a file of one's own."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return load(Dataset("a", path=str(path), **words))


def refused(folder: Path, content: str | bytes, name: str = "a.csv", **words: Any) -> str:
    """Return what a file that is refused is told."""
    with pytest.raises(DataError) as caught:
        own(folder, content, name, **words)
    return str(caught.value)


def table(rows: list[tuple[str, str]], between: str = ",", head: tuple[str, str] = ("question", "answer")) -> str:
    """Write rows as Excel does: a cell that holds the delimiter stands in quotes."""

    def cell(text: str) -> str:
        return f'"{text}"' if between in text else text

    return "".join(between.join(map(cell, row)) + "\r\n" for row in [head, *rows])


def golds(task: Task) -> list[str]:
    """The golds of a task in the order of its file."""
    return [gold for item in sorted(task.items, key=lambda item: item.question.text) for gold in item.gold]


# ---------------------------------------------------------------- answers that are missing or unlike the others
def test_rows_without_an_answer_are_named(tmp_path: Path) -> None:
    """They must not turn a column of numbers into texts."""
    rows = [(q, "" if n in (3, 8, 16) else a) for n, (q, a) in enumerate(SUMS)]
    said = refused(tmp_path, table(rows))
    assert "a.csv, rows 4, 9 and 17: no answer (column 'answer')" in said
    assert "fill in the answers, or remove these rows" in said


def test_a_null_in_json_is_a_missing_answer(tmp_path: Path) -> None:
    lines = [{"question": "1+1?", "answer": "2"}, {"question": "2+2?", "answer": None}, {"question": "3+3?"}]
    said = refused(tmp_path, "\n".join(map(json.dumps, lines)), "a.jsonl")
    assert "a.jsonl, rows 2 and 3: no answer" in said


def test_a_column_that_no_row_has_is_told_as_such(tmp_path: Path) -> None:
    said = refused(tmp_path, table(SUMS, head=("question", "Gold answer")))
    assert "no answer (column 'answer')" in said
    assert "the row has: question, Gold answer" in said
    assert "remove these rows" not in said


def test_an_empty_answer_may_be_the_right_one(tmp_path: Path) -> None:
    """SQuAD 2.0: the passage holds no answer."""
    task = own(tmp_path, table([("Who?", ""), ("Where?", "Rome")]), fields={"gold": "answers_or_none"}, kind="text")
    assert golds(task) == ["Rome", ""]


def test_a_kind_is_not_guessed_from_a_mixed_column(tmp_path: Path) -> None:
    """29 numbers and one typing mistake: were they all texts, agents would be asked for words."""
    rows = [(q, "1O" if n == 7 else a) for n, (q, a) in enumerate(SUMS)]
    said = refused(tmp_path, table(rows))
    assert "29 answers are numbers and 1 is not (row 8: '1O')" in said
    assert "kind: number" in said
    assert "kind: text" in said
    assert own(tmp_path, table(rows), kind="text").kind == "text"


def test_a_number_beyond_the_hundredth_row_counts_as_well(tmp_path: Path) -> None:
    rows = [(f"What is {n}?", "some" if n == 150 else str(n)) for n in range(200)]
    assert "row 151: 'some'" in refused(tmp_path, table(rows))


@pytest.mark.parametrize(("answers", "kind"), [(["1", "2.5"], "number"), (["Rome", "Po"], "text")])
def test_a_column_of_one_kind_needs_no_word(tmp_path: Path, answers: list[str], kind: str) -> None:
    assert own(tmp_path, table([(f"Q{n}?", a) for n, a in enumerate(answers)])).kind == kind


def test_an_unknown_gold_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    said = refused(tmp_path, table(SUMS), fields={"gold": "hash"})
    assert "unknown gold 'hash'" in said
    assert "did you mean 'hashes'?" in said


def test_rows_of_a_subset_keep_their_numbers(tmp_path: Path) -> None:
    """The third row of the file is the first of its subset."""
    content = "subset,question,answer\neasy,1+1?,2\neasy,1+2?,3\nhard,7*8?,\nhard,7*9?,63\n"
    assert "row 3: no answer" in refused(tmp_path, content, subset=("hard",))
    assert len(own(tmp_path, content, subset=("easy",)).items) == 2
    assert "no subset 'esay'" in refused(tmp_path, content, subset=("esay",))


# ---------------------------------------------------------------- questions that stand there twice
def test_one_question_with_two_answers_is_refused(tmp_path: Path) -> None:
    said = refused(tmp_path, table([("1+2?", "3"), ("2+2?", "4"), ("1+2?", "4")]))
    assert "rows 1 and 3 ask the same question and have different answers, 3 and 4" in said


def test_ids_do_not_make_a_contradiction_right(tmp_path: Path) -> None:
    said = refused(tmp_path, "id,question,answer\nx,1+2?,3\ny,1+2?,4\n")
    assert "rows 1 and 2 ask the same question" in said


def test_one_question_twice_with_one_answer_is_remembered(tmp_path: Path) -> None:
    """3.0 is 3."""
    task = own(tmp_path, table([("1+2?", "3"), ("2+2?", "4"), ("1+2?", "3.0")]))
    assert len(task.items) == 3
    assert task.origin.repeated == ((1, 3),)


# ---------------------------------------------------------------- delimiters
@pytest.mark.parametrize("between", [",", ";", "\t", "|"])
def test_a_delimiter_is_found_where_only_one_fits(tmp_path: Path, between: str) -> None:
    rows = [(f"What is {q}, in words; or not?", a) for q, a in SUMS]
    task = own(tmp_path, table(rows, between))
    assert (len(task.items), task.kind) == (30, "number")


def test_a_line_that_names_the_delimiter_is_none_of_the_table(tmp_path: Path) -> None:
    """Excel reads and writes `sep=;` as the first line."""
    assert len(own(tmp_path, "sep=;\r\n" + table(SUMS, ";")).items) == 30


def test_two_delimiters_that_fit_are_refused(tmp_path: Path) -> None:
    content = "a,question;answer\n1,one;2\n2,two;3\n"
    said = refused(tmp_path, content)
    assert "its cells could be divided by ',' or by ';'" in said
    assert "table: ';'" in said
    assert golds(own(tmp_path, content, delimiter=";", fields={"question": "a,question"})) == ["2", "3"]


def test_a_row_of_another_length_names_the_delimiter(tmp_path: Path) -> None:
    said = refused(tmp_path, "question;answer\n1+1?;2\n2;2?;4\n")
    assert "a.csv:3: 3 cells where 2 are expected (divided by ';')" in said
    assert "table" in said


@pytest.mark.parametrize("given", ["", "ab", "semicolon"])
def test_a_delimiter_is_one_character(tmp_path: Path, given: str) -> None:
    assert "a delimiter is one character" in refused(tmp_path, table(SUMS), delimiter=given)


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    assert "two columns are called 'answer'" in refused(tmp_path, "question,answer,answer\n1+1?,2,3\n")


def test_empty_rows_at_the_end_and_spaces_around_names_are_none_of_the_data(tmp_path: Path) -> None:
    """Excel writes them for cells that were used once."""
    assert len(own(tmp_path, "question ; answer;;\n1+1?;2;;\n2+2?;4;;\n;;;\n;;;\n").items) == 2


# ---------------------------------------------------------------- encodings
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("between", [",", ";", "\t"])
def test_a_byte_order_mark_says_the_encoding(tmp_path: Path, encoding: str, between: str) -> None:
    """Excel's `CSV UTF-8` has a mark, its `Unicode Text` is UTF-16 with tabs."""
    text = table([("Größe von Öl?", "3")], between)
    assert own(tmp_path, text.encode(encoding)).questions[0].text == "Größe von Öl?"


def test_another_encoding_is_refused_and_can_be_named(tmp_path: Path) -> None:
    """Excel's plain `CSV` is Windows-1252 in Western Europe: nothing in the file says so."""
    content = table([("1+1?", "2"), ("Größe?", "3")], ";").encode("cp1252")
    said = refused(tmp_path, content)
    assert "a.csv:3: byte 0xf6 is not UTF-8" in said
    assert "table: windows-1252" in said
    task = own(tmp_path, content, encoding="windows-1252")
    assert {question.text for question in task.questions} == {"1+1?", "Größe?"}


def test_utf_16_without_a_mark_is_refused_and_can_be_named(tmp_path: Path) -> None:
    content = table(SUMS).encode("utf-16-le")
    assert "table: utf-16-le" in refused(tmp_path, content)
    assert len(own(tmp_path, content, encoding="utf-16-le").items) == 30


@pytest.mark.parametrize("given", ["utf8-with-bells", "base64"])
def test_an_unknown_encoding_is_refused(tmp_path: Path, given: str) -> None:
    assert f"unknown encoding '{given}'" in refused(tmp_path, table(SUMS), encoding=given)


def test_an_encoding_that_the_file_contradicts_is_refused(tmp_path: Path) -> None:
    said = refused(tmp_path, table(SUMS).encode("utf-8-sig"), encoding="windows-1252")
    assert "begins with the mark of UTF-8" in said


def test_json_lines_have_an_encoding_too(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes('{"question": "Größe?"}\n'.encode("cp1252"))
    assert list(rows_of(path, encoding="windows-1252")) == [{"question": "Größe?"}]


# ---------------------------------------------------------------- decimal commas
def test_decimal_commas_are_read_where_they_can_be_nothing_else(tmp_path: Path) -> None:
    """`3,5` has no thousands; 1.234 in the same column is then one thousand and more."""
    rows = [("a?", "3,5"), ("b?", "7"), ("c?", "1.234,25"), ("d?", "1.234"), ("e?", "-0,5 €")]
    task = own(tmp_path, table(rows, ";"))
    assert (task.kind, golds(task)) == ("number", ["3.5", "7", "1234.25", "1234", "-0.5"])
    assert task.origin.decimal == ","


def test_thousands_are_read_where_they_can_be_nothing_else(tmp_path: Path) -> None:
    assert golds(own(tmp_path, table([("a?", "1,234,567"), ("b?", "2,500"), ("c?", "0.5")]))) == [
        "1234567", "2500", "0.5"
    ]  # fmt: skip


def test_decimal_commas_and_points_in_one_column_are_refused(tmp_path: Path) -> None:
    said = refused(tmp_path, table([("a?", "3,5"), ("b?", "3.5")], ";"))
    assert "row 1: '3,5' has a decimal comma, and row 2: '3.5' a decimal point" in said


@pytest.mark.parametrize("answer", ["1,234", "1.234"])
def test_a_semicolon_file_whose_numbers_can_be_read_in_two_ways_is_refused(tmp_path: Path, answer: str) -> None:
    """German Excel writes 1,234 for a little more than one, and 1.234 for a thousand and more."""
    content = table([("a?", answer), ("b?", "7")], ";")
    said = refused(tmp_path, content)
    assert f"row 1: '{answer}' could be" in said
    assert "table: decimal comma" in said
    assert golds(own(tmp_path, content, decimal=","))[0] == ("1.234" if answer == "1,234" else "1234")
    assert golds(own(tmp_path, content, decimal="."))[0] == ("1234" if answer == "1,234" else "1.234")


def test_a_number_of_json_is_what_it_is(tmp_path: Path) -> None:
    """Only texts are read by a decimal comma."""
    lines = [{"question": "a?", "answer": 1.234}, {"question": "b?", "answer": "2,5"}]
    assert golds(own(tmp_path, "\n".join(map(json.dumps, lines)), "a.jsonl")) == ["1.234", "2.5"]


# ---------------------------------------------------------------- columns, options and golds
@pytest.mark.parametrize("word", ["question", "answer", "id", "context", "choices", "cluster", "group", "images"])
@pytest.mark.parametrize("several", [False, True])
def test_a_named_column_that_no_row_has_is_refused(tmp_path: Path, word: str, several: bool) -> None:
    column = ["question", "questoin"] if several and word in ("choices", "images") else "questoin"
    with pytest.raises(DataError) as caught:
        own(tmp_path, table(SUMS), fields={word: column})
    assert f"a.csv: {word}: there is no column 'questoin'" in str(caught.value)
    assert "did you mean 'question'?" in str(caught.value)
    assert "columns: question, answer" in str(caught.value)
    assert caught.value.word == word


def test_a_column_that_one_row_has_is_there(tmp_path: Path) -> None:
    """Rows of JSON Lines may leave out what is empty."""
    lines = [{"question": "1+1?", "answer": 2}, {"question": "1+2?", "answer": 3, "about": {"text": "Sums."}}]
    task = own(tmp_path, "\n".join(map(json.dumps, lines)), "a.jsonl", fields={"context": "about.text"})
    assert sorted(question.context for question in task.questions) == ["", "Sums."]


def test_a_column_of_a_listed_dataset_is_looked_for_too(tmp_path: Path) -> None:
    path = tmp_path / "test.jsonl"
    path.write_text(json.dumps({"question": "1+1?", "answer": "#### 2"}))
    with pytest.raises(DataError, match="context: there is no column 'passage'"):
        load(Dataset("a", name="gsm8k", path=str(path), fields={"context": "passage"}))


def test_groups_are_short_fields_of_every_question(tmp_path: Path) -> None:
    """Means over groups need the value of every question; a number with a fraction and an answer are no groups."""
    assert "group: not every question has a field 'answer'" in refused(
        tmp_path, table(SUMS), fields={"group": "answer"}
    )


def choice(folder: Path, choices: Any, answer: Any = "A") -> Task:
    """Load one question with these options."""
    row = {"question": "Which?", "answer": answer, "choices": choices}
    return own(folder, json.dumps(row), "a.jsonl", fields={"choices": "choices"})


@pytest.mark.parametrize(
    "choices",
    [["one", "two"], {"A": "one", "B": "two"}, '["one", "two"]', '{"A": "one", "B": "two"}', "['one', 'two']",
     {"A": "one", "B": "two", "C": None}, {"label": ["A", "B"], "text": ["one", "two"]},
     [{"label": "A", "text": "one"}, {"label": "B", "text": "two"}]],
)  # fmt: skip
def test_options_are_read_from_lists_and_mappings(tmp_path: Path, choices: Any) -> None:
    assert choice(tmp_path, choices).questions[0].options == (("A", "one"), ("B", "two"))


@pytest.mark.parametrize(
    "choices",
    ["one|two|three", 3, [["one"], ["two"]], [{"id": 1}], [{"label": "A", "text": "one"}, {}], {"A": ["one"]},
     {"label": ["A"], "text": ["one", "two"]}, {"label": 1, "text": ["one"]}, True],
)  # fmt: skip
def test_options_that_cannot_be_read_are_one_error(tmp_path: Path, choices: Any) -> None:
    with pytest.raises(DataError, match=r"row 1: options .* cannot be read\n.*write a list"):
        choice(tmp_path, choices)


@pytest.mark.parametrize("choices", [[], None, ""])
def test_a_row_without_options_is_refused(tmp_path: Path, choices: Any) -> None:
    with pytest.raises(DataError, match="row 1: no options"):
        choice(tmp_path, choices)


@pytest.mark.parametrize("answer", ["4", 4])
def test_a_gold_that_counts_from_one_is_explained(tmp_path: Path, answer: Any) -> None:
    with pytest.raises(DataError, match=r"one of A, B, C, D .numbers of JSON count the options from 0"):
        choice(tmp_path, ["Rome", "Oslo", "Bern", "Riga"], answer)


def test_rows_in_lists_of_an_object_are_found(tmp_path: Path) -> None:
    content = {"version": 1, "data": [{"title": "Sums", "qas": [{"q": "1+1?", "answer": 2}]}]}
    inside = {"version": 1, "body": content, "notes": [{"by": "me"}]}
    for each in (content, inside):
        assert golds(own(tmp_path, json.dumps(each), "a.json", fields={"question": "q"})) == ["2"]
    said = refused(tmp_path, json.dumps(content), "a.json", fields={})
    assert "no question (column 'question')\n    the row has: version, data" in said


def test_a_file_of_the_current_folder_is_named_by_its_path_from_the_spec(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.csv").write_text("question,answer\n1+1?,2\n")
    with pytest.raises(DataError, match=r"data/a.csv is in the current folder, .* folder of the spec"):
        load(Dataset("a", path=str(tmp_path / "specs" / "data" / "a.csv")))


def test_a_passage_of_unknown_parts_is_one_error(tmp_path: Path) -> None:
    row = json.dumps({"question": "1+1?", "answer": 2, "about": {"body": "Sums."}})
    assert "row 1: a passage with the parts body" in refused(tmp_path, row, "a.jsonl", fields={"context": "about"})


@pytest.mark.parametrize("kind", [None, "number"])
@pytest.mark.parametrize("other", ["3", "\\pi"])
def test_answers_in_latex_are_told_the_kind(tmp_path: Path, kind: str | None, other: str) -> None:
    assert "kind: expression" in refused(tmp_path, table([("1?", other), ("2?", "\\sqrt{2}")]), kind=kind)


# ---------------------------------------------------------------- yes or no
@pytest.mark.parametrize(
    ("words", "gold"),
    [(("Y", "T", "true", "Yes", "1", "Ja", "correct"), "yes"), (("n", "F", "false", "No", "0", "Nein", "wrong"), "no")],
)
def test_golds_of_yesno_are_read_if_they_are_certain(tmp_path: Path, words: tuple[str, ...], gold: str) -> None:
    rows = [(f"Is {word} it?", word) for word in words]
    assert golds(own(tmp_path, table(rows), kind="yesno")) == [gold] * len(words)


@pytest.mark.parametrize("word", ["Maybe", "2", "unknown", "yes and no"])
def test_a_gold_that_is_neither_yes_nor_no_is_refused_with_its_row(tmp_path: Path, word: str) -> None:
    """Version 0.2.0 took every unknown gold for no."""
    told = refused(tmp_path, table([("Is it?", "yes"), ("Was it?", word)]), kind="yesno")
    assert f"row 2, column 'answer': no yesno in its answer '{word}'" in told


def test_one_unreadable_gold_among_several_is_refused_with_its_row(tmp_path: Path) -> None:
    """Version 0.2.0 left it out."""
    row = json.dumps({"question": "1+1?", "answer": ["2", "many"]})
    assert "row 1, column 'answer': no number in its answer 'many'" in refused(tmp_path, row, "a.jsonl", kind="number")


@pytest.mark.parametrize(("reply", "answer"), [("Answer: 3,5", "3.5"), ("Answer: 1.234,5", "1234.5"), ("0,75", "0.75")])
def test_the_decimal_mark_of_a_file_is_that_of_replies(tmp_path: Path, reply: str, answer: str) -> None:
    made = own(tmp_path, table([("1?", "2,5"), ("2?", "1.234,5")], between=";"))
    assert made.reader(made.questions[0]).read("answer", reply).value == answer


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("oak; elm", ("oak; elm",)),
        (["oak", "elm"], ("oak", "elm")),
        ([["oak", "elm"], ["ash"]], ("oak; elm", "ash")),
        (5, ("5",)),
    ],
)
def test_spans_of_one_answer_are_an_inner_list(tmp_path: Path, answer: Any, gold: tuple[str, ...]) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps({"question": "Which trees?", "answer": answer}), encoding="utf-8")
    task = load(Dataset("own", path=str(path), kind="spans"))
    assert task.items[0].gold == gold
    assert task.grade(task.questions[0].id, "; ".join(reversed(gold[0].split("; ")))) == 1.0


@pytest.mark.parametrize("answer", [";", " ; ", [], [[]], {"spans": ["oak"]}])
def test_what_has_no_spans_is_refused(tmp_path: Path, answer: Any) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps({"question": "Which trees?", "answer": answer}), encoding="utf-8")
    with pytest.raises(DataError, match="row 1"):
        load(Dataset("own", path=str(path), kind="spans"))
