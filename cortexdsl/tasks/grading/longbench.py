"""LongBench's metrics (Bai et al. 2023, arXiv 2308.14508; its `metrics.py` and `eval.py`), each in [0, 1].

Where a library differs from the official script, the script is matched: similarity of code is rounded to
whole percents as fuzzywuzzy does, and ROUGE-L is that of the package `rouge`, not `rouge-score`.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

from rapidfuzz import fuzz

from cortexdsl.tasks.grading.squad import normalise, token_f1

_DIGITS = re.compile(r"\d+")
_CHINESE_MARKS = (
    "！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､、〃"
    "》「」『』【】〔〕〖〗〘〙〚〛〜〝〞〟〰〾〿–—‘’‛“”„‟…‧﹏."
)
_MARKS = str.maketrans("", "", string.punctuation + _CHINESE_MARKS)
# Beyond so many characters a reply is cut before ROUGE and similarity, whose cost is quadratic.
_LONGEST = 20_000

# The six groups of the published average: subset -> group, by language (code counts in both).
GROUPS: Mapping[str, Mapping[str, str]] = {
    "en": {
        **dict.fromkeys(("narrativeqa", "qasper", "multifieldqa_en"), "single-document QA"),
        **dict.fromkeys(("hotpotqa", "2wikimqa", "musique"), "multi-document QA"),
        **dict.fromkeys(("gov_report", "qmsum", "multi_news"), "summarisation"),
        **dict.fromkeys(("trec", "triviaqa", "samsum"), "few-shot learning"),
        **dict.fromkeys(("passage_count", "passage_retrieval_en"), "synthetic tasks"),
        **dict.fromkeys(("lcc", "repobench-p"), "code completion"),
    },
    "zh": {
        "multifieldqa_zh": "single-document QA",
        "dureader": "multi-document QA",
        "vcsum": "summarisation",
        "lsht": "few-shot learning",
        "passage_retrieval_zh": "synthetic tasks",
        **dict.fromkeys(("lcc", "repobench-p"), "code completion"),
    },
}


def first_line(text: str) -> str:
    """What few-shot subsets grade: the first line after leading line breaks."""
    return text.lstrip("\n").split("\n")[0]


def qa_f1(answer: str, gold: str, labels: Sequence[str] = ()) -> float:
    """Token F1 with SQuAD's normalisation; 0 where no token is shared."""
    said, wanted = normalise(answer), normalise(gold)
    return token_f1(said, wanted) if said and wanted else 0.0


def qa_f1_zh(answer: str, gold: str, labels: Sequence[str] = ()) -> float:
    """F1 over jieba's words, without punctuation and spaces."""
    said, wanted = _words_zh(answer), _words_zh(gold)
    shared = sum((Counter(said) & Counter(wanted)).values())
    return 2 * shared / (len(said) + len(wanted)) if shared else 0.0


def exact_match_zh(answer: str, gold: str, labels: Sequence[str] = ()) -> float:
    """Equality without case, punctuation and spaces: what `qa_f1_zh` compares, before it is cut into words."""
    said, wanted = ("".join(text.lower().translate(_MARKS).split()) for text in (answer, gold))
    return float(said == wanted)


def rouge(answer: str, gold: str, labels: Sequence[str] = ()) -> float:
    """ROUGE-L F of the package `rouge`; 0 where it cannot score (an empty text)."""
    from rouge import Rouge

    try:
        scores = Rouge(metrics=["rouge-l"]).get_scores([answer[:_LONGEST]], [gold], avg=True)
    except (ValueError, RecursionError):
        return 0.0
    return float(scores["rouge-l"]["f"])


def rouge_zh(answer: str, gold: str, labels: Sequence[str] = ()) -> float:
    """ROUGE-L F over jieba's words."""
    return rouge(" ".join(_cut(answer[:_LONGEST])), " ".join(_cut(gold)))


def classification(answer: str, gold: str, labels: Sequence[str] = ()) -> float:
    """1 over the number of class names in the reply, if the gold is among them.

    Names that are part of the gold are not counted against it. The official loop drops them from the list it
    is walking over and so passes over the next name; that is kept.
    """
    named = [label for label in labels if label in answer]
    for name in named:
        if name in gold and name != gold:
            named.remove(name)
    return 1.0 / len(named) if gold in named else 0.0


def retrieval(answer: str, gold: str, labels: Sequence[str] = ()) -> float:
    """Share of the numbers in the reply that are the gold paragraph's (`Paragraph 7`, `段落7`)."""
    wanted = re.search(r"(?:Paragraph |段落)(\d+)", gold)
    return _share_of_numbers(answer, wanted[1]) if wanted else 0.0


def count(answer: str, gold: str, labels: Sequence[str] = ()) -> float:
    """Share of the numbers in the reply that are the gold count."""
    return _share_of_numbers(answer, gold.strip())


def code_similarity(answer: str, gold: str, labels: Sequence[str] = ()) -> float:
    """Similarity of the first line that is no comment and no fence, in whole percents."""
    lines = answer.lstrip("\n").split("\n")
    code = next((line for line in lines if "`" not in line and "#" not in line and "//" not in line), "")
    return int(fuzz.ratio(code[:_LONGEST], gold) + 0.5) / 100


def macro_average(scores: Mapping[str, float], language: str) -> float:
    """The published average: mean of the six group means of a language.

    Parameters
    ----------
    scores : mapping
        Subset -> its mean score, in any unit. Subsets of other languages are left out.
    language : str
        `en` or `zh`.

    Raises
    ------
    ValueError
        If a group of that language has no subset in `scores`.
    """
    groups: dict[str, list[float]] = {group: [] for group in GROUPS[language].values()}
    for subset, group in GROUPS[language].items():
        if subset in scores:
            groups[group].append(scores[subset])
    empty = [group for group, values in groups.items() if not values]
    if empty:
        raise ValueError(f"LongBench average ({language}): no subset of {', '.join(empty)}")
    return sum(sum(values) / len(values) for values in groups.values()) / len(groups)


def _share_of_numbers(answer: str, wanted: str) -> float:
    numbers = _DIGITS.findall(answer)
    return sum(number == wanted for number in numbers) / len(numbers) if numbers else 0.0


def _words_zh(text: str) -> list[str]:
    words = ("".join(word.lower().translate(_MARKS).split()) for word in _cut(text[:_LONGEST]))
    return [word for word in words if word]


def _cut(text: str) -> list[str]:
    return list(_segmenter().cut(text, cut_all=False))


@lru_cache(maxsize=1)
def _segmenter():  # type: ignore[no-untyped-def]
    import logging
    import warnings

    with warnings.catch_warnings():  # of its own old escapes and of pkg_resources
        warnings.simplefilter("ignore")
        import jieba

    jieba.setLogLevel(logging.WARNING)
    return jieba.Tokenizer()
