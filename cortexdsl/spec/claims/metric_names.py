"""The metrics that specs and claims may name, so that a misspelt or impossible one is found before anything is spent.

All facts come from the declarations in `cortexdsl.terms.metrics`.
"""

from __future__ import annotations

from math import inf

from cortexdsl.terms.metrics import CALIBRATION, METRICS, Better, declared, names_of

KNOWN_METRICS = names_of(METRICS.values())
"""Metrics of debates, with their aliases."""

CALIBRATION_METRICS = names_of(CALIBRATION.values())
"""Metrics of all answers of a cell, with their aliases: for claims alone."""

CLAIMED_METRICS = (*KNOWN_METRICS, *CALIBRATION_METRICS)
"""What a claim may be about."""

AFTER_ROUNDS = names_of(metric for metric in METRICS.values() if "round" in metric.levels)
"""What is known of a whole debate after each of its rounds."""

BY_AGENT = (*names_of(metric for metric in METRICS.values() if "agent" in metric.levels), *CALIBRATION_METRICS)
"""What is known of one debater of a cell."""


def canonical(metric: str) -> str:
    """Return the name of a metric that may be given by an alias; any other name as it is."""
    known = declared(metric)
    return known.name if known else metric


def bound_of(metric: str) -> str:
    """Return what in a plan bounds the metric of one question, such as `calls` or `output_tokens`; or nothing."""
    known = declared(metric)
    return known.bound if known else ""


def range_of(metric: str) -> tuple[float, float]:
    """Return the values that the mean of a metric can have; for a name that is not a metric of ours, any."""
    known = declared(metric)
    return known.range if known else (-inf, inf)


def better_of(metric: str) -> Better:
    """Return which direction of a metric is a merit; of a column of a table from elsewhere, higher."""
    known = declared(metric)
    return known.better if known else "higher"


def alike(first: str, second: str) -> bool:
    """Say whether two metrics measure the same thing, so that their difference means something."""
    one, other = declared(first), declared(second)
    if one is None or other is None:
        return first == second
    return one is other or bool(one.kind and one.kind == other.kind)
