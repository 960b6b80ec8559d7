"""Tables of metrics: the ones that the spec asks for, cell by cell; all others, metric by metric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cortexdsl.numbers import NOTHING, THIN, counted, estimate, interval
from cortexdsl.records.links import find_link
from cortexdsl.report.inputs.results import Metric, Results
from cortexdsl.report.tables.written.table import Column, Entry, Table, words
from cortexdsl.report.words.names import grouped
from cortexdsl.report.words.numbers import Wording, wording

ABREAST = 4  # cells side by side, where cells are columns
FEW = 15  # cells of which all are columns; of more only those of no grid

_INTERVALS = f"with 95{THIN}% intervals"


def metric_tables(results: Results) -> Iterator[Table]:
    """Yield the metrics of the spec, for one dataset in one table, else one table each; then all others, turned."""
    known = list(dict.fromkeys(row.metric for row in results.metrics))
    asked = [metric for metric in results.plan.get("metrics") or known if metric in known]
    if len(results.datasets) == 1:
        (dataset,) = results.datasets
        columns = [(wording(metric).title, metric, dataset, metric) for metric in asked]
        yield _by_cell(results, "metrics", f"Every cell on {dataset}: means over questions, {_INTERVALS}.", columns)
    else:
        for metric in asked:
            columns = [
                ("Mean" if name == "all" else name, metric, name, f"{name}_{metric}") for name in results.datasets
            ]
            caption = f"{wording(metric).title} on every dataset: means over questions, {_INTERVALS}."
            yield _by_cell(results, metric, caption, columns)
    if others := [metric for metric in known if metric not in asked]:
        yield from _by_metric(results, others)


def _by_metric(results: Results, metrics: Sequence[str]) -> Iterator[Table]:
    """Rows are metrics and columns are cells, a few a table: for what a reader looks up."""
    names = grouped(results.cells)
    note = ""
    if len(names) > FEW:
        names = [one for one in names if not one.point]
        note = f"Cells of no grid; all {len(results.cells)} are in metrics.csv."
    for start in range(0, len(names), ABREAST):
        some = names[start : start + ABREAST]
        heads = [Column("Metric", ("metric",), is_numeric=False)]
        heads += [Column("Dataset", ("dataset",), is_numeric=False, is_group=True)]
        heads += [Column(one.cell, (one.cell, f"{one.cell} low", f"{one.cell} high")) for one in some]
        rows = []
        for dataset in results.datasets:
            for metric in metrics:
                found = [results.metric(dataset, one.cell, metric) for one in some]
                if any(row is not None and row.estimate is not None for row in found):
                    how = wording(metric)
                    entries = (metric_entry(results, row, how) for row in found)
                    rows.append((Entry(how.title, (metric,)), words(dataset), *entries))
        part = f"-{start // ABREAST + 1}" if start else ""
        also = f" ({', '.join(one.cell for one in some)})" if len(names) > ABREAST else ""
        yield Table(f"more-metrics{part}", f"Every other metric, {_INTERVALS}{also}.", tuple(heads), tuple(rows), note)


def _by_cell(results: Results, name: str, caption: str, columns: Sequence[tuple[str, str, str, str]]) -> Table:
    """Rows are cells; each column is (heading, metric, dataset, name of its numbers)."""
    rows = []
    for one in grouped(results.cells):
        found = [results.metric(dataset, one.cell, metric) for _, metric, dataset, _ in columns]
        pairs = zip(found, columns, strict=True)
        entries = [metric_entry(results, row, wording(metric)) for row, (_, metric, _, _) in pairs]
        rows.append((words(one.cell), *entries))
    heads = [Column("Cell", ("cell",), is_numeric=False)]
    heads += [Column(title, (key, f"{key}_ci_low", f"{key}_ci_high")) for title, _, _, key in columns]
    shown = {metric for _, metric, _, _ in columns}
    rows_shown = [row for row in results.metrics if row.dataset != "all" and row.metric in shown]
    counts = {(row.questions, row.replicates) for row in rows_shown}
    note = ""
    if len(counts) == 1:
        questions, replicates = next(iter(counts))
        note = f"{counted(questions or 0, 'question')}, {counted(replicates or 0, 'replicate')} each."
    return Table(name, caption, tuple(heads), tuple(rows), note)


def metric_entry(results: Results, row: Metric | None, how: Wording) -> Entry:
    """Return an estimate with its interval, and where the debates behind it are."""
    if row is None or row.estimate is None:
        return Entry(NOTHING, (None, None, None))
    between = interval(row.low, row.high, how.kind)
    link = find_link(results.experiment, dataset=row.dataset, cell=row.cell)
    return Entry(estimate(row.estimate, how.kind), (row.estimate, row.low, row.high), more=between, link=link)
