"""Tables of what went on in the debates: round by round, agent by agent, and what went wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cortexdsl.numbers import HARD, THIN, estimate, interval, number
from cortexdsl.records.links import Mark, Outcome, find_link
from cortexdsl.report.inputs.results import Results
from cortexdsl.report.tables.written.table import Column, Entry, Table, words

_TROUBLES: tuple[tuple[str, tuple[str, ...], Mark], ...] = (
    ("No reply", ("failures",), "failed"),
    ("Unreadable", ("unparsed_turns", "unparsed"), "unread"),
    ("No answer", ("unanswered",), "unanswered"),
    ("Tied vote", ("was_tied",), "tied"),
)
_TITLES: dict[Outcome, str] = {
    "cut": "Cut", "repetitive": "In a loop", "refused": "Refused", "empty": "Empty", "tool_calls": "Tool called",
    "other_language": "Other script", "unmeasured": "Unmeasured",
}  # fmt: skip
"""Columns that stand there where any cell has such replies."""


_NOTE = "Round 0 is the opening. The last round counts as the debate decided, so also where it only chose or judged."


def round_table(results: Results) -> Iterator[Table]:
    """Yield accuracy and consensus after each round, where any debate has rounds."""
    if len({row.round for row in results.rounds}) < 2:
        return
    heads = [Column("Cell", ("cell",), is_numeric=False)]
    heads += [Column("Dataset", ("dataset",), is_numeric=False, is_group=True)]
    heads += [Column("Round", ("round",))]
    heads += [Column(name.capitalize(), (name, f"{name}_low", f"{name}_high")) for name in ("accuracy", "consensus")]
    rows = [
        (
            words(row.cell), words(row.dataset), Entry(str(row.round), (row.round,)),
            _share(row.accuracy, row.accuracy_low, row.accuracy_high, find_link(
                results.experiment, dataset=row.dataset, cell=row.cell)),
            _share(row.consensus, row.consensus_low, row.consensus_high),
        )
        for row in results.rounds
    ]  # fmt: skip
    caption = f"After each round: accuracy of the vote and share of debates in consensus, with 95{THIN}% intervals."
    yield Table("rounds", caption, tuple(heads), tuple(rows), _NOTE)


def _share(value: float | None, low: float | None, high: float | None, link: str = "") -> Entry:
    return Entry(estimate(value, "share"), (value, low, high), more=interval(low, high, "share"), link=link)


def agent_table(results: Results) -> Iterator[Table]:
    """Yield what each agent did in each cell, where anybody looked."""
    if not results.debaters:
        return
    heads = [Column("Agent", ("agent",), is_numeric=False)]
    heads += [Column("Cell", ("cell",), is_numeric=False, is_group=True)]
    heads += [Column("Dataset", ("dataset",), is_numeric=False, is_group=True)]
    heads += [Column("Opening", ("opening_accuracy",)), Column("Last answer", ("last_accuracy",))]
    heads += [Column("Hears", ("hears",)), Column("Is heard", ("is_heard",)), Column("Conformity", ("conformity",))]
    heads += [Column("Influence", ("influence",))]
    heads += [Column("Input tokens", ("input_tokens",))]
    rows = []
    for row in sorted(results.debaters, key=lambda row: rank(results.cells, row.cell)):
        link = find_link(results.experiment, dataset=row.dataset, cell=row.cell, agent=row.agent)
        persuasive = find_link(results.experiment, dataset=row.dataset, cell=row.cell, sort="persuasive")
        rows.append((
            words(row.agent), words(row.cell), words(row.dataset),
            Entry(estimate(row.opening_accuracy, "share"), (row.opening_accuracy,)),
            Entry(estimate(row.last_accuracy, "share"), (row.last_accuracy,), link=link),
            *(Entry(number(value), (value,)) for value in (row.hears, row.is_heard)),
            Entry(estimate(row.conformity, "share"), (row.conformity,)),
            Entry(estimate(row.influence, "share"), (row.influence,), link=persuasive if row.influence else ""),
            Entry(number(row.input_tokens), (row.input_tokens,)),
        ))  # fmt: skip
    caption = "Each agent: accuracy of its opening and of its last answer, edges a debate, and how often it conforms."
    note = (
        "Hears and is heard: kept edges, over all rounds. Conformity: how often an agent that hears a majority against "
        "its own answer takes that majority's answer. Influence: of its answers that another heard and did not share, "
        "the share that was taken over; for right and wrong ones apart among the metrics."
    )
    yield Table("agents", caption, tuple(heads), tuple(rows), note)


def health_table(results: Results) -> Iterator[Table]:
    """Yield what went wrong in the debates of each cell, where scores are there."""
    if not results.health:
        return
    reasons = sorted({reason for row in results.health for reason in row.stops})
    heads = [Column("Cell", ("cell",), is_numeric=False), Column("Debates", ("debates",)), Column("Calls", ("calls",))]
    heads += [Column(title, names) for title, names, _ in _TROUBLES]
    kinds = [kind for kind in _TITLES if any(row.counts.get(kind) for row in results.health)]
    heads += [Column(_TITLES[kind], (kind,)) for kind in kinds]
    heads += [Column("Ended by", tuple(f"ended_by_{reason}" for reason in reasons), is_numeric=False)]
    rows = []
    for row in sorted(results.health, key=lambda row: rank(results.cells, row.cell)):
        entries = [Entry(number(row.debates, 1), (row.debates,)), Entry(number(row.calls, 1), (row.calls,))]
        for _, names, mark in _TROUBLES:
            counts = tuple(row.counts[name] for name in names)
            link = find_link(results.experiment, cell=row.cell, marks=(mark,)) if counts[0] else ""
            entries.append(Entry(number(counts[0], 1), counts, link=link))
        for kind in kinds:
            link = find_link(results.experiment, cell=row.cell, marks=(kind,)) if row.counts[kind] else ""
            entries.append(Entry(number(row.counts[kind], 1), (row.counts[kind],), link=link))
        stops = ", ".join(f"{reason}{HARD}{number(count, 1)}" for reason, count in row.stops.items())
        ended = Entry(stops, tuple(row.stops.get(reason, 0) for reason in reasons))
        rows.append((words(row.cell), *entries, ended))
    caption = (
        "Calls that brought no reply, turns that could not be read, debates without an answer or with a tied vote."
    )
    note = (
        "Nothing was dropped or guessed: an unreadable answer abstains from the vote, "
        "and a debate without an answer scores 0."
    )
    yield Table("health", caption, tuple(heads), tuple(rows), note)


def rank(cells: Sequence[str], cell: str) -> int:
    """Return a cell's place in the plan's order; what the plan does not name comes last."""
    return cells.index(cell) if cell in cells else len(cells)
