"""The metrics that a spec may name, so that a misspelt or impossible one is found before anything is spent.

What each means is said where it is computed: `cortexdsl.analysis.metrics.registry`, and docs/metrics.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Literal

METRIC_NAMES = (
    "accuracy", "opening_accuracy", "agent_accuracy", "gain", "improvement", "consensus", "co2", "rounds", "calls",
    "input_tokens", "output_tokens", "reasoning_tokens", "total_tokens", "input_tokens_per_agent",
    "output_tokens_per_agent", "extra_calls", "extra_input_tokens", "extra_output_tokens", "dvc", "cvr", "debates",
    "flips", "wrong_to_right", "right_to_wrong", "wrong_to_wrong", "conformity", "stubbornness", "influence",
    "influence_right", "influence_wrong", "density", "reciprocity", "most_heard", "brier_stated",
    "brier_recalibrated", "ties", "unparsed", "unanswered", "unparsed_turns", "failures", "cut", "repetitive",
    "strict_accuracy", "lenient_accuracy", "strict_unparsed", "lenient_unparsed", "brier_raw", "unmeasured",
    "refused", "empty", "tool_calls", "other_language",
)  # fmt: skip
"""Metrics of every experiment."""

METRIC_OF: Mapping[str, str] = {
    "score": "accuracy", "cons": "consensus", "brier": "brier_stated", "ece": "ece_stated", "auroc": "auroc_stated",
}  # fmt: skip
"""What some metrics are called besides."""

OTHER_NAMES = ("score", "cons", "brier")
"""Those of them that stand for a metric of debates."""

TEXT_METRICS = ("em", "f1", "judged")
"""Further scores of short texts: exact match, token F1, and the verdict of a judging model (`analysis.judge`)."""

KNOWN_METRICS = (*METRIC_NAMES, *OTHER_NAMES, *TEXT_METRICS)

CALIBRATION_METRICS = (
    "ece_stated", "ece_recalibrated", "ece_raw", "auroc_stated", "auroc_recalibrated", "auroc_raw", "ece", "auroc",
)  # fmt: skip
"""What confidences are worth, over all answers of a cell: no number of one debate, so for claims alone."""

CLAIMED_METRICS = (*KNOWN_METRICS, *CALIBRATION_METRICS)
"""What a claim may be about."""

AFTER_ROUNDS = ("accuracy", "score", "consensus", "cons", "agent_accuracy")
"""What is known of a whole debate after each of its rounds."""

BY_AGENT = ("accuracy", "score", "brier", "brier_stated", "brier_recalibrated", "brier_raw", *CALIBRATION_METRICS)
"""What is known of one debater of a cell."""

_FRACTIONS = frozenset({
    "accuracy", "opening_accuracy", "agent_accuracy", "consensus", "co2", "conformity", "stubbornness", "influence",
    "influence_right", "influence_wrong", "density", "reciprocity", "most_heard", "brier_stated",
    "brier_recalibrated", "brier_raw", "ties", "unanswered", "strict_accuracy", "lenient_accuracy", *OTHER_NAMES,
    *TEXT_METRICS, *CALIBRATION_METRICS,
})  # fmt: skip
_SIGNED: Mapping[str, tuple[float, float]] = {"gain": (-1.0, 1.0), "improvement": (-1.0, inf)}

_ALIKE = (
    ("accuracy", "score", "opening_accuracy", "agent_accuracy", "strict_accuracy", "lenient_accuracy"),
    ("brier", "brier_stated", "brier_recalibrated", "brier_raw"),
    ("ece", "ece_stated", "ece_recalibrated", "ece_raw"),
    ("auroc", "auroc_stated", "auroc_recalibrated", "auroc_raw"),
    ("flips", "wrong_to_right", "right_to_wrong", "wrong_to_wrong"),
    ("input_tokens", "output_tokens", "reasoning_tokens", "total_tokens", "extra_input_tokens", "extra_output_tokens"),
    ("calls", "extra_calls"),
    ("consensus", "cons"),
    ("influence", "influence_right", "influence_wrong"),
)

_NEITHER = (
    "consensus", "cons", "debates", "flips", "wrong_to_wrong", "conformity", "stubbornness", "influence", "density",
    "reciprocity", "most_heard",
)  # fmt: skip
_LOWER = (
    "rounds", "calls", "input_tokens", "output_tokens", "reasoning_tokens", "total_tokens", "input_tokens_per_agent",
    "output_tokens_per_agent", "extra_calls", "extra_input_tokens", "extra_output_tokens", "right_to_wrong",
    "influence_wrong", "brier", "brier_stated", "brier_recalibrated", "brier_raw", "ece", "ece_stated",
    "ece_recalibrated", "ece_raw", "unmeasured", "refused", "empty", "tool_calls", "other_language",
    "ties", "unparsed", "unanswered", "unparsed_turns", "failures", "cut", "repetitive", "strict_unparsed",
    "lenient_unparsed",
)  # fmt: skip


_AT_MOST_CALLS = (
    "calls", "extra_calls", "failures", "cut", "repetitive", "refused", "empty", "tool_calls", "other_language",
    "unparsed", "unparsed_turns", "strict_unparsed", "lenient_unparsed", "unmeasured", "flips", "wrong_to_right",
    "right_to_wrong", "wrong_to_wrong", "cvr",
)  # fmt: skip
_AT_MOST_WRITTEN = ("output_tokens", "reasoning_tokens", "extra_output_tokens", "output_tokens_per_agent")
_AT_MOST_READ = ("input_tokens", "extra_input_tokens", "input_tokens_per_agent")
_PLANNED: Mapping[str, str] = {
    "rounds": "rounds", **dict.fromkeys(_AT_MOST_CALLS, "calls"), **dict.fromkeys(_AT_MOST_WRITTEN, "output_tokens"),
    **dict.fromkeys(_AT_MOST_READ, "input_tokens"), "total_tokens": "total_tokens",
}  # fmt: skip


def bound_of(metric: str) -> str:
    """Return what in a plan bounds the metric of one question, such as `calls` or `output_tokens`; or nothing."""
    return _PLANNED.get(metric, "")


def range_of(metric: str) -> tuple[float, float]:
    """The values that the mean of a metric can have; of a name that is no metric of ours, any."""
    if metric in _FRACTIONS:
        return 0.0, 1.0
    if metric in _SIGNED:
        return _SIGNED[metric]
    return (0.0, inf) if metric in CLAIMED_METRICS else (-inf, inf)


def better_of(metric: str) -> Literal["higher", "lower", "neither"]:
    """Which direction of a metric is a merit."""
    return "lower" if metric in _LOWER else "neither" if metric in _NEITHER else "higher"


def alike(first: str, second: str) -> bool:
    """Whether two metrics measure the same thing, so that their difference means something."""
    return first == second or any(first in group and second in group for group in _ALIKE)
