"""Every metric, declared once: name, unit, range, direction, and where it can be measured.

The language reads these declarations to check specs and claims, the analysis to estimate, the report to word. How a
metric is computed from a debate is defined by the function that fills its column of scores.csv
(`cortexdsl.metrics.registry.MEASURES`). docs/site/metrics_page.py makes the page of all metrics from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from types import MappingProxyType
from typing import Literal, TypeAlias

Unit: TypeAlias = Literal["share", "ratio", "count", "tokens", "operations", "dollars", "seconds"]
Better: TypeAlias = Literal["higher", "lower", "neither"]
MetricLevel: TypeAlias = Literal["round", "agent"]
Group: TypeAlias = Literal["", "compute", "depth", "log", "course", "samples", "confidence", "pairs"]
Statistic: TypeAlias = Literal["", "ece", "auroc", "aurac", "risk", "kappa", "alpha"]


LABELS: Mapping[str, Literal["id", "word", "number"]] = MappingProxyType({
    "dataset": "word", "cell": "word", "method": "word", "replicate": "number", "question_id": "id", "stop": "word",
    "wording": "number", "cluster": "id", "group": "id", "asked": "number", "schema_version": "number",
})  # fmt: skip
"""Columns of scores.csv that say what a row is about; an `id` stays text even if it looks like a number.

