"""The metrics by name: an answer and its golds to a score in [0, 1]."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from cortexdsl.errors import DataError
from cortexdsl.tasks.grading import hendrycks, longbench, squad
from cortexdsl.tasks.grading.math import equivalent
from cortexdsl.tasks.reading.words import canonical_text

Metric: TypeAlias = Callable[[str, Sequence[str], Sequence[str]], float]
# metric, answer (None: unreadable), golds, label set
Case: TypeAlias = tuple[str, str | None, tuple[str, ...], tuple[str, ...]]


def _over_golds(rule: Callable[[str, str, Sequence[str]], float], cut: bool = False) -> Metric:
    """Make a metric of a rule for one gold: the best over the golds, of the first line alone if `cut`."""

    def metric(answer: str, golds: Sequence[str], labels: Sequence[str]) -> float:
        said = longbench.first_line(answer) if cut else answer
        return max((rule(said, gold, labels) for gold in golds), default=0.0)

    return metric


def _without_labels(rule: Callable[[str, Sequence[str]], float]) -> Metric:
    return lambda answer, golds, labels: rule(answer, golds)


METRICS: Mapping[str, Metric] = {
    "accuracy": lambda answer, golds, labels: float(answer in golds),
    "text": lambda answer, golds, labels: float(canonical_text(answer) in map(canonical_text, golds)),
    "math": lambda answer, golds, labels: float(any(equivalent([(gold, answer) for gold in golds]))),
    "hendrycks": lambda answer, golds, labels: float(any(hendrycks.equivalent(answer, gold) for gold in golds)),
    "em": _without_labels(squad.exact_match),
    "em_zh": _over_golds(longbench.exact_match_zh),
    "f1": _without_labels(squad.f1),
    "trivia_em": _without_labels(squad.trivia_exact_match),
    "trivia_f1": _without_labels(squad.trivia_f1),
    "hotpot_f1": _without_labels(squad.hotpot_f1),
    "qa_f1": _over_golds(longbench.qa_f1),
    "qa_f1_first_line": _over_golds(longbench.qa_f1, cut=True),
    "qa_f1_zh": _over_golds(longbench.qa_f1_zh),
    "rouge": _over_golds(longbench.rouge),
    "rouge_first_line": _over_golds(longbench.rouge, cut=True),
    "rouge_zh": _over_golds(longbench.rouge_zh),
    "classification": _over_golds(longbench.classification, cut=True),
    "retrieval": _over_golds(longbench.retrieval),
    "count": _over_golds(longbench.count),
    "code_similarity": _over_golds(longbench.code_similarity),
}

DEFAULT_METRICS: Mapping[str, str] = {"expression": "math", "text": "em", "free": "rouge"}


def check_metric(name: str) -> str:
    """Return the metric's name.

    Raises
    ------
    DataError
        If there is no such metric.
    """
    if name not in METRICS:
        raise DataError(f"no metric {name!r}\n    metrics: {', '.join(METRICS)}", word="metric")
    return name


def grade_all(cases: Sequence[Case]) -> list[float]:
    """Grade many answers; an unreadable one (None) is 0. Mathematics is compared in parallel.

    Raises
    ------
    DataError
        If a metric is unknown.
    """
    pairs = [(gold, answer) for metric, answer, golds, _ in cases if metric == "math" and answer for gold in golds]
    known = dict(zip(pairs, equivalent(pairs), strict=True)) if len(pairs) > 1 else {}
    scores: list[float] = []
    for metric, answer, golds, labels in cases:
        if answer is None:
            scores.append(0.0)
        elif metric == "math" and known:
            scores.append(float(any(known.get((gold, answer), False) for gold in golds)))
        else:
            scores.append(METRICS[check_metric(metric)](answer, golds, labels))
    return scores
