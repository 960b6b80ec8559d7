"""The tables that describe debates beside their scores: agents, confidences, tokens, who persuaded whom."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from cortexdsl.analysis.metrics.tables.by_agent import agent_table
from cortexdsl.analysis.metrics.tables.by_pair import persuasion_table
from cortexdsl.analysis.metrics.tables.reliability import calibration_tables
from cortexdsl.analysis.metrics.tables.token_model import token_table
from cortexdsl.analysis.metrics.view import Grade
from cortexdsl.records import Record

TABLES = ("agents", "calibration", "reliability", "tokens", "persuasion")


def description(records: Sequence[Record], grade: Grade) -> dict[str, pd.DataFrame]:
    """Describe the records of one dataset: a table under each of the names in `TABLES`, in this order.

    Tables of several datasets or cells are joined by concatenation.
    """
    tables = (
        agent_table(records, grade),
        *calibration_tables(records, grade),
        token_table(records),
        persuasion_table(records, grade),
    )
    return dict(zip(TABLES, tables, strict=True))
