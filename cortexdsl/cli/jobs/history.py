"""Verdicts and comparisons with their history: what was declared before the run, and what changed after that."""

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
        call), `runs` (how often the claim was judged, with the seed and verdict of each run), `ledger` (the seal of the
        entry that holds the verdicts). A verdict is also exploratory if `changed` names more than the seed, or if the
        ledger cannot be relied on. All empty for tables from elsewhere, which have no ledger.
    """
    if not ledger.entries and not ledger.faults:
        return found.assign(**dict.fromkeys(COLUMNS, ""))
    when, changed, is_bound, runs = [], [], [], []
    for claim in found["claim"]:
        bound = binding(ledger.since, _cells(design_of(parse_claim(claim), arms)))
        when.append(_when(claim, ledger))
        changed.append("; ".join([change for change in ledger.since if change.startswith(f"{SEED}:")] + bound))
        is_bound.append(bool(bound or ledger.faults))
        judged = ledger.verdicts_on(claim)
        runs.append(_runs(judged))
    return found.assign(
        exploratory=found["exploratory"].to_numpy(dtype=bool) | pd.Series(is_bound, dtype=bool).to_numpy(),
        declared=when,
        changed=changed,
        runs=runs,
        ledger=ledger.verdict_seal,
    )


def families_with_history(compared: pd.DataFrame, ledger: Ledger) -> pd.DataFrame:
    """Add the column `exploratory` to comparisons.csv: whether a comparison was not declared as it now is.

    A comparison is declared if its family and its metric were declared before the first call, its family is unchanged,
    and so is everything that its p depends on (its cells, error, correction, questions, replicates). The column is
    empty for tables from elsewhere, which have no ledger.
    """
    if not ledger.entries and not ledger.faults:
        return compared.assign(exploratory="")
    before, now = ledger.before, ledger.now
    if before is None or now is None or ledger.faults:
        return compared.assign(exploratory=True)
    kept = [name for name, family in before["families"].items() if now["families"].get(name) == family]
    declared = compared["family"].isin(kept) & compared["metric"].isin(before["metrics"])
    pairs = zip(compared["cell"], compared["reference"], strict=True)
    bound = [bool(binding(ledger.since, pair)) for pair in pairs]
    return compared.assign(exploratory=~declared | pd.Series(bound, dtype=bool, index=compared.index))


def _runs(judged: Sequence[tuple[int, int | None, str]]) -> str:
    """How often a claim was judged, with the seed and the verdict of each run."""
    named = ", ".join(f"seed {seed} {verdict}" for _, seed, verdict in judged)
    return f"{len(judged)}: {named}" if judged else "0"


def _when(claim: str, ledger: Ledger) -> str:
    if ledger.faults:
        return "; ".join(ledger.faults)
    if ledger.before is None:
        return NEVER
    return BEFORE if " ".join(claim.split()) in ledger.claims else AFTER


def _cells(design: Design) -> tuple[str, ...]:
    """The cells of a claim, those of its parts included."""
    return (*design.cells, *(cell for part in design.parts for cell in _cells(part)))
