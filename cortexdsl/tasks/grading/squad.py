"""Exact match and token F1 of the SQuAD family, with the normalisation of each official script.

Sources: the official SQuAD evaluation scripts (Rajpurkar et al. 2016, arXiv 1606.05250; 2018, arXiv
1806.03822), TriviaQA's (Joshi et al. 2017, arXiv 1705.03551) and HotpotQA's (Yang et al. 2018, arXiv
1809.09600).
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_DELETE_PUNCTUATION = str.maketrans("", "", string.punctuation)
# TriviaQA also knows curly quotes, the acute accent and the backtick, and puts a space where it removes a mark
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


def exact_match(answer: str, golds: Sequence[str]) -> float:
    """SQuAD exact match, the best over the golds."""
    said = _said(answer, golds, normalise)
    return float(any(said == normalise(gold) for gold in golds))


def f1(answer: str, golds: Sequence[str]) -> float:
    """SQuAD token F1, the best over the golds."""
    said = _said(answer, golds, normalise)
    return max((token_f1(said, normalise(gold)) for gold in golds), default=0.0)


def trivia_exact_match(answer: str, golds: Sequence[str]) -> float:
    """TriviaQA exact match, the best over the aliases."""
    said = normalise_trivia(answer)
    return float(any(said == normalise_trivia(gold) for gold in golds))


def trivia_f1(answer: str, golds: Sequence[str]) -> float:
    """TriviaQA token F1, the best over the aliases."""
    said = normalise_trivia(answer)
    return max((token_f1(said, normalise_trivia(gold)) for gold in golds), default=0.0)


def hotpot_f1(answer: str, golds: Sequence[str]) -> float:
    """HotpotQA token F1: 0 where one side is yes, no or noanswer and the sides differ."""
    said = normalise(answer)

    def one(gold: str) -> float:
        wanted = normalise(gold)
        if said != wanted and (said in _CLOSED or wanted in _CLOSED):
            return 0.0
        return token_f1(said, wanted) if said else 0.0

    return max((one(gold) for gold in golds), default=0.0)


def _said(answer: str, golds: Sequence[str], rule: Callable[[str], str]) -> str:
    """Normalise an answer; where "no answer" is a gold, the words for it mean the empty answer."""
    said = rule(answer)
    return "" if "" in golds and said in _NO_ANSWER else said
