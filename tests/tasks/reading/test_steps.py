"""Reviews, verdicts, selections, summaries. Values are what the words say."""

from __future__ import annotations

import pytest

from cortexdsl.tasks.reading.kinds import kind_named
from cortexdsl.tasks.reading.reader import AnswerReader
from cortexdsl.terms import Reading

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
        ("Well.", None),
    ],
)
def test_selections(text: str, value: str | None) -> None:
    assert READER.read("selection", text).value == value


def test_summaries_and_comments_are_the_text_itself() -> None:
    assert READER.read("summary", " Two of them say 3. ") == Reading("Two of them say 3.")
    assert READER.read("comment", "\n") == Reading(None, "empty reply")
