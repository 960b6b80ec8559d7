"""The reader: confidence, places of answers, steps that do not answer, and its cache."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cortexdsl.core import Reading
from cortexdsl.tasks.reading import reader
from cortexdsl.tasks.reading.kinds import kind_named
from cortexdsl.tasks.reading.reader import AnswerReader
from cortexdsl.tasks.reading.text import read_confidence, without_confidence
from cortexdsl.tasks.replies import row_item

CHOICES = (("A", "red"), ("B", "blue"))


def test_one_reply_is_read_by_each_kind_and_way_as_that_reads_it() -> None:
    """`(B)` is an option where there are options and no number; the strict reading wants its own line."""
    text = "I think it is 7, so the answer is (B)."
    for _ in range(2):
        assert AnswerReader(kind_named("choice", CHOICES)).read("answer", text).value == "B"
        assert AnswerReader(kind_named("choice", CHOICES), "strict").read("answer", text).value is None
        assert AnswerReader(kind_named("choice", (("A", "red"),))).read("answer", text).value is None


def test_a_reply_is_read_once_for_all_who_heard_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second job that comes to the same reply does not read it again; a very long one is not kept for it."""
    read: list[str] = []
    lenient = AnswerReader.lenient

    def counted(self: AnswerReader, text: str) -> object:
        read.append(text)
        return lenient(self, text)

    monkeypatch.setattr(AnswerReader, "lenient", counted)
    short, long = "Answer: 52917", "so " * reader.LONGEST_KEPT + "\nAnswer: 52917"
    for text in (short, short, long, long):
        assert AnswerReader(kind_named("number")).read("answer", text).value == "52917"
    assert read == [short, long, long]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Confidence: 0.8", 0.8),
        ("**Confidence:** .75", 0.75),
        ("Confidence: 80%", 0.8),
        ("Confidence: 80 percent, or so", 0.8),
        ("Confidence: 8/10", 0.8),
        ("Confidence: 8 out of 10", 0.8),
        ("Confidence: 80", 0.8),
        ("Confidence: 0.8 (very sure)", 0.8),
        ("confidence level: 1.0", 1.0),
        ('"confidence_level": "0.95"', 0.95),
        ("My confidence in this answer is 90%.", 0.9),
        ("Confidence: 0,7", 0.7),
        ("Confidence: 0.3\nno\nConfidence: 0.6", 0.6),
        ("Confidence: 1.5", 1.5),
        ("Confidence: -0.2", -0.2),
        ("Confidence: 150%", 1.5),
        ("置信度：0.6".replace("：", ":"), 0.6),
        ("Confidence (0-1): 0.9", 0.9),  # the range is not a value
        ("Confidence [0 to 1]: 70%", 0.7),
        ("Confidence: high", None),
        ("I am sure.", None),
        ("", None),
    ],
)
def test_reading(text: str, value: float | None) -> None:
    assert read_confidence(text) == (None if value is None else pytest.approx(value))


def test_stated_values_outside_the_range_are_kept_as_stated() -> None:
    reading = AnswerReader(kind_named("number")).read("answer", "Answer: 3\nConfidence: 1.5")
    assert (reading.value, reading.confidence) == ("3", 1.5)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("Because.\nAnswer: 3\nConfidence: 0.8", "Because.\nAnswer: 3"),
        ("Confidence: 80%\nAnswer: 3", "Answer: 3"),
        ("Answer: 3 (confidence: 0.8)", "Answer: 3"),
        ('{"answer": "3", "confidence_level": "0.8", "why": "x"}', '{"answer": "3",  "why": "x"}'),
        ("I have confidence in him.", "I have confidence in him."),
        ("Answer: 4\nConfidence is 0.9", "Answer: 4"),
        ("I say 4.\nMy confidence is 80%.", "I say 4."),
        ("Answer: 4 with a confidence of 90%", "Answer: 4"),
        ("Answer: 4\n**Confidence Level** 0.8", "Answer: 4"),
        ("Answer: 4\n- Confidence \u2014 0.85.", "Answer: 4"),
        ("Answer: 4\nConfidence (0-1): 0.9", "Answer: 4"),
        ("Overall, my confidence in this answer is 0.9.\nAnswer: 4", "\nAnswer: 4"),
        # what a solution says of a confidence level of statistics is no confidence of its author
        ("At confidence level 0.95, z is 1.96.\nConfidence: 0.8", "At confidence level 0.95, z is 1.96."),
    ],
)
def test_others_hear_the_reply_without_it(text: str, rest: str) -> None:
    assert without_confidence(text) == rest


