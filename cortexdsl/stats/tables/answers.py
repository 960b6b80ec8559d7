"""Tables of answers, checked: one row per answer of every debater, from any program; and means made of answers.

Some claims need more than the scores of debates: those about single agents, about confidences, and about rounds
without a column in a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cortexdsl.claims.values import CALIBRATION_METRICS, Quantity
from cortexdsl.core import Bools, Floats
from cortexdsl.errors import DataError
from cortexdsl.stats.tables.calibration import NO_AREA, linearised_areas, linearised_errors, rarer_units
from cortexdsl.stats.tables.score_table import Ints, ScoreTable


@dataclass(frozen=True, slots=True, eq=False)
class CellValues:
    """Values of some cells, question by question, and what is known of them.

    Attributes
    ----------
    values : (cells, questions) array
        Means over replicates. NaN only in cells with `gaps`.
    spare : (cells, questions) array
        How far a value would rise if every missing or unreadable row were right; 0 for metrics that are not scores.
    replicates : (cells,) int array
        The largest number on any dataset.
    gaps : (cells,) int array
        Missing values that cannot be replaced by a bound, because the metric has none.
    missing, unparsed : (cells,) int arrays
        Rows that are absent or empty and count as 0; rows with an unreadable answer.
    yes_no, scored : (cells,) bool arrays
        Every row of the cell is 0 or 1; every row is a score in [0, 1]. Both are per cell, so that a comparison never
        depends on other cells of the table.
    rarer : (cells,) int array
        For an AUROC: units with answers of the rarer kind, right or wrong; below 0 for any other metric.
    """

    values: Floats
    spare: Floats
    replicates: Ints
    gaps: Ints
    missing: Ints
    unparsed: Ints
    yes_no: Bools
    scored: Bools
    rarer: Ints


class Layer(CellValues):
    """Values of some cells on one dataset."""

    __slots__ = ()

    @staticmethod
    def stacked(layers: Sequence[Layer]) -> Layer:
        """Return the rows of several layers, one after the other."""
        return Layer(*(np.concatenate([getattr(layer, f.name) for layer in layers]) for f in fields(Layer)))

    @staticmethod
    def of(values: Floats, replicates: int, gaps: int, is_yes_no: bool = False, rarer: int = NO_AREA) -> Layer:
        """Return one row of values; missing ones are gaps."""
        return Layer(
            values[None], np.zeros((1, len(values))), np.array([replicates]), np.array([gaps]), np.array([0]),
            np.array([0]), np.array([is_yes_no]), np.array([False]), np.array([rarer]),
        )  # fmt: skip

    def row(self, index: int) -> Layer:
        """Return one row, as a layer."""
        return Layer(*(getattr(self, f.name)[index : index + 1] for f in fields(self)))


ANSWER_COLUMNS = (
    "dataset", "cell", "replicate", "question_id", "agent", "round", "score", "right", "stated", "recalibrated",
    "raw",
)  # fmt: skip
REQUIRED_COLUMNS = ("cell", "question_id", "right", "stated")
ANSWER_TABLE = (
    f"a table of answers has the columns {', '.join(REQUIRED_COLUMNS)}, "
    f"and perhaps {', '.join(name for name in ANSWER_COLUMNS if name not in REQUIRED_COLUMNS)}"
)
_DEFAULTS: dict[str, str | float] = {"replicate": 1, "agent": "", "round": 0, "recalibrated": np.nan, "raw": np.nan}
_IDS = ("dataset", "cell", "question_id", "agent")


def answers_for(scores: Path) -> list[Path]:
    """Return the tables of answers of the experiment of a table of scores: one per cell, or one for all."""
    folder = scores.parent
    return sorted(folder.glob("parts/*/*/answers.csv")) or sorted(folder.glob("answers.csv"))


def with_answers(table: ScoreTable, paths: Sequence[Path], *, as_said: bool = True) -> ScoreTable:
    """Return a table of scores joined with its answers; see `read_answers`.

    Raises
    ------
    DataError
        As `read_answers`; or the answers do not name their dataset, and there are several.
    """
    answers = read_answers(paths, as_said=as_said)
    if "dataset" not in answers:
        if len(table.datasets) > 1:
            raise DataError(f"{paths[0]}: no column dataset, and {table.source} has {', '.join(table.datasets)}")
        answers = answers.assign(dataset=table.datasets[0])
    return replace(table, answers=answers)


def read_answers(paths: Sequence[Path], *, as_said: bool = True) -> pd.DataFrame:
    """Read tables of answers, such as the part of each cell.

    Parameters
    ----------
    as_said : bool
        Whether confidences may be outside [0, 1]. Tables of experiments hold what agents wrote, such as 95, and
        values are clipped for use, as debates do. In tables of other programs 95 is an error.

    Returns
    -------
    DataFrame
        `ANSWER_COLUMNS`, with `dataset` only if the tables have it. Defaults of absent columns: replicate 1, one agent
        without a name, round 0, the value of `right` as score, empty `recalibrated` and `raw`.

    Raises
    ------
    DataError
        A file is missing or lacks a column, or a value is outside the range of its column.
    """
    frames = [_read(path, as_said) for path in paths]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=list(ANSWER_COLUMNS))


def _read(path: Path, as_said: bool) -> pd.DataFrame:
    try:
        frame = pd.read_csv(path, dtype=dict.fromkeys(_IDS, str), keep_default_na=False, na_values=[""])
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as a table of answers: {error}") from None
    if absent := [name for name in REQUIRED_COLUMNS if name not in frame]:
        raise DataError(f"{path}: no column {', '.join(absent)}; {ANSWER_TABLE}")
    for name, value in _DEFAULTS.items():
        frame[name] = frame.get(name, value)
    frame["score"] = frame["score" if "score" in frame else "right"]
    confidence = (-np.inf, np.inf) if as_said else (0.0, 1.0)
    ranges = {
        "right": (0.0, 1.0),
        "score": (0.0, 1.0),
        "stated": confidence,
        "recalibrated": confidence,
        "raw": confidence,
        "round": (0.0, np.inf),
    }
    for name, (low, high) in ranges.items():
        frame[name] = _numbers(frame[name], path, low, high)
    for name in ("cell", "question_id", "right"):
        if (empty := frame[name].isna()).any():
            raise DataError(f"{path}: row {int(np.flatnonzero(empty)[0]) + 1}: {name} is empty")
    return frame


def _numbers(column: pd.Series[Any], path: Path, low: float, high: float) -> pd.Series[Any]:
    """Return a column as numbers within a range, NaN for empty values."""
    numbers = pd.to_numeric(column, errors="coerce")
    wrong = (numbers.isna() & column.notna()) | (numbers < low) | (numbers > high)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        value, number = column.iloc[row], numbers.iloc[row]
        shown = repr(value) if isinstance(value, str) else f"{value:g}"
        bounds = " from 0 to 1" if high == 1 else "" if np.isinf(low) else " of at least 0"
        hint = f"\n    confidences are shares: {number / 100:g} for {number:g} %" if high == 1 and number > 1 else ""
        raise DataError(f"{path}: row {row + 1}: {column.name} is {shown}, which is not a number{bounds}{hint}")
    return numbers


_BRIER = ("brier", "brier_stated", "brier_recalibrated", "brier_raw")


class NoAnswerError(DataError):
    """A claim is about a round that no debate of a cell reached, or an agent without an answer there."""


def answer_layer(table: ScoreTable, quantity: Quantity, dataset: int) -> Layer:
    """Return the values of a named mean on one dataset, question by question.

    Raises
    ------
    DataError
        The table has no answers, or none of the agent.
    """
    rows = _rows(table, quantity, dataset)
    codes = {name: code for code, name in enumerate(table.questions[dataset])}
    question = np.asarray(rows["question_id"].map(codes), dtype=np.int64)
    replicates, count = rows["replicate"].nunique(), len(codes)
    if quantity.metric in CALIBRATION_METRICS:
        confidence, right = _confidences(rows, quantity.metric)
        known, clusters = ~np.isnan(confidence), table.clusters[dataset]
        of_area = quantity.metric.startswith("auroc")
        values = (linearised_areas if of_area else linearised_errors)(
            confidence[known], right[known], question[known], clusters
        )
        rarer = rarer_units(right[known], clusters[question[known]]) if of_area else NO_AREA
        # Answers without a confidence, or without a row, may be the wrong ones, so that the others would look better
        # than all of them are.
        absent = replicates * count - len(rows[["replicate", "question_id"]].drop_duplicates())
        lacking = int((~known).sum()) + absent if np.isfinite(values).all() else count
        return Layer.of(values, replicates, lacking, rarer=rarer)
    value = _by_replicate(rows, quantity)
    at = value.index.get_level_values("question_id").map(codes).to_numpy(dtype=np.int64)
    counts = np.bincount(at, minlength=count)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = np.bincount(at, value.to_numpy(dtype=np.float64), count) / counts
    lacking = int((replicates - counts).sum())
    is_yes_no = quantity.metric not in _BRIER and bool(np.isin(value.to_numpy(), (0, 1)).all())
    return Layer.of(values, replicates, lacking, is_yes_no)


def _by_replicate(rows: pd.DataFrame, quantity: Quantity) -> pd.Series[float]:
    if quantity.metric in _BRIER:
        confidence, right = _confidences(rows, quantity.metric)
        rows = rows.assign(value=(confidence - right) ** 2)
        value = rows.groupby(["replicate", "question_id"])["value"].agg(lambda values: values.mean(skipna=False))
    else:
        last = rows.sort_values("round", kind="stable").groupby(["replicate", "question_id"]).tail(1)
        value = last.set_index(["replicate", "question_id"])["score"]
    return value.dropna()


def lies_in_answers(table: ScoreTable, quantity: Quantity) -> bool:
    """Return whether a mean is computed from answers: it has to be, or scores have no column for it."""
    if quantity.is_of_answers or table.answers is None or quantity.metric not in _BRIER:
        return quantity.is_of_answers
    return f"brier_{_kind(quantity.metric)}" not in table.frame


def _rows(table: ScoreTable, quantity: Quantity, dataset: int) -> pd.DataFrame:
    if table.answers is None:
        raise DataError(
            f"{table.source}: {quantity} needs every answer and confidence, which scores do not hold\n"
            f"    give the folder of an experiment's results, or --answers FILE: {ANSWER_TABLE}"
        )
    frame, label = table.answers, table.datasets[dataset]
    here = frame[(frame["dataset"] == label) & (frame["cell"] == quantity.name)]
    if quantity.agent is not None:
        agents = here["agent"].unique()
        here = here[here["agent"] == quantity.agent]
        if here.empty:
            known = ", ".join(filter(None, agents)) or "none: its table of answers has no column agent"
            raise NoAnswerError(f"{quantity.name} has no agent {quantity.agent!r} on {label}; it has {known}")
    if here.empty:
        raise DataError(f"{table.source}: no answers of {quantity.name} on {label}")
    if quantity.round is not None:
        rounds = here["round"] <= quantity.round if _is_score(quantity) else here["round"] == quantity.round
        if not rounds.any():
            there = f"rounds {here['round'].min():g} to {here['round'].max():g}"
            raise NoAnswerError(
                f"{table.source}: no answer of {quantity.name} on {label} in round {quantity.round}; {there}"
            )
        here = here[rounds]
    asked = here[here["question_id"].isin(table.questions[dataset])]
    if asked.empty:
        raise DataError(
            f"{table.source}: no answer of {quantity.name} on {label} belongs to its questions: answers are to "
            f"{here['question_id'].iloc[0]!r} ..., scores of {table.questions[dataset][0]!r} ...\n"
            "    give both tables the same question_id"
        )
    return asked


def _is_score(quantity: Quantity) -> bool:
    return quantity.metric not in (*_BRIER, *CALIBRATION_METRICS)


def _confidences(rows: pd.DataFrame, metric: str) -> tuple[Floats, Floats]:
    confidence = np.clip(rows[_kind(metric)].to_numpy(dtype=np.float64), 0, 1)
    return confidence, rows["right"].to_numpy(dtype=np.float64)


def _kind(metric: str) -> str:
    """Return the kind of confidence of a metric: `stated` unless its name ends in another."""
    return next((kind for kind in ("recalibrated", "raw") if metric.endswith(f"_{kind}")), "stated")
