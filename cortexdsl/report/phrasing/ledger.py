"""The ledger in sentences: what was declared, what changed, which verdicts each run gave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

from cortexdsl.core import EMPTY
from cortexdsl.numbers import counted
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.declaration import LEARNED, SEED, Declaration
from cortexdsl.plan.persistence.history import plan_changes, spec_changes
from cortexdsl.plan.persistence.journal import Journal, LedgerEntry, read_journal
from cortexdsl.plan.persistence.recording import ONLY_CLAIMS
from cortexdsl.plan.persistence.verification import versions_in_words
from cortexdsl.plan.record import PlanRecord

SEALED = ("scores.csv", "hypotheses.csv")
_UNCHANGED = "Nothing changed after the first call."


@dataclass(frozen=True, slots=True)
class History:
    """The ledger as a report says it.

    `said` are sentences: how claims were declared, what changed, the runs, faults of the ledger. A report begins with
    `notice` if it is not empty: the spec now differs from what was tested. Both are empty for tables without a ledger.
    """

    journal: Journal
    said: tuple[str, ...] = ()
    notice: str = ""

    @property
    def unchanged(self) -> str:
        """The only sentence that a reader needs if everything is as it was declared; else empty."""
        is_so = len(self.said) == 2 and self.said[-1] == _UNCHANGED
        return (
            "Claims and comparisons were declared before the first call, and have not changed since." if is_so else ""
        )


def read_history(folder: Path, plan: PlanRecord) -> History:
    """Read the ledger of a results folder, and compare it with the plan, the verdicts and the spec."""
    layout = Layout(folder.as_posix())
    journal = read_journal(layout)
    if not journal.is_kept:
        return History(journal)
    faults = [*journal.faults, *_unknown(journal, plan)]
    said = [*history_in_words(journal, faults)]
    if journal.runs and not set(SEALED) <= journal.files.keys():
        said.append("An earlier version wrote these tables and kept no digests of them: edits would not be noticed.")
    if versions := versions_in_words(journal):
        said.append(versions)
    return History(journal, tuple(said), _notice(journal, plan))


def _unknown(journal: Journal, plan: PlanRecord) -> Iterator[str]:
    """Yield a sentence if the ledger does not know the plan: entries at its end are then missing."""
    if journal.now is not None and (differs := plan_changes(journal.now, plan)):
        yield f"the plan here is not the last one in the ledger ({'; '.join(differs)})"


def _notice(journal: Journal, plan: PlanRecord) -> str:
    differs = spec_changes(journal, plan)
    if not differs:
        return ""
    return (
        "The spec, or something that it uses, has changed since these results were made "
        f"({changes_in_words(differs)}). This report is about the earlier spec. "
        f"To test the new one: cortexdsl run {plan.spec}"
    )


def history_in_words(journal: Journal, faults: Sequence[str]) -> Iterator[str]:
    """Yield sentences about a ledger; its faults come first."""
    for fault in faults:
        yield f"The record is broken: {fault}. Statements here about before and after are not reliable."
    before = journal.before
    if before is None:
        first = journal.entries[0].said[0] if journal.entries else "there is no ledger"
        yield f"Nothing is known to have been declared before the first call: {first}. Every verdict is exploratory."
    else:
        yield f"Before the first call: {declaration_in_words(before)}."
        if ONLY_CLAIMS in journal.declarations[0].said:
            yield f"Of this the claims alone are sure: {ONLY_CLAIMS}."
        late = [entry for entry in journal.declarations if entry.after_calls]
        for entry in late:
            yield f"After the first call: {change_of(entry, journal)}."
        if not late:
            yield _UNCHANGED
    yield from (f"{lost}." for lost in journal.lost_logs)
    yield from _runs(journal.runs)


def declaration_in_words(declaration: Declaration) -> str:
    """Say what a declaration fixes, but for its claims, cells and families."""
    return (
        f"{counted(len(declaration['claims']), 'claim')}, seed {declaration['seed']}, error "
        f"{declaration['alpha']:g}, correction {declaration['correction']}, {_sizes(declaration)}, "
        f"{counted(declaration['replicates'], 'replicate')}{_fits(declaration)}"
    )


def _fits(declaration: Declaration) -> str:
    """Say on how many other questions functions are fitted, with the digest of these questions."""
    return "".join(
        f", {name} fitted on {counted(fit['questions'], 'other question')} ({fit['questions_digest']})"
        for name, fit in declaration.get(LEARNED, EMPTY).items()
    )


def families_in_words(declaration: Declaration) -> list[str]:
    """Say the families of a declaration."""
    return [
        f"{name}: {', '.join(family['compare'])} against {family['to']} ({family['correction']})"
        for name, family in declaration.get("families", EMPTY).items()
    ]


def change_of(entry: LedgerEntry, journal: Journal) -> str:
    """Say what a declaration changed; another seed is a new run if there were results before it.

    A change that takes earlier ones back says so: nothing is then different from what was declared before.
    """
    earlier = journal.entries[: journal.entries.index(entry)]
    said = changes_in_words(entry.said, had_results=any(one.kind == "verdicts" for one in earlier))
    back = next((one for one in earlier if one.kind == "declared" and one.declaration == entry.declaration), None)
    if back is None:
        return said
    return f"{said}. This is again what was declared {'at ' + back.at if back.after_calls else 'before the first call'}"


def changes_in_words(changes: Sequence[str], *, had_results: bool = False) -> str:
    """Say changes of a declaration, as `cortexdsl.plan.persistence.declaration.changes` names them."""
    return "; ".join(_change(change, had_results) for change in changes)


def _change(change: str, had_results: bool) -> str:
    kind, _, values = change.partition(": ")
    if kind != SEED or not had_results:
        return change
    # Ledgers of earlier versions end such a change with ": a replication".
    return f"run again with seed {values.partition(', then ')[2].partition(':')[0]} after results existed"


def runs_in_words(journal: Journal, claim: str, verdict: str) -> str:
    """Say in how many runs a claim had its verdict, and which; empty for a claim that was judged once.

    The same verdict with the same seed counts once: it is of the same debates, and no replication.

    Examples
    --------
    `in 1 of 3 runs (with seed 5; undecided with seeds 3 and 4)`.
    """
    first = {(seed, found): (number, seed, found) for number, seed, found in reversed(journal.verdicts_on(claim))}
    judged = sorted(first.values(), key=itemgetter(0))
    if len(judged) < 2:
        return ""
    seeds = [seed for _, seed, _ in judged]
    by_seed = len(set(seeds)) == len(seeds)
    runs: dict[str, list[str]] = {verdict: []}
    for number, seed, found in judged:
        runs.setdefault(found, []).append(str(seed if by_seed else number))
    word, link = ("seed", "with") if by_seed else ("run", "in")
    named = {found: f"{link} {word}{'s' * (len(some) > 1)} {_joined(some)}" for found, some in runs.items() if some}
    count = len(runs[verdict])
    if count == len(judged):
        return f"in all {count} runs ({named[verdict]})"
    others = "; ".join(f"{found} {which}" for found, which in named.items() if found != verdict)
    return f"in {count} of {len(judged)} runs ({'; '.join(filter(None, [named.get(verdict, ''), others]))})"


def _sizes(declaration: Declaration) -> str:
    return ", ".join(
        f"{counted(one['questions'], 'question')} of {label}" for label, one in declaration["datasets"].items()
    )


def _joined(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def _runs(runs: tuple[LedgerEntry, ...]) -> Iterator[str]:
    if len(runs) < 2:  # the report has its verdicts
        return
    seeds = list(dict.fromkeys(run.seed for run in runs))
    yield f"Verdicts were given {len(runs)} times, with seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}:"
    for number, run in enumerate(runs, 1):
        found = Counter(str(line.get("verdict")) for line in run.verdicts)
        verdicts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(found.items())) or "no claims"
        yield f"{number}. seed {run.seed}: {'; '.join(run.said)} ({verdicts})."