@pytest.mark.parametrize("name", ["Confidence", "confidence level", "My certainty", "Overall confidence score"])
@pytest.mark.parametrize("between", [": ", " is ", " = ", " of ", " - ", " (0-1): ", " at ", " in this answer is "])
@pytest.mark.parametrize("value", ["0.8", "80%", "8/10", ".8", "80 percent"])
def test_what_is_read_is_never_heard(name: str, between: str, value: str) -> None:
    """Whatever spelling is read as a confidence is removed from what others hear, and the answer stays."""
    text = f"2+2 is 4.\nAnswer: 4\n{name}{between}{value}"
    assert read_confidence(text) == pytest.approx(0.8)
    assert read_confidence(without_confidence(text)) is None
    assert without_confidence(text) == "2+2 is 4.\nAnswer: 4"


CITIES = (("A", "Paris"), ("B", "Rome"))


@pytest.mark.parametrize(
    ("kind", "text", "place"),
    [
        ("number", "12 or 13?\nAnswer: 12\nConfidence: 0.12", "12@18"),
        ("number", "so\nAnswer: $1,234.50 dollars", "1,234.50@12"),
        ("number", "Answer:\n**12**\n", "12@10"),
        ("number", "3 + 4 = 7, so it is 7.", "7@20"),
        ("number", "It is 1,234.5 in all", "1,234.5@6"),
        ("expression", "we get \\boxed{\\frac{1}{2}} in all", "\\frac{1}{2}@14"),
        ("choice", "Answer: (B) Rome\nConfidence: 1", "B@9"),
        ("choice", "The answer is Paris.", "Paris@14"),
        ("text", "Answer: Ada Lovelace\nConfidence: 0.5", "Ada Lovelace@8"),
        ("yesno", "Answer: Yes, it is", "Yes@8"),
    ],
)
def test_an_answer_stands_where_it_was_read(kind: str, text: str, place: str) -> None:
    reader = AnswerReader(kind_named(kind, CITIES if kind == "choice" else ()))
    answer = reader.read("answer", text).value
    assert answer is not None
    found = reader.place_of(answer, text)
    assert found is not None
    assert f"{text[slice(*found)]}@{found[0]}" == place


@pytest.mark.parametrize(
    ("kind", "answer", "text"),
    [
        ("number", "5", "It costs 15, or 5.5, or x5."),
        ("number", "5", ""),
        ("number", "", "Answer: 5"),
        ("choice", "A", "I am sure of it"),
        ("free", "a summary", "Answer: a summary"),
    ],
)
def test_an_answer_that_stands_nowhere_has_no_place(kind: str, answer: str, text: str) -> None:
    assert AnswerReader(kind_named(kind, CITIES if kind == "choice" else ())).place_of(answer, text) is None


def test_a_reply_of_a_million_words_is_looked_at_from_its_end() -> None:
    reader = AnswerReader(kind_named("number"))
    assert reader.place_of("7", "word " * 1_000_000) is None
    assert reader.place_of("7", "word " * 1_000_000 + "it is 7") == (5_000_006, 5_000_007)


def test_the_answers_of_real_replies_are_found(shared_data: Path) -> None:
    """At least 98 % of those that were read; what is found reads as the answer, or is a part of its line."""
    lines = (shared_data / "raw_outputs.jsonl").read_text(encoding="utf-8").splitlines()
    found, lost = 0, []
    for number, row in enumerate(map(json.loads, lines), 1):
        item = row_item(row, number)
        reader = AnswerReader(kind_named(item.kind, item.question.options, item.labels))
        answer = reader.read("answer", str(row["output"] or "")).value
        if answer is None or item.kind == "free":
            continue
        place = reader.place_of(answer, row["output"])
        found += place is not None
        lost += [] if place else [answer]
    assert found > 100
    assert len(lost) <= 0.02 * (found + len(lost)), lost


READER = AnswerReader(kind_named("number"))


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        ("Sound.\nScore: 8", Reading("8", None, 0.8)),
        ("Score: 8/10", Reading("8", None, 0.8)),
        ("Score: 80%", Reading("80", None, 0.8)),
        ("Judgement: incorrect\nScore: 3", Reading("incorrect", None, 0.3)),
        ("**Score**: 10", Reading("10", None, 1.0)),
        ("Score (1-10): 7", Reading("7", None, 0.7)),
        ("Score - 8", Reading("8", None, 0.8)),
        ("Score: 0", Reading("0", None, 0.0)),
        ("Confidence: 90", Reading("90", None, 0.9)),
        ("Score: -0.7", Reading(None, "the score -0.7 is not from 0 to 10")),
        ("Score: −3", Reading(None, "the score −3 is not from 0 to 10")),
        ("Score: 25", Reading(None, "the score 25 is not from 0 to 10")),
        ("Score: 9/5", Reading(None, "the score 9 is not from 0 to 5")),
        ("Score: 1000", Reading(None, "the score 1000 is not from 0 to 10")),
        ("It is fine.", Reading(None, "no score")),
        ("", Reading(None, "empty reply")),
    ],
)
def test_reviews(text: str, reading: Reading) -> None:
    assert READER.read("review", text) == reading


