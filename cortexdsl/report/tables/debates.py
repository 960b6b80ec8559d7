"""Tables of what went on in the debates: rounds, agents, failures."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter

from cortexdsl.numbers import HARD, THIN, number
from cortexdsl.records.links import Mark, find_link
from cortexdsl.report.data import Health, ReportData
from cortexdsl.report.phrasing.failures import OUTCOMES
from cortexdsl.report.tables.table import (
    Field,
    Table,
    count,
    group,
    measure,
    numbers,
    share,
    tabulate,
    text,
    value,
    whole,
)

_TROUBLES: tuple[tuple[str, tuple[str, ...], Mark], ...] = (
    ("No reply", ("failures",), "failed"),
    ("Unreadable", ("unparsed_turns", "unparsed"), "unread"),
    ("No answer", ("unanswered",), "unanswered"),
    ("Tied vote", ("was_tied",), "tied"),
)
_RARE: tuple[tuple[str, str, Mark | None], ...] = (
    *((kind, title, kind) for kind, (title, _) in OUTCOMES.items()),
    ("tool_uses", "Tools used", None),
    ("failed_tool_uses", "Tools failed", None),
    ("rankings", "Rankings", None),
    ("partial_rankings", "Partial rankings", None),
)
"""Counts that have a column only if any debate has one: the name, the heading, and how its debates are found."""


def round_table(data: ReportData) -> Iterator[Table]:
    """Yield accuracy and consensus after each round, if any debate has rounds."""
    if len({row.round for row in data.rounds}) < 2:
        return
    fields = [
        text("Cell", "cell"),
        group("Dataset", "dataset"),
        value("Round", "round", str),
        measure("Accuracy", ("accuracy", "accuracy_low", "accuracy_high"), "share"),
        measure("Consensus", ("consensus", "consensus_low", "consensus_high"), "share"),
    ]
    yield tabulate(
        "rounds",
        f"After each round: accuracy of the vote and share of debates in consensus, with 95{THIN}% intervals.",
        fields,
        data.rounds,
        "Round 0 is the opening. The last round counts as the debate decided, so also where it only chose or judged.",
    )


def agent_table(data: ReportData) -> Iterator[Table]:
    """Yield what each agent did in each cell, if there is a table of agents."""
    if not data.agents:
        return
    fields = [
        text("Agent", "agent"),
        group("Cell", "cell"),
        group("Dataset", "dataset"),
        share("Opening", "opening_accuracy"),
        share("Last answer", "last_accuracy"),
        value("Hears", "hears", number),
        value("Is heard", "is_heard", number),
        share("Conformity", "conformity"),
        share("Influence", "influence"),
        value("Input tokens", "input_tokens", number),
    ]
    yield tabulate(
        "agents",
        "Each agent: accuracy of its opening and of its last answer, edges a debate, and how often it conforms.",
        fields,
        sorted(data.agents, key=lambda row: data.rank(row.cell)),
        "Hears, is heard: kept edges, over all rounds. Conformity: how often an agent takes the answer of a majority "
        "against its own. Influence: the share of its answers, heard and not shared, that was taken over.",
    )


def health_table(data: ReportData) -> Iterator[Table]:
    """Yield what went wrong in the debates of each cell, if there are scores."""
    if not data.health:
        return

    def counted(title: str, names: tuple[str, ...], mark: Mark | None = None) -> Field[Health]:
        def link(row: Health) -> str:
            return find_link(data.experiment, cell=row.cell, marks=(mark,)) if mark and row.counts[names[0]] else ""

        counts = itemgetter(*names)
        return numbers(
            title, names, lambda row: whole(row.counts[names[0]]), of=lambda row: counts(row.counts), link=link
        )

    reasons = sorted({reason for row in data.health for reason in row.stops})
    has_rankings = any(row.counts.get("rankings") for row in data.health)
    fields = [
        text("Cell", "cell"),
        count("Debates", "debates"),
        count("Calls", "calls"),
        *(counted(*trouble) for trouble in _TROUBLES),
        *(
            counted(title, (name,), mark)
            for name, title, mark in _RARE
            if any(row.counts.get(name) for row in data.health)
        ),
        numbers(
            "Ended by",
            tuple(f"ended_by_{reason}" for reason in reasons),
            lambda row: ", ".join(f"{reason}{HARD}{whole(times)}" for reason, times in row.stops.items()),
            of=lambda row: tuple(row.stops.get(reason, 0) for reason in reasons),
            is_numeric=False,
        ),
    ]
    yield tabulate(
        "health",
        "Calls that brought no reply, turns that could not be read, debates without an answer or with a tied vote.",
        fields,
        sorted(data.health, key=lambda row: data.rank(row.cell)),
        "Nothing was dropped or guessed: an unreadable answer abstains from the vote, and a debate without an answer "
        "scores 0."
        + (" The candidates that a partial ranking leaves out share the points that are left." * has_rankings),
    )
