"""Tables of scores, checked: one row per dataset, cell, replicate and question, from any program.

Nothing is dropped: a duplicate row, a missing id or a word instead of a number is an error. Absent rows are counted
later, as missing values of their cell (see `cortexdsl.stats.tables.units`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cortexdsl.claims.values import Quantity, bound_of
from cortexdsl.core import EMPTY, Bools, Floats, by_key
from cortexdsl.core.columns import column_metric
from cortexdsl.core.metric_types import Metric, of_label
from cortexdsl.core.metrics import ALIASES, LABELS, METRICS
from cortexdsl.errors import DataError, InputError
from cortexdsl.numbers import counted

Ints: TypeAlias = NDArray[np.int64]
TRUTH = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}
NOTHING = {"", "nan", "none", "null", "na", "n/a", "<na>", "nat"}
PARSED = NOTHING | {"0", "0.0", "false", "no"}
"""Values of the column `unparsed` in a row that could be read."""


def number_of(value: Any, source: str, column: str, row: int) -> float:
    """Return one value of a column that is not numeric as a whole; NaN if it is empty."""
    text = str(value).strip().lower()
    if text in NOTHING:
        return np.nan
    try:
        return TRUTH[text] if text in TRUTH else float(text)
    except ValueError:
        raise DataError(f"{source}: row {row + 1}: {column} is {value!r}, which is not a number") from None


def codes_of(column: pd.Series[Any], name: str, source: str) -> tuple[Ints, tuple[str, ...]]:
    """Return codes in order of appearance, and the labels as text (1, 1.0 and "1" are one label)."""
    raw, unique = pd.factorize(column, use_na_sentinel=True)
    labels = [str(int(u)) if isinstance(u, float | np.floating) and u == int(u) else str(u).strip() for u in unique]
    if (raw < 0).any() or "" in labels:
        row = int(np.flatnonzero((raw < 0) | np.isin(raw, [i for i, u in enumerate(labels) if not u]))[0])
        raise DataError(f"{source}: row {row + 1}: {name} is empty")
    merged, names = pd.factorize(np.array(labels, dtype=object))
    return np.asarray(merged[raw], dtype=np.int64), tuple(names)


def clusters_of(
    frame: pd.DataFrame, dataset: Ints, question: Ints, questions: list[tuple[str, ...]], source: str
) -> tuple[Ints, ...]:
    """Return the cluster of each question, per dataset; a question without a label is its own cluster."""
    if "cluster" not in frame:
        return tuple(np.arange(len(ids)) for ids in questions)
    labels = frame["cluster"].astype(str).str.strip()
    clusters = []
    for index, ids in enumerate(questions):
        rows = dataset == index
        pairs = pd.DataFrame({"question": question[rows], "cluster": labels[rows]}).drop_duplicates()
        if pairs["question"].duplicated().any():
            which = int(pairs.loc[pairs["question"].duplicated(), "question"].iloc[0])
            raise DataError(f"{source}: question {ids[which]!r} has two clusters")
        names = pairs.sort_values("question")["cluster"]
        own = [f"\0{i}" if str(c).lower() in NOTHING else str(c) for i, c in enumerate(names)]
        codes = np.asarray(pd.factorize(np.array(own, dtype=object))[0], dtype=np.int64)
        clusters.append(codes if codes.max() else np.arange(len(ids)))
    return tuple(clusters)


ALL = "all"
WORDING_COLUMN = "wording"
"""Which wording of its prompts a replicate of a cell used; empty if they have one alone."""
AFTER = "@"
"""Separates a column from the round after which it holds: `score@0`."""
_LARGEST = 1e100


@dataclass(frozen=True, slots=True, eq=False)
class ScoreTable:
    """A checked table of scores.

    Attributes
    ----------
    source : str
        The name of the table in errors, usually a file.
    frame : pandas.DataFrame
        The rows as read.
    datasets, cells : tuple of str
        In order of appearance.
    dataset, cell, replicate, question : (rows,) int arrays
        Codes; `question` is numbered within its dataset.
    questions : tuple of tuple of str
        Per dataset, the ids in order of appearance.
    clusters : tuple of (questions,) int arrays
        Per dataset, the cluster of each question; each question is its own cluster if none is declared or all share
        one.
    unparsed : (rows,) bool array
        Whether the answer could not be read.
    answers : pandas.DataFrame or None
        Every answer of every debater (`cortexdsl.stats.tables.answers`), if known.
    most : mapping of cell to mapping
        The most that the plan allows one question (`rounds`, `calls`, `output_tokens` ...). Empty without a plan.
    fixed : mapping of cell to mapping
        Metrics (`rounds`, `calls`) that the plan fixes, and their value. Empty without a plan.
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
        names = [str(c) for c in self.frame if c not in LABELS and c != "score" and AFTER not in str(c)]
        return tuple(["accuracy"] * ("score" in self.frame) + names)

    def metric(self, name: str) -> Metric:
        """Return the metric of a name: a declared one whose column exists, else a column of the table.

        Raises
        ------
        DataError
            No column has it.
        """
        try:
            metric = metric_named(name, self.metrics)
        except InputError as error:
            raise DataError(f"{self.source}: {error}") from None
        for column in filter(None, (metric.column, metric.per)):
            if column not in self.frame:
                raise DataError(
                    f"{self.source}: no column {column!r}, which {name} needs; there are {', '.join(self.metrics)}"
                )
        return metric

    def column(self, name: str) -> Floats:
        """Return the values of a column as floats, NaN for empty ones.

        Raises
        ------
        DataError
            A value is neither a finite number nor a truth value.
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
        """Return a column after a round: `score@0` after the opening, `score` for debates without a later round.

        Raises
        ------
        DataError
            The table has no column `rounds`, or lacks the column of that round.
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

    def wordings(self, cells: Sequence[str]) -> dict[tuple[str, ...], list[int]]:
        """Return the replicates (codes) by the wordings that some cells used in them; empty if they have none."""
        if WORDING_COLUMN not in self.frame:
            return {}
        named = self.frame[WORDING_COLUMN].map(lambda value: "" if value != value or value is None else f"{value}")
        used: dict[int, dict[str, str]] = {}
        for cell in dict.fromkeys(cells):
            for row in np.flatnonzero((self.cell == self.cells.index(cell)) & (named != "").to_numpy()):
                used.setdefault(int(self.replicate[row]), {})[cell] = named.iloc[row].removesuffix(".0")
        return by_key((tuple(used[replicate].values()), replicate) for replicate in sorted(used))

    def of_replicates(self, replicates: Sequence[int]) -> ScoreTable:
        """Return the rows of some replicates (codes)."""
        return self._where(np.isin(self.replicate, replicates))

    def _where(self, rows: Bools) -> ScoreTable:
        return replace(
            self,
            frame=self.frame[rows].reset_index(drop=True),
            dataset=self.dataset[rows],
            cell=self.cell[rows],
            replicate=self.replicate[rows],
            question=self.question[rows],
            unparsed=self.unparsed[rows],
        )


