"""What families of comparisons found, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cortexdsl.numbers import counted, difference, interval
from cortexdsl.report.inputs.results import Contrast, Results
from cortexdsl.report.words.evidence import ALONE, intervals
from cortexdsl.report.words.numbers import wording

EXPLORATORY = (
    "Exploratory: not declared before the first call as it now is. A comparison that is chosen after results exist "
    "finds a difference by chance more often than its p says."
)


@dataclass(frozen=True, slots=True)
class FamilyAnswer:
    """What a family of comparisons found.

    Attributes
    ----------
    name : str
    how : str
        How many comparisons, with what, and how p-values were adjusted.
    found : mapping of metric (as a noun) to what is significant on it
        On the only dataset, or in the mean over several.
    notes : tuple of str
        What single comparisons must say.
    is_exploratory : bool
        Whether none of its comparisons was declared before the first call as it now is.
    """

    name: str
    how: str
    found: Mapping[str, str]
    notes: tuple[str, ...]
    is_exploratory: bool


def families_in_words(results: Results) -> list[FamilyAnswer]:
    """Say every family's significant differences."""
    said = []
    for family in dict.fromkeys(row.family for row in results.contrasts):
        rows = [row for row in results.contrasts if row.family == family]
        shown = [row for row in rows if row.dataset == results.datasets[-1]] or rows
        exploratory = is_exploratory(rows)
        found = {
            wording(metric).noun: "; ".join(
                _found(row, is_marked=row.is_exploratory and not exploratory)
                for row in shown
                if row.metric == metric and row.is_significant
            )
            or "no difference is significant"
            for metric in dict.fromkeys(row.metric for row in shown)
        }
        how = f"{counted(len(rows), 'comparison')} with {references(rows)}, {correction_in_words(rows[0].correction)}"
        said.append(FamilyAnswer(family, how, found, own_notes(rows), exploratory))
    return said


def is_exploratory(rows: Sequence[Contrast]) -> bool:
    """Say whether a family is exploratory as a whole; of any other, single comparisons may be."""
    return all(row.is_exploratory for row in rows)


def own_notes(rows: Sequence[Contrast]) -> tuple[str, ...]:
    """Say what single comparisons of a family must say, and that some or all are exploratory."""
    cells: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        if row.note:
            cells.setdefault((wording(row.metric).noun, row.dataset, row.note), []).append(row.cell)
    apart = (f"{', '.join(named)}, {noun}, {dataset}: {note}." for (noun, dataset, note), named in cells.items())
    late = [f"{row.cell}, {wording(row.metric).noun}" for row in rows if row.is_exploratory]
    if not late:
        return tuple(apart)
    which = "" if is_exploratory(rows) else f" ({'; '.join(dict.fromkeys(late))})"
    return (EXPLORATORY.replace("Exploratory", f"Exploratory{which}", 1), *apart)


def table_notes(rows: Sequence[Contrast]) -> tuple[str, ...]:
    """Say in the note of a family's table, which may stand alone, which interval is which; then its own notes."""
    known = any(row.low_together is not None for row in rows)
    return (*([intervals([rows[0].correction])] if known else []), ALONE, *own_notes(rows))


def _found(row: Contrast, *, is_marked: bool) -> str:
    kind = wording(row.metric).kind
    together = interval(row.low_together, row.high_together, kind, signed=True)
    mark = "(exploratory)" if is_marked else ""
    return " ".join(filter(None, [row.cell, difference(row.difference, kind), together, mark]))


def references(rows: Sequence[Contrast]) -> str:
    """Name what the cells of a family are compared with."""
    return ", ".join(dict.fromkeys(row.reference for row in rows))


def correction_in_words(correction: str) -> str:
    """Say how p-values were adjusted."""
    known = {
        "holm": "after Holm's correction",
        "hommel": "after Hommel's correction",
        "bh": "with the false discovery rate controlled (Benjamini and Hochberg)",
        "by": "with the false discovery rate controlled (Benjamini and Yekutieli)",
        "none": "without any correction for multiple comparisons",
    }
    return known.get(correction, f"after the correction {correction}")
