"""What stands beside the comparisons: all cells at once, what unreadable answers could change, ranks over datasets.

Results from before these files existed lack them; the report then says nothing of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cortexdsl.numbers import counted, number, p_clause
from cortexdsl.plan.parts.layout import Layout
from cortexdsl.report.inputs.rows import Row, read_rows
from cortexdsl.report.words.numbers import wording

SHOWN = 3  # comparisons, or cells, that a sentence names


@dataclass(frozen=True, slots=True)
class Ranks:
    """The rows of ranks.csv on one metric.

    Attributes
    ----------
    metric : str
    cells : mapping of cell to mean rank
        1 is best; best first.
    datasets : int
    statistic, p : float
        Iman and Davenport's F; infinite where all datasets rank alike.
    width : float
        The critical difference (Nemenyi).
    """

    metric: str
    cells: Mapping[str, float]
    datasets: int
    statistic: float
    p: float
    width: float

    @property
    def said(self) -> str:
        """The test and the best cells, in one sentence."""
        noun = wording(self.metric).noun
        best = ", ".join(f"{cell} {rank:.2f}" for cell, rank in list(self.cells.items())[:SHOWN])
        size = "F infinite" if math.isinf(self.statistic) else f"F = {number(self.statistic)}"
        return (
            f"Ranks over {self.datasets} datasets, {noun}: {size}, {p_clause(self.p)}; best {best}; "
            f"critical difference {self.width:.2f}."
        )


@dataclass(frozen=True, slots=True)
class Beside:
    """What a report says beside the comparisons.

    Attributes
    ----------
    together : mapping of family to sentence
        Whether its cells differ at all.
    bounds : str
        Whether missing and unreadable answers could change a comparison; empty where nobody looked.
    ranks : sequence of Ranks
        One a metric, the primary one first.
    """

    together: Mapping[str, str]
    bounds: str
    ranks: Sequence[Ranks]


def read_beside(folder: Path, alpha: float, primary: str | None) -> Beside:
    """Read omnibus.csv, bounds.csv and ranks.csv of a results folder; each may be absent.

    Raises
    ------
    DataError
        Where a column or number is not what the contract says.
    """
    layout = Layout(str(folder))
    tested: dict[str, list[Row]] = {}
    for row in read_rows(Path(layout.omnibus)):
        tested.setdefault(row["family"], []).append(row)
    looked = Path(layout.bounds).exists()
    ranked: dict[str, list[Row]] = {}
    for row in read_rows(Path(layout.ranks)):
        ranked.setdefault(row["metric"], []).append(row)
    return Beside(
        {family: _together(rows, alpha) for family, rows in tested.items()},
        _bounds(list(read_rows(Path(layout.bounds)))) if looked else "",
        [_ranks(ranked[metric]) for metric in sorted(ranked, key=lambda metric: metric != primary)],
    )


def _together(rows: Sequence[Row], alpha: float) -> str:
    """Say what Cochran's Q found: with its number on one dataset, else on how many datasets it is significant."""
    said = []
    for metric in dict.fromkeys(row["metric"] for row in rows):
        mine = [row for row in rows if row["metric"] == metric]
        noun = wording(metric).noun
        if len(mine) == 1:
            statistic, freedom = mine[0].number("statistic"), mine[0].whole("freedom")
            said.append(f"{noun} {number(statistic)}, df {freedom}, {p_clause(mine[0].number('p'))}")
        else:
            found = sum((row.number("p") or 0) <= alpha for row in mine)
            said.append(f"{noun} differs on {found} of {counted(len(mine), 'dataset')} (p at most {alpha:g})")
    test = rows[0]["test"].split(" (")[0]
    return f"All {rows[0].whole('cells')} cells at once, {test}: {'; '.join(said)}."


def _bounds(rows: Sequence[Row]) -> str:
    """Say whether missing and unreadable answers, which count as wrong, could change what a comparison finds."""
    if not rows:
        return "No answer is missing or unreadable, so none could change a comparison."
    turned = [row for row in rows if row.truth("changes")]
    counts = "Missing and unreadable answers count as wrong. Scoring them as right instead"
    if not turned:
        return f"{counts} would change no conclusion ({counted(len(rows), 'comparison')} with such answers)."
    named = [
        f"{row['cell']} against {row['reference']} ({wording(row['metric']).noun}, {row['dataset']})" for row in turned
    ]
    more = f" and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
    return f"{counts} could change {counted(len(turned), 'comparison')}: {', '.join(named[:SHOWN])}{more}."


def _ranks(rows: Sequence[Row]) -> Ranks:
    first = rows[0]
    statistic, p, width = (first.number(column) or 0.0 for column in ("iman_davenport", "p", "critical_difference"))
    cells = {row["cell"]: row.number("rank") or 0.0 for row in rows}
    return Ranks(first["metric"], cells, first.whole("datasets") or 0, statistic, p, width)
