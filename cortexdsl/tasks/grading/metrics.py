"""Metrics by name: the score in [0, 1] of an answer against its golds, as each benchmark's authors compute it.

Sources: the SQuAD evaluation scripts (Rajpurkar et al. 2016, arXiv 1606.05250; 2018, arXiv 1806.03822), TriviaQA's
(Joshi et al. 2017, arXiv 1705.03551), HotpotQA's (Yang et al. 2018, arXiv 1809.09600) and LongBench's `metrics.py` and
`eval.py` (Bai et al. 2023, arXiv 2308.14508). If a library differs from the official script, the script is matched:
similarity of code is rounded to whole percents as fuzzywuzzy does, and ROUGE-L is that of the package `rouge`.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import eq
from typing import TypeAlias

from rapidfuzz import fuzz

from cortexdsl.errors import DataError, InputError
from cortexdsl.tasks.grading.instructions import followed
from cortexdsl.tasks.grading.math import equivalent, hendrycks_equal
from cortexdsl.tasks.grading.tolerance import WITHIN, within
from cortexdsl.tasks.reading.kinds import BETWEEN, canonical_text

Rule: TypeAlias = Callable[[str, str, Sequence[str]], float]
"""The score of an answer by one gold and a label set."""
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_DELETE_PUNCTUATION = str.maketrans("", "", string.punctuation)
# TriviaQA also knows curly quotes, the acute accent and the backtick, and replaces a mark by a space
_SPACE_PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation + "‘’´`", " "))
_NO_ANSWER = frozenset({"unanswerable", "no answer", "not answerable", "noanswer", "none", "na"})
_CLOSED = frozenset({"yes", "no", "noanswer"})


def normalise(text: str) -> str:
    """SQuAD: lower case, no ASCII punctuation, no articles, single spaces."""
    text = text.lower().translate(_DELETE_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", text).split())


def normalise_trivia(text: str) -> str:
    """TriviaQA: as SQuAD, but underscores and punctuation become spaces."""
    text = text.replace("_", " ").lower().translate(_SPACE_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", text).split()).strip()


def token_f1(answer: str, gold: str) -> float:
    """Harmonic mean of token precision and recall of two normalised texts, in [0, 1].

    Where either is empty (SQuAD 2.0's "no answer") it is 1 if both are, else 0.
    """
    said, wanted = answer.split(), gold.split()
    if not said or not wanted:
        return float(said == wanted)
    shared = sum((Counter(said) & Counter(wanted)).values())
    if not shared:
        return 0.0
    precision, recall = shared / len(said), shared / len(wanted)
    return 2 * precision * recall / (precision + recall)


def _exact(rule: Callable[[str], str]) -> Rule:
    """Make the exact match after a normalisation."""
    return lambda answer, gold, labels: float(_said(answer, gold, rule) == rule(gold))


def _f1(rule: Callable[[str], str]) -> Rule:
    """Make the token F1 after a normalisation."""
    return lambda answer, gold, labels: token_f1(_said(answer, gold, rule), rule(gold))


def hotpot_f1(answer: str, gold: str, labels: Sequence[str] = ()) -> float:
    """HotpotQA token F1: 0 if one side is yes, no or noanswer and the sides differ."""
    said, wanted = normalise(answer), normalise(gold)
    if not said or (said != wanted and {said, wanted} & _CLOSED):
        return 0.0
    return token_f1(said, wanted)


def _said(answer: str, gold: str, rule: Callable[[str], str]) -> str:
    """Normalise an answer; if "no answer" is the gold, the words for it mean the empty answer."""
    said = rule(answer)
    return "" if not gold and said in _NO_ANSWER else said


def drop_spans(answer: str) -> list[str]:
    """DROP: each span in lower case, split at spaces and hyphens, without articles, its numbers spelled as floats."""
    tokens = ([_drop_token(token) for token in re.split("[ -]", span)] for span in answer.lower().split(BETWEEN))
    return [" ".join(filter(None, words)) for words in tokens]


def _drop_bag(answer: str) -> str:
    spans = drop_spans(answer)
    return f"{len(spans)} {sorted(set(spans))}"


def _drop_token(token: str) -> str:
    bare = token if _is_float(token) else token.translate(_DELETE_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", str(float(bare)) if _is_float(bare) else bare).split())


def _is_float(text: str) -> bool:
    try:
        return float(text) is not None
    except ValueError:
        return False


def drop_f1(answer: str, gold: str, labels: Sequence[str] = ()) -> float:
    """DROP: mean F1 of the best one-to-one pairs of spans as sets of words; 0 if the gold's numbers are all missing."""
    from scipy.optimize import linear_sum_assignment

    said, wanted = ([set(span.split()) for span in drop_spans(text)] for text in (answer, gold))
    scores = [[_bag_f1(words, right) for words in said] for right in wanted]
    rows, chosen = linear_sum_assignment(scores, maximize=True)
    best = sum(scores[row][column] for row, column in zip(rows, chosen, strict=True))
    return round(float(best) / max(len(said), len(wanted)), 2)


def _bag_f1(said: set[str], wanted: set[str]) -> float:
    numbers = set(filter(_is_float, wanted))
    if numbers and not numbers & said:
        return 0.0
    shared = len(said & wanted)
    precision, recall = shared / len(said) if said else 1.0, shared / len(wanted) if wanted else 1.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


_DIGITS = re.compile(r"\d+")
_CHINESE_MARKS = (
    "！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､、〃"
    "》「」『』【】〔〕〖〗〘〙〚〛〜〝〞〟〰〾〿–—‘’‛“”„‟…‧﹏."
)
_MARKS = str.maketrans("", "", string.punctuation + _CHINESE_MARKS)
# Beyond so many characters a reply is cut before ROUGE and similarity, whose cost is quadratic.
_LONGEST = 20_000


def first_line(text: str) -> str:
    """Return the first line after leading line breaks, which few-shot subsets grade."""
    return text.lstrip("\n").split("\n")[0]


def qa_f1(answer: str, gold: str, labels: Sequence[str] = ()) -> float:
    """Token F1 with SQuAD's normalisation; 0 if no token is shared."""
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
    """ROUGE-L F of the package `rouge`; 0 if it cannot score (an empty text)."""
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
    """Similarity of the first line that is neither a comment nor a fence, in whole percents."""
    lines = answer.lstrip("\n").split("\n")
    code = next((line for line in lines if "`" not in line and "#" not in line and "//" not in line), "")
    return round(fuzz.ratio(code[:_LONGEST], gold)) / 100  # a half becomes the even number, as in fuzzywuzzy


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
    segmenter = jieba.Tokenizer()
    # Its own start would read a cache in the folder for temporary files, which other users can write.
    segmenter.FREQ, segmenter.total = segmenter.gen_pfdict(segmenter.get_dict_file())
    segmenter.initialized = True
    return segmenter


Metric: TypeAlias = Callable[[str, Sequence[str], Sequence[str]], float]
# metric, answer (None: unreadable), golds, label set
Case: TypeAlias = tuple[str, str | None, tuple[str, ...], tuple[str, ...]]


def _over_golds(rule: Rule, cut: bool = False) -> Metric:
    """Make a metric of a rule for one gold: the best over the golds, of the first line alone if `cut`."""

    def metric(answer: str, golds: Sequence[str], labels: Sequence[str]) -> float:
        said = first_line(answer) if cut else answer
        return max((rule(said, gold, labels) for gold in golds), default=0.0)

    return metric


Equality: TypeAlias = Callable[[str, str], bool]


def _after(rule: Callable[[str], str]) -> Equality:
    """Make an equality of a rule that spells an answer in one way; texts that it leaves empty are unequal."""
    spelled = lru_cache(maxsize=65_536)(rule)  # each answer of a debate is compared with all others
    return lambda answer, other: answer == other or spelled(answer) == spelled(other) != ""


@lru_cache(maxsize=65_536)
def _mathematically(answer: str, other: str) -> bool:
    return equivalent([(other, answer)])[0]


EQUALITIES: Mapping[str, Equality] = {
    "text": _after(canonical_text), "math": _mathematically, "hendrycks": hendrycks_equal,
    **dict.fromkeys(("em", "f1", "hotpot_f1", "qa_f1"), _after(normalise)),
    **dict.fromkeys(("trivia_em", "trivia_f1"), _after(normalise_trivia)),
    **dict.fromkeys(("drop_em", "drop_f1"), _after(_drop_bag)),
}  # fmt: skip
"""The equality of two answers under a metric, for grades and for votes. Other metrics compare spellings."""


def equality_of(metric: str) -> Equality:
    """Return the equality of two answers under a metric."""
    return within(metric) if metric.startswith(WITHIN) else EQUALITIES.get(metric, eq)


def _by_equality(name: str) -> Metric:
    return lambda answer, golds, labels: float(any(equality_of(name)(answer, gold) for gold in golds))


TESTS = "tests"
Passes: TypeAlias = Callable[[Sequence[tuple[str, str]]], list[bool]]
"""Whether each program passes its tests, of pairs (program, tests)."""


def _not_run(answer: str, golds: Sequence[str], labels: Sequence[str]) -> float:
    raise InputError(
        "programs of models are not run here, so they cannot be graded\n"
        "    ask the questions in an experiment (cortexdsl run), which runs programs with your permission"
    )


METRICS: Mapping[str, Metric] = {
    "accuracy": lambda answer, golds, labels: float(answer in golds),
    "agreement": lambda answer, golds, labels: golds.count(answer) / len(golds),
    **{name: _by_equality(name) for name in ("text", "math", "hendrycks")},
    "em": _over_golds(_exact(normalise)),
    "drop_em": _by_equality("drop_em"),
    "drop_f1": _over_golds(drop_f1),
    "instructions": lambda answer, golds, labels: float(all(followed(answer, golds[0]))),
    "em_zh": _over_golds(exact_match_zh),
    "f1": _over_golds(_f1(normalise)),
    "trivia_em": _over_golds(_exact(normalise_trivia)),
    "trivia_f1": _over_golds(_f1(normalise_trivia)),
    "hotpot_f1": _over_golds(hotpot_f1),
    "qa_f1": _over_golds(qa_f1),
    "qa_f1_first_line": _over_golds(qa_f1, cut=True),
    "qa_f1_zh": _over_golds(qa_f1_zh),
    "rouge": _over_golds(rouge),
    "rouge_first_line": _over_golds(rouge, cut=True),
    "rouge_zh": _over_golds(rouge_zh),
    "classification": _over_golds(classification, cut=True),
    "retrieval": _over_golds(retrieval),
    "count": _over_golds(count),
    "code_similarity": _over_golds(code_similarity),
    TESTS: _not_run,
}


def check_metric(name: str) -> str:
    """Return the metric's name.

    Raises
    ------
    DataError
        If there is no such metric.
    """
    metric_named(name)
    return name


def metric_named(name: str) -> Metric:
    """Return the metric of that name.

    Raises
    ------
    DataError
        If there is no such metric.
    """
    if name.startswith(WITHIN):
        within(name)
        return _by_equality(name)
    if name not in METRICS:
        raise DataError(f"no metric {name!r}\n    metrics: {', '.join(METRICS)}", word="metric")
    return METRICS[name]


def grade_all(cases: Sequence[Case], passes: Passes | None = None) -> list[float]:
    """Grade many answers; an unreadable one (None) is 0. Mathematics and programs are graded in parallel.

    Raises
    ------
    DataError
        If a metric is unknown.
    InputError
        If there are programs, and nothing to run them.
    """
    tested = [(answer, tests) for metric, answer, golds, _ in cases if metric == TESTS and answer for tests in golds]
    passed = dict(zip(tested, passes(tested), strict=True)) if passes and tested else {}
    pairs = [(gold, answer) for metric, answer, golds, _ in cases if metric == "math" and answer for gold in golds]
    known = dict(zip(pairs, equivalent(pairs), strict=True)) if len(pairs) > 1 else {}
    scores: list[float] = []
    for metric, answer, golds, labels in cases:
        if answer is None:
            scores.append(0.0)
        elif metric == TESTS and passed:
            scores.append(float(any(passed[answer, tests] for tests in golds)))
        elif metric == "math" and known:
            scores.append(float(any(known.get((gold, answer), False) for gold in golds)))
        else:
            scores.append(metric_named(metric)(answer, golds, labels))
    return scores
