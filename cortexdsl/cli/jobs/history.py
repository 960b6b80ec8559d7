"""Verdicts with their history: whether each claim was declared before the run, and what changed after that."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from cortexdsl.plan.kept.declaration import SEED, binding
from cortexdsl.plan.kept.ledger import Ledger
from cortexdsl.spec.claims.arms import Arm
from cortexdsl.spec.claims.designs import Design, design_of
from cortexdsl.spec.claims.language import parse_claim

COLUMNS = ("declared", "changed", "runs", "ledger")
BEFORE, AFTER, NEVER = "before the first call", "after the first call", "nothing was declared before the first call"


def with_history(found: pd.DataFrame, ledger: Ledger, arms: Sequence[Arm]) -> pd.DataFrame:
    """Add columns to hypotheses.csv: what the ledger tells of each claim.

    Returns
    -------
    DataFrame
        With `declared` (when the claim was), `changed` (what else that the verdict depends on changed after the first
        call), `runs` (how often verdicts were given, and with which seeds), `ledger` (its seal). A verdict is
        exploratory too where `changed` names more than the seed, or where the ledger cannot be relied on. All empty for
        tables from elsewhere, which have no ledger.
    """
    if not ledger.entries and not ledger.faults:
        return found.assign(**dict.fromkeys(COLUMNS, ""))
    when, changed, is_bound = [], [], []
    for claim in found["claim"]:
        bound = binding(ledger.since, _cells(design_of(parse_claim(claim), arms)))
        when.append(_when(claim, ledger))
        changed.append("; ".join([change for change in ledger.since if change.startswith(f"{SEED}:")] + bound))
        is_bound.append(bool(bound or ledger.faults))
    return found.assign(
        exploratory=found["exploratory"].to_numpy(dtype=bool) | pd.Series(is_bound, dtype=bool).to_numpy(),
        declared=when,
        changed=changed,
        runs=f"{len(ledger.runs)}: seed {', '.join(map(str, ledger.seeds))}",
        ledger=ledger.seal,
    )


def _when(claim: str, ledger: Ledger) -> str:
    if ledger.faults:
        return "; ".join(ledger.faults)
    if ledger.before is None:
        return NEVER
    return BEFORE if " ".join(claim.split()) in ledger.claims else AFTER


def _cells(design: Design) -> tuple[str, ...]:
    """The cells of a claim, those of its parts included."""
    return (*design.cells, *(cell for part in design.parts for cell in _cells(part)))
