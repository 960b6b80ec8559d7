"""Families of comparisons in words: how they were tested, what is significant, what else a reader must know."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cortexdsl.claims.values import LIKE_THESE
from cortexdsl.core import FALSE_DISCOVERY, by_key
from cortexdsl.numbers import THIN, counted, difference, interval
from cortexdsl.report.data import ReportData
from cortexdsl.report.phrasing.names import wording
from cortexdsl.stats.inference.groups import Changes
from cortexdsl.stats.inference.phrases import untested
from cortexdsl.stats.tables.rows import ComparisonRow

_TOGETHER = (
    f"A difference has its 95{THIN}% interval, widened so that all of its family are right at once in 95{THIN}% of "
    "experiments (Bonferroni)."
)
_FDR = (
    f"In a family with the false discovery rate controlled, the intervals of significant differences are widened so "
    f"that at most 5{THIN}% of them miss, on average."
)
_NONE = f"In a family without correction, a difference has its ordinary 95{THIN}% interval."
ORDINARY = f"the ordinary 95{THIN}% interval of one difference."

MOST = 3
"""Significant differences of one metric that a sentence lists."""
_EFFECTS = {
    "d_z": "d: mean difference over its standard deviation across questions.",
    "odds_ratio": "OR: questions won over questions lost.",
}
_EXPLORATORY = (
    "not declared before the first call as it now is. A comparison that is chosen after results exist finds a "
    "difference by chance more often than its p says."
)
TESTED = (
    "Paired by question, with replicates averaged first, and two-sided; p says how often an estimate at least this far "
    "from the tested value would arise if that value were the truth."
)


@dataclass(frozen=True, slots=True)
class FamilyAnswer:
    """Results of a family of comparisons, in words.

    `how` says how many comparisons are significant, what they compare, and how p-values were adjusted. `found` has the
    significant ones of each metric (on the only dataset, or in the mean over several): a few are listed, many counted.
    `is_exploratory` means that none of its comparisons was declared before the first call as it now is.
    """

    name: str
    how: str
    found: Mapping[str, str]
    is_exploratory: bool


def families_in_words(data: ReportData) -> list[FamilyAnswer]:
    """Say every family's significant differences."""
    said = []
    for family, rows in _by(data.comparisons, "family").items():
        shown = [row for row in rows if row.dataset == data.datasets[-1]] or rows
        found = {
            wording(metric).noun: _significant([row for row in own if row.is_significant])
            for metric, own in _by(shown, "metric").items()
        }
        said.append(FamilyAnswer(family, family_in_words(rows), found, is_exploratory(rows)))
    return said


def family_in_words(rows: Sequence[ComparisonRow]) -> str:
    """Say how many of a family's comparisons are significant, with what they compare, and how p is adjusted."""
    significant = sum(row.is_significant for row in rows) or "none"
    others, how = ", ".join(dict.fromkeys(row.reference for row in rows)), correction_in_words(rows[0].correction)
    return f"{counted(len(rows), 'comparison')} with {others}, {significant} significant {how}"


def is_exploratory(rows: Sequence[ComparisonRow]) -> bool:
    """Say whether a family is exploratory as a whole; of any other, single comparisons may be."""
    return all(row.exploratory for row in rows)


def comparison_notes(rows: Sequence[ComparisonRow]) -> Iterator[str]:
    """Yield each note of some comparisons once, which are exploratory, and which could be changed by other answers."""
    families = _by(rows, "family")
    late = dict.fromkeys(
        row.family if is_exploratory(families[row.family]) else f"{row.cell}, {wording(row.metric).noun}"
        for row in rows
        if row.exploratory
    )
    if late:
        yield f"Exploratory ({'; '.join(late)}): {_EXPLORATORY}"
    noted = ((note, row) for row in rows for note in (untested(row.test), row.note) if note)
    for note, own in by_key(noted).items():
        nouns = ", ".join(dict.fromkeys(wording(row.metric).noun for row in own))
        which = f"{own[0].cell}, {nouns}, {own[0].dataset}" if len(own) == 1 else f"{len(own)} comparisons of {nouns}"
        yield f"{which}: {note}."


def table_terms(rows: Sequence[ComparisonRow]) -> Iterator[str]:
    """Yield sentences on what stands in the tables of some comparisons: tests, marks, intervals, effects."""
    yield f"Tests: {', '.join(dict.fromkeys(row.test.split(' (')[0] for row in rows))}, paired by question."
    if any(row.is_significant for row in rows):
        yield "*: significant after correction."
    if any(row.ci_low_simultaneous is not None for row in rows):
        yield intervals({row.correction for row in rows})
    yield f"Alone: {ORDINARY}"
    yield from dict.fromkeys(_EFFECTS[row.effect] for row in rows if row.effect in _EFFECTS)


