"""The page of compared cells that belong to no experiment: tables of scores, and logs of other tools."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from cortexdsl.numbers import counted
from cortexdsl.report.data import ReportData
from cortexdsl.report.figures.dots import accuracy_figure, differences_figure
from cortexdsl.report.page import inline_drawing
from cortexdsl.report.phrasing.claims import answer, with_shared_notes
from cortexdsl.report.phrasing.comparisons import ComparisonWords, changes_in_words, table_terms
from cortexdsl.report.phrasing.provenance import versions
from cortexdsl.report.tables.results import family_tables, metric_tables
from cortexdsl.report.templates import style, template


def comparison_page(
    data: ReportData, words: ComparisonWords, settings: Mapping[str, str], *, has_logs: bool = False
) -> str:
    """Return the comparison as one HTML document; the same input gives the same bytes.

    Parameters
    ----------
    data : ReportData
        The means of cells, the comparisons and the claims; its plan is empty.
    words : ComparisonWords
    settings : mapping of name to value
        The sources and the settings of the tests.
    has_logs : bool
        Whether some scores come from logs. Claims about these are exploratory.
    """
    answers, shared = with_shared_notes([answer(row) for row in data.claims])
    with warnings.catch_warnings():  # text stays text in the page: a browser has more fonts
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figures = (accuracy_figure(data), differences_figure(data))
    several = len(words.questions) > 1
    return template("comparison.html.j2").render(
        title=f"Comparison with {words.reference}",
        facts=[
            counted(len(data.cells), "cell"),
            *(f"{counted(count, 'question')}{f' of {name}' * several}" for name, count in words.questions.items()),
        ],
        answers=[(said, "") for said in answers],
        shared=shared,
        tested=[*words.tested, *(table_terms(data.comparisons) if data.comparisons else [])],
        changes=[
            (changes_in_words(cell, words.reference, changes), changes) for cell, changes in words.changes.items()
        ],
        words=words,
        drawings={drawing.name: drawing for drawing in figures if drawing},
        inline=inline_drawing,
        metric_tables=list(metric_tables(data)),
        family_tables=list(family_tables(data)),
        settings={**settings, **versions()},
        has_logs=has_logs,
        style=style(),
    )
