"""What was declared, what changed after the first call, how often the experiment ran: the ledger in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cortexdsl.plan.kept.ledger import EARLIER, Entry, Ledger, read_ledger
from cortexdsl.plan.parts.layout import Layout
from cortexdsl.report.inputs.rows import read_rows
from cortexdsl.report.words.numbers import counted


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
    """

    is_known: bool
    claims: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    said: tuple[str, ...] = ()


def read_history(folder: Path, plan: Mapping[str, Any]) -> History:
    """Read the ledger of a results folder, and see whether it knows the plan and the verdicts that lie beside it."""
    ledger = read_ledger(Layout(folder.as_posix()))
    if not ledger.entries and not ledger.faults:
        return History(is_known=False)
    before = ledger.before or {}
    families = tuple(
        f"{name}: {', '.join(family['compare'])} against {family['to']} ({family['correction']})"
        for name, family in before.get("families", {}).items()
    )
    faults = [*ledger.faults, *_unknown(ledger, folder, plan)]
    return History(True, ledger.claims, families, tuple(_sentences(ledger, faults)))


def _sentences(ledger: Ledger, faults: list[str]) -> Iterator[str]:
    for fault in faults:
        yield f"The record is broken: {fault}. What is said here of before and after cannot be relied on."
    before = ledger.before
    if before is None:
        first = ledger.entries[0].said[0] if ledger.entries else "there is no ledger"
        yield f"Nothing is known to have been declared before the first call: {first}. Every verdict is exploratory."
    else:
        sizes = ", ".join(f"{one['questions']} questions of {label}" for label, one in before["datasets"].items())
        yield (
            f"Before the first call: {counted(len(before['claims']), 'claim')}, seed {before['seed']}, error "
            f"{before['alpha']:g}, correction {before['correction']}, {sizes}, "
            f"{counted(before['replicates'], 'replicate')}."
        )
        if EARLIER in ledger.declarations[0].said:
            yield f"Of this the claims alone are sure: {EARLIER}."
        late = [entry for entry in ledger.declarations if entry.after_calls]
        for entry in late:
            yield f"After the first call: {'; '.join(entry.said)}."
        if not late:
            yield "Nothing changed after the first call."
    yield from _runs(ledger.runs)


def _runs(runs: tuple[Entry, ...]) -> Iterator[str]:
    if not runs:
        return
    seeds = list(dict.fromkeys(run.seed for run in runs))
    times = "once" if len(runs) == 1 else f"{len(runs)} times"
    yield f"Verdicts were given {times}, with seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}:"
    for number, run in enumerate(runs, 1):
        again = ", a replication" if run.seed != runs[0].seed else ""
        found = Counter(str(line.get("verdict")) for line in run.verdicts)
        verdicts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(found.items())) or "no claims"
        yield f"{number}. seed {run.seed}{again}: {'; '.join(part for part in run.said)} ({verdicts})."


def _unknown(ledger: Ledger, folder: Path, plan: Mapping[str, Any]) -> Iterator[str]:
    """What lies beside the ledger and is not in it: entries at its end are missing then."""
    now = ledger.now
    if now is not None:
        analysis = plan.get("analysis") or {}
        held = [(now[word], plan.get(word)) for word in ("seed", "replicates")]
        held += [(now[word], analysis.get(word)) for word in ("alpha", "correction")]
        held += [(sorted(now["claims"]), sorted(" ".join(c.split()) for c in plan.get("hypotheses") or ()))]
        if any(known != found for known, found in held if found is not None):
            yield "the plan that lies here is not the last one in the ledger"
    seals = {entry.seal for entry in ledger.entries}
    judged = {row.get("ledger") for row in read_rows(folder / "hypotheses.csv")} - {""}
    if judged - seals:
        yield "the verdicts that lie here are not in the ledger"
