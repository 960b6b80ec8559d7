"""Every metric, declared once: name, unit, range, direction, and where it can be measured.

The language reads these declarations to check specs and claims, the analysis to estimate, the report to word. How a
metric is computed from a debate is defined by the function that fills its column of scores.csv
(`cortexdsl.metrics.registry.MEASURES`). docs/metrics.md explains each one to users.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from math import inf
from types import MappingProxyType
from typing import Literal, TypeAlias

Unit: TypeAlias = Literal["share", "ratio", "count", "tokens", "operations", "dollars", "seconds"]
Better: TypeAlias = Literal["higher", "lower", "neither"]
MetricLevel: TypeAlias = Literal["round", "agent"]
Group: TypeAlias = Literal["", "compute", "depth", "log", "course", "samples", "confidence"]
Statistic: TypeAlias = Literal["", "ece", "auroc", "aurac", "risk"]


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
        in `column` and whether the debate is right (`cortexdsl.stats.tables.selective`).
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
        ("pass_at", "chance that one of {k} sampled answers is right", "pass@{k}"),
        ("pass_all", "chance that all of {k} sampled answers are right", "pass^{k}"),
        ("majority_at", "expected score of the vote of {k} sampled answers", "majority@{k}"),
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
            f"risk_at_{percent}", column, "share", "lower", f"wrong answers among the {percent} % surest debates",
            noun=f"risk@{percent}", kind="risk", group="confidence", statistic="risk", coverage=percent / 100,
        )  # fmt: skip


METRICS: Mapping[str, Metric] = _declared(
    Metric("accuracy", "score", "share", "higher", "mean score of the debates' answers", binary=True,
           kind="accuracy", levels=_BOTH, aliases=("score",)),
    Metric("opening_accuracy", "opening_score", "share", "higher", "mean score of the openings' vote", binary=True,
           kind="accuracy"),
    Metric("agent_accuracy", "agent_score", "share", "higher", "mean score of debaters' last answers", binary=True,
           kind="accuracy", levels=_ROUND),
    Metric("gain", "gain", "ratio", "higher", "accuracy less opening accuracy", values=(-1.0, 1.0)),
    Metric("improvement", "gain", "ratio", "higher", "gain as a share of opening accuracy", per="opening_score",
           values=(-1.0, inf)),
    Metric("consensus", "consensus", "share", "neither", "debates whose debaters agree at the end (Cons)", binary=True,
           levels=_ROUND, aliases=("cons",)),
    Metric("co2", "co2", "share", "higher", "debates whose debaters agree at the end and are right", binary=True,
           noun="consensus on the right answer"),
    Metric("rounds", "rounds", "count", "lower", "rounds used after the opening", bound="rounds"),
    Metric("calls", "calls", "count", "lower", "model calls a question", noun="calls per question", kind="calls",
           bound="calls"),
    Metric("input_tokens", "input_tokens", "tokens", "lower", "prompt tokens a question, all calls",
           noun="input tokens per question", kind="tokens", bound="input_tokens"),
    Metric("output_tokens", "output_tokens", "tokens", "lower", "completion tokens a question, all calls",
           noun="output tokens per question", kind="tokens", bound="output_tokens"),
    Metric("reasoning_tokens", "reasoning_tokens", "tokens", "lower", "completion tokens thought and not said",
           kind="tokens", bound="output_tokens"),
    Metric("total_tokens", "total_tokens", "tokens", "lower", "prompt and completion tokens a question",
           noun="tokens per question", kind="tokens", bound="total_tokens"),
    Metric("input_tokens_per_agent", "input_tokens_per_agent", "tokens", "lower", "prompt tokens a debater",
           noun="input tokens per agent", bound="input_tokens"),
    Metric("output_tokens_per_agent", "output_tokens_per_agent", "tokens", "lower", "completion tokens a debater",
           noun="output tokens per agent", bound="output_tokens"),
    Metric("extra_calls", "extra_calls", "count", "lower", "calls of judges, summarizers, critics", kind="calls",
           bound="calls"),
    Metric("extra_input_tokens", "extra_input_tokens", "tokens", "lower", "prompt tokens of extra roles",
           kind="tokens", bound="input_tokens"),
    Metric("extra_output_tokens", "extra_output_tokens", "tokens", "lower", "completion tokens of extra roles",
           kind="tokens", bound="output_tokens"),
    Metric("dvc", "dvc", "count", "higher", "kept edges between agents that disagreed", noun="diverse edges (DVC)"),
    Metric("cvr", "cvr", "count", "higher", "turns in which a wrong agent became right", noun="corrected turns (CVR)",
           bound="calls"),
    Metric("debates", "debates", "count", "neither", "kept incoming edges an agent, over all rounds"),
    Metric("flips", "flips", "count", "neither", "answers changed", kind="flips", bound="calls"),
    Metric("wrong_to_right", "wrong_to_right", "count", "higher", "answers changed from wrong to right",
           kind="flips", bound="calls"),
    Metric("right_to_wrong", "right_to_wrong", "count", "lower", "answers changed from right to wrong",
           kind="flips", bound="calls"),
    Metric("wrong_to_wrong", "wrong_to_wrong", "count", "neither", "answers changed from wrong to another wrong",
           kind="flips", bound="calls"),
    Metric("conformity", "conformed", "share", "neither", "moves to a majority heard against one's own answer",
           per="majority_faced"),
    Metric("stubbornness", "held", "share", "neither", "answers kept though another was heard",
           per="difference_faced"),
    Metric("influence", "adopted", "share", "neither", "answers given up for another that was heard",
           per="difference_faced", kind="influence"),
    Metric("influence_right", "right_adopted", "share", "higher", "wrong answers given up for a right one heard",
           per="right_faced", kind="influence"),
    Metric("influence_wrong", "wrong_adopted", "share", "lower", "right answers given up for a wrong one heard",
           per="wrong_faced", kind="influence"),
    Metric("density", "density", "share", "neither", "kept edges among possible ones"),
    Metric("reciprocity", "reciprocity", "share", "neither", "kept edges that go both ways"),
    Metric("most_heard", "most_heard", "share", "neither", "kept edges that start at the agent heard most"),
    Metric("brier_stated", "brier_stated", "ratio", "lower", "Brier score of stated confidences", values=_UNIT,
           noun="Brier score of stated confidences", kind="brier", levels=_AGENT, aliases=("brier",)),
    Metric("brier_recalibrated", "brier_recalibrated", "ratio", "lower", "Brier score of recalibrated confidences",
           values=_UNIT, noun="Brier score of recalibrated confidences", kind="brier", levels=_AGENT),
    Metric("ties", "was_tied", "share", "lower", "debates whose vote was tied", binary=True, noun="tied votes"),
    Metric("unparsed", "unparsed", "count", "lower", "last answers that could not be read", noun="unreadable answers",
           bound="calls"),
    Metric("unanswered", "unanswered", "share", "lower", "debates without an answer", binary=True,
           noun="debates without an answer"),
    Metric("unparsed_turns", "unparsed_turns", "count", "lower", "turns that could not be read",
           noun="unreadable turns", bound="calls"),
    Metric("failures", "failures", "count", "lower", "calls that brought no reply", noun="failed calls", bound="calls"),
    Metric("cut", "cut", "count", "lower", "replies cut at their length limit", bound="calls"),
    Metric("repetitive", "repetitive", "count", "lower", "replies that say the same over and over", bound="calls"),
    Metric("strict_accuracy", "strict_score", "share", "higher", "accuracy, had one read strictly", binary=True,
           kind="accuracy"),
    Metric("lenient_accuracy", "lenient_score", "share", "higher", "accuracy, had one read leniently", binary=True,
           kind="accuracy"),
    Metric("strict_unparsed", "strict_unparsed", "count", "lower", "last answers that the strict reading cannot read",
           bound="calls"),
    Metric("lenient_unparsed", "lenient_unparsed", "count", "lower", "last answers that no reading can read",
           bound="calls"),
    Metric("brier_raw", "brier_raw", "ratio", "lower", "Brier score of the confidences gone by, not recalibrated",
           values=_UNIT, noun="Brier score of the confidences gone by", kind="brier", levels=_AGENT),
    Metric("unmeasured", "unmeasured", "count", "lower", "answers whose confidence could not be measured",
           noun="answers without a measured confidence", bound="calls"),
    Metric("refused", "refused", "count", "lower", "replies that refuse, and answer nothing", bound="calls"),
    Metric("empty", "empty", "count", "lower", "calls that came back without a word", bound="calls"),
    Metric("tool_calls", "tool_calls", "count", "lower", "replies that call a tool instead of answering",
           bound="calls"),
    Metric("other_language", "other_language", "count", "lower", "replies in another script than their question",
           bound="calls"),
    Metric("oracle", "oracle", "share", "higher", "debates in which some agent was ever right", binary=True,
           noun="share of debates in which some agent was ever right", kind="accuracy"),
    Metric("opening_oracle", "opening_oracle", "share", "higher", "debates in which an opening answer was right",
           binary=True, noun="share of debates in which an opening answer was right", kind="accuracy"),
    Metric("oracle_gap", "oracle_gap", "share", "neither", "oracle less accuracy: what a perfect choice would add",
           noun="gap between oracle and accuracy"),
    Metric("lost_by_vote", "lost_by_vote", "share", "lower", "wrong decisions with a right answer at the end",
           binary=True, noun="share of debates lost by the decision", kind="lost"),
    Metric("lost_in_debate", "lost_in_debate", "share", "lower", "wrong decisions with a right answer only earlier",
           binary=True, noun="share of debates lost in the debate", kind="lost"),
    Metric("never_found", "never_found", "share", "lower", "wrong decisions without a right answer at any time",
           binary=True, noun="share of debates in which no agent was ever right", kind="lost"),
    Metric("kept_right", "kept_right", "share", "higher", "right decisions that the openings' vote had, too",
           binary=True, noun="share of debates right from the start", kind="won", group="course"),
    Metric("won_in_debate", "won_in_debate", "share", "higher", "right decisions after a wrong vote of the openings,"
           " which half of the last answers share", binary=True, noun="share of debates won in the debate", kind="won",
           group="course"),
    Metric("won_by_vote", "won_by_vote", "share", "higher", "right decisions after a wrong vote of the openings, which"
           " fewer than half of the last answers share", binary=True, noun="share of debates won by the decision",
           kind="won", group="course"),
    Metric("compute", "compute", "operations", "lower", "floating-point operations a question, 2 per parameter and"
           " token", noun="operations per question", kind="compute", group="compute"),
    Metric("cached_compute", "cached_compute", "operations", "higher", "the part of compute that caches of prompts"
           " spared", noun="operations spared by caches per question", kind="compute", group="log"),
    Metric("dollars", "dollars", "dollars", "lower", "price of a question's calls", noun="dollars per question",
           group="log"),
    Metric("critical_path", "critical_path", "seconds", "lower", "seconds of the longest chain of calls that depend on"
           " each other", noun="seconds of the longest chain of calls", group="log"),
    Metric("depth", "depth", "count", "lower", "calls in the longest chain that depend on each other",
           noun="calls of the longest chain", kind="calls", bound="calls", group="depth"),
    *_of_samples(),
    *_of_debate_confidence(),
    Metric("em", "em", "share", "higher", "answers that match a gold exactly, once normalised", binary=True,
           noun="exact match"),
    Metric("f1", "f1", "share", "higher", "words that an answer and its nearest gold share (F1)", noun="F1"),
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

TEXT_METRICS = ("em", "f1", "judged")
"""Metrics of short texts: exact match, token F1, and the verdict of a judging model (`analysis.judge`)."""


def _calibration(measure: str, better: Better, title: str) -> list[Metric]:
    sources = {
        "stated": "stated confidences",
        "recalibrated": "recalibrated confidences",
        "raw": "the confidences gone by",
    }
    return [
        Metric(
            f"{measure}_{source}", "", "ratio", better, f"{title} of {words}", values=_UNIT, noun=f"{title} of {words}",
            kind=measure, levels=_BOTH, aliases=(measure,) if source == "stated" else (),
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


_WORDS: Mapping[str, tuple[Better, Unit]] = {
    **dict.fromkeys(("token", "tokens", "cost", "costs", "price", "dollar", "dollars", "usd"), ("lower", "ratio")),
    **dict.fromkeys(("second", "seconds", "time", "latency", "duration", "runtime"), ("lower", "ratio")),
    **dict.fromkeys(("call", "calls", "rounds", "turns", "retries", "failures"), ("lower", "ratio")),
    **dict.fromkeys(("loss", "perplexity", "ppl", "mae", "mse", "rmse"), ("lower", "ratio")),
    **dict.fromkeys(("error", "errors", "wer", "cer"), ("lower", "share")),
    **dict.fromkeys(("score", "accuracy", "correct", "correctness", "pass", "passed"), ("higher", "share")),
    **dict.fromkeys(("em", "match", "f1", "precision", "recall", "auc", "bleu", "rouge"), ("higher", "share")),
}  # fmt: skip
_QUALIFIERS = frozenset((
    "api", "avg", "completion", "dev", "exact", "input", "macro", "mean", "micro", "output", "prompt", "rate",
    "reasoning", "test", "total", "val", "wall",
))  # fmt: skip
_NOTHING: Mapping[str, Metric] = MappingProxyType({})
_DESCRIBED = ContextVar("described columns", default=_NOTHING)


def column_metric(name: str) -> Metric:
    """Return a declared metric, or a column of another program's table as a metric.

    A column is known if it is described (`described_columns`), or if every word of its name is known and all agree, as
    in `total_cost`. Otherwise neither direction is better, and it is not a share.
    """
    if (known := find_metric(name) or _DESCRIBED.get().get(name)) is not None:
        return known
    words = set(re.split(r"[^a-z0-9]+", name.lower())) - _QUALIFIERS
    meanings = {_WORDS.get(word, ("neither", "ratio")) for word in words}
    better, unit = meanings.pop() if len(meanings) == 1 else ("neither", "ratio")
    return Metric(name, name, unit, better, f"mean of the column {name}", binary=unit == "share", values=(-inf, inf))


@contextmanager
def described_columns(
    lower: Iterable[str] = (), higher: Iterable[str] = (), numbers: Iterable[str] = ()
) -> Iterator[None]:
    """Describe columns for a time: in which direction they are better, and which are not shares."""
    described = {name: replace(column_metric(name), unit="ratio", binary=False) for name in numbers}
    directions: tuple[tuple[Iterable[str], Better], ...] = ((lower, "lower"), (higher, "higher"))
    for names, better in directions:
        described |= {name: replace(described.get(name, column_metric(name)), better=better) for name in names}
    token = _DESCRIBED.set(described)
    try:
        yield
    finally:
        _DESCRIBED.reset(token)


def is_share(name: str) -> bool:
    """Return whether a metric is a share of 1."""
    return column_metric(name).unit == "share"


def names_of(metrics: Iterable[Metric]) -> tuple[str, ...]:
    """Return the names and aliases of metrics, each metric's name first."""
    return tuple(name for metric in metrics for name in metric.names)
