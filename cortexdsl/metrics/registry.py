"""Measure functions of metrics, by the columns that `METRICS` declares.

A metric has two parts. Its declaration (`cortexdsl.core.metrics.METRICS`) says its name, unit, range, direction and
levels. Its measure is a function with the name of the declared column, listed in `MEASURES` of its module; the
docstring of that function is the definition of the column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from cortexdsl.core.metric_types import Metric
from cortexdsl.core.metrics import METRICS, grouped
from cortexdsl.metrics import budgets, calibration, influence, outcome, replies, samples
from cortexdsl.metrics.view import Measure

MODULES = (outcome, replies, influence, calibration, budgets, samples)
_KNOWN: Mapping[str, Measure] = {column: measure for module in MODULES for column, measure in module.MEASURES.items()}

OF_JOB = (
    "em", "f1", "judged",
    "pair_score", "labels", "label_agreement", "consistency", "position_bias", "first_chosen", "longer_chosen",
    "length_bias", "absolute_error", "relative_error", "loosely_right", "followed", "loosely_followed", "instructions",
)  # fmt: skip
"""Columns that the scoring job fills, since they need the question, another reading, a judge, or the other order."""

_FIRST = (
    "score", "unparsed", "rounds", "calls", "input_tokens", "output_tokens", "total_tokens", "input_tokens_per_agent",
    "output_tokens_per_agent", "extra_calls", "extra_input_tokens", "extra_output_tokens", "opening_score", "gain",
    "agent_score", "consensus", "co2", "dvc", "cvr", "debates", "flips", "wrong_to_right", "right_to_wrong",
    "wrong_to_wrong", "majority_faced", "conformed", "difference_faced", "held", "adopted", "right_faced",
    "right_adopted", "wrong_faced", "wrong_adopted", "density", "reciprocity", "most_heard", "brier_stated",
    "brier_recalibrated", "was_tied", "unanswered", "unparsed_turns", "failures", "cut", "repetitive",
    "reasoning_tokens", "brier_raw",
)  # fmt: skip
"""Columns in the order of earlier versions. All others follow in the order of their declarations."""


def find_measures(metrics: Iterable[Metric]) -> Mapping[str, Measure]:
    """Return the measure function of each column that some metrics declare, in the order of scores.csv.

    Raises
    ------
    KeyError
        A declared column has no function, and the scoring job does not fill it.
    """
    columns = dict.fromkeys(column for metric in metrics for column in (metric.column, metric.per) if column)
    ranks = {column: rank for rank, column in enumerate(_FIRST)}
    ordered = sorted(columns, key=lambda column: ranks.get(column, len(ranks)))
    return MappingProxyType({column: _KNOWN[column] for column in ordered if column not in OF_JOB})


MEASURES: Mapping[str, Measure] = find_measures(metric for metric in METRICS.values() if not metric.group)
"""Columns of every scores.csv: one value a debate."""


def asked_measures(names: Iterable[str]) -> Mapping[str, Measure]:
    """Return the measures of the further columns that a spec asks for by naming some metrics."""
    return find_measures(grouped(names))
