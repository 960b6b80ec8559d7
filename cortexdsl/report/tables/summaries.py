"""The tables of the report: what the analysis computed, arranged for reading. Nothing is estimated here."""

from __future__ import annotations

from cortexdsl.report.inputs.results import Results
from cortexdsl.report.tables.findings.comparisons import claim_table, family_tables
from cortexdsl.report.tables.findings.metrics import metric_tables
from cortexdsl.report.tables.talk.debates import agent_table, health_table, round_table
from cortexdsl.report.tables.written.table import Table


def tables(results: Results) -> tuple[Table, ...]:
    """Return every table for which there is something to show."""
    makers = (metric_tables, family_tables, claim_table, round_table, agent_table, health_table)
    return tuple(table for make in makers for table in make(results))
