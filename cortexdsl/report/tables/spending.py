"""Tables and sentences on cost, time and seeds of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cortexdsl.core import by_key
from cortexdsl.display.wording import duration
from cortexdsl.models.endpoints.refusals import Refusals
from cortexdsl.numbers import NOTHING, counted, in_dollars, number, percent
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.record import PlanRecord
from cortexdsl.records.tallies import JobTally, TallySum, total_of
from cortexdsl.report.data import ScoreRow
from cortexdsl.report.tables.table import Field, Table, TableEntry, column, count, tabulate, text, value

SHARED = "shared"


@dataclass(frozen=True, slots=True)
class RunCost:
    """The table and sentences on what an experiment's jobs did.

    `seeds` says which models keep seeds.
    """

    table: Table
    sentence: str
    seeds: tuple[str, ...] = ()


def run_cost(
    folder: Path, plan: PlanRecord, tallies: Sequence[JobTally], scores: Iterable[ScoreRow] = ()
) -> RunCost | None:
    """Return what a run cost, from the tallies of its jobs and the scores of its debates; None without tallies."""
    if not tallies:
        return None
    names = {cell.slug: cell.name for cell in plan.cells}
    for training in plan.trainings:
        names |= {phase.slug: f"{training.name} {phase.label}" for phase in training.phases}
    fits = by_key((each.label, each.name) for each in plan.learned)
    groups: dict[str, list[JobTally]] = {name: [] for name in names.values()}
    for tally in tallies:
        name = names.get(tally.cell or "", "other jobs")
        if (fitted := fits.get(tally.dataset or "")) is not None:
            name = f"{name}, to fit {' and '.join(fitted)}"
        groups.setdefault(name, []).append(tally)
    used = Counter[str]()
    for row in scores:
        used[row.cell] += row.calls
    by_cell = {name: _with_shared(total_of(own), used.get(name)) for name, own in groups.items() if own}
    total = total_of(tallies)
    total = replace(total, calls={**total.calls, "shared": sum(own.calls.get("shared", 0) for own in by_cell.values())})
    return RunCost(
        _spending_table(by_cell, total),
        _sentence(total, tallies),
        tuple(_seedless(folder)),
    )


def _with_shared(own: TallySum, used: int | None) -> TallySum:
    """Return what a cell's jobs did, with the calls of its debates that others had sent.

    A job counts as shared what another asks at the same moment; replies of earlier calls come from a log.
    """
    if used is None:
        return own
    return replace(own, calls={**own.calls, "shared": max(0, used - own.calls.get("asked", 0))})


def _spending_table(by_cell: Mapping[str, TallySum], total: TallySum) -> Table:
    def calls(title: str, name: str) -> Field[tuple[str, TallySum]]:
        return count(title, name, lambda row: row[1].calls.get(name, 0))

    def tokens(title: str, name: str) -> Field[tuple[str, TallySum]]:
        return count(title, name, lambda row: getattr(row[1].usage, name))

    rows = [*by_cell.items(), *([("all", total)] if len(by_cell) > 1 else [])]
    fields = [
        text("Cell", "cell", lambda row: row[0]),
        calls("Calls", "asked"),
        calls("Shared", "shared"),
        calls("Failed", "failed"),
        calls("Retried", "retried"),
        tokens("Tokens in", "input_tokens"),
        tokens("Tokens out", "output_tokens"),
        *([tokens("Cached", "cached_tokens")] if total.usage.cached_tokens > 0 else []),
        column("Dollars", "dollars", lambda row: _dollars(row[1])),
        *([value("Saved", "saved", "{:,.2f}".format, of=lambda row: row[1].usage.saved)] if total.usage.saved else []),
        value("Job time", "seconds", duration, of=lambda row: round(row[1].usage.seconds, 1)),
    ]
    note = (
        "Calls of all runs; another job had sent the shared ones. Job time adds up jobs that ran at once. Other jobs: "
        "a judge, a knowledge pool, cells of earlier plans."
    )
    if any(_dollars(own).text == SHARED for _, own in rows):
        note += " Shared, of dollars: other cells asked, and paid for, all the calls of this one."
    if total.usage.cached_tokens > 0:
        note += " Cached: tokens of prompts that providers read from their caches, which cost less."
    if total.usage.saved:
        note += " Saved: what the caches saved, in dollars, after what writing into them cost."
    return tabulate("spent", "What the run asked, and what that cost.", fields, rows, note)


def _dollars(own: TallySum) -> TableEntry:
    """Return what was paid: nothing is not a price if other cells have paid, or no price is known."""
    if own.calls.get("shared") and not own.calls.get("asked"):
        return TableEntry(SHARED, (0.0,))
    if not own.usage.is_priced and not own.usage.dollars:
        return TableEntry(NOTHING, (None,))
    return TableEntry(f"{in_dollars(own.usage.dollars)}{'' if own.usage.is_priced else ' +'}", (own.usage.dollars,))


def _elapsed(tallies: Sequence[JobTally]) -> str:
    """Return the time in which jobs ran: idle time between two runs, or while a run was stopped, is not in it.

    A tally knows when its job was last active and how long it worked in all, so that its work counts as one stretch
    before that moment.
    """
    total, end = 0.0, float("-inf")
    for begin, updated in sorted((max(one.began, one.updated - one.usage.seconds), one.updated) for one in tallies):
        total += max(0.0, updated - max(begin, end))
        end = max(end, updated)
    return duration(total)


def _sentence(total: TallySum, tallies: Sequence[JobTally]) -> str:
    asked = total.calls.get("asked", 0)
    parts = [
        f"{counted(asked, 'call was', 'calls were')} sent"
        f" ({number(total.usage.input_tokens, 1)} tokens in, {number(total.usage.output_tokens, 1)} out)"
    ]
    if total.usage.dollars:
        unknown = "" if total.usage.is_priced else " and what had no price"
        parts.append(f"for {in_dollars(total.usage.dollars)} dollars{unknown}")
    said = f"{' '.join(parts)}, in {_elapsed(tallies)}."
    if shared := total.calls.get("shared", 0):
        share = percent(shared / (shared + asked))
        calls = counted(shared, f"further call ({share}) was", f"further calls ({share}) were")
        said += f" {calls} shared between cells and cost nothing."
    for verb, counts in (("failed for good", total.failures), ("were tried again", total.retries)):
        if sum(counts.values()):
            kinds = ", ".join(f"{kind.replace('_', ' ')} {n:,}" for kind, n in sorted(counts.items()) if n)
            said += f" {counted(sum(counts.values()), 'attempt')} {verb} ({kinds})."
    return said


def _seedless(folder: Path) -> Iterator[str]:
    """Yield a sentence about each model whose provider refused the seeds of its calls."""
    for model in Refusals(Path(Layout(folder.as_posix()).spent)).without_seed():
        yield f"{model} takes no seed: its replies were drawn without one, and the same call may bring another reply."
