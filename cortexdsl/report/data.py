"""Input of a report: the plan and the tables of a results folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isnan
from pathlib import Path
from typing import Any

from cortexdsl.core.columns import is_share
from cortexdsl.core.metrics import RANKING_METRICS, TOOL_METRICS
from cortexdsl.errors import DataError, RecordError
from cortexdsl.metrics.rows import AgentRow, BinRow, MetricRow, RoundRow
from cortexdsl.plan.layout import Layout
from cortexdsl.plan.persistence.store import last_look
from cortexdsl.plan.persistence.verification import check_complete, check_files
from cortexdsl.plan.record import PlanRecord, read_plan
from cortexdsl.records.tallies import JobTally, Tallies
from cortexdsl.report.csv_rows import read_frame
from cortexdsl.stats.tables.rows import ClaimRow, ComparisonRow, MatchRow
from cortexdsl.stats.tables.score_table import absent_replicates

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """The columns of scores.csv that the report uses: one debate. `value` is the primary metric."""

    cell: str
    dataset: str
    replicate: str
    calls: int
    failures: int
    unparsed_turns: int
    unparsed: int
    unanswered: int
    was_tied: int
    cut: int
    repetitive: int
    refused: int
    empty: int
    tool_calls: int
    unmeasured: int
    score: float | None
    opening_score: float | None
    agent_score: float | None
    lost_by_vote: float | None
    lost_in_debate: float | None
    tool_uses: int = 0
    failed_tool_uses: int = 0
    partial_rankings: int = 0
    rankings: int = 0
    stop: str = ""


HEALTH_COUNTS = (
    "failures", "unparsed_turns", "unparsed", "unanswered", "was_tied", "cut", "repetitive", "refused", "empty",
    "tool_calls", "unmeasured", *TOOL_METRICS, *RANKING_METRICS,
)  # fmt: skip
"""Columns of scores.csv that count what went wrong."""


@dataclass(frozen=True, slots=True)
class Health:
    """Failures in the debates of one cell, summed over its rows of scores.csv.

    `counts` has the columns of `HEALTH_COUNTS`. `stops` counts the reasons why debates ended. `absent` names, for each
    dataset, the replicates without a row of this cell, if another cell has one.
    """

    cell: str
    debates: int
    calls: int
    counts: Mapping[str, int]
    stops: Mapping[str, int]
    absent: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class ReportData:
    """The plan and the tables of an experiment.

    `bounds` is None for older results; `look` is the one at which an experiment with early stopping ended.
    """

    plan: PlanRecord
    metrics: tuple[MetricRow, ...] = ()
    comparisons: tuple[ComparisonRow, ...] = ()
    claims: tuple[ClaimRow, ...] = ()
    rounds: tuple[RoundRow, ...] = ()
    health: tuple[Health, ...] = ()
    agents: tuple[AgentRow, ...] = ()
    bins: tuple[BinRow, ...] = ()
    look: Mapping[str, Any] | None = None
    matches: tuple[MatchRow, ...] = ()
    scores: tuple[ScoreRow, ...] = ()
    tallies: tuple[JobTally, ...] = ()

    @property
    def experiment(self) -> str:
        """The experiment's name."""
        return self.plan.experiment

    @property
    def alpha(self) -> float:
        """The error that the experiment allows a family or its claims."""
        return self.plan.alpha

    @cached_property
    def cells(self) -> tuple[str, ...]:
        """The cells in the plan's order; cells that only the tables name come last."""
        planned = (cell.name for cell in self.plan.cells)
        return tuple(dict.fromkeys([*planned, *(row.cell for row in self.metrics)]))

    @property
    def datasets(self) -> tuple[str, ...]:
        """The datasets in the order of the tables; the mean over them (`all`) comes last."""
        names = dict.fromkeys(row.dataset for row in self.metrics)
        return tuple(sorted(names, key=lambda name: name == "all"))

    @property
    def primary(self) -> str | None:
        """The metric that figures are about: accuracy, else the first of the plan that is a share, else the first."""
        return _primary(self.metrics, self.plan.metrics)

    def metric(self, dataset: str, cell: str, metric: str) -> MetricRow | None:
        """Return the row of a metric, if there is one."""
        return self._places.get((dataset, cell, metric))

    def rank(self, cell: str) -> int:
        """Return a cell's place in the order of `cells`; unknown cells come last."""
        return self.cells.index(cell) if cell in self.cells else len(self.cells)

    @cached_property
    def _places(self) -> Mapping[tuple[str, str, str], MetricRow]:
        return {(row.dataset, row.cell, row.metric): row for row in reversed(self.metrics)}


