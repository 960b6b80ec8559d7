"""Every debate metric by name: what it is, in what unit, which direction is better, and from what it is computed."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from cortexdsl.analysis.metrics.measures import (
    calibration,
    collisions,
    health,
    listening,
    outcome,
    persuasion,
    usage,
    wording,
)
from cortexdsl.analysis.metrics.view import Graded
from cortexdsl.errors import InputError

Measure = Callable[[Graded], float | None]

MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        "score": outcome.score,
        "unparsed": health.unparsed,
        "rounds": outcome.rounds,
        "calls": usage.calls,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "input_tokens_per_agent": usage.input_tokens_per_agent,
        "output_tokens_per_agent": usage.output_tokens_per_agent,
        "extra_calls": usage.extra_calls,
        "extra_input_tokens": usage.extra_input_tokens,
        "extra_output_tokens": usage.extra_output_tokens,
        "opening_score": outcome.opening_score,
        "gain": outcome.gain,
        "agent_score": outcome.agent_score,
        "consensus": outcome.consensus,
        "co2": outcome.co2,
        "dvc": collisions.dvc,
        "cvr": collisions.cvr,
        "debates": collisions.debates,
        "flips": persuasion.flips,
        "wrong_to_right": persuasion.wrong_to_right,
        "right_to_wrong": persuasion.right_to_wrong,
        "wrong_to_wrong": persuasion.wrong_to_wrong,
        "majority_faced": persuasion.majority_faced,
        "conformed": persuasion.conformed,
        "difference_faced": persuasion.difference_faced,
        "held": persuasion.held,
        "adopted": persuasion.adopted,
        "right_faced": persuasion.right_faced,
        "right_adopted": persuasion.right_adopted,
        "wrong_faced": persuasion.wrong_faced,
        "wrong_adopted": persuasion.wrong_adopted,
        "density": listening.density,
        "reciprocity": listening.reciprocity,
        "most_heard": listening.most_heard,
        "brier_stated": calibration.brier_stated,
        "brier_recalibrated": calibration.brier_recalibrated,
        "was_tied": health.tied,
        "unanswered": health.unanswered,
        "unparsed_turns": health.unparsed_turns,
        "failures": health.failures,
        "cut": health.cut,
        "repetitive": health.repetitive,
        "reasoning_tokens": usage.reasoning_tokens,
        "brier_raw": calibration.brier_raw,
        "unmeasured": health.unmeasured,
        "refused": wording.refused,
        "empty": wording.empty,
        "tool_calls": wording.tool_calls,
    }
)
"""Columns of scores.csv: one value a debate; the docstring of each function is its definition."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A number that summarises a cell.

    Attributes
    ----------
    name : str
    column : str
        The column of scores.csv whose mean over questions it is.
    unit : str
        `share` (in [0, 1]), `ratio`, `count`, `tokens`.
    better : str
        `higher`, `lower`, or `neither` where no direction is a merit in itself.
    summary : str
        One line for tables and help.
    per : str or None
        With a column here, the metric is the ratio of the two columns' sums, not a mean.
    binary : bool
        A value of 0 or 1 is a no or a yes (not a share that happens to be whole).
    """

    name: str
    column: str
    unit: Literal["share", "ratio", "count", "tokens"]
    better: Literal["higher", "lower", "neither"]
    summary: str
    per: str | None = None
    binary: bool = False

    @property
    def measure(self) -> Measure | None:
        """The function over one debate that fills the column; None for a column from elsewhere."""
        return MEASURES.get(self.column)


READINGS: tuple[Literal["strict", "lenient"], ...] = ("strict", "lenient")
"""Replies are scored under both readings: columns `strict_score`, `strict_unparsed`, and so on."""


def _named(*metrics: Metric) -> Mapping[str, Metric]:
    return MappingProxyType({metric.name: metric for metric in metrics})


METRICS: Mapping[str, Metric] = _named(
    Metric("accuracy", "score", "share", "higher", "mean score of the debates' answers", binary=True),
    Metric("opening_accuracy", "opening_score", "share", "higher", "mean score of the openings' vote", binary=True),
    Metric("agent_accuracy", "agent_score", "share", "higher", "mean score of debaters' last answers", binary=True),
    Metric("gain", "gain", "ratio", "higher", "accuracy less opening accuracy"),
    Metric("improvement", "gain", "ratio", "higher", "gain as a share of opening accuracy", per="opening_score"),
    Metric("consensus", "consensus", "share", "neither", "debates whose debaters agree at the end (Cons)", binary=True),
    Metric("co2", "co2", "share", "higher", "debates whose debaters agree at the end and are right", binary=True),
    Metric("rounds", "rounds", "count", "lower", "rounds used after the opening"),
    Metric("calls", "calls", "count", "lower", "model calls a question"),
    Metric("input_tokens", "input_tokens", "tokens", "lower", "prompt tokens a question, all calls"),
    Metric("output_tokens", "output_tokens", "tokens", "lower", "completion tokens a question, all calls"),
    Metric("reasoning_tokens", "reasoning_tokens", "tokens", "lower", "completion tokens thought and not said"),
    Metric("total_tokens", "total_tokens", "tokens", "lower", "prompt and completion tokens a question"),
    Metric("input_tokens_per_agent", "input_tokens_per_agent", "tokens", "lower", "prompt tokens a debater"),
    Metric("output_tokens_per_agent", "output_tokens_per_agent", "tokens", "lower", "completion tokens a debater"),
    Metric("extra_calls", "extra_calls", "count", "lower", "calls of judges, summarizers, critics"),
    Metric("extra_input_tokens", "extra_input_tokens", "tokens", "lower", "prompt tokens of extra roles"),
    Metric("extra_output_tokens", "extra_output_tokens", "tokens", "lower", "completion tokens of extra roles"),
    Metric("dvc", "dvc", "count", "higher", "kept edges between agents that disagreed"),
    Metric("cvr", "cvr", "count", "higher", "turns in which a wrong agent became right"),
    Metric("debates", "debates", "count", "neither", "kept incoming edges an agent, over all rounds"),
    Metric("flips", "flips", "count", "neither", "answers changed"),
    Metric("wrong_to_right", "wrong_to_right", "count", "higher", "answers changed from wrong to right"),
    Metric("right_to_wrong", "right_to_wrong", "count", "lower", "answers changed from right to wrong"),
    Metric("wrong_to_wrong", "wrong_to_wrong", "count", "neither", "answers changed from wrong to another wrong"),
    Metric("conformity", "conformed", "share", "neither", "moves to a majority heard against one's own answer",
           per="majority_faced"),
    Metric("stubbornness", "held", "share", "neither", "answers kept though another was heard",
           per="difference_faced"),
    Metric("influence", "adopted", "share", "neither", "answers given up for another that was heard",
           per="difference_faced"),
    Metric("influence_right", "right_adopted", "share", "higher", "wrong answers given up for a right one heard",
           per="right_faced"),
    Metric("influence_wrong", "wrong_adopted", "share", "lower", "right answers given up for a wrong one heard",
           per="wrong_faced"),
    Metric("density", "density", "share", "neither", "kept edges among possible ones"),
    Metric("reciprocity", "reciprocity", "share", "neither", "kept edges that go both ways"),
    Metric("most_heard", "most_heard", "share", "neither", "kept edges that start at the agent heard most"),
    Metric("brier_stated", "brier_stated", "ratio", "lower", "Brier score of stated confidences"),
    Metric("brier_recalibrated", "brier_recalibrated", "ratio", "lower", "Brier score of recalibrated confidences"),
    Metric("ties", "was_tied", "share", "lower", "debates whose vote was tied", binary=True),
    Metric("unparsed", "unparsed", "count", "lower", "last answers that could not be read"),
    Metric("unanswered", "unanswered", "share", "lower", "debates without an answer", binary=True),
    Metric("unparsed_turns", "unparsed_turns", "count", "lower", "turns that could not be read"),
    Metric("failures", "failures", "count", "lower", "calls that brought no reply"),
    Metric("cut", "cut", "count", "lower", "replies cut at their length limit"),
    Metric("repetitive", "repetitive", "count", "lower", "replies that say the same over and over"),
    Metric("strict_accuracy", "strict_score", "share", "higher", "accuracy, had one read strictly", binary=True),
    Metric("lenient_accuracy", "lenient_score", "share", "higher", "accuracy, had one read leniently", binary=True),
    Metric("strict_unparsed", "strict_unparsed", "count", "lower", "last answers that the strict reading cannot read"),
    Metric("lenient_unparsed", "lenient_unparsed", "count", "lower", "last answers that no reading can read"),
    Metric("brier_raw", "brier_raw", "ratio", "lower", "Brier score of the confidences gone by, not recalibrated"),
    Metric("unmeasured", "unmeasured", "count", "lower", "answers whose confidence could not be measured"),
    Metric("refused", "refused", "count", "lower", "replies that refuse, and answer nothing"),
    Metric("empty", "empty", "count", "lower", "calls that came back without a word"),
    Metric("tool_calls", "tool_calls", "count", "lower", "replies that call a tool in place of answering"),
    Metric("other_language", "other_language", "count", "lower", "replies in another script than their question"),
    Metric("em", "em", "share", "higher", "answers that match a gold exactly, once normalised", binary=True),
    Metric("f1", "f1", "share", "higher", "words that an answer and its nearest gold share (F1)"),
    Metric("judged", "judged", "share", "higher", "answers that the judging model calls correct", binary=True),
)  # fmt: skip
"""Every metric that specs, claims and reports may name, in the order of reports."""

ALIASES: Mapping[str, str] = MappingProxyType({"score": "accuracy", "cons": "consensus", "brier": "brier_stated"})


def metric_named(name: str, columns: Iterable[str] = ()) -> Metric:
    """Return a metric by its name or alias, or a further score column (`f1`, `judged` ...) of a table as a metric.

    Parameters
    ----------
    name : str
    columns : iterable of str
        Columns that the table has; a registered metric wins over a column of the same name.

    Raises
    ------
    InputError
        No metric and no column has that name; says which is nearest.
    """
    name = ALIASES.get(name, name)
    if name in METRICS:
        return METRICS[name]
    others = list(columns)
    if name in others:
        return Metric(name, name, "share", "higher", f"mean of the column {name}", binary=True)
    near = difflib.get_close_matches(name, [*METRICS, *ALIASES, *others], n=1)
    hint = f"did you mean {near[0]!r}?" if near else "known are " + ", ".join(METRICS)
    raise InputError(f"no metric {name!r}; {hint}")
