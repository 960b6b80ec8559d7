"""What model servers did: the report's table and sentences, and where the tokens of prompts went."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from cortexdsl.numbers import NOTHING, number
from cortexdsl.records.served import COUNTS, Served
from cortexdsl.records.tallies import Spending
from cortexdsl.report.inputs.debated import Debated
from cortexdsl.report.tables.written.table import Column, Entry, Table, words
from cortexdsl.watch.words import duration

SEEDS = {"honoured": "kept", "ignored": "not kept", "refused": "none taken"}
_NO_SEEDS = {
    "ignored": "gave two replies to one seed",
    "refused": "takes no seed",
}


def servers_table(starts: Sequence[Served]) -> Table | None:
    """Return what each server did, over all its starts; None where there is none."""
    if not starts:
        return None
    rows = tuple(_row(own) for own in _by_server(starts).values())
    heads = [Column(title, (title.lower(),), is_numeric=False) for title in ("Server", "Program", "Seeds")]
    heads += [Column("Up after", ("seconds_to_start",)), Column("Requests", ("requests",))]
    heads += [Column("Tokens in", ("prompt_tokens",)), Column("Prefix cache", ("cached_tokens",))]
    heads += [Column("Tokens out", ("completion_tokens",)), Column("Busy", ("busy_seconds",))]
    heads += [Column("Out a second", ("completion_tokens_a_second",)), Column("At once", ("in_work",))]
    note = (
        "As the servers counted while the run asked them. Prefix cache: prompt tokens that an earlier prompt had begun "
        "with, and that were not worked out again. Busy: the time in which something was in work, looked at once "
        "a second; at once: requests in work meanwhile, in the mean. Seeds: whether one seed, asked twice with nothing "
        "else in work, gave one reply."
    )
    if not all(one.is_own for one in starts):
        note += " A server that ran elsewhere may have worked for others meanwhile."
    return Table("servers", "What the model servers did.", tuple(heads), rows, note)


def servers_said(starts: Sequence[Served]) -> list[str]:
    """Return a sentence on each server's work, and one on each that does not keep seeds."""
    said = []
    for name, own in _by_server(starts).items():
        programs = _programs(own)
        total, busy = _total(own), sum(one.busy for one in own)
        parts = [f"The server {name}{f' ({programs})' if programs else ''} answered after {duration(own[-1].seconds)}"]
        written = total["completion_tokens"]
        if written and busy:
            parts.append(f"and wrote {number(written / busy, 1)} tokens a second while it had something to do")
        if (share := _cached(total)) is not None:
            parts.append(f"{number(100 * share, 1)} % of its prompt tokens came from its prefix cache")
        said.append(f"{'; '.join([' '.join(parts[:2]), *parts[2:]])}.")
        losing = {entry: _NO_SEEDS[seed] for entry, seed in own[-1].seeds.items() if seed in _NO_SEEDS}
        if losing:
            which = ", ".join(f"{entry} {what}" for entry, what in losing.items())
            said.append(
                f"The server {name} does not keep seeds ({which}): a run that asks again gets other replies. This one "
                "is repeated exactly from its call logs, and not from the models."
            )
    return said


def savings_table(debated: Debated, sent: Spending, starts: Sequence[Served]) -> Table | None:
    """Return where the tokens of prompts went: read in debates, asked once for several cells, found by servers.

    Parameters
    ----------
    debated : Debated
        What all debates are made of.
    sent : Spending
        What their jobs have sent.
    starts : sequence of Served

    Returns
    -------
    Table or None
        None where nothing was saved, or there are no scores.
    """
    calls, tokens = debated
    asked, cached = sent.calls.get("asked", 0), sum(one.counts["cached_tokens"] or 0 for one in starts)
    rows: list[tuple[str, int | None, int | None]] = [("Read by models in the debates", calls, tokens)]
    if asked < calls:
        spared = None if tokens is None else max(0, tokens - sent.input_tokens)
        rows.append(("Asked once for several cells", calls - asked, spared))
    if cached and calls:
        rows.append(("Found in a server's prefix cache", None, cached))
    if len(rows) == 1:
        return None
    heads = (
        Column("Prompts", ("prompts",), is_numeric=False), Column("Calls", ("calls",)),
        Column("Tokens", ("tokens",)), Column("Share of tokens", ("share_of_tokens",)),
    )  # fmt: skip
    note = (
        "Cells that begin alike ask the same, and a call is sent once: the reply is every cell's. Prompts that begin "
        "alike are worked out once by a server with a prefix cache. Both change what a run costs, and no reply."
    )
    lines = tuple(_saving(*row, tokens) for row in rows)
    return Table("savings", "What of the prompts was not sent, or not worked out again.", heads, lines, note)


def _saving(name: str, calls: int | None, tokens: int | None, all_tokens: int | None) -> tuple[Entry, ...]:
    share = tokens / all_tokens if tokens is not None and all_tokens else None
    shown = NOTHING if share is None else f"{number(100 * share, 1)} %"
    return (words(name), _entry(calls), _entry(tokens), Entry(shown, (share,)))


def _by_server(starts: Iterable[Served]) -> dict[str, list[Served]]:
    found: dict[str, list[Served]] = {}
    for one in starts:
        found.setdefault(one.server, []).append(one)
    return found


def _total(own: Sequence[Served]) -> dict[str, int | None]:
    """Return the counts of all starts together; None where no start has a count."""
    sums: dict[str, int | None] = {}
    for name in COUNTS:
        values = [value for one in own if (value := one.counts[name]) is not None]
        sums[name] = sum(values) if values else None
    return sums


def _cached(total: Mapping[str, int | None]) -> float | None:
    looked, found = total["looked_up_tokens"], total["cached_tokens"]
    return found / looked if looked and found is not None else None


def _row(own: Sequence[Served]) -> tuple[Entry, ...]:
    total, last = _total(own), own[-1]
    busy = sum(one.busy for one in own)
    rate = total["completion_tokens"] / busy if total["completion_tokens"] and busy else None
    measured = [(one.in_work, one.busy) for one in own if one.in_work is not None and one.busy]
    mean = sum(each * time for each, time in measured) / sum(time for _, time in measured) if measured else None
    share, cached = _cached(total), _entry(total["cached_tokens"])
    return (
        words(last.server),
        words(_programs(own) or NOTHING),
        words(", ".join(_seeds(last)) or NOTHING),
        Entry(duration(last.seconds), (last.seconds,)),
        _entry(total["requests"]),
        _entry(total["prompt_tokens"]),
        cached if share is None else Entry(cached.text, cached.values, more=f"({number(100 * share, 1)} %)"),
        _entry(total["completion_tokens"]),
        Entry(duration(busy) if busy else NOTHING, (round(busy, 1) if busy else None,)),
        Entry(NOTHING if rate is None else number(rate, 1), (rate,)),
        Entry(NOTHING, (None,))
        if mean is None
        else Entry(f"{mean:.1f}", (mean,), more=f"(at most {max(one.peak for one in own)})"),
    )


def _seeds(one: Served) -> Iterator[str]:
    """Yield what is known of seeds: once where all models are alike."""
    said = {entry: SEEDS.get(seed, "unclear") for entry, seed in one.seeds.items()}
    if len(set(said.values())) <= 1:
        yield from set(said.values())
    else:
        yield from (f"{entry} {what}" for entry, what in said.items())


def _programs(own: Sequence[Served]) -> str:
    return ", ".join(dict.fromkeys(one.engine for one in own if one.engine))


def _entry(count: int | None) -> Entry:
    return Entry(NOTHING if count is None else number(count, 1), (count,))
