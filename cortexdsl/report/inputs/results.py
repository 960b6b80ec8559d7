"""What a report is made of: the tables that the analysis left in a results folder, read and typed once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from cortexdsl.errors import DataError
from cortexdsl.plan.kept.looks import last_look
from cortexdsl.plan.kept.table_seals import check_complete, check_tables
from cortexdsl.plan.parts.layout import Layout
from cortexdsl.report.inputs.health import Health, read_health
from cortexdsl.report.inputs.rows import Row, read_rows
from cortexdsl.report.words.numbers import wording

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Metric:
    """A row of metrics.csv."""

    dataset: str
    cell: str
    metric: str
    estimate: float | None
    low: float | None
    high: float | None
    questions: int | None
    replicates: int | None


@dataclass(frozen=True, slots=True)
class Contrast:
    """A row of comparisons.csv: a cell against its reference; `difference` is cell minus reference.

    `is_significant` is whether the difference stands after the correction of its family. `low_together` and
    `high_together` are the interval that holds of all of its family at once; None in results from before it was made.
    `is_exploratory` is whether it was not declared before the first call as it now is.
    """

    family: str
    dataset: str
    metric: str
    cell: str
    reference: str
    difference: float | None
    low: float | None
    high: float | None
    test: str
    p: float | None
    p_adjusted: float | None
    correction: str
    effect: str
    effect_size: float | None
    questions: int | None
    discordant: int | None
    is_significant: bool
    low_together: float | None = None
    high_together: float | None = None
    null: str = ""
    note: str = ""
    is_exploratory: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """A row of hypotheses.csv: a claim and what the experiment says of it."""

    claim: str
    estimate: float | None
    low: float | None
    high: float | None
    p: float | None
    p_adjusted: float | None
    verdict: str
    exploratory: bool
    note: str
    test: str = ""
    null: str = ""
    leans: str = ""
    questions_needed: int | None = None
    together_low: float | None = None
    together_high: float | None = None


@dataclass(frozen=True, slots=True)
class Round:
    """A row of rounds.csv: after this round, the share of right answers and of debates in consensus."""

    dataset: str
    cell: str
    round: int
    accuracy: float | None
    accuracy_low: float | None
    accuracy_high: float | None
    consensus: float | None
    consensus_low: float | None
    consensus_high: float | None


@dataclass(frozen=True, slots=True)
class Debater:
    """A row of agents.csv; `hears` and `is_heard` are kept edges a debate."""

    dataset: str
    cell: str
    agent: str
    opening_accuracy: float | None
    last_accuracy: float | None
    hears: float | None
    is_heard: float | None
    conformity: float | None
    input_tokens: float | None
    influence: float | None


@dataclass(frozen=True, slots=True)
class Bucket:
    """A row of reliability.csv: answers whose confidence lay in one bin, and how many of them were right.

    `confidence` is `stated` or `recalibrated`.
    """

    dataset: str
    cell: str
    confidence: str
    answers: int
    mean_confidence: float
    accuracy: float


@dataclass(frozen=True)
class Results:
    """Everything that a report shows of one experiment; `look` is the one at which it stopped, where it may stop."""

    plan: Mapping[str, Any]
    metrics: tuple[Metric, ...]
    contrasts: tuple[Contrast, ...]
    verdicts: tuple[Verdict, ...]
    rounds: tuple[Round, ...]
    health: tuple[Health, ...]
    debaters: tuple[Debater, ...]
    buckets: tuple[Bucket, ...]
    look: Mapping[str, Any] | None = None

    @property
    def experiment(self) -> str:
        """The experiment's name."""
        return str(self.plan.get("experiment", ""))

    @property
    def alpha(self) -> float:
        """The error that the experiment allows a family or its claims."""
        return _alpha(self.plan)

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells in the plan's order, those that only the tables name last."""
        planned = [str(cell["cell"]) for cell in self.plan.get("cells", ())]
        return tuple(dict.fromkeys([*planned, *(row.cell for row in self.metrics)]))

    @property
    def datasets(self) -> tuple[str, ...]:
        """The datasets in the order of the tables, the mean over them (`all`) last."""
        named = dict.fromkeys(row.dataset for row in self.metrics)
        return tuple(sorted(named, key=lambda name: name == "all"))

    @property
    def primary(self) -> str | None:
        """The metric that figures are about: accuracy, else the first that is a share, else the first."""
        metrics = list(dict.fromkeys(row.metric for row in self.metrics))
        shares = [metric for metric in metrics if wording(metric).kind == "share"]
        return "accuracy" if "accuracy" in metrics else next(iter(shares + metrics), None)

    def metric(self, dataset: str, cell: str, metric: str) -> Metric | None:
        """Return the row of a metric, if the analysis made one."""
        return self._places.get((dataset, cell, metric))

    @cached_property
    def _places(self) -> Mapping[tuple[str, str, str], Metric]:
        return {(row.dataset, row.cell, row.metric): row for row in reversed(self.metrics)}