@pytest.mark.parametrize(
    ("text", "similarity"),
    [
        ("Both add first.\nSimilarity: 0.7", 0.7),
        ("Similarity: 70%", 0.7),
        ("Similarity score is 7/10", 0.7),
        ("Similarity: 0.2. No: Similarity: 1", 1.0),
        ("Similarity: -0.7", None),
        ("Similarity: 7", None),
        ("They are alike.", None),
        ("", None),
    ],
)
def test_similarities(text: str, similarity: float | None) -> None:
    found = READER.read("similarity", text)
    assert found.confidence == similarity
    assert (found.unparsed is None) == (similarity is not None)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Both say 3.\nVerdict: agree", "agree"),
        ("Verdict: **Disagree**", "disagree"),
        ("They agree at first. Verdict: disagree", "disagree"),
        ("They do not agree.", "disagree"),
        ("All of them agree.", "agree"),
        ("No.", "disagree"),
        ("Verdict: True", "agree"),
        ("Both are 14.\n\n$\\boxed{\\text{Yes}}$", "agree"),
        ("Verdict: no\nAnswer: $\\boxed{yes}$", "disagree"),
        ("Agent 1: \\boxed{no}. Agent 2: \\boxed{no}. All agents agree.", "agree"),
        ("Hard to say.", None),
    ],
)
def test_verdicts(text: str, value: str | None) -> None:
    assert READER.read("verdict", text).value == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Selected: 1, 3", "1, 3"),
        ("Selected: [2] and [4]", "2, 4"),
        ("Selected: none", ""),
        ("I take [1] and [3].", "1, 3"),
        ("None of them helps.", ""),
        ("**Selected:** 2, since it has more than passage 1 and names 3 dates", "2"),
        ("Selected: 1 (it names 2 dates), 3 (it names the place)", "1, 3"),
        ("Selected: 1, which gives the date, and 3, which gives the place", "1, 3"),
        ("Selected: 1 (and 3)", "1, 3"),
        ("Selected: 1 as well as 3", "1, 3"),
        ("Selected evidence: (passages 1 and 3)", "1, 3"),
        ("Selected: none (passage 1 is old)", ""),
        ("Well.", None),
    ],
)
def test_selections(text: str, value: str | None) -> None:
    assert READER.read("selection", text).value == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Choice: **2**", "2"),
        ("Choice: Agents 1 and 3.", "1, 3"),
        ("Choice: [1], [3]", "1, 3"),
        ("Choice: Agent 2, because Agent 1 is wrong in step 3.", "2"),
        ("**Choice:** Agent 2 (score 9/10)", "2"),
        ("Choice: 1 (it is right), 3 (as 1 is)", "1, 3"),
        ("Choice: 2. Agent 1 is wrong.", "2"),
        ("Choice: 2\n\nAgent 1 made 3 mistakes.", "2"),
        ("Agent 1 forgets a unit, so I choose Agent 2.", "2"),
        ("My choice is 2.", "2"),
        ("The correct choice is 2 metres.", None),
        ("Choice: **2** and **3**", "2, 3"),
        ("Choice: **Agent 1**, or **Agent 3**", "1, 3"),
        ("Choice: Agent 1's answer and Agent 3's answer", "1, 3"),
        ("Choice: none of them, 1 is wrong", ""),
        ("Choice: neither Agent 1 nor Agent 2", ""),
        ("Don't choose Agent 1; choose Agent 2", "2"),
        ("I would not choose Agent 2.", None),
        ("I never pick agent 1 here.", None),
        ("There are ways to choose 2 of 5 balls.", None),
        ("Agent 2 is the most wrong.", None),
        ("Choice: none of them", ""),
        ("Well.", None),
    ],
)
def test_choices(text: str, value: str | None) -> None:
    """A number of a reason or of a score is not one of those chosen."""
    assert READER.read("choice", text).value == value


def test_summaries_and_comments_are_the_text_itself() -> None:
    assert READER.read("summary", " Two of them say 3. ") == Reading("Two of them say 3.")
    assert READER.read("comment", "\n") == Reading(None, "empty reply")
