"""Debates for people: what is shown, and what a hostile reply cannot do."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cortexdsl.core import Deferred, Graph, Model, Question
from cortexdsl.plain_text import printable
from cortexdsl.records.text import debate_line, transcript_text
from tests.stats.debates import made, record, with_extra

DEBATE = made([{"a": "R", "b": None}, {"a": "R", "b": "R"}], [[("a", "b")]], confidence=[{"a": 0.8}], stop="consensus")


def test_a_transcript_says_who_heard_whom_what_was_read_and_how_it_ended() -> None:
    text = transcript_text(record(DEBATE), width=60)
    assert text.splitlines()[0] == "sums / full / replicate 1 / question q1"
    assert "── round 0, answer ─" in text
    assert "\na\n    answer: R, confidence 0.8\n    | Answer: R\n" in text
    assert "\nb\n    answer: unreadable (no answer)\n" in text
    assert "\nb, hearing a\n" in text
    assert text.endswith("answer: R   (votes R: 2)\n1 round, consensus\n")


def test_weights_stand_beside_those_heard_and_recalibration_beside_what_was_stated() -> None:
    weight = np.array([[np.nan, 0.25], [0.125, np.nan]])
    graph = Graph(1, "revise", ("a", "b"), ("a", "b"), weight, DEBATE.graphs[0].heard, {})
    turns = (replace(DEBATE.turns[0], confidence_stated=0.95), *DEBATE.turns[1:])
    text = transcript_text(record(replace(DEBATE, graphs=(graph,), turns=turns)))
    assert "b, hearing a (0.25)" in text
    assert "confidence 0.95 taken as 0.8" in text


def test_other_roles_are_shown_with_what_they_gave() -> None:
    text = transcript_text(record(with_extra(DEBATE, about="a")))
    assert "judge about a\n    verdict: agree\n" in text


def test_what_was_asked_stands_above_the_debate() -> None:
    """A passage, the question, its options, each line behind a question mark; then what would be right."""
    question = Question("q1", "Which?\nOne of these.", (("A", "this"), ("B", "that\x1b[2J")), "A passage.")
    lines = transcript_text(record(DEBATE), question=question, gold=("B",)).split("\n")
    assert lines[1:7] == [
        "    ? A passage.",
        "    ? Which?",
        "    ? One of these.",
        "    ? A. this",
        "    ? B. that\\x1b[2J",
        "right: B",
    ]
    assert lines[7].startswith("agents: ")


def test_a_list_entry_says_how_a_debate_ended() -> None:
    assert debate_line(record(DEBATE)) == ("sums", "full", "1", "q1", "R", "1 round, consensus")
    none = made([{"a": None}], was_tied=True)
    assert debate_line(record(none))[4:] == ("-", "0 rounds, the end of its schedule, tied")
    handed_on = replace(none, answer="R", deferred=Deferred("full", 0.5, None, DEBATE))
    assert debate_line(record(handed_on))[4:] == ("R", "handed on to full: 1 round, consensus, tied")


def test_terminal_commands_are_shown_not_obeyed() -> None:
    assert printable("\x1b[2Jgone\x07 \u202eabc \ud800 é 中\r\nnext\ttab") == (
        "\\x1b[2Jgone\\x07 \\u202eabc \\ud800 é 中\nnext\ttab"
    )


@given(st.text(st.characters(exclude_categories=())))
def test_nothing_shown_moves_the_cursor(text: str) -> None:
    hostile = replace(DEBATE, turns=(replace(DEBATE.turns[0], text=text, answer=text),), answer=text, question_id=text)
    shown = transcript_text(record(hostile)) + "".join(debate_line(record(hostile)))
    assert {unicodedata.category(c) for c in shown if c != "\n" and c != "\t"}.isdisjoint(
        {"Cc", "Cf", "Cs", "Zl", "Zp"}
    )
    shown.encode("utf-8")


def test_steps_of_one_round_are_headed_apart_and_keep_their_own_weights() -> None:
    """Two reviews in a row, and no debater answers in between: the second is headed so, and weighs b by 0.5."""
    answers = DEBATE.turns[:2]
    reviews = [
        replace(answers[0], turn=turn, execution=execution, step="review", round=1, reads="comment", heard=(1,))
        for turn, execution in ((2, 1), (3, 2))
    ]
    graphs = [
        Graph(1, "review", ("b",), ("a",), np.array([[weight]]), np.array([[True]]), {}) for weight in (0.25, 0.5)
    ]
    debate = replace(DEBATE, turns=(*answers, *reviews), graphs=tuple(graphs))
    heads = [line.strip(" ─") if "──" in line else line for line in transcript_text(record(debate)).splitlines()]
    assert [line for line in heads if line.startswith(("round", "a, hearing"))] == [
        "round 0, answer", "round 1, review", "a, hearing b (0.25)", "round 1, review (time 2)", "a, hearing b (0.5)",
    ]  # fmt: skip


def test_a_turn_of_a_step_with_its_own_model_names_the_model() -> None:
    second = DEBATE.turns[2].step
    text = transcript_text(record(replace(DEBATE, step_models={second: Model("large", "openai/large")})))
    assert "\na\n" in text
    assert "\nb (model large), hearing a\n" in text


def test_the_head_names_the_wording_that_was_drawn() -> None:
    assert transcript_text(record(replace(DEBATE, wording=2))).splitlines()[0].endswith(" / question q1 / wording 2")