def read_results(folder: Path) -> Results:
    """Read a results folder.

    Parameters
    ----------
    folder : Path
        `results/<experiment>`: plan.json and metrics.csv must be there; comparisons.csv, hypotheses.csv,
        rounds.csv, scores.csv, agents.csv and reliability.csv where the experiment made them.

    Raises
    ------
    DataError
        A needed file is missing, a column or number is not what the contract says, or a table was edited or deleted
        after the experiment wrote it.
    """
    check_tables(Layout(folder.as_posix()))
    check_complete(Layout(folder.as_posix()))
    plan_file = folder / "plan.json"
    try:
        plan = json.loads(plan_file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{plan_file}: not there; run the experiment first: cortexdsl run SPEC") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{plan_file}: is no JSON ({error}); remove it and run the experiment again") from None
    if not isinstance(plan, dict):
        raise DataError(f"{plan_file}: holds no plan; remove it and run the experiment again")
    alpha = _alpha(plan)
    metrics = tuple(
        Metric(
            row["dataset"], row["cell"], row["metric"], row.number("estimate"), row.number("ci_low"),
            row.number("ci_high"), row.whole("n_questions"), row.whole("n_replicates"),
        )
        for row in read_rows(folder / "metrics.csv", needed=True)
    )  # fmt: skip
    contrasts = tuple(
        Contrast(
            row["family"], row["dataset"], row["metric"], row["cell"], row["reference"], row.number("difference"),
            row.number("ci_low"), row.number("ci_high"), row["test"], row.number("p"), row.number("p_adjusted"),
            row["correction"], row.get("effect"), row.number("effect_size"), row.whole("n_questions"),
            row.whole("discordant"), _at_most(row.number("p_adjusted"), alpha), row.number("ci_low_simultaneous"),
            row.number("ci_high_simultaneous"), row.get("null"), row.get("note"), row.truth("exploratory"),
        )
        for row in read_rows(folder / "comparisons.csv")
    )  # fmt: skip
    verdicts = tuple(map(verdict_of, read_rows(folder / "hypotheses.csv")))
    rounds = tuple(
        Round(
            row["dataset"], row["cell"], row.whole("round") or 0, row.number("accuracy"), row.number("accuracy_low"),
            row.number("accuracy_high"), row.number("consensus"), row.number("consensus_low"),
            row.number("consensus_high"),
        )
        for row in read_rows(folder / "rounds.csv")
    )  # fmt: skip
    look = last_look(Layout(str(folder))) if plan.get("stopping") else None
    also = read_health(folder), _debaters(folder), _buckets(folder), look
    return Results(plan, metrics, contrasts, verdicts, rounds, *also)


def verdict_of(row: Row) -> Verdict:
    """Return a row of hypotheses.csv as a value."""
    return Verdict(
        row["claim"], row.number("estimate"), row.number("ci_low"), row.number("ci_high"), row.number("p"),
        row.number("p_adjusted"), row["verdict"], row.truth("exploratory"), row.get("note"),
        row.get("test"), row.get("null"), row.get("leans"), row.whole("questions_needed"),
        row.number("ci_low_simultaneous"), row.number("ci_high_simultaneous"),
    )  # fmt: skip


def _at_most(p: float | None, alpha: float) -> bool:
    return p is not None and p <= alpha


def _alpha(plan: Mapping[str, Any]) -> float:
    return float((plan.get("analysis") or {}).get("alpha", ALPHA))


def _debaters(folder: Path) -> tuple[Debater, ...]:
    measures = ("opening_accuracy", "last_accuracy", "hears", "is_heard", "conformity", "input_tokens", "influence")
    return tuple(
        Debater(row["dataset"], row["cell"], row["agent"], *map(row.number, measures))
        for row in read_rows(folder / "agents.csv")
    )


def _buckets(folder: Path) -> tuple[Bucket, ...]:
    found = []
    for row in read_rows(folder / "reliability.csv"):
        mean, accuracy = row.number("mean_confidence"), row.number("accuracy")
        if mean is not None and accuracy is not None:
            place = row["dataset"], row["cell"], row["confidence"]
            found.append(Bucket(*place, row.whole("answers") or 0, mean, accuracy))
    return tuple(found)
