"""The results of an experiment as data frames: `import cortexdsl as cx; run = cx.open("results/mine")`.

Each table is read on first use and cached.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from cortexdsl.claims.cells import cells_of, find_cell
from cortexdsl.core import Correction, Family
from cortexdsl.core.metrics import LABELS
from cortexdsl.errors import DataError
from cortexdsl.plan.layout import Layout, results_folder
from cortexdsl.plan.persistence.run_record import stop_note
from cortexdsl.plan.persistence.verification import check_files, check_own_files, check_records
from cortexdsl.plan.record import PlanRecord, plan_json, read_plan
from cortexdsl.records import Record, debate_files, read_debates
from cortexdsl.records.rows import edge_rows, outcome_rows, turn_rows
from cortexdsl.stats.inference.bootstrap import DRAWS
from cortexdsl.stats.inference.families import compare_families
from cortexdsl.stats.tables.score_table import read_table
from cortexdsl.symlinks import opened_results

_TEXT = tuple(column for column, kind in LABELS.items() if kind == "id")


class Results:
    """An experiment's folder of results; columns are described in docs/python.md.

    Parameters
    ----------
    folder : path or str
        `results/<experiment>`, or the name of the experiment.

    Raises
    ------
    DataError
        The folder does not exist; a table is missing, cannot be read, or was edited after the experiment wrote it.

    Warns
    -----
    UserWarning
        The last run ended early.

    Examples
    --------
    >>> run = Results("results/quickstart")           # doctest: +SKIP
    >>> run.scores.groupby("cell").score.mean()       # doctest: +SKIP
    >>> run.compare("sparse", to="full")              # doctest: +SKIP
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = results_folder(folder)
        if not self.folder.is_dir():
            raise DataError(f"{self.folder}: there is no such folder of results; run the experiment first")
        opened_results(self.folder)
        self._layout = Layout(self.folder.as_posix())
        if note := stop_note(self.folder):
            warnings.warn(f"{self.folder}: {note}", stacklevel=3)  # of the caller of `cortexdsl.open`

    def __repr__(self) -> str:
        return f"Results({str(self.folder)!r})"

    @cached_property
    def _record(self) -> PlanRecord:
        check_files(self._layout, [self._layout.plan])
        return read_plan(Path(self._layout.plan))

    @property
    def plan(self) -> Mapping[str, Any]:
        """The content of plan.json: cells, seed, families, claims, the estimate."""
        return plan_json(self._record)

    @property
    def cells(self) -> tuple[str, ...]:
        """The names of the cells, in the plan's order."""
        return tuple(cell.name for cell in self._record.cells)

    @cached_property
    def scores(self) -> pd.DataFrame:
        """One row a debate: its score and every metric that is a number per debate (scores.csv)."""
        return self._table(self._layout.table("scores"))

    @cached_property
    def metrics(self) -> pd.DataFrame:
        """One row for each dataset, cell and metric: the estimate and its interval (metrics.csv)."""
        return self._table(self._layout.metrics)

    @cached_property
    def comparisons(self) -> pd.DataFrame:
        """One row for each comparison of the spec's families, with its test (comparisons.csv)."""
        return self._table(self._layout.comparisons)

    @cached_property
    def claims(self) -> pd.DataFrame:
        """One row a claim, with its verdict (hypotheses.csv)."""
        return self._table(self._layout.hypotheses)

    @cached_property
    def rounds(self) -> pd.DataFrame:
        """One row for each cell and round: accuracy, consensus and more after it (rounds.csv)."""
        return self._table(self._layout.table("rounds"))

    @cached_property
    def agents(self) -> pd.DataFrame:
        """One row for each cell and agent: what it did (agents.csv)."""
        return self._table(self._layout.table("agents"))

    @cached_property
    def persuasion(self) -> pd.DataFrame:
        """One row for each cell, speaker and listener: how often the one took over what the other said."""
        return self._table(self._layout.table("persuasion"))

    @cached_property
    def debates(self) -> pd.DataFrame:
        """One row a debate: who debated, its answer and votes, how it ended; turns and edges are apart."""
        return self._frame(outcome_rows)

    @cached_property
    def turns(self) -> pd.DataFrame:
        """One row a turn: who said what, what was read from it, whom it had heard (turn numbers, spaces between)."""
        return self._frame(turn_rows)

    @cached_property
    def edges(self) -> pd.DataFrame:
        """One row for each speaker and listener of each graph: whether it is an edge, the weight, its factors."""
        return self._frame(edge_rows)

    def records(self) -> Iterator[Record]:
        """Yield every debate record, whole; for experiments too large for a frame."""
        check_records(self._layout)
        for path in debate_files(self.folder):
            yield from read_debates(path)

    def compare(
        self,
        *cells: str,
        to: str,
        metric: str | Sequence[str] = "accuracy",
        correction: Correction = "holm",
        seed: int | None = None,
        draws: int = DRAWS,
    ) -> pd.DataFrame:
        """Compare cells with one other, paired by question, as one family: a row of comparisons.csv each.

        Parameters
        ----------
        *cells : str
            All others if none is named.
        to : str
            The cell that they are compared with.
        metric : str or several
            `accuracy`, or any column of `scores`.
        correction : str
            Of the p-values over all rows: a value of `cortexdsl.core.Correction`.
        seed : int, optional
            Of Monte Carlo tests and bootstraps; the experiment's own by default.
        draws : int
            Permutations and resamples.

        Notes
        -----
        A comparison that is chosen after the results were seen is exploratory, whatever its p.
        """
        check_own_files([Path(self._layout.table("scores"))])
        table = read_table(Path(self._layout.table("scores")))
        arms = cells_of(table.cells)
        reference = find_cell(arms, to).cell
        named = tuple(find_cell(arms, cell).cell for cell in cells) or table.cells
        family = Family("comparison", tuple(cell for cell in named if cell != reference), reference, correction)
        metrics = (metric,) if isinstance(metric, str) else tuple(metric)
        own = self._record.seed if seed is None else seed
        return compare_families(table, [family], metrics, own, draws=draws)

    def _frame(self, rows: Callable[[Iterable[Record]], Iterator[dict[str, Any]]]) -> pd.DataFrame:
        return pd.DataFrame(list(rows(self.records())))

    def _table(self, path: str) -> pd.DataFrame:
        check_own_files([Path(path)])
        try:
            return pd.read_csv(
                path, dtype=dict.fromkeys(_TEXT, "string"), comment=None, keep_default_na=False, na_values=[""]
            )
        except FileNotFoundError:
            raise DataError(f"{path}: not there; run the experiment to its end: cortexdsl run") from None
        except pd.errors.EmptyDataError:
            return pd.DataFrame()
        except (UnicodeDecodeError, pd.errors.ParserError) as error:
            raise DataError(f"{path}: cannot be read as a table: {error}") from None
