"""A table of scores, checked: one row per dataset, cell, replicate and question, from whatever program.

Nothing is dropped: a row twice, an id missing, a word where a number belongs are errors; a row that is absent
is counted where it would have stood (see `cortexdsl.analysis.units.units`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from cortexdsl.analysis.metrics.registry import metric_named
from cortexdsl.analysis.units.columns import PARSED, Ints, clusters_of, codes_of, number_of
from cortexdsl.errors import DataError, InputError
from cortexdsl.spec.claims.language import Quantity
from cortexdsl.spec.claims.metric_names import bound_of
from cortexdsl.terms import EMPTY, Bools, Floats
from cortexdsl.terms.metrics import Metric

ALL = "all"
ASKED = "asked"
AFTER = "@"
"""Between a column and the round after which it holds: `score@0`."""
_LARGEST = 1e100


@dataclass(frozen=True, slots=True, eq=False)
class ScoreTable:
    """A checked table of scores.

    Attributes
    ----------
    source : str
        The file, named in errors.
    frame : pandas.DataFrame
        The rows as they came.
    datasets, cells : tuple of str
        In order of appearance.
    dataset, cell, replicate, question : (rows,) int arrays
        Codes; `question` counts within its dataset.
    questions : per dataset, the ids in order of appearance
    clusters : per dataset, the cluster of each question as (questions,) int codes; every question its own
        cluster where none are declared, or where all share one.
    unparsed : (rows,) bool array
    answers : pandas.DataFrame or None
        Every answer of every debater (`cortexdsl.analysis.units.answers`), where it is known.
    most : mapping of cell to mapping
        What the plan allows one question at most (`rounds`, `calls`, `output_tokens` ...). Empty if there is no plan.
    fixed : mapping of cell to mapping
        Metrics (`rounds`, `calls`) that the plan leaves no choice, and their value. Empty if there is no plan.
    """

    source: str
    frame: pd.DataFrame
    datasets: tuple[str, ...]
    cells: tuple[str, ...]
    dataset: Ints
    cell: Ints
    replicate: Ints
    question: Ints
    questions: tuple[tuple[str, ...], ...]
    clusters: tuple[Ints, ...]
    unparsed: Bools
    answers: pd.DataFrame | None = None
    most: Mapping[str, Mapping[str, float]] = field(default_factory=lambda: EMPTY)
    fixed: Mapping[str, Mapping[str, float]] = field(default_factory=lambda: EMPTY)

    def with_most(self, most: Mapping[str, Mapping[str, float]]) -> ScoreTable:
        """Return the same table with what its plan allows one question of each cell (`most`)."""
        return replace(self, most=most)

    def most_of(self, quantity: Quantity) -> float | None:
        """Return the largest value that one question can have, stated or by the plan; None if nothing bounds it."""
        most = self.most.get(quantity.name, {})
        return most.get(quantity.metric, most.get(bound_of(quantity.metric)))

    @property
    def metrics(self) -> tuple[str, ...]:
        """The columns that may be compared, `accuracy` first."""
        ids = {
            "dataset",
            "cell",
            "method",
            "replicate",
            "question_id",
            "cluster",
            "group",
            "stop",
            "schema_version",
            ASKED,
        }
        names = [str(c) for c in self.frame if c not in ids | {"score"} and AFTER not in str(c)]
        return tuple(["accuracy"] * ("score" in self.frame) + names)

    def metric(self, name: str) -> Metric:
        """The metric of a name: a registered one whose column is here, else a column of the table.

        Raises
        ------
        DataError
            Where no column has it.
        """
        try:
            found = metric_named(name, self.metrics)
        except InputError as error:
            raise DataError(f"{self.source}: {error}") from None
        for column in filter(None, (found.column, found.per)):
            if column not in self.frame:
                raise DataError(
                    f"{self.source}: no column {column!r}, which {name} needs; there are {', '.join(self.metrics)}"
                )
        return found

    def column(self, name: str) -> Floats:
        """The values of a column as floats, NaN where there is none.

        Raises
        ------
        DataError
            Where a value is neither a finite number nor a truth value.
        """
        raw = self.frame[name]
        if pd.api.types.is_numeric_dtype(raw.dtype):
            values = raw.to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            values = np.array([number_of(value, self.source, name, row) for row, value in enumerate(raw)])
        if (beyond := np.abs(np.nan_to_num(values, nan=0.0)) > _LARGEST).any():
            row = int(np.flatnonzero(beyond)[0])
            what = "infinite" if np.isinf(values[row]) else "too large to be squared"
            raise DataError(f"{self.source}: row {row + 1}: {name} is {what}; {_place(self, row)}")
        return values

    def after(self, name: str, round_: int) -> Floats:
        """The values of a column after a round: of `score@0` after the opening, of `score` where none was later.

        Raises
        ------
        DataError
            Where the table does not know how many rounds its debates had.
        """
        if "rounds" not in self.frame:
            raise DataError(
                f"{self.source}: no column 'rounds', which a value after round {round_} needs; a table that knows "
                f"rounds has the columns rounds, {name}, {name}{AFTER}0, {name}{AFTER}1 ..."
            )
        rounds, last, earlier = self.column("rounds"), self.column(name), f"{name}{AFTER}{round_}"
        ends = np.isnan(rounds) | (rounds <= round_)
        if earlier not in self.frame and not ends.all():
            row = int(np.flatnonzero(~ends)[0])
            raise DataError(f"{self.source}: no column {earlier!r}, though {_place(self, row)} went on after it")
        return last if earlier not in self.frame else np.where(ends, last, self.column(earlier))

    def asked(self) -> Ints | None:
        """(datasets, cells) how many questions each cell was asked, where that differs; None where all had all.

        An experiment that races its cells says it in the column `asked`: what was never asked is not missing.
        """
        if ASKED not in self.frame:
            return None
        found = np.zeros((len(self.datasets), len(self.cells)), dtype=np.int64)
        np.maximum.at(found, (self.dataset, self.cell), self.column(ASKED).astype(np.int64))
        return found

    def common(self, cells: Sequence[str]) -> ScoreTable:
        """The questions that all of some cells were asked: the first so many of each dataset."""
        asked = self.asked()
        if asked is None:
            return self
        least = asked[:, [self.cells.index(cell) for cell in cells]].min(axis=1)
        return self.until(np.repeat(least[:, None], len(self.cells), axis=1))

    def until(self, ends: Ints) -> ScoreTable:
        """The first questions of each dataset and cell.

        Parameters
        ----------
        ends : (datasets, cells) int array
        """
        kept, most = self.question < ends[self.dataset, self.cell], ends.max(axis=1).tolist()
        return replace(
            self,
            frame=self.frame[kept].reset_index(drop=True),
            dataset=self.dataset[kept],
            cell=self.cell[kept],
            replicate=self.replicate[kept],
            question=self.question[kept],
            questions=tuple(ids[:end] for ids, end in zip(self.questions, most, strict=True)),
            clusters=tuple(codes[:end] for codes, end in zip(self.clusters, most, strict=True)),
            unparsed=self.unparsed[kept],
        )


def read_table(path: Path) -> ScoreTable:
    """Read a table of scores from a CSV file (TSV where it is named `.tsv`).

    Raises
    ------
    DataError
        Where the file is missing, is no table, or `score_table` refuses it.
    """
    try:
        frame = pd.read_csv(
            path, sep="\t" if path.suffix == ".tsv" else ",", dtype=str, keep_default_na=False, encoding="utf-8-sig",
            skipinitialspace=True, comment=None,
        )  # fmt: skip
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as a table: {error}") from None
    return score_table(frame, str(path))


def score_table(frame: pd.DataFrame, source: str = "the scores table") -> ScoreTable:
    """Check a table of scores.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns `cell, replicate, question_id`, at least one metric (`score` is the metric `accuracy`), and
        perhaps `dataset, cluster, unparsed` (or `unanswered`). Ids may be text or whole numbers of any type.
    source : str
        What errors call the table.

    Raises
    ------
    DataError
        Where a column is missing, an id is empty, a row stands twice, or a question has two clusters.
    """
    frame = frame.rename(columns=lambda name: str(name).strip()).reset_index(drop=True)
    absent = [name for name in ("cell", "replicate", "question_id") if name not in frame]
    if absent or frame.columns.has_duplicates:
        what = f"no column {', '.join(absent)}" if absent else "a column stands twice"
        raise DataError(f"{source}: {what}; a table has cell, replicate, question_id, score; it has {list(frame)}")
    if frame.empty:
        raise DataError(f"{source}: the table has no rows")
    if "dataset" not in frame:
        frame = frame.assign(dataset="data")
    codes, names = {}, {}
    for column in ("dataset", "cell", "replicate", "question_id"):
        codes[column], names[column] = codes_of(frame[column], column, source)
    questions, question = [], np.zeros(len(frame), dtype=np.int64)
    for index in range(len(names["dataset"])):
        rows = codes["dataset"] == index
        question[rows], unique = pd.factorize(codes["question_id"][rows])
        questions.append(tuple(names["question_id"][i] for i in unique))
    key = pd.DataFrame({"d": codes["dataset"], "c": codes["cell"], "r": codes["replicate"], "q": question})
    if (twice := key.duplicated()).any():
        row = int(np.flatnonzero(twice)[0])
        raise DataError(
            f"{source}: {int(twice.sum())} rows stand twice; the first is row {row + 1}: "
            + ", ".join(f"{c} {names[c][codes[c][row]]!r}" for c in codes)
            + "; keep one row per dataset, cell, replicate and question"
        )
    clusters = clusters_of(frame, codes["dataset"], question, questions, source)
    unparsed = np.zeros(len(frame), dtype=bool)
    # Our own tables count a debate's unreadable answers in `unparsed`; its row is doubtful only without any answer.
    flag = "unanswered" if "unanswered" in frame else "unparsed"
    if flag in frame:
        said = frame[flag].astype(object).where(frame[flag].notna(), "")
        unparsed = ~said.astype(str).str.strip().str.lower().isin(PARSED).to_numpy()
    return ScoreTable(
        source, frame, names["dataset"], names["cell"], codes["dataset"], codes["cell"], codes["replicate"],
        question, tuple(questions), clusters, unparsed,
    )  # fmt: skip


def _place(table: ScoreTable, row: int) -> str:
    return ", ".join(f"{c} {table.frame[c].iloc[row]}" for c in ("cell", "replicate", "question_id"))
