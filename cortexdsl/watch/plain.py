"""Progress as plain values, for programs: `cortexdsl status --json`, the explorer."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from cortexdsl.records.tallies import Spending
from cortexdsl.watch.progress import Progress, Row


def as_plain(shown: Progress) -> dict[str, Any]:
    """Return a progress as values that JSON knows."""
    return {
        "experiment": shown.experiment,
        "state": shown.all.state,
        "jobs": {"running": shown.running, "silent": list(shown.silent)},
        "cells": [_row(row) for row in shown.rows],
        "all": _row(shown.all),
        "others": _spent(shown.others),
        "messages": dict(shown.messages),
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "dataset": row.dataset or None,
        "cell": row.cell,
        "state": row.state,
        "debates": {"done": row.done, "total": row.total},
        **_spent(row.spent),
        "calls_per_second": round(row.rate, 3),
        "seconds_left": None if row.seconds_left is None else round(row.seconds_left, 1),
    }


def _spent(spent: Spending) -> dict[str, Any]:
    said = asdict(spent)
    return {
        "calls": dict(spent.calls),
        "tokens": {"input": spent.input_tokens, "output": spent.output_tokens, "cached": spent.cached_tokens},
        "dollars": said["dollars"] if spent.is_priced else None,
        "seconds": round(spent.seconds, 3),
        "failures": dict(spent.failures),
        "retries": dict(spent.retries),
    }
