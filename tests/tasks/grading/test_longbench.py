"""LongBench: the published averages, and each metric on cases worked out by hand."""

from __future__ import annotations

import pytest

from cortexdsl.tasks.grading import longbench
from cortexdsl.tasks.grading.metrics import grade_all

# by subset, from the tables of LongBench's README (Bai et al. 2023)
LLAMA = {
    **{"narrativeqa": 18.7, "qasper": 19.2, "multifieldqa_en": 36.8, "multifieldqa_zh": 11.9},
    **{"hotpotqa": 25.4, "2wikimqa": 32.8, "musique": 9.4, "dureader": 5.2},
    **{"gov_report": 27.3, "qmsum": 20.8, "multi_news": 25.8, "vcsum": 0.2},
    **{"trec": 61.5, "triviaqa": 77.8, "samsum": 40.7, "lsht": 19.8},
    **{"passage_count": 2.1, "passage_retrieval_en": 9.8, "passage_retrieval_zh": 0.5},
    **{"lcc": 52.4, "repobench-p": 43.8},
}
ENGLISH = {
    **{"narrativeqa": 23.6, "qasper": 43.3, "multifieldqa_en": 52.3},
    **{"hotpotqa": 51.6, "2wikimqa": 37.7, "musique": 26.9},
    **{"gov_report": 29.5, "qmsum": 23.4, "multi_news": 26.7},
    **{"trec": 68.0, "triviaqa": 91.4, "samsum": 41.7},
    **{"passage_count": 4.5, "passage_retrieval_en": 71.0},
    **{"lcc": 54.7, "repobench-p": 53.6},
}


def test_published_english_average() -> None:
    """Group means 39.7, 38.7, 26.5, 67.0, 37.8 and 54.2 make 44.0."""
    assert round(longbench.macro_average(ENGLISH, "en"), 1) == 44.0


def test_published_averages_of_llama() -> None:
    """Llama2-7B-chat-4k: 31.0 in English and 14.3 in Chinese."""
    assert round(longbench.macro_average(LLAMA, "en"), 1) == 31.0
    assert round(longbench.macro_average(LLAMA, "zh"), 1) == 14.3


def test_published_averages_from_group_means() -> None:
    """The README's own group means: (39.8+38.7+26.5+67.1+54.1+37.8)/6 = 44.0."""
    groups = {"single-document QA": 39.8, "multi-document QA": 38.7, "summarisation": 26.5, "few-shot learning": 67.1}
    groups |= {"code completion": 54.1, "synthetic tasks": 37.8}
    scores = {subset: groups[group] for subset, group in longbench.GROUPS["en"].items()}
    assert round(longbench.macro_average(scores, "en"), 1) == 44.0


def test_published_chinese_average() -> None:
    """GPT-3.5-Turbo-16k: 61.2, 28.7, 16.0, 29.2, 77.5 and code (54.7 + 53.6) / 2 make 44.5."""
    scores = {"multifieldqa_zh": 61.2, "dureader": 28.7, "vcsum": 16.0, "lsht": 29.2, "passage_retrieval_zh": 77.5}
    assert round(longbench.macro_average(scores | {"lcc": 54.7, "repobench-p": 53.6}, "zh"), 1) == 44.5


def test_an_average_without_a_group_is_refused() -> None:
    with pytest.raises(ValueError, match="no subset of code completion"):
        longbench.macro_average({name: 1.0 for name in ENGLISH if name not in ("lcc", "repobench-p")}, "en")


def test_there_are_21_subsets_and_six_groups_a_language() -> None:
    assert len(longbench.GROUPS["en"].keys() | longbench.GROUPS["zh"].keys()) == 21
    assert all(len(set(groups.values())) == 6 for groups in longbench.GROUPS.values())


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
