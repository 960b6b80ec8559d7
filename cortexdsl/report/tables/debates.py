"""Tables of what went on in the debates: rounds, agents, persuasion, confidences, judgements, failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import itemgetter
from pathlib import Path

from cortexdsl.core.metrics import RANKING_METRICS, TOOL_METRICS
from cortexdsl.metrics.rows import AgentRow, CalibrationRow, PersuasionRow
from cortexdsl.numbers import HARD, NOTHING, THIN, estimate, number
from cortexdsl.plan.layout import Layout
from cortexdsl.records.links import Mark, find_link
from cortexdsl.report.csv_rows import read_frame
from cortexdsl.report.data import Health, ReportData
from cortexdsl.report.phrasing.failures import OUTCOMES
from cortexdsl.report.tables.table import (
    Field,
    Table,
    TableEntry,
    column,
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

PERSUASION, CALIBRATION = "persuasion", "calibration"
MOST = 200
"""Rows of the table of persuasion. If there are more, the points of grids are in the file alone."""

_TROUBLES: tuple[tuple[str, tuple[str, ...], Mark], ...] = (
    ("No reply", ("failures",), "failed"),
    ("Unreadable", ("unparsed_turns", "unparsed"), "unread"),
    ("No answer", ("unanswered",), "unanswered"),
    ("Tied vote", ("was_tied",), "tied"),
)


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

    def persuasive(row: AgentRow) -> str:
        return (
            find_link(data.experiment, dataset=row.dataset, cell=row.cell, sort="persuasive") if row.influence else ""
        )

    fields = [
        text("Agent", "agent"),
        group("Cell", "cell"),
        group("Dataset", "dataset"),
        share("Opening", "opening_accuracy"),
        share("Last answer", "last_accuracy"),
        value("Hears", "hears", number),
        value("Is heard", "is_heard", number),
        share("Conformity", "conformity"),
        share("Influence", "influence", persuasive),
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


def persuasion_table(folder: Path, data: ReportData) -> Table | None:
    """Return how often each listener adopted each speaker's answers; None if no one heard an answer not its own."""
    rows = list(read_frame(Path(Layout(str(folder)).table(PERSUASION)), PersuasionRow))
    if not rows:
        return None
    note = "Right ones: the answer heard was right, and the listener's own was wrong; wrong ones: the opposite."
    if len(rows) > MOST:
        grid = {cell.name for cell in data.plan.cells if cell.axes}
        shown = [row for row in rows if row.cell not in grid]
        if 0 < len(shown) < len(rows):
            rows, note = shown, f"{note} The points of grids stand in {PERSUASION}.csv alone."

    def link(row: PersuasionRow) -> str:
        return find_link(data.experiment, dataset=row.dataset, cell=row.cell, agent=row.speaker, sort="persuasive")

    fields = [
        text("Speaker", "speaker"),
        group("Cell", "cell"),
        group("Dataset", "dataset"),
        text("Listener", "listener"),
        _adopted("Taken over", "adopted", "faced", link),
        _adopted("Right ones", "right_adopted", "right_faced"),
        _adopted("Wrong ones", "wrong_adopted", "wrong_faced"),
    ]
    rows.sort(key=lambda row: (data.rank(row.cell), row.dataset, -row.adopted))
    caption = "Who persuaded whom: answers heard that were not one's own, and the share of them that was taken over."
    return tabulate(PERSUASION, caption, fields, rows, note)


def _adopted(
    title: str, adopted: str, faced: str, link: Callable[[PersuasionRow], str] | None = None
) -> Field[PersuasionRow]:
    def entry(row: PersuasionRow) -> TableEntry:
        some, times = getattr(row, adopted), getattr(row, faced)
        shown, more = (estimate(some / times, "share"), f"{whole(some)} of {whole(times)}") if times else (NOTHING, "")
        return TableEntry(shown, (some, times), more=more, link=link(row) if link and some else "")

    return column(title, (adopted, faced), entry)


def calibration_table(folder: Path, data: ReportData) -> Table | None:
    """Return the calibration of each cell's confidences, by source; None if there are no confidences."""
    rows = [row for row in read_frame(Path(Layout(str(folder)).table(CALIBRATION)), CalibrationRow) if row.stated]
    if not rows:
        return None
    fields = [
        text("Cell", "cell"),
        group("Dataset", "dataset"),
        text("Confidence", "confidence"),
        numbers("Answers with one", ("stated", "answers"), lambda row: f"{whole(row.stated)} of {whole(row.answers)}"),
        share("Mean", "mean_confidence"),
        share("Right", "accuracy"),
        value("Brier score", "brier", number),
        value("ECE", "ece", number),
    ]
    return tabulate(
        CALIBRATION,
        "How sure agents were and how often they were right, over all answers: by where the confidence came from.",
        fields,
        sorted(rows, key=lambda row: data.rank(row.cell)),
        "Stated: what the reply says. Logprob, consistency, verifier: what the method measured. Recalibrated: what the "
        "debate used. Brier score and ECE (calibration error): lower is better.",
    )


def _counts(row: Health, names: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(row.counts.get(name, 0) for name in names)


def _used(row: Health) -> str:
    """Return how often agents used tools, and how many of these uses had no result."""
    uses, failed = _counts(row, TOOL_METRICS)
    return f"{whole(uses)} ({whole(failed)} failed)" if failed else whole(uses)


def _partial(row: Health) -> str:
    """Return how many rankings leave out candidates, of those that could be read."""
    partial, ballots = _counts(row, RANKING_METRICS)
    return f"{whole(partial)} of {whole(ballots)}" if ballots else NOTHING


def health_table(data: ReportData) -> Iterator[Table]:
    """Yield what went wrong in the debates of each cell, if there are scores."""
    if not data.health:
        return

    def troubles(title: str, names: tuple[str, ...], mark: Mark) -> Field[Health]:
        def link(row: Health) -> str:
            return find_link(data.experiment, cell=row.cell, marks=(mark,)) if row.counts[names[0]] else ""

        counts = itemgetter(*names)
        return numbers(
            title, names, lambda row: whole(row.counts[names[0]]), of=lambda row: counts(row.counts), link=link
        )

    reasons = sorted({reason for row in data.health for reason in row.stops})

    kinds = [kind for kind in OUTCOMES if any(row.counts.get(kind) for row in data.health)]
    used, ranked = (any(row.counts.get(name) for row in data.health) for name in ("tool_uses", "rankings"))
    fields = [
        text("Cell", "cell"),
        count("Debates", "debates"),
        count("Calls", "calls"),
        *([numbers("Tools used", TOOL_METRICS, _used, of=lambda row: _counts(row, TOOL_METRICS))] if used else []),
        *(troubles(*trouble) for trouble in _TROUBLES),
        *(
            [numbers("Partial rankings", RANKING_METRICS, _partial, of=lambda row: _counts(row, RANKING_METRICS))]
            if ranked
            else []
        ),
        *(troubles(OUTCOMES[kind][0], (kind,), kind) for kind in kinds),
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
        + (" The candidates that a partial ranking leaves out share the points that are left." if ranked else ""),
    )
