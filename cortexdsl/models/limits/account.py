"""What the jobs of one experiment share besides their logs: the budget, and which servers were found dead."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from cortexdsl.models.limits.budget import Budget
from cortexdsl.models.limits.ledger import Spent
from cortexdsl.models.limits.tally import seconds_of
from cortexdsl.models.logs.appendlog import parse, whole_lines
from cortexdsl.models.logs.index import LogIndex
from cortexdsl.models.logs.lines import is_amount, is_count
from cortexdsl.models.reach.outages import Outages
from cortexdsl.terms import Limits

EMBEDDINGS = "embeddings"


class Account:
    """One experiment's budget and outages, for all its doors of this process.

    Parameters
    ----------
    limits : Limits
    folder : Path or None
        `spent/` of the experiment; None keeps both to this process.
    now : callable
        Seconds since the epoch.
    """

    def __init__(self, limits: Limits, folder: Path | None, now: Callable[[], float] = time.time) -> None:
        self.limits = limits
        self.budget = Budget(limits, folder, Spent if folder is None else lambda: spent_before(folder))
        self.outages = Outages(folder, now)

    def close(self) -> None:
        """Close the budget's ledger. May be called twice."""
        self.budget.close()


def spent_before(folder: Path) -> Spent:
    """Return what an experiment has spent by its call logs, whose `spent/` is given: a run that had no ledger."""
    spent = Spent(seconds=seconds_of(folder))
    for path in _logs(folder.parent):
        if path.parent.name == EMBEDDINGS:
            spent = spent.plus(_embedded(path))
            continue
        index = LogIndex(path)
        index.catch_up()
        found = index.totals()
        tokens = found.prompt_tokens + found.completion_tokens
        spent = spent.plus(Spent(found.attempts, tokens, found.dollars, 0.0, found.calls, found.failed))
    return spent


def _logs(root: Path) -> Iterator[Path]:
    for path in sorted(root.rglob("*.jsonl")):
        if "calls" in path.relative_to(root).parts[:-1]:
            yield path


def _embedded(path: Path) -> Spent:
    spent = Spent()
    for _, line in whole_lines(path):
        said = parse(line) or {}
        calls, tokens, dollars = (said.get(name) or 0 for name in ("calls", "tokens", "dollars"))
        if is_count(calls, 10**6) and is_count(tokens, 10**12) and is_amount(dollars):
            spent = spent.plus(Spent(calls, tokens, dollars))
    return spent
