"""The budget of an experiment: the limits of the spec, held over all its jobs by reserving before anything is sent."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from cortexdsl.errors import BudgetError
from cortexdsl.models.limits.ledger import Ledger, Spent
from cortexdsl.terms import Limits

FEWEST_FAILED = 5
DEVIATIONS = 3.0


def is_too_many(failed: int, calls: int, share: float, *, is_end: bool = False) -> bool:
    """Say whether too many calls have failed: at least five (one, where the share is 0), and more than the share.

    On the way more is needed than an unlucky stretch can make of such a share: three standard deviations of a
    binomial above it. At 5 % these are 5 of 29, 12 of 100, 71 of 1,000. At the end of a job the share is what it is.
    """
    if failed < (FEWEST_FAILED if share > 0 else 1):
        return False
    margin = 0.0 if is_end else DEVIATIONS * math.sqrt(share * (1.0 - share) * calls)
    return failed > share * calls + margin


class Budget:
    """What an experiment may still spend. The jobs of one process share it, those of others share its ledger.

    Parameters
    ----------
    limits : Limits
        None in a field is no limit.
    folder : Path or None
        Of the ledger; None keeps the spending to this process.
    earlier : callable
        What was spent before there was a ledger.

    Notes
    -----
    Every attempt to send a call is a call, and is booked under the ledger's lock before it is sent: `calls` is never
    exceeded. Tokens and dollars are known only afterwards: an attempt is reserved with the mean of those before it,
    or a quarter of its prompt's characters where that is more, and settled when the reply is there. The sum can go
    over a limit by what the calls in flight cost above that, and no more. `seconds` are booked with each attempt:
    calls in flight are waited for.
    """

    def __init__(self, limits: Limits, folder: Path | None = None, earlier: Callable[[], Spent] = Spent) -> None:
        self.limits = limits
        self._ledger = Ledger(folder, earlier)

    @property
    def total(self) -> Spent:
        """What the experiment had spent when this process last looked."""
        return self._ledger.sum

    def reserve(self, tokens: int = 0, dollars: float = 0.0, seconds: float = 0.0) -> Spent:
        """Book one attempt that is about to be sent.

        Parameters
        ----------
        tokens, dollars : int, float
            What its prompt alone will cost, at least.
        seconds : float
            That the job has run since it last booked.

        Returns
        -------
        Spent
            What was reserved, for `settle`.

        Raises
        ------
        BudgetError
            If a limit is reached.
        """
        with self._ledger.entry() as add:
            total = self._ledger.sum
            done = max(1, total.calls)
            cost = Spent(1, max(tokens, total.tokens // done), max(dollars, total.dollars / done))
            ran = Spent(seconds=seconds)
            reached = self._reached(total.plus(ran))
            add(ran if reached else cost.plus(ran))
        if reached:
            raise BudgetError(reached)
        return cost

    def settle(self, reserved: Spent, cost: Spent) -> None:
        """Book what an attempt has cost in place of what was reserved for it."""
        with self._ledger.entry() as add:
            add(cost.minus(reserved))

    def spend(self, cost: Spent) -> None:
        """Book what was not reserved: seconds that a job ran, how calls ended."""
        with self._ledger.entry() as add:
            add(cost)

    def _reached(self, total: Spent) -> str:
        sums = (
            ("calls", self.limits.calls, total.calls),
            ("tokens", self.limits.tokens, total.tokens),
            ("dollars", self.limits.dollars, total.dollars),
            ("seconds", self.limits.seconds, total.seconds),
        )
        for name, limit, spent in sums:
            if limit is not None and spent >= limit:
                return (
                    f"the limit of {limit:,} {name} is reached ({_said(name, spent)} spent): "
                    f"nothing finished is lost; raise `limits: {name}` in the spec and run again to go on"
                )
        return ""

    def close(self) -> None:
        """Close the ledger. May be called twice."""
        self._ledger.close()


def _said(name: str, spent: float) -> str:
    if name == "dollars":
        return f"{spent:,.2f}" if spent >= 0.01 else f"{spent:.2g}"
    return f"{spent:,.0f}"
