"""The page: one HTML file that needs no network and no script. Every word that is not ours is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from cortexdsl.numbers import p_value
from cortexdsl.report.figures.drawing import SHEETS, Drawing
from cortexdsl.report.inputs.beside import Beside
from cortexdsl.report.inputs.health import health_line
from cortexdsl.report.inputs.history import History
from cortexdsl.report.inputs.results import Results
from cortexdsl.report.inputs.unfinished import Unfinished, left_line
from cortexdsl.report.page.links import claim_link
from cortexdsl.report.page.templates import style, template
from cortexdsl.report.tables.findings.whatif import EFFECTS, SHAPLEY
from cortexdsl.report.tables.talk.calibration import NAME as CALIBRATION
from cortexdsl.report.tables.talk.persuasion import NAME as PERSUASION
from cortexdsl.report.tables.work import kept
from cortexdsl.report.tables.work.learning import NAME as LEARNING
from cortexdsl.report.tables.work.spending import Spent
from cortexdsl.report.tables.written.table import Table
from cortexdsl.report.words import provenance
from cortexdsl.report.words.evidence import differences_tested
from cortexdsl.report.words.families import correction_in_words, families_in_words
from cortexdsl.report.words.losses import losses_line
from cortexdsl.report.words.numbers import wording
from cortexdsl.report.words.sentences import answer, short_answer

FOLDED = 12  # a longer table is folded away
VIEW = "view.html"
"""Where numbers lead: beside the page a word on how to open the explorer, which then lies at this name itself."""
_DATA = {
    "accuracy": "metrics",
    "cost": "metrics",
    "differences": "comparisons",
    "confidence": "reliability",
    "grid": "tables/grid",
    "learning": "tables/learning",
}


def page(
    results: Results,
    beside: Beside,
    figures: Sequence[Drawing],
    tables: Sequence[Table],
    versions: Mapping[str, str],
    history: History,
    spent: Spent | None = None,
    unfinished: Unfinished | None = None,
    unread: str = "",
) -> str:
    """Return the report as one HTML document.

    Parameters
    ----------
    results : Results
    beside : Beside
    figures : sequence of Drawing
        By name: accuracy, cost, differences, ranks, rounds, confidence; each may be absent.
    tables : sequence of Table
        Of `cortexdsl.report.tables.summaries.tables`.
    versions : mapping
        Of what produced the results.
    history : History
        What the ledger tells.
    spent : Spent or None
        What the run cost, where its jobs said so.
    unfinished : Unfinished or None
        What a later run has left undone: the tables are then of an earlier one.
    unread : str
        Of which steps most replies could not be read.
    """
    plan = results.plan
    named = {table.name: table for table in tables}
    answers = [(answer(row, history.ledger), claim_link(results, row)) for row in results.verdicts]
    return template("page.html.j2").render(
        title=provenance.title(plan),
        experiment=plan.get("experiment", ""),
        facts=provenance.facts(results),
        built_in=provenance.built_in_line(plan),
        stopping=provenance.stopping_line(results),
        short=short_answer([said for said, _ in answers]),
        answers=answers,
        claims_tested=provenance.claims_tested_line(results),
        differences_tested=differences_tested({row.correction for row in results.contrasts}),
        families=families_in_words(results),
        beside=beside,
        alpha=p_value(results.alpha).rstrip("0"),
        drawings={drawing.name: drawing for drawing in figures},
        inline=lambda drawing: Markup("".join(drawing.inline(sheet) for sheet in SHEETS)),
        data=lambda name: f"{_DATA.get(name, name)}.csv",
        view=VIEW,
        metric_tables=[table for name, table in named.items() if not _is_other(name)],
        rest=[table for name, table in named.items() if name.startswith("more-metrics")],
        family_tables=[table for name, table in named.items() if name.startswith("comparisons-")],
        round_table=named.get("rounds"),
        agent_table=named.get("agents"),
        persuasion_table=named.get(PERSUASION),
        calibration_table=named.get(CALIBRATION),
        judge_table=named.get("agreement"),
        grid_table=named.get("grid"),
        learning_table=named.get(LEARNING),
        whatif_tables=[named[name] for name in (EFFECTS, SHAPLEY) if name in named],
        health_table=named.get("health"),
        kept_table=named.get(kept.NAME),
        health_line=health_line(results.health),
        losses=" ".join(filter(None, [history.notice, left_line(unfinished), losses_line(results), unread])),
        definitions=_definitions(results),
        folded=FOLDED,
        plan=plan,
        declared_families=_declared(plan),
        history=history,
        spent=spent,
        settings=provenance.settings(plan),
        spec_texts=provenance.spec_texts(plan),
        agents=provenance.agents(plan),
        cells=provenance.cells(plan),
        versions=versions,
        style=style(),
    )


def view_page(plan: Mapping[str, Any]) -> str:
    """Return the page that numbers lead to where no explorer has been opened: how to open it."""
    return template("view.html.j2").render(
        title=provenance.title(plan), experiment=plan.get("experiment", ""), style=style()
    )


_OWN_SECTIONS = (
    "hypotheses",
    "rounds",
    "agents",
    "agreement",
    "health",
    "grid",
    LEARNING,
    PERSUASION,
    CALIBRATION,
    EFFECTS,
    SHAPLEY,
)


def _is_other(name: str) -> bool:
    return name.startswith(("comparisons-", "more-metrics")) or name in (*_OWN_SECTIONS, kept.NAME)


def _declared(plan: Mapping[str, Any]) -> list[dict[str, str]]:
    return [
        {
            "name": str(family["name"]),
            "compare": ", ".join(map(str, family["compare"])),
            "to": str(family["to"]),
            "correction": correction_in_words(str(family["correction"])),
        }
        for family in plan.get("families") or ()
    ]


def _definitions(results: Results) -> list[tuple[str, str]]:
    """Return what each metric on the page measures."""
    metrics = dict.fromkeys([*(row.metric for row in results.metrics), *(row.metric for row in results.contrasts)])
    return [(wording(metric).title, wording(metric).summary) for metric in metrics if wording(metric).summary]
