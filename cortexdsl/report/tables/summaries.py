"""The tables of the report: what the analysis computed, arranged for reading. Nothing is estimated here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cortexdsl.report.inputs.results import Contrast, Metric, Results
from cortexdsl.report.tables.table import Column, Entry, Table, words
from cortexdsl.report.words.names import grouped
from cortexdsl.report.words.numbers import (
    HARD,
    NOTHING,
    THIN,
    Wording,
    difference,
    estimate,
    interval,
    number,
    p_value,
    wording,
)
from cortexdsl.report.words.sentences import answer, correction_in_words, family_notes, references

_TROUBLES = (
    ("No reply", ("failures",)),
    ("Unreadable", ("unparsed_turns", "unparsed")),
    ("No answer", ("unanswered",)),
    ("Tied vote", ("was_tied",)),
)
_EFFECTS = {"d_z": "d", "odds_ratio": "OR"}
_MEANINGS = {
    "d_z": "d: mean difference over its standard deviation across questions.",
    "odds_ratio": "OR: questions won over questions lost.",
}


def tables(results: Results) -> tuple[Table, ...]:
    """Return every table for which there is something to show."""
    made = [
        *_metrics(results),
        *_comparisons(results),
        *_hypotheses(results),
        *_rounds(results),
        *_agents(results),
        *_health(results),
    ]
    return tuple(made)


def _metrics(results: Results) -> Iterator[Table]:
    """The metrics of the spec, for one dataset in one table, else one table each; then all others, turned."""
    known = list(dict.fromkeys(row.metric for row in results.metrics))
    asked = [metric for metric in results.plan.get("metrics") or known if metric in known]
    intervals = f"mean over questions, 95{THIN}% intervals in brackets."
    if len(results.datasets) == 1:
        (dataset,) = results.datasets
        columns = [(wording(metric).title, metric, dataset, metric) for metric in asked]
        yield _grid(results, "metrics", f"Every cell on {dataset}: {intervals}", columns)
    else:
        for metric in asked:
            columns = [
                ("Mean" if name == "all" else name, metric, name, f"{name}_{metric}") for name in results.datasets
            ]
            yield _grid(results, metric, f"{wording(metric).title} on every dataset: {intervals}", columns)
    if others := [metric for metric in known if metric not in asked]:
        yield _turned(results, others)


def _turned(results: Results, metrics: Sequence[str]) -> Table:
    """Rows are metrics and columns are cells: for the many metrics that a reader looks up."""
    names = grouped(results.cells)
    heads = [Column("Metric", ("metric",), is_numeric=False), Column("Dataset", ("dataset",), is_numeric=False)]
    heads += [Column(one.cell, (one.cell, f"{one.cell} low", f"{one.cell} high")) for one in names]
    rows = []
    for dataset in results.datasets:
        for metric in metrics:
            found = [results.metric(dataset, one.cell, metric) for one in names]
            if any(row is not None and row.estimate is not None for row in found):
                how = wording(metric)
                rows.append((Entry(how.title, (metric,)), words(dataset), *(_metric(row, how) for row in found)))
    return Table("more-metrics", f"Every other metric, 95{THIN}% intervals in brackets.", tuple(heads), tuple(rows))


def _grid(results: Results, name: str, caption: str, columns: Sequence[tuple[str, str, str, str]]) -> Table:
    """Rows are cells; each column is (heading, metric, dataset, name of its numbers)."""
    rows = []
    for one in grouped(results.cells):
        found = [results.metric(dataset, one.cell, metric) for _, metric, dataset, _ in columns]
        entries = [_metric(row, wording(metric)) for row, (_, metric, _, _) in zip(found, columns, strict=True)]
        rows.append((words(one.cell), *entries))
    heads = [Column("Cell", ("cell",), is_numeric=False)]
    heads += [Column(title, (key, f"{key}_ci_low", f"{key}_ci_high")) for title, _, _, key in columns]
    shown = {metric for _, metric, _, _ in columns}
    rows_shown = [row for row in results.metrics if row.dataset != "all" and row.metric in shown]
    counts = {(row.questions, row.replicates) for row in rows_shown}
    note = ""
    if len(counts) == 1:
        questions, replicates = next(iter(counts))
        note = f"{number(questions)} questions, {number(replicates, 1)} replicates each."
    return Table(name, caption, tuple(heads), tuple(rows), note)


def _metric(row: Metric | None, how: Wording) -> Entry:
    if row is None or row.estimate is None:
        return Entry(NOTHING, (None, None, None))
    text = f"{estimate(row.estimate, how.kind)} {interval(row.low, row.high, how.kind)}".strip()
    return Entry(text, (row.estimate, row.low, row.high))


def _comparisons(results: Results) -> Iterator[Table]:
    for family in dict.fromkeys(row.family for row in results.contrasts):
        rows = [row for row in results.contrasts if row.family == family]
        yield _family(family, rows, has_datasets=len(results.datasets) > 1)


def _family(family: str, rows: Sequence[Contrast], *, has_datasets: bool) -> Table:
    heads = [Column("Cell", ("cell", "reference"), is_numeric=False)]
    heads += [Column("Dataset", ("dataset",), is_numeric=False)] if has_datasets else []
    heads += [
        Column("Metric", ("metric",), is_numeric=False),
        Column("Difference", ("difference", "ci_low_simultaneous", "ci_high_simultaneous")),
        Column("Alone", ("ci_low", "ci_high")),
        Column("Effect", ("effect", "effect_size")),
        Column("p", ("test", "p")),
        Column("Adjusted p", ("p_adjusted",)),
        Column("Significant", ("is_significant",), is_numeric=False),
    ]
    body = []
    for row in rows:
        how, strong = wording(row.metric), row.is_significant
        together = interval(row.low_together, row.high_together, how.kind, signed=True)
        gap = f"{difference(row.difference, how.kind)} {together}"
        alone = interval(row.low, row.high, how.kind, signed=True)
        size = number(row.effect_size, 2)
        effect = size if size == NOTHING else f"{_EFFECTS.get(row.effect, row.effect)} {size}"
        body.append((
            Entry(row.cell, (row.cell, row.reference)),
            *([words(row.dataset)] if has_datasets else []),
            Entry(how.title, (row.metric,)),
            Entry(gap.strip(), (row.difference, row.low_together, row.high_together), strong),
            Entry(alone or NOTHING, (row.low, row.high)),
            Entry(effect, (row.effect, row.effect_size)),
            Entry(p_value(row.p), (row.test, row.p)),
            Entry(p_value(row.p_adjusted), (row.p_adjusted,), strong),
            Entry("yes" if strong else "no", (strong,), strong),
        ))  # fmt: skip
    found = sum(row.is_significant for row in rows)
    corrected = correction_in_words(rows[0].correction)
    caption = f"Family {family}: {found} of {len(rows)} differences from {references(rows)} significant {corrected}."
    tests = dict.fromkeys(row.test.split(" (")[0] for row in rows)
    effects = dict.fromkeys(_MEANINGS[row.effect] for row in rows if row.effect in _MEANINGS)
    parts = (f"Tests: {', '.join(tests)}, paired by question.", *family_notes(rows), *effects)
    return Table(f"comparisons-{slug(family)}", caption, tuple(heads), tuple(body), " ".join(parts))


def slug(text: str) -> str:
    """Return text as a part of a file name."""
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in text).strip("-") or "unnamed"


def _hypotheses(results: Results) -> Iterator[Table]:
    if not results.verdicts:
        return
    heads = (
        Column("Claim", ("claim",), is_numeric=False),
        Column("Verdict", ("verdict",), is_numeric=False),
        Column("Estimate", ("estimate", "ci_low", "ci_high")),
        Column("p", ("p",)),
        Column("Adjusted p", ("p_adjusted",)),
        Column("What p tests", ("test", "null"), is_numeric=False),
        Column("Declared before the run", ("declared",), is_numeric=False),
    )
    rows = []
    for row in results.verdicts:
        said = answer(row)
        rows.append((
            words(row.claim),
            Entry(row.verdict, (row.verdict,), row.verdict != "undecided"),
            Entry(said.finding.rsplit(", ", 1)[0], (row.estimate, row.low, row.high)),
            Entry(p_value(row.p), (row.p,)),
            Entry(p_value(row.p_adjusted), (row.p_adjusted,)),
            Entry(row.null or NOTHING, (row.test, row.null)),
            Entry("no, exploratory" if row.exploratory else "yes", (not row.exploratory,)),
        ))  # fmt: skip
    yield Table("hypotheses", "Claims and their verdicts.", heads, tuple(rows))


def _rounds(results: Results) -> Iterator[Table]:
    if len({row.round for row in results.rounds}) < 2:
        return
    several = len({row.dataset for row in results.rounds}) > 1
    heads = [Column("Cell", ("cell",), is_numeric=False)]
    heads += [Column("Dataset", ("dataset",), is_numeric=False)] if several else []
    heads += [Column("Round", ("round",))]
    heads += [Column(name.capitalize(), (name, f"{name}_low", f"{name}_high")) for name in ("accuracy", "consensus")]
    rows = [
        (
            words(row.cell), *([words(row.dataset)] if several else []), Entry(str(row.round), (row.round,)),
            _share(row.accuracy, row.accuracy_low, row.accuracy_high),
            _share(row.consensus, row.consensus_low, row.consensus_high),
        )
        for row in results.rounds
    ]  # fmt: skip
    caption = f"After each round: accuracy of the vote and share of debates in consensus, with 95{THIN}% intervals."
    yield Table("rounds", caption, tuple(heads), tuple(rows), "Round 0 is the opening.")


def _share(value: float | None, low: float | None, high: float | None) -> Entry:
    return Entry(f"{estimate(value, 'share')} {interval(low, high, 'share')}".strip(), (value, low, high))


def _agents(results: Results) -> Iterator[Table]:
    if not results.debaters:
        return
    several = len({row.dataset for row in results.debaters}) > 1
    heads = [Column("Cell", ("cell",), is_numeric=False), Column("Agent", ("agent",), is_numeric=False)]
    heads += [Column("Dataset", ("dataset",), is_numeric=False)] if several else []
    heads += [Column("Opening", ("opening_accuracy",)), Column("Last answer", ("last_accuracy",))]
    heads += [Column("Hears", ("hears",)), Column("Is heard", ("is_heard",)), Column("Conformity", ("conformity",))]
    heads += [Column("Input tokens", ("input_tokens",))]
    rows = []
    for row in sorted(results.debaters, key=lambda row: _rank(results.cells, row.cell)):
        shares = [Entry(estimate(value, "share"), (value,)) for value in (row.opening_accuracy, row.last_accuracy)]
        edges = [Entry(number(value), (value,)) for value in (row.hears, row.is_heard)]
        rows.append((
            words(row.cell), words(row.agent), *([words(row.dataset)] if several else []), *shares, *edges,
            Entry(estimate(row.conformity, "share"), (row.conformity,)),
            Entry(number(row.input_tokens), (row.input_tokens,)),
        ))  # fmt: skip
    caption = "Each agent: accuracy of its opening and of its last answer, edges a debate, and how often it conforms."
    note = (
        "Hears and is heard: kept edges, over all rounds. Conformity: how often an agent that hears a majority against "
        "its own answer takes that majority's answer."
    )
    yield Table("agents", caption, tuple(heads), tuple(rows), note)


def _health(results: Results) -> Iterator[Table]:
    if not results.health:
        return
    reasons = sorted({reason for row in results.health for reason in row.stops})
    heads = [Column("Cell", ("cell",), is_numeric=False), Column("Debates", ("debates",)), Column("Calls", ("calls",))]
    heads += [Column(title, names) for title, names in _TROUBLES]
    heads += [Column("Ended by", tuple(f"ended_by_{reason}" for reason in reasons), is_numeric=False)]
    rows = []
    for row in sorted(results.health, key=lambda row: _rank(results.cells, row.cell)):
        counts = [(row.debates,), (row.calls,), *(tuple(row.counts[name] for name in names) for _, names in _TROUBLES)]
        stops = ", ".join(f"{reason}{HARD}{number(count, 1)}" for reason, count in row.stops.items())
        numbers = [Entry(number(values[0], 1), values) for values in counts]
        rows.append((words(row.cell), *numbers, Entry(stops, tuple(row.stops.get(reason, 0) for reason in reasons))))
    caption = (
        "Calls that brought no reply, turns that could not be read, debates without an answer or with a tied vote."
    )
    note = (
        "Nothing was dropped or guessed: an unreadable answer abstains from the vote, "
        "and a debate without an answer scores 0."
    )
    yield Table("health", caption, tuple(heads), tuple(rows), note)


def _rank(cells: Sequence[str], cell: str) -> int:
    return cells.index(cell) if cell in cells else len(cells)
