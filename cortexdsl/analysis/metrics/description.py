"""The tables that describe debates beside their scores: agents, confidences, tokens."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from cortexdsl.analysis.metrics.by_agent import agent_table
from cortexdsl.analysis.metrics.reliability import calibration_tables
from cortexdsl.analysis.metrics.token_model import token_table
from cortexdsl.analysis.metrics.view import Grade
from cortexdsl.records import Record

TABLES = ("agents", "calibration", "reliability", "tokens")


def description(records: Sequence[Record], grade: Grade) -> dict[str, pd.DataFrame]:
    """Describe the records of one dataset: a table under each of the names in `TABLES`, in this order.

    Tables of several datasets or cells are joined by concatenation.
    """
    tables = (agent_table(records, grade), *calibration_tables(records, grade), token_table(records))
    return dict(zip(TABLES, tables, strict=True))
