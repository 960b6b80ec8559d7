"""Columns of other programs' tables as metrics: which direction is better, by the words of a name, or as described."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from math import inf
from types import MappingProxyType

from cortexdsl.core.metric_types import Better, Metric, Unit
from cortexdsl.core.metrics import find_metric

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
