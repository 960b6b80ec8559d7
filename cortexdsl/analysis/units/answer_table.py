"""A table of answers, checked: one row for every answer of every debater, from whatever program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cortexdsl.analysis.units.table import ScoreTable
from cortexdsl.errors import DataError

COLUMNS = (
    "dataset", "cell", "replicate", "question_id", "agent", "round", "score", "right", "stated", "recalibrated",
    "raw",
)  # fmt: skip
NEEDED = ("cell", "question_id", "right", "stated")
WHAT = (
    f"a table of answers has the columns {', '.join(NEEDED)}, "
    f"and perhaps {', '.join(name for name in COLUMNS if name not in NEEDED)}"
)
_DEFAULTS: dict[str, str | float] = {"replicate": 1, "agent": "", "round": 0, "recalibrated": np.nan, "raw": np.nan}
_IDS = ("dataset", "cell", "question_id", "agent")


def answers_beside(scores: Path) -> list[Path]:
    """The tables of answers that belong to a table of scores of an experiment: one a cell, or one of all."""
    folder = scores.parent
    return sorted(folder.glob("parts/*/*/answers.csv")) or sorted(folder.glob("answers.csv"))


def with_answers(table: ScoreTable, paths: Sequence[Path], *, as_said: bool = True) -> ScoreTable:
    """A table of scores that knows every answer, too; see `read_answers`.

    Raises
    ------
    DataError
        As `read_answers`; or the answers do not say to which of several datasets they belong.
    """
    answers = read_answers(paths, as_said=as_said)
    if "dataset" not in answers:
        if len(table.datasets) > 1:
            raise DataError(f"{paths[0]}: no column dataset, and {table.source} has {', '.join(table.datasets)}")
        answers = answers.assign(dataset=table.datasets[0])
    return replace(table, answers=answers)


def read_answers(paths: Sequence[Path], *, as_said: bool = True) -> pd.DataFrame:
    """Read tables of answers, such as each cell's part.

    Parameters
    ----------
    as_said : bool
        Our own tables hold what agents said, be it a confidence of 95; it is clipped for use, as debates do. In a table
        that somebody made, 95 is a mistake.

    Returns
    -------
    DataFrame
        `COLUMNS`; what a table does not have is its only replicate, its only agent (without a name), the opening, and
        a score of 1 for what is right; `recalibrated` is empty then. `dataset` is there only where the tables have it.

    Raises
    ------
    DataError
        A file is missing or lacks a column, or a value is none that the column can have.
    """
    frames = [_read(path, as_said) for path in paths]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=list(COLUMNS))


def _read(path: Path, as_said: bool) -> pd.DataFrame:
    try:
        frame = pd.read_csv(path, dtype=dict.fromkeys(_IDS, str), keep_default_na=False, na_values=[""])
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as a table of answers: {error}") from None
    if absent := [name for name in NEEDED if name not in frame]:
        raise DataError(f"{path}: no column {', '.join(absent)}; {WHAT}")
    for name, value in _DEFAULTS.items():
        frame[name] = frame.get(name, value)
    frame["score"] = frame["score" if "score" in frame else "right"]
    said = (-np.inf, np.inf) if as_said else (0.0, 1.0)
    ranges = {
        "right": (0.0, 1.0),
        "score": (0.0, 1.0),
        "stated": said,
        "recalibrated": said,
        "raw": said,
        "round": (0.0, np.inf),
    }
    for name, (low, high) in ranges.items():
        frame[name] = _numbers(frame[name], path, low, high)
    for name in ("cell", "question_id", "right"):
        if (empty := frame[name].isna()).any():
            raise DataError(f"{path}: row {int(np.flatnonzero(empty)[0]) + 1}: {name} is empty")
    return frame


def _numbers(column: pd.Series[Any], path: Path, low: float, high: float) -> pd.Series[Any]:
    """A column as numbers within a range, NaN where it is empty."""
    numbers = pd.to_numeric(column, errors="coerce")
    wrong = (numbers.isna() & column.notna()) | (numbers < low) | (numbers > high)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        value, number = column.iloc[row], numbers.iloc[row]
        shown = repr(value) if isinstance(value, str) else f"{value:g}"
        what = "no number from 0 to 1" if high == 1 else "no number" if np.isinf(low) else "no number of at least 0"
        hint = f"\n    confidences are shares: {number / 100:g} for {number:g} %" if high == 1 and number > 1 else ""
        raise DataError(f"{path}: row {row + 1}: {column.name} is {shown}, which is {what}{hint}")
    return numbers