def metric_named(name: str, columns: Iterable[str] = ()) -> Metric:
    """Return a metric by its name or alias, or a further score column (`f1`, `judged` ...) of a table as a metric.

    Parameters
    ----------
    name : str
    columns : iterable of str
        Columns that the table has; a registered metric wins over a column of the same name.

    Raises
    ------
    InputError
        No metric and no column has that name; says which is nearest.
    """
    name = ALIASES.get(name, name)
    if (known := METRICS.get(name) or of_label(name)) is not None:
        return known
    others = list(columns)
    if name in others:
        return replace(column_metric(name), column=name)
    near = get_close_matches(name, [*METRICS, *ALIASES, *others], n=1)
    hint = f"did you mean {near[0]!r}?" if near else "known are " + ", ".join(METRICS)
    raise InputError(f"no metric {name!r}; {hint}")


def read_table(path: Path) -> ScoreTable:
    """Read a table of scores from a CSV file, or a TSV file if its name ends in `.tsv`.

    Raises
    ------
    DataError
        The file is missing or not a table, or `score_table` refuses it.
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
        The name of the table in errors.

    Raises
    ------
    DataError
        A column is missing, an id is empty, a row is a duplicate, or a question has two clusters.
    """
    frame = frame.rename(columns=lambda name: str(name).strip()).reset_index(drop=True)
    absent = [name for name in ("cell", "replicate", "question_id") if name not in frame]
    if absent or frame.columns.has_duplicates:
        what = f"no column {', '.join(absent)}" if absent else "a column appears twice"
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
            f"{source}: {counted(int(twice.sum()), 'row appears', 'rows appear')} twice; the first is row {row + 1}: "
            + ", ".join(f"{c} {names[c][codes[c][row]]!r}" for c in codes)
            + "; keep one row per dataset, cell, replicate and question"
        )
    if {"asked", "schema_version"} <= {*frame} and (frame.groupby("dataset")["asked"].nunique() > 1).any():
        what = "an earlier version asked its cells different numbers of questions (racing), so they are not comparable"
        raise DataError(f"{source}: {what}\n    run the experiment again")
    clusters = clusters_of(frame, codes["dataset"], question, questions, source)
    unparsed = np.zeros(len(frame), dtype=bool)
    # `unparsed` counts unreadable answers in tables of experiments; a row is doubtful only if it has no answer.
    flag = "unanswered" if "unanswered" in frame else "unparsed"
    if flag in frame:
        text = frame[flag].astype(object).where(frame[flag].notna(), "")
        unparsed = ~text.astype(str).str.strip().str.lower().isin(PARSED).to_numpy()
    return ScoreTable(
        source, frame, names["dataset"], names["cell"], codes["dataset"], codes["cell"], codes["replicate"],
        question, tuple(questions), clusters, unparsed,
    )  # fmt: skip


