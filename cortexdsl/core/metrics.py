"""Every metric, declared once: name, unit, range, direction, and where it can be measured.

The language reads these declarations to check specs and claims, the analysis to estimate, the report to word. How a
metric is computed from a debate is defined by the function that fills its column of scores.csv
(`cortexdsl.metrics.registry.MEASURES`). docs/site/metrics_page.py makes the page of all metrics from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf
from types import MappingProxyType
from typing import Literal

from cortexdsl.core.metric_types import (
    Better,
    Metric,
    MetricLevel,
    of_debate_confidence,
    of_errors,
    of_instructions,
    of_label,
    of_pairs,
    of_samples,
)

LABELS: Mapping[str, Literal["id", "word", "number"]] = MappingProxyType({
    "dataset": "word", "cell": "word", "method": "word", "replicate": "number", "question_id": "id", "stop": "word",
    "wording": "number", "cluster": "id", "group": "id", "asked": "number", "schema_version": "number",
})  # fmt: skip
"""Columns of scores.csv that say what a row is about; an `id` stays text even if it looks like a number.

All other columns are values, and may be compared."""

RIGHT = 0.5
"""An answer is right when its score reaches this: exact for scores of 0 or 1, a convention for token F1."""


def _declared(*metrics: Metric) -> Mapping[str, Metric]:
    return MappingProxyType({metric.name: metric for metric in metrics})


_UNIT = (0.0, 1.0)
_ROUND, _AGENT = frozenset[MetricLevel]({"round"}), frozenset[MetricLevel]({"agent"})
_BOTH = _ROUND | _AGENT

METRICS: Mapping[str, Metric] = _declared(
    Metric("accuracy", "score", "share", "higher", "mean score of the debates' answers; a debate without an answer"
           " scores 0", binary=True,
           kind="accuracy", levels=_BOTH, aliases=("score",)),
    Metric("opening_accuracy", "opening_score", "share", "higher", "mean score of the decision over the openings, by"
           " the method's own rule", binary=True,
           kind="accuracy"),
    Metric("agent_accuracy", "agent_score", "share", "higher", "mean score of the debaters' own last"
           " answers", binary=True,
           kind="accuracy", levels=_ROUND),
    Metric("gain", "gain", "ratio", "higher", "accuracy minus opening accuracy: what the rounds after the opening"
           " add", values=(-1.0, 1.0)),
    Metric("improvement", "gain", "ratio", "higher", "gain as a share of the opening accuracy"
           " (ACC-Debate)", per="opening_score",
           values=(-1.0, inf)),
    Metric("consensus", "consensus", "share", "neither", "debates in which the last answers of all debaters are"
           " readable and equal (CortexDebate Figure 4b; Cons of MADKE)", binary=True,
           levels=_ROUND, aliases=("cons",)),
    Metric("co2", "co2", "share", "higher", "debates with consensus on a right answer (MADKE)", binary=True,
           noun="consensus on the right answer"),
    Metric("rounds", "rounds", "count", "lower", "rounds after the opening", bound="rounds"),
    Metric("calls", "calls", "count", "lower", "model calls of all roles, with the calls that measure a"
           " confidence", noun="calls per question", kind="calls",
           bound="calls"),
    Metric("input_tokens", "input_tokens", "tokens", "lower", "prompt tokens of all calls, as servers count them",
           noun="input tokens per question", kind="tokens", bound="input_tokens"),
    Metric("output_tokens", "output_tokens", "tokens", "lower", "completion tokens of all calls, as servers count"
           " them",
           noun="output tokens per question", kind="tokens", bound="output_tokens"),
    Metric("reasoning_tokens", "reasoning_tokens", "tokens", "lower", "completion tokens of the model's reasoning"
           " before its reply, if servers count them",
           kind="tokens", bound="output_tokens"),
    Metric("total_tokens", "total_tokens", "tokens", "lower", "prompt and completion tokens of all calls",
           noun="tokens per question", kind="tokens", bound="total_tokens"),
    Metric("input_tokens_per_agent", "input_tokens_per_agent", "tokens", "lower", "prompt tokens of a debater's"
           " calls, mean over debaters (CortexDebate Table 7)",
           noun="input tokens per agent", bound="input_tokens"),
    Metric("output_tokens_per_agent", "output_tokens_per_agent", "tokens", "lower", "completion tokens of a"
           " debater's calls, mean over debaters",
           noun="output tokens per agent", bound="output_tokens"),
    Metric("extra_calls", "extra_calls", "count", "lower", "calls of extra roles, such as judges, summarizers and"
           " critics", kind="calls",
           bound="calls"),
    Metric("extra_input_tokens", "extra_input_tokens", "tokens", "lower", "prompt tokens of the calls of extra roles",
           kind="tokens", bound="input_tokens"),
    Metric("extra_output_tokens", "extra_output_tokens", "tokens", "lower", "completion tokens of the calls of extra"
           " roles",
           kind="tokens", bound="output_tokens"),
    Metric("dvc", "dvc", "count", "higher", "edges between two agents whose answers before the round were readable"
           " and different (CortexDebate Table 3)", noun="diverse edges (DVC)"),
    Metric("cvr", "cvr", "count", "higher", "the same number as wrong_to_right, under the name of CortexDebate's"
           " Table 3", noun="corrected turns (CVR)",
           bound="calls"),
    Metric("debates", "debates", "count", "neither", "edges to a debater in all rounds, mean over debaters"
           " (CortexDebate Table 4)"),
    Metric("flips", "flips", "count", "neither", "revisions that change the answer", kind="flips", bound="calls"),
    Metric("wrong_to_right", "wrong_to_right", "count", "higher", "revisions of a wrong answer into a right one",
           kind="flips", bound="calls"),
    Metric("right_to_wrong", "right_to_wrong", "count", "lower", "revisions of a right answer into a wrong one",
           kind="flips", bound="calls"),
    Metric("wrong_to_wrong", "wrong_to_wrong", "count", "neither", "revisions of a wrong answer into another wrong"
           " one",
           kind="flips", bound="calls"),
    Metric("conformity", "conformed", "share", "neither", "share that adopts the majority's answer, of the revisions"
           " after hearing another answer from a majority, more than half of the readable answers heard",
           per="majority_faced"),
    Metric("stubbornness", "held", "share", "neither", "share that keeps the own answer, of the revisions after"
           " hearing another one",
           per="difference_faced"),
    Metric("influence", "adopted", "share", "neither", "share that adopts an answer that was heard, of the revisions"
           " after hearing another one",
           per="difference_faced", kind="influence"),
    Metric("influence_right", "right_adopted", "share", "higher", "share that adopts a right answer, of the"
           " revisions of a wrong answer after hearing a right one",
           per="right_faced", kind="influence"),
    Metric("influence_wrong", "wrong_adopted", "share", "lower", "share that adopts a wrong answer, of the revisions"
           " of a right answer after hearing a wrong one: how often wrong agents persuade",
           per="wrong_faced", kind="influence"),
    Metric("density", "density", "share", "neither", "edges divided by possible edges, mean over rounds"),
    Metric("reciprocity", "reciprocity", "share", "neither", "share of edges with an edge in the other direction,"
           " mean over rounds"),
    Metric("most_heard", "most_heard", "share", "neither", "share of edges from the agent that is heard most: 1 / n"
           " if all n agents are heard equally, 1 if only one is heard"),
    Metric("brier_stated", "brier_stated", "ratio", "lower", "Brier score of the confidences that replies state,"
           " over all answers of a debate", values=_UNIT,
           noun="Brier score of stated confidences", kind="brier", levels=_AGENT, aliases=("brier",)),
    Metric("brier_recalibrated", "brier_recalibrated", "ratio", "lower", "Brier score of the confidences after"
           " recalibration",
           values=_UNIT, noun="Brier score of recalibrated confidences", kind="brier", levels=_AGENT),
    Metric("ties", "was_tied", "share", "lower", "debates whose vote was tied", binary=True, noun="tied votes"),
    Metric("unparsed", "unparsed", "count", "lower", "last answers of debaters that could not be read",
           noun="unreadable answers",
           bound="calls"),
    Metric("unanswered", "unanswered", "share", "lower", "debates without any answer", binary=True,
           noun="debates without an answer"),
    Metric("unparsed_turns", "unparsed_turns", "count", "lower", "turns of any role that could not be read",
           noun="unreadable turns", bound="calls"),
    Metric("failures", "failures", "count", "lower", "calls that returned no text", noun="failed calls",
           bound="calls"),
    Metric("cut", "cut", "count", "lower", "replies cut at their length limit", bound="calls"),
    Metric("repetitive", "repetitive", "count", "lower", "replies that repeat themselves: at least 300 bytes that"
           " compress to a sixth or less", bound="calls"),
    Metric("brier_raw", "brier_raw", "ratio", "lower", "Brier score of the confidences that the method uses, before"
           " recalibration; brier_stated if it measures none",
           values=_UNIT, noun="Brier score of confidences before recalibration", kind="brier", levels=_AGENT),
    Metric("unmeasured", "unmeasured", "count", "lower", "readable answers whose confidence could not be measured",
           noun="answers without a measured confidence", bound="calls"),
    Metric("refused", "refused", "count", "lower", "replies that refuse and give no answer", bound="calls"),
    Metric("empty", "empty", "count", "lower", "replies that are empty or contain only reasoning", bound="calls"),
    Metric("tool_calls", "tool_calls", "count", "lower", "replies that call a tool instead of answering",
           bound="calls"),
    Metric("tool_uses", "tool_uses", "count", "neither", "uses of tools by agents within their turns",
           noun="uses of tools per question", group="tools"),
    Metric("failed_tool_uses", "failed_tool_uses", "count", "lower", "uses of tools without a result",
           noun="failed uses of tools per question", group="tools"),
    Metric("partial_rankings", "partial_rankings", "count", "neither", "readable rankings that leave out candidates",
           noun="partial rankings per question", group="rankings"),
    Metric("rankings", "rankings", "count", "neither", "readable rankings",
           noun="readable rankings per question", group="rankings"),
    Metric("oracle", "oracle", "share", "higher", "debates in which some agent was ever right", binary=True,
           noun="share of debates in which some agent was ever right", kind="accuracy"),
    Metric("opening_oracle", "opening_oracle", "share", "higher", "debates in which an opening answer was right",
           binary=True, noun="share of debates in which an opening answer was right", kind="accuracy"),
    Metric("oracle_gap", "oracle_gap", "share", "neither", "oracle minus accuracy: what a perfect choice among the"
           " given answers would add",
           noun="gap between oracle and accuracy"),
    Metric("lost_by_vote", "lost_by_vote", "share", "lower", "debates with a wrong decision although a debater's"
           " last answer is right",
           binary=True, noun="share of debates lost by the decision", kind="lost"),
    Metric("lost_in_debate", "lost_in_debate", "share", "lower", "debates with a wrong decision in which an earlier"
           " answer was right, but no last answer",
           binary=True, noun="share of debates lost in the debate", kind="lost"),
    Metric("never_found", "never_found", "share", "lower", "debates in which no agent ever gave a right answer",
           binary=True, noun="share of debates in which no agent was ever right", kind="lost"),
    Metric("kept_right", "kept_right", "share", "higher", "debates with a right decision for which the openings had"
           " voted, too",
           binary=True, noun="share of debates right from the start", kind="won", group="course"),
    Metric("won_in_debate", "won_in_debate", "share", "higher", "debates with a right decision after a wrong vote of"
           " the openings, if at least half of the last answers are right", binary=True, noun="share of debates won in"
           " the debate", kind="won",
           group="course"),
    Metric("won_by_vote", "won_by_vote", "share", "higher", "debates with a right decision after a wrong vote of the"
           " openings, if fewer than half of the last answers are right", binary=True, noun="share of debates won by"
           " the decision",
           kind="won", group="course"),
    Metric("compute", "compute", "operations", "lower", "floating-point operations of all calls: 2 for each parameter"
           " and token (Kaplan et al. 2020)", noun="operations per question", kind="compute", group="compute"),
    Metric("cached_compute", "cached_compute", "operations", "higher", "the part of compute for prompt tokens that"
           " servers read from a cache", noun="operations spared by caches per question",
           kind="compute", group="log"),
    Metric("dollars", "dollars", "dollars", "lower", "price of the calls, from the call log; a call that several"
           " cells share counts in each", noun="dollars per question",
           group="log"),
    Metric("critical_path", "critical_path", "seconds", "lower", "time of the longest chain of calls that depend on"
           " each other: how long a question takes at least", noun="seconds of the longest chain of calls",
           group="log"),
    Metric("depth", "depth", "count", "lower", "calls in the longest chain of calls that depend on each other",
           noun="calls of the longest chain", kind="calls", bound="calls", group="depth"),
    *of_samples(),
    *of_debate_confidence(),
    *of_pairs(),
    *of_errors(),
    *of_instructions(),
    Metric("em", "em", "share", "higher", "answers that match a gold answer exactly after normalisation, by the rule"
           " of the dataset's authors", binary=True,
           noun="exact match"),
    Metric("f1", "f1", "share", "higher", "words that an answer and its nearest gold answer share (F1), by the rule"
           " of the dataset's authors", noun="F1"),
    Metric("judged", "judged", "share", "higher", "answers that the judging model calls correct", binary=True,
           noun="judged correctness"),
)  # fmt: skip
"""Metrics of debates, in the order of reports."""

BUDGETS = (
    "calls", "input_tokens", "output_tokens", "total_tokens", "reasoning_tokens", "compute", "dollars",
    "critical_path", "depth",
)  # fmt: skip
"""Metrics that a budget can be matched in."""

COSTS = ("input_tokens_per_agent", "input_tokens", "total_tokens", "calls")
"""What a figure of accuracy and cost shows as cost: the first of these that is known."""

OF_KINDS: Mapping[str, str] = {
    name: kind
    for group, kind in (("pairs", "pair"), ("errors", "number"), ("instructions", "instructions"))
    for name, metric in METRICS.items()
    if metric.group == group
}
"""Metrics of answers of one kind, with the kind."""

BIASES = ("position_bias", "length_bias")
"""Metrics that are computed whenever pairs are judged."""

TEXT_METRICS = ("em", "f1", "judged")
"""Metrics of short texts: exact match, token F1, and the verdict of a judging model (`analysis.judge`)."""


def _calibration(measure: str, better: Better, title: str) -> list[Metric]:
    sources = {
        "stated": "stated confidences",
        "recalibrated": "recalibrated confidences",
        "raw": "confidences before recalibration",
    }
    return [
        Metric(
            f"{measure}_{source}", "", "ratio", better, f"{title} of {words}", values=_UNIT,
            noun=f"{title} of {words}", kind=measure, levels=_BOTH, aliases=(measure,) if source == "stated" else (),
        )
        for source, words in sources.items()
    ]  # fmt: skip


CALIBRATION: Mapping[str, Metric] = _declared(
    *_calibration("ece", "lower", "calibration error (ECE)"), *_calibration("auroc", "higher", "AUROC")
)
"""Metrics of all answers of a cell. They have no value for one debate, so only claims can name them."""

TOOL_METRICS = tuple(name for name, metric in METRICS.items() if metric.group == "tools")
"""The metrics of tools that agents use in their turns."""
RANKING_METRICS = tuple(name for name, metric in METRICS.items() if metric.group == "rankings")
"""The metrics of ranked ballots: how many leave out candidates, and how many there are."""

POOLED: Mapping[str, Metric] = MappingProxyType(
    {**CALIBRATION, **{name: metric for name, metric in METRICS.items() if metric.statistic}}
)
"""Metrics that are not means: of all answers, or of all debates, of a cell together."""

ALIASES: Mapping[str, str] = MappingProxyType(
    {alias: metric.name for metric in METRICS.values() for alias in metric.aliases}
)
"""Further names of metrics of debates."""

_BY_NAME: Mapping[str, Metric] = MappingProxyType(
    {name: metric for metric in (*METRICS.values(), *CALIBRATION.values()) for name in metric.names}
)


def find_metric(name: str) -> Metric | None:
    """Return a metric by its name or one of its aliases, or the metric of a label of turns; None if there is none."""
    return _BY_NAME.get(name) or of_label(name)


def grouped(names: Iterable[str]) -> tuple[Metric, ...]:
    """Return the metrics of all groups that some names belong to, in the order of their declarations."""
    groups = {metric.group for name in names if (metric := find_metric(name)) is not None} - {""}
    return tuple(metric for metric in METRICS.values() if metric.group in groups)


def names_of(metrics: Iterable[Metric]) -> tuple[str, ...]:
    """Return the names and aliases of metrics, each metric's name first."""
    return tuple(name for metric in metrics for name in metric.names)


GRADED = (
    "score", "opening_score", "agent_score", "gain", "co2", "cvr", "wrong_to_right", "right_to_wrong",
    "wrong_to_wrong", "right_faced", "right_adopted", "wrong_faced", "wrong_adopted", "brier_stated", "brier_raw",
    "brier_recalibrated", "oracle", "opening_oracle", "oracle_gap", "lost_by_vote",
    "lost_in_debate", "never_found", "kept_right", "won_in_debate", "won_by_vote", "brier_debate",
)  # fmt: skip
"""Columns that questions without a right answer do not have."""

GRADED_METRICS = names_of(
    metric
    for metric in (*METRICS.values(), *CALIBRATION.values())
    if metric.column in GRADED or metric.statistic in ("ece", "auroc") or not metric.column or metric.group == "samples"
)
"""Metrics that questions without a right answer do not have, with their aliases."""
