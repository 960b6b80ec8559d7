"""What the ledger tells a report: what was declared, what changed, the runs, and what does not fit together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cortexdsl.plan.kept.current import plan_changes, spec_changes
from cortexdsl.plan.kept.ledger import Ledger, read_ledger
from cortexdsl.plan.kept.twins import find_twins
from cortexdsl.plan.parts.layout import Layout
from cortexdsl.report.inputs.rows import read_rows
from cortexdsl.report.words.history import changes_in_words, history_in_words, twin_in_words

SEALED = ("scores.csv", "hypotheses.csv")


@dataclass(frozen=True, slots=True)
class History:
    """The ledger as a report says it.

    Attributes
    ----------
    is_known : bool
        False for tables from elsewhere, which have no ledger: the plan is then all there is.
    claims, families : tuple of str
        Declared before the first call.
    said : tuple of str
        Sentences: how the claims were declared, what changed, the runs, what is wrong with the ledger.
    notice : str
        What a report must begin with: that the spec differs by now from what was tested. May be empty.
    ledger : Ledger
    """

    is_known: bool
    claims: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    notice: str = ""
    ledger: Ledger = field(default_factory=lambda: Ledger(()))


def read_history(folder: Path, plan: Mapping[str, Any]) -> History:
    """Read the ledger of a results folder, and compare it with the plan, the verdicts, the spec and its neighbours."""
    ledger = read_ledger(Layout(folder.as_posix()))
    if not ledger.entries and not ledger.faults:
        return History(is_known=False)
    before = ledger.before or {}
    families = tuple(
        f"{name}: {', '.join(family['compare'])} against {family['to']} ({family['correction']})"
        for name, family in before.get("families", {}).items()
    )
    faults = [*ledger.faults, *_unknown(ledger, folder, plan)]
    said = [*history_in_words(ledger, faults), *map(twin_in_words, find_twins(folder, ledger))]
    if ledger.runs and not set(SEALED) <= set(ledger.tables):
        said.append("An earlier version wrote these tables and kept no digests of them: edits would not be noticed.")
    return History(True, ledger.claims, families, tuple(said), _notice(ledger, plan), ledger)


def _unknown(ledger: Ledger, folder: Path, plan: Mapping[str, Any]) -> Iterator[str]:
    """What lies beside the ledger and is not in it: entries at its end are missing then."""
    if ledger.now is not None and (differs := plan_changes(ledger.now, plan)):
        yield f"the plan here is not the last one in the ledger ({'; '.join(differs)})"
    seals = {entry.seal for entry in ledger.entries}
    judged = {row.get("ledger") for row in read_rows(folder / "hypotheses.csv")} - {""}
    if judged - seals:
        yield "the verdicts here are not in the ledger"


def _notice(ledger: Ledger, plan: Mapping[str, Any]) -> str:
    differs = spec_changes(ledger.now, plan) if ledger.now is not None else ()
    if not differs:
        return ""
    return (
        "The spec, or something that it uses, has changed since these results were made "
        f"({changes_in_words(differs)}). This report is about the earlier spec. "
        f"To test the new one: cortexdsl run {plan['spec']}"
    )
