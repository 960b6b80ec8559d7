"""Progress in words and in plain values: the same texts for tables, lines and JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from cortexdsl.display.progress import CellProgress, RunProgress
from cortexdsl.numbers import counted, in_dollars
from cortexdsl.records.tallies import TallySum

MOST_KINDS = 3  # of failures or retries, named in one line


def short(number: float) -> str:
    """Return a count in few characters: 950, 12.3k, 4.56M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if number >= size:
            unit = 1e3 if letter == "k" else size
            return f"{number / unit:.3g}{letter}" if number / unit < 1000 else f"{number / unit:.0f}{letter}"
    return f"{number:,.0f}"


def duration(seconds: float | None) -> str:
    """Return a duration: 8 s, 3 min 20 s, 2 h 5 min, 3 d 4 h; a dash if unknown."""
    if seconds is None:
        return "-"
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3600} h"


def money(spent: TallySum) -> str:
    """Return the price: a dash if no call was sent or no price is known, with a plus if a part has no price.

    `shared` if other cells sent, and paid for, all calls.
    """
    if spent.calls.get("shared") and not spent.calls.get("asked"):
        return "shared"
    if spent.usage.is_priced and (spent.calls.get("asked") or spent.usage.dollars):
        return f"${in_dollars(spent.usage.dollars)}"
    return f"${in_dollars(spent.usage.dollars)}+" if spent.usage.dollars else "-"


def trouble(spent: TallySum) -> str:
    """Return how many calls failed and how many were retried, by kind, the most frequent first."""
    counts = (("failed", spent.failures), ("retried", spent.retries))
    return ", ".join(
        f"{number:,} {outcome}{_kinds(kinds)}" for outcome, kinds in counts if (number := spent.calls.get(outcome, 0))
    )


def _kinds(counts: Mapping[str, int]) -> str:
    known = sorted((-number, kind.replace("_", " ")) for kind, number in counts.items() if number)
    named = [kind if len(known) == 1 else f"{kind} {-number:,}" for number, kind in known]
    more = [f"{len(named) - MOST_KINDS} more kinds"] if len(named) > MOST_KINDS else []
    return f" ({', '.join([*named[:MOST_KINDS], *more])})" if named else ""


def remarks(shown: RunProgress) -> list[str]:
    """Return a line each for a pause, the round of files and its engines, and calls that failed or were retried."""
    lines = []
    if paused := shown.paused:
        why = f" ({paused.why})" if paused.why else ""
        lines.append(f"paused since {paused.at} by {paused.by}{why}; continue: cortexdsl resume {shown.experiment}")
    if now := shown.round:
        answered = f"{now.replies:,} of {counted(now.requests, 'request')} answered"
        lines += [f"round {now.number} of at most {now.rounds}: {answered}", *now.engines]
    if wrong := trouble(shown.all.spent):
        lines.append(f"calls: {wrong}")
    return lines


def name_of(row: CellProgress, *, many_datasets: bool) -> str:
    """Return the name of a row: its cell, with the dataset if there are several."""
    return f"{row.cell} on {row.dataset}" if many_datasets and row.dataset else row.cell


def has_many_datasets(shown: RunProgress) -> bool:
    """Return whether rows must name their dataset."""
    return len({row.dataset for row in shown.rows}) > 1


def in_a_line(shown: RunProgress, seconds: float) -> str:
    """Return a run as one line: debates, calls, tokens, dollars, the seconds that it took, and what is left."""
    row, spent = shown.all, shown.all.spent
    known = spent.calls.get("shared", 0) + spent.calls.get("replayed", 0)
    reused = f", {counted(known, 'reply', 'replies')} reused" if known else ""
    parts = [
        f"{shown.experiment}: {row.done:,} of {counted(row.total, 'debate')}",
        f"{counted(spent.calls.get('asked', 0), 'call')} sent{reused}",
        f"{short(spent.usage.input_tokens)} + {short(spent.usage.output_tokens)} tokens{cached_share(spent)}",
        *([price] if (price := money(spent)) != "-" else []),
        duration(seconds),
    ]
    if row.state == "running":
        parts += [f"{row.rate:,.1f} calls/s", f"{duration(row.seconds_left)} left"]
    elif row.state != "done":
        parts.append(row.state)
    return ", ".join(parts)


def cached_share(spent: TallySum) -> str:
    """Return how many tokens of prompts came from providers' caches, and what that saved; empty if none did."""
    if not spent.usage.cached_tokens:
        return ""
    saved = f", which saves ${spent.usage.saved:,.2f}" if spent.usage.saved >= 0.005 else ""
    return f" ({short(spent.usage.cached_tokens)} cached{saved})"


def plain_values(shown: RunProgress) -> dict[str, Any]:
    """Return a progress as JSON values, for `cortexdsl status --json` and the explorer."""
    return {
        "experiment": shown.experiment,
        "state": shown.all.state,
        "jobs": {"running": shown.running, "silent": list(shown.silent)},
        "cells": [_row(row) for row in shown.rows],
        "all": _row(shown.all),
        "others": _spent(shown.others),
        "messages": dict(shown.messages),
        "paused": None if shown.paused is None else asdict(shown.paused),
        **({"round": asdict(shown.round)} if shown.round else {}),
    }


def _row(row: CellProgress) -> dict[str, Any]:
    return {
        "dataset": row.dataset or None,
        "cell": row.cell,
        "state": row.state,
        "debates": {"done": row.done, "total": row.total},
        **_spent(row.spent),
        "calls_per_second": round(row.rate, 3),
        "seconds_left": None if row.seconds_left is None else round(row.seconds_left, 1),
    }


def _spent(spent: TallySum) -> dict[str, Any]:
    usage = spent.usage
    return {
        "calls": dict(spent.calls),
        "tokens": {"input": usage.input_tokens, "output": usage.output_tokens, "cached": usage.cached_tokens},
        "dollars": usage.total_dollars,
        **({"saved": usage.saved} if usage.saved else {}),
        "seconds": round(usage.seconds, 3),
        "failures": dict(spent.failures),
        "retries": dict(spent.retries),
    }