All other columns are values, and may be compared."""

RIGHT = 0.5
"""An answer is right when its score reaches this: exact for scores of 0 or 1, a convention for token F1."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A number that summarises a cell.

    Attributes
    ----------
    name : str
    column : str
        The column of scores.csv whose mean over questions it is; empty for a metric of all answers of a cell.
    unit : str
        `share` (in [0, 1]), `ratio`, `count`, `tokens`, `operations` (floating-point), `dollars`, `seconds`.
    better : str
        `higher`, `lower`, or `neither` if no direction is a merit in itself.
    summary : str
        One line for tables and help.
    per : str or None
        If given, the metric is the ratio of the sums of `column` and of this column, not a mean.
    binary : bool
        Whether a value of 0 or 1 is a no or a yes (not a share that happens to be whole).
    noun : str
        The name in a sentence ("the ... of sparse"); empty if that is the name (or the alias in use) with spaces.
    values : (float, float) or None
        The range of its mean; by default [0, 1] for a share and [0, infinity) for anything else.
    kind : str
        Metrics of the same kind measure the same thing, so that their difference means something; by default alone.
    levels : frozenset of str
        `round`: also known after each round; `agent`: also known for each debater.
    aliases : tuple of str
        Further names.
    bound : str
        What a plan can say that bounds the metric of one question: `rounds`, `calls`, `input_tokens`, `output_tokens`,
        `total_tokens`; empty if nothing does.
    group : str
        If given, scores.csv has the columns of this group only if the spec names a metric of the group: they need
        more than the records (`log`: the call log), or are many (`samples`).
    statistic : str
        If given, the metric is not a mean of `column`: it is this statistic of all debates of a cell, by the confidence
        in `column` and whether the debate is right (`cortexdsl.stats.tables.selective`), or by the verdicts and human
        labels of pairs (`cortexdsl.stats.tables.agreement`).
    coverage : float
        With `risk`: the share of debates, the most confident ones, whose share of wrong answers it is.
    """

    name: str
    column: str
    unit: Unit
    better: Better
    summary: str
    per: str | None = None
    binary: bool = False
    noun: str = ""
    values: tuple[float, float] | None = None
    kind: str = ""
    levels: frozenset[MetricLevel] = frozenset()
    aliases: tuple[str, ...] = ()
    bound: str = ""
    group: Group = ""
    statistic: Statistic = ""
    coverage: float = 1.0

    @property
    def names(self) -> tuple[str, ...]:
        """Its name and its aliases."""
        return (self.name, *self.aliases)

    @property
    def range(self) -> tuple[float, float]:
        """The values that its mean can have."""
        return self.values or ((0.0, 1.0) if self.unit == "share" else (0.0, inf))


def _declared(*metrics: Metric) -> Mapping[str, Metric]:
    return MappingProxyType({metric.name: metric for metric in metrics})


_UNIT = (0.0, 1.0)
_ROUND, _AGENT = frozenset[MetricLevel]({"round"}), frozenset[MetricLevel]({"agent"})
_BOTH = _ROUND | _AGENT

SAMPLE_SIZES = (1, 2, 3, 4, 5, 8, 10, 16, 20, 32, 40, 64)
"""The k of `pass_at_k`, `pass_all_k` and `majority_at_k`."""


def _of_samples() -> Iterator[Metric]:
    """Yield the metrics of k samples of a question, for each k."""
    forms = (
        ("pass_at", "probability that at least one of {k} samples is right (Chen et al. 2021, Eq. 1)", "pass@{k}"),
        ("pass_all", "probability that all of {k} samples are right (Yao et al. 2024)", "pass^{k}"),
        ("majority_at", "expected score of the vote of {k} samples", "majority@{k}"),
    )
    for name, summary, noun in forms:
        for k in SAMPLE_SIZES:
            yield Metric(
                f"{name}_{k}", f"{name}_{k}", "share", "higher", summary.format(k=k), noun=noun.format(k=k),
                kind="accuracy", group="samples",
            )  # fmt: skip


COVERAGES = (50, 60, 70, 80, 90)
"""The coverages of `risk_at`, in percent of the debates."""


def _of_debate_confidence() -> Iterator[Metric]:
    """Yield the metrics of how sure debates are as a whole."""
    column, words = "debate_confidence", "how sure debates are as a whole"
    yield Metric(column, column, "share", "neither", words, noun="debate confidence", group="confidence")
    yield Metric(
        "deferred", "deferred", "share", "neither", "questions that were handed on to a stronger method", binary=True,
        noun="share of questions handed on", group="confidence",
    )  # fmt: skip
    yield Metric(
        "brier_debate", "brier_debate", "ratio", "lower", f"Brier score of {words}", values=_UNIT,
        noun="Brier score of debate confidences", kind="brier", group="confidence",
    )  # fmt: skip
    named: tuple[tuple[str, Statistic, Better, str, str], ...] = (
        ("ece_debate", "ece", "lower", "calibration error (ECE)", "ece"),
        ("auroc_debate", "auroc", "higher", "AUROC", "auroc"),
        ("aurac_debate", "aurac", "higher", "area under the accuracy-rejection curve", "aurac"),
    )
    for name, statistic, better, title, kind in named:
        yield Metric(
            name, column, "ratio", better, f"{title} of {words}", values=_UNIT,
            noun=title if kind == "aurac" else f"{title} of debate confidences", kind=kind, group="confidence",
            statistic=statistic,
        )  # fmt: skip
    for percent in COVERAGES:
        yield Metric(
            f"risk_at_{percent}", column, "share", "lower", f"share of wrong answers among the {percent} % of"
            f" debates with the highest confidence",
            noun=f"risk@{percent}", kind="risk", group="confidence", statistic="risk", coverage=percent / 100,
        )  # fmt: skip


def _of_pairs() -> Iterator[Metric]:
    """Yield the metrics of verdicts on pairs of replies."""
    yield Metric(
        "pair_accuracy", "pair_score", "share", "higher", "human labels that the preference of both orders agrees with;"
        " two orders that contradict each other are a tie", binary=True, noun="accuracy over both orders",
        kind="accuracy", group="pairs",
    )  # fmt: skip
    agreements: tuple[tuple[Statistic, str], ...] = (
        ("kappa", "Cohen's kappa of verdicts with human labels"),
        ("alpha", "Krippendorff's alpha of verdicts and human labels, as of one more annotator"),
    )
    for statistic, words in agreements:
        yield Metric(
            statistic, "labels", "ratio", "higher", words, values=(-1.0, 1.0), group="pairs", statistic=statistic,
        )  # fmt: skip
    yield Metric(
        "label_agreement", "label_agreement", "share", "neither", "pairs of human labels of one question that are"
        " equal: how far people agree among themselves", noun="agreement among human labels", group="pairs",
    )  # fmt: skip
    yield Metric(
        "consistency", "consistency", "share", "higher", "pairs whose verdict is the same reply in both orders",
        binary=True, group="pairs",
    )  # fmt: skip
    yield Metric(
        "position_bias", "position_bias", "share", "lower", "pairs whose verdict is the same position in both orders",
        binary=True, noun="share of verdicts that follow the position", group="pairs",
    )  # fmt: skip
    yield Metric(
        "first_chosen", "first_chosen", "share", "neither", "verdicts for the reply that is shown first; a tie counts"
        " half, and without a preference for a position it is 0.5", noun="share of verdicts for the first reply",
        group="pairs",
    )  # fmt: skip
    yield Metric(
        "longer_chosen", "longer_chosen", "share", "neither", "verdicts for the longer reply, of pairs that are not"
        " equally long; a tie counts half", noun="share of verdicts for the longer reply", group="pairs",
    )  # fmt: skip
    yield Metric(
        "length_bias", "length_bias", "ratio", "neither", "share of verdicts for the longer reply minus the share of"
        " human labels for it", values=(-1.0, 1.0), noun="length bias", group="pairs",
    )  # fmt: skip


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
    Metric("strict_accuracy", "strict_score", "share", "higher", "accuracy if replies are read strictly (only the"
           " requested format); the vote is counted again, without a call", binary=True,
           kind="accuracy"),
    Metric("lenient_accuracy", "lenient_score", "share", "higher", "accuracy if replies are read leniently; the vote"
           " is counted again, without a call", binary=True,
           kind="accuracy"),
    Metric("strict_unparsed", "strict_unparsed", "count", "lower", "last answers of debaters that are unreadable in"
           " a strict reading",
           bound="calls"),
    Metric("lenient_unparsed", "lenient_unparsed", "count", "lower", "last answers of debaters that are unreadable"
           " in a lenient reading",
           bound="calls"),
    Metric("brier_raw", "brier_raw", "ratio", "lower", "Brier score of the confidences that the method uses, before"
           " recalibration; brier_stated if it measures none",
           values=_UNIT, noun="Brier score of confidences before recalibration", kind="brier", levels=_AGENT),
    Metric("unmeasured", "unmeasured", "count", "lower", "readable answers whose confidence could not be measured",
           noun="answers without a measured confidence", bound="calls"),
    Metric("refused", "refused", "count", "lower", "replies that refuse and give no answer", bound="calls"),
    Metric("empty", "empty", "count", "lower", "replies that are empty or contain only reasoning", bound="calls"),
    Metric("tool_calls", "tool_calls", "count", "lower", "replies that call a tool instead of answering",
           bound="calls"),
    Metric("other_language", "other_language", "count", "lower", "replies in another script than their question",
           bound="calls"),
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
    *_of_samples(),
    *_of_debate_confidence(),
    *_of_pairs(),
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

PAIR_METRICS = tuple(name for name, metric in METRICS.items() if metric.group == "pairs")
"""Metrics of verdicts on pairs of replies."""

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
    """Return a metric by its name or one of its aliases; None if there is none."""
    return _BY_NAME.get(name)


def grouped(names: Iterable[str]) -> tuple[Metric, ...]:
    """Return the metrics of all groups that some names belong to, in the order of their declarations."""
    groups = {metric.group for name in names if (metric := find_metric(name)) is not None} - {""}
    return tuple(metric for metric in METRICS.values() if metric.group in groups)


def names_of(metrics: Iterable[Metric]) -> tuple[str, ...]:
    """Return the names and aliases of metrics, each metric's name first."""
    return tuple(name for metric in metrics for name in metric.names)
