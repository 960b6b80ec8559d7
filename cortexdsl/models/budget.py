"""The budget of an experiment: the limits of its spec, also that of failed calls, held over all its jobs.

What a job books is added to the ledger before its call is sent, so a killed job leaves its reservations standing: those
calls were sent.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from cortexdsl.core import Limits, Model, Reply, Usage
from cortexdsl.errors import BudgetError, RecordError
from cortexdsl.models.call_log.index import LogIndex
from cortexdsl.models.control import ControlFile, Controls
from cortexdsl.models.endpoints.refusals import Refusals
from cortexdsl.models.job_tally import CallCounts, seconds_of
from cortexdsl.models.spending import SpendingLedger, limited_amounts
from cortexdsl.numbers import counted

LIMIT_IN_WORDS = "the limit of "
"""In the message of every job that a limit ended, by which others recognise it."""
EMBEDDINGS = "embeddings"
"""The folder of the logs of embedding calls, next to the call logs."""
FEWEST_FAILED = 5
DEVIATIONS = 3.0


def is_too_many(failed: int, calls: int, share: float, *, is_end: bool = False) -> bool:
    """Say whether too many calls have failed: at least five (one if the share is 0), and more than the share.

    During a run the limit is three standard deviations of a binomial above the share, so that an unlucky stretch does
    not end it. At 5 % these are 5 of 29, 12 of 100, 71 of 1,000. At the end of a job the limit is the share.
    """
    if failed < (FEWEST_FAILED if share > 0 else 1):
        return False
    margin = 0.0 if is_end else DEVIATIONS * math.sqrt(share * (1.0 - share) * calls)
    return failed > share * calls + margin


class Budget:
    """Remaining budget of an experiment, for all its jobs in this process.

    Parameters
    ----------
    limits : Limits
        None in a field means that there is no limit.
    folder : Path or None
        `spent/` of the experiment, through which processes share it; None keeps it to this process.
    now : callable
        Seconds since the epoch.

    Attributes
    ----------
    refusals : Refusals
        Parameters that models were found to refuse.

    Notes
    -----
    Every attempt to send a call is a call, and is booked under the ledger's lock before it is sent: `calls` is never
    exceeded. Tokens and dollars are known only afterwards: an attempt is reserved with the mean of those before it,
    or a quarter of its prompt's characters if that is more, and settled when the reply is there. The sum can exceed
    a limit by what the calls in flight cost above that, and no more. `seconds` are booked with each attempt:
    calls in flight are waited for.
    """

    def __init__(self, limits: Limits, folder: Path | None = None, now: Callable[[], float] = time.time) -> None:
        self._limits, self._control = limits, ControlFile(folder, now)
        self.refusals = Refusals(folder)
        self._ledger = SpendingLedger(folder, Usage if folder is None else lambda: spent_before(folder))

    @property
    def limits(self) -> Limits:
        """The limits as they are now: those of the spec, unless they were changed while it runs."""
        return self.controls.applied(self._limits)

    @property
    def controls(self) -> Controls:
        """The changes that were made while the experiment runs."""
        return self._control.now

    @property
    def total(self) -> Usage:
        """The experiment's usage when this process last read the ledger."""
        return self._ledger.sum

    def reserve(self, tokens: int = 0, dollars: float = 0.0, seconds: float = 0.0) -> Usage:
        """Book one attempt that is about to be sent.

        Parameters
        ----------
        tokens, dollars : int, float
            What its prompt alone will cost, at least.
        seconds : float
            That the job has run since it last booked.

        Returns
        -------
        Usage
            What was reserved, for `settle`.

        Raises
        ------
        BudgetError
            If a limit is reached.
        RecordError
            If the ledger cannot be written.
        """
        with self._ledger.entry() as add:
            total = self._ledger.sum
            done = max(1, total.attempts)
            tokens, dollars = max(tokens, total.tokens // done), max(dollars, total.dollars / done)
            cost, ran = Usage(attempts=1, input_tokens=tokens, dollars=dollars), Usage(seconds=seconds)
            reached = self._reached(total + ran)
            add(ran if reached else cost + ran)
        if reached:
            raise BudgetError(reached)
        return cost

    def check_round(self, cost: Usage) -> None:
        """Check that all calls of a round may be asked.

        Parameters
        ----------
        cost : Usage
            The most that they will cost, if that is known.

        Raises
        ------
        BudgetError
            If they would pass a limit, or one is reached.
        """
        with self._ledger.entry():
            total = self._ledger.sum
        if reached := self._reached(total) or self._passed(total, cost):
            raise BudgetError(reached)

    def _passed(self, total: Usage, cost: Usage) -> str:
        limits, more_by_name = self.limits, limited_amounts(cost)
        for name, spent in limited_amounts(total).items():
            limit, more = getattr(limits, name), more_by_name[name]
            if limit is not None and name != "seconds" and spent + more > limit:
                return (
                    f"a round of {counted(cost.attempts, 'call')} may cost "
                    f"{_amount(name, more)} {name}, and of {LIMIT_IN_WORDS}"
                    f"{limit:,} {_amount(name, spent)} are spent: it was not sent, and nothing finished is lost; raise "
                    f"`limits: {name}` in the spec (or lower `max_tokens`, which replies are booked with) and run again"
                )
        return ""

    def settle(self, reserved: Usage, cost: Usage) -> None:
        """Replace the reservation of an attempt with its actual cost."""
        self.spend(cost - reserved)

    def spend(self, cost: Usage) -> None:
        """Book what was not reserved: seconds that a job ran, how calls ended.

        An error of the disk is raised by the next `reserve` or `check`: the reply that was paid for is logged first.
        """
        try:
            with self._ledger.entry() as add:
                add(cost)
        except RecordError:
            return

    def check(self) -> None:
        """Raise the error of the ledger if the disk was full or has failed.

        Raises
        ------
        RecordError
        """
        if self._ledger.fault is not None:
            raise RecordError(str(self._ledger.fault))

    def _reached(self, total: Usage) -> str:
        limits = self.limits
        for name, spent in limited_amounts(total).items():
            limit = getattr(limits, name)
            if limit is not None and spent >= limit:
                is_changed = name in self.controls.limits
                remedy = f"cortexdsl limit NAME --{name} N" if is_changed else f"raise `limits: {name}` in the spec"
                return (
                    f"{LIMIT_IN_WORDS}{limit:,} {name} is reached ({_amount(name, spent)} spent): "
                    f"nothing finished is lost; {remedy} and run again to go on"
                )
        return ""

    def close(self) -> None:
        """Close the ledger. May be called twice."""
        self._ledger.close()


class FailureLimit:
    """Counts the failed calls of a job, and holds them and those of the run against `limits: failed`.

    Parameters
    ----------
    counts : CallCounts
        Of the job.
    budget : Budget
        With the limit, and the counts of the run.
    spec : str
        The spec's name, for the command in the message.
    """

    def __init__(self, counts: CallCounts, budget: Budget, spec: str) -> None:
        self._counts, self._budget, self._spec = counts, budget, spec
        self._failed = 0
        self._last = ""

    def passed(self, model: Model, reply: Reply) -> Reply:
        """Return a reply, unless it is a failure and so many calls have failed that it is an outage.

        Raises
        ------
        BudgetError
        """
        if reply.error is not None:
            self._failed += 1
            self._last = f"model {model.name} ({model.model}): {reply.error}"
            self.check(is_end=False)
        return reply

    def check(self, *, is_end: bool = True) -> None:
        """Raise an error if too many calls of this job or run have failed for the rest to be data.

        Raises
        ------
        BudgetError
        """
        if not self._failed:
            return
        counts, share, run = self._counts, self._budget.limits.failed, self._budget.total
        here = self._failed, counts.asked + counts.replayed + counts.shared
        for failed, calls, whose in ((*here, "of this job"), (run.failed, run.calls, "of this run")):
            if is_too_many(failed, calls, share, is_end=is_end):
                enough = min(100, math.floor(100 * failed / calls) + 1)
                raise BudgetError(
                    f"{failed:,} of {counted(calls, 'call')} {whose} brought "
                    f"no reply, and `limits: failed` allows {share:.3g} "
                    f"of them; the last: {self._last}\n"
                    "    see what is wrong with the model or its address; then ask the failed calls again: "
                    f"cortexdsl run {self._spec} --errors-again (or, if they are data to you, raise the "
                    f"limit: `limits: {{failed: {enough}%}}`)"
                )


def _amount(name: str, spent: float) -> str:
    if name == "dollars":
        return f"{spent:,.2f}" if spent >= 0.01 else f"{spent:.2g}"
    return f"{spent:,.0f}"


def spent_before(folder: Path) -> Usage:
    """Return what an experiment has spent by its call logs, whose `spent/` is given."""
    spent = Usage(seconds=seconds_of(folder))
    for path in _call_logs(folder.parent):
        index = LogIndex(path)
        index.catch_up()
        spent += index.totals() if path.parent.name != EMBEDDINGS else replace(index.totals(), calls=0)
    return spent


def _call_logs(root: Path) -> Iterator[Path]:
    for folder in ("calls", "*/calls", "*/*/calls"):
        for place in sorted(root.glob(folder)):
            yield from sorted(place.rglob("*.jsonl"))
