"""What the axes of an experiment's grids do, from its scores."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from cortexdsl.analysis.metrics.tables.levels import Level, axis_levels
from cortexdsl.plan.parts.layout import Layout
from cortexdsl.report.inputs.results import Results
from cortexdsl.spec.claims.arms import Arm


def read_levels(folder: Path, results: Results) -> list[Level]:
    """Return every value of every grid axis on the primary metric; none where there is no grid, or no scores."""
    arms = [Arm.of(cell) for cell in results.plan.get("cells", ())]
    metric = results.primary
    if metric is None or not any(axes for arm in arms for _, axes in arm.points):
        return []
    path = Path(Layout(folder.as_posix()).table("scores"))
    column = "score" if metric == "accuracy" else metric
    try:
        head = pd.read_csv(path, nrows=0).columns
    except (FileNotFoundError, pd.errors.EmptyDataError):
        return []
    if column not in head:
        return []
    wanted = [name for name in ("dataset", "cell", "question_id", "cluster", column) if name in head]
    scores = pd.read_csv(path, usecols=wanted, dtype={name: str for name in wanted if name != column})
    unit = scores["question_id"]
    if "cluster" in scores:
        unit = scores["cluster"].where(scores["cluster"].notna(), unit)
    shown = pd.DataFrame({"dataset": scores["dataset"], "cell": scores["cell"], "unit": unit, "value": scores[column]})
    return axis_levels(shown, arms)
