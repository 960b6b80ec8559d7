"""A run that stopped before its end: what is done, why it stopped, what was not done, what it cost."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from cortexdsl.display.expected import expected_of
from cortexdsl.display.progress import CellProgress, RunProgress, WatchedRun
from cortexdsl.display.wording import has_many_datasets, name_of
from cortexdsl.errors import CortexError
from cortexdsl.files import write_text
from cortexdsl.models.job_tally import FROM_OUTSIDE
from cortexdsl.numbers import counted
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.run_record import EarlyEnd, early_end
from cortexdsl.plan.record import PlanRecord, read_plan
from cortexdsl.records.tallies import JobTally, Tallies
from cortexdsl.report.data import read_scores
from cortexdsl.report.phrasing import provenance
from cortexdsl.report.tables.spending import RunCost, run_cost
from cortexdsl.report.tables.table import Table, tabulate, text, value
from cortexdsl.report.templates import style, template
from cortexdsl.text_layout import wrapped

ENDED = ("failed", "stopped", "silent")
MOST = 5  # cells named in a sentence


@dataclass(frozen=True, slots=True)
class Unfinished:
    """An experiment that is not finished and has no running job.

    `sentence` says how much is done, why it stopped and what is missing; `cells` are (name, done, total).
    """

    sentence: str
    cells: tuple[tuple[str, int, int], ...]


def read_unfinished(folder: Path, plan: PlanRecord, tallies: Collection[JobTally]) -> Unfinished | None:
    """Return what a run has left undone; None if everything is done, a run is at work, or no run left a trace."""
    end = early_end(Layout(folder.as_posix()))
    if end and "plan.json" in end.unmade:  # the plan that is there is of an earlier spec
        return Unfinished(f"Not finished: {end.why}. {end.kept()}".rstrip(), ())
    if not plan.shards or not (tallies or end):
        return None
    # Earlier versions could end each cell by itself; what its looks left out is not missing.
    if end is None and plan.stopping and plan.stopping.rule == "racing" and (folder / "metrics.csv").exists():
        return None
    shown = WatchedRun(expected_of(plan, root=folder.as_posix())).look()
    if end is None and (shown.running or shown.all.done >= shown.all.total):
        return None
    many = has_many_datasets(shown)
    left = tuple((name_of(row, many_datasets=many), row.done, row.total) for row in shown.rows if row.done < row.total)
    return Unfinished(_sentence(shown, left, end), left)


@dataclass(frozen=True, slots=True)
class StoppedRun:
    """A run that stopped before its tables were made."""

    folder: Path
    plan: PlanRecord
    tallies: tuple[JobTally, ...]
    unfinished: Unfinished
    end: EarlyEnd | None = None

    @property
    def lacks_only_report(self) -> bool:
        """Whether every table is complete."""
        return self.end is not None and self.end.stage == "drawing"

    def cost(self) -> RunCost | None:
        """Return what it cost so far."""
        return run_cost(self.folder, self.plan, self.tallies, read_scores(self.folder))


def left_line(unfinished: Unfinished | None) -> str:
    """Return how a report of older tables must begin, or nothing if everything is done."""
    return f"{unfinished.sentence} What follows is of the tables of an earlier run." if unfinished else ""


def _sentence(shown: RunProgress, left: tuple[tuple[str, int, int], ...], end: EarlyEnd | None) -> str:
    done = f"Not finished: {shown.all.done:,} of {counted(shown.all.total, 'debate')} are done."
    messages = [message for message in shown.messages if not (end and message == FROM_OUTSIDE)]
    why = [*([end.why] if end else []), *map(_in_sentences, messages)] or [_state(shown.rows)]
    reasons = ". ".join(why[:2] if end else why[:1])
    hidden = len(messages) - 1 if messages else 0
    named = ", ".join(f"{name} {total - done:,} of {total:,}" for name, done, total in left[:MOST])
    more = f" and {len(left) - MOST} more cells" if len(left) > MOST else ""
    cells = [f"Not done: {named}{more}."] if left else []
    kept = [end.kept()] if end and end.kept() else []
    return " ".join([done, f"{reasons}{_others(hidden, shown.experiment)}.", *cells, *kept])


def _in_sentences(message: str) -> str:
    """Return what is wrong, and the remedy below it, as sentences of one line; the last has no full stop."""
    parts = (" ".join(part.split()).rstrip(".") for part in message.partition("\n")[::2])
    return ". ".join(part[:1].upper() + part[1:] for part in parts if part)


def _state(rows: tuple[CellProgress, ...]) -> str:
    return "Jobs ended without a message" if any(row.state in ENDED for row in rows) else "The rest was not begun"


def _others(number: int, experiment: str) -> str:
    return f" (and {counted(number, 'other message')}: cortexdsl status {experiment})" if number else ""


def last_words(experiment: str) -> str:
    """Return what a run that did not finish says of an experiment at its end; nothing if all its debates are done.

    Writes `stopped.html` if there is no report of an earlier run that says the same.
    """
    folder = Path(Layout(f"results/{experiment}").root)
    try:
        stopped = stopped_run(folder)
        page = stopped_page(stopped) if stopped else None
    except (CortexError, OSError):  # a full disk, a plan of a later version: the failed jobs have said so
        return ""
    return f"{experiment}: {stopped.unfinished.sentence}\nwhat is there so far: {page}" if stopped else ""


def stopped_run(folder: Path) -> StoppedRun | None:
    """Return the run of a folder if it ended early, or if its tables were never made; None for complete results.

    Raises
    ------
    RecordError
        The plan cannot be read.
    """
    layout = Layout(folder.as_posix())
    end, has_plan = early_end(layout), Path(layout.plan).exists()
    if end is None and (Path(layout.metrics).exists() or not has_plan):
        return None
    plan = read_plan(Path(layout.plan)) if has_plan else PlanRecord(experiment_of(folder))
    tallies = tuple(Tallies(Path(layout.spent)).read())
    unfinished = read_unfinished(folder, plan, tallies)
    return StoppedRun(folder, plan, tallies, unfinished, end) if unfinished else None


def experiment_of(folder: Path) -> str:
    """Return the name of the experiment of a folder."""
    return folder.as_posix().removeprefix("results/")


def stopped_page(run: StoppedRun) -> Path:
    """Write stopped.html, which is removed when the report is made; the report's own path belongs to its rule."""
    cost = run.cost()
    cells = [_left_table(run.unfinished)] if run.unfinished.cells else []
    text = template("stopped.html.j2").render(
        title=provenance.title(run.plan),
        experiment=run.plan.experiment,
        unfinished=run.unfinished,
        tables=[*cells, *([cost.table] if cost else ())],
        spent=cost,
        style=style(),
        has_report=run.end is not None and run.end.complete is not None,
    )
    target = Path(Layout(run.folder.as_posix()).stopped)
    write_text(target, text)
    return target


def stopped_text(run: StoppedRun) -> str:
    """Return the report for the terminal."""
    lines = [provenance.title(run.plan), "", *wrapped(run.unfinished.sentence)]
    if cost := run.cost():
        lines += ["", *wrapped(cost.sentence)]
    return "\n".join(lines) + "\n"


def _left_table(unfinished: Unfinished) -> Table:
    fields = [
        text("Cell", "cell", lambda row: row[0]),
        value("Debates done", "done", "{:,}".format, of=lambda row: row[1]),
        value("Not done", "left", "{:,}".format, of=lambda row: row[2] - row[1]),
    ]
    return tabulate("unfinished", "Unfinished work.", fields, unfinished.cells)
