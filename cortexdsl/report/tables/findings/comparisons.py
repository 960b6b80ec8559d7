"""Tables of what was tested: each family of comparisons, and the claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cortexdsl.numbers import NOTHING, difference, interval, number, p_value
from cortexdsl.records.links import find_link
from cortexdsl.report.inputs.results import Contrast, Results
from cortexdsl.report.tables.written.table import Column, Entry, Table, words
from cortexdsl.report.words.families import correction_in_words, is_exploratory, references, table_notes
from cortexdsl.report.words.names import slug
from cortexdsl.report.words.numbers import wording
from cortexdsl.report.words.sentences import adjusted_interval, answer

_EFFECTS = {"d_z": "d", "odds_ratio": "OR"}
_MEANINGS = {
    "d_z": "d: mean difference over its standard deviation across questions.",
    "odds_ratio": "OR: questions won over questions lost.",
}
_STAR = "*: significant after correction."


def family_tables(results: Results) -> Iterator[Table]:
    """Yield a table for each family, its comparisons grouped by metric."""
    for family in dict.fromkeys(row.family for row in results.contrasts):
        rows = [row for row in results.contrasts if row.family == family]
        yield _family(results, family, rows)


def _family(results: Results, family: str, rows: Sequence[Contrast]) -> Table:
    several = len(dict.fromkeys(row.reference for row in rows)) > 1
    heads = [
        Column("Cell", ("cell", "reference"), is_numeric=False),
        Column("Dataset", ("dataset",), is_numeric=False, is_group=True),
        Column("Metric", ("metric",), is_numeric=False, is_group=True),
        Column("Difference", ("difference", "ci_low_simultaneous", "ci_high_simultaneous")),
        Column("Alone", ("ci_low", "ci_high")),
        Column("Effect", ("effect", "effect_size")),
        Column("p", ("test", "p")),
        Column("Adjusted p", ("p_adjusted", "is_significant", "is_exploratory")),
    ]
    whole = is_exploratory(rows)
    body = []
    for row in rows:
        how, strong = wording(row.metric), row.is_significant
        together = interval(row.low_together, row.high_together, how.kind, signed=True)
        alone = interval(row.low, row.high, how.kind, signed=True)
        size = number(row.effect_size, 2)
        effect = size if size == NOTHING else f"{_EFFECTS.get(row.effect, row.effect)} {size}"
        named = f"{row.cell} against {row.reference}" if several else row.cell
        named += " (exploratory)" if row.is_exploratory and not whole else ""
        gap = (row.difference, row.low_together, row.high_together)
        link = find_link(results.experiment, dataset=row.dataset, apart=(row.cell, row.reference))
        body.append((
            Entry(named, (row.cell, row.reference)),
            words(row.dataset),
            Entry(how.title, (row.metric,)),
            Entry(difference(row.difference, how.kind), gap, strong, together, link),
            Entry(alone or NOTHING, (row.low, row.high)),
            Entry(effect, (row.effect, row.effect_size)),
            Entry(p_value(row.p), (row.test, row.p)),
            Entry(
                f"{p_value(row.p_adjusted)}{' *' if strong else ''}",
                (row.p_adjusted, strong, row.is_exploratory),
                strong,
            ),
        ))  # fmt: skip
    found = sum(row.is_significant for row in rows)
    corrected = correction_in_words(rows[0].correction)
    mark = " (exploratory)" if whole else ""
    caption = (
        f"Family {family}{mark}: {found} of {len(rows)} differences from {references(rows)} significant {corrected}."
    )
    tests = dict.fromkeys(row.test.split(" (")[0] for row in rows)
    effects = dict.fromkeys(_MEANINGS[row.effect] for row in rows if row.effect in _MEANINGS)
    stars = (_STAR,) if found else ()
    parts = (f"Tests: {', '.join(tests)}, paired by question.", *stars, *table_notes(rows), *effects)
    return Table(f"comparisons-{slug(family)}", caption, tuple(heads), tuple(body), " ".join(parts))


def claim_table(results: Results) -> Iterator[Table]:
    """Yield the table of claims, where there are any."""
    if not results.verdicts:
        return
    heads = (
        Column("Claim", ("claim",), is_numeric=False),
        Column("Verdict", ("verdict",), is_numeric=False),
        Column("Estimate", ("estimate", "ci_low", "ci_high")),
        Column("Adjusted interval", ("ci_low_simultaneous", "ci_high_simultaneous")),
        Column("p", ("p",)),
        Column("Adjusted p", ("p_adjusted",)),
        Column("What p tests", ("test", "null"), is_numeric=False),
        Column("Declared before the run", ("declared",), is_numeric=False),
    )
    rows = []
    for row in results.verdicts:
        said = answer(row)
        between = said.finding.removeprefix(said.estimate).partition("[")[2].partition("]")[0]
        rows.append((
            words(row.claim),
            Entry(row.verdict, (row.verdict,), row.verdict != "undecided"),
            Entry(said.estimate, (row.estimate, row.low, row.high), more=f"[{between}]" if between else ""),
            Entry(adjusted_interval(row) or NOTHING, (row.together_low, row.together_high)),
            Entry(p_value(row.p), (row.p,)),
            Entry(p_value(row.p_adjusted), (row.p_adjusted,)),
            Entry(row.null or NOTHING, (row.test, row.null)),
            Entry("no, exploratory" if row.exploratory else "yes", (not row.exploratory,)),
        ))  # fmt: skip
    yield Table("hypotheses", "Claims and their verdicts.", heads, tuple(rows))