def read_data(folder: Path) -> ReportData:
    """Read a results folder.

    Parameters
    ----------
    folder : Path
        `results/<experiment>`. plan.json and metrics.csv are required; comparisons.csv, hypotheses.csv, rounds.csv,
        scores.csv, agents.csv, reliability.csv and matches.csv may be absent.

    Raises
    ------
    DataError
        A required file is missing, a column or number is malformed, or a table was edited or deleted after the
        experiment wrote it.
    """
    layout = Layout(folder.as_posix())
    check_files(layout)
    check_complete(layout)
    try:
        plan = read_plan(folder / "plan.json")
    except RecordError as error:
        raise DataError(str(error)) from None
    metrics = read_frame(folder / "metrics.csv", MetricRow, needed=True)
    scores = read_scores(folder)
    return ReportData(
        plan,
        metrics=metrics,
        comparisons=read_frame(folder / "comparisons.csv", ComparisonRow, alpha=plan.alpha),
        claims=read_frame(folder / "hypotheses.csv", ClaimRow),
        rounds=read_frame(folder / "rounds.csv", RoundRow),
        health=health_of(scores),
        agents=read_frame(folder / "agents.csv", AgentRow),
        bins=tuple(
            row
            for row in read_frame(folder / "reliability.csv", BinRow)
            if not isnan(row.mean_confidence + row.accuracy)
        ),
        look=last_look(Layout(str(folder))) if plan.stopping else None,
        matches=read_frame(folder / "matches.csv", MatchRow),
        scores=scores,
        tallies=tuple(Tallies(Path(layout.spent)).read()),
    )


def read_scores(folder: Path) -> tuple[ScoreRow, ...]:
    """Read the rows of scores.csv that a report sums up; none if the table is not there."""
    return read_frame(Path(Layout(folder.as_posix()).table("scores")), ScoreRow)


def health_of(scores: Iterable[ScoreRow]) -> tuple[Health, ...]:
    """Return what went wrong in each cell, in order of appearance."""
    sums: dict[str, Counter[str]] = {}
    stops: dict[str, Counter[str]] = {}
    places: dict[tuple[str, str, str], None] = {}
    for row in scores:
        places[row.dataset, row.cell, row.replicate] = None
        total = sums.setdefault(row.cell, Counter())
        total["debates"] += 1
        for name in ("calls", *HEALTH_COUNTS):
            total[name] += getattr(row, name)
        stops.setdefault(row.cell, Counter())[row.stop or "unknown"] += 1
    absent = absent_replicates(places)
    return tuple(
        Health(
            cell, total["debates"], total["calls"], {name: total[name] for name in HEALTH_COUNTS},
            dict(sorted(stops[cell].items())), {place[0]: which for place, which in absent.items() if place[1] == cell},
        )
        for cell, total in sums.items()
    )  # fmt: skip


def _primary(metrics: Iterable[MetricRow], planned: Iterable[str] = ()) -> str | None:
    known = dict.fromkeys(row.metric for row in metrics if row.estimate is not None)
    names = list(known) if "accuracy" in known else [name for name in planned if name in known] or list(known)
    shares = [name for name in names if is_share(name)]
    return "accuracy" if "accuracy" in names else next(iter(shares + names), None)