def _significant(rows: Sequence[ComparisonRow]) -> str:
    """Say which comparisons of one metric are significant."""
    if len(rows) > MOST:
        lower = sum((row.difference or 0.0) < 0 for row in rows)
        sides = {"lower": lower, "higher": len(rows) - lower}
        return ", ".join(f"{word} in {counted(some, 'cell')}" for word, some in sides.items() if some)
    return "; ".join(map(_found, rows)) or "none"


def _found(row: ComparisonRow) -> str:
    kind = wording(row.metric).kind
    together = interval(row.ci_low_simultaneous, row.ci_high_simultaneous, kind, signed=True)
    return f"{row.cell} {difference(row.difference, kind)} {together}".rstrip()


def correction_in_words(correction: str) -> str:
    """Say how p-values were adjusted."""
    known = {
        "holm": "after Holm's correction",
        "bh": "with the false discovery rate controlled (Benjamini and Hochberg)",
        "none": "without any correction for multiple comparisons",
    }
    return known.get(correction, f"after the correction {correction}")


def claims_decided(alpha: str, count: int, correction: str, *, is_anytime: bool = False) -> str:
    """Say once how claims were decided: the error as it is written, how many claims, how p is adjusted over them.

    `is_anytime` is whether the tests may be looked at after every question.
    """
    how = "not corrected" if correction == "none" else f"adjusted over {count} claims ({correction})"
    p = "its p" if count == 1 else f"its p, {how},"
    looks = ", however often one looked" if is_anytime else ""
    is_adjusted = count > 1 and correction != "none"
    widened = "; beside an adjusted p it is widened for all claims together" if is_adjusted else ""
    return (
        f"A claim is supported or contradicted, by the side of its estimate, if {p} is at most {alpha}{looks}. Its "
        f"95{THIN}% interval is about {LIKE_THESE}{widened}. The number of questions that would decide a claim is for "
        f"an effect of the estimated size, found in 80{THIN}% of experiments."
    )


def intervals(corrections: Collection[str]) -> str:
    """Say which interval is shown with a difference, by the corrections of the families."""
    kinds = {_FDR if name in FALSE_DISCOVERY else _NONE if name == "none" else _TOGETHER for name in corrections}
    return " ".join(sorted(kinds))


@dataclass(frozen=True, slots=True)
class ComparisonWords:
    """What `compare` says of the cells of a table, in sentences.

    Attributes
    ----------
    questions : mapping of dataset to int
        All questions of the table, whichever cells have them.
    reference : str
        The cell that the others are compared with.
    tested : tuple of str
        How claims and differences were tested.
    pairing : tuple of str
        How logs were paired and what could not be paired; the replicates that some cells lack.
    changes : mapping of cell to Changes
        The questions on which each cell differs from the reference.
    findings : tuple of str
        Groups of equals, what missing answers could change, the notes of comparisons.
    directions : tuple of str
        Which direction of a column is better.
    """

    questions: Mapping[str, int]
    reference: str
    tested: tuple[str, ...]
    pairing: tuple[str, ...]
    changes: Mapping[str, Changes]
    findings: tuple[str, ...]
    directions: tuple[str, ...]


def _by(rows: Sequence[ComparisonRow], name: str) -> dict[str, list[ComparisonRow]]:
    """Group rows by a column, in order of appearance."""
    return by_key((getattr(row, name), row) for row in rows)


def changes_in_words(cell: str, reference: str, changes: Changes, *, named: int = 0) -> str:
    """Say on how many questions a cell is higher, lower and equal, with the ids of so many of them each."""
    parts = [_listed(word, ids, named) for word, ids in (("higher", changes.higher), ("lower", changes.lower))]
    parts.append(f"equal on {changes.equal}")
    if changes.left_out:
        parts.append(f"{changes.left_out} {'is' if changes.left_out == 1 else 'are'} in one of them alone")
    return f"{cell} against {reference}, question by question: {', '.join(parts)}."


def _listed(word: str, questions: Sequence[str], named: int) -> str:
    more = ", ..." if len(questions) > named else ""
    ids = f" ({', '.join(questions[:named])}{more})" if questions and named else ""
    return f"{word} on {len(questions)}{ids}"
