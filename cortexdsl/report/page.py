"""The page: one HTML file that needs no network and no script; text that is not ours is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from cortexdsl.plan.persistence.history import spec_files
from cortexdsl.plan.record import PlanRecord
from cortexdsl.records.links import claim_link
from cortexdsl.report.data import ReportData
from cortexdsl.report.figures.drawing import Drawing
from cortexdsl.report.phrasing import provenance
from cortexdsl.report.phrasing.claims import answer, with_shared_notes
from cortexdsl.report.phrasing.comparisons import comparison_notes, families_in_words
from cortexdsl.report.phrasing.failures import health_line, losses_line
from cortexdsl.report.phrasing.ledger import History
from cortexdsl.report.phrasing.names import wording
from cortexdsl.report.tables.budgets import unmatched_line
from cortexdsl.report.tables.fits import FITS
from cortexdsl.report.tables.spending import RunCost
from cortexdsl.report.tables.table import Table
from cortexdsl.report.tables.tournament import JUDGES, TOURNAMENT
from cortexdsl.report.tables.training import LEARNING
from cortexdsl.report.tables.whatif import CAUSES, EFFECTS
from cortexdsl.report.templates import style, template
from cortexdsl.report.unfinished import Unfinished, left_line

FOLDED = 12  # a longer table is folded away
VIEW = "view.html"
"""Target of links from numbers: a page that says how to open the explorer, which serves itself under this name."""
_DATA = {
    "accuracy": "metrics",
    "cost": "metrics",
    "courses": "scores",
    "differences": "comparisons",
    "confidence": "reliability",
}
_OWN_SECTIONS = (
    "hypotheses", "rounds", "agents", "health", FITS, LEARNING, EFFECTS, CAUSES, TOURNAMENT, JUDGES,
)  # fmt: skip
"""Tables that have a place of their own; all others stand with the metrics."""


def report_page(
    data: ReportData,
    figures: Sequence[Drawing],
    tables: Sequence[Table],
    versions: Mapping[str, str],
    history: History,
    cost: RunCost | None = None,
    unfinished: Unfinished | None = None,
    unread: str = "",
) -> str:
    """Return the report as one HTML document; `unread` names steps most of whose replies could not be read."""
    plan = data.plan
    named = {table.name: table for table in tables}
    answers = [answer(row, history.journal) for row in data.claims]
    links = [claim_link(data.experiment, row.claim, plan.arms) for row in data.claims]
    own, shared = with_shared_notes(answers)
    return template("page.html.j2").render(
        title=provenance.title(plan),
        experiment=plan.experiment,
        facts=provenance.facts(data),
        has_right_answers=provenance.has_right_answers(plan),
        built_in=provenance.built_in_line(plan),
        stopping=provenance.stopping_line(data),
        answers=list(zip(own, links, strict=True)),
        shared=shared,
        tested=list(provenance.how_tested(data, answers, has_tables=True)),
        families=families_in_words(data),
        notes=list(comparison_notes(data.comparisons)),
        drawings={drawing.name: drawing for drawing in figures},
        inline=inline_drawing,
        data=lambda name: f"{_DATA.get(name, name)}.csv",
        view=VIEW,
        metric_tables=[table for name, table in named.items() if not _is_other(name)],
        family_tables=[table for name, table in named.items() if name.startswith("comparisons-")],
        named=named,
        health_line=health_line(data.health),
        losses=" ".join(
            filter(None, [history.notice, left_line(unfinished), losses_line(data), unread, unmatched_line(data)])
        ),
        definitions=_definitions(data),
        folded=FOLDED,
        plan=plan,
        history=history,
        spent=cost,
        settings=provenance.settings(plan),
        spec_texts=[(str(file), file.read_text(encoding="utf-8")) for file in spec_files(history.journal.layout, plan)],
        versions=versions,
        style=style(),
    )


def inline_drawing(drawing: Drawing) -> Markup:
    """Return a drawing as elements of a page, one for each width."""
    return Markup("".join(map(drawing.inline, drawing.files)))


def view_page(plan: PlanRecord) -> str:
    """Return the page that links lead to if no explorer is open: how to open it."""
    return template("view.html.j2").render(title=provenance.title(plan), experiment=plan.experiment, style=style())


def _is_other(name: str) -> bool:
    return name.startswith("comparisons-") or name in _OWN_SECTIONS


def _definitions(data: ReportData) -> list[tuple[str, str]]:
    """Return what each metric on the page measures."""
    metrics = dict.fromkeys([*(row.metric for row in data.metrics), *(row.metric for row in data.comparisons)])
    return [(wording(metric).title, wording(metric).summary) for metric in metrics if wording(metric).summary]
