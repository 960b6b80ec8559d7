"""Stop a job or run if too many of its calls failed: that is an outage, and not data."""

from __future__ import annotations

import math

from cortexdsl.core import Model, Reply
from cortexdsl.errors import BudgetError
from cortexdsl.models.budget import Budget, is_too_many
from cortexdsl.models.job_tally import CallCounts
from cortexdsl.numbers import counted


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