def _place(table: ScoreTable, row: int) -> str:
    return ", ".join(f"{c} {table.frame[c].iloc[row]}" for c in ("cell", "replicate", "question_id"))


def absent_replicates(rows: Iterable[tuple[str, str, str]]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the replicates that a cell lacks although another cell of the dataset has them.

    Parameters
    ----------
    rows : iterable of (dataset, cell, replicate)

    Returns
    -------
    dict of (dataset, cell) to replicates
        In order of appearance; only cells that lack some.
    """
    present: dict[tuple[str, str], dict[str, None]] = {}
    known: dict[str, dict[str, None]] = {}
    for dataset, cell, replicate in rows:
        present.setdefault((dataset, cell), {})[replicate] = None
        known.setdefault(dataset, {})[replicate] = None
    lacking = {key: tuple(r for r in known[key[0]] if r not in own) for key, own in present.items()}
    return {key: absent for key, absent in lacking.items() if absent}


def absent_of(table: ScoreTable) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the `absent_replicates` of a table of scores."""
    codes = np.stack([table.dataset, table.cell, table.replicate], axis=1)
    first = np.sort(np.unique(codes, axis=0, return_index=True)[1])
    names = table.frame["replicate"].iloc[first].astype(str)
    places = zip(table.dataset[first], table.cell[first], names, strict=True)
    return absent_replicates((table.datasets[d], table.cells[c], name.strip()) for d, c, name in places)


def absent_in_words(lacking: Mapping[tuple[str, str], tuple[str, ...]]) -> str:
    """Write in one sentence which cells lack which replicates; empty if none does."""
    if not lacking:
        return ""
    parts = [
        f"{cell} on {dataset} lacks replicate{'s' * (len(absent) > 1)} {', '.join(absent)}"
        for (dataset, cell), absent in lacking.items()
    ]
    return (
        "Whole replicates are missing: " + "; ".join(parts) + ". Their questions are averaged over the replicates that "
        "are there, which compares unlike means if replicates differ."
    )
