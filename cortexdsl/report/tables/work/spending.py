"""What a run cost and how long it took: the report's table and sentence, from the tallies of the jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cortexdsl.numbers import NOTHING, counted, number
from cortexdsl.plan.parts.layout import Layout
from cortexdsl.records.served import settled
from cortexdsl.records.tallies import Spending, Tallies, Tally, total_of
from cortexdsl.report.inputs.debated import Debated, read_debated
from cortexdsl.report.tables.work.serving import savings_table, servers_said, servers_table
from cortexdsl.report.tables.written.table import Column, Entry, Table, words
from cortexdsl.watch.words import duration

NAME = "spent"
SHARED = "shared"
_DOLLARS = -2  # the column of a row
_COUNTS = (
    ("Calls", "asked"), ("Shared", "shared"), ("Failed", "failed"), ("Retried", "retried"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Spent:
    """What an experiment's jobs say they did.

    Attributes
    ----------
    table : Table
        Calls, tokens, dollars and time of every cell.
    sentence : str
        Of them all.
    attempts : Table or None
        What attempts failed of, by cell and kind, where any did.
    brief : str
        Calls, dollars and time in a few words, for the head of a page.
    servers : Table or None
        What model servers did, where the spec declares any.
    served : tuple of str
        The same in sentences.
    savings : Table or None
        Calls and prompts that were not sent, or not worked out again.
    """

    table: Table
    sentence: str
    attempts: Table | None
    brief: str
    servers: Table | None = None
    served: tuple[str, ...] = ()
    savings: Table | None = None

    @property
    def tables(self) -> tuple[Table, ...]:
        """Those that there are, in the order of the page."""
        return tuple(t for t in (self.table, self.attempts, self.savings, self.servers) if t is not None)


def spent(folder: Path, plan: Mapping[str, Any]) -> Spent | None:
    """Return what a run cost; None where its jobs left no tallies.

    Parameters
    ----------
    folder : Path
        `results/<experiment>`.
    plan : mapping
        Of plan.json.
    """
    tallies = Tallies(Path(Layout(str(folder)).ledgers)).read()
    if not tallies:
        return None
    names = {str(cell["slug"]): str(cell["cell"]) for cell in plan.get("cells", ())}
    cells = frozenset(names)
    for training in plan.get("trainings") or ():
        names |= {str(phase["slug"]): f"{training['training']} {phase['phase']}" for phase in training["phases"]}
    groups: dict[str, list[Tally]] = {name: [] for name in names.values()}
    for tally in tallies:
        groups.setdefault(names.get(tally.cell or "", "other jobs"), []).append(tally)
    debated = read_debated(folder)
    by_cell = {name: _shared(total_of(own), debated.get(name)) for name, own in groups.items() if own}
    total = total_of(tallies)
    total = replace(total, calls={**total.calls, "shared": sum(own.calls.get("shared", 0) for own in by_cell.values())})
    has_cached = total.cached_tokens > 0
    rows = [_row(name, own, has_cached=has_cached) for name, own in by_cell.items()]
    rows += [_row("all", total, has_cached=has_cached)] if len(rows) > 1 else []
    heads = [Column("Cell", ("cell",), is_numeric=False), *(Column(title, (name,)) for title, name in _COUNTS)]
    heads += [Column("Tokens in", ("input_tokens",)), Column("Tokens out", ("output_tokens",))]
    heads += [Column("Cached", ("cached_tokens",))] if has_cached else []
    heads += [Column("Dollars", ("dollars",)), Column("Job time", ("seconds",))]
    note = (
        "Calls that were sent to a model, over all runs; a shared call of the debates had been sent by another job. "
        "Failed calls are data, retried attempts were made again. Job time adds up jobs that ran at once. "
        "Other jobs: a judge, a knowledge pool, cells of earlier plans."
    )
    if any(row[_DOLLARS].text == SHARED for row in rows):
        note += " Shared, of dollars: other cells asked, and paid for, all the calls of this one."
    if has_cached:
        note += " Cached: tokens of prompts that providers read from their caches, which cost less."
    table = Table(NAME, "What the run asked, and what that cost.", tuple(heads), tuple(rows), note)
    attempts = _attempts(by_cell)
    starts = settled(folder)
    everything = Debated()
    for name in names.values():
        everything = everything.plus(debated.get(name, Debated()))
    sent = total_of(tally for tally in tallies if tally.cell in cells)
    return Spent(
        table,
        _sentence(total, tallies),
        attempts,
        _brief(total, tallies),
        servers_table(starts),
        tuple(servers_said(starts)),
        savings_table(everything, sent, starts),
    )


def _shared(own: Spending, debated: Debated | None) -> Spending:
    """Return what a cell's jobs did, with the calls of its debates that others had sent.

    A job sees as shared what another asks at the same moment; what was asked before stands in a log, as its own does.
    """
    if debated is None:
        return own
    return replace(own, calls={**own.calls, "shared": max(0, debated.calls - own.calls.get("asked", 0))})


def _attempts(groups: Mapping[str, Spending]) -> Table | None:
    """Return what attempts failed of, by cell and kind; None where none failed."""
    rows = tuple(
        (words(name), words(kind.replace("_", " ")), *(Entry(number(n, 1), (n,)) for n in (again, lost)))
        for name, own in groups.items()
        for kind in sorted({*own.retries, *own.failures})
        if (again := own.retries.get(kind, 0)) + (lost := own.failures.get(kind, 0))
    )
    if not rows:
        return None
    heads = [Column(title, (title.lower(),), is_numeric=False) for title in ("Cell", "Kind")]
    heads += [Column("Tried again", ("retried",)), Column("Failed for good", ("failed",))]
    note = "Every attempt that brought no reply, over all runs: it was made again, or its call counts as failed."
    return Table("attempts", "What attempts failed of.", tuple(heads), rows, note)


def _row(name: str, own: Spending, *, has_cached: bool) -> tuple[Entry, ...]:
    counts = [own.calls.get(key, 0) for _, key in _COUNTS]
    counts += [own.input_tokens, own.output_tokens, *([own.cached_tokens] if has_cached else [])]
    entries = [Entry(number(count, 1), (count,)) for count in counts]
    seconds = Entry(duration(own.seconds), (round(own.seconds, 1),))
    return (words(name), *entries, _dollars(own), seconds)


def _dollars(own: Spending) -> Entry:
    """Return what was paid: nothing is not a price where other cells have paid, or no price is known."""
    if own.calls.get("shared") and not own.calls.get("asked"):
        return Entry(SHARED, (0.0,))
    if not own.is_priced and not own.dollars:
        return Entry(NOTHING, (None,))
    return Entry(f"{own.dollars:,.2f}{'' if own.is_priced else ' +'}", (own.dollars,))


def _elapsed(tallies: Sequence[Tally]) -> str:
    return duration(max(tally.updated for tally in tallies) - min(tally.began for tally in tallies))


def _brief(total: Spending, tallies: Sequence[Tally]) -> str:
    dollars = f"{total.dollars:,.2f} dollars, " if total.dollars else ""
    return f"{counted(total.calls.get('asked', 0), 'call')}, {dollars}{_elapsed(tallies)}"


def _sentence(total: Spending, tallies: Sequence[Tally]) -> str:
    asked = total.calls.get("asked", 0)
    parts = [
        f"{counted(asked, 'call was', 'calls were')} sent"
        f" ({number(total.input_tokens, 1)} tokens in, {number(total.output_tokens, 1)} out)"
    ]
    if total.dollars:
        parts.append(f"for {total.dollars:,.2f} dollars" + ("" if total.is_priced else " and what had no price"))
    said = " ".join(parts) + f", from the first to the last in {_elapsed(tallies)}."
    if shared := total.calls.get("shared", 0):
        share = 100 * shared / (shared + asked)
        said += f" {counted(shared, 'call')} more ({number(share, 2)} %) cost nothing: another cell had asked the same."
    for verb, counts in (("failed for good", total.failures), ("were tried again", total.retries)):
        if sum(counts.values()):
            kinds = ", ".join(f"{kind.replace('_', ' ')} {n:,}" for kind, n in sorted(counts.items()) if n)
            said += f" {counted(sum(counts.values()), 'attempt')} {verb} ({kinds})."
    return said
