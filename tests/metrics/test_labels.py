"""Labels of turns: rules by hand, replies of judges, rows, and the columns that count them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cortexdsl.core import Debate, Label
from cortexdsl.errors import RecordError
from cortexdsl.metrics.labels import label_columns, label_rows, read_labels, write_labels
from cortexdsl.metrics.turn_rules import labelled_turns
from cortexdsl.metrics.view import view_debate
from cortexdsl.tasks.labelling import read_label
from tests.stats.debates import grade, made, record

# a: R, W (heard b: W), R (heard nobody)   b: W, W (heard a), None
DEBATE = made([{"a": "R", "b": "W"}, {"a": "W", "b": "W"}, {"a": "R", "b": None}], [[("b", "a"), ("a", "b")], []])


def chosen(rule: str, debate: Debate = DEBATE) -> list[int]:
    view = view_debate(debate, grade)
    return [turn.turn for turn, holds in zip(debate.turns, labelled_turns(view, rule), strict=True) if holds]


@pytest.mark.parametrize(
    ("rule", "turns"),
    [
        ("changed", [2, 4]),
        ("changed and heard", [2]),
        ("changed and not heard", [4]),
        ("heard == 1", [2]),
        ("new", [0, 1]),
        ("right", [0, 4]),
        ("before(right) and not right", [2]),
        ("round > 1", [4, 5]),
        ("similarity > 0.99", [3, 4]),
        ("novelty == 0", [2, 3, 4]),
        ("1", [0, 1, 2, 3, 4, 5]),
        ("confidence > 0", []),
    ],
)
def test_a_rule_holds_for_these_turns(rule: str, turns: list[int]) -> None:
    """Of two agents; the last turn has no readable answer, so nothing about answers holds for it."""
    assert chosen(rule) == turns


def test_turns_of_one_execution_are_not_earlier_than_each_other() -> None:
    """Both openings are new although they are equal; a placebo's answer was not heard."""
    same = made([{"a": "R", "b": "R"}, {"a": "R", "b": "W"}], [[("a", "b")]])
    assert chosen("new", same) == [0, 1, 3]
    assert chosen("heard", same) == []
    review = replace(same.turns[1], reads="review")
    assert chosen("new", replace(same, turns=(same.turns[0], review, *same.turns[2:]))) == [0, 3]


def test_words_that_others_said_are_not_new() -> None:
    """Half of the words of the second turn of a are of b, whom it heard, or its own."""
    turns = list(made([{"a": "R", "b": "W"}, {"a": "W", "b": "W"}], [[("b", "a")]]).turns)
    for number, text in enumerate(["one two", "three FOUR", "two four five six", "one two"]):
        turns[number] = replace(turns[number], text=text)
    debate = replace(DEBATE, turns=tuple(turns))
    assert chosen("novelty == 0.5", debate) == [2]
    assert chosen("novelty == 1", debate) == [0, 1, 3]


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("It repeats.\nLabel: yes", "yes"),
        ("Label: no\nOn reflection:\n**Label:** `Yes`.", "yes"),
        ("label: <no>", "no"),
        ("no", "no"),
        (" *Yes*. ", "yes"),
        ("Label: maybe", None),
        ("Label: yes\nLabel: perhaps", None),
        ("Label: yes or no", None),
        ("Label: yesterday", None),
        ("yes, it does", None),
        ("", None),
        ("I would say yes", None),
    ],
)
def test_a_reply_is_one_of_the_values_or_unreadable(reply: str, value: str | None) -> None:
    """The last line counts; what is outside the set is never guessed."""
    assert read_label(reply, ("yes", "no")) == value


def test_the_longest_value_that_fits_is_read() -> None:
    """A value may begin with another one, and a space stands for the underscore."""
    values = ("new", "new_evidence")
    assert read_label("Label: new evidence", values) == "new_evidence"
    assert read_label("Label: new", values) == "new"


LABELS = (
    Label("moved", "changed"),
    Label("kind", "changed", "kind.j2", ("good", "bad")),
    Label("due", "changed", "due.j2"),
)


def test_rows_and_columns_count_what_was_read(tmp_path: Path) -> None:
    """A label of other values has rows where it was asked alone; an unreadable one is left out of shares."""
    one, view = record(DEBATE), view_debate(DEBATE, grade)
    judged = {
        ("kind", 2): ("bad", "k2"),
        ("kind", 4): (None, "k4"),
        ("due", 2): ("yes", "d2"),
        ("due", 4): (None, "d4"),
    }
    rows = label_rows(one, view, LABELS, judged)
    assert [row.value for row in rows if row.label == "moved"] == ["no", "no", "yes", "no", "yes", "no"]
    assert [(row.turn, row.value, row.call) for row in rows if row.label == "kind"] == [
        (2, "bad", "k2"),
        (4, None, "k4"),
    ]
    assert [row.value for row in rows if row.label == "due"] == ["no", "no", "yes", "no", None, "no"]
    (columns,) = label_columns([one], rows, LABELS)
    assert columns == {
        "debates_with_moved": 1, "turns_with_moved": 2 / 6, "debates_with_kind_good": 0, "turns_with_kind_good": 0,
        "debates_with_kind_bad": 1, "turns_with_kind_bad": 1 / 5, "debates_with_due": 1, "turns_with_due": 1 / 5,
    }  # fmt: skip
    write_labels(tmp_path / "labels.csv", rows)
    assert read_labels(tmp_path / "labels.csv") == rows
    write_labels(tmp_path / "none.csv", [])
    assert read_labels(tmp_path / "none.csv") == []


def test_a_debate_whose_labels_are_all_unreadable_has_no_value() -> None:
    """Nothing is known of it."""
    debate = made([{"a": "R"}])
    label = Label("due", "1", "due.j2")
    rows = label_rows(record(debate), view_debate(debate, grade), [label], {("due", 0): (None, "k")})
    assert label_columns([record(debate)], rows, [label]) == [{"debates_with_due": None, "turns_with_due": None}]


def test_a_row_that_is_not_one_of_a_label_is_refused(tmp_path: Path) -> None:
    """With the file and what to do."""
    path = tmp_path / "labels.csv"
    path.write_text("dataset,turn\nd,two\n", encoding="utf-8")
    with pytest.raises(RecordError, match=r"labels\.csv: a row is not one of a label"):
        read_labels(path)
