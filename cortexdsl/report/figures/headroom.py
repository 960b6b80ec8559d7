"""Headroom: where each question of a cell was won or lost, and what more samples would give."""

from __future__ import annotations

from collections import Counter

from matplotlib.figure import Figure

from cortexdsl.metrics.outcome import COURSES, course_of
from cortexdsl.report.data import ReportData
from cortexdsl.report.figures.drawing import PALETTE, PAPER, Drawing, Sheet, draw_figure, explain, percent_tick
from cortexdsl.report.phrasing.names import fold_name, shown_cells

PITCH = 0.24
MANY = 40  # rows that a figure has room for
_LOOKS = {
    "kept_right": ("right from the start", PALETTE[0], ""),
    "won_in_debate": ("won in the debate", PALETTE[5], ""),
    "won_by_vote": ("won by the decision", PALETTE[2], ""),
    "lost_by_vote": ("lost by the decision", PALETTE[4], "///"),
    "lost_in_debate": ("lost in the debate", PALETTE[1], "///"),
    "never_found": ("never found", PALETTE[6], "xxx"),
}
"""Words, colour and hatching of each course: losses are hatched, for readers without colours."""


def course_figure(data: ReportData) -> Drawing | None:
    """Draw the share of debates that were won or lost in each way, a bar a cell; None if tables do not say."""
    shares = course_shares(data)
    names = shown_cells([cell for cell in data.cells if cell in shares], MANY)
    if not names:
        return None

    def draw(canvas: Figure, sheet: Sheet) -> None:
        axes = canvas.subplots()
        axes.grid(visible=False, axis="y")
        places = range(len(names) - 1, -1, -1)
        left = [0.0] * len(names)
        for course in COURSES:
            widths = [100 * shares[one.cell][course] for one in names]
            words, colour, hatch = _LOOKS[course]
            axes.barh(
                places, widths, left=left, height=0.66, color=colour, hatch=hatch, edgecolor=PAPER, linewidth=0.4,
                label=words,
            )  # fmt: skip
            left = [start + width for start, width in zip(left, widths, strict=True)]
        axes.set_yticks(list(places), [fold_name(one.cell, 20 if sheet.is_column else 34) for one in names])
        axes.set_xlim(0, 100)
        axes.set_ylim(-0.6, len(names) - 0.4)
        axes.xaxis.set_major_formatter(percent_tick)
        explain(canvas, sheet)

    caption = (
        "Where each debate was won or lost. Won in the debate: at least half of the last answers are right; by the "
        "decision: fewer are. Lost by the decision: a last answer is right; in the debate: only an earlier one was."
    )
    return draw_figure("courses", caption, lambda _: PITCH * len(names) + 1.0, draw)


def course_shares(data: ReportData) -> dict[str, dict[str, float]]:
    """Return the share of each course among the debates of each cell; datasets count alike.

    Cells of tables that lack a column are left out.
    """
    counts: dict[str, dict[str, Counter[str]]] = {}
    for row in data.scores:
        if row.score is None or row.lost_by_vote is None or row.lost_in_debate is None:
            continue
        course = course_of(row.score, row.opening_score, row.agent_score, row.lost_by_vote, row.lost_in_debate)
        counts.setdefault(row.cell, {}).setdefault(row.dataset, Counter())[course] += 1
    return {
        cell: {
            course: sum(one[course] / one.total() for one in by_dataset.values()) / len(by_dataset)
            for course in COURSES
        }
        for cell, by_dataset in counts.items()
    }
