"""How a report calls and writes each metric."""

from __future__ import annotations

from dataclasses import dataclass

from cortexdsl.numbers import Kind
from cortexdsl.terms.metrics import declared, is_share


@dataclass(frozen=True, slots=True)
class Wording:
    """How a metric is called and written.

    Attributes
    ----------
    title : str
        Heads a column or an axis.
    noun : str
        Stands in a sentence: "the ... of sparse".
    kind : str
        `share` of 1, written in percent; any other `number`.
    summary : str
        What it measures, in one line; empty for a score that only the table knows.
    """

    title: str
    noun: str
    kind: Kind
    summary: str


def wording(metric: str) -> Wording:
    """Return how a metric is called; a score column that is no registered metric keeps its own name."""
    known = declared(metric)
    noun = (known.noun if known else "") or metric.replace("_", " ")
    return Wording(
        noun[:1].upper() + noun[1:], noun, "share" if is_share(metric) else "number", known.summary if known else ""
    )
