"""The reference page of metrics: each with its column, unit, direction and meaning, by topic."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from markdown_tables import table

from cortexdsl.core.metric_types import SAMPLE_SIZES, Metric
from cortexdsl.core.metrics import CALIBRATION, METRICS

TOPICS: Mapping[str, tuple[str, ...]] = {
    "Right and wrong answers": (
        "accuracy", "opening_accuracy", "agent_accuracy", "gain", "improvement",
        "em", "f1", "judged", "absolute_error", "relative_error", "loose_accuracy", "instruction_accuracy",
        "loose_instruction_accuracy",
        "oracle", "opening_oracle", "oracle_gap", "lost_by_vote", "lost_in_debate",
        "never_found", "kept_right", "won_in_debate", "won_by_vote",
    ),
    "Agreement and changes of answers": (
        "consensus", "co2", "ties", "flips", "wrong_to_right", "right_to_wrong", "wrong_to_wrong", "cvr",
        "conformity", "stubbornness", "influence", "influence_right", "influence_wrong",
    ),
    "Who hears whom": ("density", "reciprocity", "most_heard", "debates", "dvc"),
    "Costs": (
        "rounds", "calls", "input_tokens", "output_tokens", "total_tokens", "reasoning_tokens",
        "input_tokens_per_agent", "output_tokens_per_agent", "extra_calls", "extra_input_tokens",
        "extra_output_tokens", "compute", "cached_compute", "dollars", "critical_path", "depth",
    ),
    "Confidence of answers": ("brier_stated", "brier_raw", "brier_recalibrated", *CALIBRATION, "unmeasured"),
    "Confidence of debates": (
        "debate_confidence", "deferred", "brier_debate", "ece_debate", "auroc_debate",
    ),
    "Samples": ("pass_at_5", "pass_all_5", "majority_at_5"),
    "Verdicts on pairs of replies": (
        "pair_accuracy", "kappa", "alpha", "label_agreement", "consistency", "position_bias", "first_chosen",
        "longer_chosen", "length_bias",
    ),
    "Unreadable and unusual replies": (
        "unparsed", "unparsed_turns", "unanswered", "failures", "cut", "repetitive", "refused", "empty", "tool_calls",
        "tool_uses", "failed_tool_uses", "rankings", "partial_rankings",
    ),
}  # fmt: skip
"""Metrics by topic, in the order of the page; of metrics that differ in a number alone, one stands for all."""

NUMBERS: Mapping[str, tuple[int, ...]] = dict.fromkeys(("pass_at", "pass_all", "majority_at"), SAMPLE_SIZES)
"""The numbers k that a name such as `pass_at_k` may have."""


def metrics_page() -> str:
    """Return the page."""
    parts = [
        "# Every metric",
        "These metrics may be named in a spec and its claims ([how to read them](../metrics.md)). They are means per "
        "question unless the meaning says otherwise. *Column* is the column of `scores.csv`, if its name is another "
        "one; `a` / `b` is the sum of column `a` divided by the sum of column `b`. A *share* is from 0 to 1, a *ratio* "
        "any other number without a unit. A metric with * is computed only if the spec names it.",
    ]
    for topic, names in TOPICS.items():
        rows = (row(METRICS.get(name) or CALIBRATION[name]) for name in names)
        parts += [f"## {topic}", table(("metric", "column", "unit", "better", "meaning"), rows)]
        if any(form_of(name) in NUMBERS for name in names):
            parts.append(f"k is {', '.join(map(str, SAMPLE_SIZES))}, as in `{names[0]}`.")
    return "\n\n".join(parts) + "\n"


def form_of(name: str) -> str:
    """Return a name without its number."""
    return re.sub(r"_\d+$", "", name)


def row(metric: Metric) -> Iterator[str]:
    """Yield the cells of a metric."""
    form = form_of(metric.name)
    names = [f"{form}_k" if form in NUMBERS else metric.name, *metric.aliases]
    on_demand = metric.group or metric.name == "judged"
    yield " or ".join(f"`{name}`" for name in names) + (" *" if on_demand else "")
    columns = " / ".join(f"`{column}`" for column in (metric.column, metric.per) if column)
    yield "" if columns == f"`{metric.name}`" or form in NUMBERS else columns
    yield metric.unit
    yield "" if metric.better == "neither" else metric.better
    meaning = re.sub(r"\b([a-z]+_[a-z_]+)\b", r"`\1`", metric.summary)
    yield re.sub(rf"\b{metric.name.removeprefix(f'{form}_')}\b", "k", meaning) if form in NUMBERS else meaning
