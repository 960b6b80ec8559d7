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
