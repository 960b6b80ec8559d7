"""The metrics that a spec may name, so that a misspelt one is found before anything is spent.

What each means is said where it is computed: `cortexdsl.analysis.metrics.registry`, and docs/metrics.md.
"""

from __future__ import annotations

METRIC_NAMES = (
    "accuracy", "opening_accuracy", "agent_accuracy", "gain", "improvement", "consensus", "co2", "rounds", "calls",
    "input_tokens", "output_tokens", "total_tokens", "input_tokens_per_agent", "output_tokens_per_agent",
    "extra_calls", "extra_input_tokens", "extra_output_tokens", "dvc", "cvr", "debates", "flips", "wrong_to_right",
    "right_to_wrong", "wrong_to_wrong", "conformity", "stubbornness", "density", "reciprocity", "most_heard",
    "brier_stated", "brier_recalibrated", "ties", "unparsed", "unanswered", "unparsed_turns", "failures",
    "strict_accuracy", "lenient_accuracy", "strict_unparsed", "lenient_unparsed",
)  # fmt: skip
"""Metrics of every experiment."""

OTHER_NAMES = ("score", "cons")
"""Other names of some of them."""

TEXT_METRICS = ("em", "f1", "judged")
"""Further scores of short texts: exact match, token F1, and the verdict of a judging model (`analysis.judge`)."""

KNOWN_METRICS = (*METRIC_NAMES, *OTHER_NAMES, *TEXT_METRICS)
