"""Tables of results: metrics of cells and their spread, axes of grids, families of comparisons, claims."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter

from cortexdsl.claims.values import LIKE_THESE
from cortexdsl.metrics.rows import MetricRow
from cortexdsl.numbers import NOTHING, THIN, counted, difference, interval, number, p_value
from cortexdsl.records.links import find_link
from cortexdsl.report.data import ReportData
from cortexdsl.report.phrasing.claims import adjusted_interval, answer
from cortexdsl.report.phrasing.comparisons import (
    comparison_notes,
    family_in_words,
    is_exploratory,
    table_terms,
)
from cortexdsl.report.phrasing.names import CellName, group_by_method, slug, wording
from cortexdsl.report.tables.table import (
    Field,
    Table,
    TableEntry,
    column,
    group,
    numbers,
    tabulate,
    text,
    value,
    with_interval,
)
from cortexdsl.stats.tables.rows import ComparisonRow

_LINKED = 12  # maximum of cells that a link names
_INTERVALS = f"with 95{THIN}% intervals about {LIKE_THESE}"
_EFFECTS = {"d_z": "d", "odds_ratio": "OR"}


def metric_tables(data: ReportData) -> Iterator[Table]:
    """Yield the metrics of the spec, for one dataset in one table, else one table each; all are in metrics.csv."""
    known = list(dict.fromkeys(row.metric for row in data.metrics))
    chosen = [metric for metric in data.plan.metrics or known if metric in known]
    if len(data.datasets) == 1:
        (dataset,) = data.datasets
        heads = [(wording(metric).title, metric, dataset, metric) for metric in chosen]
        yield _by_cell(data, "metrics", f"Every cell on {dataset}: means over questions, {_INTERVALS}.", heads)
    else:
        for metric in chosen:
            heads = [("Mean" if name == "all" else name, metric, name, f"{name}_{metric}") for name in data.datasets]
            caption = f"{wording(metric).title} on every dataset: means over questions, {_INTERVALS}."
            yield _by_cell(data, metric, caption, heads)


def _by_cell(data: ReportData, name: str, caption: str, heads: Sequence[tuple[str, str, str, str]]) -> Table:
    """Rows are cells; each column is (heading, metric, dataset, name of its numbers)."""

    def measured(title: str, metric: str, dataset: str, key: str) -> Field[CellName]:
        names = (key, f"{key}_ci_low", f"{key}_ci_high")
        return column(title, names, lambda one: metric_entry(data, data.metric(dataset, one.cell, metric)))

    shown = {metric for _, metric, _, _ in heads}
    rows = [row for row in data.metrics if row.dataset != "all" and row.metric in shown]
    sizes = {(row.n_questions, row.n_replicates) for row in rows}
    note = ""
    if len(sizes) == 1:
        questions, replicates = next(iter(sizes))
        note = f"{counted(questions or 0, 'question')}, {counted(replicates or 0, 'replicate')} each."
    fields = [text("Cell", "cell"), *(measured(*head) for head in heads)]
    return tabulate(name, caption, fields, group_by_method(data.cells), note)


def metric_entry(data: ReportData, row: MetricRow | None) -> TableEntry:
    """Return an estimate with its interval, and where the debates behind it are."""
    if row is None or row.estimate is None:
        return TableEntry(NOTHING, (None, None, None))
    link = find_link(data.experiment, dataset=row.dataset, cell=row.cell)
    return with_interval((row.estimate, row.ci_low, row.ci_high), wording(row.metric).kind, link)


def family_tables(data: ReportData) -> Iterator[Table]:
    """Yield a table for each family, its comparisons grouped by metric."""
    for family in dict.fromkeys(row.family for row in data.comparisons):
        yield _family_table(data, family, [row for row in data.comparisons if row.family == family])


def _family_table(data: ReportData, family: str, rows: Sequence[ComparisonRow]) -> Table:
    has_several = len({row.reference for row in rows}) > 1
    is_whole = is_exploratory(rows)
    together = ("ci_low_simultaneous", "ci_high_simultaneous")

    def name(row: ComparisonRow) -> str:
        against = f" against {row.reference}" if has_several else ""
        return f"{row.cell}{against}{' (exploratory)' if row.exploratory and not is_whole else ''}"

    def between(low: str, high: str) -> Callable[[ComparisonRow], str]:
        ends = attrgetter(low, high)
        return lambda row: interval(*ends(row), wording(row.metric).kind, signed=True)

    def effect(row: ComparisonRow) -> str:
        size = number(row.effect_size, 2)
        return size if size == NOTHING else f"{_EFFECTS.get(row.effect, row.effect)} {size}"

    fields = [
        numbers("Cell", ("cell", "reference"), name, is_numeric=False),
        group("Dataset", "dataset"),
        column("Metric", "metric", lambda row: TableEntry(wording(row.metric).title, (row.metric,)), is_group=True),
        numbers(
            "Difference",
            ("difference", *together),
            lambda row: difference(row.difference, wording(row.metric).kind),
            more=between(*together),
            is_strong=attrgetter("is_significant"),
            link=lambda row: find_link(data.experiment, dataset=row.dataset, apart=(row.cell, row.reference)),
        ),
        numbers("Alone", ("ci_low", "ci_high"), lambda row: between("ci_low", "ci_high")(row) or NOTHING),
        numbers("Effect", ("effect", "effect_size"), effect),
        numbers("p", ("test", "p"), lambda row: p_value(row.p)),
        numbers(
            "Adjusted p",
            ("p_adjusted", "is_significant", "is_exploratory"),
            lambda row: f"{p_value(row.p_adjusted)}{' *' * row.is_significant}",
            of=attrgetter("p_adjusted", "is_significant", "exploratory"),
            is_strong=attrgetter("is_significant"),
        ),
    ]
    caption = f"Family {family}{' (exploratory)' if is_whole else ''}: {family_in_words(rows)}."
    note = " ".join((*table_terms(rows), *comparison_notes(rows)))
    return tabulate(f"comparisons-{slug(family)}", caption, fields, rows, note)


def claim_table(data: ReportData) -> Iterator[Table]:
    """Yield the table of claims, if there are any."""
    if not data.claims:
        return

    answers = {row: answer(row) for row in data.claims}

    fields = [
        text("Claim", "claim"),
        numbers(
            "Verdict",
            "verdict",
            lambda row: row.verdict,
            is_numeric=False,
            is_strong=lambda row: row.verdict != "undecided",
        ),
        numbers(
            "Estimate",
            ("estimate", "ci_low", "ci_high"),
            lambda row: answers[row].estimate,
            more=lambda row: answers[row].interval,
        ),
        numbers(
            "Adjusted interval",
            ("ci_low_simultaneous", "ci_high_simultaneous"),
            lambda row: adjusted_interval(row) or NOTHING,
        ),
        value("p", "p", p_value),
        value("Adjusted p", "p_adjusted", p_value),
        numbers("What p tests", ("test", "null"), lambda row: row.null or NOTHING, is_numeric=False),
        numbers(
            "Declared before the run",
            "declared",
            lambda row: "no, exploratory" if row.exploratory else "yes",
            of=lambda row: not row.exploratory,
            is_numeric=False,
        ),
    ]
    yield tabulate("hypotheses", "Claims and their verdicts.", fields, data.claims)
