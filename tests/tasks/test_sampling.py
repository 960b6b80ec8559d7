"""Samples: prefix-stable, balanced, explicit; options shuffled with the gold following its text."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortexdsl.errors import DataError
from cortexdsl.tasks.sampling import chosen, with_shuffled_options
from cortexdsl.tasks.task import Item
from cortexdsl.terms import Question

OPTIONS = tuple(zip("ABCD", ("w", "x", "y", "z"), strict=True))


def item(number: int, subject: str = "s") -> Item:
    question = Question(f"q{number}", f"text {number}", OPTIONS)
    return Item(question, ("C",), "choice", "accuracy", fields={"subject": subject})


ITEMS = [item(number, "few" if number < 4 else "many") for number in range(40)]


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 5), st.sampled_from([None, "subject"]))
def test_a_larger_sample_begins_with_the_smaller(small: int, large: int, seed: int, stratify: str | None) -> None:
    small, large = sorted((small, large))
    assert chosen(ITEMS, large, seed, stratify)[:small] == chosen(ITEMS, small, seed, stratify)


def test_no_size_is_the_longest_sample() -> None:
    everything = chosen(ITEMS, None, 3)
    assert everything[:7] == chosen(ITEMS, 7, 3)
    assert sorted(each.question.id for each in everything) == sorted(each.question.id for each in ITEMS)


def test_the_order_depends_on_the_seed_and_not_on_the_file() -> None:
    assert chosen(ITEMS, 10, 1) == chosen(ITEMS[::-1], 10, 1)
    assert chosen(ITEMS, 10, 1) != chosen(ITEMS, 10, 2)


def test_strata_take_turns_until_one_is_used_up() -> None:
    """4 questions of one subject and 36 of another: 8 are 4 and 4, 10 are 4 and 6."""
    count = {size: Counter(each.fields["subject"] for each in chosen(ITEMS, size, 0, "subject")) for size in (8, 10)}
    assert count == {8: {"few": 4, "many": 4}, 10: {"few": 4, "many": 6}}


def test_explicit_ids_come_in_their_order() -> None:
    assert [each.question.id for each in chosen(ITEMS, None, 0, None, ("q5", "q2"))] == ["q5", "q2"]


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
        chosen(ITEMS, *arguments)  # type: ignore[arg-type]


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
