"""How each column of scores.csv is computed from a debate, and metrics by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Literal

from cortexdsl.analysis.metrics.measures import (
    calibration,
    collisions,
    headroom,
    health,
    listening,
    outcome,
    persuasion,
    usage,
    wording,
)
from cortexdsl.analysis.metrics.view import Graded
from cortexdsl.errors import InputError
from cortexdsl.terms.metrics import ALIASES, METRICS, Metric

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
        "oracle": headroom.oracle,
        "opening_oracle": headroom.opening_oracle,
        "oracle_gap": headroom.oracle_gap,
        "lost_by_vote": headroom.lost_by_vote,
        "lost_in_debate": headroom.lost_in_debate,
        "never_found": headroom.never_found,
    }
)
"""Columns of scores.csv: one value a debate; the docstring of each function is its definition."""


READINGS: tuple[Literal["strict", "lenient"], ...] = ("strict", "lenient")
"""Replies are scored under both readings: columns `strict_score`, `strict_unparsed`, and so on."""


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
