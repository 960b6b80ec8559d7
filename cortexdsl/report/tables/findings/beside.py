"""The table of published figures beside an experiment's own."""

from __future__ import annotations

from cortexdsl.numbers import estimate
from cortexdsl.report.inputs.published import published
from cortexdsl.report.inputs.results import Results
from cortexdsl.report.tables.findings.metrics import metric_entry
from cortexdsl.report.tables.written.table import Column, Entry, Table, words
from cortexdsl.report.words.numbers import wording

NAME = "published"


def published_table(results: Results) -> Table | None:
    """Return what papers state for the same protocols and datasets; None where they state nothing."""
    found = [
        (one, own)
        for one in published(results)
        if (own := results.metric(one.dataset, one.cell, one.metric)) is not None and own.estimate is not None
    ]
    if not found:
        return None
    heads = (
        Column("Cell", ("cell",), is_numeric=False),
        Column("Dataset", ("dataset",), is_numeric=False, is_group=True),
        Column("Metric", ("metric",), is_numeric=False, is_group=True),
        Column("Source", ("source",), is_numeric=False, is_group=True),
        Column("Published", ("published",)),
        Column("Here", ("here", "ci_low", "ci_high")),
    )
    rows = []
    for one, own in found:
        how = wording(one.metric)
        shown = Entry(estimate(one.value, how.kind), (one.value,))
        named = words(one.cell), words(one.dataset), words(how.title), words(f"{one.source} ({one.setting})")
        rows.append((*named, shown, metric_entry(results, own, how)))
    sources = dict.fromkeys(f"{one.source} ({one.setting})" for one, _ in found)
    note = f"Published: {'; '.join(sources)}. Other models, prompts and questions than here: no test, no replication."
    caption = "What papers state for the same protocols and datasets, beside what was found here."
    return Table(NAME, caption, heads, tuple(rows), note)
